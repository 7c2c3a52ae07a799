"""From settings to things: the problem and the optimizer an experiment names."""

from __future__ import annotations

from core.declare import SettingError
from core.optim import Chain, Optimizer, parse_optimizer
from core.optim.transforms.store import Store
from core.problems import expression, problem
from core.problems.objective import Objective
from core.simulation.experiment import Event, Experiment, ExperimentError


def build_objective(experiment: Experiment) -> Objective:
    """The problem of an experiment; ExperimentError says what cannot be built."""
    settings = experiment.problem
    try:
        if settings.expression:
            return expression(settings.expression, **settings.values)
        if settings.data:
            return problem(settings.name, data=settings.data, **settings.values)
        return problem(settings.name, **settings.values)
    except (ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"problem: {_message(error)}") from error


def build_optimizer(lines: str, storage: str, arithmetic: str) -> Optimizer:
    """The optimizer of pasted code, with weights stored and steps computed in the given types."""
    optimizer = parse_optimizer(lines)
    transforms = [transform for transform in optimizer.chain if not isinstance(transform, Store)]
    optimizer.chain = Chain([*transforms, Store(storage=storage)])
    optimizer.arithmetic = arithmetic
    return optimizer


def apply_event(optimizer: Optimizer, event: Event) -> None:
    """Let one live change act on a running optimizer (not for target 'problem', nor key 'lines')."""
    if event.target == "optimizer" and event.key == "order":
        optimizer.reorder(str(event.value).split())
        return
    row, _, part = event.target.partition(".")
    transform = optimizer.transform(row)
    if event.key == "enabled":
        if not isinstance(event.value, bool):
            raise SettingError(f"{event.target}: enabled is True or False, not {event.value!r}")
        optimizer.enable(row, event.value)
    elif part == "schedule":
        schedule = getattr(transform, "schedule", None)
        if schedule is None:
            raise SettingError(f"{row} has no schedule to change {event.key!r} of")
        schedule.set(event.key, event.value)
    else:
        transform.set(event.key, event.value)


def current_value(optimizer: Optimizer, target: str, key: str) -> object:
    """What an event on (target, key) would change from."""
    if target == "optimizer":
        return optimizer.source if key == "lines" else " ".join(optimizer.chain.row_names)
    row, _, part = target.partition(".")
    transform = optimizer.transform(row)
    if key == "enabled":
        return transform.enabled
    owner = getattr(transform, "schedule", None) if part == "schedule" else transform
    return getattr(owner, key, None)


def _message(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
