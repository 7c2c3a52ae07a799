"""'compare A B': the first step at which two runs part, the ledger row that does it, and by how much."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from core.commands.sources import RequestError, Source


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
    for source in (a, b):
        if source.simulation is not None:
            source.simulation.advance(steps - source.history.count)
    if a.history.layout.shapes != b.history.layout.shapes:
        raise RequestError(
            f"the runs cannot be compared: their weights have shapes {a.history.layout.shapes} and "
            f"{b.history.layout.shapes}"
        )
    count = min(steps, a.history.count, b.history.count)
    if count == 0:
        raise RequestError("nothing to compare: a run holds no steps")
    with np.errstate(all="ignore"):
        first, second = a.history.vectors("applied", 0, count), b.history.vectors("applied", 0, count)
        apart = np.linalg.norm(second - first, axis=1)
        scale = np.maximum(np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1))
        different = np.flatnonzero(~(apart <= tolerance * scale))
    last = count - 1
    ends = a.history.weights(last) + a.history.applied(last), b.history.weights(last) + b.history.applied(last)
    losses = float(a.history.scalar("loss")[last]), float(b.history.scalar("loss")[last])
    distance = float(np.linalg.norm(ends[1] - ends[0]))
    if not len(different):
        return Parting(count, None, 0.0, 0.0, (), distance, losses)
    step = int(different[0])
    expected = float(np.linalg.norm(b.history.expected(step) - a.history.expected(step)))
    return Parting(count, step, expected, float(apart[step]), _row_differences(a, b, step), distance, losses)


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


def compare_command(a: Source, b: Source, steps: int, as_json: bool) -> int:
    """Print where two runs part; exit code 0 in either case."""
    if steps < 1:
        raise RequestError(f"--steps {steps}: at least one step")
    found = find_parting(a, b, steps)
    if as_json:
        print(json.dumps({**asdict(found), "cause": found.cause}))
    elif found.step is None:
        print(f"The runs do not part within {found.steps} steps.")
    else:
        print(f"The runs part at step {found.step}: the applied changes differ by {found.applied:.6g}.")
        if found.cause == "gradient":
            print(f"The computed gradients differ already (the expected steps by {found.expected:.6g}).")
        for name, size in found.rows[:6]:
            print(f"  {name:26} {size:.6g}")
        print(
            f"After {found.steps} steps the weights are {found.weights_at_end:.6g} apart; "
            f"losses {found.losses[0]:.6g} and {found.losses[1]:.6g}."
        )
    return 0
