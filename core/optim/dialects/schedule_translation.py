"""Schedules of one framework as those of another, by way of TensorFlow's, wherever the rates are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from core.declare import SettingError
from core.optim.chain import Chain
from core.optim.dialects.recipes import code
from core.optim.dialects.tensor_schedules import COMPARED_STEPS, as_tensor_schedule
from core.optim.optimizer import Optimizer
from core.optim.schedules import optax
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.base import Schedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.keras import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
    TensorSchedule,
)
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.schedules.tf1 import NaturalExpDecay
from core.optim.schedules.torch_cycles import CosineAnnealingWarmRestarts
from core.optim.schedules.torch_factors import (
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate

Translated = tuple[Schedule, float]
"""A schedule and the base rate it goes with."""
NATIVE = {"torch": "core.optim.schedules.torch", "optax": "core.optim.schedules.optax"}


def with_schedules(optimizer: Optimizer, dialect: str) -> Optimizer:
    """The optimizer, for writing only, with its schedule in terms of ``dialect`` ('torch' or 'optax').

    What cannot be translated stays as it is, so that the dialect gives its own reason.
    """
    if len(optimizer.groups) > 1:
        return optimizer
    rows = [translate(row, dialect) for row in optimizer.chain.transforms]
    if all(new is old for new, old in zip(rows, optimizer.chain.transforms, strict=True)):
        return optimizer
    return Optimizer(Chain(rows), dialect=optimizer.dialect, counting=optimizer.counting)


def translate(row: Transform, dialect: str) -> Transform:
    """A learning-rate row with its schedule in terms of ``dialect``; other rows and native schedules as they are."""
    if type(row) is not LearningRate or row.schedule is None:
        return row
    schedule, base = row.schedule, row.learning_rate
    if type(schedule).__module__.startswith(NATIVE[dialect]):
        return row
    middle = schedule if isinstance(schedule, TensorSchedule) else as_tensor_schedule(schedule, base)
    table = TO_TORCH if dialect == "torch" else TO_OPTAX
    make = table.get(type(middle)) if middle is not None else None
    if middle is None or make is None:
        return row
    try:
        found = make(middle, base / schedule.base if isinstance(schedule, AbsoluteSchedule) and schedule.base else 1.0)
        if found is None:
            return row
        steps = range(COMPARED_STEPS)
        same = all(
            math.isclose(found[0].rate(found[1], k), schedule.rate(base, k), rel_tol=1e-9, abs_tol=1e-15) for k in steps
        )
    except (SettingError, ZeroDivisionError):
        return row
    if not same:
        return row
    result = LearningRate(schedule=found[0], learning_rate=found[1], order=row.order)
    result.group, result.enabled = row.group, row.enabled
    return result


# to PyTorch: factors of a base rate ---------------------------------------------------------------------------------


def _whole(value: float) -> bool:
    return float(value).is_integer()


def _torch_exponential(s: Any, factor: float) -> Translated:
    base = s.initial_learning_rate * factor
    if s.staircase and _whole(s.decay_steps):
        return StepLR(step_size=int(s.decay_steps), gamma=s.decay_rate), base
    if s.staircase:
        return _lambda(f"{code(s.decay_rate)} ** math.floor(k / {code(s.decay_steps)})"), base
    return ExponentialLR(gamma=s.decay_rate ** (1.0 / s.decay_steps)), base


def _torch_inverse(s: Any, factor: float) -> Translated:
    share = f"k / {code(s.decay_steps)}"
    share = f"math.floor({share})" if s.staircase else share
    return _lambda(f"1.0 / (1.0 + {code(s.decay_rate)} * ({share}))"), s.initial_learning_rate * factor


def _torch_natural(s: Any, factor: float) -> Translated:
    share = f"k / {code(s.decay_steps)}"
    share = f"math.floor({share})" if s.staircase else f"({share})"
    return _lambda(f"math.exp(-{code(s.decay_rate)} * {share})"), s.initial_learning_rate * factor


def _torch_polynomial(s: Any, factor: float) -> Translated | None:
    first, last = s.initial_learning_rate * factor, s.end_learning_rate * factor
    if s.cycle or not _whole(s.decay_steps):
        return None
    steps = int(s.decay_steps)
    if last == 0.0:
        return PolynomialLR(total_iters=steps, power=s.power), first
    top = max(first, last)
    if s.power != 1.0:
        left, floor = code(first / top - last / top), code(last / top)
        return _lambda(f"{left} * (1.0 - min(k, {steps}) / {steps}) ** {code(s.power)} + {floor}"), top
    return LinearLR(start_factor=first / top, end_factor=last / top, total_iters=steps), top


def _torch_pieces(s: Any, factor: float) -> Translated:
    rates = [rate * factor for rate in s.rates]
    ratios = [after / before for before, after in pairwise(rates)]
    if not ratios or any(not math.isclose(ratio, ratios[0], rel_tol=1e-12) for ratio in ratios):
        tests = zip(s.boundaries, rates, strict=False)
        body = " else ".join(f"{code(rate / rates[0])} if k <= {code(boundary)}" for boundary, rate in tests)
        last = code(rates[-1] / rates[0])
        return _lambda(f"{body} else {last}" if body else last), rates[0]
    milestones = [math.floor(boundary) + 1.0 for boundary in s.boundaries]
    return MultiStepLR(milestones=milestones, gamma=ratios[0]), rates[0]


def _torch_cosine(s: Any, factor: float) -> Translated:
    steps, alpha = code(s.decay_steps), code(s.alpha)
    wave = f"{code(1.0 - s.alpha)} * 0.5 * (1.0 + math.cos(math.pi * min(k, {steps}) / {steps})) + {alpha}"
    if s.warmup_target is None:
        return _lambda(wave), s.initial_learning_rate * factor
    late = f"min(k - {code(s.warmup_steps)}, {steps})"
    wave = wave.replace(f"min(k, {steps})", late)
    start = code(s.initial_learning_rate / s.warmup_target)
    rising = f"(1.0 - {start}) * k / {code(s.warmup_steps)} + {start}"
    return _lambda(f"{rising} if k < {code(s.warmup_steps)} else {wave}"), s.warmup_target * factor


def _torch_restarts(s: Any, factor: float) -> Translated | None:
    if s.m_mul != 1.0 or not (_whole(s.t_mul) and _whole(s.first_decay_steps) and s.t_mul >= 1.0):
        return None
    base = s.initial_learning_rate * factor
    schedule = CosineAnnealingWarmRestarts(T_0=int(s.first_decay_steps), T_mult=int(s.t_mul), eta_min=s.alpha * base)
    return schedule, base


def _lambda(body: str) -> LambdaLR:
    return LambdaLR(Formula.read(f"lambda k: {body}"))


TO_TORCH: dict[type[Schedule], Callable[[Any, float], Translated | None]] = {
    ExponentialDecay: _torch_exponential,
    InverseTimeDecay: _torch_inverse,
    NaturalExpDecay: _torch_natural,
    PolynomialDecay: _torch_polynomial,
    PiecewiseConstantDecay: _torch_pieces,
    CosineDecay: _torch_cosine,
    CosineDecayRestarts: _torch_restarts,
}

# to optax: rates of their own ---------------------------------------------------------------------------------------


def _own(schedule: AbsoluteSchedule) -> Translated:
    return schedule, schedule.base


def _optax_exponential(s: Any, factor: float) -> Translated | None:
    if not _whole(s.decay_steps) or not s.decay_rate:
        return None
    return _own(
        optax.Exponential(
            init_value=s.initial_learning_rate * factor,
            transition_steps=int(s.decay_steps),
            decay_rate=s.decay_rate,
            staircase=s.staircase,
        )
    )


def _optax_natural(s: Any, factor: float) -> Translated | None:
    if not _whole(s.decay_steps):
        return None
    return _own(
        optax.Exponential(
            init_value=s.initial_learning_rate * factor,
            transition_steps=int(s.decay_steps),
            decay_rate=math.exp(-s.decay_rate),
            staircase=s.staircase,
        )
    )


def _optax_polynomial(s: Any, factor: float) -> Translated | None:
    if s.cycle or not _whole(s.decay_steps):
        return None
    return _own(
        optax.Polynomial(
            init_value=s.initial_learning_rate * factor,
            end_value=s.end_learning_rate * factor,
            power=s.power,
            transition_steps=int(s.decay_steps),
        )
    )


def _optax_pieces(s: Any, factor: float) -> Translated | None:
    ratios = [after / before for before, after in pairwise(s.rates)]
    return _own(
        optax.PiecewiseConstant(
            init_value=s.rates[0] * factor,
            boundaries=[math.floor(boundary) + 1.0 for boundary in s.boundaries],
            scales=ratios,
        )
    )


def _optax_cosine(s: Any, factor: float) -> Translated | None:
    if not _whole(s.decay_steps) or not _whole(s.warmup_steps):
        return None
    first, steps = s.initial_learning_rate * factor, int(s.decay_steps)
    if s.warmup_target is None:
        return _own(optax.Cosine(init_value=first, decay_steps=steps, alpha=s.alpha))
    peak, warmup = s.warmup_target * factor, int(s.warmup_steps)
    return _own(
        optax.WarmupCosine(
            init_value=first,
            peak_value=peak,
            warmup_steps=warmup,
            decay_steps=warmup + steps,
            end_value=s.alpha * peak,
        )
    )


TO_OPTAX: dict[type[Schedule], Callable[[Any, float], Translated | None]] = {
    ExponentialDecay: _optax_exponential,
    NaturalExpDecay: _optax_natural,
    PolynomialDecay: _optax_polynomial,
    PiecewiseConstantDecay: _optax_pieces,
    CosineDecay: _optax_cosine,
}
