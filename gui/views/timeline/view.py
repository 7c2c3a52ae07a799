"""The timeline: what happened over the steps, one plot below the other, with a line that scrubs every view."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QPoint, QSettings, Qt, Slot
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import QScrollArea, QToolButton, QToolTip, QWidget

from core.simulation.history import History
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.timeline.canvas import Canvas
from gui.views.timeline.columns import Columns
from gui.views.timeline.events import Mark, mark_text, marks_of
from gui.views.timeline.marks import MarkControl
from gui.views.timeline.panel import Panel, Scene
from gui.views.timeline.plots_button import PlotsButton
from gui.views.timeline.sharpness import SHARPNESS, SharpnessSource
from gui.views.timeline.specs import BY_NAME, DEFAULT_PLOTS, specs_of
from gui.views.timeline.stretch import Stretch, gone_along, whole_range, within

SETTING = "timeline/plots"
NEAR_PIXELS = 6.0


class TimelineView(View):
    """Stacked plots over the steps; a magnified stretch stays while the run goes on, and moves along at its end."""

    name = "timeline"
    title = "Timeline"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.columns = Columns()
        self.sharpness = SharpnessSource(session, self.columns, self)
        self.sharpness.grown.connect(self._on_grown)
        self.window_of_steps: Stretch | None = None
        """The stretch of steps in sight; None: all of them."""
        self.marks: list[Mark] = []
        self._panels: dict[str, Panel] = {}
        self._drawn: object = None
        self._marked: object = None
        self._followed = 0
        self.canvas = Canvas()
        self.canvas.setAccessibleName(self.tr("Plots over the steps"))
        self.canvas.setAccessibleDescription(
            self.tr(
                "Drag to show another step, Shift and drag to magnify a range, wheel to magnify, double click for "
                "all steps. Keys: left, right, page up and down, Ctrl with left or right for changes, plus, minus, 0. "
                "On a live change: Enter edits its value, M its step, Delete removes it, comma and period move it"
            )
        )
        self.scroll = QScrollArea()
        self.scroll.setWidgetResizable(True)
        self.scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.scroll.setWidget(self.canvas)
        self.body.addWidget(self.scroll)
        self._build_header()
        self.canvas.scrubbed.connect(self._on_scrub)
        self.canvas.range_chosen.connect(self._on_range)
        self.canvas.magnified.connect(self._on_magnify)
        self.canvas.moved.connect(self._on_move)
        self.canvas.all_wanted.connect(self.show_all)
        self.canvas.pointed.connect(self._on_point)
        self.canvas.key_pressed.connect(self._on_key)
        self.canvas.values_magnified.connect(self._on_values)
        self.canvas.resized.connect(self._on_resized)
        self.control = MarkControl(self)
        session.runs_changed.connect(self._on_refresh)
        session.state_changed.connect(self._on_state)
        self.shown: list[str] = self._remembered()
        self._stack()
        self.restyle()

    def figure(self) -> QWidget:
        return self.canvas

    # building ---------------------------------------------------------------------------------------------------

    def _build_header(self) -> None:
        self.plots_button = PlotsButton(self)
        self.all_button = QToolButton()
        self.all_button.setObjectName("plain")
        self.all_button.setText(self.tr("All steps"))
        self.all_button.setToolTip(self.tr("Show all steps again (double click, or 0)"))
        self.all_button.setAccessibleName(self.tr("Show all steps"))
        self.all_button.clicked.connect(self.show_all)
        self.all_button.setVisible(False)
        place = self.header.indexOf(self.note)
        self.header.insertWidget(place, self.all_button)
        self.header.insertWidget(place + 2, self.plots_button)

    def _remembered(self) -> list[str]:
        saved = QSettings().value(SETTING)
        names = [str(name) for name in saved] if isinstance(saved, list) else []
        known = [name for name in names if name in BY_NAME]
        return known or list(DEFAULT_PLOTS)

    def options(self) -> dict[str, Any]:
        logs = {name: panel.log_choice for name, panel in self._panels.items() if panel.log_choice is not None}
        return {"plots": list(self.shown), "window": self.window_of_steps, "log": logs}

    def set_options(self, options: dict[str, Any]) -> None:
        self.shown = [spec.name for spec in specs_of(options.get("plots") or self.shown)]
        self._stack()
        # a view that has not been drawn yet would start with all steps
        self.flush()
        window = options.get("window")
        self.window_of_steps = None if window is None else (float(window[0]), float(window[1]))
        for name, log in options.get("log", {}).items():
            if name in self._panels:
                self._panels[name].log_choice = bool(log)
        self.mark_stale()

    def set_plots(self, names: list[str]) -> None:
        """Show these plots (at least one), in the order of the table; remembered for the next start."""
        if not names:
            return
        self.shown = [spec.name for spec in specs_of(names)]
        QSettings().setValue(SETTING, self.shown)
        self._stack()
        self.mark_stale()

    def _stack(self) -> None:
        panels = []
        for spec in specs_of(self.shown):
            if spec.name not in self._panels:
                self._panels[spec.name] = Panel(spec, self.theme, self.columns, self._small_font())
            panels.append(self._panels[spec.name])
        self.canvas.set_panels(panels, self.tr("step"))
        self._drawn = self._marked = None

    def _small_font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(11)
        return font

    def set_log(self, name: str, log: bool) -> None:
        """Give a plot a logarithmic or a linear axis."""
        self._panels[name].log_choice = log
        self._drawn = None
        self.mark_stale()

    # drawing ----------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        self.window_of_steps = None
        self._drawn = self._marked = None
        for panel in self._panels.values():
            panel.hand_range = None

    def restyle(self) -> None:
        self.canvas.restyle(self.theme)
        for panel in self._panels.values():
            panel.restyle(self.theme)
        self._drawn = self._marked = None

    def refresh(self) -> None:
        if SHARPNESS in self.shown:
            self.sharpness.follow(self.session.current)
        else:
            self.sharpness.stop()
        scene = self._scene()
        count = scene.counts[-1]
        self.canvas.empty.setVisible(count == 0)
        if count == 0:
            self.canvas.empty.setText(self.tr("No steps yet: press Run or Step, and their course is drawn here."))
        drawn = (
            scene.low,
            scene.high,
            scene.pixels,
            tuple((run.id, id(run.history), run.color_index) for run in scene.runs),
            scene.counts,
        )
        changed = drawn != self._drawn
        for panel in self.canvas.panels:
            if changed:
                panel.draw(scene)
            else:
                panel.move(scene)
        self._drawn = drawn
        self._show_marks(scene)
        self._show_note(scene)
        self.all_button.setVisible(self.window_of_steps is not None)

    @Slot()
    def _on_grown(self) -> None:
        self._drawn = None
        self.mark_stale()

    def _scene(self) -> Scene:
        session = self.session
        current = session.current
        runs = [run for run in session.runs if run.visible and run is not current]
        runs.append(current)
        counts = tuple(run.history.count for run in runs)
        self._go_along(max(counts))
        low, high = self.window_of_steps or (0.0, whole_range(max(counts)))
        cursor = min(session.cursor, max(counts[-1] - 1, 0))
        return Scene(tuple(runs), counts, low, high, self.canvas.pixels, cursor, session.state == "running")

    def _go_along(self, count: int) -> None:
        """A magnified stretch that held the newest step moves on with it while the run is followed."""
        grown, self._followed = count - self._followed, count
        if self.window_of_steps is None or grown <= 0 or not self.session.following:
            return
        self.window_of_steps = gone_along(self.window_of_steps, count, grown)

    def _show_marks(self, scene: Scene) -> None:
        run = scene.current
        events = [(event.acts, event.old) for event in run.events]
        key = (events, scene.counts[-1] // 50, id(run), tuple(self.shown), self.theme.name)
        if key == self._marked:
            return
        self._marked = key
        self.marks = marks_of(run.events, scene.counts[-1], _causes(run.history), self.theme.quiet)
        places = [(float(mark.first), float(mark.last), mark.color) for mark in self.marks]
        if run.forked_at is not None:
            places.append((float(run.forked_at), float(run.forked_at), self.theme.run_color(run.color_index)))
        for panel in self.canvas.panels:
            panel.set_marks(places)
        self.canvas.marks = [(first, last) for first, last, _ in places[: len(self.marks)]]
        self.show_chosen()

    def show_chosen(self) -> None:
        """Draw the chosen mark as such."""
        self.show_moving(None)

    def show_moving(self, step: float | None) -> None:
        """Draw the chosen mark on its way to another step (None: where it is)."""
        for panel in self.canvas.panels:
            panel.overlay.set_chosen(self.control.index, step)

    def _show_note(self, scene: Scene) -> None:
        before = [mark for mark in self.marks if mark.first <= scene.cursor]
        if before:
            newest = max(before, key=lambda mark: mark.first)
            self.note.setText(f"▲ {self.mark_text(newest)}")
        elif self.window_of_steps is not None:
            self.note.setText(self.tr("steps {0} to {1}").format(f"{scene.low:,.0f}", f"{scene.high:,.0f}"))
        else:
            self.note.setText("")
        self.note.setToolTip("\n".join(self.mark_text(mark) for mark in self.marks[-20:]))

    def mark_text(self, mark: Mark) -> str:
        """The mark in words."""
        return mark_text(mark, self.session.current.simulation.optimizer)

    # what the user does -----------------------------------------------------------------------------------------

    @Slot(float)
    def _on_scrub(self, step: float) -> None:
        self.session.show_step(round(step))

    @Slot(float, float)
    def _on_range(self, first: float, last: float) -> None:
        low, high = min(first, last), max(first, last)
        pixels = self.canvas.pixels
        shown = self.canvas.panels[0].box.viewRange()[0]
        # a click without a drag is not a range
        if (high - low) * pixels / max(shown[1] - shown[0], 1e-9) >= NEAR_PIXELS:
            self.set_window(low, high)

    @Slot(float, float)
    def _on_magnify(self, factor: float, at: float) -> None:
        low, high = self.window_of_steps or (0.0, whole_range(self._longest()))
        self.set_window(at - (at - low) / factor, at + (high - at) / factor)

    @Slot(float)
    def _on_move(self, steps: float) -> None:
        if self.window_of_steps is not None:
            low, high = self.window_of_steps
            self.set_window(low + steps, high + steps)

    @Slot(object, float, float)
    def _on_values(self, panel: Panel, factor: float, at: float) -> None:
        panel.zoom_values(factor, at)
        self._drawn = None
        self.mark_stale()

    @Slot()
    def show_all(self) -> None:
        """All steps, automatic vertical ranges."""
        self.window_of_steps = None
        for panel in self._panels.values():
            panel.hand_range = None
        self._drawn = None
        self.mark_stale()

    def set_window(self, low: float, high: float) -> None:
        """Bring the steps low..high into sight (kept within the run, and not narrower than a few steps)."""
        if math.isfinite(low) and math.isfinite(high):
            self.window_of_steps = within(low, high, self._longest())
            self.mark_stale()

    def _longest(self) -> int:
        return max(run.history.count for run in self.session.runs)

    @Slot(float, QPoint)
    def _on_point(self, step: float, place: QPoint) -> None:
        shown = self.canvas.panels[0].box.viewRange()[0]
        near = NEAR_PIXELS * (shown[1] - shown[0]) / self.canvas.pixels
        marks = [mark for mark in self.marks if mark.first - near <= step <= mark.last + near]
        texts = [f"{self.mark_text(mark)}   ({mark.target})" for mark in marks]
        run = self.session.current
        if run.forked_at is not None and abs(run.forked_at - step) <= near:
            texts.append(self.tr("forked at step {0}").format(f"{run.forked_at:,}"))
        if marks:
            texts = [*texts[:12], self.tr("Drag its flag to another step, double click to edit, right click for more")]
        if texts:
            QToolTip.showText(place, "\n".join(texts), self.canvas)
        else:
            QToolTip.hideText()

    @Slot(QKeyEvent)
    def _on_key(self, event: QKeyEvent) -> None:
        session, key = self.session, event.key()
        far = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        jump = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        low, high = self.window_of_steps or (0.0, whole_range(self._longest()))
        page = max(int((high - low) / 10), 1)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            sign = -1 if key == Qt.Key.Key_Left else 1
            if jump:
                step = self._next_mark(sign)
                session.show_step(step)
                self.control.choose_at(step)
            else:
                session.show_step(session.cursor + sign * (10 if far else 1))
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            session.show_step(session.cursor + (-page if key == Qt.Key.Key_PageUp else page))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_Equal):
            self._on_magnify(0.8 if key == Qt.Key.Key_Minus else 1.25, float(session.cursor))
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif key == Qt.Key.Key_L:
            self._toggle_first_log()
        elif not self.control.take_key(event):
            return
        event.accept()

    def _next_mark(self, sign: int) -> int:
        cursor = self.session.cursor
        steps = [mark.first for mark in self.marks if (mark.first - cursor) * sign > 0]
        return min(steps, key=lambda step: abs(step - cursor)) if steps else cursor

    def _toggle_first_log(self) -> None:
        panels = [panel for panel in self.canvas.panels if panel.area is None]
        if panels:
            self.set_log(panels[0].spec.name, not panels[0].log)

    @Slot()
    def _on_resized(self) -> None:
        self._drawn = None
        self.mark_stale()

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self._drawn = None
        self.mark_stale()


def _causes(history: History) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, schema in history.schemas:
        found.update(zip(schema.names, schema.causes, strict=True))
    return found
