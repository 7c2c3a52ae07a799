"""Optimizers that stand beside Keras and TF1: tensorflow_addons (tfa.optimizers) and tf.contrib.opt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import REQUIRED, Argument, bind
from core.optim.dialects.keras_recipes import RECIPES as KERAS
from core.optim.dialects.keras_recipes import SHARED, KerasRecipe
from core.optim.dialects.keras_rows import DecayMask, Values
from core.optim.dialects.optax_aliases import ALIASES
from core.optim.dialects.optax_assembly import assemble
from core.optim.dialects.recipes import Setting
from core.optim.dialects.tf1_recipes import RECIPES as TF1
from core.optim.dialects.values import Call
from core.optim.transform import Transform
from core.optim.transforms.lookahead import Lookahead
from core.optim.transforms.nested import Masked
from core.optim.transforms.scaling import StepDecay
from core.optim.transforms.weight_average import WeightAverage

PACKAGES: tuple[tuple[str, ...], ...] = (
    ("tfa", "optimizers"),
    ("tensorflow_addons", "optimizers"),
    ("tf", "contrib", "opt"),
    ("tensorflow", "contrib", "opt"),
)
OPTIONS = tuple(setting for setting in SHARED if setting.name != "weight_decay")
RATE = Setting("learning_rate", 0.001, kind="any")
LOCKING = Setting("use_locking", False, kind="unused")
NAME = Setting("name", None, kind="unused")
BETAS = (Setting("beta_1", 0.9), Setting("beta_2", 0.999))
OLD_BETAS = (Setting("beta1", 0.9), Setting("beta2", 0.999), Setting("epsilon", 1e-8))
DECAY = Setting("weight_decay", REQUIRED)
EXCLUDED = Setting("exclude_from_weight_decay", None, kind="any")


def package(call: Call) -> tuple[str, ...]:
    """The package of the call, where it is one of these."""
    return next((path for path in PACKAGES if call.receiver is None and call.path[: len(path)] == path), ())


def decayed(base: KerasRecipe) -> Callable[[Values], list[Transform]]:
    """The optimizer, and λ w taken off the weights whatever the learning rate is."""

    def build(v: Values) -> list[Transform]:
        core = base.build({setting.name: setting.default for setting in base.settings} | v)
        return [*core, StepDecay(weight_decay=v["weight_decay"])] if v.get("weight_decay") else core

    return build


KERAS_ADAM = decayed(KERAS["Adam"])


def _as_optax(name: str, v: Values, **more: Any) -> list[Transform]:
    """The rows of one of optax's optimizers, which does the same."""
    alias = ALIASES[name]
    values = {argument.name: argument.default for argument in alias.signature}
    values |= {"learning_rate": v["learning_rate"], "b1": v["beta_1"], "b2": v["beta_2"], "eps": v["epsilon"], **more}
    return assemble(alias.expand(values))[1:]


def lamb(v: Values) -> list[Transform]:
    masks = {}
    for name in ("exclude_from_weight_decay", "exclude_from_layer_adaptation"):
        given = v[name]
        masks[name] = [given] if isinstance(given, str) else list(given or ())
        if any(not str(pattern).replace("_", "").isalnum() for pattern in masks[name]):
            raise SettingError(f"LAMB: {name} is understood for plain words: ['bias', 'layer_norm']")
    rows = _as_optax("lamb", v, weight_decay=v["weight_decay"])
    adapted = masks["exclude_from_layer_adaptation"] or masks["exclude_from_weight_decay"]
    found: list[Transform] = []
    for row in rows:
        words = {"added_decay": masks["exclude_from_weight_decay"], "trust_ratio": adapted}.get(row.name, [])
        found.append(Masked(row, DecayMask(patterns=tuple(words))) if words else row)
    return found


def novograd(v: Values) -> list[Transform]:
    if v["amsgrad"] or v["grad_averaging"]:
        raise SettingError("NovoGrad: amsgrad and grad_averaging are not here; leave them False")
    return _as_optax("novograd", v, weight_decay=v["weight_decay"])


def rectified(v: Values) -> list[Transform]:
    if v["total_steps"] or v["amsgrad"]:
        raise SettingError("RectifiedAdam: its own warm-up (total_steps) and amsgrad are not here; leave them out")
    rows = _as_optax("radam", v, threshold=v["sma_threshold"])
    if v["weight_decay"]:
        raise SettingError("RectifiedAdam: weight_decay is not here; tfa.optimizers.AdamW has it")
    return rows


ADDONS: dict[str, KerasRecipe] = {
    recipe.name: recipe
    for recipe in (
        KerasRecipe(
            "AdamW",
            (DECAY, RATE, *BETAS, Setting("epsilon", 1e-7), Setting("amsgrad", False, kind="boolean"), *OPTIONS),
            KERAS_ADAM,
        ),
        KerasRecipe(
            "SGDW",
            (DECAY, RATE, Setting("momentum", 0.0), Setting("nesterov", False, kind="boolean"), *OPTIONS),
            decayed(KERAS["SGD"]),
        ),
        KerasRecipe(
            "LazyAdam",
            (RATE, *BETAS, Setting("epsilon", 1e-7), Setting("amsgrad", False, kind="boolean"), *OPTIONS),
            KERAS_ADAM,
        ),
        KerasRecipe(
            "LAMB",
            (
                *(RATE, *BETAS, Setting("epsilon", 1e-6), Setting("weight_decay", 0.0), EXCLUDED),
                *(Setting("exclude_from_layer_adaptation", None, kind="any"), *OPTIONS),
            ),
            lamb,
        ),
        KerasRecipe(
            "NovoGrad",
            (
                *(RATE, *BETAS, Setting("epsilon", 1e-7), Setting("weight_decay", 0.0)),
                *(
                    Setting("grad_averaging", False, kind="boolean"),
                    Setting("amsgrad", False, kind="boolean"),
                    *OPTIONS,
                ),
            ),
            novograd,
        ),
        KerasRecipe(
            "RectifiedAdam",
            (
                *(RATE, *BETAS, Setting("epsilon", 1e-7), Setting("weight_decay", 0.0)),
                *(Setting("amsgrad", False, kind="boolean"), Setting("sma_threshold", 5.0)),
                *(Setting("total_steps", 0), Setting("warmup_proportion", 0.1), Setting("min_lr", 0.0), *OPTIONS),
            ),
            rectified,
        ),
    )
}
"""tensorflow_addons 0.23 by class name."""
CONTRIB: dict[str, KerasRecipe] = {
    recipe.name: recipe
    for recipe in (
        KerasRecipe("AdamWOptimizer", (DECAY, RATE, *OLD_BETAS, LOCKING, NAME), decayed(TF1["AdamOptimizer"])),
        KerasRecipe("LazyAdamOptimizer", (RATE, *OLD_BETAS, LOCKING, NAME), decayed(TF1["AdamOptimizer"])),
        KerasRecipe(
            "MomentumWOptimizer",
            (
                *(DECAY, Setting("learning_rate", REQUIRED, kind="any"), Setting("momentum", REQUIRED), LOCKING, NAME),
                Setting("use_nesterov", False, kind="boolean"),
            ),
            decayed(TF1["MomentumOptimizer"]),
        ),
    )
}
"""tf.contrib.opt by class name."""


class Wrapped(NamedTuple):
    """An optimizer inside a wrapper, and the rows of the wrapper behind its own."""

    inner: Any
    behind: list[Transform]


LOOKAHEAD = (
    Argument("optimizer", REQUIRED, "any"),
    Argument("sync_period", 6, "integer"),
    Argument("slow_step_size", 0.5),
    Argument("name", None, "unused"),
)
MOVING_AVERAGE = (
    Argument("optimizer", REQUIRED, "any"),
    Argument("average_decay", 0.99),
    Argument("num_updates", None, "any"),
    Argument("start_step", 0, "integer"),
    Argument("dynamic_decay", False, "boolean"),
    Argument("name", None, "unused"),
)
NOT_HERE = {
    "SWA": "its average of the weights is no row here; the steps are those of the optimizer inside: paste that alone",
    "AdaBelief": "it rectifies as RAdam does; optax.adabelief and torch's RAdam are here",
    "Yogi": "it starts from other numbers than optax.yogi, which is here",
    "COCOB": "it has no learning rate",
    "ConditionalGradient": "its steps are no sums of causes",
    "MultiOptimizer": "paste the optimizer of the layers you want to look at",
    "ProximalAdagrad": "tf.compat.v1.train.ProximalAdagradOptimizer is here",
}


def wrapped(call: Call) -> Wrapped | None:
    """The optimizer inside tfa.optimizers.Lookahead or MovingAverage; None for other calls."""
    if call.name == "Lookahead":
        v = bind(call, LOOKAHEAD)
        row: Transform = Lookahead(sync_period=v["sync_period"], slow_step_size=v["slow_step_size"])
    elif call.name == "MovingAverage":
        v = bind(call, MOVING_AVERAGE)
        if v["num_updates"] is not None or v["start_step"] or v["dynamic_decay"]:
            raise call.error("MovingAverage: num_updates, start_step and dynamic_decay are not here; leave them out")
        row = WeightAverage(ema_momentum=v["average_decay"], start="initial weights")
    else:
        return None
    return Wrapped(v["optimizer"], [row])


def refuse(call: Call) -> None:
    """A ParseError for an optimizer of these packages that is not here."""
    known = (*ADDONS, "Lookahead", "MovingAverage") if "contrib" not in call.path else (*CONTRIB,)
    reason = NOT_HERE.get(call.name, f"there are: {', '.join(known)}")
    raise call.error(f"{call.dotted} is not here: {reason}")
