"""Keras' optimizers as recipes: their arguments in order, with their defaults, and where each is read back from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.declare import SettingError
from core.optim.dialects import keras_rows
from core.optim.dialects.keras_rows import Values
from core.optim.dialects.recipes import Recipe, Setting
from core.optim.transform import Transform
from core.optim.transforms.nested import Masked, innermost
from core.optim.transforms.orthogonalise import Orthogonalise
from core.optim.transforms.rate import LearningRate

Rows = Mapping[str, Transform]


class KerasRecipe(Recipe):
    """A recipe whose ``learning_rate`` is a number, a schedule, or (read back from a chain) the row itself."""

    def read(self, rows: Rows) -> Values:
        values = super().read(rows)
        rate = rows.get("learning_rate")
        if isinstance(rate, LearningRate):
            values["learning_rate"] = rate
        return values


class MuonRecipe(KerasRecipe):
    """Muon keeps two optimizers in its rows, and names of layers in its masks."""

    def read(self, rows: Rows) -> Values:
        values = super().read(rows)
        row = rows.get("orthogonalise")
        values["exclude_layers"], values["exclude_embeddings"] = None, True
        if isinstance(row, Masked) and isinstance(row.mask, keras_rows.MuonMask):
            values["exclude_layers"] = list(row.mask.patterns) or None
            values["exclude_embeddings"] = not row.mask.embeddings
        inner = innermost(row) if row is not None else None
        if isinstance(inner, Orthogonalise):
            values["muon_a"], values["muon_b"], values["muon_c"] = inner.coefficients[:3]
        values["rms_rate"] = getattr(rows.get("shape_factor"), "scale", None)
        return values


def _rate(default: float) -> Setting:
    return Setting("learning_rate", default, kind="any")


NAME = Setting("name", None, kind="unused")
CLIPS = tuple(Setting(name, None, kind="number?") for name in ("clipnorm", "clipvalue", "global_clipnorm"))
AVERAGING = (
    Setting("use_ema", False, kind="boolean"),
    Setting("ema_momentum", 0.99),
    Setting("ema_overwrite_frequency", None, kind="integer?"),
    Setting("loss_scale_factor", None, kind="number?"),
    Setting("gradient_accumulation_steps", None, kind="integer?"),
    NAME,
)
LEGACY = (
    Setting("decay", None, kind="number?", keyword_only=True),
    *(
        Setting(name, None, kind="unused", keyword_only=True)
        for name in ("jit_compile", "is_legacy_optimizer", "dtype")
    ),
)
SHARED = (Setting("weight_decay", None, kind="number?"), *CLIPS, *AVERAGING, *LEGACY)
"""What every optimizer takes; these become rows of their own around those of the optimizer."""


def _betas(beta_2: float = 0.999, epsilon: float = 1e-7, second: str = "second_moment") -> tuple[Setting, ...]:
    return (
        Setting("beta_1", 0.9, "first_moment.beta1"),
        Setting("beta_2", beta_2, f"{second}.beta2"),
        Setting("epsilon", epsilon, f"{second}.eps"),
    )


AMSGRAD = Setting("amsgrad", False, "second_maximum", "boolean")


def _check_momentum(v: Values) -> None:
    if not 0 <= v["momentum"] <= 1:
        raise SettingError(f"momentum must be between 0 and 1, as Keras wants it; {v['momentum']!r} was given")


def _check_ftrl(v: Values) -> None:
    for name in ("initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength"):
        if v[name] < 0:
            raise SettingError(f"Ftrl: {name} must not be below 0, {v[name]!r} was given")
    if v["learning_rate_power"] > 0:
        raise SettingError(f"Ftrl: learning_rate_power must not be above 0, {v['learning_rate_power']!r} was given")


def _recipe(
    name: str,
    settings: tuple[Setting, ...],
    build: Callable[[Values], list[Transform]],
    check: Callable[[Values], None] | None = None,
) -> KerasRecipe:
    return KerasRecipe(name, settings, build, check)


ADAM = _recipe("Adam", (_rate(0.001), *_betas(), AMSGRAD, *SHARED), keras_rows.adam)
ADAMW = _recipe(
    "AdamW",
    (
        _rate(0.001),
        Setting("weight_decay", 0.004, kind="number?"),
        *_betas(),
        AMSGRAD,
        *CLIPS,
        *AVERAGING,
        *LEGACY,
    ),
    keras_rows.adam,
)
SGD = _recipe(
    "SGD",
    (
        _rate(0.01),
        Setting("momentum", 0.0, "momentum.momentum"),
        Setting("nesterov", False, "nesterov", "boolean"),
        *SHARED,
    ),
    keras_rows.sgd,
    _check_momentum,
)
RMSPROP = _recipe(
    "RMSprop",
    (
        _rate(0.001),
        Setting("rho", 0.9, "second_moment.beta2"),
        Setting("momentum", 0.0, "momentum.momentum"),
        Setting("epsilon", 1e-7, "second_moment.eps"),
        Setting("centered", False, "centred_second_moment", "boolean"),
        *SHARED,
    ),
    keras_rows.rmsprop,
    _check_momentum,
)
ADAGRAD = _recipe(
    "Adagrad",
    (
        _rate(0.001),
        Setting("initial_accumulator_value", 0.1, "sum_of_squares.initial"),
        Setting("epsilon", 1e-7, "sum_of_squares.eps"),
        *SHARED,
    ),
    keras_rows.adagrad,
)
ADADELTA = _recipe(
    "Adadelta",
    (
        _rate(0.001),
        Setting("rho", 0.95, "second_moment.beta2"),
        Setting("epsilon", 1e-7, "second_moment.eps"),
        *SHARED,
    ),
    keras_rows.adadelta,
)
ADAMAX = _recipe("Adamax", (_rate(0.001), *_betas(second="infinity_moment"), *SHARED), keras_rows.adamax)
NADAM = _recipe(
    "Nadam",
    (
        _rate(0.001),
        Setting("beta_1", 0.9, "scheduled_nesterov.beta1"),
        *_betas()[1:],
        *SHARED,
        Setting("schedule_decay", None, kind="number?", keyword_only=True),
    ),
    keras_rows.nadam,
)
FTRL = _recipe(
    "Ftrl",
    (
        _rate(0.001),
        Setting("learning_rate_power", -0.5, "ftrl_step.power"),
        Setting("initial_accumulator_value", 0.1, "ftrl_step.initial"),
        Setting("l1_regularization_strength", 0.0, "ftrl_l1.l1"),
        Setting("l2_regularization_strength", 0.0, "ftrl_l2.l2"),
        Setting("l2_shrinkage_regularization_strength", 0.0, "ftrl_shrinkage.shrinkage"),
        Setting("beta", 0.0, "ftrl_l2.beta"),
        *SHARED,
    ),
    keras_rows.ftrl,
    _check_ftrl,
)
LION = _recipe(
    "Lion",
    (
        _rate(0.001),
        Setting("beta_1", 0.9, "lion_moment.beta1"),
        Setting("beta_2", 0.99, "lion_moment.beta2"),
        *SHARED,
    ),
    keras_rows.lion,
)
LAMB = _recipe("Lamb", (_rate(0.001), *_betas(), *SHARED), keras_rows.lamb)
ADAFACTOR = _recipe(
    "Adafactor",
    (
        _rate(0.001),
        Setting("beta_2_decay", -0.8, "row_column_moment.beta2_decay"),
        Setting("epsilon_1", 1e-30, "row_column_moment.eps"),
        Setting("epsilon_2", 1e-3, "scale_by_parameters.min_scale"),
        Setting("clip_threshold", 1.0, "clip_by_block_rms.threshold"),
        Setting("relative_step", True, kind="boolean"),
        *SHARED,
    ),
    keras_rows.adafactor,
)
MUON = MuonRecipe(
    "Muon",
    (
        _rate(0.001),
        Setting("adam_beta_1", 0.9, "first_moment.beta1"),
        Setting("adam_beta_2", 0.999, "second_moment.beta2"),
        Setting("adam_weight_decay", 0.004, kind="number?"),
        Setting("epsilon", 1e-7, "second_moment.eps"),
        Setting("weight_decay", 0.004, kind="number?"),
        *CLIPS,
        *AVERAGING,
        Setting("exclude_layers", None, "orthogonalise", "any"),
        Setting("exclude_embeddings", True, "orthogonalise", "boolean"),
        Setting("muon_a", 3.4445, "orthogonalise"),
        Setting("muon_b", -4.7750, "orthogonalise"),
        Setting("muon_c", 2.0315, "orthogonalise"),
        Setting("adam_lr_ratio", 1, "scale.factor"),
        Setting("momentum", 0.95, "momentum.momentum"),
        Setting("ns_steps", 5, "orthogonalise.steps", "integer"),
        Setting("nesterov", True, "nesterov", "boolean", absent=False),
        Setting("rms_rate", 0.2, "shape_factor.scale", "number?"),
        *LEGACY,
    ),
    keras_rows.muon,
)
SCHEDULE_FREE_ADAMW = _recipe(
    "ScheduleFreeAdamW",
    (
        _rate(0.0025),
        Setting("beta_1", 0.9, "schedule_free_mean.beta1"),
        *_betas(epsilon=1e-8)[1:],
        Setting("warmup_steps", 0, "step_warmup.steps", "integer"),
        *SHARED,
    ),
    keras_rows.schedule_free_adamw,
)
RECIPES: dict[str, KerasRecipe] = {
    recipe.name: recipe
    for recipe in (
        *(SGD, RMSPROP, ADAGRAD, ADADELTA, ADAM, ADAMW, ADAMAX, NADAM),
        *(FTRL, LION, LAMB, ADAFACTOR, MUON, SCHEDULE_FREE_ADAMW),
    )
}
"""Every optimizer of keras.optimizers by its class name."""
