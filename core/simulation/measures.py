"""One number a step, worked out from a run's vectors: lengths, ratio, angle, shares of the causes, residual.

Every function takes a History and returns a column (count,) through ``history.derived``: computed once for each new
step, vectorised over whole chunks. Call them from one thread only (the one that draws); the run may grow meanwhile,
so columns asked for one after the other may differ in length at their end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.simulation.chunks import Chunk
from core.simulation.history import Compute, History

Float64 = NDArray[np.float64]
NOTHING = 1e-12


# lengths ------------------------------------------------------------------------------------------------------


def gradient_norm(history: History) -> Float64:
    """Euclidean length of the computed gradient."""
    return _derived(history, "gradient_norm", lambda h, chunk, a, b: row_norms(chunk.gradient[a:b]))


def expected_norm(history: History) -> Float64:
    """Length of -lr * g, lr being the base learning rate the user set."""
    return _derived(history, "expected_norm", lambda h, chunk, a, b: row_norms(_expected(h, chunk, a, b)))


def applied_norm(history: History) -> Float64:
    """Length of the change that was applied."""
    return _derived(history, "applied_norm", lambda h, chunk, a, b: row_norms(chunk.applied[a:b]))


def weights_norm(history: History) -> Float64:
    """Length of the weights before the step."""
    return _derived(history, "weights_norm", lambda h, chunk, a, b: row_norms(chunk.weights[a:b]))


def ratio(history: History) -> Float64:
    """Length of the applied change over the length of -lr * g; nan where nothing was expected."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        part = slice(chunk.start + a, chunk.start + b)
        return _divide(applied_norm(history)[part], expected_norm(history)[part])

    return _derived(history, "ratio", compute)


def update_to_weights(history: History) -> Float64:
    """Length of the applied change over the length of the weights; nan at the origin."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        part = slice(chunk.start + a, chunk.start + b)
        return _divide(applied_norm(history)[part], weights_norm(history)[part])

    return _derived(history, "update_to_weights", compute)


# direction ----------------------------------------------------------------------------------------------------


def angle(history: History) -> Float64:
    """Angle between -lr * g and the applied change, in degrees (0 to 180); nan where one of them is zero."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        return row_angles(_expected(history, chunk, a, b), chunk.applied[a:b])

    return _derived(history, "angle", compute)


def effective_rate(history: History) -> Float64:
    """The learning rate that plain gradient descent would need to go as far along -g: -(applied . g) / (g . g)."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        gradient = chunk.gradient[a:b]
        # both divided by the largest |g| first, so that tiny and huge gradients keep their digits
        largest = np.abs(gradient).max(axis=1, keepdims=True)
        scaled = gradient / np.where(largest > 0.0, largest, 1.0)
        along = -np.einsum("ij,ij->i", chunk.applied[a:b], scaled)
        return _divide(along, np.einsum("ij,ij->i", scaled, scaled) * largest[:, 0])

    return _derived(history, "effective_rate", compute)


# parts --------------------------------------------------------------------------------------------------------


def unmoved(history: History) -> Float64:
    """Share of the weights that the step left exactly where they were (0 to 1)."""
    return _derived(history, "unmoved", lambda h, chunk, a, b: (chunk.applied[a:b] == 0.0).mean(axis=1))


def against(history: History) -> Float64:
    """Share of the weights that moved against -g, uphill along their own axis (0 to 1)."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        # for learning rates below zero 'downhill' still means along -g
        values: Float64 = (np.sign(chunk.gradient[a:b]) * np.sign(chunk.applied[a:b]) > 0.0).mean(axis=1)
        return values

    return _derived(history, "against", compute)


def residual(history: History) -> Float64:
    """Largest |applied - (expected + sum of rows)| of the step; what float64 rounding leaves of the ledger.

    Components whose sum is not finite although the applied change is (a guard stopped an infinite gradient) count 0,
    as in the ledger itself.
    """

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        applied = chunk.applied[a:b]
        total = _expected(history, chunk, a, b)
        for k in range(len(chunk.schema.names)):
            total = total + chunk.rows[a:b, k]
        left = np.abs(applied - total)
        broken = ~np.isfinite(total) & np.isfinite(applied)
        values: Float64 = np.where(broken, 0.0, left).max(axis=1)
        return values

    return _derived(history, "residual", compute)


# shares of the causes -----------------------------------------------------------------------------------------


def causes(history: History) -> tuple[str, ...]:
    """Every cause that has a ledger row somewhere in the run, in the order of the chain."""
    found: dict[str, None] = {}
    for _, schema in history.schemas:
        found.update(dict.fromkeys(schema.causes))
    return tuple(found)


def activity(history: History) -> Float64:
    """Sum of |c_k| over all rows and components of the step."""
    return _derived(history, "activity", lambda h, chunk, a, b: np.abs(chunk.rows[a:b]).sum(axis=(1, 2)))


def _noticeable(history: History) -> Float64:
    """The activity, or 0 where it is no more than rounding in float64."""

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        total = activity(history)[chunk.start + a : chunk.start + b]
        expected = np.abs(_expected(history, chunk, a, b)).sum(axis=1)
        size = expected + np.abs(chunk.applied[a:b]).sum(axis=1)
        # written so that inf and nan stay what they are
        return np.where(total <= NOTHING * np.where(np.isfinite(size), size, 0.0), 0.0, total)

    return _derived(history, "noticeable", compute)


def share(history: History, cause: str) -> Float64:
    """Sum of |c_k| over the rows of ``cause``, as a share of all rows (0 to 1).

    The shares of all causes add up to 1. They are all 0 where no cause did anything: all rows together are then
    nothing, or no more than float64's own rounding (``NOTHING`` of the step). They are nan where the rows are not
    finite.
    """

    def compute(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        # asked for here and not before: the run may have grown meanwhile
        total = _noticeable(history)[chunk.start + a : chunk.start + b]
        mine = [k for k, name in enumerate(chunk.schema.causes) if name == cause]
        if not mine:
            return _unless_broken(np.zeros(b - a), total)
        return _share(np.abs(chunk.rows[a:b, mine]).sum(axis=(1, 2)), total)

    return _derived(history, ("share", cause), compute)


def shares(history: History) -> dict[str, Float64]:
    """The share of each cause that occurs in the run, by cause, in the order of the chain."""
    return {cause: share(history, cause) for cause in causes(history)}


def row_shares(history: History, step: int) -> dict[str, float]:
    """The share of each ledger row in one step, by row name (see ``share``)."""
    with np.errstate(all="ignore"):
        amounts = np.abs(history.rows(step)).sum(axis=1)
        size = np.abs(history.expected(step)).sum() + np.abs(history.applied(step)).sum()
        total = np.full(len(amounts), amounts.sum())
        total[total <= NOTHING * (size if np.isfinite(size) else 0.0)] = 0.0
    return dict(zip(history.schema(step).names, map(float, _share(amounts, total)), strict=True))


# the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the table: identifier, what people read, unit, and how it is best drawn."""

    name: str
    label: str
    unit: str
    log: bool
    values: Callable[[History], Float64]
    about: str


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("gradient_norm", "‖g‖", "", True, gradient_norm, "length of the computed gradient"),
        Measure("expected_norm", "computed ‖lr·g‖", "", True, expected_norm, "length of −lr·g, lr as you set it"),
        Measure("applied_norm", "applied ‖Δw‖", "", True, applied_norm, "length of the change that was applied"),
        Measure("weights_norm", "‖w‖", "", True, weights_norm, "length of the weights before the step"),
        Measure("ratio", "‖Δw‖ / ‖lr·g‖", "×", True, ratio, "how long the applied change is, next to −lr·g"),
        Measure("angle", "angle", "°", False, angle, "angle between −lr·g and the applied change"),
        Measure(
            "effective_rate",
            "effective lr",
            "",
            True,
            effective_rate,
            "learning rate with which plain gradient descent would go as far along −g: −Δw·g / g·g",
        ),
        Measure(
            "update_to_weights", "‖Δw‖ / ‖w‖", "×", True, update_to_weights, "length of the change next to the weights"
        ),
        Measure("unmoved", "unmoved weights", "%", False, unmoved, "weights that stayed exactly where they were"),
        Measure("against", "moved against −g", "%", False, against, "weights that moved uphill along their own axis"),
        Measure("residual", "residual", "", True, residual, "largest |applied − (expected + rows)|"),
    )
}


def column(history: History, name: str) -> Float64:
    """A measure, or a column the history has itself ('loss', 'clip_factor'), (count,); KeyError names what there is."""
    measure = MEASURES.get(name)
    if measure is not None:
        return measure.values(history)
    try:
        return history.scalar(name)
    except KeyError as error:
        raise KeyError(f"{error.args[0]}, {', '.join(MEASURES)}") from None


# numerics -----------------------------------------------------------------------------------------------------


def row_norms(rows: NDArray[Any]) -> Float64:
    """Euclidean length of each row of (steps, size), also where the squares over- or underflow."""
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        norms: Float64 = np.sqrt(squares)
        doubtful = ~((squares > 1e-280) & (squares < 1e300))
        if doubtful.any():
            part = rows[doubtful]
            largest = np.abs(part).max(axis=1)
            safe = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
            scaled = part / safe[:, np.newaxis]
            norms[doubtful] = safe * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return norms


def row_angles(first: Float64, second: Float64) -> Float64:
    """Angle between corresponding rows of two (steps, size) arrays in degrees; nan where a row is zero or not finite.

    2 atan2(|a - b|, |a + b|) of the unit vectors: exact also near 0 and 180 degrees, where arccos loses half its
    digits (Kahan 2006, 'How futile are mindless assessments of roundoff', section 12).
    """
    with np.errstate(all="ignore"):
        a = _units(first)
        b = _units(second)
        result: Float64 = np.degrees(2.0 * np.arctan2(row_norms(a - b), row_norms(a + b)))
    return result


def _units(rows: Float64) -> Float64:
    """Each row divided by its length; rows of zeros, inf or nan become nan."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / largest
    units: Float64 = scaled / row_norms(scaled)[:, np.newaxis]
    return units


def _expected(history: History, chunk: Chunk, a: int, b: int) -> Float64:
    rates = history.scalar("base_learning_rate")[chunk.start + a : chunk.start + b]
    result: Float64 = chunk.gradient[a:b] * -rates[:, np.newaxis]
    return result


def _divide(numerator: Float64, denominator: Float64) -> Float64:
    """The quotient; nan where the denominator is 0."""
    result = np.full(np.shape(numerator), np.nan)
    with np.errstate(all="ignore"):
        np.divide(numerator, denominator, out=result, where=denominator != 0.0)
    return result


def _share(amount: Float64, total: Float64) -> Float64:
    """amount / total; 0 where nothing happened, nan where the total is not finite."""
    with np.errstate(all="ignore"):
        values = np.divide(amount, total, out=np.zeros(len(total)), where=total != 0.0)
    return _unless_broken(values, total)


def _unless_broken(values: Float64, total: Float64) -> Float64:
    return np.where(np.isfinite(total), values, np.nan)


def _derived(history: History, key: Any, compute: Compute) -> Float64:
    def quietly(history: History, chunk: Chunk, a: int, b: int) -> Float64:
        # diverged runs hold inf and nan: what they give is inf and nan, not a warning
        with np.errstate(all="ignore"):
            return compute(history, chunk, a, b)

    return history.derived(("measure", key), quietly)
