"""Parameter groups: which variables belong to which chain, by the names in the code or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.declare import SettingError
from core.optim.chain import Chain


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """One group: the chain its variables go through, and what the code says they are ('model.head', 'w', 'b').

    ``names`` may be empty; then, and when no name fits, the groups are matched to the variables in their order.
    """

    chain: Chain
    names: tuple[str, ...] = ()


def assign_groups(groups: Sequence[ParameterGroup], variables: Sequence[str]) -> list[int]:
    """The group of each variable name; SettingError when the names do not settle it.

    A listed name fits the variable of that name, or those inside it ('model.head' fits 'head.weight').
    """
    if len(groups) == 1:
        return [0] * len(variables)
    fits = [
        [g for g, group in enumerate(groups) if any(_fits(name, variable) for name in group.names)]
        for variable in variables
    ]
    if all(len(found) == 1 for found in fits):
        return [found[0] for found in fits]
    listed = [g for g, group in enumerate(groups) for _ in (group.names or ("",))]
    if not any(fits):
        if len(listed) == len(variables):
            return listed
        if len(groups) == len(variables):
            return list(range(len(groups)))
    wrong = next(variable for variable, found in zip(variables, fits, strict=True) if len(found) != 1)
    described = "; ".join(f"{g}: {', '.join(group.names) or 'no names'}" for g, group in enumerate(groups))
    raise SettingError(
        f"it is not clear which parameter group {wrong!r} belongs to (groups {described}); "
        f"name the variables in the code as they are called here: {', '.join(variables)}"
    )


def _fits(listed: str, variable: str) -> bool:
    parts = variable.replace("/", ".").split(".")
    wanted = listed.split(".")
    for start in range(len(wanted)):
        tail = wanted[start:]
        if parts[: len(tail)] == tail:
            return True
    return False
