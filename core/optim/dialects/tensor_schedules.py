"""Schedules of PyTorch and optax as those of Keras and TF1, where there are such."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from core.declare import SettingError
from core.optim.dialects.values import NotRepresentable
from core.optim.schedules import optax
from core.optim.schedules.base import Schedule
from core.optim.schedules.keras import ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay, TensorSchedule
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.schedules.torch_cycles import CosineAnnealingWarmRestarts
from core.optim.schedules.torch_factors import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate

COMPARED_STEPS = 600


def as_tensor_schedule(schedule: Schedule, base: float) -> TensorSchedule | None:
    """The Keras schedule with the rates that ``schedule`` has at the base rate ``base``, or None.

    A translation counts only if the first steps have the same rates up to rounding (restarts can fall on the other
    side of a step).
    """
    translate = TRANSLATIONS.get(type(schedule))
    if translate is None:
        return None
    try:
        found = translate(schedule, base)
        if found is None:
            return None
        steps = range(COMPARED_STEPS)
        agree = all(math.isclose(found.at(k), schedule.rate(base, k), rel_tol=1e-9, abs_tol=1e-15) for k in steps)
    except SettingError:
        return None
    return found if agree else None


def translated(row: Transform, dialect: str, names: Iterable[str]) -> Transform:
    """A learning-rate row with its schedule in TensorFlow's terms; other rows as they are.

    NotRepresentable when TensorFlow has no such schedule.
    """
    if type(row) is not LearningRate or row.schedule is None or isinstance(row.schedule, TensorSchedule):
        return row
    schedule, base = row.schedule, row.learning_rate
    if isinstance(schedule, optax.Constant):
        same: Transform = LearningRate(learning_rate=schedule.rate(base, 0), order=row.order)
    else:
        found = as_tensor_schedule(schedule, base)
        if found is None:
            raise NotRepresentable(
                f"{dialect} has no schedule like {schedule.name} ({schedule.formula}); it has {', '.join(names)}"
            )
        same = LearningRate(schedule=found, learning_rate=found.base, order=row.order)
    same.group = row.group
    return same


def _stairs(s: Any, base: float) -> TensorSchedule:
    return ExponentialDecay(initial_learning_rate=base, decay_steps=s.step_size, decay_rate=s.gamma, staircase=True)


def _powers(s: Any, base: float) -> TensorSchedule:
    return ExponentialDecay(initial_learning_rate=base, decay_steps=1, decay_rate=s.gamma)


def _milestones(s: Any, base: float) -> TensorSchedule:
    rates = [base * s.gamma**i for i in range(len(s.ordered) + 1)]
    return PiecewiseConstantDecay(boundaries=[milestone - 1 for milestone in s.ordered], rates=rates)


def _polynomial(s: Any, base: float) -> TensorSchedule:
    return PolynomialDecay(initial_learning_rate=base, decay_steps=s.total_iters, end_learning_rate=0.0, power=s.power)


def _line(s: Any, base: float) -> TensorSchedule:
    return PolynomialDecay(
        initial_learning_rate=base * s.start_factor,
        decay_steps=s.total_iters,
        end_learning_rate=base * s.end_factor,
    )


def _two_pieces(s: Any, base: float) -> TensorSchedule:
    return PiecewiseConstantDecay(boundaries=[s.total_iters - 1], rates=[base * s.scale, base])


def _restarts(s: Any, base: float) -> TensorSchedule | None:
    if not base:
        return None
    return CosineDecayRestarts(
        initial_learning_rate=base, first_decay_steps=s.T_0, t_mul=s.T_mult, alpha=s.eta_min / base
    )


def _optax_polynomial(s: Any, base: float) -> TensorSchedule | None:
    factor = _factor(s, base)
    if s.transition_begin > 0 or s.transition_steps <= 0:
        return None
    return PolynomialDecay(
        initial_learning_rate=s.init_value * factor,
        decay_steps=s.transition_steps,
        end_learning_rate=s.end_value * factor,
        power=s.power,
    )


def _optax_exponential(s: Any, base: float) -> TensorSchedule | None:
    if s.transition_begin > 0 or s.end_value is not None or s.transition_steps <= 0:
        return None
    return ExponentialDecay(
        initial_learning_rate=s.init_value * _factor(s, base),
        decay_steps=s.transition_steps,
        decay_rate=s.decay_rate,
        staircase=s.staircase,
    )


def _optax_cosine(s: Any, base: float) -> TensorSchedule | None:
    if s.exponent != 1.0:
        return None
    return CosineDecay(initial_learning_rate=s.init_value * _factor(s, base), decay_steps=s.decay_steps, alpha=s.alpha)


def _optax_warmup_cosine(s: Any, base: float) -> TensorSchedule | None:
    if s.exponent != 1.0 or not s.peak_value:
        return None
    factor = _factor(s, base)
    return CosineDecay(
        initial_learning_rate=s.init_value * factor,
        decay_steps=s.decay_steps - s.warmup_steps,
        alpha=s.end_value / s.peak_value,
        warmup_target=s.peak_value * factor,
        warmup_steps=s.warmup_steps,
    )


def _optax_warmup_constant(s: Any, base: float) -> TensorSchedule | None:
    factor = _factor(s, base)
    if s.warmup_steps <= 0:
        return None
    return PolynomialDecay(
        initial_learning_rate=s.init_value * factor,
        decay_steps=s.warmup_steps,
        end_learning_rate=s.peak_value * factor,
    )


def _optax_pieces(s: Any, base: float) -> TensorSchedule:
    rates = [s.init_value * _factor(s, base)]
    for _, scale in s.pieces:
        rates.append(rates[-1] * scale)
    return PiecewiseConstantDecay(boundaries=[boundary - 1 for boundary, _ in s.pieces], rates=rates)


def _factor(schedule: Any, base: float) -> float:
    """What a live change of the base rate multiplies the schedule by."""
    return base / schedule.base if schedule.base else 1.0


TRANSLATIONS: dict[type[Schedule], Callable[[Any, float], TensorSchedule | None]] = {
    StepLR: _stairs,
    ExponentialLR: _powers,
    MultiStepLR: _milestones,
    PolynomialLR: _polynomial,
    LinearLR: _line,
    ConstantLR: _two_pieces,
    CosineAnnealingWarmRestarts: _restarts,
    optax.Polynomial: _optax_polynomial,
    optax.Exponential: _optax_exponential,
    optax.Cosine: _optax_cosine,
    optax.WarmupCosine: _optax_warmup_cosine,
    optax.WarmupConstant: _optax_warmup_constant,
    optax.PiecewiseConstant: _optax_pieces,
}
