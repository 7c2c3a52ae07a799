"""Draws a computation: one box a value, in levels from the inputs down, arrows along the operands."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPen, QWheelEvent
from PySide6.QtWidgets import QGraphicsScene, QGraphicsView, QWidget

from core.autodiff.picture import Node, Picture
from gui.theme import APPLIED, COMPUTED, Theme
from gui.views.tape.words import finite, largest, shown, users_of
from gui.widgets.keys import MOVING, KeepKeys

WIDTH, HEIGHT = 116.0, 58.0
GAP_X, GAP_Y = 18.0, 34.0
READABLE = 0.8
"""A picture is made no smaller than this to fit: it follows the operation at work instead."""
ZOOM = 1.15
KEYS = (*MOVING, Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus, Qt.Key.Key_F)


def places(picture: Picture) -> dict[int, QRectF]:
    """A rectangle for every node: rows are levels, within a row each stands near the middle of its operands."""
    levels: dict[int, list[Node]] = {}
    for node in picture.nodes:
        level = node.level
        if node.kind == "constant":
            users = [other.level for other in picture.nodes if node.number in other.operands]
            level = min(users, default=1) - 1
        levels.setdefault(level, []).append(node)
    found: dict[int, QRectF] = {}
    for level in sorted(levels):
        wanted = []
        for order, node in enumerate(levels[level]):
            above = [found[i].center().x() for i in node.operands if i in found]
            wanted.append((float(np.mean(above)) if above else order * (WIDTH + GAP_X), node))
        wanted.sort(key=lambda item: item[0])
        x = -np.inf
        row = []
        for target, node in wanted:
            x = max(target - WIDTH / 2, x + WIDTH + GAP_X if np.isfinite(x) else target - WIDTH / 2)
            row.append((x, node))
        # a row pushed to the right by its crowd moves back as a whole
        shift = float(np.mean([x + WIDTH / 2 - target for (x, _), (target, _) in zip(row, wanted, strict=True)]))
        for x, node in row:
            found[node.number] = QRectF(x - shift, level * (HEIGHT + GAP_Y), WIDTH, HEIGHT)
    return found


class GraphCanvas(QGraphicsView):
    """The picture; ``played`` operations have their values, from ``back`` on adjoints are shown from the end."""

    node_clicked = Signal(int)
    stepped = Signal(int)
    """Left (-1) or right (1) was pressed."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.picture: Picture | None = None
        self.places: dict[int, QRectF] = {}
        self.forward = 0
        self.backward = 0
        self.current: int | None = None
        self.setScene(QGraphicsScene(self))
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setFrameShape(QGraphicsView.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        KeepKeys(self, KEYS)
        self._zoomed = False

    def set_picture(self, picture: Picture | None) -> None:
        """Show another computation."""
        self.picture = picture
        before, self.places = self.places, {} if picture is None else places(picture)
        if before == self.places:
            # the same computation at another step: what the user looks at stays in sight
            self.viewport().update()
            return
        bounds = QRectF()
        for rect in self.places.values():
            bounds = bounds.united(rect)
        self.scene().setSceneRect(bounds.adjusted(-20, -20, 20, 20))
        self._zoomed = False
        self.fit()

    def fit(self) -> None:
        """The whole picture if it stays readable, never enlarged beyond its natural size."""
        self.resetTransform()
        area = self.scene().sceneRect()
        if area.isEmpty():
            return
        scale = min(self.viewport().width() / area.width(), self.viewport().height() / area.height(), 1.0)
        self.scale(max(scale, READABLE), max(scale, READABLE))
        self.centerOn(area.center())
        self._follow()

    def zoom(self, factor: float) -> None:
        """Enlarge or reduce, within reason."""
        now = self.transform().m11()
        factor = min(max(now * factor, 0.1), 4.0) / now
        self._zoomed = True
        self.scale(factor, factor)

    def _follow(self) -> None:
        """The operation at work in sight, with what is around it."""
        if self.picture is None or self.current not in self.places:
            return
        here = self.places[self.current]
        around = QRectF(here)
        node = self.picture.nodes[self.current]
        # values come from above, derivatives from below
        sources = [user.number for user in users_of(self.picture, node)] if self.backward else node.operands
        for number in sources:
            around = around.united(self.places[number])
        self.ensureVisible(around, 16, 16)
        self.ensureVisible(here, 16, 16)

    def show_state(self, forward: int, backward: int, current: int | None) -> None:
        """How many operations have values and adjoints, and which one is at work."""
        moved = current != self.current
        self.forward, self.backward, self.current = forward, backward, current
        if moved:
            self._follow()
        self.viewport().update()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        if not self._zoomed:
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(ZOOM if event.angleDelta().y() > 0 else 1 / ZOOM)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.stepped.emit(-1 if key == Qt.Key.Key_Left else 1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(1 / ZOOM if key == Qt.Key.Key_Minus else ZOOM)
        elif key == Qt.Key.Key_F:
            self._zoomed = False
            self.fit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.mapToScene(event.position().toPoint())
        for number, rect in self.places.items():
            if rect.contains(at):
                self.node_clicked.emit(number)
        super().mousePressEvent(event)

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(rect, QColor(self.theme.card))

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        if self.picture is None:
            return
        operations = self.picture.operations
        valued = {node.number for node in operations[: self.forward]}
        adjoined = {node.number for node in operations[len(operations) - self.backward :]} if self.backward else set()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # values come from the operands; derivatives from the operations that use the value
        backward = self.backward > 0
        for node in self.picture.nodes:
            for operand in node.operands:
                lit = self.current is not None and self.current == (operand if backward else node.number)
                painter.setPen(QPen(QColor(APPLIED if lit else self.theme.quiet), 2.0 if lit else 1.2))
                self._edge(painter, self.places[operand], self.places[node.number])
        for node in self.picture.nodes:
            done = node.kind != "operation" or node.number in valued
            self._box(painter, node, done, self._has_adjoint(node, adjoined))

    def _has_adjoint(self, node: Node, adjoined: set[int]) -> bool:
        """An input's adjoint is complete when everything that uses it has been gone through."""
        if node.kind == "operation":
            return node.number in adjoined
        assert self.picture is not None
        users = [other.number for other in self.picture.operations if node.number in other.operands]
        return bool(self.backward) and all(number in adjoined for number in users)

    def _edge(self, painter: QPainter, start: QRectF, end: QRectF) -> None:
        a, b = QPointF(start.center().x(), start.bottom()), QPointF(end.center().x(), end.top())
        bend = max((b.y() - a.y()) * 0.45, 10.0)
        path = QPainterPath(a)
        path.cubicTo(a + QPointF(0, bend), b - QPointF(0, bend), b)
        painter.drawPath(path)

    def _box(self, painter: QPainter, node: Node, done: bool, adjoint: bool) -> None:
        rect = self.places[node.number]
        theme = self.theme
        color = {"input": COMPUTED, "constant": theme.quiet}.get(node.kind, theme.text)
        painter.setPen(
            QPen(QColor(APPLIED if node.number == self.current else color), 2.4 if node.number == self.current else 1.0)
        )
        painter.setBrush(QColor(theme.field))
        painter.drawRoundedRect(rect, 6, 6)
        font = QFont(self.font())
        font.setPixelSize(12)
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(theme.text if done else theme.quiet))
        metrics = painter.fontMetrics()
        head = rect.adjusted(6, 3, -6, 0)
        title = node.label if node.kind != "operation" else node.text
        painter.drawText(
            head, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter,
            metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, int(head.width())),
        )  # fmt: skip
        font.setBold(False)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        painter.setPen(QColor(theme.text if done and finite(node.value) else theme.warning if done else theme.quiet))
        if done:
            text = metrics.elidedText(shown(node.value), Qt.TextElideMode.ElideRight, int(head.width()))
            painter.drawText(
                head.adjusted(0, 18, 0, 0), Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter, text
            )
        if adjoint and node.kind != "constant":
            painter.setPen(QColor(APPLIED if finite(node.adjoint) else theme.warning))
            text = metrics.elidedText(f"∂ {largest(node.adjoint)}", Qt.TextElideMode.ElideRight, int(head.width()))
            painter.drawText(
                head.adjusted(0, 35, 0, 0), Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter, text
            )
