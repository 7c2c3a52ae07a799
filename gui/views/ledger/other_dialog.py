"""'Compare with...': the same run in another framework's arithmetic, side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.declare import SettingError
from core.optim import ParseError, parse_optimizer
from core.optim.dialects import DIALECTS
from core.optim.port import Port, port
from gui.session import Session
from gui.theme import Theme
from gui.views.ledger.other_curve import DifferencePlot
from gui.views.ledger.other_job import Comparing
from gui.views.ledger.other_table import OtherTable
from gui.views.ledger.other_words import port_words, step_words, verdict
from gui.widgets.code_box import CodeBox
from gui.widgets.copy_table import CopyTable

NAMES = {"torch": "PyTorch", "keras": "Keras", "tf1": "TensorFlow 1", "optax": "optax"}
REFRESH_MILLISECONDS = 120


class OtherDialog(QDialog):
    """Not modal: the run can go on and be scrubbed while it is open. It changes nothing of the run."""

    closed = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("The same run in another framework"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(900, 720)
        self._session = session
        self.theme = theme
        self.comparing = Comparing(session, self)
        self.comparing.progressed.connect(self._on_stale)
        self.port: Port | None = None
        self._source: object = None
        self._left = self._right = ""
        """What the two are called."""
        layout = QVBoxLayout(self)
        layout.addLayout(self._choice_line())
        self.about = self._label(self.tr("Whether the framework can express this chain"))
        layout.addWidget(self.about)
        self.box = CodeBox(theme, self.tr("Lines of another framework, or your own port"), self.tr("The other lines"))
        self.box.edit.setToolTip(self.tr("Edit them, or paste your own port; Ctrl+Enter compares. They are read only."))
        self.box.submitted.connect(self._on_lines)
        self.box.settled.connect(self._on_lines)
        layout.addWidget(self.box)
        self.progress = QProgressBar()
        self.progress.setAccessibleName(self.tr("Steps compared"))
        self.progress.setToolTip(self.tr("Steps compared so far"))
        self.progress.setMaximumHeight(14)
        layout.addWidget(self.progress)
        self.verdict = self._label(self.tr("Where the two part"))
        layout.addWidget(self.verdict)
        self.curve = DifferencePlot(theme, self)
        self.curve.step_chosen.connect(self._on_step)
        layout.addWidget(self.curve)
        self.step_text = self._label(self.tr("The step shown, in both"))
        layout.addWidget(self.step_text)
        self.model = OtherTable(theme, self)
        self.table = self._table()
        layout.addWidget(self.table, 1)
        layout.addLayout(self._buttons())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.refresh)
        for signal in (session.history_changed, session.cursor_changed, session.run_changed, session.settings_changed):
            signal.connect(self._on_stale)
        # the button, Escape and the window's frame all end here
        self.finished.connect(self._end)
        self._choose_first()

    def _label(self, name: str) -> QLabel:
        label = QLabel()
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        label.setAccessibleName(name)
        return label

    def _choice_line(self) -> QHBoxLayout:
        line = QHBoxLayout()
        self.this = QLabel()
        line.addWidget(self.this)
        self.choices = QButtonGroup(self)
        for k, name in enumerate(DIALECTS):
            button = QToolButton()
            button.setText(NAMES.get(name, name))
            button.setCheckable(True)
            button.setToolTip(self.tr("The same optimizer in {0}'s arithmetic").format(NAMES.get(name, name)))
            button.setAccessibleName(button.toolTip())
            button.setProperty("dialect", name)
            self.choices.addButton(button, k)
            line.addWidget(button)
        line.addStretch(1)
        self.choices.buttonClicked.connect(self._on_dialect)
        return line

    def _table(self) -> CopyTable:
        table = CopyTable()
        table.setModel(self.model)
        table.setAccessibleName(self.tr("Causes of the step shown, in both"))
        table.setAccessibleDescription(self.tr("Ctrl+C copies the selected cells, or all of them"))
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        # what sets them apart is to be read, not to be guessed from its first words
        table.setWordWrap(True)
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        room = int(QFontMetricsF(table.font()).horizontalAdvance("−8.888e−88")) + 24
        for column, width in enumerate((190, room, room, room)):
            header.resizeSection(column, width)
        return table

    def _buttons(self) -> QHBoxLayout:
        line = QHBoxLayout()
        self.go = QPushButton(self.tr("Show the first step that differs"))
        self.go.setToolTip(self.tr("All views show that step"))
        self.go.setAccessibleName(self.go.text())
        self.go.setAutoDefault(False)
        self.go.clicked.connect(self._on_go)
        self.close_button = QPushButton(self.tr("Close"))
        self.close_button.setToolTip(self.tr("Close this comparison (Esc); the run stays as it is"))
        self.close_button.setAccessibleName(self.tr("Close"))
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.close)
        line.addWidget(self.go)
        line.addStretch(1)
        line.addWidget(self.close_button)
        return line

    # what is compared ----------------------------------------------------------------------------------------------

    @property
    def dialect(self) -> str:
        """The framework chosen."""
        button = self.choices.checkedButton()
        return str(button.property("dialect")) if button is not None else ""

    def choose(self, dialect: str) -> None:
        """Write the run's optimizer in another framework and compare with that."""
        self._mark(dialect)
        self.port = port(parse_optimizer(self._lines_of_run()), dialect)
        self.about.setText(port_words(self.port, NAMES.get(dialect, dialect)))
        self.box.set_text(self.port.lines)
        self._compare(self.port.lines)

    def _mark(self, dialect: str) -> None:
        """Press the button of a framework, and no other."""
        self.choices.setExclusive(False)
        for button in self.choices.buttons():
            button.setChecked(button.property("dialect") == dialect)
        self.choices.setExclusive(True)

    def set_lines(self, lines: str) -> None:
        """Compare with lines of the user's own."""
        self.box.set_text(lines)
        self._on_lines(lines)

    def _source_key(self) -> object:
        simulation = self._session.current.simulation
        lines = [e for e in simulation.experiment.events if (e.target, e.key) == ("optimizer", "lines")]
        return (id(simulation), simulation.experiment.optimizer, repr(lines))

    def _choose_first(self) -> None:
        """The framework people port to from the run's own."""
        own = parse_optimizer(self._lines_of_run()).dialect
        self._left = NAMES.get(own, own)
        for button in self.choices.buttons():
            button.setEnabled(button.property("dialect") != own)
        self.this.setText(self.tr("This run is written for {0}. Compare it with").format(self._left))
        self._source = self._source_key()
        self.choose("torch" if own != "torch" else "keras")

    def _lines_of_run(self) -> str:
        experiment = self._session.current.simulation.experiment
        newest = [e for e in experiment.events if (e.target, e.key) == ("optimizer", "lines")]
        return str(newest[-1].value) if newest else experiment.optimizer

    def _compare(self, lines: str) -> None:
        if not lines.strip():
            self.comparing.stop()
        else:
            try:
                found = parse_optimizer(lines).dialect
                name = NAMES.get(found, found)
                self._right = name if name != self._left else self.tr("the other lines")
                self.comparing.compare(lines)
            except ParseError as error:
                self.comparing.stop()
                self.box.show_trouble(str(error).partition("\n    ")[0], error.line, error.column)
            except SettingError as error:
                self.comparing.stop()
                self.box.show_trouble(str(error))
            else:
                self.box.show_trouble("")
        # nothing of the comparison before stays in sight
        self.verdict.setText("")
        self.step_text.setText("")
        self.model.show_pair(None, "", "")
        self.refresh()

    # showing --------------------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show what is known by now."""
        if self._source != self._source_key():
            self._choose_first()
            return
        lines = self.box.text()
        if self.comparing.job is not None and self.comparing.outdated(lines):
            self._compare(lines)
            return
        self.comparing.follow()
        job = self.comparing.job
        if job is None:
            self.progress.setVisible(False)
            self.verdict.setText("")
            self.step_text.setText("")
            self.go.setEnabled(False)
            self.curve.setVisible(False)
            self.model.show_pair(None, "", "")
            return
        start = job.other.start
        self.progress.setRange(0, max(job.stop - start, 1))
        self.progress.setValue(job.reached - start)
        self.progress.setVisible(self.comparing.working and job.stop - job.reached > 100)
        left, right = self._left, self._right
        pair = job.pair
        self.curve.setVisible(job.reached > start)
        self.curve.show_lengths(job.other, job.reached, self._session.cursor)
        # while the run goes on there is always more to compare: what is known by now is shown
        known = job.reached > start and (job.other.first_difference is None or job.first is not None)
        if known or not self.comparing.working:
            self.verdict.setText(verdict(job, left, right, self.theme))
        if pair is not None or not self.comparing.working:
            self.step_text.setText(step_words(pair, left, right, self.theme) if pair is not None else "")
            self.model.show_pair(pair, left, right)
        self.go.setEnabled(job.other.first_difference is not None)

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self.theme = self.model.theme = theme
        self.box.restyle(theme)
        self.curve.restyle(theme)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def _end(self) -> None:
        self._timer.stop()
        self.comparing.stop()
        self.closed.emit()

    @Slot()
    def _on_stale(self, *ignored: object) -> None:
        if not self._timer.isActive():
            self._timer.start(REFRESH_MILLISECONDS if self._session.state == "running" else 0)

    @Slot(object)
    def _on_dialect(self, button: QToolButton) -> None:
        self.choose(str(button.property("dialect")))

    @Slot(int)
    def _on_step(self, step: int) -> None:
        job = self.comparing.job
        if job is not None and job.reached > job.other.start:
            self._session.show_step(min(max(step, job.other.start), job.reached - 1))

    @Slot(str)
    def _on_lines(self, lines: str) -> None:
        if self.port is None or lines.strip() != self.port.lines.strip():
            self.about.setText(self.tr("Your own lines, on the weights and gradients of this run."))
        self._compare(lines)
        if self.comparing.job is not None:
            self._mark(parse_optimizer(lines).dialect)

    @Slot()
    def _on_go(self) -> None:
        job = self.comparing.job
        if job is not None and job.other.first_difference is not None:
            self._session.show_step(job.other.first_difference)
