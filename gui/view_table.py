"""The table of views: a class listed here gets a dock, a menu entry, and a place in exports.

Classes are named, not imported: a view's module (plots, 3-D, ...) is loaded when the view is first wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

if TYPE_CHECKING:
    from gui.views.base import View


@dataclass(frozen=True, slots=True)
class Entry:
    """One view: its name and title (as in its class), and where its class is.

    ``listens``: made with the window instead of when first seen, because it gathers what is said from the start.
    """

    name: str
    title: str
    place: str
    listens: bool = False

    def load(self) -> type[View]:
        """The class itself."""
        module, _, name = self.place.partition(":")
        found: type[View] = getattr(import_module(module), name)
        return found

    @property
    def spoken(self) -> str:
        """The title in the user's language."""
        return QCoreApplication.translate("views", self.title)


TABLE: tuple[Entry, ...] = (
    Entry("pipeline", QT_TRANSLATE_NOOP("views", "Pipeline"), "gui.views.pipeline:PipelineView"),
    Entry("surface", QT_TRANSLATE_NOOP("views", "Loss surface"), "gui.views.surface:SurfaceView"),
    Entry("surface3d", QT_TRANSLATE_NOOP("views", "Surface in 3-D"), "gui.views.surface3d:Surface3DView"),
    Entry("vectors", QT_TRANSLATE_NOOP("views", "Vectors"), "gui.views.vectors:VectorsView"),
    Entry("ledger", QT_TRANSLATE_NOOP("views", "Ledger: why Δw ≠ −lr·g"), "gui.views.ledger:LedgerView"),
    Entry("timeline", QT_TRANSLATE_NOOP("views", "Timeline"), "gui.views.timeline:TimelineView"),
    Entry("fit", QT_TRANSLATE_NOOP("views", "Fit"), "gui.views.fit:FitView"),
    Entry("inspector", QT_TRANSLATE_NOOP("views", "Inspector"), "gui.views.inspector:InspectorView"),
    Entry("runs", QT_TRANSLATE_NOOP("views", "Runs"), "gui.views.runs:RunsView"),
    Entry("tape", QT_TRANSLATE_NOOP("views", "Tape"), "gui.views.tape:TapeView"),
    Entry("log", QT_TRANSLATE_NOOP("views", "Log"), "gui.views.log:LogView", listens=True),
)


def view_class(name: str) -> type[View]:
    """The class of the view ``name``."""
    return next(entry for entry in TABLE if entry.name == name).load()
