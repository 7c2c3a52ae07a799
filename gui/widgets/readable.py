"""Text that can be read: colours with meaning, just far enough from their card; letters that every font has."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor

from gui.theme import APPLIED, COMPUTED, Theme, cause_color

ENOUGH = 4.5
"""Contrast ratio for text (WCAG 2.1, success criterion 1.4.3)."""


def text_color(theme: Theme, meaning: str) -> str:
    """The colour for text about 'computed', 'applied', 'warning' or a cause, on the theme's card."""
    if meaning == "warning":
        return theme.warning
    color = {"computed": COMPUTED, "applied": APPLIED}.get(meaning) or cause_color(meaning)
    return readable(color, theme.card)


def with_hats(text: str) -> str:
    """'m̂' as 'mˆ': a combining hat is drawn beside its letter, or in the line above, by many fonts."""
    return text.replace("\u0302", "\u02c6")


@lru_cache(maxsize=512)
def readable(color: str, ground: str) -> str:
    """``color`` with its lightness moved away from ``ground`` until the contrast is ENOUGH."""
    back = luminance(QColor(ground))
    found = QColor(color)
    hue, saturation, lightness, _ = found.getHslF()
    step = 0.02 if back < 0.5 else -0.02
    while contrast_ratio(luminance(found), back) < ENOUGH and 0.0 < lightness + step < 1.0:
        lightness += step
        found.setHslF(max(hue, 0.0), saturation, lightness)
    return found.name()


def luminance(color: QColor) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.1)."""
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.getRgbF()[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast_ratio(first: float, second: float) -> float:
    """Of two luminances, 1 to 21."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)
