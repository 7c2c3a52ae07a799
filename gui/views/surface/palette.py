"""The colours of the loss: quiet ones, dark where the loss is low in the dark theme, pale in the light one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from gui.theme import Theme
from gui.views.surface.scale import COLORS, STRIPES

DARK = ("#0f1230", "#1c2a5c", "#25508a", "#2f7b9b", "#5fa3a3", "#93beb0")
LIGHT = ("#fdfeff", "#e6eef7", "#c9daea", "#a9c3da", "#8aabc8", "#6f93b3")
STRIPES_DARK = ("#3a3036", "#57434b")
STRIPES_LIGHT = ("#f1e4e1", "#dcc4bf")


def lookup_table(theme: Theme) -> NDArray[np.uint8]:
    """(256, 4) RGBA: COLORS colours from the lowest loss to the highest, then the two stripes."""
    stops = np.array([QColor(text).getRgb() for text in (DARK if theme.dark else LIGHT)], dtype=np.float64)
    table = np.empty((256, 4), dtype=np.uint8)
    places = np.linspace(0, len(stops) - 1, COLORS)
    for channel in range(4):
        table[:COLORS, channel] = np.rint(np.interp(places, np.arange(len(stops)), stops[:, channel]))
    for index, text in zip(STRIPES, stripe_colors(theme), strict=True):
        table[index] = QColor(text).getRgb()
    return table


def stripe_colors(theme: Theme) -> tuple[str, str]:
    """The two colours of regions where the loss is not finite."""
    return STRIPES_DARK if theme.dark else STRIPES_LIGHT


def contour_color(theme: Theme) -> QColor:
    """Contour lines: a breath on top of the colours."""
    color = QColor("#ffffff" if theme.dark else "#1d3550")
    color.setAlpha(70 if theme.dark else 80)
    return color


def path_color(theme: Theme) -> str:
    """The path of the current run."""
    return "#ffffff" if theme.dark else "#111418"
