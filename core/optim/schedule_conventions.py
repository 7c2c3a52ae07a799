"""Which of the frameworks' conventions a schedule follows, as a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.optim.schedules import Schedule

NEW_AT_BOUNDARY = "the boundary step has the new rate already"


def schedule_convention(schedule: Schedule) -> str:
    """What is particular about a schedule, or about those inside it; '' where the frameworks agree."""
    say = SAY.get(schedule.name)
    said = [] if say is None else [say(schedule)]
    said += [schedule_convention(part) for part in schedule.parts]
    return "; ".join(dict.fromkeys(text for text in said if text))


def _always(text: str) -> Callable[[Any], str]:
    return lambda schedule: text


def _cosine(schedule: Any) -> str:
    said = "stays at the minimum after the end (Keras, TF1); PyTorch's cosine climbs back"
    return f"{said}; warm-up starts at initial_learning_rate, which may be 0" if schedule.warmup_steps else said


def _polynomial(schedule: Any) -> str:
    return "begins anew after ⌈k/D⌉ periods, the first one for k = 0 (Keras, TF1)" if schedule.cycle else ""


def _optax_polynomial(schedule: Any) -> str:
    rises = schedule.end_value > schedule.init_value
    return f"warm-up starts at init_value, here {schedule.init_value:g} (optax; PyTorch never at 0)" if rises else ""


def _warmup(schedule: Any) -> str:
    return f"warm-up starts at init_value, here {schedule.init_value:g} (optax; PyTorch never at 0)"


def _warmup_cosine(schedule: Any) -> str:
    return f"{_warmup(schedule)}; stays at the minimum after the end; PyTorch's cosine climbs back"


SAY: dict[str, Callable[[Any], str]] = {
    "StepLR": _always("the boundary step has the lower rate already (PyTorch)"),
    "MultiStepLR": _always("the milestone step has the lower rate already (PyTorch)"),
    "SequentialLR": _always("the milestone step is the next schedule's first (PyTorch)"),
    "LinearLR": _always("warm-up starts at start_factor, not at 0 (PyTorch)"),
    "ConstantLR": _always(f"{NEW_AT_BOUNDARY} (PyTorch)"),
    "CosineAnnealingLR": _always("periodic: it climbs back after T_max (PyTorch); Keras and optax stay at the minimum"),
    "OneCycleLR": _always("moves the momentum against the rate unless cycle_momentum is off (PyTorch)"),
    "CyclicLR": _always("moves the momentum against the rate unless cycle_momentum is off (PyTorch)"),
    "ReduceLROnPlateau": _always("watches the loss of every step (PyTorch: whatever is given to step())"),
    "PiecewiseConstantDecay": _always("the boundary step still has the higher rate (Keras, TF1)"),
    "PolynomialDecay": _polynomial,
    "CosineDecay": _cosine,
    "optax_cosine": _always("stays at the minimum after the end (optax); PyTorch's cosine climbs back"),
    "optax_piecewise_constant": _always(f"{NEW_AT_BOUNDARY} (optax)"),
    "optax_joined": _always("the boundary step is the next schedule's first (optax)"),
    "optax_polynomial": _optax_polynomial,
    "optax_warmup_constant": _warmup,
    "optax_warmup_cosine": _warmup_cosine,
    "optax_warmup_exponential": _warmup,
}
