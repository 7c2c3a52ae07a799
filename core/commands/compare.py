"""'compare A B': the first step at which two runs part, the ledger row that does it, and by how much."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from core.commands.progress import advance_to
from core.commands.sources import RequestError, Source, check_steps
from core.simulation.plain import spelled

Float64 = NDArray[np.float64]
BLOCK_NUMBERS = 1 << 21
"""Numbers of a run that are compared at once (16 MB)."""


@dataclass(frozen=True)
class Parting:
    """Where two runs part: ``step`` is the first whose applied change differs; ``rows`` are the causes' differences
    there, (name, norm of B's contribution minus A's), largest first. ``step`` None: they do not part.
    """

    steps: int
    step: int | None
    expected: float
    applied: float
    rows: tuple[tuple[str, float], ...]
    weights_at_end: float
    losses: tuple[float, float]

    @property
    def cause(self) -> str:
        """The row that differs most, or 'gradient' when the computed gradients differ already."""
        if self.step is None:
            return ""
        if self.rows and self.rows[0][1] > self.expected:
            return self.rows[0][0]
        return "gradient"


def find_parting(a: Source, b: Source, steps: int, tolerance: float = 1e-12) -> Parting:
    """Compare two runs step by step over ``steps`` steps (fewer when one ends before).

    Two steps are the same when they differ by at most ``tolerance`` relative to their length.
    """
    if a.history.layout.shapes != b.history.layout.shapes:
        raise RequestError(
            f"the runs cannot be compared: their weights have shapes {a.history.layout.shapes} and "
            f"{b.history.layout.shapes}"
        )
    for source, which in ((a, "first run"), (b, "second run")):
        if source.simulation is not None:
            advance_to(source.simulation, steps, which)
    count = min(steps, a.history.count, b.history.count)
    if count == 0:
        raise RequestError("nothing to compare: a run holds no steps")
    step, apart = _first_apart(a, b, count, tolerance)
    last = count - 1
    with np.errstate(all="ignore"):
        ends = a.history.weights(last) + a.history.applied(last), b.history.weights(last) + b.history.applied(last)
        distance = float(np.linalg.norm(ends[1] - ends[0]))
    losses = float(a.history.scalar("loss")[last]), float(b.history.scalar("loss")[last])
    if step is None:
        return Parting(count, None, 0.0, 0.0, (), distance, losses)
    expected = float(np.linalg.norm(b.history.expected(step) - a.history.expected(step)))
    return Parting(count, step, expected, apart, _row_differences(a, b, step), distance, losses)


def _first_apart(a: Source, b: Source, count: int, tolerance: float) -> tuple[int | None, float]:
    """The first step whose applied changes differ, and by how much; block by block, as much as memory should hold."""
    block = max(min(4096, BLOCK_NUMBERS // max(a.history.size, 1)), 1)
    for start in range(0, count, block):
        stop = min(start + block, count)
        first, second = a.history.vectors("applied", start, stop), b.history.vectors("applied", start, stop)
        different = np.flatnonzero(~_same(first, second, tolerance))
        if len(different):
            place = int(different[0])
            with np.errstate(all="ignore"):
                return start + place, float(np.linalg.norm(second[place] - first[place]))
    return None, 0.0


def _same(first: Float64, second: Float64, tolerance: float) -> NDArray[np.bool_]:
    """For each row whether the two steps are the same; one that is not finite only where both are so alike."""
    with np.errstate(all="ignore"):
        # by the largest number of the row, so that nothing overflows on the way
        largest = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))[:, None]
        one, other = first / largest, second / largest
        apart = np.linalg.norm(other - one, axis=1)
        near = apart <= tolerance * np.maximum(np.linalg.norm(one, axis=1), np.linalg.norm(other, axis=1))
        alike = ((first == second) | (np.isnan(first) & np.isnan(second))).all(axis=1)
    result: NDArray[np.bool_] = near | alike
    return result


def _row_differences(a: Source, b: Source, step: int) -> tuple[tuple[str, float], ...]:
    """Norms of the differences of the contributions, rows matched by name; a row only one run has counts whole."""
    tables = []
    for source in (a, b):
        table = dict(zip(source.history.schema(step).names, source.history.rows(step), strict=True))
        tables.append(table)
    nothing = np.zeros(a.history.size)
    names = dict.fromkeys([*tables[0], *tables[1]])
    found = [
        (name, float(np.linalg.norm(tables[1].get(name, nothing) - tables[0].get(name, nothing)))) for name in names
    ]
    return tuple(sorted((item for item in found if item[1] > 0), key=lambda item: -item[1]))


def compare_command(a: Source, b: Source, steps: int, as_json: bool, exit_code: bool = False) -> int:
    """Print where two runs part. Exit code 0 in either case, with ``exit_code`` 1 when they do."""
    check_steps(steps)
    found = find_parting(a, b, steps)
    if as_json:
        print(json.dumps(spelled({**asdict(found), "cause": found.cause})))
    else:
        print("\n".join(_told(found)))
    return 1 if exit_code and found.step is not None else 0


def _told(found: Parting) -> list[str]:
    if found.step is None:
        return [f"The runs do not part within {found.steps} steps."]
    lines = [f"The runs part at step {found.step}: the applied changes differ by {found.applied:.6g}."]
    if found.cause == "gradient":
        lines.append(f"The computed gradients differ already (the expected steps by {found.expected:.6g}).")
    lines += [f"  {name:26} {size:.6g}" for name, size in found.rows[:6]]
    lines.append(
        f"After {found.steps} steps the weights are {found.weights_at_end:.6g} apart; "
        f"losses {found.losses[0]:.6g} and {found.losses[1]:.6g}."
    )
    return lines
