"""From rows back to tf.compat.v1.train, or the reason why it has nothing that does the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import SettingError
from core.optim.dialects.equivalence import FINITE, SAID, canonical, same, unlike
from core.optim.dialects.keras_recipes import KerasRecipe
from core.optim.dialects.keras_rows import Values
from core.optim.dialects.keras_schedules import write_rate
from core.optim.dialects.recipes import code
from core.optim.dialects.tensor_schedules import translated
from core.optim.dialects.tf1_recipes import CURVES, RECIPES
from core.optim.dialects.tf_clips import write_clip
from core.optim.dialects.values import NotRepresentable
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByAverageNorm, ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.nested import innermost
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.weight_average import WeightAverage

TRAIN = "tf.compat.v1.train."
WIDE = "variable = tf.Variable(0.0, dtype=tf.float64)"
CLIPS = (ClipByValue, ClipByNorm, ClipByGlobalNorm, ClipByAverageNorm)


def write_optimizer(optimizer: Optimizer) -> str:
    """The TF1 lines for the optimizer, under a comment when they do the same only under a condition."""
    if len(optimizer.groups) > 1:
        raise NotRepresentable("a TF1 optimizer treats all variables alike; this one has parameter groups")
    acting = [row for row in optimizer.chain.acting if not isinstance(row, FrozenMask) and row.enabled]
    rows = [translated(row, "TF1", CURVES) for row in acting]
    clips: list[str] = []
    notes: set[str] = set()
    while rows and isinstance(rows[0], CLIPS):
        clip = rows.pop(0)
        clips.append(write_clip(clip))
        if getattr(clip, "convention", "") == "optax":
            notes.add(FINITE)
    average = _average(rows)
    recipe, values, wide, conditions = _core(rows)
    arguments = [f"learning_rate={write_rate(rows, CURVES, TRAIN, 'TF1')}", recipe.written(values, ())]
    call = f"{TRAIN}{recipe.name}({', '.join(part for part in arguments if part)})"
    lines = [f"# {note}" for note in sorted((notes | conditions) & SAID)]
    return "\n".join([*lines, *([WIDE] if wide else []), *clips, call, *average])


def _average(rows: list[Transform]) -> list[str]:
    """Takes an average of the weights off the end of the rows."""
    if not rows or not isinstance(rows[-1], WeightAverage):
        return []
    row = rows.pop()
    assert isinstance(row, WeightAverage)
    if row.start != "initial weights" or row.overwrite is not None or row.repeats != 1:
        raise NotRepresentable(
            "tf.train.ExponentialMovingAverage starts from the initial weights and never takes their place; "
            "the average here does otherwise"
        )
    warm = ", num_updates=global_step" if row.warm else ""
    return [f"average = {TRAIN}ExponentialMovingAverage({code(row.ema_momentum)}{warm})"]


def _core(rows: Sequence[Transform]) -> tuple[KerasRecipe, Values, bool, set[str]]:
    """(optimizer, arguments, whether constants pass through float32, under what conditions it does the same)."""
    named: dict[str, Transform] = {}
    for row in rows:
        named.setdefault(innermost(row).name, row)
    recipes = sorted(RECIPES.values(), key=lambda recipe: not any(row.group == recipe.name for row in rows))
    narrow = any(_numbers(row) == "float32" for row in rows)
    for power in ("float32",) if narrow else ("exact", "float32"):
        for recipe in recipes:
            values = {**recipe.read(named), "power": power}
            built = _built(recipe, values)
            notes = None if built is None else same(built, rows)
            if notes is not None:
                return recipe, values, power == "float32", notes
    best: tuple[int, str] = (10**6, "")
    items, _ = canonical(rows)
    for recipe in recipes:
        built = _built(recipe, recipe.read(named))
        if built is not None:
            distance, said = unlike(recipe.name, built, rows, items)
            best = min(best, (distance, said))
    raise NotRepresentable(f"tf.compat.v1.train has no optimizer that does exactly this; {best[1]}")


def _built(recipe: KerasRecipe, values: Values) -> list[Transform] | None:
    try:
        return recipe.transforms(values)
    except SettingError:
        return None


def _numbers(row: Transform) -> str:
    schedule: Any = row.schedule if isinstance(row, LearningRate) else None
    return getattr(schedule, "numbers", "")
