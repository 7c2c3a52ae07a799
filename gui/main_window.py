"""The main window: docks for the views, menus, status bar; assembles, decides nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLabel,
    QMainWindow,
    QTabWidget,
    QToolButton,
    QWidget,
)

from core.commands.sources import DEFAULT_OPTIMIZER
from core.simulation import Experiment
from gui.autosave import Autosave
from gui.docks import ViewDock, ViewShelf
from gui.hints import Hints
from gui.layouts import apply_layout
from gui.menus import Menus
from gui.opening import experiment_at
from gui.plots import configure_plots
from gui.session import Session
from gui.theme import THEMES, Theme, style_sheet
from gui.view_table import TABLE
from gui.views.base import View
from gui.widgets.keys import VERTICAL_MOVING, KeepKeys
from gui.widgets.message_bar import MessageBar
from gui.widgets.numbers import shown_number
from gui.widgets.read_out import ReadOut
from gui.widgets.throttle import Throttle
from gui.widgets.transport import TEXT_MILLISECONDS, TransportBar

MESSAGE_MILLISECONDS = 12_000
LATE_SECONDS = 0.3
"""From when on it is said that a run is being worked out again."""


def focus_order(view: QWidget) -> list[QWidget]:
    """The controls in ``view`` that Tab reaches."""
    found = [w for w in view.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return [w for w in found if w.isVisibleTo(view) and w.isEnabled()]


class MainWindow(QMainWindow):
    """One window on one session. Views are made when they are first seen; a ``staged`` window is painted before
    that, with empty cards in their places, and then fills them one after the other.
    """

    filled = Signal()
    """A staged window has all the views that can be seen."""

    def __init__(self, session: Session, theme: str | None = None, *, staged: bool = False) -> None:
        super().__init__()
        self.session = session
        self._staged = staged
        """True until all views that are seen have been made one by one, after the first paint."""
        self._painted = False
        self._arranging = False
        self.setWindowTitle("Stepscope")
        self.setDockNestingEnabled(True)
        self.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.AnimatedDocks
        )
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        settings = QSettings()
        self.theme = self._choose_theme(theme or str(settings.value("theme", "system")))
        self.theme_choice = theme or str(settings.value("theme", "system"))
        self._apply_style()
        self.transport = TransportBar(session, self)
        self.addToolBar(self.transport)
        # where a key does what it does everywhere; Tab goes on from there
        self._first_focus: QWidget | None = self.transport.widgetForAction(self.transport.run_action)
        self.docks = {entry.name: ViewDock(entry, self) for entry in TABLE}
        self.views = ViewShelf(self.docks, self._make_view)
        for dock in self.docks.values():
            dock.uncovered.connect(self._on_uncovered)
            if dock.entry.listens:
                self._make_view(dock)
        self._build_status_bar()
        self.hints = Hints(self)
        self.menus = Menus(self)
        self.autosave = Autosave(session)
        self.menus.documents.recovered.connect(self.autosave.save)
        self.setAcceptDrops(True)
        self._restore(settings)
        self._texts = Throttle(self, TEXT_MILLISECONDS)
        self._texts.ready.connect(self._draw_status)
        session.message.connect(self._on_message)
        session.state_changed.connect(self._on_state)
        session.history_changed.connect(self._show_status)
        session.cursor_changed.connect(self._on_cursor)
        session.run_changed.connect(self._on_run_changed)
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._on_system_theme)
        self._speed_mark = (time.perf_counter(), session.current.history.count)
        self._speed_timer = QTimer(self)
        self._speed_timer.setInterval(500)
        self._speed_timer.timeout.connect(self._on_speed_tick)
        self._speed_timer.start()
        self._on_run_changed()

    @classmethod
    def open(cls, path: str | None, theme: str | None = None, *, staged: bool = False) -> MainWindow:
        """A window on the experiment at ``path`` (default: a running example)."""
        experiment = experiment_at(path) if path else Experiment(optimizer=DEFAULT_OPTIMIZER)
        session = Session(experiment)
        session.file = None if path is None or path.lower().endswith(".npz") else path
        return cls(session, theme, staged=staged)

    # building -------------------------------------------------------------------------------------------------

    def _make_view(self, dock: ViewDock) -> View:
        if not dock.entry.listens:
            configure_plots()
        view = dock.entry.load()(self.session, self.theme)
        view.header.addWidget(self._header_button("⋯", self.tr("Export this view"), view.name))
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        for table in view.findChildren(QAbstractItemView):
            # keys that move in a table must not move in the run, least of all restart it
            KeepKeys(table, VERTICAL_MOVING)
        dock.fill(view)
        return view

    @Slot(str)
    def _on_uncovered(self, name: str) -> None:
        # not while docks are being shown and hidden one after the other on their way to their places
        if self.isVisible() and not (self._staged or self._arranging):
            self.views[name]

    @Slot()
    def _fill(self) -> None:
        """Make the views that are seen; a staged window one a turn, so that it is alive in between."""
        if self._staged and not self._painted:
            return
        for dock in self.views.missing():
            self.views[dock.entry.name]
            if self._staged:
                QTimer.singleShot(0, self, self._fill)
                return
        if self._staged:
            self._staged = False
            self.filled.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._first_focus is not None:
            # only now: docks that are put to their places move the focus to the first button of all
            self._first_focus.setFocus()
            self._first_focus = None
        self._fill()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._staged and not self._painted:
            self._painted = True
            # once this frame can be seen
            QTimer.singleShot(0, self, self._fill)

    def _header_button(self, text: str, tip: str, view: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName("plain")
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(f"{tip}: {view}")
        button.setProperty("view", view)
        button.clicked.connect(self._on_view_menu)
        return button

    def _build_status_bar(self) -> None:
        bar = MessageBar(self)
        self.setStatusBar(bar)
        self.status = ReadOut(grows=True)
        self.status.set_alignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.status.setAccessibleName(self.tr("Status"))
        bar.add_permanent(self.status)
        self.problem_label = QLabel()
        bar.addWidget(self.problem_label)

    # theme ----------------------------------------------------------------------------------------------------

    def _choose_theme(self, choice: str) -> Theme:
        if choice in THEMES:
            return THEMES[choice]
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return THEMES["dark" if dark else "light"]

    def set_theme(self, choice: str) -> None:
        """'light', 'dark' or 'system'."""
        self.theme_choice = choice
        self.theme = self._choose_theme(choice)
        QSettings().setValue("theme", choice)
        self._apply_style()
        for view in self.views.made():
            view.set_theme(self.theme)
        self.session.theme_changed.emit()

    def _apply_style(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        text = style_sheet(self.theme)
        # a style sheet is worked into every widget there is, which takes seconds: only a new one is
        if application.styleSheet() != text:
            application.setStyleSheet(text)

    @Slot()
    def _on_system_theme(self) -> None:
        if self.theme_choice == "system":
            self.set_theme("system")

    # layout ---------------------------------------------------------------------------------------------------

    def apply_layout(self, name: str) -> None:
        """Arrange the docks as the ready layout ``name``."""
        self._arranging = True
        apply_layout(self, self.docks, name)
        self._arranging = False
        # which docks are in front of others is known once they have been laid out
        QTimer.singleShot(0, self, self._fill)

    def go_to(self, name: str) -> None:
        """Show the view ``name`` in front of others and give it the focus."""
        dock, view = self.docks[name], self.views[name]
        dock.show()
        dock.raise_()
        if dock.isFloating():
            dock.activateWindow()
        first = next(iter((*focus_order(view), *focus_order(view.header_bar))), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def go_on(self, direction: int) -> None:
        """Give the focus to the next (1) or previous (-1) view that is seen."""
        seen = [name for name, dock in self.docks.items() if dock.in_front and dock.isVisible()]
        if not seen:
            return
        here = next((k for k, name in enumerate(seen) if self.docks[name].isAncestorOf(self.focusWidget() or self)), -1)
        self.go_to(seen[(here + direction) % len(seen) if here >= 0 else 0])

    def _restore(self, settings: QSettings) -> None:
        wanted = settings.value("size", QSize(1440, 900))
        self.resize(wanted.boundedTo(self.screen().availableGeometry().size()))
        state = settings.value("docks")
        if not (isinstance(state, QByteArray) and self.restoreState(state, 1)):
            self.apply_layout("Learn")

    def _save(self) -> None:
        settings = QSettings()
        settings.setValue("size", self.size())
        settings.setValue("docks", self.saveState(1))

    def sizeHint(self) -> QSize:
        return QSize(1440, 900)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.menus.documents.may_close():
            event.ignore()
            return
        self._save()
        self._speed_timer.stop()
        self.autosave.finish()
        self.session.close()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if names:
            event.acceptProposedAction()
            self.menus.open_any(names[0])

    # what is said ---------------------------------------------------------------------------------------------

    @Slot(str, str)
    def _on_message(self, sentence: str, details: str) -> None:
        self.statusBar().showMessage(sentence.splitlines()[0] if sentence else "", MESSAGE_MILLISECONDS)
        if details:
            self.menus.show_error(sentence, details)

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self._show_status()

    @Slot(int)
    def _on_cursor(self, step: int) -> None:
        self._show_status()

    @Slot()
    def _on_run_changed(self) -> None:
        run = self.session.current
        experiment = run.simulation.experiment
        name = Path(self.session.file).name if self.session.file else run.simulation.objective.title
        self.setWindowTitle(f"{name} — Stepscope")
        size = f"{run.simulation.layout.size:,}"
        self.problem_label.setText(
            self.tr("{0}   {1}   {2}   seed {3}").format(
                run.simulation.objective.title,
                self.tr("1 weight") if run.simulation.layout.size == 1 else self.tr("{0} weights").format(size),
                experiment.storage,
                experiment.seed,
            )
        )
        self._speed_mark = (time.perf_counter(), run.history.count)
        self._show_status()

    @Slot()
    def _on_speed_tick(self) -> None:
        now, count = time.perf_counter(), self.session.current.history.count
        then, before = self._speed_mark
        self._speed_mark = (now, count)
        self._rate = max(count - before, 0) / max(now - then, 1e-9)
        self._show_status()

    _rate = 0.0

    @Slot()
    def _show_status(self) -> None:
        if self.session.state == "running":
            self._texts.send(None)
        else:
            self._draw_status(None)

    @Slot(object)
    def _draw_status(self, nothing: object) -> None:
        session = self.session
        history = session.current.history
        words = {"running": self.tr("running"), "paused": self.tr("paused"), "trouble": self.tr("diverged")}
        parts = [words.get(session.state, session.state)]
        if session.engine.late_for(session.current) > LATE_SECONDS:
            goal = session.current.simulation.goal
            parts[0] = self.tr("working out step {0} of {1}").format(f"{history.count:,}", f"{goal:,}")
        if session.state == "running":
            parts.append(self.tr("{0} steps/s").format(f"{self._rate:,.0f}"))
        if history.count:
            step = min(session.cursor, history.count - 1)
            parts.append(self.tr("loss {0}").format(shown_number(history.scalar("loss")[step], 6)))
        self.status.setText("   ".join(parts))

    @Slot()
    def _on_view_menu(self) -> None:
        button: Any = self.sender()
        if isinstance(button, QWidget):
            self.menus.show_view_menu(str(button.property("view")), button)
