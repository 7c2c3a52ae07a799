"""Axes of the small panels: ticks where there is something to measure, labels that keep clear of one another."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import QFontMetricsF

from gui.widgets.signed_scale import LINEAR, SignedAxis

GAP = 7.0
"""Pixels between two labels, at least."""
BEYOND = 4
"""Pixels by which a label may reach beyond its panel where the next panel's may do the same."""
LABEL = 44.0
"""Pixels for a label such as −1e−10 and the gap behind it."""
INWARDS = (1.0, 0.8, 0.6, 0.45)
"""Parts of the range in which ticks are looked for, until some label beside the zero fits."""


class PanelAxis(SignedAxis):
    """``reach`` (lowest, highest place with a tick) leaves the room for written values free of ticks; labels may
    stand out ``beyond`` the panel by so many pixels.
    """

    def __init__(self, orientation: str, **arguments: Any) -> None:
        super().__init__(orientation, **arguments)
        self.reach: tuple[float, float] | None = None
        self.set_beyond(BEYOND)

    def set_beyond(self, pixels: int) -> None:
        """How far labels may stand out."""
        self.beyond = pixels
        # measured by pyqtgraph with the air around the letters
        self.setStyle(hideOverlappingLabels=pixels + 3)

    def set_reach(self, low: float, high: float) -> None:
        """Ticks from ``low`` to ``high`` only, in places along the axis."""
        if self.reach != (low, high):
            self.reach = (low, high)
            self.picture = None
            self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        low, high = self.reach if self.reach is not None else (minVal, maxVal)
        low, high = max(low, minVal), min(high, maxVal)
        if not high > low:
            return []
        pixels = size / (maxVal - minVal)
        first: list[tuple[float, list[float]]] = []
        for part in INWARDS if low <= 0.0 <= high else (1.0,):
            tried = self._tried(part * low, part * high, part * (high - low) * pixels)
            found = [(spacing, self._clear(places, spacing, minVal, pixels, size)) for spacing, places in tried]
            if any(place != 0.0 for _, places in found for place in places):
                return found
            first = first or found
        return first

    def _tried(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Ticks between two places, whether or not their labels fit."""
        if self.signed_scale.kind == LINEAR:
            return super().tickValues(low, high, size)
        ends = self.signed_scale.values([low, high])
        ticks = self.signed_scale.ticks(float(ends[0]), float(ends[1]), max(int(size / LABEL), 5))
        return [(1.0, [self.signed_scale.place(tick) for tick in ticks])]

    def _clear(self, places: list[float], spacing: float, start: float, pixels: float, size: float) -> list[float]:
        """The places whose labels fit in and keep clear of others: 0 first, then from the outside in."""
        metrics = QFontMetricsF(self.style["tickFont"] or self.font())
        across = self.orientation in ("top", "bottom")
        texts = self.tickStrings(places, 1.0, spacing)
        halves = [(metrics.horizontalAdvance(text) if across else metrics.ascent()) / 2.0 for text in texts]
        kept: list[tuple[float, float]] = []
        for k in sorted(range(len(places)), key=lambda k: (places[k] != 0.0, -abs(places[k]))):
            at = (places[k] - start) * pixels
            inside = halves[k] - self.beyond <= at <= size - halves[k] + self.beyond
            apart = all(abs(at - (p - start) * pixels) >= half + halves[k] + GAP for p, half in kept)
            if (inside or not across) and apart:
                kept.append((places[k], halves[k]))
        return sorted(place for place, _ in kept)
