"""One plot of the stack: axis, curves from pyramids, cursor, marks and the legend beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QFont, QFontMetricsF

from core.simulation import measures
from gui.run import Run
from gui.theme import Theme, cause_color
from gui.views.timeline.axis import StepAxis, ValueAxis, short_number
from gui.views.timeline.columns import Columns
from gui.views.timeline.items import Curves, Legend, Line, Overlay, StackedArea
from gui.views.timeline.specs import RUN, SHARES, PlotSpec, Series

Float64 = NDArray[np.float64]
SMOOTH = 0.015
"""Shares are drawn as the mean over this part of the steps in sight."""
CROWDED = 4
"""From so many steps a pixel on, the mean is drawn over the extremes."""
AXIS_WIDTH = 58
STEPS_HEIGHT = 18


@dataclass(frozen=True)
class Scene:
    """What all panels draw: the runs in sight, the current one last; the window of steps; the step shown."""

    runs: tuple[Run, ...]
    counts: tuple[int, ...]
    low: float
    high: float
    pixels: int
    cursor: int
    running: bool

    @property
    def current(self) -> Run:
        """The run that is shown in detail."""
        return self.runs[-1]


class Panel:
    """One plot. ``draw`` looks at data, ``move`` only at the step shown."""

    def __init__(self, spec: PlotSpec, theme: Theme, columns: Columns, font: QFont) -> None:
        self.spec = spec
        self.theme = theme
        self._font = QFont(font)
        self._font.setPixelSize(10)
        self._named = ""
        self.columns = columns
        self.log_choice: bool | None = None
        """The user's choice of scale; None: as the spec says, as far as the values allow."""
        self.hand_range: tuple[float, float] | None = None
        """A vertical range set by hand."""
        self.axis, self.steps = ValueAxis(degrees=spec.unit == "°"), StepAxis()
        self.box = pg.ViewBox(enableMenu=False, defaultPadding=0.0)
        self.box.setMouseEnabled(False, False)
        self.plot = pg.PlotItem(viewBox=self.box, axisItems={"left": self.axis, "bottom": self.steps}, enableMenu=False)
        self.plot.hideButtons()
        self.plot.setContentsMargins(0, 0, 0, 0)
        self.box.disableAutoRange()
        self.axis.setWidth(AXIS_WIDTH)
        self.axis.setTickFont(font)
        self.steps.setTickFont(font)
        self.legend = Legend(font, theme.text, theme.quiet)
        self.overlay = Overlay()
        self.area = StackedArea() if spec.name == SHARES else None
        self.curves = Curves()
        for item in (self.area or self.curves, self.overlay):
            self.box.addItem(item, ignoreBounds=True)
        self._values: dict[tuple[int, str], Float64] = {}
        self._window: tuple[float, float] | None = None
        self._range: tuple[float, float] | None = None
        self.window = 1
        """Steps over which the shares drawn are averaged."""
        self.restyle(theme)

    # looks ------------------------------------------------------------------------------------------------------

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.theme = theme
        for axis in (self.axis, self.steps):
            axis.setPen(QColor(theme.border))
            axis.setTickPen(_between(theme.border, theme.quiet))
            axis.setTextPen(QColor(theme.quiet))
        self.overlay.set_colors(theme.text, theme.card)
        self.legend.set_colors(theme.text, theme.quiet)
        self.fit()

    def fit(self) -> None:
        """Give the axis its name, with the unit as far as the height allows."""
        text = f"{self.spec.axis} ({self.spec.unit})" if self.spec.unit else self.spec.axis
        metrics = QFontMetricsF(self._font)
        if metrics.horizontalAdvance(text) > self.box.height() - 2.0:
            text = self.spec.axis
        if text != self.axis.labelText or self._named != self.theme.name:
            self._named = self.theme.name
            self.axis.setLabel(text, **{"color": self.theme.quiet, "font-size": "10px"})

    def show_steps(self, shown: bool, label: str) -> None:
        """Number the steps below this plot (the lowest one does)."""
        self.steps.setStyle(showValues=shown)
        self.steps.showLabel(shown)
        if shown:
            self.steps.setLabel(label, **{"color": self.theme.quiet, "font-size": "10px"})
        self.steps.setHeight(STEPS_HEIGHT if shown else 6)
        self.legend.below = STEPS_HEIGHT if shown else 0.0

    # data -------------------------------------------------------------------------------------------------------

    @property
    def log(self) -> bool:
        """True while the vertical axis is logarithmic."""
        return self.axis.log

    def draw(self, scene: Scene) -> None:
        """Draw the window of steps anew."""
        self.fit()
        self.set_window(scene)
        if self.area is not None:
            self._draw_shares(scene)
        else:
            self._draw_curves(scene)
        self.move(scene)

    def set_window(self, scene: Scene) -> None:
        """Take over the horizontal range."""
        if self._window != (scene.low, scene.high):
            self._window = (scene.low, scene.high)
            self.box.setXRange(scene.low, scene.high, padding=0)

    def _draw_curves(self, scene: Scene) -> None:
        log = self._wants_log(scene)
        if log != self.axis.log:
            self.axis.log = log
            self._range = self.hand_range = None
            self.axis.picture = None
        low, high = math.inf, -math.inf
        self._values = {}
        lines = []
        for run, count in zip(scene.runs, scene.counts, strict=True):
            if run is not scene.current and not self.spec.compares_runs:
                continue
            for series in self.spec.series:
                line = self._line(run, count, series, scene)
                if line is not None:
                    lines.append(line)
                    low = min(low, float(np.fmin.reduce(line.y, initial=math.inf)))
                    high = max(high, float(np.fmax.reduce(line.y, initial=-math.inf)))
        self.curves.set_lines(lines)
        self._set_range(low, high, scene.running)

    def _line(self, run: Run, count: int, series: Series, scene: Scene) -> Line | None:
        log = self.axis.log
        pyramid = self.columns.pyramid(run.history, series.column, log)
        if pyramid is None:
            return None
        self._values[run.id, series.column] = pyramid.values
        # one value beyond either edge, so that the line goes on to it
        first, last = math.floor(scene.low) - 1, min(math.ceil(scene.high) + 2, count)
        x, y = pyramid.query(first, last, scene.pixels)
        y = np.log10(y) if log else y * self.spec.factor
        color = self._color(run, scene, series.color)
        if last - max(first, 0) < CROWDED * scene.pixels:
            return Line(x, y, color)
        mean = self.columns.mean(run.history, series.column, log)
        assert mean is not None
        mean_x, mean_y = mean.binned(first, last, scene.pixels // 3)
        return Line(x, y, color, mean_x, mean_y if log else mean_y * self.spec.factor)

    def _color(self, run: Run, scene: Scene, color: str) -> str:
        if color == RUN or run is not scene.current:
            return self.theme.run_color(run.color_index)
        return color

    def _wants_log(self, scene: Scene) -> bool:
        if self.log_choice is not None:
            return self.log_choice
        if not self.spec.log:
            return False
        # a loss that is not positive everywhere would lose its best part on a logarithmic axis
        for series in self.spec.series[:1]:
            if series.column == "loss":
                pyramid = self.columns.pyramid(scene.current.history, series.column, False)
                if pyramid is not None and pyramid.extremes(0, pyramid.count)[0] <= 0.0:
                    return False
        return True

    def _draw_shares(self, scene: Scene) -> None:
        assert self.area is not None
        history = scene.current.history
        shares = {cause: measures.share(history, cause) for cause in self.columns.causes(history)}
        self._values = {(scene.current.id, cause): values for cause, values in shares.items()}
        visible = min(scene.high, history.count) - max(scene.low, 0.0)
        # no smoothing where single steps can be told apart
        self.window = max(int(visible * SMOOTH), 1) if visible > 60 else 1
        x, drawn = self.columns.shares(history, shares, scene.low, scene.high, max(scene.pixels // 2, 16), self.window)
        self.area.set_data(x, drawn * 100.0, [cause_color(cause) for cause in shares])
        self._set_range(0.0, 100.0, False)

    def _set_range(self, low: float, high: float, running: bool) -> None:
        if self.hand_range is not None:
            low, high = self.hand_range
        else:
            low, high = self._fitted(low, high, running)
        if (low, high) != self._range:
            self._range = (low, high)
            self.box.setYRange(low, high, padding=0)

    def _fitted(self, low: float, high: float, running: bool) -> tuple[float, float]:
        floor, ceiling = self.spec.bounds
        if self.spec.whole and floor is not None and ceiling is not None:
            # a hair of room, so that lines at the limits are seen
            return floor - 0.02 * (ceiling - floor), ceiling + 0.02 * (ceiling - floor)
        if not (math.isfinite(low) and math.isfinite(high)):
            return self._range or ((-1.0, 1.0) if self.axis.log else (0.0, 1.0))
        least = 0.3 if self.axis.log else max(self.spec.least, max(abs(low), abs(high), 1e-12) * 1e-3)
        if high - low < least:
            middle = 0.5 * (low + high)
            low, high = middle - 0.5 * least, middle + 0.5 * least
        room = 0.06 * (high - low)
        low, high = low - room, high + room
        if not self.axis.log:
            if floor is not None:
                low = max(low, floor) if low < floor else low
                low = floor if low - floor < 0.3 * (high - floor) else low
            if ceiling is not None:
                high = min(high, ceiling)
        old = self._range
        if running and old is not None and old[0] <= low and high <= old[1] and high - low > 0.7 * (old[1] - old[0]):
            return old
        return low, high

    # the step shown ---------------------------------------------------------------------------------------------

    def move(self, scene: Scene) -> None:
        """Show another step: the line, a dot on each curve, the numbers beside."""
        current = scene.current
        if self.area is not None:
            self.overlay.set_cursor(scene.cursor, [])
            shares = [(cause, self._value((run_id, cause), scene.cursor)) for run_id, cause in self._values]
            shares = sorted((pair for pair in shares if pair[1] >= 0.005), key=lambda pair: -pair[1])
            self.legend.set_entries([(cause, f"{100.0 * value:.0f} %", cause_color(cause)) for cause, value in shares])
            return
        dots: list[tuple[float, str]] = []
        entries = []
        for series in self.spec.series:
            value = self._value((current.id, series.column), scene.cursor)
            color = self._color(current, scene, series.color)
            shown = value * self.spec.factor
            label = current.name if self.spec.compares_runs and len(scene.runs) > 1 else series.label
            entries.append((label, self._value_text(shown), color))
            if math.isfinite(value) and (value > 0.0 or not self.axis.log):
                dots.append((math.log10(value) if self.axis.log else shown, color))
        if self.spec.compares_runs:
            for run in reversed(scene.runs[:-1]):
                value = self._value((run.id, self.spec.series[0].column), scene.cursor) * self.spec.factor
                entries.append((run.name, self._value_text(value), self.theme.run_color(run.color_index)))
        self.overlay.set_cursor(scene.cursor, dots)
        self.legend.set_entries(entries)

    def _value(self, key: tuple[int, str], step: int) -> float:
        values = self._values.get(key)
        return float(values[step]) if values is not None and 0 <= step < len(values) else math.nan

    def _value_text(self, value: float) -> str:
        if not math.isfinite(value):
            return "–" if math.isnan(value) else short_number(value)
        if self.spec.unit == "°":
            return f"{value:.1f}°"
        unit = {"%": " %", "×": "×"}.get(self.spec.unit, "")
        return short_number(value, 3) + unit

    def set_marks(self, marks: Sequence[tuple[float, float, str]]) -> None:
        """Lines where settings changed."""
        self.overlay.set_marks(marks)

    def zoom_values(self, factor: float, at: float) -> None:
        """Magnify the vertical axis by ``factor`` around ``at`` (in its own coordinates)."""
        low, high = self.box.viewRange()[1]
        self.hand_range = (at - (at - low) / factor, at + (high - at) / factor)


def _between(first: str, second: str) -> QColor:
    a, b = QColor(first), QColor(second)
    return QColor((a.red() + b.red()) // 2, (a.green() + b.green()) // 2, (a.blue() + b.blue()) // 2)


def least_height(font: QFont) -> int:
    """The height below which a plot cannot be read."""
    return math.ceil(3.4 * QFontMetricsF(font).height())
