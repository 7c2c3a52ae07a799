"""When two chains do the same: settings that only change the rounding, and rows that may change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.optim.transform import Transform
from core.optim.transforms import TRANSFORMS
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.momentum import Momentum, Nesterov
from core.optim.transforms.nested import innermost
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import DecoupledDecay
from core.optim.transforms.scaling import AddedDecay
from core.optim.transforms.trust import ScaleByParameters, TrustRatio

Item = dict[str, Any]

CONSTANT_RATE = "the same numbers only as long as the learning rate is constant"
ROUNDING = "the same up to rounding"
FINITE = "the same as long as no norm is infinite"
NUMBERS = "the same as long as no gradient is nan and no learning rate 0"
SAID = frozenset({CONSTANT_RATE, FINITE, NUMBERS})
"""The conditions that are written above the lines."""
ROUNDING_KEYS: dict[str, tuple[str, ...]] = {
    "first_moment": ("form",),
    "second_moment": ("form",),
    "centred_second_moment": ("form",),
    "accumulated_steps": ("order",),
    "decoupled_decay": ("order",),
    "learning_rate": ("order",),
    "accumulate": (),
}
WEIGHT_READERS = (TrustRatio, ScaleByParameters)


def canonical(rows: Sequence[Transform]) -> tuple[list[Item], set[str]]:
    """(what the rows do, free of conventions that only change rounding; what was taken for granted on the way)."""
    notes: set[str] = set()
    ordered = _rate_last(_decay_first(list(rows)), notes)
    return [_item(row, notes) for row in ordered if not row.idle()], notes


def same(one: Sequence[Transform], other: Sequence[Transform]) -> set[str] | None:
    """None when the chains differ; else under what condition they agree (nothing: to the last bit)."""
    exact = [row.settings() for row in one if not row.idle()] == [row.settings() for row in other if not row.idle()]
    if exact:
        return set()
    (left, notes), (right, more) = canonical(one), canonical(other)
    return {*notes, *more, ROUNDING} if left == right else None


def _item(row: Transform, notes: set[str]) -> Item:
    """The row's settings without what only changes its rounding."""
    settings = dict(row.settings())
    inner = innermost(row)
    target = settings
    while "inner" in target:
        target["inner"] = dict(target["inner"])
        target = target["inner"]
    for key in ROUNDING_KEYS.get(inner.name, ()):
        target.pop(key, None)
    if "rule" in target:
        target["rule"] = str(target["rule"]).removesuffix(", reciprocal")
        if target.get("eps") == 0.0 and not target.get("eps_root"):
            target["rule"] = "outside"
    if inner.name == "bias_correction_2" and (target["order"] == "roots" or target["eps"] == 0.0):
        target["order"] = "squares"
    if inner.name == "infinity_moment" and target["eps"] == 0.0:
        target["place"] = "maximum"
    if inner.name == "sum_of_squares" and (target["initial"] or target["eps"]):
        target["zero_safe"] = False
    if inner.name == "ftrl_step":
        target.pop("guarded")
        notes.add(NUMBERS)
    if isinstance(inner, ClipByValue):
        target["clip_min"] = inner.least
    if isinstance(inner, ClipByNorm | ClipByGlobalNorm) and target["convention"] == "optax":
        target["convention"] = "tensorflow"
        notes.add(FINITE)
    if isinstance(inner, LearningRate) and inner.schedule is None:
        target.pop("schedule", None)
    return settings


def _decay_first(rows: list[Transform]) -> list[Transform]:
    """λ w added right before the learning rate is decoupled decay, and decay may stand in front.

    Not when a row in between looks at the weights: it would see them before or after the decay.
    """
    rate = next((i for i, row in enumerate(rows) if isinstance(row, LearningRate)), -1)
    if any(isinstance(innermost(row), WEIGHT_READERS) or row.cause == "own rule" for row in rows):
        return rows
    found: list[Transform] = []
    decays: list[Transform] = []
    for i, row in enumerate(rows):
        if type(row) is AddedDecay and i + 1 == rate and row.schedule is None and row.weight_decay >= 0.0:
            decays.append(DecoupledDecay(weight_decay=row.weight_decay))
        elif type(row) is DecoupledDecay:
            decays.append(row)
        else:
            found.append(row)
    front = next((i for i, row in enumerate(found) if row.cause not in ("accumulation", "clipping")), len(found))
    return found[:front] + decays + found[front:] if _movable(rows, decays) else rows


def _movable(rows: Sequence[Transform], decays: Sequence[Transform]) -> bool:
    """Rows that replace the weights have to keep their place against the decay."""
    replacing = {
        "ftrl_step",
        "proximal_l1",
        "proximal_l2",
        "schedule_free",
        "schedule_free_mean",
        "lookahead",
        "l2",
        "l1",
    }
    return bool(decays) and not any(innermost(row).name in replacing for row in rows)


def _rate_last(rows: list[Transform], notes: set[str]) -> list[Transform]:
    """A constant learning rate may stand before or behind momentum; here it goes behind."""
    place = next((i for i, row in enumerate(rows) if isinstance(row, LearningRate)), -1)
    if place < 0:
        return rows
    rate = rows[place]
    assert isinstance(rate, LearningRate)
    if rate.schedule is not None or type(rate) is not LearningRate:
        return rows
    end = place + 1
    while end < len(rows) and isinstance(rows[end], Momentum | Nesterov):
        end += 1
    if end > place + 1:
        notes.add(CONSTANT_RATE)
    return [*rows[:place], *rows[place + 1 : end], rate, *rows[end:]]


REASONS: dict[tuple[str, str], str] = {
    (
        "bias_correction_2",
        "order",
    ): "ε stands before the bias correction of the divisor in one, behind it in the other",
    ("second_moment", "rule"): "ε stands inside the root of the second moment in one, outside in the other",
    ("sum_of_squares", "rule"): "ε stands inside the root of the sum of squares in one, outside in the other",
    ("infinity_moment", "place"): "ε is added before the maximum is taken in one, to the finished divisor in the other",
    ("second_moment", "initial"): "the second moment starts from different numbers",
    ("sum_of_squares", "initial"): "the sum of squares starts from different numbers",
    ("learning_rate", "schedule"): "the schedules differ",
}
"""What it means when this setting of this row is the difference."""


def unlike(name: str, built: Sequence[Transform], rows: Sequence[Transform], items: Sequence[Item]) -> tuple[int, str]:
    """(how far the optimizer ``name``, made of ``built``, is from the ``rows``; the first difference as a sentence)."""
    theirs, _ = canonical(built)
    missing = [_inside(item) for item in items if item not in theirs]
    extra = [_inside(item) for item in theirs if item not in items]
    labels = {name: kind.label for name, kind in TRANSFORMS.items()} | {row.name: row.label for row in rows}
    lacking = {item["name"] for item in missing} ^ {item["name"] for item in extra}
    distance = 100 * len(lacking) + len(missing) + len(extra)
    nearest = f"the nearest is {name}, "
    for item in missing:
        label = labels.get(item["name"], item["name"])
        twin = next((other for other in extra if other["name"] == item["name"]), None)
        if twin is None:
            return distance, f"{nearest}which has no {label!r}"
        key = next((key for key in item if twin.get(key) != item[key]), "")
        if not key:  # the same row, for other variables
            return distance, f"{nearest}where {label!r} acts on all variables; here it acts on some of them only"
        reason = REASONS.get((item["name"], key), "")
        if reason:
            # the settings are those of the canonical form: other words than the user's own chain has
            return distance, f"{nearest}but {reason}"
        return distance, f"{nearest}where {key} of {label!r} is {twin.get(key)!r}; here it is {item.get(key)!r}"
    if extra:
        return distance, f"{nearest}which always has {labels[extra[0]['name']]!r}"
    first = next((a, b) for a, b in zip(theirs, items, strict=False) if a != b)
    before, behind = (labels[_inside(item)["name"]] for item in first)
    return distance, f"{nearest}where {before!r} stands before {behind!r}; here it is the other way round"


def _inside(item: Item) -> Item:
    while "inner" in item:
        item = item["inner"]
    return item
