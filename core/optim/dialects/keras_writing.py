"""From rows back to Keras code, or the reason why Keras has none that does the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import SettingError
from core.optim.dialects.equivalence import FINITE, SAID, canonical, same, unlike
from core.optim.dialects.keras_recipes import RECIPES, KerasRecipe
from core.optim.dialects.keras_rows import DecayMask, MuonMask, Values, decay_rows, exact, single
from core.optim.dialects.keras_schedules import CURVES, write_rate
from core.optim.dialects.recipes import code
from core.optim.dialects.tensor_schedules import translated
from core.optim.dialects.tf_clips import write_clip
from core.optim.dialects.values import NotRepresentable
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate, ClippedAccumulate
from core.optim.transforms.clip import ClipByAverageNorm, ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.transforms.nested import Masked, innermost
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L1, L2, DecoupledDecay
from core.optim.transforms.scaling import AddedDecay
from core.optim.transforms.weight_average import WeightAverage

CLIPS = (ClipByValue, ClipByNorm, ClipByGlobalNorm, ClipByAverageNorm)
FLOAT64 = 'keras.config.set_floatx("float64")'


def write_optimizer(optimizer: Optimizer) -> str:
    """The Keras lines for the optimizer, under a comment when they do the same only under a condition."""
    if len(optimizer.groups) > 1:
        raise NotRepresentable("a Keras optimizer treats all variables alike; this one has parameter groups")
    rows = [row for row in optimizer.chain.acting if not isinstance(row, FrozenMask) and not _off(row)]
    return _Writing(rows).text()


def _off(row: Transform) -> bool:
    return not row.enabled


class _Writing:
    """Takes the rows apart from the front: clipping, scaling, penalties, accumulation, clip, decay, core, average."""

    def __init__(self, rows: Sequence[Transform]) -> None:
        self.rows = [translated(row, "Keras", CURVES) for row in rows]
        self.before: list[str] = []
        self.options: list[str] = []
        self.after: list[str] = []
        self.notes: set[str] = set()

    def text(self) -> str:
        wrap = self.take_front()
        self.take_average()
        decays = self.take_decays()
        recipe, values, floatx = self.core(decays)
        rate = write_rate(self.rows, CURVES, "keras.optimizers.schedules.", "Keras")
        arguments = [f"learning_rate={rate}"]
        arguments.append(recipe.written(values, ()))
        arguments += [*self.decay_options(recipe, values), *self.options]
        call = f"keras.optimizers.{recipe.name}({', '.join(part for part in arguments if part)})"
        if self.after:
            call = f"optimizer = {call}"
        lines = [f"# {note}" for note in sorted(self.notes & SAID)]
        lines += [FLOAT64] * floatx + self.before
        return "\n".join([*lines, wrap.format(call) if wrap else call, *self.after])

    # what stands before the optimizer --------------------------------------------------------------------------

    def take_front(self) -> str:
        """Take the rows before the optimizer's own; returns what the constructor is wrapped in."""
        wrap = ""
        while self.rows:
            row = self.rows[0]
            if isinstance(row, L1 | L2) and (self.before or self.options) and not self.only_penalties():
                raise NotRepresentable(
                    f"Keras' penalties are part of the loss, before anything is done to its gradients; here "
                    f"{row.label!r} comes behind clipping, accumulation or the loss scale"
                )
            if isinstance(row, LossScale):
                wrap = self.scale(row)
            elif isinstance(row, L1):
                self.before.append(f"keras.regularizers.L1({code(row.weight_decay)})")
            elif isinstance(row, L2):
                strength = row.weight_decay / 2.0 if row.half else row.weight_decay
                self.before.append(f"keras.regularizers.L2({code(strength)})")
            elif isinstance(row, Accumulate):
                if isinstance(row, ClippedAccumulate) or row.first is not None or row.kept != "step":
                    raise NotRepresentable(f"Keras has nothing like {row.label!r} of this training loop")
                if not row.mean:
                    raise NotRepresentable("Keras takes the mean of accumulated gradients; here it is their sum")
                self.options.append(f"gradient_accumulation_steps={row.steps}")
                if row.schedule != "calls" and any(_scheduled(other) for other in self.rows):
                    raise NotRepresentable(
                        "schedules in Keras count every gradient that is accumulated; here they count steps"
                    )
            elif isinstance(row, CLIPS):
                self.clip(row)
            else:
                break
            self.rows.pop(0)
        return wrap

    def only_penalties(self) -> bool:
        """True while nothing but penalties (and the loss scale) has been written."""
        scaled = all(option.startswith("loss_scale_factor") for option in self.options)
        return scaled and all(line.startswith("keras.regularizers.") for line in self.before)

    def scale(self, row: LossScale) -> str:
        if not row.dynamic:
            self.options.append(f"loss_scale_factor={code(row.initial_scale)}")
            return ""
        guard = len(self.rows) > 1 and isinstance(self.rows[1], FiniteGuard)
        if not guard or (row.growth_factor, row.backoff_factor) != (2.0, 0.5):
            raise NotRepresentable(
                "Keras' LossScaleOptimizer skips steps that are not finite, doubles and halves; "
                f"here the factors are {row.growth_factor:g} and {row.backoff_factor:g}"
                + ("" if guard else ", and nothing is skipped")
            )
        self.rows.pop(0)
        arguments = f"initial_scale={code(row.initial_scale)}, dynamic_growth_steps={row.growth_interval}"
        return f"keras.optimizers.LossScaleOptimizer({{}}, {arguments})"

    def clip(self, row: Transform) -> None:
        """A clip right before the decay is the constructor's argument; any other is a statement."""
        statement = write_clip(row)
        later = [other for other in self.rows[1:] if isinstance(other, (*CLIPS, Accumulate, LossScale, L1, L2))]
        plain = later or not _is_argument(row)
        if plain and not self.options:
            self.before.append(statement)
        elif plain:
            raise NotRepresentable(
                f"Keras clips once behind accumulation and scaling, in its own ways; not {row.label!r}"
            )
        elif isinstance(row, ClipByValue):
            self.options.append(f"clipvalue={code(row.clip_value)}")
        elif isinstance(row, ClipByNorm | ClipByGlobalNorm):
            name = "clipnorm" if isinstance(row, ClipByNorm) else "global_clipnorm"
            self.options.append(f"{name}={code(row.max_norm)}")
            if row.convention == "optax":
                self.notes.add(FINITE)

    # behind and inside -----------------------------------------------------------------------------------------

    def take_average(self) -> None:
        row = self.rows[-1] if self.rows else None
        if not isinstance(row, WeightAverage):
            return
        if row.start != "first step" or row.warm:
            raise NotRepresentable("Keras starts its average of the weights after the first step, without a warm-up")
        steps = next((option for option in self.options if option.startswith("gradient_acc")), "=1").split("=")[1]
        if int(steps) != row.repeats:
            raise NotRepresentable("Keras averages the weights at every accumulated gradient")
        self.options += ["use_ema=True", f"ema_momentum={code(row.ema_momentum)}"]
        if row.overwrite is not None:
            self.options.append(f"ema_overwrite_frequency={row.overwrite}")
        self.rows.pop()

    def take_decays(self) -> list[Transform]:
        """The decay rows, wherever they stand; λ w added before the learning rate counts as well."""
        found = [row for row in self.rows if isinstance(innermost(row), DecoupledDecay)]
        for row in found:
            if isinstance(row, Masked) and isinstance(row.mask, DecayMask) and row is found[0]:
                self.after.append(f"optimizer.exclude_from_weight_decay(var_names={list(row.mask.patterns)!r})")
        return found

    def core(self, decays: list[Transform]) -> tuple[KerasRecipe, Values, bool]:
        """The optimizer whose rows are these, its arguments, and whether constants pass through float32."""
        named: dict[str, Transform] = {}
        for row in self.rows:
            named.setdefault(innermost(row).name, row)
        recipes = sorted(RECIPES.values(), key=lambda recipe: not any(row.group == recipe.name for row in self.rows))
        scheduled = any(_scheduled(row, "float32") for row in self.rows)
        for cast in (single,) if scheduled else (exact, single):
            for recipe in recipes:
                values = {"cast": cast, **recipe.read(named), **self.decay_values(recipe, decays)}
                built = self.built(recipe, values)
                notes = None if built is None else same(built, self.rows)
                if notes is not None:
                    self.notes |= notes
                    return recipe, values, cast is single
        raise self.reason(recipes, named, decays)

    def built(self, recipe: KerasRecipe, values: Values) -> list[Transform] | None:
        try:
            rows = recipe.transforms(values)
            decay = decay_rows(values)
        except SettingError:
            return None
        pattern = values.get("excluded")
        return [*([Masked(row, pattern) for row in decay] if pattern else decay), *rows]

    def decay_values(self, recipe: KerasRecipe, decays: Sequence[Transform]) -> Values:
        """The strengths of the decay rows, and the mask of what they leave out."""
        found: Values = {"weight_decay": None, "excluded": None}
        if recipe.name == "Muon":
            found["adam_weight_decay"] = None
        added: Any = next((row for row in self.rows if isinstance(row, AddedDecay)), None)
        if added is not None:
            found["weight_decay"] = added.weight_decay
        for row in decays:
            inner: Any = innermost(row)
            masks = [layer.mask for layer in _layers(row)]
            others = any(isinstance(mask, MuonMask) and mask.others for mask in masks)
            found["adam_weight_decay" if others else "weight_decay"] = inner.weight_decay
            found["excluded"] = next((mask for mask in masks if isinstance(mask, DecayMask)), found["excluded"])
        return found

    def decay_options(self, recipe: KerasRecipe, values: Values) -> list[str]:
        options = []
        for setting in recipe.settings:
            if setting.name in ("weight_decay", "adam_weight_decay") and values[setting.name] != setting.default:
                options.append(f"{setting.name}={code(values[setting.name])}")
        return options

    def reason(
        self, recipes: Sequence[KerasRecipe], named: dict[str, Transform], decays: Sequence[Transform]
    ) -> NotRepresentable:
        """Why there is no code: the optimizer that comes nearest, and in what it differs."""
        items, _ = canonical(self.rows)
        best: tuple[int, str] = (10**6, "")
        for recipe in recipes:
            values = {"cast": exact, **recipe.read(named), **self.decay_values(recipe, decays)}
            built = self.built(recipe, values)
            if built is not None:
                best = min(best, unlike(recipe.name, built, self.rows, items))
        return NotRepresentable(f"Keras has no optimizer that does exactly this; {best[1]}")


def _layers(row: Transform) -> list[Masked]:
    found = []
    while isinstance(row, Masked):
        found.append(row)
        row = row.inner
    return found


def _scheduled(row: Transform, numbers: str = "") -> bool:
    schedule = row.schedule if isinstance(row, LearningRate) else None
    return schedule is not None and (not numbers or getattr(schedule, "numbers", "") == numbers)


def _is_argument(row: Transform) -> bool:
    """True for the clips that Keras' constructors have."""
    if isinstance(row, ClipByValue):
        return row.least == -row.clip_value and row.clip_value > 0
    return isinstance(row, ClipByNorm | ClipByGlobalNorm) and not getattr(row, "axes", ()) and row.max_norm > 0
