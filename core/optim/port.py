"""The same optimizer as a port by hand would write it in another framework: the same numbers, its conventions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from core.declare import SettingError
from core.optim.chain import Chain
from core.optim.dialects import emit_optimizer
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.momentum import Momentum, Nesterov
from core.optim.transforms.nested import innermost
from core.optim.transforms.rate import LearningRate

CONVENTIONS: dict[str, dict[tuple[str, str], object]] = {
    "torch": {
        ("first_moment", "form"): "average",
        ("second_moment", "form"): "average",
        ("second_moment", "rule"): "outside",
        ("second_moment", "initial"): 0.0,
        ("bias_correction_2", "order"): "roots",
        ("sum_of_squares", "rule"): "outside",
        ("sum_of_squares", "zero_safe"): False,
        ("infinity_moment", "place"): "maximum",
        ("scheduled_nesterov", "momentum_decay"): 0.004,
        ("clip_by_global_norm", "convention"): "torch",
        ("decoupled_decay", "order"): "factor",
        ("learning_rate", "order"): "product",
    },
    "keras": {
        ("momentum", "dampening"): 0.0,
        ("first_moment", "form"): "difference",
        ("second_moment", "form"): "difference",
        ("second_moment", "rule"): "inside",
        ("second_moment", "initial"): 0.0,
        ("bias_correction_2", "order"): "hat",
        ("sum_of_squares", "rule"): "inside",
        ("sum_of_squares", "zero_safe"): False,
        ("infinity_moment", "place"): "divisor",
        ("scheduled_nesterov", "momentum_decay"): 1.0,
        ("clip_by_norm", "convention"): "tensorflow",
        ("clip_by_global_norm", "convention"): "tensorflow",
        ("decoupled_decay", "order"): "difference",
        ("learning_rate", "order"): "numerator",
    },
    "tf1": {
        ("momentum", "dampening"): 0.0,
        ("first_moment", "form"): "difference",
        ("second_moment", "form"): "difference",
        ("second_moment", "rule"): "inside",
        ("second_moment", "initial"): 1.0,
        ("bias_correction_2", "order"): "hat",
        ("sum_of_squares", "rule"): "outside",
        ("sum_of_squares", "eps"): 0.0,
        ("sum_of_squares", "zero_safe"): False,
        ("clip_by_norm", "convention"): "tensorflow",
        ("clip_by_global_norm", "convention"): "tensorflow",
        ("learning_rate", "order"): "numerator",
    },
    "optax": {
        ("momentum", "dampening"): 0.0,
        ("first_moment", "form"): "average",
        ("second_moment", "form"): "average",
        ("bias_correction_2", "order"): "squares",
        ("sum_of_squares", "rule"): "inside, reciprocal",
        ("sum_of_squares", "zero_safe"): True,
        ("clip_by_norm", "convention"): "optax",
        ("clip_by_global_norm", "convention"): "optax",
        ("learning_rate", "order"): "product",
    },
}
"""(transform, setting) -> what the framework always does; settings that its own arguments cover are not here."""


@dataclass(frozen=True)
class Port:
    """``lines`` in the other framework ('' where there are none at all).

    ``exact`` tells that they do the same; otherwise ``reason`` says why none does, and ``changed`` names the settings
    in which ``lines`` follow the framework's conventions instead, (label, setting, here, there).
    """

    dialect: str
    lines: str
    exact: bool
    reason: str = ""
    changed: tuple[tuple[str, str, object, object], ...] = ()


def port(optimizer: Optimizer, dialect: str) -> Port:
    """The optimizer's lines in ``dialect``: exact ones, else those with the same numbers and its own conventions."""
    try:
        return Port(dialect, emit_optimizer(optimizer, dialect), True)
    except SettingError as error:
        reason = str(error)
    if len(optimizer.groups) > 1:
        return Port(dialect, "", False, reason)
    for rows, changed in _attempts(optimizer.chain, dialect):
        other = Optimizer(Chain(rows), dialect=dialect, counting=optimizer.counting)
        try:
            return Port(dialect, emit_optimizer(other, dialect), False, reason, tuple(changed))
        except SettingError:
            # another arrangement may do; what stands in the way of the exact one has been noted
            continue
    return Port(dialect, "", False, reason)


Changed = list[tuple[str, str, object, object]]


def _attempts(chain: Chain, dialect: str) -> list[tuple[list[Transform], Changed]]:
    """Chains with the conventions of the dialect, the learning rate where it was, before or behind the momentum."""
    found = []
    adam = any(row.name == "bias_correction_2" for row in chain.transforms)
    table = dict(CONVENTIONS[dialect])
    if any(row.name == "scheduled_nesterov" for row in chain.transforms):
        # NAdam adds ε to the corrected root in all of them
        table.pop(("bias_correction_2", "order"), None)
    if adam:
        # with a bias correction all frameworks add ε outside the root, and start from zero
        table |= {("second_moment", "rule"): "outside", ("second_moment", "initial"): 0.0}
    for place in ("here", "before", "behind"):
        rows = [copy.deepcopy(row) for row in chain.transforms]
        changed: Changed = []
        for row in rows:
            inner = innermost(row)
            for (name, key), value in table.items():
                if inner.name == name and getattr(inner, key) != value:
                    changed.append((inner.label, key, getattr(inner, key), value))
                    inner.set(key, value)
        moved = rows if place == "here" else _rate_moved(rows, place == "before")
        if moved is not rows:
            here, there = ("behind", "before") if place == "before" else ("before", "behind")
            changed.append(("learning rate", "place", here, there))
        found.append((moved, changed))
    return found


def _rate_moved(rows: list[Transform], before: bool) -> list[Transform]:
    """The rows with the learning rate on the other side of the momentum next to it; the same list where it is not."""
    at = next((i for i, row in enumerate(rows) if isinstance(row, LearningRate)), -1)
    if at < 0:
        return rows
    start = stop = at
    while before and start > 0 and isinstance(rows[start - 1], Momentum | Nesterov):
        start -= 1
    while not before and stop + 1 < len(rows) and isinstance(rows[stop + 1], Momentum | Nesterov):
        stop += 1
    if start == stop:
        return rows
    rest = [*rows[:at], *rows[at + 1 :]]
    return [*rest[:start], rows[at], *rest[start:]] if before else [*rest[:stop], rows[at], *rest[stop:]]


def changes_that_count(changed: Sequence[tuple[str, str, object, object]]) -> list[tuple[str, str, object, object]]:
    """Those that alter more than the rounding of the last digits."""
    return [item for item in changed if item[1] not in ("form", "zero_safe") and (item[1], item[2]) not in _ROUNDING]


_ROUNDING = {("order", "product"), ("order", "numerator"), ("order", "factor"), ("order", "difference")}
