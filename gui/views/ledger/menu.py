"""The menu of a ledger line: switch the cause off, a run without it, copy."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store
from gui.session import Session


class RowMenus(QObject):
    """Makes menus and carries out what is chosen in them."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session

    def make(self, row: str | None, title: str, copy: QAction, parent: QWidget) -> QMenu:
        """The menu of a ledger row; None: of a line that is no row."""
        menu = QMenu(parent)
        menu.setToolTipsVisible(True)
        if row is not None:
            menu.addSection(title)
            self._add_switch(menu, row)
            fork = menu.addAction(self.tr("New run from here without this cause"))
            fork.setToolTip(self.tr("Forks the run at the step shown, with this cause switched off"))
            fork.setData(row)
            fork.setEnabled(self.can_switch(row))
            fork.triggered.connect(self._on_without)
            menu.addSeparator()
        menu.addAction(copy)
        return menu

    def can_switch(self, row: str) -> bool:
        """False for the learning rate and for rounding: without them there is no step."""
        optimizer = self._session.current.simulation.optimizer
        return row in optimizer.chain.row_names and not isinstance(optimizer.transform(row), LearningRate | Store)

    def _add_switch(self, menu: QMenu, row: str) -> None:
        optimizer = self._session.current.simulation.optimizer
        on = row in optimizer.chain.row_names and optimizer.transform(row).enabled
        switch = menu.addAction(self.tr("Switch this cause off") if on else self.tr("Switch this cause on"))
        switch.setData((row, not on))
        switch.setEnabled(self.can_switch(row))
        switch.setToolTip(
            self.tr("From the newest step on; undo brings it back")
            if switch.isEnabled()
            else self.tr("Without it there is no step")
        )
        switch.triggered.connect(self._on_switch)

    @Slot()
    def _on_switch(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            row, on = action.data()
            self._session.change(row, "enabled", on)

    @Slot()
    def _on_without(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._session.without(str(action.data()))
