"""The model beside its data: decision boundary, fitted curve, confusion or predicted against true, and the metrics."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QRectF, Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from core.problems.models import ModelObjective
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.fit_jobs import Fit, FitJob, MetricsJob
from gui.widgets.numbers import shown_number

SLOT, METRICS_SLOT = "fit", "fit metrics"
# told apart by colour-blind people, and none of the colours that mean a cause or a step
CLASS_COLORS = ("#5ab4ac", "#d8b365", "#9970ab", "#c2a5cf", "#80b1d3", "#bebada", "#b3de69", "#fb8072", "#ccebc5",
                "#bc80bd")  # fmt: skip
MEASURES = ("accuracy", "RMS error", "loss")


def class_color(index: int) -> QColor:
    """The colour of a class."""
    return QColor(CLASS_COLORS[index % len(CLASS_COLORS)])


def blend(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Probabilities (y, x, classes) as colours (y, x, 3): the classes' colours mixed."""
    colors = np.array([[c.red(), c.green(), c.blue()] for c in map(class_color, range(values.shape[2]))], dtype=float)
    mixed = np.nan_to_num(values @ colors, nan=0.0)
    return np.clip(mixed, 0, 255).astype(np.uint8)


class FitView(View):
    """Reads the weights of the step shown and the data of the problem."""

    name = "fit"
    title = QCoreApplication.translate("FitView", "Fit")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.fit: Fit | None = None
        """The picture shown."""
        self._job: FitJob | None = None
        self._metrics: MetricsJob | None = None
        self._asked: object = None
        self.empty = QLabel(self.tr("This problem has no data.\nChoose a model, or open your own data (Ctrl+D)."))
        self.empty.setObjectName("quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.canvas = pg.GraphicsLayoutWidget()
        self.canvas.setAccessibleName(self.tr("The model beside its data"))
        self.canvas.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.picture: pg.PlotItem = self.canvas.addPlot(row=0, col=0)
        self.course: pg.PlotItem = self.canvas.addPlot(row=1, col=0)
        self.canvas.ci.layout.setRowStretchFactor(0, 3)
        self.canvas.ci.layout.setRowStretchFactor(1, 1)
        for plot in (self.picture, self.course):
            plot.hideButtons()
            plot.setMenuEnabled(False)
            plot.setMouseEnabled(False, False)
            for side in ("left", "bottom"):
                plot.getAxis(side).enableAutoSIPrefix(False)
        self.image = pg.ImageItem()
        self.image.setZValue(-10)
        self.curve = pg.PlotCurveItem()
        self.train_points, self.test_points = pg.ScatterPlotItem(pxMode=True), pg.ScatterPlotItem(pxMode=True)
        self.counts: list[pg.TextItem] = []
        for item in (self.image, self.train_points, self.test_points, self.curve):
            self.picture.addItem(item)
        self.train_curve, self.test_curve = pg.PlotCurveItem(), pg.PlotCurveItem()
        self.cursor_line = pg.InfiniteLine(angle=90)
        for item in (self.train_curve, self.test_curve, self.cursor_line):
            self.course.addItem(item, ignoreBounds=item is self.cursor_line)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.canvas)
        self.body.addWidget(self.stack, 1)
        session.engine.worked.connect(self._on_worked)
        self.restyle()

    def figure(self) -> QWidget:
        return self.canvas

    def restyle(self) -> None:
        theme = self.theme
        self.canvas.setBackground(theme.card)
        for plot in (self.picture, self.course):
            for side in ("left", "bottom"):
                axis = plot.getAxis(side)
                axis.setPen(QColor(theme.border))
                axis.setTextPen(QColor(theme.quiet))
        self.curve.setPen(pg.mkPen(QColor(theme.text), width=1))
        self.train_curve.setPen(pg.mkPen(QColor(theme.text), width=1))
        self.test_curve.setPen(pg.mkPen(QColor(theme.text), width=1, style=Qt.PenStyle.DashLine))
        self.cursor_line.setPen(pg.mkPen(QColor(theme.quiet), width=1))
        self._asked = None
        if self.fit is not None:
            self._draw(self.fit)

    def rebuild(self) -> None:
        self.fit = self._metrics = self._asked = None
        for item in (self.curve, self.train_curve, self.test_curve):
            item.setData([], [])
        for points in (self.train_points, self.test_points):
            points.setData([])
        self._show_counts(None)
        self.image.clear()

    def refresh(self) -> None:
        run, engine = self.session.current, self.session.engine
        objective = run.simulation.objective
        if not isinstance(objective, ModelObjective):
            self.stack.setCurrentWidget(self.empty)
            self.note.setText("")
            return
        self.stack.setCurrentWidget(self.canvas)
        history = run.history
        step = min(self.session.cursor, history.count)
        asked = (id(run.simulation), id(objective), step, history.count == 0)
        # one picture at a time: the next is asked for when this one has come
        if asked != self._asked and not engine.works_on(SLOT):
            self._asked = asked
            self._job = FitJob(run.simulation, step)
            engine.submit(SLOT, self._job)
        if self._metrics is None or self._metrics.history is not history:
            self._metrics = MetricsJob(run.simulation, history)
        if self._metrics.next_step < history.count and not engine.works_on(METRICS_SLOT):
            self._metrics = MetricsJob(run.simulation, history, self._metrics)
            engine.submit(METRICS_SLOT, self._metrics)
        self._draw_course()

    def hideEvent(self, event: object) -> None:
        super().hideEvent(event)
        self.session.engine.cancel(SLOT)
        self.session.engine.cancel(METRICS_SLOT)
        self._asked = None

    def finish(self) -> None:
        self.flush()
        objective = self.session.current.simulation.objective
        if isinstance(objective, ModelObjective):
            for job in (self._job, self._metrics):
                while job is not None and not job.advance(1.0):
                    pass
            if self._job is not None and self._job.fit is not None:
                self._draw(self._job.fit)
                self._tell(self._job.metrics)
            self._draw_course()

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot == SLOT and job is self._job and isinstance(job, FitJob) and job.fit is not None:
            self._draw(job.fit)
            self._tell(job.metrics)
            self.mark_stale()
        elif slot == METRICS_SLOT and job is self._metrics:
            self.mark_stale()

    # drawing ----------------------------------------------------------------------------------------------------

    def _draw(self, fit: Fit) -> None:
        self.fit = fit
        objective = self.session.current.simulation.objective
        if not isinstance(objective, ModelObjective):
            return
        data = objective.samples.dataset
        self._show_counts(fit if fit.kind == "confusion" else None)
        self.image.setVisible(fit.kind in ("boundary", "confusion"))
        self.picture.invertY(fit.kind == "confusion")
        left, bottom = data.target_name, data.feature_names[0] if data.feature_names else ""
        if fit.kind == "boundary":
            x, y = fit.grid_x, fit.grid_y
            dx, dy = x[1] - x[0], y[1] - y[0]
            self.image.setImage(blend(fit.values), autoLevels=False, levels=(0, 255))
            self.image.setRect(QRectF(x[0] - dx / 2, y[0] - dy / 2, dx * len(x), dy * len(y)))
            self.curve.setData([], [])
            left = data.feature_names[1]
            self._range(x[0], x[-1], y[0], y[-1])
        elif fit.kind == "curve":
            self.curve.setData(fit.grid_x, fit.values, connect="finite")
            targets = data.targets[np.isfinite(data.targets)]
            room = 0.1 * (float(np.ptp(targets)) or 1.0)
            self._range(fit.grid_x[0], fit.grid_x[-1], targets.min() - room, targets.max() + room)
        elif fit.kind == "predicted":
            low, high = float(data.targets.min()), float(data.targets.max())
            room = 0.1 * (high - low or 1.0)
            self.curve.setData([low - room, high + room], [low - room, high + room])
            left, bottom = self.tr("predicted {0}").format(data.target_name), self.tr("true")
            self._range(low - room, high + room, low - room, high + room)
        elif fit.kind == "confusion":
            count = len(data.classes)
            self.curve.setData([], [])
            share = fit.values / np.maximum(fit.values.sum(axis=1, keepdims=True), 1.0)
            low, high = QColor(self.theme.card), class_color(0)
            ends = np.array([[c.red(), c.green(), c.blue()] for c in (low, high)], dtype=float)
            self.image.setImage(
                (ends[0] + share[:, :, None] * (ends[1] - ends[0])).astype(np.uint8), autoLevels=False, levels=(0, 255)
            )
            self.image.setRect(QRectF(-0.5, -0.5, count, count))
            left = self.tr("true, test rows") if fit.on_test else self.tr("true, training rows")
            bottom = self.tr("predicted")
            self._range(-0.5, count - 0.5, -0.5, count - 0.5)
        ticks = [[(k, name) for k, name in enumerate(data.classes)]] if fit.kind == "confusion" else None
        for side, text in (("left", left), ("bottom", bottom)):
            axis = self.picture.getAxis(side)
            axis.setTicks(ticks)
            axis.setLabel(text, **{"color": self.theme.quiet, "font-size": "10px"})
        self._show_points(self.train_points, fit.train, fit.train_class, "o")
        self._show_points(self.test_points, fit.test, fit.test_class, "s")

    def _range(self, left: float, right: float, bottom: float, top: float) -> None:
        self.picture.setXRange(left, right, padding=0)
        self.picture.setYRange(bottom, top, padding=0)

    def _show_points(
        self, item: pg.ScatterPlotItem, points: NDArray[np.float64], classes: NDArray[np.intp], symbol: str
    ) -> None:
        good = np.isfinite(points).all(axis=1)
        edge = pg.mkPen(QColor(self.theme.card), width=1)
        plain = QColor(self.theme.quiet)
        colors = [class_color(k) for k in classes[good]] if len(classes) else plain
        brush = [pg.mkBrush(color) for color in colors] if isinstance(colors, list) else pg.mkBrush(plain)
        item.setData(points[good, 0], points[good, 1], symbol=symbol, size=6, pen=edge, brush=brush)

    def _show_counts(self, fit: Fit | None) -> None:
        for text in self.counts:
            self.picture.removeItem(text)
        self.counts = []
        if fit is None:
            return
        for row, column in np.argwhere(fit.values > 0):
            text = pg.TextItem(f"{fit.values[row, column]:.0f}", color=self.theme.text, anchor=(0.5, 0.5))
            text.setPos(float(column), float(row))
            self.picture.addItem(text, ignoreBounds=True)
            self.counts.append(text)

    def _draw_course(self) -> None:
        metrics = self._metrics
        if metrics is None or not metrics.rows:
            return
        name = next(name for name in MEASURES if f"train {name}" in metrics.rows[0])
        for part, item in (("train", self.train_curve), ("test", self.test_curve)):
            x, y = metrics.column(f"{part} {name}")
            item.setData(x, y, connect="finite")
        self.course.getAxis("left").setLabel(name, **{"color": self.theme.quiet, "font-size": "10px"})
        words = self.tr("step   (solid: training rows, dashed: test rows)")
        self.course.getAxis("bottom").setLabel(words, **{"color": self.theme.quiet, "font-size": "10px"})
        self.cursor_line.setPos(self.session.cursor)

    def _tell(self, metrics: dict[str, float]) -> None:
        name = next((name for name in MEASURES if f"train {name}" in metrics), "loss")
        parts = [part for part in ("train", "test") if f"{part} {name}" in metrics]
        texts = [f"{part} {shown_number(metrics[f'{part} {name}'])}" for part in parts]
        self.note.setText(f"{name}: " + "   ".join(texts))
        self.note.setToolTip("\n".join(f"{key}: {value:.6g}" for key, value in metrics.items()))
