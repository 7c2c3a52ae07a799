"""The end of a step: the update is added to the weights, rounded to their type, and measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.optim.chain import Chain, Track
from core.optim.dtypes import FLOAT64
from core.optim.layout import Array
from core.optim.ledger import BlockLedger
from core.optim.transform import State


def applied_change(chain: Chain, track: Track, before: Array, states: list[State] | None = None) -> tuple[Array, Array]:
    """(stored weights, applied change in float64), both (size,); ``before`` are the weights in their storage type.

    With ``states`` given, master weights are remembered in them. Call with numpy's warnings switched off.
    """
    context = track.context
    if context.halted:
        return before, np.zeros(len(before))
    u = track.updates[-1] if track.updates else context.gradient
    finished = context.weights + u
    wanted = chain.store.dtype or before.dtype
    if finished.dtype is wanted is before.dtype is FLOAT64:
        return finished, finished - before
    stored: Array = np.asarray(finished).astype(wanted)
    if context.keeps_type:
        stored = stored.astype(before.dtype, copy=False)
    if chain.master_index >= 0 and states is not None:
        chain.keep_master(states, finished, stored)
    applied = stored.astype(FLOAT64) - before.astype(FLOAT64)
    if stored.dtype != FLOAT64:
        intended = u != 0
        if context.weights is not context.start:
            intended = intended | (context.weights != context.start)
        lost = int(np.count_nonzero(intended & (applied == 0.0)))
        context.figures["unmoved_share"] = lost / max(len(before), 1)
    return stored, applied


def share_unmoved(ledgers: Sequence[BlockLedger]) -> None:
    """One share of weights that did not move over all blocks that have one, in each of them."""
    found = [block for block in ledgers if "unmoved_share" in block.context.figures]
    if len(found) > 1:
        lost = sum(block.context.figures["unmoved_share"] * block.layout.size for block in found)
        share = lost / max(sum(block.layout.size for block in found), 1)
        for block in found:
            block.context.figures["unmoved_share"] = share
