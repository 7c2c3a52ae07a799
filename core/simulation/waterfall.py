"""The ledger of one step as a waterfall: running values from the expected to the applied step, in a chosen measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.simulation.contrast import norm
from core.simulation.measures import row_norms
from core.simulation.running_sums import relative_effects, running_sums

Float64 = NDArray[np.float64]

MEASURES = ("along", "across", "length", "size", "value")
NEGLIGIBLE = 1e-6
"""Rows below this share of the step they act on did nothing."""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Numbers of the rows in one measure.

    ``values`` (rows + 1): the running value before the first row (expected) to after the last (applied); with the
    measure 'size' the length of each contribution instead, expected first, and ``applied`` apart from it.
    ``changes`` (rows,): what each row adds in this measure. ``sizes`` (rows,): length of each contribution.
    ``acted`` (rows,): False for rows that did nothing. ``fallback`` tells that there was no computed direction, so
    that of the applied step stands in for it.
    """

    measure: str
    values: Float64
    changes: Float64
    sizes: Float64
    acted: NDArray[np.bool_]
    applied: float
    fallback: bool = False

    @property
    def expected(self) -> float:
        """Where it starts."""
        return float(self.values[0])

    def spans(self) -> Float64:
        """(rows + 2, 2): where each bar begins and ends; expected, the rows, applied."""
        count = len(self.changes)
        table = np.zeros((count + 2, 2))
        table[0, 1] = self.values[0]
        table[-1, 1] = self.applied
        table[1:-1, 1] = self.values[1:]
        if self.measure != "size":
            table[1:-1, 0] = self.values[:-1]
        return table


def waterfall(expected: Float64, rows: Float64, applied: Float64, measure: str) -> Waterfall:
    """Measure a ledger: vectors (size,), contributions (rows, size).

    'along' is the component along -lr*g, counted from the weights on; 'across' that at right angles to it, in the
    direction in which the applied step leaves the computed one; 'length' the length of the step so far; 'size' the
    length of each contribution on its own (these do not add up); 'value' the number itself, for a single component.
    """
    if measure not in MEASURES:
        raise ValueError(f"no measure {measure!r}; there are: {', '.join(MEASURES)}")
    if measure == "value" and expected.size != 1:
        raise ValueError(f"'value' measures a single component, not {expected.size}")
    with np.errstate(all="ignore"):
        sizes = row_norms(rows)
        sums = running_sums(expected, rows, applied)
        acted = ~(relative_effects(sums, sizes) <= NEGLIGIBLE)
        fallback = False
        if measure == "size":
            values = np.concatenate([[norm(expected)], sizes])
            return Waterfall(measure, values, sizes, sizes, acted, norm(applied))
        if measure == "value":
            values, changes = sums[:, 0], rows[:, 0]
        elif measure == "length":
            values = row_norms(sums)
            changes = np.diff(values)
        else:
            direction, fallback = computed_direction(expected, applied)
            if measure == "across":
                direction = crossing_direction(direction, rows, applied)
            values, changes = sums @ direction, rows @ direction
    return Waterfall(measure, values, np.asarray(changes), sizes, acted, float(values[-1]), fallback)


def computed_direction(expected: Float64, applied: Float64) -> tuple[Float64, bool]:
    """The unit vector along -lr*g; where that is zero, along the applied step (and True). Zeros if both are."""
    for vector, fallback in ((expected, False), (applied, True)):
        unit = _unit(vector)
        if unit is not None:
            return unit, fallback
    return np.zeros_like(expected), True


def crossing_direction(direction: Float64, rows: Float64, applied: Float64) -> Float64:
    """The unit vector at right angles to ``direction`` in which the applied step leaves it.

    An applied step without such a part leaves the choice to the row with the largest one; zeros if there is none.
    """
    aside = applied - (applied @ direction) * direction
    if norm(aside) > 1e-9 * norm(applied):
        found = _unit(aside)
        if found is not None:
            return found
    parts = rows - (rows @ direction)[:, np.newaxis] * direction
    lengths = np.array([norm(part) for part in parts])
    if not len(lengths) or not lengths.max() > 1e-9 * max(norm(row) for row in rows):
        return np.zeros_like(direction)
    found = _unit(parts[int(np.argmax(lengths))])
    return np.zeros_like(direction) if found is None else found


def _unit(vector: Float64) -> Float64 | None:
    """The vector divided by its length; None for zeros, inf or nan."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return None
    scaled = vector / largest
    unit: Float64 = scaled / norm(scaled)
    return unit
