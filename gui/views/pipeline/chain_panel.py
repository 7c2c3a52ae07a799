"""The chain as cards one below the other: moved by dragging or by keys, taking over values while they stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.theme import Theme
from gui.views.pipeline.block import Homes, TransformBlock
from gui.views.pipeline.plan import CardPlan, figure_of, moved, row_stepped, stepped, structure
from gui.widgets.card import Card, Grip

CARD_UP, CARD_DOWN = "Alt+Up", "Alt+Down"
ROW_UP, ROW_DOWN = "Alt+Shift+Up", "Alt+Shift+Down"
"""Keys that move the card, or the row alone, in which the focus is."""


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
        self._focus_on_row = False
        """The row's own grip gets the focus back, not its card's."""
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(5)
        self._line = InsertionLine(theme.accent, self)
        self._line.hide()
        for key, slot, text in (
            (CARD_UP, self._on_card_up, self.tr("The card with the focus one place up the chain")),
            (CARD_DOWN, self._on_card_down, self.tr("The card with the focus one place down the chain")),
            (ROW_UP, self._on_row_up, self.tr("The row with the focus, alone, one place up the chain")),
            (ROW_DOWN, self._on_row_down, self.tr("The row with the focus, alone, one place down the chain")),
        ):
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.setWhatsThis(text)
            shortcut.activated.connect(slot)

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
        self._give_focus(plans)
        self._line.raise_()

    def _give_focus(self, plans: Sequence[CardPlan]) -> None:
        """The focus back to what was moved by a key."""
        row, self._focus_row = self._focus_row, ""
        for card, plan in zip(self.cards, plans, strict=True):
            if row in plan.rows:
                grip = self.blocks[row].grip if self._focus_on_row else None
                grip = grip or card.findChild(Grip)
                if grip is not None:
                    # nothing that is not shown yet takes the focus
                    card.show()
                    grip.setFocus()

    def _card(self, plan: CardPlan, index: int, count: int) -> Card:
        card = Card(self._theme)
        card.setProperty("card", index)
        blocks = [TransformBlock(block, self._homes) for block in plan.blocks]
        # the store is last for good
        movable = index < count - 1
        if len(blocks) > 1:
            head = QHBoxLayout()
            title = QLabel(plan.title)
            title.setObjectName("title")
            head.addWidget(title, 1)
            if movable:
                head.addWidget(self._card_grip(plan.title, index))
            card.body.addLayout(head)
        for block, of in zip(blocks, plan.blocks, strict=True):
            if movable:
                block.add_grip(self._row_grip(of.label, of.row))
            block.changed.connect(self.changed)
            block.refused.connect(self.refused)
            block.selected.connect(self.selected)
            self.blocks[block.row] = block
            card.body.addWidget(block)
        return card

    def _card_grip(self, title: str, index: int) -> Grip:
        tip = self.tr("Drag the whole card to another place in the chain; or focus and press up or down ({0}, {1})")
        grip = Grip(title, tip.format(CARD_UP, CARD_DOWN))
        grip.setProperty("card", index)
        grip.dragged.connect(self._on_dragged)
        grip.dropped.connect(self._on_dropped)
        grip.cancelled.connect(self._end_drag)
        grip.stepped.connect(self._on_stepped)
        return grip

    def _row_grip(self, label: str, row: str) -> Grip:
        tip = self.tr(
            "Drag to another place in the chain, into a card as well; or focus and press up or down ({0}, {1})"
        )
        grip = Grip(label, tip.format(ROW_UP, ROW_DOWN))
        grip.setProperty("row", row)
        grip.dragged.connect(self._on_row_dragged)
        grip.dropped.connect(self._on_row_dropped)
        grip.cancelled.connect(self._end_drag)
        grip.stepped.connect(self._on_row_stepped)
        return grip

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
        self._step_card(self._sending_card(), direction)

    def _step_card(self, index: int, direction: int) -> None:
        order = stepped(self.plans, index, direction)
        if order is not None:
            self._focus_row, self._focus_on_row = self.plans[index].rows[0], False
            self.ordered.emit(order)

    def _sending_card(self) -> int:
        sender = self.sender()
        return int(sender.property("card")) if isinstance(sender, Grip) else 0

    # moving one row ---------------------------------------------------------------------------------------------

    def _top_of(self, row: str) -> int:
        block = self.blocks[row]
        return block.mapTo(self, QPoint(0, 0)).y()

    def row_place_at(self, y: float) -> int:
        """The number of rows above height ``y`` of this widget (never below the last one)."""
        above = sum(y > self._top_of(row) + self.blocks[row].header.height() / 2 for row in self.order)
        return min(above, len(self.order) - 1)

    @Slot(QPoint)
    def _on_row_dragged(self, place: QPoint) -> None:
        self._drop = self.row_place_at(self.mapFromGlobal(place).y())
        block = self.blocks[self.order[self._drop]]
        inside = any(row == block.row for plan in self.plans for row in plan.rows[1:])
        indent = 8 if inside else 0
        card = block.parentWidget()
        top = self._top_of(block.row) - 2 if inside or card is None else card.geometry().top() - 4
        self._line.setGeometry(QRect(indent, top, self.width() - 2 * indent, 3))
        self._line.show()

    @Slot(QPoint)
    def _on_row_dropped(self, place: QPoint) -> None:
        row, drop = self._sending_row(), self._drop
        self._end_drag()
        if drop is None or row not in self.blocks:
            return
        index = self.order.index(row)
        order = moved(self.order, [row], drop - 1 if index < drop else drop)
        if order != self.order:
            self.ordered.emit(order)

    @Slot(int)
    def _on_row_stepped(self, direction: int) -> None:
        self._step_row(self._sending_row(), direction)

    def _step_row(self, row: str, direction: int) -> None:
        if row not in self.blocks:
            return
        index, plan = next((k, plan) for k, plan in enumerate(self.plans) if row in plan.rows)
        if len(plan.rows) == 1:
            # a row that is a card of its own passes whole cards, as they do
            self._step_card(index, direction)
            return
        order = row_stepped(self.order, row, direction)
        if order is not None:
            self._focus_row, self._focus_on_row = row, True
            self.ordered.emit(order)

    def _sending_row(self) -> str:
        sender = self.sender()
        return str(sender.property("row")) if isinstance(sender, Grip) else ""

    def _focused(self) -> tuple[int, str]:
        """The card the focus is in and the row (where it is on the card's own line, the first of its rows)."""
        widget, row = QApplication.focusWidget(), ""
        while widget is not None and widget is not self:
            if isinstance(widget, TransformBlock):
                row = widget.row
            if isinstance(widget, Card):
                index = int(widget.property("card"))
                return index, row or self.plans[index].rows[0]
            widget = widget.parentWidget()
        return -1, ""

    @Slot()
    def _on_card_up(self) -> None:
        self._step_card(self._focused()[0], -1)

    @Slot()
    def _on_card_down(self) -> None:
        self._step_card(self._focused()[0], 1)

    @Slot()
    def _on_row_up(self) -> None:
        self._move_row(self._focused()[1], -1)

    @Slot()
    def _on_row_down(self) -> None:
        self._move_row(self._focused()[1], 1)

    def _move_row(self, row: str, direction: int) -> None:
        order = row_stepped(self.order, row, direction) if row in self.blocks else None
        if order is not None:
            self._focus_row, self._focus_on_row = row, True
            self.ordered.emit(order)


class InsertionLine(QWidget):
    """Where a dragged card would go."""

    def __init__(self, color: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.color = color

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self.color))
