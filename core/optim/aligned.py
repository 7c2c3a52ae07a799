"""The rows of two ledgers side by side: which stand for the same cause, and which only one of them has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.optim.ledger import BlockLedger

Float64 = NDArray[np.float64]
Rows = Sequence[tuple[str, str, Float64]]
"""(name, cause, contribution) in the order of the chain, rounding last."""


@dataclass(frozen=True, eq=False)
class RowPair:
    """Rows of the two ledgers that stand for the same cause; None where one has no such row.

    ``left_contribution`` and ``right_contribution`` are flat, (size,), zero for a missing row. ``moved``: the two
    stand at different places of their chains. ``gap`` numbers the stretches between rows of the same name; -1 for
    those rows themselves.
    """

    cause: str
    left: str | None
    right: str | None
    left_contribution: Float64
    right_contribution: Float64
    moved: bool = False
    gap: int = -1

    @property
    def difference(self) -> Float64:
        """right - left, (size,)."""
        with np.errstate(invalid="ignore", over="ignore"):
            result: Float64 = self.right_contribution - self.left_contribution
        return result


def align(left: BlockLedger, right: BlockLedger) -> list[RowPair]:
    """The rows of two ledgers side by side, 'expected' first, rounding last; without those that act in neither."""
    return align_rows(rows_of(left), rows_of(right), left.expected, right.expected)


def rows_of(block: BlockLedger) -> list[tuple[str, str, Float64]]:
    """(name, cause, contribution) of every row, rounding last."""
    table, chain = block.contributions(), block.chain
    return [
        (name, transform.cause, table[k])
        for k, (name, transform) in enumerate(zip(chain.row_names, chain, strict=True))
    ]


def align_rows(ours: Rows, theirs: Rows, expected: Float64, other_expected: Float64) -> list[RowPair]:
    """The same for rows that stand on their own, recorded ones for example.

    Rows of the same name in the same order are matched first, between them those of the same cause, then what stands
    at another place of the chain. A row that acts in one of the two only is matched all the same.
    """
    places, anchors = _matches(ours, theirs)
    found = [RowPair("learning rate", "expected", "expected", expected, other_expected)]
    found += _merged(ours, theirs, places, anchors)
    return [pair for pair in found[:-1] if _acts(pair)] + found[-1:]


def _acts(pair: RowPair) -> bool:
    """Rows of zeros say nothing, and none of them is missed on the other side."""
    return pair.left == "expected" or bool(pair.left_contribution.any() or pair.right_contribution.any())


def _matches(ours: Rows, theirs: Rows) -> tuple[dict[int, int], set[int]]:
    """(place of ours -> place of theirs, those of ours that have the same name at the same place)."""
    found: dict[int, int] = {}
    _in_order(ours, theirs, (0, len(ours)), (0, len(theirs)), lambda row: row[0], found)
    anchors = set(found)
    edges = [(-1, -1), *sorted(found.items()), (len(ours), len(theirs))]
    for (i, j), (i_end, j_end) in pairwise(edges):
        _in_order(ours, theirs, (i + 1, i_end), (j + 1, j_end), lambda row: row[1], found)
    for part in (0, 1):
        for i, row in enumerate(ours):
            free = [j for j, other in enumerate(theirs) if j not in found.values() and other[part] == row[part]]
            if i not in found and free:
                found[i] = free[0]
    return found, anchors


Row = tuple[str, str, Float64]


def _in_order(
    ours: Rows,
    theirs: Rows,
    here: tuple[int, int],
    there: tuple[int, int],
    of: Callable[[Row], str],
    found: dict[int, int],
) -> None:
    first, second = [of(row) for row in ours[slice(*here)]], [of(row) for row in theirs[slice(*there)]]
    for block in SequenceMatcher(a=first, b=second, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            found[here[0] + block.a + k] = there[0] + block.b + k


def _merged(ours: Rows, theirs: Rows, places: dict[int, int], anchors: set[int]) -> list[RowPair]:
    """All pairs in the order of ours; what only they have stands where they have it."""
    found: list[RowPair] = []
    zero = np.zeros(len(ours[-1][2]))
    taken, reached, gap = set(places.values()), 0, 0

    def alone(stop: int) -> None:
        nonlocal reached
        for name, cause, row in (theirs[j] for j in range(reached, stop) if j not in taken):
            found.append(RowPair(cause, None, name, zero, row, gap=gap))
        reached = max(reached, stop)

    for i, (name, cause, row) in enumerate(ours):
        j = places.get(i)
        if j is None:
            found.append(RowPair(cause, name, None, row, zero, gap=gap))
            continue
        moved = any((a < i) != (b < j) for a, b in places.items() if a != i)
        if i in anchors or not moved:
            alone(j)
        found.append(RowPair(cause, name, theirs[j][0], row, theirs[j][2], moved, -1 if i in anchors else gap))
        gap += i in anchors
    # nothing stands behind the rounding, and both have it
    return found
