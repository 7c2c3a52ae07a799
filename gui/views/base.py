"""What every view is: a card with a title and a quiet read-out that repaints from the session's history."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.session import Session
from gui.theme import Theme
from gui.widgets.read_out import ReadOut


class View(QFrame):
    """Base of the views.

    Subclasses set ``name`` (identifier), ``title``, build their widgets into ``self.body`` and implement
    ``rebuild`` (another run: variables, rows or problem may differ), ``refresh`` (another step or more history) and
    ``restyle`` (another theme). A hidden view is not refreshed; it catches up when shown.
    """

    name = ""
    title = ""
    every_frame = False
    """True for the view that leads: it is refreshed in every frame while runs go on, the others take turns."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.theme = theme
        self.setObjectName("card")
        self.setAccessibleName(self.title)
        self._stale = True
        self._stale_run = True
        self._in_front = True
        self.title_label = QLabel(self.title)
        self.title_label.setObjectName("title")
        self.note = ReadOut()
        """The numbers that matter, at the right of the title."""
        self.note.set_role("quiet")
        self.note.set_alignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.header_bar = QWidget()
        """The card's first line; the main window uses it as the dock's handle. Views add controls to ``header``."""
        self.header_bar.setObjectName("cardHeader")
        self.header = QHBoxLayout(self.header_bar)
        self.header.setContentsMargins(10, 6, 10, 2)
        self.header.addWidget(self.title_label)
        self.header.addStretch()
        self.header.addWidget(self.note, 1)
        self.body = QVBoxLayout()
        self.body.setContentsMargins(6, 2, 6, 6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.header_bar)
        layout.addLayout(self.body, 1)
        session.run_changed.connect(self._on_run_changed)
        session.history_changed.connect(self._on_refresh)
        session.cursor_changed.connect(self._on_cursor)
        session.selection_changed.connect(self._on_refresh)
        session.settings_changed.connect(self._on_refresh)

    # for subclasses -------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Another run is shown."""

    def refresh(self) -> None:
        """Show ``session.cursor`` of ``session.current``; called at most once a frame."""

    def restyle(self) -> None:
        """Take over ``self.theme``."""

    def options(self) -> dict[str, Any]:
        """What the user has chosen in this view (plane, scale, sorting ...), as plain data."""
        return {}

    def set_options(self, options: dict[str, Any]) -> None:
        """Take over choices from ``options()`` of another instance (an export draws a view of its own)."""

    def prepare_export(self) -> None:
        """Called on an instance that will only be drawn into a file, before it is laid out."""

    def finish(self) -> None:
        """Complete now what is normally refined over several frames (a surface), for an export."""

    def figure(self) -> QWidget:
        """The widget an export draws (without the card's header)."""
        return self

    # machinery ------------------------------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        """Switch to another theme."""
        self.theme = theme
        self.restyle()
        self.mark_stale()

    @property
    def seen(self) -> bool:
        """Whether any of it can be seen: a dock behind another one's tab counts as visible for Qt, but is not seen."""
        return self.isVisible() and self._in_front

    @Slot(bool)
    def set_in_front(self, in_front: bool) -> None:
        """Its dock came to the front of its tabs, or went behind another one."""
        self._in_front = in_front
        if in_front and self.isVisible():
            self.flush()
        elif not in_front:
            self.session.frames.forget(self)

    def mark_stale(self) -> None:
        """Have ``refresh`` called once in one of the next frames, however many signals arrive."""
        self._stale = True
        if self.seen:
            self.session.frames.request(self)

    @Slot()
    def flush(self) -> None:
        """Catch up now if anything has changed since the last refresh."""
        if self._stale_run:
            self._stale_run = False
            self.rebuild()
            self._stale = True
        if self._stale:
            self._stale = False
            history = self.session.current.history
            before = history.count
            try:
                self.refresh()
            except IndexError:
                # the worker may take steps back while they are being read
                if self.session.current.history is history and history.count >= before:
                    raise
                self.mark_stale()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        if self._in_front:
            self.flush()

    def hideEvent(self, event: object) -> None:
        super().hideEvent(event)  # type: ignore[arg-type]
        # a frame that is still to come must not find a view that is gone by then
        self.session.frames.forget(self)

    @Slot()
    def _on_run_changed(self) -> None:
        self._stale_run = True
        self.mark_stale()

    @Slot()
    def _on_refresh(self) -> None:
        self.mark_stale()

    @Slot(int)
    def _on_cursor(self, step: int) -> None:
        self.mark_stale()
