"""Two optimizers on the same weights and gradients: the first step at which they part, the row that does it, by how
much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Array, Layout
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.optimizer import Optimizer

Float64 = NDArray[np.float64]
TOLERANCE = 1e-9
"""Steps that differ by no more than this part of their largest component are the same but for their rounding."""
LossAndGradient = Callable[[Array, int], tuple[float, Array]]


@dataclass(frozen=True)
class RowPair:
    """Rows of the two ledgers that stand for the same cause; None where one has no such row.

    ``left_contribution`` and ``right_contribution`` are flat, (size,), zero for a missing row.
    """

    cause: str
    left: str | None
    right: str | None
    left_contribution: Float64
    right_contribution: Float64

    @property
    def difference(self) -> Float64:
        """right - left, (size,)."""
        with np.errstate(invalid="ignore", over="ignore"):
            result: Float64 = self.right_contribution - self.left_contribution
        return result


@dataclass(frozen=True)
class Parting:
    """The step at which two optimizers, equal until then, do different things.

    ``step`` counts from 0. ``rows`` are all aligned rows in order, ``culprit`` the first of them that differs
    ('expected' when the base rates do), ``difference`` what was applied, right minus left. ``left_words`` and
    ``right_words`` say with which rule each computed the culprit.
    """

    step: int
    rows: tuple[RowPair, ...]
    culprit: RowPair
    difference: Float64
    left_words: str
    right_words: str

    @property
    def size(self) -> float:
        """The Euclidean length of the difference."""
        return float(np.linalg.norm(self.difference))


@dataclass(frozen=True)
class Comparison:
    """``parting`` is None when the two never part; ``distance[k]`` is how far apart they are before step k, each
    going its own way after the parting."""

    parting: Parting | None
    distance: Float64
    left_path: Float64
    right_path: Float64

    def sentence(self, left: str = "the first", right: str = "the second") -> str:
        """What happened, in words."""
        parting = self.parting
        if parting is None:
            return f"{left} and {right} take the same steps, all {len(self.distance) - 1} of them."
        pair = parting.culprit
        return (
            f"{left} and {right} part at step {parting.step}, by {parting.size:.6g}, through {pair.cause}: "
            f"{left} has {parting.left_words}; {right} has {parting.right_words}."
        )


def compare(
    left: Optimizer,
    right: Optimizer,
    at: LossAndGradient | Sequence[Array],
    start: Array,
    layout: Layout,
    steps: int,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Run both from ``start`` (size,) for ``steps`` steps.

    ``at(weights, k)`` gives loss and gradient of step k, or is the sequence of gradients itself. They have parted
    when what they apply differs by more than ``tolerance`` times the largest component of what either applied (their
    orders of operation round differently). Both optimizers are used up: hand in fresh ones.
    """
    function = at if callable(at) else _recorded(at)
    a, b = np.array(start), np.array(start)
    left_path, right_path = [a], [b]
    parting: Parting | None = None
    for k in range(steps):
        one, a_next = _step(left, function, a, layout, k)
        two, b_next = _step(right, function, b if parting is not None else a, layout, k)
        if parting is None:
            parting = _parting(one, two, left, right, k, tolerance)
        a, b = a_next, (b_next if parting is not None else a_next)
        left_path.append(a)
        right_path.append(b)
    lefts, rights = _stacked(left_path), _stacked(right_path)
    with np.errstate(invalid="ignore", over="ignore"):
        distance: Float64 = np.sqrt(np.sum((rights - lefts) ** 2, axis=1))
    return Comparison(parting, distance, lefts, rights)


def align(left: BlockLedger, right: BlockLedger) -> list[RowPair]:
    """The acting rows of two ledgers side by side, matched by cause; 'expected' first, rounding last.

    Rows in the same order are matched first, then those of the same cause that stand at another place.
    """
    return align_rows(acting(left), acting(right), left.expected, right.expected)


Rows = Sequence[tuple[str, str, Float64]]
"""(name, cause, contribution) in the order of the chain, rounding last."""


def align_rows(ours: Rows, theirs: Rows, expected: Float64, other_expected: Float64) -> list[RowPair]:
    """The same for rows that stand on their own, recorded ones for example."""
    matcher = SequenceMatcher(a=[cause for _, cause, _ in ours], b=[cause for _, cause, _ in theirs], autojunk=False)
    zero = np.zeros(len(expected))
    pairs = [RowPair("learning rate", "expected", "expected", expected, other_expected)]
    i = j = 0
    for block in matcher.get_matching_blocks():
        pairs += [RowPair(cause, name, None, row, zero) for name, cause, row in ours[i : block.a]]
        pairs += [RowPair(cause, None, name, zero, row) for name, cause, row in theirs[j : block.b]]
        for k in range(block.size):
            name, cause, row = ours[block.a + k]
            other, _, other_row = theirs[block.b + k]
            pairs.append(RowPair(cause, name, other, row, other_row))
        i, j = block.a + block.size, block.b + block.size
    return _moved(pairs)


def _moved(pairs: list[RowPair]) -> list[RowPair]:
    """Rows of the same cause that stand at different places in the two chains made one pair, at the left's place."""
    found, used = list[RowPair](), set[int]()
    for pair in pairs:
        twin = None
        if pair.right is None:
            twin = next(
                (k for k, p in enumerate(pairs) if p.left is None and p.cause == pair.cause and k not in used), None
            )
        if twin is not None:
            used.add(twin)
            other = pairs[twin]
            pair = RowPair(pair.cause, pair.left, other.right, pair.left_contribution, other.right_contribution)
        found.append(pair)
    # a row of the right alone that found its twin is told there
    return [pair for k, pair in enumerate(found) if k not in used]


def acting(block: BlockLedger) -> list[tuple[str, str, Float64]]:
    """(name, cause, contribution) of the rows that are not zero everywhere, and of the rounding."""
    table, chain = block.contributions(), block.chain
    return [
        (name, transform.cause, table[k])
        for k, (name, transform) in enumerate(zip(chain.row_names, chain, strict=True))
        if k == len(chain) - 1 or np.any(table[k] != 0)
    ]


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
    one: StepLedger, two: StepLedger, left: Optimizer, right: Optimizer, k: int, tolerance: float
) -> Parting | None:
    first, second = one.blocks[0], two.blocks[0]
    if not differ(first.applied, second.applied, tolerance):
        return None
    pairs = align(first, second)
    scale = _largest(first.applied, second.applied)
    culprit = next(
        (pair for pair in pairs if _differ(pair.left_contribution, pair.right_contribution, scale, tolerance)),
        pairs[-1],
    )
    with np.errstate(invalid="ignore", over="ignore"):
        difference: Float64 = second.applied - first.applied
    words = (_words(left, one, culprit.left), _words(right, two, culprit.right))
    return Parting(k, tuple(pairs), culprit, difference, *words)


def _largest(a: Float64, b: Float64) -> float:
    """Of the finite numbers in both."""
    sizes = np.abs(np.concatenate((a, b)))
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def differ(a: Float64, b: Float64, tolerance: float = TOLERANCE) -> bool:
    """Whether two applied steps are different ones, not the same in another order of operations."""
    return _differ(a, b, _largest(a, b), tolerance)


def _differ(a: Float64, b: Float64, scale: float, tolerance: float) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b) > tolerance * scale
    return bool((apart | (np.isfinite(a) != np.isfinite(b))).any())


def _words(optimizer: Optimizer, ledger: StepLedger, row: str | None) -> str:
    """The rule behind a row, with the numbers of the step."""
    if row is None:
        return "no such row"
    if row == "expected":
        return f"the rate {ledger.base_learning_rate:g}"
    transform = optimizer.transform(row)
    return f"{transform.label} ({transform.explain(ledger.figures)})"


def _stacked(path: Sequence[Any]) -> Float64:
    return np.stack([np.asarray(weights, dtype=np.float64) for weights in path])
