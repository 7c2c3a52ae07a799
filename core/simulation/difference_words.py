"""What sets two rows for the same cause apart: conventions and settings, in words."""

from __future__ import annotations

from core.optim.conventions import convention
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform


def pair_words(
    left: Optimizer, left_row: str | None, right: Optimizer, right_row: str | None, left_rate: float, right_rate: float
) -> str:
    """'here ...; there ...' for rows that follow different rules or have different settings; '' when they do not.

    ``left_row`` and ``right_row`` name rows of the two chains, None where there is none, 'expected' for the base rate.
    """
    if left_row == "expected":
        return "" if left_rate == right_rate else f"here lr = {left_rate:g}; there lr = {right_rate:g}"
    if left_row is None or right_row is None:
        side, owner, row = ("there", right, right_row) if left_row is None else ("here", left, left_row)
        return f"only {side}: {owner.transform(str(row)).formula}"
    one, two = left.transform(left_row), right.transform(right_row)
    if type(one) is not type(two):
        return f"here {one.label}: {one.formula}; there {two.label}: {two.formula}"
    told = []
    first, second = convention(left.chain, left_row), convention(right.chain, right_row)
    if first != second:
        told.append(f"here {first or 'as usual'}; there {second or 'as usual'}")
    told += _settings(one, two, bool(told))
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
