"""Keys that a control needs for itself although the window has a shortcut on them (space runs, arrows step)."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

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


class KeepKeys(QObject):
    """Lets ``widget`` have these keys, alone or with Shift, while it has the focus."""

    def __init__(self, widget: QWidget, keys: Iterable[Qt.Key]) -> None:
        super().__init__(widget)
        self._keys = frozenset(keys)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        if event.key() not in self._keys or event.modifiers() & OTHER_MEANING:
            return False
        event.accept()
        return True
