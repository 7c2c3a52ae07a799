"""From settings to things: the problem and the optimizer an experiment names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.declare import Declared, Parameter, SettingError
from core.optim import Optimizer, parse_optimizer
from core.optim.schedules import SCHEDULES, Schedule
from core.optim.transforms.rate import LearningRate
from core.problems import expression, problem
from core.problems.objective import Objective
from core.problems.python_file import from_python_file
from core.simulation.experiment import Event, Experiment, ExperimentError, ProblemSettings


class NotTrusted(ExperimentError):
    """The problem is a Python file that the user has not allowed to run: ``path``."""

    def __init__(self, message: str, path: str) -> None:
        self.path = path
        super().__init__(message)


def build_objective(experiment: Experiment, trusted: frozenset[str] = frozenset()) -> Objective:
    """The problem of an experiment; ExperimentError says what cannot be built.

    ``trusted`` holds the paths of the Python files whose code may run, because the user was asked; NotTrusted for
    others.
    """
    settings = experiment.problem
    _check_counts(experiment)
    try:
        if settings.python:
            return _from_python(settings, trusted)
        if settings.expression:
            return _from_expression(settings)
        return problem(settings.name, **model_settings(settings))
    except ExperimentError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"problem: {_message(error)}") from error


def _check_counts(experiment: Experiment) -> None:
    """Seed and steps count from 0: numpy has no other seeds, and a change before the first step is a slip."""
    if experiment.seed < 0:
        raise ExperimentError(f"seed: a whole number from 0 on is needed, not {experiment.seed}")
    for index, event in enumerate(experiment.events):
        if event.step < 0:
            raise ExperimentError(f"events[{index}].step: steps count from 0, {event.step} was given")


def model_settings(settings: ProblemSettings) -> dict[str, Any]:
    """All of ``settings`` but the name, as ``problem(name, **these)`` takes them."""
    found = dict(settings.values)
    given = {
        **settings.options,
        **({"data": settings.data} if settings.data else {}),
        **({"target": settings.target} if settings.target else {}),
        **({"features": list(settings.features)} if settings.features else {}),
        **({"missing": settings.missing} if settings.missing != "drop" else {}),
    }
    twice = [key for key in given if key in found and found[key] != given[key]]
    if twice:
        raise ExperimentError(f"problem: {twice[0]!r} stands in values and again beside them; keep one of the two")
    return found | given


def _from_expression(settings: ProblemSettings) -> Objective:
    _refuse_others(settings, "an expression", "data", "target", "features", "options")
    clash = [key for key in settings.values if key in ("variables", "start", "bounds", "title", "text")]
    if clash:
        raise ExperimentError(f"problem.values: a parameter cannot be called {clash[0]!r}; choose another name")
    return expression(
        settings.expression, variables=settings.variables or None, bounds=settings.bounds, **settings.values
    )


def _from_python(settings: ProblemSettings, trusted: frozenset[str]) -> Objective:
    _refuse_others(settings, "a Python file", "expression", "data", "target", "features", "options")
    path = str(Path(settings.python).resolve())
    if path not in trusted:
        raise NotTrusted(
            f"problem.python: {settings.python} is code; it runs only after you have allowed it in the window", path
        )
    made = from_python_file(path, allowed=True)
    return made.with_values(**settings.values) if settings.values else made


def _refuse_others(settings: ProblemSettings, what: str, *fields: str) -> None:
    for field in fields:
        if getattr(settings, field):
            raise ExperimentError(f"problem.{field}: {what} takes none; leave it out")


def build_optimizer(lines: str, storage: str, arithmetic: str) -> Optimizer:
    """The optimizer of pasted code, with weights stored and steps computed in the given types."""
    optimizer = parse_optimizer(lines)
    optimizer.store_as(storage)
    optimizer.arithmetic = arithmetic
    return optimizer


def apply_event(optimizer: Optimizer, event: Event) -> None:
    """Let one live change act on a running optimizer (not for targets 'problem' and 'weights', nor key 'lines')."""
    if event.target == "optimizer" and event.key == "order":
        optimizer.reorder(str(event.value).split())
        return
    targets = event.target.split()
    owners = [owner for target in targets for owner in _owners(optimizer, target, event.key)]
    if event.key == "enabled":
        if not isinstance(event.value, bool):
            raise SettingError(f"{event.target}: enabled is True or False, not {event.value!r}")
        for target in targets:
            optimizer.enable(target, event.value)
        return
    if event.key == "schedule":
        for owner in owners:
            _choose_schedule(owner, event.value)
        return
    old = [getattr(owner, event.key, None) for owner in owners]
    for k, owner in enumerate(owners):
        try:
            owner.set(event.key, event.value)
        except SettingError:
            # all of them or none
            for before, value in zip(owners[:k], old, strict=False):
                before.set(event.key, value)
            raise


def _owners(optimizer: Optimizer, target: str, key: str) -> list[Declared]:
    """Whose setting a change reaches: the first parameter group's, and that of every group in which it is the same."""
    first = _owner(optimizer, target)
    found = [first]
    for group in range(1, len(optimizer.groups)):
        try:
            other = _owner(optimizer, target, group)
        except SettingError:
            # a group with another schedule, or none
            continue
        if key == "schedule" or getattr(other, key, None) == getattr(first, key, None):
            found.append(other)
    return found


def _owner(optimizer: Optimizer, target: str, group: int = 0) -> Declared:
    """What 'ROW', 'ROW.schedule' or 'ROW.schedule.1' (the second part of a schedule made of others) stands for."""
    row, *path = target.split(".")
    owner: Declared = optimizer.transform(row, group)
    for piece in path:
        if piece == "schedule":
            found = getattr(owner, "schedule", None)
            if found is None:
                raise SettingError(f"{row} has no schedule to change anything of")
            owner = found
        else:
            parts = getattr(owner, "parts", ())
            if not piece.isdecimal() or int(piece) >= len(parts):
                raise SettingError(f"{target}: {owner.name} has no part {piece!r}; it has {len(parts)} parts")
            owner = parts[int(piece)]
    return owner


def _choose_schedule(owner: Declared, settings: object) -> None:
    """Another schedule for a learning rate: its ``settings()`` (name, values, parts), or None for a constant rate."""
    if not isinstance(owner, LearningRate):
        raise SettingError(f"{owner.name} has no schedule; 'learning_rate' has one")
    made = None if settings is None else schedule_from(settings)
    if made is not None and made.watches:
        raise SettingError(f"{made.name} watches the loss from the first step on: paste its line and restart")
    owner.schedule = made


def schedule_from(settings: object) -> Schedule:
    """The schedule of plain ``settings``: {'name': 'StepLR', 'step_size': 30, ...}; with 'parts' if it has any."""
    if not isinstance(settings, Mapping) or not isinstance(settings.get("name"), str):
        raise SettingError(f"a schedule is {{'name': ..., values ...}} or None, not {settings!r}")
    values = {key: value for key, value in settings.items() if key not in ("name", "parts")}
    kind = SCHEDULES.get(settings["name"])
    if kind is None:
        raise SettingError(f"no schedule {settings['name']!r}; there are: {', '.join(SCHEDULES)}")
    parts = settings.get("parts")
    try:
        if parts is not None:
            return kind([schedule_from(part) for part in parts], **values)  # type: ignore[call-arg]
        return kind(**values)
    except TypeError as error:
        raise SettingError(f"{kind.name} cannot be set up by its name alone; paste its line") from error


def current_value(optimizer: Optimizer, target: str, key: str) -> object:
    """What an event on (target, key) would change from."""
    if target == "optimizer":
        return optimizer.source if key == "lines" else " ".join(optimizer.chain.row_names)
    owner = _owner(optimizer, target.split()[0])
    if key == "schedule" and isinstance(owner, LearningRate):
        return None if owner.schedule is None else owner.schedule.settings()
    return getattr(owner, key, None)


def parameter_of(optimizer: Optimizer, objective: Objective, target: str, key: str) -> Parameter | None:
    """The declaration of the setting that an event on (target, key) changes; None where there is no single one."""
    if target == "problem":
        declared: tuple[Parameter, ...] = objective.parameters
    elif target in ("optimizer", "weights") or key in ("enabled", "schedule"):
        return None
    else:
        try:
            declared = _owner(optimizer, target.split()[0]).parameters
        except SettingError:
            return None
    return next((parameter for parameter in declared if parameter.key == key), None)


def _message(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
