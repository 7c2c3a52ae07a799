"""The numbers behind one row of a step for one weight: what came in, the state it used, what went out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.alike import unit_of
from core.optim.conventions import explain
from core.optim.counterfactual import fresh_context
from core.optim.joined import JoinedLedger
from core.optim.layout import Array, Layout
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.transform import PerVariable, State, StepContext, Transform

Float64 = NDArray[np.float64]
STATE: dict[tuple[str, str], str] = {
    ("accumulate", "a"): "a",
    ("clipped_accumulate", "a"): "a",
    ("multi_steps", "a"): "a",
    ("multi_steps", "n"): "n",
    ("momentum", "b"): "b",
    ("first_moment", "m"): "m",
    ("lazy_first_moment", "m"): "m",
    ("moving_average", "m"): "m",
    ("lion_moment", "m"): "m",
    ("second_moment", "v"): "v",
    ("lazy_second_moment", "v"): "v",
    ("belief_moment", "v"): "v",
    ("yogi_moment", "v"): "v",
    ("norm_scaling", "v"): "v",
    ("second_maximum", "v_max"): "V",
    ("centred_second_moment", "a"): "a",
    ("sum_of_squares", "s"): "s",
    ("accumulated_steps", "d"): "D",
    ("infinity_moment", "n"): "n",
    ("difference_moment", "n"): "n",
    ("difference_moment", "g"): "g_old",
    ("optimistic_gradient", "old"): "u_old",
    ("ftrl_step", "n"): "n",
    ("ftrl_step", "z"): "z",
    ("curvature_scaling", "h"): "h",
    ("lookahead", "slow"): "s",
    ("schedule_free", "z"): "z",
    ("schedule_free_mean", "z"): "z",
    ("weight_average", "average"): "a",
    ("iterate_average", "ax"): "ā",
    ("iterate_average", "mu"): "μ_t",
    ("falling_rate", "eta"): "η_t",
    ("scheduled_nesterov", "product"): "Π_t",
    ("rprop", "step"): "Δ",
    ("delayed_rprop", "s"): "s",
    ("master_weights", "master"): "w_master",
}
"""(transform, entry of its state) -> the letter it has in the formula."""


Ends = tuple[float | None, float]
"""(before, after)"""


@dataclass(frozen=True)
class Number:
    """A letter of the formula, its value as the row found it (None: there was none yet), and as the row left it."""

    symbol: str
    before: float | None
    after: float

    @property
    def text(self) -> str:
        """'m = 0 → 0.5'."""
        if self.before is None:
            return f"{self.symbol} = none yet → {self.after:.6g}"
        return f"{self.symbol} = {self.before:.6g}" + (f" → {self.after:.6g}" if self.changed else "")

    @property
    def changed(self) -> bool:
        """Whether the row changed it."""
        return self.before is None or (
            self.before != self.after and not (np.isnan(self.before) and np.isnan(self.after))
        )


@dataclass(frozen=True)
class Worked:
    """One row of one step for the weight ``component``: ``formula`` with its settings, the numbers in it, and what
    the row contributes to the step.

    ``acted`` is False where the row did nothing to this weight's update, its state or the weight itself.
    """

    row: str
    component: int
    formula: str
    numbers: tuple[Number, ...]
    contribution: float
    acted: bool

    def __getitem__(self, symbol: str) -> Number:
        return next(number for number in self.numbers if number.symbol == symbol)

    @property
    def text(self) -> str:
        """The numbers in one line."""
        return ", ".join(number.text for number in self.numbers)


def worked(ledger: StepLedger, row: str, component: int) -> Worked:
    """The numbers of ``row`` for the weight at place ``component`` of the flat vector (one block).

    The step is gone through once more up to this row, from the state it had; nothing of the run moves.
    """
    block, place = _block_of(ledger.blocks[0], component)
    chain = block.chain
    k = chain.index(row)
    rows = block.contributions()
    if k == len(chain.acting):
        numbers = _rounding_numbers(block, place)
        return Worked(row, component, explain(chain, row, block.context.figures), numbers, float(rows[k, place]), True)
    context, scratch, before, after = _again_up_to(block, k, alone=not isinstance(ledger.blocks[0], JoinedLedger))
    track = block.track
    u = track.updates[k - 1] if k else block.context.gradient
    weights = track.weights[k - 1] if k else block.start
    text = explain(chain, row, context.figures)
    if not chain.acting[k].enabled:
        text = f"{chain.acting[k].formula}   (switched off)"
    found = _candidates(chain.acting[k], context, scratch, u, place)
    part = next(it for it in context.layout.slices if it.start <= place < it.stop)
    found |= _sizes(u, weights, part)
    found["u"] = (float(u[place]), float(track.updates[k][place]))
    found["w"] = (float(weights[place]), float(track.weights[k][place]))
    found["u_v"] = found["u"]
    state = _state_numbers(chain.acting[k], before, after, context.layout, place)
    named = {symbol: ends for symbol, ends in found.items() if symbol not in state and _occurs(symbol, text)}
    shown = tuple(Number(symbol, *ends) for symbol, ends in (named | state).items())
    acted = any(number.changed for number in shown) or bool(rows[k, place])
    return Worked(row, component, text, shown, float(rows[k, place]), acted)


def _again_up_to(block: BlockLedger, k: int, alone: bool) -> tuple[StepContext, dict[str, Any], State, State]:
    """(context behind row k, scratch before it, its state before and after): the step gone through once more.

    What came in and went out is taken from the record. Rows that look at all blocks are passed over unless this is
    the only one.
    """
    context = fresh_context(block.context)
    states = [dict(state) for state in block.states]
    scratch: dict[str, Any] = {}
    u: Array = context.gradient
    with np.errstate(all="ignore"):
        for i, transform in enumerate(block.chain.acting[: k + 1]):
            if i == k:
                scratch = _copied(context.scratch)
            if transform.enabled and not context.halted and (alone or not transform.couples):
                if transform.couples:
                    context.combined = transform.combine((u,), (context.layout,))
                transform.update(u, states[i], context)
            u, context.weights = block.track.updates[i], block.track.weights[i]
    return context, scratch, dict(block.states[k]), states[k]


def _copied(scratch: dict[str, Any]) -> dict[str, Any]:
    """As it is now, with that of masked rows."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in scratch.items()}


def _block_of(block: BlockLedger, component: int) -> tuple[BlockLedger, int]:
    """The ledger of the parameter group a weight is in, and its place there."""
    if isinstance(block, JoinedLedger):
        for piece, where in block.pieces:
            places = np.flatnonzero(where == component)
            if len(places):
                return piece, int(places[0])
    return block, component


def _rounding_numbers(block: BlockLedger, place: int) -> tuple[Number, ...]:
    """w and u of the last row: what was to be stored, and what was."""
    track, context = block.track, block.context
    u = track.updates[-1] if track.updates else context.gradient
    before = float(context.weights[place])
    stored = float(context.start[place]) + float(block.applied[place])
    step = 0.0 if context.halted else float(u[place])
    numbers = [Number("w", before, stored), Number("u", step, step)]
    dtype = block.chain.store.dtype or (context.start if context.stored is None else context.stored).dtype
    if dtype != np.float64 and before and np.isfinite(before):
        # what is less than that is swallowed
        half = 0.5 * unit_of(dtype) * 2.0 ** np.floor(np.log2(abs(before)))
        numbers.append(Number("half the gap to the next number", float(half), float(half)))
    return tuple(numbers)


def _candidates(
    transform: Transform, context: StepContext, scratch: dict[str, Any], u: Array, place: int
) -> dict[str, Ends]:
    """What formulas speak of besides u, w and their own state, (before, after) each."""
    scratch = scratch.get(str(getattr(transform, "_scratch", "")), scratch)
    found: dict[str, Ends] = {}

    def put(symbol: str, vector: Any) -> None:
        if isinstance(vector, np.ndarray) and vector.shape == context.start.shape:
            found[symbol] = (float(vector[place]), float(vector[place]))

    put("m", scratch.get("first_moment"))
    pair = scratch.get("second_moment")
    if pair is not None:
        put("m̂", pair[0])
        put("v", pair[1])
    # g is what came to the moments, to the divisor, to the learning rate, or to this row
    before_rate = scratch.get("ftrl_gradient", scratch.get("before_rate", (None,))[0])
    others = (scratch.get("moment_input"), before_rate, None if pair is None else pair[0], u)
    put("g", next(vector for vector in others if vector is not None))
    nesterov = scratch.get("nesterov")
    if nesterov is not None:
        put("u′", nesterov[0])
        put("b", nesterov[1])
    ftrl = scratch.get("ftrl")
    if ftrl is not None:
        put("z", ftrl[0])
        put("n^q", ftrl[2] * context.rate)
    found["lr_t"] = (context.rate, context.rate)
    found["t"] = (float(context.count + 1),) * 2
    return found


def _sizes(u: Array, weights: Array, part: slice) -> dict[str, Ends]:
    """Lengths of the update and of the weights of one variable, and of the whole update."""
    found: dict[str, Ends] = {}
    with np.errstate(all="ignore"):
        for symbol, vector in (("u_v", u[part]), ("w_v", weights[part]), ("g_v", u[part])):
            wide = vector.astype(np.float64)
            length = float(np.linalg.norm(wide))
            found[f"‖{symbol}‖"] = (length, length)
            found[f"rms({symbol})"] = (length / max(wide.size, 1) ** 0.5,) * 2
        whole = float(np.linalg.norm(u.astype(np.float64)))
        mean = float(np.mean(u[part].astype(np.float64)))
    found["‖u‖"] = (whole, whole)
    found["mean(u_v)"] = (mean, mean)
    return found


def _state_numbers(transform: Transform, before: State, after: State, layout: Layout, place: int) -> dict[str, Ends]:
    found: dict[str, Ends] = {}
    for key, value in after.items():
        symbol = STATE.get((transform.name, key))
        if symbol is not None:
            last = _number(value, layout, place)
            if last is not None:
                found[symbol] = (_number(before.get(key), layout, place), last)
    return found


def _number(value: Any, layout: Layout, place: int) -> float | None:
    """The entry of a piece of state for one weight, None where it has none yet."""
    if isinstance(value, PerVariable):
        index = next(i for i, part in enumerate(layout.slices) if part.start <= place < part.stop)
        value = value[index]
    if isinstance(value, np.ndarray):
        return float(value[place]) if value.shape == (layout.size,) else None
    return float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else None


def _occurs(symbol: str, text: str) -> bool:
    """Whether a letter stands in a formula (and not within a word or with an index)."""
    if symbol == "t":
        return bool(re.search(r"ᵗ|(?<![\w_])t(?![\w_])", text.partition("[")[0]))
    formula = re.split(r"   with |   \[", text)[0]
    return bool(re.search(rf"(?<![\w_ᵗ]){re.escape(symbol)}(?!(?![²ᵗ])[\w_̂′]|\()", formula))
