"""The window opens within the screen, whatever size it had on another one."""

from PySide6.QtCore import QSettings, QSize

from gui.main_window import MainWindow
from gui.session import Session


def test_a_size_from_a_larger_screen_is_cut_to_this_one(screen):
    QSettings().setValue("size", QSize(6000, 5000))
    window = MainWindow(Session(None), "dark")
    screen.windows.append(window)
    room = window.screen().availableGeometry().size().expandedTo(window.minimumSizeHint())
    assert window.width() <= room.width()
    assert window.height() <= room.height()
