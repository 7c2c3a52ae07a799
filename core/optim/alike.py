"""Whether two steps differ by their rules or only by rounding: how far rounding in another order can set them apart."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from core.optim.ledger import BlockLedger

Float64 = NDArray[np.float64]
UNITS, FEW_UNITS = 256, 16
"""Units in the last place, in float64 and in shorter types, that operations in another order may round differently."""
FADES = 0.99
"""A sum of past steps rounds as coarsely as these were large; how much of that is left a step later."""
LINEAR = frozenset(
    (
        "frozen variables", "loss scaling", "accumulation", "regularisation", "centralisation", "momentum",
        "bias correction", "learning rate", "weight decay", "averaging", "rounding",
    )
)  # fmt: skip
"""Causes that do not divide by the size of the gradient: what is lost in their sums stays lost to the end."""


class RoundingBound:
    """Follows two optimizers over a run; ``next(block)`` gives the bound of a step, (size,), from either's ledger.

    Measured over equal optimizers of the four frameworks the differences stay below 10 units; the smallest real ones
    (an ε of 1e-8 beside a root of 1000) are some 10⁴.
    """

    def __init__(self) -> None:
        self._largest = 0.0

    def next(self, block: BlockLedger) -> Float64:
        """How far apart the finished steps may be, each component, and still be the same step."""
        linear = all(transform.cause in LINEAR for transform in block.chain)
        steps = block.prefixes[:-1] if linear else finished_step(block)
        self._largest = max(self._largest * FADES, largest(steps))
        eps = unit_of(block.gradient.dtype)
        bound = np.full(len(block.applied), units_of(block.gradient.dtype) * eps * self._largest)
        if block.context.weights is not block.start:
            # the step was taken off weights that had been changed before: their last places are lost
            with np.errstate(invalid="ignore"):
                bound += 4.0 * eps * np.nan_to_num(np.abs(block.start.astype(np.float64)), posinf=0.0)
        return bound


def finished_step(block: BlockLedger) -> Float64:
    """d_n: the step before it is stored, (size,), without a table of what came before it."""
    track, context = block.track, block.context
    if not track.updates or block.chain.rate_index < 0:
        return block.prefixes[-2]
    u: Float64 = np.asarray(track.updates[-1], dtype=np.float64)
    if context.weights is block.start:
        return u
    with np.errstate(invalid="ignore", over="ignore"):
        moved: Float64 = u + (context.weights.astype(np.float64) - block.start.astype(np.float64))
    return moved


def units_of(dtype: Any) -> int:
    """UNITS of a number type."""
    return UNITS if np.dtype(dtype) == np.float64 else FEW_UNITS


def unit_of(dtype: Any) -> float:
    """The spacing of numbers at 1."""
    found: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(found.eps)


def largest(*vectors: Float64) -> float:
    """Of the finite numbers in all of them, without their signs."""
    found = 0.0
    for vector in vectors:
        sizes = np.abs(vector)
        finite = sizes[np.isfinite(sizes)]
        found = max(found, float(finite.max(initial=0.0)))
    return found


def beyond(a: Float64, b: Float64, bound: Float64 | float) -> bool:
    """Whether any component differs by more than ``bound``; two nan, or the same infinity, are no difference."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))
    return not bool(near.all())
