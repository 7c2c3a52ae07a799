"""keras.optimizers.schedules, which tf.compat.v1.train has under other names, in TensorFlow's order of operations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.declare import Parameter, SettingError
from core.optim.schedules.absolute import AbsoluteSchedule

NUMBERS = ("float64", "float32")
NUMBER = Parameter(
    "numbers",
    "type",
    "float64",
    scale="choice",
    choices=NUMBERS,
    tooltip="float32: as TensorFlow computes a schedule of plain Python numbers",
)
INITIAL = Parameter("initial_learning_rate", "lr₀", 0.1, 1e-5, 1.0, "log", minimum=0.0, tooltip="rate at the start")
DECAY_STEPS = Parameter(
    "decay_steps", "D", 100, 1, 10_000, minimum=0.0, open_minimum=True, tooltip="steps one decay takes"
)
DECAY_RATE = Parameter("decay_rate", "r", 0.5, 0.01, 1.0, minimum=0.0, tooltip="strength of the decay")
STAIRCASE = Parameter("staircase", "⌊ ⌋", False, scale="switch", tooltip="decay in stairs: whole multiples of D only")
ALPHA = Parameter("alpha", "α", 0.0, 0.0, 1.0, tooltip="lowest rate as a share of the highest")


class TensorSchedule(AbsoluteSchedule):
    """A schedule whose arithmetic is in float64, or in float32 where TensorFlow makes it so."""

    numbers: str

    def prepare(self) -> None:
        # Python floats and np.float32 round every operation to their own type; both take part in + - * / and **
        self.number: Any = np.float32 if self.numbers == "float32" else float

    def rate(self, base: float, k: int) -> float:
        if self.numbers == "float64":
            return super().rate(base, k)
        with np.errstate(all="ignore"):
            return float(super().rate(base, k))


def power(base: Any, exponent: Any) -> Any:
    """base ** exponent as tensors have it: inf where Python would raise."""
    if base == 0 and exponent < 0:
        return type(base)(math.inf)
    try:
        return base**exponent
    except OverflowError:
        return type(base)(math.inf)


class RateDecay(TensorSchedule):
    """A decay by a rate r over k/D, which is rounded down to whole numbers in a staircase."""

    parameters = (INITIAL, DECAY_STEPS, DECAY_RATE, STAIRCASE, NUMBER)
    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool

    def at(self, k: int) -> float:
        number = self.number
        share = number(k) / number(self.decay_steps)
        if self.staircase:
            share = number(math.floor(share))
        result: float = self.decayed(number(self.initial_learning_rate), number(self.decay_rate), share)
        return result

    def decayed(self, initial: Any, rate: Any, share: Any) -> Any:
        """The learning rate at ``share`` = k/D; all three are numbers of the schedule's type."""
        raise NotImplementedError(f"{type(self).__name__} has to implement decayed")

    def largest(self) -> float:
        return self.initial_learning_rate


class ExponentialDecay(RateDecay):
    """lr₀ r^(k/D), with whole k/D in a staircase."""

    name = "ExponentialDecay"
    label = "exponential decay"
    formula = "lr₀ r^(k/D)"
    source = "keras.optimizers.schedules.ExponentialDecay; tf.compat.v1.train.exponential_decay"

    def decayed(self, initial: Any, rate: Any, share: Any) -> Any:
        return initial * power(rate, share)


class InverseTimeDecay(RateDecay):
    """lr₀ / (1 + r k/D); with D = 1 the rule of the ``decay`` argument that older Keras versions had."""

    name = "InverseTimeDecay"
    label = "inverse time decay"
    formula = "lr₀ / (1 + r k/D)"
    source = "keras.optimizers.schedules.InverseTimeDecay; tf.compat.v1.train.inverse_time_decay"

    def decayed(self, initial: Any, rate: Any, share: Any) -> Any:
        return initial / (self.number(1.0) + rate * share)


class PolynomialDecay(TensorSchedule):
    """(lr₀ - lr_end)(1 - k/D)^p + lr_end, then lr_end; ``cycle`` starts over, each time D steps longer.

    With ``cycle`` D becomes the next whole multiple of D that is not smaller than k (D itself at k = 0).
    """

    name = "PolynomialDecay"
    label = "polynomial decay"
    formula = "(lr₀ − lr_end)(1 − k/D)^p + lr_end"
    source = "keras.optimizers.schedules.PolynomialDecay; tf.compat.v1.train.polynomial_decay"
    parameters = (
        INITIAL,
        DECAY_STEPS,
        Parameter("end_learning_rate", "lr_end", 1e-4, 1e-6, 1.0, "log", minimum=0.0, tooltip="rate after D steps"),
        Parameter("power", "p", 1.0, 0.5, 4.0, tooltip="1: a straight line"),
        Parameter("cycle", "cycle", False, scale="switch", tooltip="start over when the end is reached"),
        NUMBER,
    )
    initial_learning_rate: float
    decay_steps: float
    end_learning_rate: float
    power: float
    cycle: bool

    def at(self, k: int) -> float:
        number = self.number
        steps, count, end = number(self.decay_steps), number(k), number(self.end_learning_rate)
        if self.cycle:
            steps = steps * number(1 if k == 0 else math.ceil(count / steps))
        else:
            count = min(count, steps)
        left = power(number(1.0) - count / steps, number(self.power))
        result: float = (number(self.initial_learning_rate) - end) * left + end
        return result

    def largest(self) -> float:
        return max(self.initial_learning_rate, self.end_learning_rate)


class PiecewiseConstantDecay(TensorSchedule):
    """The value of the interval k lies in; a boundary step still has the rate before it (k ≤ b)."""

    name = "PiecewiseConstantDecay"
    label = "piecewise constant"
    formula = "lr_i for b_(i−1) < k ≤ b_i"
    source = "keras.optimizers.schedules.PiecewiseConstantDecay; tf.compat.v1.train.piecewise_constant"
    parameters = (
        Parameter("boundaries", "b", [100, 1000], 0, 10_000, "list", tooltip="last steps of each piece but the last"),
        Parameter("rates", "lr", [0.1, 0.01, 0.001], 0.0, 1.0, "list", tooltip="rate of each piece"),
        NUMBER,
    )
    boundaries: list[float]
    rates: list[float]

    def prepare(self) -> None:
        super().prepare()
        if len(self.rates) != len(self.boundaries) + 1:
            raise SettingError(
                f"{self.name}: {len(self.boundaries)} boundaries need {len(self.boundaries) + 1} rates, "
                f"{len(self.rates)} were given"
            )
        if list(self.boundaries) != sorted(self.boundaries):
            raise SettingError(f"{self.name}: boundaries have to grow, {self.boundaries} do not")

    def at(self, k: int) -> float:
        for boundary, rate in zip(self.boundaries, self.rates, strict=False):
            if k <= boundary:
                return float(self.number(rate))
        return float(self.number(self.rates[-1]))

    def largest(self) -> float:
        return max(self.rates)
