"""What sets two rows for the same cause apart: conventions and settings, in words."""

from __future__ import annotations

from core.optim.chain import Chain
from core.optim.conventions import convention
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate

Rates = tuple[float, float]
"""(base rate, rate at the step)"""


def pair_words(
    left: Optimizer, left_row: str | None, right: Optimizer, right_row: str | None, here: Rates, there: Rates
) -> str:
    """'here ...; there ...' for rows that follow different rules or have different settings; '' when they do not.

    ``left_row`` and ``right_row`` name rows of the two chains, None where there is none, 'expected' for the base rate.
    """
    if left_row == "expected":
        return "" if here[0] == there[0] else f"here lr = {here[0]:g}; there lr = {there[0]:g}"
    if left_row is None or right_row is None:
        side, owner, row = ("there", right, right_row) if left_row is None else ("here", left, left_row)
        return f"only {side}: {owner.transform(str(row)).formula}"
    one, two = left.transform(left_row), right.transform(right_row)
    if isinstance(one, LearningRate) and isinstance(two, LearningRate):
        return _rate_words(left.chain, right.chain, here, there)
    if type(one) is not type(two):
        return f"here {one.label}: {one.formula}; there {two.label}: {two.formula}"
    told = []
    first, second = convention(left.chain, left_row), convention(right.chain, right_row)
    if first != second:
        told.append(f"here {first or 'as usual'}; there {second or 'as usual'}")
    told += _settings(one, two, bool(told))
    return ". ".join(told)


def _rate_words(left: Chain, right: Chain, here: Rates, there: Rates) -> str:
    """Another rate at this step, or the same one at another place of the chain."""
    told = []
    if here[1] != there[1]:
        told.append(f"the rate at this step is {here[1]:g} here, {there[1]:g} there")
        rules = convention(left, "learning_rate"), convention(right, "learning_rate")
        if rules[0] != rules[1]:
            told.append(f"here {rules[0] or 'as usual'}; there {rules[1] or 'as usual'}")
    row = next((name for name in ("momentum", "nesterov") if name in left.row_names and name in right.row_names), "")
    if row and (left.rate_index < left.index(row)) != (right.rate_index < right.index(row)):
        told.append(f"here {convention(left, row)}; there {convention(right, row)}")
    return ". ".join(told)


def _settings(one: Transform, two: Transform, rules_told: bool) -> list[str]:
    """Settings that differ; those that only choose a rule are left to the convention's sentence when there is one."""
    here, there = one.values(), two.values()
    told = []
    for parameter in one.parameters:
        key = parameter.key
        if here.get(key) == there.get(key) or (
            parameter.scale == "choice" and (rules_told or key in ("form", "order"))
        ):
            continue
        if key == "storage":
            continue
        told.append(f"{parameter.symbol} = {_shown(here.get(key))} here, {_shown(there.get(key))} there")
    schedules = [getattr(row, "schedule", None) for row in (one, two)]
    if [s is None for s in schedules] not in ([True, True], [False, False]):
        told.append("a schedule " + ("there, none here" if schedules[0] is None else "here, none there"))
    return told


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
