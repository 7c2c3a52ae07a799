"""Flat steps with parameter groups: one vector split into the groups' blocks, their ledgers put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.optim.blocks import Block
from core.optim.chain import Track
from core.optim.layout import Array, Layout
from core.optim.ledger import BlockLedger, Float64, StepLedger
from core.optim.transform import StepContext

Evaluate = Callable[[Array], tuple[float, Array]]


class Piece(NamedTuple):
    """The components of one block: where they lie in the whole vector, and what they are in this step."""

    where: Array
    weights: Array
    gradient: Array
    evaluate: Evaluate | None


def split_step(
    blocks: Sequence[Block], layout: Layout, weights: Array, gradient: Array, evaluate: Evaluate | None
) -> list[Piece]:
    """One piece a block, in the order of the blocks."""
    pieces = []
    for block in blocks:
        parts = [layout.slices[layout.names.index(key)] for key in block.keys]
        where = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        inner = None if evaluate is None else _restricted(evaluate, weights, where)
        pieces.append(Piece(where, weights[where], gradient[where], inner))
    return pieces


def _restricted(evaluate: Evaluate, weights: Array, where: Array) -> Evaluate:
    def at(part: Array) -> tuple[float, Array]:
        whole = weights.astype(part.dtype)
        whole[where] = part
        loss, gradient = evaluate(whole)
        return loss, gradient[where]

    return at


class JoinedLedger(BlockLedger):
    """The ledgers of several blocks as one over the whole vector."""

    __slots__ = ("pieces",)

    def __init__(self, ledgers: Sequence[BlockLedger], where: Sequence[Array], layout: Layout) -> None:
        first = ledgers[0]

        def whole(parts: Sequence[Array]) -> Array:
            joined: Array = np.empty(layout.size, dtype=parts[0].dtype)
            for place, part in zip(where, parts, strict=True):
                joined[place] = part
            return joined

        start, gradient = whole([block.start for block in ledgers]), whole([block.gradient for block in ledgers])
        context = StepContext(layout, start, gradient, first.context.count)
        context.base_rate, context.rate = first.context.base_rate, first.context.rate
        moved = next((block for block in ledgers if not block.context.frozen), first)
        context.figures = moved.context.figures
        context.halted = all(block.context.halted for block in ledgers)
        context.skipped = any(block.context.skipped for block in ledgers)
        super().__init__(first.chain, Track(context), whole([block.applied for block in ledgers]), ())
        self.pieces = tuple(zip(ledgers, where, strict=True))

    def _compute_prefixes(self) -> Float64:
        table: Float64 = np.empty((len(self.chain) + 1, self.layout.size))
        for block, where in self.pieces:
            table[:, where] = block.prefixes
        return table


def join_step(
    ledger: StepLedger, pieces: Sequence[Piece], stored: Sequence[Array], layout: Layout, weights: Array
) -> tuple[StepLedger, Array]:
    """The ledger and the new weights over the whole vector."""
    after: Any = np.empty(layout.size, dtype=stored[0].dtype)
    for piece, part in zip(pieces, stored, strict=True):
        after[piece.where] = part
    joined = JoinedLedger(ledger.blocks, [piece.where for piece in pieces], layout)
    places = {name: (0, i) for i, name in enumerate(layout.names)}
    return StepLedger(ledger.step, [joined], places, ledger.loss), after
