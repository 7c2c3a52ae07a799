"""Blocks for variables that take their first step: those of one group, one type, frozen or not, lie together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff import Variable
from core.optim.blocks import Block
from core.optim.dtypes import for_arithmetic
from core.optim.groups import ParameterGroup, assign_groups
from core.optim.layout import Array, Layout
from core.optim.transforms.frozen import FrozenPart
from core.optim.transforms.nested import masks_of

Groups = Sequence[ParameterGroup]
Shapes = Sequence[tuple[int, ...]]


def check_variables(groups: Groups, names: Sequence[str], shapes: Shapes) -> None:
    """SettingError when these variables do not answer what the chains ask of their names and shapes."""
    assign_groups(groups, names, shapes)
    for group in groups:
        if group.rule is not None:
            group.rule.check(names, shapes)
        for transform in group.chain:
            for mask in masks_of(transform):
                mask.check(names, shapes)


def flat_blocks(groups: Groups, work: Array, layout: Layout) -> list[Block]:
    """The blocks of a layout whose weights are ``work`` (size,), in the type of the arithmetic."""
    assigned = assign_groups(groups, layout.names, layout.shapes)
    frozen = [_freezes(groups, *variable) for variable in zip(layout.names, layout.shapes, strict=True)]
    kinds = list(zip(assigned, frozen, strict=True))
    blocks = []
    for kind in dict.fromkeys(kinds):
        members = [i for i, other in enumerate(kinds) if other == kind]
        part = layout if len(members) == len(kinds) else layout.subset(members)
        vector = work if part is layout else np.concatenate([work[layout.slices[i]] for i in members])
        states = groups[kind[0]].chain.init(vector, part)
        blocks.append(Block(tuple(layout.names[i] for i in members), part, states, group=kind[0]))
        blocks[-1].frozen = kind[1]
    return blocks


def fresh_blocks(
    groups: Groups, variables: Sequence[Variable], fresh: Sequence[Variable], arithmetic: Callable[[Any], Any]
) -> list[Block]:
    """The blocks of the ``fresh`` ones of the ``variables`` of this step; ``arithmetic`` gives the type for a type."""
    names, shapes = [str(variable.name) for variable in variables], [variable.shape for variable in variables]
    assigned = dict(zip(variables, assign_groups(groups, names, shapes), strict=True))
    kinds: dict[Any, list[Variable]] = {}
    for variable in fresh:
        frozen = _freezes(groups, str(variable.name), variable.shape)
        kinds.setdefault((str(variable.dtype), variable.trainable, assigned[variable], frozen), []).append(variable)
    blocks = []
    for (_, _, group, frozen), members in kinds.items():
        layout = Layout([variable.name for variable in members], [variable.shape for variable in members])
        dtype = arithmetic(members[0].dtype)
        flat = for_arithmetic(layout.join([variable.numpy() for variable in members], dtype), dtype)
        blocks.append(Block(tuple(members), layout, groups[group].chain.init(flat, layout), group=group))
        blocks[-1].frozen = frozen
    return blocks


def _freezes(groups: Groups, name: str, shape: tuple[int, ...]) -> bool:
    """True when a rule of the code freezes the variable."""
    return any(isinstance(row, FrozenPart) and row.mask.picks(name, shape) for row in groups[0].chain)
