"""Another plane or line as a command that can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QUndoCommand

from gui.views.surface.cut import CutChoice

if TYPE_CHECKING:
    from gui.views.surface.model import SurfaceModel


class ChooseCut(QUndoCommand):
    """Looks along another plane; undoing looks along the former one (as long as the problem is the same)."""

    def __init__(self, model: SurfaceModel, choice: CutChoice) -> None:
        super().__init__(QCoreApplication.translate("SurfaceView", "another plane or line"))
        self._model, self._before, self._after = model, model.choice, choice
        self._problem = model.problem

    def _choose(self, choice: CutChoice) -> None:
        if self._model.problem == self._problem:
            self._model.choose(choice)
        else:
            self.setObsolete(True)

    def undo(self) -> None:
        self._choose(self._before)

    def redo(self) -> None:
        self._choose(self._after)
