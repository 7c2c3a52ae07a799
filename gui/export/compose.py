"""Several figures on one page: a grid with panel letters, drawn like a single figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QRegion
from PySide6.QtWidgets import QGraphicsView, QWidget

from gui.session import Session
from gui.theme import Theme
from gui.views.base import View

GAP = 8
LETTER = 18
"""Height of the line a panel's letter stands in, in logical pixels."""
_NO_GROUND = "\nQWidget#figure, QWidget#card, QAbstractItemView { background: transparent; }"
"""Appended to the style of what is drawn without a ground."""


class Page(QWidget):
    """``figures`` in a grid on ``width`` x ``height`` logical pixels; letters a, b, c ... when there are several.

    Never shown: ``render`` draws it, and ``write_figure`` takes it like any widget.
    """

    def __init__(self, figures: Sequence[QWidget], width: int, height: int, theme: Theme) -> None:
        super().__init__()
        self.figures = list(figures)
        self.theme = theme
        self.resize(width, height)

    def cells(self, count: int) -> list[QRect]:
        """Where ``count`` figures stand: as many columns as make the cells least narrow, filled row by row."""
        if count == 1:
            return [QRect(0, 0, self.width(), self.height())]
        columns = min(range(1, count + 1), key=lambda c: abs(self._shape(c, count) - math.log(1.5)))
        rows = -(-count // columns)
        wide, high = self.width() - GAP * (columns - 1), self.height() - GAP * (rows - 1)
        found = []
        for k in range(count):
            row, column = divmod(k, columns)
            left, right = (wide * c // columns + GAP * column for c in (column, column + 1))
            top, bottom = (high * r // rows + GAP * row for r in (row, row + 1))
            found.append(QRect(left, top + LETTER, right - left, bottom - top - LETTER))
        return found

    def _shape(self, columns: int, count: int) -> float:
        rows = -(-count // columns)
        return math.log(max(self.width() / columns, 1) / max(self.height() / rows - LETTER, 1))

    def render(self, painter: QPainter, transparent: bool = False, *_: Any) -> None:  # type: ignore[override]
        """Draw every figure in its cell, with its letter above."""
        cells = self.cells(len(self.figures))
        for k, (figure, cell) in enumerate(zip(self.figures, cells, strict=True)):
            painter.save()
            painter.translate(cell.topLeft())
            draw(figure, painter, transparent)
            painter.restore()
            if len(cells) > 1:
                painter.save()
                font = QFont(self.font())
                font.setBold(True)
                painter.setFont(font)
                painter.setPen(QColor(self.theme.text))
                place = QRect(cell.left() + 4, cell.top() - LETTER, cell.width(), LETTER)
                painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, letter(k))
                painter.restore()


class Composed:
    """A page of views made for an export: ``with Composed(...) as page``; they are gone afterwards."""

    def __init__(
        self,
        views: Sequence[tuple[type[View], dict[str, Any]]],
        session: Session,
        theme: Theme,
        width: int,
        height: int,
    ) -> None:
        self._views = list(views)
        self._session, self._theme = session, theme
        self._size = width, height
        self._made: list[View] = []

    @property
    def made(self) -> list[View]:
        """The views on the page."""
        return self._made

    def __enter__(self) -> Page:
        from gui.export.figure import make_figure

        page = Page([], *self._size, self._theme)
        try:
            for (kind, options), cell in zip(self._views, page.cells(len(self._views)), strict=True):
                figure = make_figure(
                    kind, self._session, self._theme, max(cell.width(), 1), max(cell.height(), 1), options
                )
                self._made.append(figure)
        except BaseException:
            self.__exit__()
            raise
        page.figures = [view.figure() for view in self._made]
        page.setAccessibleName(", ".join(view.title for view in self._made))
        return page

    def __exit__(self, *_: object) -> None:
        from gui.export.figure import discard

        for view in self._made:
            discard(view)
        self._made = []


def letter(k: int) -> str:
    """The letter of panel k: a ... z, then aa, ab ..."""
    return (letter(k // 26 - 1) if k >= 26 else "") + chr(ord("a") + k % 26)


def draw(widget: QWidget, painter: QPainter, transparent: bool = False) -> None:
    """Draw a widget with all inside it at the painter's origin; a graphics view draws its scene.

    ``transparent`` leaves out the grounds of the widget and of the plots in it.
    """
    if isinstance(widget, Page):
        widget.render(painter, transparent)
        return
    plots = [found for found in (widget, *widget.findChildren(QGraphicsView)) if isinstance(found, QGraphicsView)]
    grounds = [(plot, plot.backgroundBrush(), plot.viewport().autoFillBackground()) for plot in plots]
    sheet = widget.styleSheet()
    try:
        if transparent:
            widget.setStyleSheet(sheet + _NO_GROUND)
            for plot in plots:
                plot.setBackgroundBrush(QBrush(Qt.BrushStyle.NoBrush))
                plot.viewport().setAutoFillBackground(False)
        if isinstance(widget, QGraphicsView):
            widget.render(painter, QRectF(0, 0, widget.width(), widget.height()), widget.viewport().rect())
        elif transparent:
            widget.render(painter, QPoint(0, 0), QRegion(), QWidget.RenderFlag.DrawChildren)
        else:
            widget.render(painter, QPoint(0, 0))
    finally:
        if transparent:
            widget.setStyleSheet(sheet)
            for plot, brush, fills in grounds:
                plot.setBackgroundBrush(brush)
                plot.viewport().setAutoFillBackground(fills)
