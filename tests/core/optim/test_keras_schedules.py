"""Schedules of Keras and tf.compat.v1 against the rates the frameworks gave, in float64 and in float32."""

from typing import Any

import numpy as np
import pytest

from core.declare import SettingError
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.keras import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.schedules.tf1 import LinearCosineDecay, NaturalExpDecay, NoisyLinearCosineDecay
from tests.reference_data import assert_close, cases, numbers

CLASSES: dict[str, type[AbsoluteSchedule]] = {
    "ExponentialDecay": ExponentialDecay,
    "InverseTimeDecay": InverseTimeDecay,
    "PolynomialDecay": PolynomialDecay,
    "PiecewiseConstantDecay": PiecewiseConstantDecay,
    "CosineDecay": CosineDecay,
    "CosineDecayRestarts": CosineDecayRestarts,
    "exponential_decay": ExponentialDecay,
    "inverse_time_decay": InverseTimeDecay,
    "polynomial_decay": PolynomialDecay,
    "piecewise_constant": PiecewiseConstantDecay,
    "cosine_decay": CosineDecay,
    "cosine_decay_restarts": CosineDecayRestarts,
    "natural_exp_decay": NaturalExpDecay,
    "linear_cosine_decay": LinearCosineDecay,
}
SPELLING = {"learning_rate": "initial_learning_rate", "values": "rates"}
CASES = [*cases("keras_schedules"), *cases("tf1_schedules")]


def schedule_of(settings: dict[str, Any], numbers_type: str) -> AbsoluteSchedule:
    values = {SPELLING.get(key, key): value for key, value in settings.items() if key != "name"}
    return CLASSES[settings["name"]](numbers=numbers_type, **values)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_rates_are_those_of_the_framework(case: dict[str, Any]) -> None:
    schedule = schedule_of(case["schedule"], "float64")
    rates = [schedule.rate(schedule.base, k) for k in range(len(case["lr"]))]
    assert_close(rates, case["lr"], case["tol"], case["id"])


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if "lr_python_floats" in case or case.get("lr_dtype") == "float32"],
    ids=lambda c: c["id"],
)
def test_float32_rates_are_those_of_plain_python_numbers(case: dict[str, Any]) -> None:
    schedule = schedule_of(case["schedule"], "float32")
    expected = numbers(case.get("lr_python_floats", case["lr"]), "float32")
    rates = np.array([schedule.rate(schedule.base, k) for k in range(len(expected))], dtype=np.float32)
    # a few units in the last place: TensorFlow's float32 cos, exp and pow are its own, and the difference of two
    # nearly equal numbers (1 - k/D near the end of a decay) carries them over
    np.testing.assert_allclose(rates, expected, rtol=2e-6, atol=2e-8 * float(expected.max()))


def test_boundary_step_keeps_the_rate_before_it() -> None:
    schedule = PiecewiseConstantDecay(boundaries=[3], rates=[1.0, 0.1])
    assert [schedule.at(k) for k in range(6)] == [1.0, 1.0, 1.0, 1.0, 0.1, 0.1]


def test_changed_base_rate_scales_the_whole_curve() -> None:
    schedule = ExponentialDecay(initial_learning_rate=0.1, decay_steps=10, decay_rate=0.5)
    assert schedule.rate(0.2, 20) == pytest.approx(0.05)


def test_shrinking_periods_end_in_nan_as_the_logarithm_does() -> None:
    schedule = CosineDecayRestarts(initial_learning_rate=0.1, first_decay_steps=10, t_mul=0.5)
    assert np.isfinite(schedule.at(19)) and np.isnan(schedule.at(20))


def test_noise_is_the_same_every_time_and_dies_out() -> None:
    noisy = NoisyLinearCosineDecay(
        initial_learning_rate=1.0, decay_steps=1000, initial_variance=1.0, variance_decay=2.0
    )
    plain = LinearCosineDecay(initial_learning_rate=1.0, decay_steps=1000)
    assert [noisy.at(k) for k in range(5)] == [noisy.at(k) for k in range(5)]
    early = [abs(noisy.at(k) - plain.at(k)) for k in range(10)]
    late = [abs(noisy.at(k) - plain.at(k)) for k in range(500, 510)]
    assert np.mean(early) > 10 * np.mean(late)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(SettingError, match="2 boundaries need 3 rates, 2 were given"):
        PiecewiseConstantDecay(boundaries=[1, 2], rates=[0.1, 0.2])
    with pytest.raises(SettingError, match="boundaries have to grow"):
        PiecewiseConstantDecay(boundaries=[2, 1], rates=[0.1, 0.2, 0.3])
    with pytest.raises(SettingError, match="decay_steps must be greater than 0"):
        CosineDecay(initial_learning_rate=0.1, decay_steps=0)
