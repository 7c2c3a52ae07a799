"""Parameter groups: which variables belong to which chain, by the names in the code or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.declare import SettingError
from core.optim.chain import Chain
from core.optim.mask import Mask
from core.optim.variable_rules import lies_in


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """One group: the chain its variables go through, and what the code says they are ('model.head', 'w', 'b').

    ``rule`` picks its variables where the code tells them apart by names or shapes. ``names`` may be empty; then, and
    when no name fits, the groups are matched to the variables in their order.
    """

    chain: Chain
    names: tuple[str, ...] = ()
    rule: Mask | None = None

    def with_chain(self, chain: Chain) -> ParameterGroup:
        """The same group with another chain."""
        return ParameterGroup(chain, self.names, self.rule)


def assign_groups(
    groups: Sequence[ParameterGroup], variables: Sequence[str], shapes: Sequence[tuple[int, ...]]
) -> list[int]:
    """The group of each variable name; SettingError when the names do not settle it.

    A listed name fits the variable of that name, or those inside it ('model.head' fits 'head.weight').
    """
    if len(groups) == 1:
        return [0] * len(variables)
    fits = [
        [g for g, group in enumerate(groups) if _fits(group, variable, shape)]
        for variable, shape in zip(variables, shapes, strict=True)
    ]
    if all(len(found) == 1 for found in fits):
        return [found[0] for found in fits]
    listed = [g for g, group in enumerate(groups) for _ in (group.names or ("",))]
    if not any(fits) and not any(group.rule for group in groups):
        if len(listed) == len(variables):
            return listed
        if len(groups) == len(variables):
            return list(range(len(groups)))
    wrong = next(variable for variable, found in zip(variables, fits, strict=True) if len(found) != 1)
    described = "; ".join(f"{g}: {_described(group)}" for g, group in enumerate(groups))
    raise SettingError(
        f"it is not clear which parameter group {wrong!r} belongs to (groups {described}); "
        f"name the variables in the code as they are called here: {', '.join(variables)}"
    )


def _fits(group: ParameterGroup, variable: str, shape: tuple[int, ...]) -> bool:
    if group.rule is not None:
        return group.rule.picks(variable, shape)
    return any(lies_in(name, variable) for name in group.names)


def _described(group: ParameterGroup) -> str:
    return group.rule.text if group.rule is not None else ", ".join(group.names) or "no names"
