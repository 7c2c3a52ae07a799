"""The ledger of the step shown, cut to what the user looks at: rows, numbers, formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.simulation.contrast import norm
from core.simulation.history import History
from core.simulation.running_sums import running_sums
from core.simulation.waterfall import Waterfall, waterfall

Float64 = NDArray[np.float64]
EXPECTED, APPLIED = "expected", "applied"


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """What the table shows of one line: lengths, parts along and across -lr*g, share of all |contributions|."""

    size: float
    along: float
    across: float
    share: float
    length_after: float


class LedgerStep:
    """One step of a history over a part of the flat vector, in one measure.

    Lines are: expected, one a ledger row, applied. ``causes`` and ``labels`` belong to the rows only.
    """

    def __init__(self, history: History, step: int, part: slice, measure: str) -> None:
        schema = history.schema(step)
        self.step = step
        self.names, self.causes, self.labels = schema.names, schema.causes, schema.labels
        with np.errstate(all="ignore"):
            self.expected: Float64 = history.expected(step)[part]
        self.applied: Float64 = history.applied(step)[part]
        self.rows: Float64 = history.rows(step)[:, part]
        self.measure = "value" if self.expected.size == 1 and measure in ("along", "across") else measure
        self.fall: Waterfall = waterfall(self.expected, self.rows, self.applied, self.measure)

    @property
    def lines(self) -> int:
        """Number of lines: the rows and the two ends."""
        return len(self.names) + 2

    def row_of(self, line: int) -> str | None:
        """The ledger row on a line; None for the two ends."""
        return self.names[line - 1] if 1 <= line <= len(self.names) else None

    def line_of(self, row: str | None) -> int | None:
        """The line of a ledger row."""
        return self.names.index(row) + 1 if row in self.names else None

    def acted(self, line: int) -> bool:
        """False for a row that did nothing in this step."""
        return not 1 <= line <= len(self.names) or bool(self.fall.acted[line - 1])

    def amount(self, line: int) -> float:
        """The number of a line in the measure: what a row adds; where the step begins and ends."""
        if line == 0:
            return self.fall.expected
        return self.fall.applied if line == self.lines - 1 else float(self.fall.changes[line - 1])

    def vector(self, line: int) -> Float64:
        """The vector behind a line."""
        if line == 0:
            return self.expected
        return self.applied if line == self.lines - 1 else self.rows[line - 1]

    @cached_property
    def numbers(self) -> list[RowNumbers]:
        """All numbers of all lines; shares are of the sum of the rows' lengths, nan for the two ends."""
        along, across = (waterfall(self.expected, self.rows, self.applied, m) for m in ("along", "across"))
        lengths = [norm(total) for total in running_sums(self.expected, self.rows, self.applied)]
        total = float(self.fall.sizes.sum())
        found = [RowNumbers(lengths[0], along.expected, across.expected, np.nan, lengths[0])]
        for k, size in enumerate(self.fall.sizes):
            share = float(size) / total if total > 0.0 else 0.0
            found.append(
                RowNumbers(float(size), float(along.changes[k]), float(across.changes[k]), share, lengths[k + 1])
            )
        found.append(RowNumbers(lengths[-1], along.applied, across.applied, np.nan, lengths[-1]))
        return found

    @cached_property
    def residual(self) -> Float64:
        """applied - (expected + rows), summed in the order of the chain, as the ledger defines it."""
        with np.errstate(all="ignore"):
            total = self.expected.copy()
            for row in self.rows:
                total = total + row
            left: Float64 = self.applied - total
        return np.where(~np.isfinite(total) & np.isfinite(self.applied), 0.0, left)

    @cached_property
    def closes(self) -> bool:
        """True when the residual is no more than the rounding of the sums: 8 ulp of the largest |d_k|, each weight."""
        running = self.expected.copy()
        largest = np.abs(running)
        with np.errstate(all="ignore"):
            for row in self.rows:
                running = running + row
                largest = np.fmax(largest, np.abs(running))
            # where a guard stopped something that is no number there is nothing to add up, and nothing left over
            return bool(((self.residual == 0.0) | (np.abs(self.residual) <= 8.0 * np.spacing(largest))).all())


def scope_part(history: History, variable: str | None, component: int | None) -> slice:
    """The part of the flat vector that a selection means: a component, else a variable, else everything."""
    layout = history.layout
    if component is not None and 0 <= component < layout.size:
        return slice(component, component + 1)
    if variable in layout.names:
        return layout.slices[layout.names.index(variable)]
    return slice(0, layout.size)


def line_titles(step: LedgerStep, first: str, last: str, off: Sequence[str], off_mark: str) -> list[str]:
    """What stands at the left of each line; rows switched off say so."""
    labels = [
        f"{label} {off_mark}" if name in off else label for name, label in zip(step.names, step.labels, strict=True)
    ]
    return [first, *labels, last]
