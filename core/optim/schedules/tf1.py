"""The decays of tf.compat.v1.train that Keras does not have; the others are in keras.py and keras_cosine.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.schedules.keras import DECAY_STEPS, INITIAL, NUMBER, RateDecay, TensorSchedule
from core.optim.schedules.keras_cosine import half_wave

PERIODS = Parameter("num_periods", "n", 0.5, 0.5, 5.0, tooltip="periods of the cosine over all D steps")
SHIFT = Parameter("alpha", "α", 0.0, 0.0, 1.0, tooltip="added to the falling line")
FLOOR = Parameter("beta", "β", 0.001, 0.0, 0.1, tooltip="added at the end: the lowest share of lr₀")


class NaturalExpDecay(RateDecay):
    """lr₀ exp(-r k/D)."""

    name = "NaturalExpDecay"
    label = "natural exponential decay"
    formula = "lr₀ e^(−r k/D)"
    source = "tf.compat.v1.train.natural_exp_decay"

    def decayed(self, initial: Any, rate: Any, share: Any) -> Any:
        return initial * self.number(np.exp(-rate * share))


class LinearCosineDecay(TensorSchedule):
    """lr₀ ((α + 1 - k/D) (1 + cos(2 pi n k/D))/2 + β): a falling line times a cosine."""

    name = "LinearCosineDecay"
    label = "linear cosine decay"
    formula = "lr₀ ((α + 1 − k/D)(1 + cos(2π n k/D))/2 + β)"
    source = "Bello et al. 2017, arXiv:1709.07417; tf.compat.v1.train.linear_cosine_decay"
    parameters: tuple[Parameter, ...] = (INITIAL, DECAY_STEPS, PERIODS, SHIFT, FLOOR, NUMBER)
    initial_learning_rate: float
    decay_steps: float
    num_periods: float
    alpha: float
    beta: float

    def at(self, k: int) -> float:
        number = self.number
        steps = number(self.decay_steps)
        count = min(number(k), steps)
        line = (steps - count) / steps + self.noise(k, count, number)
        wave = half_wave(number(2.0 * self.num_periods) * (count / steps), number)
        result: float = number(self.initial_learning_rate) * ((number(self.alpha) + line) * wave + number(self.beta))
        return result

    def noise(self, k: int, count: Any, number: Any) -> Any:
        """What is added to the falling line."""
        return number(0.0)

    def largest(self) -> float:
        return self.initial_learning_rate


class NoisyLinearCosineDecay(LinearCosineDecay):
    """Linear cosine decay with normal noise of variance v/(1 + k)^c on the falling line.

    The noise is ours (a seed and the step give the same number every time); TensorFlow's own random numbers cannot
    be had without TensorFlow.
    """

    name = "NoisyLinearCosineDecay"
    label = "noisy linear cosine decay"
    formula = "lr₀ ((α + 1 − k/D + ε_k)(1 + cos(2π n k/D))/2 + β)"
    source = "Bello et al. 2017, arXiv:1709.07417; tf.compat.v1.train.noisy_linear_cosine_decay"
    parameters = (
        INITIAL,
        DECAY_STEPS,
        Parameter("initial_variance", "v", 1.0, 0.0, 2.0, minimum=0.0, tooltip="variance of the noise at k = 0"),
        Parameter("variance_decay", "c", 0.55, 0.0, 2.0, tooltip="how fast the noise dies out"),
        PERIODS,
        SHIFT,
        FLOOR,
        Parameter("seed", "seed", 0, 0, 1000, "integer", minimum=0, tooltip="seed of the noise"),
        NUMBER,
    )
    initial_variance: float
    variance_decay: float
    seed: int

    def noise(self, k: int, count: Any, number: Any) -> Any:
        deviation = math.sqrt(self.initial_variance / float(1.0 + count) ** self.variance_decay)
        return number(deviation * np.random.Generator(np.random.Philox(key=[self.seed, k])).standard_normal())
