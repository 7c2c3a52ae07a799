"""Keys that a control needs for itself although the window has a shortcut on them (space runs, arrows step)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QComboBox, QWidget

MOVING = (
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
)
VERTICAL_MOVING = tuple(key for key in MOVING if key not in (Qt.Key.Key_Left, Qt.Key.Key_Right))
PRESSING = (Qt.Key.Key_Space,)
OTHER_MEANING = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.MetaModifier
UNCHANGED_BY = (
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
)
"""Ways in which the focus only comes back to where it was."""


class KeepKeys(QObject):
    """Lets ``widget`` have these keys, alone or with Shift, while it has the focus.

    Space is left to the window while a button or a list has the focus from a click: who has just switched a cause
    off with the mouse and presses space wants the run to go on, not the cause to act again.
    """

    def __init__(self, widget: QWidget, keys: Iterable[Qt.Key]) -> None:
        super().__init__(widget)
        self._keys = frozenset(keys)
        self._yields = isinstance(widget, QAbstractButton | QComboBox)
        self._clicked = False
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.MouseButtonPress:
            self._clicked = True
        elif kind == QEvent.Type.FocusIn and isinstance(event, QFocusEvent):
            if event.reason() not in UNCHANGED_BY:
                self._clicked = event.reason() == Qt.FocusReason.MouseFocusReason
        elif kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._keeps(event):
            event.accept()
            return True
        return False

    def _keeps(self, event: QKeyEvent) -> bool:
        if event.key() not in self._keys or event.modifiers() & OTHER_MEANING:
            return False
        return not (self._yields and self._clicked and event.key() in PRESSING)


class LeaveKeys(QObject):
    """Leaves space, undo and redo to the window while nothing that is not yet taken over is typed into ``widget``."""

    def __init__(self, widget: QWidget, typing: Callable[[], bool]) -> None:
        super().__init__(widget)
        self._typing = typing
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        alone = event.key() in PRESSING and not event.modifiers() & OTHER_MEANING
        if not (alone or event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)):
            return False
        if self._typing():
            return False
        event.ignore()
        return True
