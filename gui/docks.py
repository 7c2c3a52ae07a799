"""Docks that hold their place with an empty card, and make their view when it is first seen or asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QLabel, QWidget

from gui.view_table import Entry
from gui.views.base import View

TITLE_HEIGHT = 24
"""Of the title in every card's first line, as high as a button, with buttons in it or not: titles stand on one line,
and nothing moves when the view takes the place of the empty card. (A dock heeds the size hint of its title bar only,
which the title's minimum height is part of.)"""


class ViewDock(QDockWidget):
    """The dock of one view; ``view`` is None until it has been filled."""

    uncovered = Signal(str)
    """It can be seen and has no view yet."""

    def __init__(self, entry: Entry, parent: QWidget) -> None:
        super().__init__(entry.spoken, parent)
        self.entry = entry
        self.view: View | None = None
        self.in_front = False
        """Whether it can be seen: shown, and not behind another dock's tab."""
        self.setObjectName(entry.name)
        self.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetFloatable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
        )
        card = QFrame()
        card.setObjectName("card")
        self.setTitleBarWidget(_empty_header(entry.spoken))
        self.setWidget(card)
        self.visibilityChanged.connect(self._on_visibility)

    def fill(self, view: View) -> None:
        """Put the view in the place of the empty card."""
        old = (self.titleBarWidget(), self.widget())
        self.view = view
        view.title_label.setMinimumHeight(TITLE_HEIGHT)
        view.set_in_front(self.in_front or not self.isVisible())
        self.setTitleBarWidget(view.header_bar)
        self.setWidget(view)
        for widget in old:
            widget.deleteLater()

    @Slot(bool)
    def _on_visibility(self, in_front: bool) -> None:
        self.in_front = in_front
        if self.view is not None:
            self.view.set_in_front(in_front)
        elif in_front:
            self.uncovered.emit(self.entry.name)


def _empty_header(title: str) -> QWidget:
    header = QWidget()
    header.setObjectName("cardHeader")
    label = QLabel(title)
    label.setObjectName("title")
    label.setMinimumHeight(TITLE_HEIGHT)
    layout = QHBoxLayout(header)
    layout.setContentsMargins(10, 6, 10, 2)
    layout.addWidget(label)
    return header


class ViewShelf(Mapping[str, View]):
    """The views of a window by name; one that is asked for and not there yet is made."""

    def __init__(self, docks: Mapping[str, ViewDock], make: Callable[[ViewDock], View]) -> None:
        self._docks = docks
        self._make = make

    def __getitem__(self, name: str) -> View:
        dock = self._docks[name]
        return dock.view if dock.view is not None else self._make(dock)

    def __iter__(self) -> Iterator[str]:
        return iter(self._docks)

    def __len__(self) -> int:
        return len(self._docks)

    def made(self) -> list[View]:
        """Those there are so far."""
        return [dock.view for dock in self._docks.values() if dock.view is not None]

    def missing(self) -> list[ViewDock]:
        """Docks that can be seen but are empty still."""
        return [dock for dock in self._docks.values() if dock.view is None and dock.in_front and dock.isVisible()]
