"""The formula of a ledger row with a step's own numbers and the settings that were in force then."""

from __future__ import annotations

from core.declare import Declared
from core.optim.conventions import explain
from core.optim.optimizer import Optimizer


def formula(optimizer: Optimizer, row: str, figures: dict[str, float]) -> str:
    """What the transform behind ``row`` did, in symbols and numbers; '' when the optimizer has no such row.

    ``optimizer`` holds the settings of that step (``Simulation.optimizer_at``), ``figures`` what transforms noted.
    """
    names = optimizer.chain.row_names
    if row not in names:
        return ""
    transform = optimizer.chain.transforms[names.index(row)]
    if not transform.enabled:
        return f"{transform.formula}   (switched off)"
    return explain(optimizer.chain, row, figures)


def settings(declared: Declared) -> str:
    """'λ = 0.01, β₁ = 0.9': the numbers among the declared parameters."""
    found = []
    for parameter in declared.parameters:
        value = getattr(declared, parameter.key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found.append(f"{parameter.symbol} = {value:.6g}")
    return ", ".join(found)
