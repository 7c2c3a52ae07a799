"""What sets two rows for the same cause apart: conventions and settings, in words."""

from __future__ import annotations

from core.optim.aligned import RowPair
from core.optim.chain import Chain
from core.optim.conventions import convention
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate

Rates = tuple[float, float]
"""(base rate, rate at the step)"""
HERE_THERE = ("here", "there")


def pair_words(
    left: Optimizer,
    right: Optimizer,
    pair: RowPair,
    here: Rates,
    there: Rates,
    names: tuple[str, str] = HERE_THERE,
) -> str:
    """'here ...; there ...' for rows that follow different rules or have different settings; '' when they do not.

    ``names`` say which is which. Parameter groups that differ in other ways are told one by one.
    """
    count = max(len(left.groups), len(right.groups))
    told = []
    for g in range(count):
        chains = [it.groups[min(g, len(it.groups) - 1)].chain for it in (left, right)]
        told.append(_chain_words(chains[0], chains[1], pair, here, there, names))
    if len(set(told)) == 1:
        return told[0]
    return ". ".join(f"group {g}: {text or 'the same'}" for g, text in enumerate(told))


def _chain_words(left: Chain, right: Chain, pair: RowPair, here: Rates, there: Rates, names: tuple[str, str]) -> str:
    one, other = names
    if pair.left == "expected":
        return "" if here[0] == there[0] else f"{one} lr = {here[0]:g}; {other} lr = {there[0]:g}"
    if pair.left is None or pair.right is None:
        side, owner, row = (other, right, pair.right) if pair.left is None else (one, left, pair.left)
        transform = owner.transforms[owner.index(str(row))]
        return f"only {side}: {transform.label}, {transform.formula}"
    first, second = left.transforms[left.index(pair.left)], right.transforms[right.index(pair.right)]
    if first.enabled != second.enabled:
        # a group of its own may have no decay at all: its row stands there, switched off
        acts, rests, transform = (one, other, first) if first.enabled else (other, one, second)
        return f"only {acts}: {transform.label}, {transform.explain({})}; none {rests}"
    if isinstance(first, LearningRate) and isinstance(second, LearningRate):
        told = _rate_words(left, right, here, there, names)
    elif type(first) is not type(second):
        return f"{one} {first.label}: {first.formula}; {other} {second.label}: {second.formula}"
    else:
        told = []
        rules = convention(left, pair.left), convention(right, pair.right)
        if rules[0] != rules[1]:
            told.append(f"{one} {rules[0] or 'as usual'}; {other} {rules[1] or 'as usual'}")
        told += _settings(first, second, bool(told), names)
    if pair.moved and not told:
        told = _places(left, right, pair, names)
    return ". ".join(told)


def _rate_words(left: Chain, right: Chain, here: Rates, there: Rates, names: tuple[str, str]) -> list[str]:
    """Another rate at this step, or the same one at another place of the chain."""
    one, other = names
    told = []
    if here[1] != there[1]:
        told.append(f"the rate at this step is {here[1]:g} {one}, {there[1]:g} {other}")
        rules = convention(left, "learning_rate"), convention(right, "learning_rate")
        if rules[0] != rules[1]:
            told.append(f"{one} {rules[0] or 'as usual'}; {other} {rules[1] or 'as usual'}")
    row = next((name for name in ("momentum", "nesterov") if name in left.row_names and name in right.row_names), "")
    if row and (left.rate_index < left.index(row)) != (right.rate_index < right.index(row)):
        told.append(f"{one} {convention(left, row)}; {other} {convention(right, row)}")
    return told


def _places(left: Chain, right: Chain, pair: RowPair, names: tuple[str, str]) -> list[str]:
    """The same rule at another place: before which rows it stands in one and behind which in the other."""
    mine, its = left.index(str(pair.left)), right.index(str(pair.right))
    for k, name in enumerate(left.row_names):
        if k != mine and name in right.row_names and (k < mine) != (right.index(name) < its):
            label = left.transforms[k].label
            words = ("behind", "before") if k < mine else ("before", "behind")
            return [f"{names[0]} it stands {words[0]} {label}, {names[1]} {words[1]} it"]
    return []


def _settings(one: Transform, two: Transform, rules_told: bool, names: tuple[str, str]) -> list[str]:
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
        told.append(f"{parameter.symbol} = {_shown(here.get(key))} {names[0]}, {_shown(there.get(key))} {names[1]}")
    schedules = [getattr(row, "schedule", None) for row in (one, two)]
    if [s is None for s in schedules] not in ([True, True], [False, False]):
        told.append(
            f"a schedule {names[1]}, none {names[0]}"
            if schedules[0] is None
            else f"a schedule {names[0]}, none {names[1]}"
        )
    return told


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
