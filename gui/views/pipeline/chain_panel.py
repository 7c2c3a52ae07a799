"""The chain as cards one below the other: moved by dragging or by keys, taking over values while they stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QPoint, QRect, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.theme import Theme
from gui.views.pipeline.block import Homes, TransformBlock
from gui.views.pipeline.plan import CardPlan, figure_of, moved, stepped, structure
from gui.widgets.card import Card, Grip


class ChainPanel(QWidget):
    """All cards of a chain."""

    changed = Signal(str, str, object)
    """(target, key, value) the user chose."""
    refused = Signal(str)
    selected = Signal(str)
    ordered = Signal(list)
    """Row names in the order the user wants."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.plans: list[CardPlan] = []
        self.cards: list[Card] = []
        self.blocks: dict[str, TransformBlock] = {}
        self._structure: tuple[Any, ...] = ()
        self._homes: dict[tuple[str, str], Any] = {}
        self._drop: int | None = None
        self._focus_row = ""
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(5)
        self._line = InsertionLine(theme.accent, self)
        self._line.hide()

    # showing ----------------------------------------------------------------------------------------------------

    def show_cards(self, plans: Sequence[CardPlan], homes: Homes) -> None:
        """Show these cards; widgets stay as long as the structure is the same."""
        found = structure(plans)
        if found != self._structure or dict(homes) != self._homes:
            self._structure, self._homes = found, dict(homes)
            self._rebuild(plans)
        self.plans = list(plans)
        for plan in plans:
            for block in plan.blocks:
                self.blocks[block.row].take(block)

    def _rebuild(self, plans: Sequence[CardPlan]) -> None:
        opened = {row for row, block in self.blocks.items() if block.more_button.isChecked()}
        for card in self.cards:
            self._layout.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards, self.blocks = [], {}
        for index, plan in enumerate(plans):
            card = self._card(plan, index, len(plans))
            self.cards.append(card)
            self._layout.addWidget(card)
        for row in opened & set(self.blocks):
            self.blocks[row].more_button.setChecked(True)
        if self._focus_row in self.blocks:
            for k, plan in enumerate(plans):
                grip = self.cards[k].findChild(Grip)
                if self._focus_row in plan.rows and grip is not None:
                    grip.setFocus()
        self._focus_row = ""
        self._line.raise_()

    def _card(self, plan: CardPlan, index: int, count: int) -> Card:
        card = Card(self._theme)
        blocks = [TransformBlock(block, self._homes) for block in plan.blocks]
        grip: Grip | None = None
        # the store is last for good
        if index < count - 1:
            grip = Grip(plan.title)
            grip.setProperty("card", index)
            grip.dragged.connect(self._on_dragged)
            grip.dropped.connect(self._on_dropped)
            grip.cancelled.connect(self._end_drag)
            grip.stepped.connect(self._on_stepped)
        if len(blocks) > 1:
            head = QHBoxLayout()
            title = QLabel(plan.title)
            title.setObjectName("title")
            head.addWidget(title, 1)
            if grip is not None:
                head.addWidget(grip)
            card.body.addLayout(head)
        elif grip is not None:
            blocks[0].header.add(grip)
        for block in blocks:
            block.changed.connect(self.changed)
            block.refused.connect(self.refused)
            block.selected.connect(self.selected)
            self.blocks[block.row] = block
            card.body.addWidget(block)
        return card

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self._theme = theme
        self._line.color = theme.accent
        for card in self.cards:
            card.restyle(theme)

    def show_step(
        self, figures: Mapping[str, float], shares: Mapping[str, float], rate: float, tips: Mapping[str, str]
    ) -> None:
        """The numbers of the step shown: figures noted, share and explanation of each row, learning rate."""
        clips = sum(block.cause == "clipping" for plan in self.plans for block in plan.blocks)
        for plan in self.plans:
            for block in plan.blocks:
                share = shares.get(block.row, 0.0)
                text, active = figure_of(block, figures, share, rate, clips)
                self.blocks[block.row].set_figure(text, active or not shares, tips.get(block.row, ""))

    def select(self, row: str | None) -> None:
        """Mark the card that holds a ledger row."""
        for card, plan in zip(self.cards, self.plans, strict=True):
            card.set_selected(row is not None and row in plan.rows)

    # moving -----------------------------------------------------------------------------------------------------

    @property
    def order(self) -> list[str]:
        """Row names from first to last."""
        return [row for plan in self.plans for row in plan.rows]

    def place_at(self, y: float) -> int:
        """The number of cards above height ``y`` of this widget (never below the last one)."""
        above = sum(y > card.geometry().center().y() for card in self.cards)
        return min(above, len(self.cards) - 1)

    @Slot(QPoint)
    def _on_dragged(self, place: QPoint) -> None:
        index = self._sending_card()
        self.cards[index].set_lifted(True)
        self._drop = self.place_at(self.mapFromGlobal(place).y())
        below = self.cards[self._drop].geometry().top()
        self._line.setGeometry(QRect(0, below - 4, self.width(), 3))
        self._line.show()

    @Slot(QPoint)
    def _on_dropped(self, place: QPoint) -> None:
        index, drop = self._sending_card(), self._drop
        self._end_drag()
        if drop is None or drop in (index, index + 1):
            return
        rows = self.plans[index].rows
        before = [plan for k, plan in enumerate(self.plans[:drop]) if k != index]
        self.ordered.emit(moved(self.order, rows, sum(len(plan.rows) for plan in before)))

    @Slot()
    def _end_drag(self) -> None:
        self._drop = None
        self._line.hide()
        for card in self.cards:
            card.set_lifted(False)

    @Slot(int)
    def _on_stepped(self, direction: int) -> None:
        index = self._sending_card()
        order = stepped(self.plans, index, direction)
        if order is not None:
            self._focus_row = self.plans[index].rows[0]
            self.ordered.emit(order)

    def _sending_card(self) -> int:
        sender = self.sender()
        return int(sender.property("card")) if isinstance(sender, Grip) else 0


class InsertionLine(QWidget):
    """Where a dragged card would go."""

    def __init__(self, color: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.color = color

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self.color))
