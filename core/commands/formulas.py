"""The formulas of one step's rows with their numbers and conventions, for 'explain'."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.optim.worked import Worked, worked
from core.simulation.simulation import Simulation


def worked_rows(simulation: Simulation, step: int) -> list[tuple[str, Worked]]:
    """(label, numbers) of every row that acted, each for the weight it moves most."""
    history = simulation.history
    ledger, schema, table = simulation.retake(step), history.schema(step), history.rows(step)
    found = []
    for row, label, contribution in zip(schema.names, schema.labels, table, strict=True):
        sizes = np.nan_to_num(np.abs(contribution), nan=np.inf)
        numbers = worked(ledger, row, int(np.argmax(sizes)) if sizes.size else 0)
        if numbers.acted and not (row == schema.names[-1] and not sizes.any()):
            found.append((label, numbers))
    return found


def formula_lines(simulation: Simulation, step: int) -> list[str]:
    """One block a row: formula and convention, then the numbers of one weight."""
    names = _names(simulation)
    lines = []
    for label, it in worked_rows(simulation, step):
        lines.append(f"{label}: {it.formula}")
        if it.numbers:
            value = it.contribution
            contribution = f"{value:+.6g}" if value == value else "nan"
            lines.append(f"    {names[it.component]}: {it.text}; contribution {contribution}")
    return lines


def formula_data(simulation: Simulation, step: int) -> list[dict[str, Any]]:
    """The same as plain data."""
    names = _names(simulation)
    return [
        {
            "name": it.row,
            "formula": it.formula,
            "weight": names[it.component],
            "numbers": {n.symbol: {"before": n.before, "after": n.after} for n in it.numbers},
            "contribution": it.contribution,
        }
        for _, it in worked_rows(simulation, step)
    ]


def _names(simulation: Simulation) -> tuple[str, ...]:
    return tuple(simulation.layout.component_names())
