"""Why the applied step is not -lr*g: the ledger of the step shown as waterfall, table and in words."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QItemSelectionModel, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QMenu,
    QStackedWidget,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from core.optim.optimizer import Optimizer
from core.simulation.formulas import formula
from core.simulation.story import story_html
from core.simulation.wording import rich
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.ledger.about_row import example_weight, numbers_line, shown_formula
from gui.views.ledger.axis_words import axis_words
from gui.views.ledger.controls import LedgerControls
from gui.views.ledger.menu import RowMenus
from gui.views.ledger.other_button import OtherButton
from gui.views.ledger.parts import PartsLine
from gui.views.ledger.plot import WaterfallPlot
from gui.views.ledger.step import LedgerStep, line_titles, scope_part
from gui.views.ledger.story_box import StoryBox
from gui.views.ledger.table import LedgerTable
from gui.views.ledger.tips import line_tip
from gui.views.ledger.whatif_job import Counterfactuals
from gui.widgets.copy_table import CopyTable, table_text
from gui.widgets.readable import text_color
from gui.widgets.steady import Pace

FRAME_SECONDS = 0.035
TEXT_SECONDS = 0.25
NARROW = 420
"""Pixels of width below which the card's title is a single word."""


class LedgerView(View):
    """Reads expected, rows and applied of the step shown, and the optimizer's settings for the formulas."""

    name = "ledger"
    title = QCoreApplication.translate("LedgerView", "Ledger: why Δw ≠ −lr·g")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.controls = LedgerControls()
        self.plot = WaterfallPlot(theme)
        self.plot.setAccessibleName(self.tr("Waterfall from the expected to the applied step"))
        self.plot.setAccessibleDescription(self.tr("Up and down select a cause, the menu key opens its menu"))
        self.model = LedgerTable(theme, self._tip, self)
        self.table = self._make_table()
        self.empty = QLabel(self.tr("No step has been taken yet.\nRun, or take one step, to see why it is what it is."))
        self.empty.setObjectName("quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.stack = QStackedWidget()
        for page in (self.empty, self.plot, self.table):
            self.stack.addWidget(page)
        self.compare_button = OtherButton(session, theme)
        self.header.addWidget(self.compare_button)
        self.body.addWidget(self.controls)
        self.page = QWidget()
        self.story = StoryBox(self.page)
        self.story.label.setAccessibleName(self.tr("The step in words"))
        page = QVBoxLayout(self.page)
        page.setContentsMargins(0, 0, 0, 0)
        self.parts_line = PartsLine(session, self.page)
        page.addWidget(self.parts_line)
        page.addWidget(self.stack, 1)
        page.addWidget(self.story)
        self.body.addWidget(self.page, 1)
        self.step: LedgerStep | None = None
        self._names: tuple[str, ...] = ()
        self._titles: list[str] = []
        self._frames = Pace(FRAME_SECONDS)
        self._pace = Pace(TEXT_SECONDS)
        self._settings: tuple[object, Optimizer | None] = (None, None)
        self._selecting = False
        self._menus = RowMenus(session, self)
        self._whatif = Counterfactuals(session, self)
        self._whatif.answered.connect(self._on_answer)
        self.copy_action = QAction(self.tr("Copy the ledger of this step"), self)
        self.copy_action.setToolTip(self.tr("All rows and numbers, tab-separated, for a spreadsheet"))
        self.copy_action.triggered.connect(self._on_copy)
        self.controls.changed.connect(self._on_choice)
        self.controls.scope_chosen.connect(self._on_scope)
        self.plot.chosen.connect(self._on_line)
        self.plot.menu_wanted.connect(self._on_menu)
        self.plot.tip_wanted.connect(self._on_tip)
        session.state_changed.connect(self._on_state)

    def _make_table(self) -> CopyTable:
        table = CopyTable()
        table.setAccessibleName(self.tr("Ledger as a table"))
        table.setModel(self.model)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._on_table_menu)
        table.selectionModel().currentRowChanged.connect(self._on_table_row)
        header = table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, self.model.columnCount()):
            header.resizeSection(column, 70)
        return table

    # the protocol of views ----------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        simulation = self.session.current.simulation
        layout = simulation.history.layout
        names = tuple(simulation.objective.component_names)
        self._names = names if len(names) == layout.size else tuple(layout.component_names())
        self.controls.set_scopes(layout.names, self._names)
        self._settings = (None, None)
        self._whatif.forget()
        self.plot.reset()
        self.story.reset()

    def refresh(self) -> None:
        session = self.session
        history = session.current.history
        variable, component = session.selected_variable, session.selected_component
        name = self._names[component] if component is not None and component < len(self._names) else ""
        self.controls.show_scope(variable, component, name)
        if history.count == 0:
            self._show_empty()
            return
        running = session.state == "running"
        if not self._frames.due(running):
            QTimer.singleShot(self._frames.wait(), self, self._on_refresh)
            return
        at = min(session.cursor, history.count - 1)
        step = LedgerStep(history, at, scope_part(history, variable, component), self.controls.measure)
        if self.step is not None and (self.step.measure, self.step.expected.size) != (step.measure, step.expected.size):
            self.plot.reset()
        self.step = step
        self.parts_line.show_step(at, scope_part(history, variable, component))
        self._titles = line_titles(
            step, self.tr("expected −lr·g"), self.tr("applied Δw"), self._switched_off(at), self.tr("(off)")
        )
        due = self._pace.due(running)
        if not self.controls.table:
            self._show_plot(step, running)
        elif due:
            self._show_table(step)
        if due:
            self._tell(at)
        else:
            QTimer.singleShot(self._pace.wait(), self, self._on_refresh)
        self._frames.took()

    def restyle(self) -> None:
        self.plot.restyle(self.theme)
        self.model.theme = self.theme
        self.compare_button.restyle(self.theme)

    def options(self) -> dict[str, Any]:
        return self.controls.options()

    def set_options(self, options: dict[str, Any]) -> None:
        self.controls.set_options(options)

    def prepare_export(self) -> None:
        self.page.layout().setContentsMargins(8, 6, 8, 6)
        self.page.setObjectName("figure")
        self.page.setStyleSheet(f"QWidget#figure {{ background: {self.theme.card}; }}")

    def figure(self) -> QWidget:
        return self.page

    # showing --------------------------------------------------------------------------------------------------------

    def _show_plot(self, step: LedgerStep, running: bool) -> None:
        self.stack.setCurrentWidget(self.plot)
        self.plot.scale_wanted = self.controls.scale
        self.plot.mark(step.line_of(self.session.selected_row))
        self.plot.show_step(step, self._titles, running)
        self.plot.set_axis_text(self._axis_words(step))

    def _show_table(self, step: LedgerStep) -> None:
        self.stack.setCurrentWidget(self.table)
        self.model.show_step(step, self._titles)
        line = step.line_of(self.session.selected_row)
        self._selecting = True
        try:
            selection = self.table.selectionModel()
            if line is None:
                selection.clearCurrentIndex()
                selection.clearSelection()
            elif self.table.currentIndex().row() != line:
                flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                selection.setCurrentIndex(self.model.index(line, 0), flags)
        finally:
            self._selecting = False

    def _axis_words(self, step: LedgerStep) -> str:
        component = self.session.selected_component
        name = self._names[component if component is not None else 0] if step.measure == "value" else ""
        return axis_words(step, name, symlog=self.plot.scale.kind == "symlog")

    def _tell(self, at: int) -> None:
        step = self.step
        if step is None:
            return
        self._tell_residual(step)
        experiment = self.session.current.simulation.experiment
        told = story_html(
            self.session.current.history,
            at,
            self._color_of,
            storage=experiment.storage,
            arithmetic=experiment.arithmetic,
            translate=self._translate,
        )
        # what is asked about stands first: in a small window the rest has to be scrolled to
        self.story.set_html("<br>".join([*self._about_selected(step, at), told]))

    def _about_selected(self, step: LedgerStep, at: int) -> list[str]:
        """The selected row: its formula with this step's numbers, and the step as it would be without it."""
        line = step.line_of(self.session.selected_row)
        if line is None or self.session.state == "running":
            return []
        row, cause = step.names[line - 1], step.causes[line - 1]
        absent = step.acted(line) and cause != "rounding" and (cause != "learning rate" or self._scheduled(at))
        answer = self._whatif.ask(at, row, example_weight(self.session, step, line), absent)
        optimizer = self._optimizer(at)
        text = formula(optimizer, row, self.session.current.history.figures(at)) if optimizer is not None else ""
        told = []
        if text:
            name = f"<b style='color:{self._color_of(cause)}'>{html.escape(step.labels[line - 1])}</b>"
            told.append(f"{name}: {html.escape(shown_formula(text, answer))}")
        if answer is None:
            return told
        if answer.numbers is not None and answer.numbers.acted:
            told.append(numbers_line(answer.numbers, self._names))
        if answer.found is not None:
            told.append(rich(answer.found.sentence(self._translate), self._color_of))
        elif answer.trouble and absent:
            told.append(self.tr("Without it: cannot be told ({0}).").format(html.escape(answer.trouble)))
        return told

    def _scheduled(self, at: int) -> bool:
        history = self.session.current.history
        return bool(history.scalar("learning_rate")[at] != history.scalar("base_learning_rate")[at])

    def _tell_residual(self, step: LedgerStep) -> None:
        """0 where only the sums round: that is the ledger closing, not something to be read as a number."""
        residual = float(abs(step.residual).max(initial=0.0))
        text = f"{residual:.1e}".replace("-", "\u2212") if np.isfinite(residual) else self.tr("not finite")
        self.note.setText(self.tr("residual {0}").format("0" if step.closes else text))
        self.note.set_role("quiet" if step.closes else "warning")
        self.note.setToolTip(
            self.tr(
                "Largest |applied − (expected + all rows)|: {0}. The sums of the rows round in their last digits."
            ).format(text)
        )

    def _color_of(self, meaning: str) -> str:
        return text_color(self.theme, meaning)

    @staticmethod
    def _translate(text: str) -> str:
        return QCoreApplication.translate("story", text)

    def _show_empty(self) -> None:
        self.stack.setCurrentWidget(self.empty)
        self.step = None
        self.model.clear()
        self.note.setText("")
        self.story.set_html("")

    # settings of the step -------------------------------------------------------------------------------------------

    def _optimizer(self, at: int) -> Optimizer | None:
        """The optimizer's settings in step ``at``; worked out anew only when events differ."""
        simulation = self.session.current.simulation
        events = [event for event in simulation.experiment.events if event.step <= at]
        key = (id(simulation), simulation.experiment.optimizer, events)
        if key != self._settings[0]:
            self._settings = (key, simulation.optimizer_at(at))
        return self._settings[1]

    def _switched_off(self, at: int) -> list[str]:
        optimizer = self._optimizer(at)
        if optimizer is None:
            return []
        rows = zip(optimizer.chain.row_names, optimizer.chain, strict=True)
        return [name for name, transform in rows if not transform.enabled]

    def _tip(self, line: int) -> str:
        step = self.step
        if step is None or line >= step.lines:
            return ""
        history = self.session.current.history
        if step.step >= history.count:
            return ""
        return line_tip(step, line, self._optimizer(step.step), history.figures(step.step), self.theme)

    # selection and menus --------------------------------------------------------------------------------------------

    def _select(self, row: str | None) -> None:
        session = self.session
        session.select(row=row, variable=session.selected_variable, component=session.selected_component)
        if self.step is not None:
            # at once, for the next key: the rest follows with the next frame
            self.plot.mark(self.step.line_of(row))

    @Slot(object)
    def _on_line(self, line: int | None) -> None:
        row = self.step.row_of(line) if self.step is not None and line is not None else None
        self._select(None if row == self.session.selected_row else row)

    @Slot(object, object)
    def _on_table_row(self, current: Any, previous: Any) -> None:
        if self._selecting or self.step is None:
            return
        row = self.step.row_of(current.row()) if current.isValid() else None
        if row != self.session.selected_row:
            self._select(row)

    @Slot(object, object)
    def _on_scope(self, variable: str | None, component: int | None) -> None:
        self.plot.reset()
        self.session.select(row=self.session.selected_row, variable=variable, component=component)

    @Slot(int, QPoint)
    def _on_tip(self, line: int, place: QPoint) -> None:
        QToolTip.showText(place, self._tip(line), self.plot)

    @Slot(QPoint)
    def _on_table_menu(self, place: QPoint) -> None:
        line = self.table.indexAt(place).row()
        self._show_menu(line, self.table.menu_place(place))

    @Slot(int, QPoint)
    def _on_menu(self, line: int, place: QPoint) -> None:
        self._show_menu(line, place)

    def _show_menu(self, line: int, place: QPoint) -> None:
        menu = self.row_menu(line)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def row_menu(self, line: int) -> QMenu:
        """The menu of a line."""
        row = self.step.row_of(line) if self.step is not None and line >= 0 else None
        return self._menus.make(row, self._titles[line] if row is not None else "", self.copy_action, self)

    @Slot()
    def _on_answer(self) -> None:
        self.mark_stale()

    @Slot()
    def _on_copy(self) -> None:
        if self.step is not None:
            self.model.show_step(self.step, self._titles)
            QGuiApplication.clipboard().setText(table_text(self.model))

    @Slot()
    def _on_choice(self) -> None:
        self.plot.reset()
        self.mark_stale()

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self.mark_stale()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # in a narrow card the residual needs the room; the tab above tells the rest
        self.title_label.setText(self.tr("Ledger") if event.size().width() < NARROW else self.title)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "story"):
            self.story.reset()
