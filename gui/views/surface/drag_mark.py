"""Points on the picture that are dragged with the mouse or moved by keys, with a preview of the run from there."""

from __future__ import annotations

from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QObject, QPointF, QTimer, Signal, Slot

from gui.theme import Theme
from gui.views.surface.palette import path_color

NUDGE_MILLISECONDS = 500
"""Keys may be pressed several times; the run begins when they rest this long."""


class DragMark(QObject):
    """A mark that can be moved. ``moving`` is told while it moves, ``dropped`` when it is let go of.

    ``snap`` maps where the mouse is to where the mark may stand (on a curve).
    """

    moving = Signal(float, float)
    dropped = Signal(float, float)

    def __init__(
        self, box: pg.ViewBox, tip: str, parent: QObject, symbol: str = "d", size: int = 13, z: float = 8.0
    ) -> None:
        super().__init__(parent)
        self.snap: Callable[[float, float], tuple[float, float]] | None = None
        self.item = pg.TargetItem(symbol=symbol, size=size, movable=True)
        self.item.setZValue(z)
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
        self._nudged = self._allowed(a + da, b + db)
        self.item.setPos(*self._nudged)
        self.moving.emit(*self._nudged)
        self._rest.start()

    def _allowed(self, a: float, b: float) -> tuple[float, float]:
        return (a, b) if self.snap is None else self.snap(a, b)

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self.item.setPen(pg.mkPen(path_color(theme), width=1.6))
        self.item.setBrush(pg.mkBrush(theme.card))
        self.item.setHoverPen(pg.mkPen(theme.accent, width=2))
        self.item.setHoverBrush(pg.mkBrush(theme.accent))

    @Slot(object)
    def _on_moved(self, item: object) -> None:
        if not self.item.moving:
            return
        place, allowed = self.place(), self._allowed(*self.place())
        if allowed != place:
            # told once more with the place it may have
            self.item.setPos(*allowed)
        else:
            self.moving.emit(*place)

    @Slot(object)
    def _on_dropped(self, item: object) -> None:
        self.dropped.emit(*self.place())

    @Slot()
    def _on_rest(self) -> None:
        if self._nudged is not None:
            place, self._nudged = self._nudged, None
            self.dropped.emit(*place)
