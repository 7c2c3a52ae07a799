"""Two optimizers on the same weights and gradients: the first step at which they part, the row that does it, by how
much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.optim.aligned import RowPair, align
from core.optim.alike import RoundingBound, beyond, finished_step, largest, unit_of, units_of
from core.optim.chain import own_figures
from core.optim.difference_words import pair_words
from core.optim.layout import Array, Layout
from core.optim.ledger import StepLedger
from core.optim.optimizer import Optimizer

Float64 = NDArray[np.float64]
Pair = TypeVar("Pair", bound=RowPair)
LossAndGradient = Callable[[Array, int], tuple[float, Array]]


@dataclass(frozen=True)
class Parting:
    """The step at which two optimizers, equal until then, do different things.

    ``step`` counts from 0. ``rows`` are all aligned rows in order, ``culprit`` the first of them that differs
    ('expected' when the base rates do), ``difference`` what was applied, right minus left, ``length`` that of the
    longer step. ``left_words`` and ``right_words`` say with which rule each computed the culprit, with the numbers of
    the step; ``words`` what sets the rules apart, %1 and %2 standing for the two.
    """

    step: int
    rows: tuple[RowPair, ...]
    culprit: RowPair
    difference: Float64
    length: float
    left_words: str
    right_words: str
    words: str

    @property
    def size(self) -> float:
        """The Euclidean length of the difference."""
        return _norm(self.difference)


@dataclass(frozen=True)
class Comparison:
    """``parting`` is None when the two never part; ``distance[k]`` is how far apart they are before step k, each
    going its own way after the parting.

    ``rounding`` is the longest difference of two steps before that: the same rules, rounded in another order;
    ``first_rounding`` is the first such step, None when they agree to the last bit.
    """

    parting: Parting | None
    distance: Float64
    left_path: Float64
    right_path: Float64
    rounding: float = 0.0
    first_rounding: int | None = None

    def sentence(self, left: str = "the first", right: str = "the second") -> str:
        """What happened, in words."""
        parting = self.parting
        if parting is None:
            told = f"{left} and {right} take the same steps, all {len(self.distance) - 1} of them"
            if self.first_rounding is None:
                return f"{told}, to the last bit."
            return (
                f"{told}; rounding sets them apart by at most {self.rounding:.3g}, first in step {self.first_rounding}."
            )
        pair = parting.culprit
        share = f" ({100.0 * parting.size / parting.length:.3g} % of the step)" if parting.length > 0.0 else ""
        rules = parting.words.replace("%1", f"with {left}").replace("%2", f"with {right}")
        told = (
            f"{left} and {right} part at step {parting.step}, by {parting.size:.6g}{share}, through {pair.cause}: "
            + (f"{rules}. " if rules else "")
            + f"{left} has {parting.left_words}; {right} has {parting.right_words}."
        )
        if self.first_rounding is not None:
            told += (
                f" Before that they differ by rounding alone, at most {self.rounding:.3g}, "
                f"first in step {self.first_rounding}."
            )
        return told


def compare(
    left: Optimizer,
    right: Optimizer,
    at: LossAndGradient | Sequence[Array],
    start: Array,
    layout: Layout,
    steps: int,
    tolerance: float | None = None,
) -> Comparison:
    """Run both from ``start`` (size,) for ``steps`` steps.

    ``at(weights, k)`` gives loss and gradient of step k, or is the sequence of gradients itself. They have parted
    when their finished steps differ by more than operations in another order can round differently; with a
    ``tolerance`` by more than that part of the largest component of either. Both optimizers are used up: hand in
    fresh ones.
    """
    function = at if callable(at) else _recorded(at)
    a, b = np.array(start), np.array(start)
    left_path, right_path = [a], [b]
    parting: Parting | None = None
    bound, rounding, first_rounding = RoundingBound(), 0.0, None
    for k in range(steps):
        one, a_next = _step(left, function, a, layout, k)
        two, b_next = _step(right, function, b if parting is not None else a, layout, k)
        if parting is None:
            parting, apart = _parting(one, two, left, right, k, bound, tolerance)
            if parting is None and apart:
                rounding = max(rounding, apart)
                first_rounding = k if first_rounding is None else first_rounding
        a, b = a_next, (b_next if parting is not None else a_next)
        left_path.append(a)
        right_path.append(b)
    lefts, rights = _stacked(left_path), _stacked(right_path)
    with np.errstate(invalid="ignore", over="ignore"):
        distance: Float64 = np.sqrt(np.sum((rights - lefts) ** 2, axis=1))
    return Comparison(parting, distance, lefts, rights, rounding, first_rounding)


def _step(
    optimizer: Optimizer, at: LossAndGradient, weights: Array, layout: Layout, k: int
) -> tuple[StepLedger, Array]:
    loss, gradient = at(weights, k)
    return optimizer.step_flat(weights, gradient, layout, loss=loss, evaluate=lambda other: at(other, k))


def _recorded(gradients: Sequence[Array]) -> LossAndGradient:
    arrays = [np.asarray(gradient, dtype=np.float64).reshape(-1) for gradient in gradients]

    def at(weights: Array, k: int) -> tuple[float, Array]:
        return float("nan"), arrays[k]

    return at


def _parting(
    one: StepLedger,
    two: StepLedger,
    left: Optimizer,
    right: Optimizer,
    k: int,
    rounding: RoundingBound,
    tolerance: float | None,
) -> tuple[Parting | None, float]:
    """(the parting, how far apart what was applied is)."""
    first, second = one.blocks[0], two.blocks[0]
    with np.errstate(invalid="ignore", over="ignore"):
        difference: Float64 = second.applied - first.applied
    if tolerance is None:
        bound: Float64 | float = rounding.next(second)
        # what was applied is a multiple of the spacing of stored numbers: whether the rules differ is told before that
        parted = beyond(first.applied, second.applied, 0.0) and beyond(
            finished_step(first), finished_step(second), bound
        )
    else:
        bound = tolerance * largest(first.applied, second.applied)
        parted = beyond(first.applied, second.applied, bound)
    if not parted:
        return None, _norm(np.nan_to_num(difference))
    pairs = align(first, second)
    units = units_of(first.gradient.dtype) * unit_of(first.gradient.dtype)

    def differs(pair: RowPair) -> bool:
        return counts(pair, bound, units if tolerance is None else tolerance)

    culprit = culprit_of(pairs, differs)
    here, there = _rates(one), _rates(two)
    told = [culprit, opposite(pairs, culprit, differs)]
    words = "; ".join(pair_words(left, right, pair, here, there, ("%1", "%2")) for pair in told if pair is not None)
    sides = (_words(left, one, culprit.left), _words(right, two, culprit.right))
    length = max(_norm(first.applied), _norm(second.applied))
    return Parting(k, tuple(pairs), culprit, difference, length, *sides, words), _norm(difference)


def counts(pair: RowPair, bound: Float64 | float, part: float) -> bool:
    """Whether two contributions differ by more than rounding: that of the step, or ``part`` of their own size."""
    own = part * largest(pair.left_contribution, pair.right_contribution)
    return beyond(pair.left_contribution, pair.right_contribution, np.maximum(bound, own))


def culprit_of(pairs: Sequence[Pair], differs: Callable[[Pair], bool]) -> Pair:
    """The first row that differs. Where it stands on one side only and beside rows that both have, it is those."""
    first = next((pair for pair in pairs if differs(pair)), pairs[-1])
    if first.left is not None and first.right is not None:
        return first
    beside = (pair for pair in pairs if pair.gap == first.gap and pair.left is not None and pair.right is not None)
    return next((pair for pair in beside if differs(pair)), first)


def opposite(pairs: Sequence[Pair], pair: Pair, differs: Callable[[Pair], bool]) -> Pair | None:
    """What the other chain has instead of a row that stands on one side only (AdamW's decay for Adam's L2)."""
    if (pair.left is None) == (pair.right is None):
        return None
    others = (it for it in pairs if (it.left is None) == (pair.left is not None) and not (it.left and it.right))
    return next((it for it in others if differs(it)), None)


def _rates(ledger: StepLedger) -> tuple[float, float]:
    return ledger.base_learning_rate, ledger.learning_rate


def _norm(vector: Float64) -> float:
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(vector))


def _words(optimizer: Optimizer, ledger: StepLedger, row: str | None) -> str:
    """The rule behind a row, with the numbers of the step."""
    if row is None:
        return "no such row"
    if row == "expected":
        return f"the rate {ledger.base_learning_rate:g}"
    transform = optimizer.transform(row)
    return f"{transform.label} ({transform.explain(own_figures(row, ledger.figures))})"


def _stacked(path: Sequence[Any]) -> Float64:
    return np.stack([np.asarray(weights, dtype=np.float64) for weights in path])
