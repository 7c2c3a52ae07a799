"""'What if this cause were absent': a step taken once more, from the same state, without one transform."""

from __future__ import annotations

import numpy as np

from core.declare import SettingError
from core.optim.chain import run
from core.optim.finish import applied_change
from core.optim.joined import JoinedLedger
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.transform import MOVED, StepContext

KEPT = ("base_rate", "rate", "step", "momentum", "loss", "evaluate", "used", "shared", "frozen", "stored", "keeps_type")


def rerun(ledger: StepLedger, row_name: str) -> StepLedger:
    """The ledger of the same step without the transform of ``row_name``, whose row is then zero.

    Without the learning rate's row means without its schedule: at the base rate. Rounding cannot be left out by
    itself: run with storage type float64 instead.
    """
    whole = ledger.blocks[0]
    if isinstance(whole, JoinedLedger):  # parameter groups: each again by its own chain, from its own state
        parts = StepLedger(ledger.step, [block for block, _ in whole.pieces], ledger.places, ledger.loss)
        again = rerun(parts, row_name).blocks
        joined = JoinedLedger(again, [where for _, where in whole.pieces], whole.layout)
        return StepLedger(ledger.step, [joined], ledger.places, ledger.loss, ledger.absent)
    chains = [block.chain for block in ledger.blocks]
    position = chains[0].index(row_name)
    if position == len(chains[0].acting):
        raise SettingError("a step cannot be taken without storing it; run with storage type float64 to compare")
    contexts = [fresh_context(block.context) for block in ledger.blocks]
    if position == chains[0].rate_index:
        for context in contexts:
            context.rate = context.base_rate
        position = -1
    states = [[dict(state) for state in block.states] for block in ledger.blocks]
    blocks: list[BlockLedger] = []
    with np.errstate(all="ignore"):
        for chain, track, before in zip(chains, run(chains, states, contexts, position), ledger.blocks, strict=True):
            context = before.context
            stored = context.start if context.stored is None else context.stored
            _, applied = applied_change(chain, track, stored)
            blocks.append(BlockLedger(chain, track, applied, before.states))
    return StepLedger(ledger.step, blocks, ledger.places, ledger.loss, ledger.absent)


def fresh_context(old: StepContext) -> StepContext:
    """The context of a step as its first transform found it."""
    context = StepContext(old.layout, old.start, old.gradient, old.count)
    for name in KEPT:
        setattr(context, name, getattr(old, name))
    if context.momentum is not None:
        context.figures[MOVED] = context.momentum
    return context
