"""Marks of live changes on the timeline: chosen, moved, edited and removed by mouse, menu and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu

from gui.views.timeline.canvas import MARK_KEYS
from gui.views.timeline.editing import ChangeEditor
from gui.views.timeline.events import Mark

if TYPE_CHECKING:
    from gui.views.timeline.view import TimelineView


class MarkControl(QObject):
    """What the user does with the marks of the current run; the view draws them."""

    def __init__(self, view: TimelineView) -> None:
        super().__init__(view)
        self.view = view
        self.session = view.session
        self.editor = ChangeEditor(view.session, view)
        self.chosen: tuple[str, str, int] | None = None
        """The place of the mark that is chosen."""
        self._menu: QMenu | None = None
        canvas = view.canvas
        canvas.mark_chosen.connect(self._on_chosen)
        canvas.mark_opened.connect(self._on_opened)
        canvas.mark_dragged.connect(self._on_dragged)
        canvas.mark_dropped.connect(self._on_dropped)
        canvas.menu_wanted.connect(self._on_menu)

    @property
    def index(self) -> int:
        """The place of the chosen mark among those of the view; -1: none."""
        places = [mark.place for mark in self.view.marks]
        return places.index(self.chosen) if self.chosen in places else -1

    @property
    def mark(self) -> Mark | None:
        """The chosen mark."""
        return self.view.marks[self.index] if self.index >= 0 else None

    def choose(self, index: int) -> None:
        """Choose a mark (-1: none) and show the step from which it acts."""
        self.chosen = self.view.marks[index].place if 0 <= index < len(self.view.marks) else None
        if self.mark is not None:
            self.session.show_step(self.mark.first)
        self.view.show_chosen()

    def choose_at(self, step: int) -> None:
        """Choose the mark that begins at ``step``, if there is one."""
        self.choose(next((k for k, mark in enumerate(self.view.marks) if mark.first == step), -1))

    # what is done with the chosen mark --------------------------------------------------------------------------

    @Slot()
    def edit_value(self) -> None:
        """Ask for another value."""
        if self.mark is not None:
            self.editor.open(self.mark.events, "value")

    @Slot()
    def edit_step(self) -> None:
        """Ask for another step."""
        if self.mark is not None:
            self.editor.open(self.mark.events, "step")

    @Slot()
    def remove(self) -> None:
        """Take the change out; the run is worked out without it."""
        if self.mark is not None:
            self._tell(self.editor.remove(self.session.current, self.mark.events))

    @Slot()
    def remove_all(self) -> None:
        """Take all changes out."""
        self._tell(self.editor.remove_all(self.session.current))

    def move(self, by: int) -> None:
        """Let the change act so many steps later."""
        mark = self.mark
        if mark is None or not by:
            return
        reason = self.editor.move(self.session.current, mark.events, by)
        if not reason:
            self.chosen = (mark.target, mark.key, mark.first + by)
        self._tell(reason)

    def _tell(self, reason: str) -> None:
        if reason:
            self.session.message.emit(reason, "")
        self.view.mark_stale()

    # mouse and keys ---------------------------------------------------------------------------------------------

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        self.choose(index)

    @Slot(int)
    def _on_opened(self, index: int) -> None:
        self.choose(index)
        self.edit_value()

    @Slot(int)
    def _on_dragged(self, by: int) -> None:
        mark = self.mark
        if mark is not None:
            step = max(mark.first + by, 0)
            self.view.show_moving(step)
            self.view.note.setText(self.tr("▲ step {0} → {1}").format(f"{mark.first:,}", f"{step:,}"))

    @Slot(int)
    def _on_dropped(self, by: int) -> None:
        self.view.show_moving(None)
        self.view.mark_stale()
        if self.mark is not None:
            self.move(max(by, -self.mark.first))

    @Slot(int, QPoint)
    def _on_menu(self, index: int, place: QPoint) -> None:
        if index >= 0:
            self.choose(index)
        elif self.mark is None:
            self.choose_at(self.session.cursor)
        if self.view.marks:
            self.menu().popup(place)

    def menu(self) -> QMenu:
        """The menu of the chosen mark."""
        if self._menu is not None:
            self._menu.deleteLater()
        menu = self._menu = QMenu(self.view)
        menu.setToolTipsVisible(True)
        mark = self.mark
        if mark is not None:
            head = menu.addAction(self.view.mark_text(mark))
            head.setEnabled(False)
            menu.addSeparator()
        several = mark is not None and len(mark.events) > 1
        for text, key, tip, slot in (
            (self.tr("Edit &value…"), "Return", self.tr("Another value from the same step on"), self.edit_value),
            (self.tr("&Move to step…"), "M", self.tr("The same change, sooner or later"), self.edit_step),
            (
                self.tr("&Remove these {0} changes").format(len(mark.events) if mark else 0)
                if several
                else self.tr("&Remove"),
                "Del",
                self.tr("Work the run out without it"),
                self.remove,
            ),
        ):
            action = menu.addAction(f"{text}\t{key}")
            action.setToolTip(tip)
            action.setEnabled(mark is not None)
            action.triggered.connect(slot)
        menu.addSeparator()
        every = menu.addAction(self.tr("Remove &all"))
        every.setToolTip(self.tr("Work the run out without any live change"))
        every.triggered.connect(self.remove_all)
        return menu

    def take_key(self, event: QKeyEvent) -> bool:
        """Keys for the chosen mark; True when it was one of them."""
        key, far = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if self.chosen is not None:
            # a key held down comes again before the last edit has been drawn
            self.session.engine.settle(finish=False)
            self.view.flush()
        if self.mark is None and key in MARK_KEYS:
            self.choose_at(self.session.cursor)
        if self.mark is None:
            return False
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.edit_value()
        elif key == Qt.Key.Key_M:
            self.edit_step()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove()
        elif key in (Qt.Key.Key_Comma, Qt.Key.Key_Period, Qt.Key.Key_Less, Qt.Key.Key_Greater):
            sign = -1 if key in (Qt.Key.Key_Comma, Qt.Key.Key_Less) else 1
            self.move(sign * (10 if far else 1))
        elif key == Qt.Key.Key_Escape:
            self.choose(-1)
        else:
            return False
        return True
