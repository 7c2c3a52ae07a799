"""tf.compat.v1.train's optimizers and schedules: their arguments, the rows they become, and the way back."""

from __future__ import annotations

from core.declare import SettingError
from core.optim.dialects.binding import REQUIRED, Argument
from core.optim.dialects.keras_recipes import KerasRecipe
from core.optim.dialects.keras_rows import Values, learning_rate, plain_rate, velocity
from core.optim.dialects.keras_schedules import Curve
from core.optim.dialects.recipes import Setting
from core.optim.schedules.keras import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.schedules.tf1 import LinearCosineDecay, NaturalExpDecay, NoisyLinearCosineDecay
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.ftrl import FtrlL1, FtrlL2, FtrlShrinkage, FtrlStep
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.proximal import ProximalL1, ProximalL2

# schedules ----------------------------------------------------------------------------------------------------

NAME = Argument("name", None, "unused")
STAIRCASE = Argument("staircase", False, "boolean")
PERIODS = (Argument("num_periods", 0.5), Argument("alpha", 0.0), Argument("beta", 0.001), NAME)
SPELLING = {"learning_rate": "initial_learning_rate"}
PIECES = (
    Argument("x", None, "step"),
    Argument("boundaries", REQUIRED, "numbers"),
    Argument("values", REQUIRED, "numbers"),
    NAME,
)


def _decaying(*more: Argument, steps: str = "decay_steps") -> tuple[Argument, ...]:
    return (Argument("learning_rate"), Argument("global_step", None, "step"), Argument(steps), *more)


CURVES: dict[str, Curve] = {
    "exponential_decay": Curve(ExponentialDecay, _decaying(Argument("decay_rate"), STAIRCASE, NAME), SPELLING),
    "natural_exp_decay": Curve(NaturalExpDecay, _decaying(Argument("decay_rate"), STAIRCASE, NAME), SPELLING),
    "inverse_time_decay": Curve(InverseTimeDecay, _decaying(Argument("decay_rate"), STAIRCASE, NAME), SPELLING),
    "polynomial_decay": Curve(
        PolynomialDecay,
        _decaying(
            Argument("end_learning_rate", 1e-4), Argument("power", 1.0), Argument("cycle", False, "boolean"), NAME
        ),
        SPELLING,
    ),
    "piecewise_constant": Curve(PiecewiseConstantDecay, PIECES, {"values": "rates"}),
    "piecewise_constant_decay": Curve(PiecewiseConstantDecay, PIECES, {"values": "rates"}),
    "cosine_decay": Curve(CosineDecay, _decaying(Argument("alpha", 0.0), NAME), SPELLING),
    "cosine_decay_restarts": Curve(
        CosineDecayRestarts,
        _decaying(
            Argument("t_mul", 2.0), Argument("m_mul", 1.0), Argument("alpha", 0.0), NAME, steps="first_decay_steps"
        ),
        SPELLING,
    ),
    "linear_cosine_decay": Curve(LinearCosineDecay, _decaying(*PERIODS), SPELLING),
    "noisy_linear_cosine_decay": Curve(
        NoisyLinearCosineDecay,
        _decaying(Argument("initial_variance", 1.0), Argument("variance_decay", 0.55), *PERIODS),
        SPELLING,
    ),
}
"""The decays of tf.compat.v1.train by name."""

# optimizers ---------------------------------------------------------------------------------------------------


def gradient_descent(v: Values) -> list[Transform]:
    return [plain_rate(v["learning_rate"])]


def momentum(v: Values) -> list[Transform]:
    rows: list[Transform] = [Momentum(momentum=v["momentum"])]
    if v["use_nesterov"]:
        rows.append(Nesterov(momentum=v["momentum"]))
    return [*rows, plain_rate(v["learning_rate"])]


def adagrad(v: Values) -> list[Transform]:
    return [SumOfSquares(initial=v["initial_accumulator_value"], eps=0.0), learning_rate(v["learning_rate"])]


def adadelta(v: Values) -> list[Transform]:
    return [
        SecondMoment(beta2=v["rho"], eps=v["epsilon"], rule="inside"),
        AccumulatedSteps(rho=v["rho"], eps=v["epsilon"], order="reciprocal"),
        learning_rate(v["learning_rate"]),
    ]


def rmsprop(v: Values) -> list[Transform]:
    second = SecondMoment(beta2=v["decay"], eps=v["epsilon"], rule="inside", initial=1.0, form="difference")
    rows: list[Transform] = [second]
    if v["centered"]:
        rows.append(CentredSecondMoment(rho=v["decay"], eps=v["epsilon"], rule="inside", form="difference"))
    rows.append(learning_rate(v["learning_rate"]))
    return rows + velocity(v["momentum"], False) if v["momentum"] else rows


def adam(v: Values) -> list[Transform]:
    power = v.get("power", "exact")
    return [
        FirstMoment(beta1=v["beta1"], form="difference"),
        FirstBiasCorrection(beta1=v["beta1"], power=power),
        SecondMoment(beta2=v["beta2"], eps=v["epsilon"], form="difference"),
        SecondBiasCorrection(beta2=v["beta2"], eps=v["epsilon"], order="hat", power=power),
        learning_rate(v["learning_rate"]),
    ]


def ftrl(v: Values) -> list[Transform]:
    return [
        FtrlShrinkage(shrinkage=v["l2_shrinkage_regularization_strength"]),
        learning_rate(v["learning_rate"]),
        FtrlStep(power=v["learning_rate_power"], initial=v["initial_accumulator_value"], guarded=True),
        FtrlL1(l1=v["l1_regularization_strength"]),
        FtrlL2(l2=v["l2_regularization_strength"], beta=v["beta"] or 0.0),
    ]


def proximal(v: Values) -> list[Transform]:
    return [
        plain_rate(v["learning_rate"]),
        ProximalL1(l1=v["l1_regularization_strength"]),
        ProximalL2(l2=v["l2_regularization_strength"]),
    ]


def proximal_adagrad(v: Values) -> list[Transform]:
    return [
        *adagrad(v),
        ProximalL1(l1=v["l1_regularization_strength"], adapted=True),
        ProximalL2(l2=v["l2_regularization_strength"], adapted=True),
    ]


def _check_accumulator(v: Values) -> None:
    if v["initial_accumulator_value"] <= 0.0:
        raise SettingError(
            f"initial_accumulator_value must be positive, as TensorFlow wants it; "
            f"{v['initial_accumulator_value']!r} was given"
        )


def _check_ftrl(v: Values) -> None:
    for name in ("initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength"):
        if v[name] < 0.0:
            raise SettingError(f"{name} must not be below 0, {v[name]!r} was given")
    if v["l2_shrinkage_regularization_strength"] < 0.0:
        raise SettingError("l2_shrinkage_regularization_strength must not be below 0")
    if v["learning_rate_power"] > 0.0:
        raise SettingError(f"learning_rate_power must not be above 0, {v['learning_rate_power']!r} was given")


LOCKING = Setting("use_locking", False, kind="unused")
CALLED = Setting("name", None, kind="unused")
ANY_RATE = Setting("learning_rate", REQUIRED, kind="any")
DEFAULT_RATE = Setting("learning_rate", 0.001, kind="any")
ACCUMULATOR = Setting("initial_accumulator_value", 0.1, "sum_of_squares.initial")
PROXIMAL = (
    Setting("l1_regularization_strength", 0.0, "proximal_l1.l1"),
    Setting("l2_regularization_strength", 0.0, "proximal_l2.l2"),
)
RECIPES: dict[str, KerasRecipe] = {
    recipe.name: recipe
    for recipe in (
        KerasRecipe("GradientDescentOptimizer", (ANY_RATE, LOCKING, CALLED), gradient_descent),
        KerasRecipe(
            "MomentumOptimizer",
            (
                ANY_RATE,
                Setting("momentum", REQUIRED, "momentum.momentum", absent=0.0),
                LOCKING,
                CALLED,
                Setting("use_nesterov", False, "nesterov", "boolean"),
            ),
            momentum,
        ),
        KerasRecipe("AdagradOptimizer", (ANY_RATE, ACCUMULATOR, LOCKING, CALLED), adagrad, _check_accumulator),
        KerasRecipe(
            "AdadeltaOptimizer",
            (
                DEFAULT_RATE,
                Setting("rho", 0.95, "second_moment.beta2"),
                Setting("epsilon", 1e-8, "second_moment.eps"),
                LOCKING,
                CALLED,
            ),
            adadelta,
        ),
        KerasRecipe(
            "RMSPropOptimizer",
            (
                ANY_RATE,
                Setting("decay", 0.9, "second_moment.beta2"),
                Setting("momentum", 0.0, "momentum.momentum"),
                Setting("epsilon", 1e-10, "second_moment.eps"),
                LOCKING,
                Setting("centered", False, "centred_second_moment", "boolean"),
                CALLED,
            ),
            rmsprop,
        ),
        KerasRecipe(
            "AdamOptimizer",
            (
                DEFAULT_RATE,
                Setting("beta1", 0.9, "first_moment.beta1"),
                Setting("beta2", 0.999, "second_moment.beta2"),
                Setting("epsilon", 1e-8, "second_moment.eps"),
                LOCKING,
                CALLED,
            ),
            adam,
        ),
        KerasRecipe(
            "FtrlOptimizer",
            (
                ANY_RATE,
                Setting("learning_rate_power", -0.5, "ftrl_step.power"),
                Setting("initial_accumulator_value", 0.1, "ftrl_step.initial"),
                Setting("l1_regularization_strength", 0.0, "ftrl_l1.l1"),
                Setting("l2_regularization_strength", 0.0, "ftrl_l2.l2"),
                LOCKING,
                CALLED,
                Setting("accum_name", None, kind="unused"),
                Setting("linear_name", None, kind="unused"),
                Setting("l2_shrinkage_regularization_strength", 0.0, "ftrl_shrinkage.shrinkage"),
                Setting("beta", 0.0, "ftrl_l2.beta", "number?"),
            ),
            ftrl,
            _check_ftrl,
        ),
        KerasRecipe("ProximalGradientDescentOptimizer", (ANY_RATE, *PROXIMAL, LOCKING, CALLED), proximal),
        KerasRecipe(
            "ProximalAdagradOptimizer",
            (ANY_RATE, ACCUMULATOR, *PROXIMAL, LOCKING, CALLED),
            proximal_adagrad,
            _check_accumulator,
        ),
    )
}
"""The optimizers of tf.compat.v1.train by class name."""
