"""Cosine schedules of keras.optimizers.schedules and tf.compat.v1.train: with warm-up, and with restarts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.schedules.keras import ALPHA, DECAY_STEPS, INITIAL, NUMBER, TensorSchedule, power


def half_wave(share: Any, number: Any) -> Any:
    """(1 + cos(pi share)) / 2 in the type ``number``."""
    cosine: Any = number(np.cos(number(math.pi) * share))
    return number(0.5) * (number(1.0) + cosine)


class CosineDecay(TensorSchedule):
    """From lr₀ to α lr₀ along half a cosine wave over D steps.

    With ``warmup_target`` a straight line leads from lr₀ to it in W steps, and the wave starts from there.
    """

    name = "CosineDecay"
    label = "cosine decay"
    formula = "lr₀ ((1 − α)(1 + cos(π k/D))/2 + α)"
    source = "Loshchilov and Hutter 2017, arXiv:1608.03983; keras.optimizers.schedules.CosineDecay"
    parameters = (
        INITIAL,
        DECAY_STEPS,
        ALPHA,
        Parameter(
            "warmup_target", "lr_w", None, 1e-5, 1.0, "log", minimum=0.0, optional=True, tooltip="None: no warm-up"
        ),
        Parameter("warmup_steps", "W", 0, 0, 10_000, minimum=0.0, tooltip="steps from lr₀ to the target"),
        NUMBER,
    )
    initial_learning_rate: float
    decay_steps: float
    alpha: float
    warmup_target: float | None
    warmup_steps: float

    def at(self, k: int) -> float:
        number = self.number
        count, steps, start = number(k), number(self.decay_steps), number(self.initial_learning_rate)
        if self.warmup_target is not None:
            target, warmup = number(self.warmup_target), number(self.warmup_steps)
            count = min(count, steps + warmup)
            if count < warmup:
                rising: float = (target - start) * (count / warmup) + start
                return rising
            count, start = count - warmup, target
        else:
            count = min(count, steps)
        decayed = number(1.0 - self.alpha) * half_wave(count / steps, number) + number(self.alpha)
        result: float = start * decayed
        return result

    def largest(self) -> float:
        return max(self.initial_learning_rate, self.warmup_target or 0.0)


class CosineDecayRestarts(TensorSchedule):
    """Cosine decay that starts over: each period ``t_mul`` times as long, from a rate ``m_mul`` times as high."""

    name = "CosineDecayRestarts"
    label = "cosine with restarts"
    formula = "lr₀ ((1 − α) m^i (1 + cos(π k_i/D_i))/2 + α)"
    source = "Loshchilov and Hutter 2017, arXiv:1608.03983 (SGDR); keras.optimizers.schedules.CosineDecayRestarts"
    parameters = (
        INITIAL,
        Parameter(
            "first_decay_steps", "D", 100, 1, 10_000, minimum=0.0, open_minimum=True, tooltip="length of period 0"
        ),
        Parameter("t_mul", "t", 2.0, 1.0, 4.0, minimum=0.0, open_minimum=True, tooltip="each period longer by this"),
        Parameter("m_mul", "m", 1.0, 0.1, 1.0, minimum=0.0, tooltip="each start lower by this"),
        ALPHA,
        NUMBER,
    )
    initial_learning_rate: float
    first_decay_steps: float
    t_mul: float
    m_mul: float
    alpha: float

    def at(self, k: int) -> float:
        number = self.number
        one = number(1.0)
        longer, share = number(self.t_mul), number(k) / number(self.first_decay_steps)
        if longer == one:
            restarts = number(math.floor(share))
            share = share - restarts
        else:
            inside = one - share * (one - longer)
            if inside <= 0.0:  # periods that shrink have an end; TensorFlow's logarithm is nan from there on
                return math.nan
            restarts = number(math.floor(number(np.log(inside)) / number(np.log(longer))))
            length = power(longer, restarts)
            share = (share - (one - length) / (one - longer)) / length
        height = power(number(self.m_mul), restarts)
        wave = number(0.5) * height * (one + number(np.cos(number(math.pi) * share)))
        decayed = number(1.0 - self.alpha) * wave + number(self.alpha)
        result: float = number(self.initial_learning_rate) * decayed
        return result

    def largest(self) -> float:
        return self.initial_learning_rate
