"""The table of views: a class listed here gets a dock, a menu entry, and a place in exports."""

from gui.views.base import View
from gui.views.fit import FitView
from gui.views.inspector import InspectorView
from gui.views.ledger import LedgerView
from gui.views.log import LogView
from gui.views.pipeline import PipelineView
from gui.views.runs import RunsView
from gui.views.surface import SurfaceView
from gui.views.surface3d import Surface3DView
from gui.views.tape import TapeView
from gui.views.timeline import TimelineView
from gui.views.vectors import VectorsView

VIEWS: tuple[type[View], ...] = (
    PipelineView,
    SurfaceView,
    Surface3DView,
    VectorsView,
    LedgerView,
    TimelineView,
    FitView,
    InspectorView,
    RunsView,
    TapeView,
    LogView,
)
