"""The vectors view's sentences: how the two differ, on what scale they are drawn, what is under the mouse."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QCoreApplication

from core.simulation.contrast import Contrast
from core.simulation.wording import degrees, factor, number
from gui.views.vectors.chart import factor_text
from gui.views.vectors.panels import Panel, PanelScale
from gui.widgets.signed_scale import SYMLOG, tick_text


def tr(text: str) -> str:
    """Translation of a text of this view."""
    return QCoreApplication.translate("VectorsView", text)


def note(found: Contrast, short: bool = False) -> str:
    """The read-out at the right of the title; ``short`` where there is little room."""
    parts = []
    if math.isfinite(found.ratio):
        text = "×{0}" if short else tr("‖Δw‖ / ‖lr·g‖ = {0}")
        parts.append(text.format(signed(found.ratio, 3)))
    if math.isfinite(found.angle):
        text = "{0}°" if short else tr("angle {0}°")
        parts.append(text.format(f"{found.angle:.1f}"))
    return "   ".join(parts)


def comparison(found: Contrast) -> str:
    """Norms, ratio, cosine and sign flips in words."""
    if found.broken:
        return tr("{0} of {1} components are inf or nan: the lengths cannot be compared.").format(
            found.broken, found.size
        )
    text = tr("‖−lr·g‖ = {0}, ‖Δw‖ = {1}").format(signed(found.expected_norm), signed(found.applied_norm))
    if math.isfinite(found.ratio) and found.applied_norm > 0.0:
        text += tr(": {0} times as long").format(factor(found.ratio).replace("-", "\u2212"))
        if math.isfinite(found.angle):
            text += tr(", turned by {0}° (cosine {1})").format(degrees(found.angle), signed(round(found.cosine, 4)))
    text += "."
    if found.flipped:
        text += " " + tr("{0} of {1} weights move against −lr·g.").format(found.flipped, found.size)
    elif found.applied_norm > 0.0 and found.expected_norm > 0.0:
        text += " " + tr("No weight moves against −lr·g.")
    if found.unmoved:
        text += " " + tr("{0} stay where they are.").format(found.unmoved)
    return text


def scale_words(scale: PanelScale, panels: list[Panel], automatic: bool) -> str:
    """On what scale the panels are drawn; the automatic choice gives its reason."""
    if scale.kind == SYMLOG:
        text = tr("Symmetric log scale, linear within ±{0}").format(tick_text(scale.signed.threshold))
        reason = tr(" (the sizes are far apart)")
    elif scale.kind == "separate" and len(set(scale.factors)) > 1:
        told = [
            tr("{0} {1}").format(panel.title, factor_text(factor))
            for panel, factor in zip(panels, scale.factors, strict=True)
            if factor != 1.0
        ]
        text = tr("Magnified: {0}").format(", ".join(told))
        reason = tr(" (the sizes are far apart)")
    else:
        return tr("One linear scale for all panels.")
    return text + (reason if automatic else "") + "."


def component_words(name: str, panels: list[Panel], index: int) -> str:
    """'x: computed −0.14, applied 0.01, ...' for the component under the mouse."""
    values = [f"{panel.title} {signed(float(panel.values[index]), 6)}" for panel in panels]
    return f"{name}:  " + "   ".join(values)


def signed(value: float, digits: int = 4) -> str:
    """A number with a real minus sign."""
    text = number(value) if digits == 4 else f"{value:.{digits}g}"
    if not np.isfinite(value):
        text = str(value)
    return text.replace("-", "\u2212")
