"""'What if this cause were absent': one step taken once more without one transform, and what that says in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.optim.ledger import StepLedger
from core.simulation.contrast import angle_between, norm
from core.simulation.measures import row_norms
from core.simulation.running_sums import relative_effects, running_sums
from core.simulation.simulation import Simulation
from core.simulation.wording import Translate, degrees, factor, mark, number

Float64 = NDArray[np.float64]
HARDLY = 0.01
"""A step that differs by less than this part of its length is called the same."""


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The step ``applied`` and the one that would have been ``without`` a row, both (size,)."""

    step: int
    row: str
    label: str
    cause: str
    applied: Float64
    without: Float64

    def sentence(self, translate: Translate = str) -> str:
        """One sentence with marked pieces (see wording)."""
        name = mark(f"cause:{self.cause}", self.label)
        start = translate("Without {0} this step").format(name)
        now, then = norm(self.applied), norm(self.without)
        if not np.isfinite(self.without).all():
            return start + " " + translate("would have been inf or nan.")
        if np.array_equal(self.applied, self.without):
            return start + " " + translate("would have been the same.")
        if then == 0.0:
            return start + " " + translate("would not have moved anything.")
        if now == 0.0:
            return start + " " + translate("would have had length {0}.").format(mark("strong", number(then)))
        turn = angle_between(self.applied, self.without)
        change = norm(self.without - self.applied) / now
        if change < HARDLY:
            text = translate("would have been the same to within {0} %.").format(number(float(f"{100.0 * change:.2g}")))
            return f"{start} {text}"
        told = translate("would have been {0} times as long").format(mark("strong", factor(then / now)))
        if turn >= 0.05:
            told += translate(", and turned by {0} degrees").format(mark("strong", degrees(turn)))
        return f"{start} {told}."


def unmissed(simulation: Simulation, step: int) -> list[WhatIf]:
    """Clips that shortened or turned the step as it came to them, and without which it would have ended the same.

    So it is before rows that divide by the gradient's own size, as Adam's do at first.
    """
    history = simulation.history
    schema = history.schema(step)
    if not np.isfinite(history.applied(step)).all() or bool(history.scalar("skipped")[step]):
        return []
    effects = relative_effects(
        running_sums(history.expected(step), history.rows(step), history.applied(step)),
        row_norms(history.rows(step)),
    )
    asked = [
        name
        for name, cause, effect in zip(schema.names, schema.causes, effects, strict=True)
        if cause == "clipping" and effect > HARDLY
    ]
    found = [without(simulation, step, name) for name in asked]
    return [one for one in found if norm(one.without - one.applied) <= HARDLY * norm(one.applied)]


def without(simulation: Simulation, step: int, row: str, retaken: StepLedger | None = None) -> WhatIf:
    """The counterfactual of one recorded step. SettingError for a row that cannot be left out (rounding).

    This is another question than the row's contribution, with another number: what follows in the chain acts on
    other input. ``retaken`` is the step's ledger where it has been taken once more already.
    """
    schema = simulation.history.schema(step)
    position = schema.names.index(row)
    (block,) = (simulation.retake(step) if retaken is None else retaken).without(row).blocks
    return WhatIf(
        step,
        row,
        "the schedule" if schema.causes[position] == "learning rate" else schema.labels[position],
        schema.causes[position],
        simulation.history.applied(step).copy(),
        np.asarray(block.applied, dtype=np.float64).copy(),
    )
