"""The start point on the picture: dragged with the mouse or moved by keys, with a preview of the run from there."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QObject, QPointF, QTimer, Signal, Slot

from gui.theme import Theme
from gui.views.surface.palette import path_color

NUDGE_MILLISECONDS = 500
"""Keys may be pressed several times; the run begins when they rest this long."""


class StartMark(QObject):
    """A diamond at the start. ``moving`` is told while it moves, ``dropped`` when it is let go of."""

    moving = Signal(float, float)
    dropped = Signal(float, float)

    def __init__(self, box: pg.ViewBox, tip: str, parent: QObject) -> None:
        super().__init__(parent)
        self.item = pg.TargetItem(symbol="d", size=13, movable=True)
        self.item.setZValue(8)
        self.item.setToolTip(tip)
        box.addItem(self.item, ignoreBounds=True)
        self._nudged: tuple[float, float] | None = None
        self._rest = QTimer(self, singleShot=True, interval=NUDGE_MILLISECONDS)
        self._rest.timeout.connect(self._on_rest)
        self.item.sigPositionChanged.connect(self._on_moved)
        self.item.sigPositionChangeFinished.connect(self._on_dropped)

    @property
    def held(self) -> bool:
        """True while the user is moving it."""
        return bool(self.item.moving) or self._nudged is not None

    def place(self) -> tuple[float, float]:
        """Where it is, in plane coordinates."""
        position: QPointF = self.item.pos()
        return position.x(), position.y()

    def put(self, a: float, b: float) -> None:
        """Show the start there, unless the user holds it."""
        if not self.held and (a, b) != self.place():
            self.item.setPos(a, b)

    def nudge(self, da: float, db: float) -> None:
        """Move it by keys; it is let go of when no key follows for a while."""
        a, b = self.place()
        self._nudged = (a + da, b + db)
        self.item.setPos(*self._nudged)
        self.moving.emit(*self._nudged)
        self._rest.start()

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self.item.setPen(pg.mkPen(path_color(theme), width=1.6))
        self.item.setBrush(pg.mkBrush(theme.card))
        self.item.setHoverPen(pg.mkPen(theme.accent, width=2))
        self.item.setHoverBrush(pg.mkBrush(theme.accent))

    @Slot(object)
    def _on_moved(self, item: object) -> None:
        if self.item.moving:
            self.moving.emit(*self.place())

    @Slot(object)
    def _on_dropped(self, item: object) -> None:
        self.dropped.emit(*self.place())

    @Slot()
    def _on_rest(self) -> None:
        if self._nudged is not None:
            place, self._nudged = self._nudged, None
            self.dropped.emit(*place)
