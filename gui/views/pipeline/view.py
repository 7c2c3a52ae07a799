"""The pipeline: the optimizer's lines, its chain as cards with live sliders, the same as code, and the problem."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from core.declare import SettingError
from core.optim import parse_optimizer
from core.optim.chain import own_figures
from core.optim.optimizer import Optimizer
from core.simulation import measures
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.pipeline.chain_panel import ChainPanel
from gui.views.pipeline.code_panel import CodePanel
from gui.views.pipeline.dialects_panel import DialectsPanel
from gui.views.pipeline.own_chain import OwnChainNote, own_chain_reason
from gui.views.pipeline.plan import cards_of, values_of
from gui.views.pipeline.problem_panel import ProblemPanel
from gui.views.pipeline.restart import settled
from gui.widgets.keys import PRESSING, KeepKeys
from gui.widgets.readable import with_hats

ROOM_FOR_CODE = 160
ROOM_MILLISECONDS = 250


class Section(QWidget):
    """A heading that folds what is below it."""

    def __init__(self, title: str, content: QWidget, opened: bool, tip: str, aside: QWidget | None = None) -> None:
        super().__init__()
        self._title = title
        self.content = content
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(3)
        self.button = QToolButton()
        self.button.setObjectName("plain")
        self.button.setCheckable(True)
        self.button.setChecked(opened)
        self.button.setToolTip(tip)
        self.button.setAccessibleName(title)
        self.button.setStyleSheet(
            "QToolButton { font-weight: 600; padding: 0; text-align: left; }"
            "QToolButton:checked { background: transparent; }"
        )
        self.button.toggled.connect(self._on_toggled)
        KeepKeys(self.button, PRESSING)
        line = QHBoxLayout()
        line.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        if aside is not None:
            line.addWidget(aside, 0, Qt.AlignmentFlag.AlignRight)
        layout.addLayout(line)
        layout.addWidget(content)
        self._on_toggled(opened)

    @property
    def opened(self) -> bool:
        """True while the content is shown."""
        return self.button.isChecked()

    @Slot(bool)
    def _on_toggled(self, opened: bool) -> None:
        self.content.setVisible(opened)
        self.button.setText(f"{'▾' if opened else '▸'} {self._title}")


class PipelineView(View):
    """Everything that can be set about a run, acting while it runs."""

    name = "pipeline"
    title = "Pipeline"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.inner = QWidget()
        self.inner.setObjectName("pipelineInner")
        column = QVBoxLayout(self.inner)
        column.setContentsMargins(2, 0, 6, 4)
        column.setSpacing(6)
        self.code = CodePanel(theme)
        self.code.applied.connect(self._on_lines)
        self.code.restarted.connect(self._on_restart_with)
        self.code.dialect_found.connect(self._on_dialect)
        column.addWidget(self.code)
        self.chain = ChainPanel(theme)
        self.chain.changed.connect(self._on_changed)
        self.chain.refused.connect(self._on_refused)
        self.chain.selected.connect(self._on_selected)
        self.chain.ordered.connect(self._on_ordered)
        column.addWidget(self.chain)
        self.own_chain = OwnChainNote()
        self.own_chain.restored.connect(self._on_order_restored)
        column.addWidget(self.own_chain)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.trouble.setVisible(False)
        column.addWidget(self.trouble)
        self.dialects = DialectsPanel(theme)
        self.dialects.wanted.connect(self._on_code_wanted)
        self.dialects_section = Section(
            self.tr("This chain as code"),
            self.dialects,
            False,
            self.tr("The same chain in four dialects"),
            self.dialects.copy_button,
        )
        self.dialects_section.button.toggled.connect(self._on_unfolded)
        column.addWidget(self.dialects_section)
        self.problem = ProblemPanel(theme)
        self.problem.changed.connect(self._on_problem_value)
        self.problem.rebuilt.connect(self._on_rebuilt)
        self.problem_section = Section(
            self.tr("Problem"), self.problem, True, self.tr("What is optimized, from where, in which numbers")
        )
        column.addWidget(self.problem_section)
        column.addStretch(1)
        self.scroll = QScrollArea()
        self.scroll.setWidgetResizable(True)
        self.scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.scroll.setWidget(self.inner)
        self.scroll.setMinimumWidth(200)
        self.body.setContentsMargins(6, 2, 0, 4)
        self.body.addWidget(self.scroll)
        self._homes: dict[tuple[str, str], Any] = {}
        self._homes_of: str | None = None
        self._framework = ""
        self._lines: Optimizer | None = None
        """What the lines set up, as it was before anything was changed."""
        self._written: Any = None
        self._unfolded_once = False
        # sizes are known only after the window has been laid out
        self._room_timer = QTimer(self)
        self._room_timer.setSingleShot(True)
        self._room_timer.setInterval(ROOM_MILLISECONDS)
        self._room_timer.timeout.connect(self._on_room)
        self._run: tuple[Any, Any] = (None, None)
        self._fresh = False
        """False when controls may show what the core has not taken: after a change, refused or not."""
        session.settings_changed.connect(self._on_settings)

    # showing ----------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        self._written = None
        self._fresh = False
        self.trouble.setVisible(False)

    def restyle(self) -> None:
        self.code.restyle(self.theme)
        self.chain.restyle(self.theme)
        self.dialects.restyle(self.theme)
        self.problem.expression.restyle(self.theme)

    def refresh(self) -> None:
        simulation = self.session.current.simulation
        optimizer = simulation.optimizer
        self.code.layout_of_run = simulation.layout
        self.code.show_source(optimizer.source or simulation.experiment.optimizer)
        plans = cards_of(optimizer)
        homes = self._homes_for(optimizer)
        if not self._fresh or plans != self.chain.plans:
            self.chain.show_cards(plans, homes)
            self._say_own_chain(optimizer)
        self._show_step(optimizer)
        self.chain.select(self.session.selected_row)
        run = (simulation.experiment, simulation.objective)
        if not self._fresh or any(a is not b for a, b in zip(run, self._run, strict=True)):
            self._run = run
            self.problem.show_run(*run)
        self._fresh = True
        if self.dialects_section.opened:
            state = (id(optimizer), optimizer.settings())
            if state != self._written:
                self._written = state
                self.dialects.show_optimizer(optimizer)
        else:
            # folded, it is not known whether there is code; a click finds out
            self.dialects.copy_button.setEnabled(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._unfolded_once:
            self._room_timer.start()

    @Slot()
    def _on_room(self) -> None:
        """Where there is room to spare, what is folded only for lack of it opens by itself, once."""
        spare = self.scroll.viewport().height() - self.inner.minimumSizeHint().height()
        if self.isVisible() and self.chain.cards and not self._unfolded_once:
            self._unfolded_once = True
            if spare > ROOM_FOR_CODE:
                self.dialects_section.button.setChecked(True)

    def _homes_for(self, optimizer: Optimizer) -> dict[tuple[str, str], Any]:
        """What the lines themselves say for each setting: where the reset buttons go back to."""
        source = optimizer.source
        if source != self._homes_of:
            self._homes_of = source
            try:
                self._lines = parse_optimizer(source) if source else None
            except SettingError:
                # a chain that was not made of lines
                self._lines = None
            self._homes = {} if self._lines is None else values_of(cards_of(self._lines))
            self._homes = {(target.split()[0], key): value for (target, key), value in self._homes.items()}
        return self._homes

    def _say_own_chain(self, optimizer: Optimizer) -> None:
        lines = self._lines
        reordered = lines is not None and optimizer.chain.row_names != lines.chain.row_names
        self.own_chain.say(own_chain_reason(optimizer, lines), reordered)
        self._show_note()

    def _show_note(self) -> None:
        """The framework, or that the chain is none of its any more: always in sight, however long the cards are."""
        reason = self.own_chain.reason if self._framework else ""
        self.note.setText(self.tr("{0}, own chain").format(self._framework) if reason else self._framework)
        tip = self.tr("The framework of the lines: its conventions are at work") if self._framework else ""
        self.note.setToolTip(reason or tip)

    def _show_step(self, optimizer: Optimizer) -> None:
        history = self.session.current.history
        if not history.count:
            self.chain.show_step({}, {}, float("nan"), {})
            return
        step = min(self.session.cursor, history.count - 1)
        figures = history.figures(step)
        shares = measures.row_shares(history, step)
        rate = float(history.scalar("learning_rate")[step])
        tips = {
            row: self.tr("step {0}: {1}\n{2} of what the causes changed").format(
                f"{step:,}",
                with_hats(transform.explain(own_figures(row, figures))),
                f"{100.0 * shares.get(row, 0.0):.3g} %",
            )
            for row, transform in zip(optimizer.chain.row_names, optimizer.chain.transforms, strict=True)
        }
        self.chain.show_step(figures, shares, rate, tips)

    # what the user does -----------------------------------------------------------------------------------------

    @Slot(str, str, object)
    def _on_changed(self, target: str, key: str, value: Any) -> None:
        self.trouble.setVisible(False)
        self.session.change(target, key, value)

    @Slot(str)
    def _on_refused(self, reason: str) -> None:
        self.trouble.setText(reason)
        self.trouble.setVisible(True)

    @Slot(str)
    def _on_selected(self, row: str) -> None:
        self.session.select(row=None if row == self.session.selected_row else row)

    @Slot(list)
    def _on_ordered(self, names: list[str]) -> None:
        self.session.change("optimizer", "order", " ".join(names))

    @Slot()
    def _on_order_restored(self) -> None:
        if self._lines is not None:
            self._on_ordered(list(self._lines.chain.row_names))

    @Slot(str)
    def _on_lines(self, text: str) -> None:
        self.session.change("optimizer", "lines", text)

    @Slot(str)
    def _on_restart_with(self, text: str) -> None:
        fields = settled(self.session.current.simulation.experiment)
        self.session.rebuild(**{**fields, "optimizer": text, "events": []})

    @Slot(str)
    def _on_dialect(self, name: str) -> None:
        self._framework = name
        self._show_note()

    @Slot(str, object)
    def _on_problem_value(self, key: str, value: Any) -> None:
        self.session.change("problem", key, value)

    @Slot(object)
    def _on_rebuilt(self, fields: dict[str, Any]) -> None:
        kept = settled(self.session.current.simulation.experiment, keep_problem="problem" not in fields)
        if not self.session.rebuild(**{**kept, **fields}):
            self._on_settings()

    @Slot()
    def _on_settings(self) -> None:
        self._fresh = False
        self.mark_stale()

    @Slot()
    def _on_code_wanted(self) -> None:
        self.dialects.show_optimizer(self.session.current.simulation.optimizer)
        if not self.dialects.code.toPlainText():
            # the reason why this dialect has no such code stands below
            self.dialects_section.button.setChecked(True)

    @Slot(bool)
    def _on_unfolded(self, opened: bool) -> None:
        self._written = None
        self.mark_stale()
