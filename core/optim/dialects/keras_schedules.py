"""Learning rates of Keras and TF1 in code: a number or a schedule, read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import REQUIRED, Argument, bind, nearest, number, unwrap
from core.optim.dialects.number_functions import Unworkable
from core.optim.dialects.number_tables import FUNCTIONS
from core.optim.dialects.rate_formulas import RateReader, rate_of_step
from core.optim.dialects.recipes import code, same_value
from core.optim.dialects.syntax import is_number
from core.optim.dialects.values import Attribute, Call, Name, NotRepresentable, Opaque, Operation, Place, place_of
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.base import Schedule
from core.optim.schedules.keras import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate

NAME = Argument("name", None, "unused")
RATES = ("initial_learning_rate", "end_learning_rate", "warmup_target", "rates")
"""Settings of schedules that are learning rates themselves; the others are steps, shapes and shares."""


class Curve(NamedTuple):
    """A schedule of a framework: its class here, its arguments, and what some of them are called here."""

    schedule: type[AbsoluteSchedule]
    arguments: tuple[Argument, ...]
    spelling: Mapping[str, str] = {}

    def settings(self) -> list[tuple[Argument, str]]:
        """The arguments that are settings, with their keys here."""
        return [
            (argument, self.spelling.get(argument.name, argument.name))
            for argument in self.arguments
            if argument.kind not in ("unused", "step")
        ]


def decaying(*more: Argument) -> tuple[Argument, ...]:
    """Keras' arguments of a decay: rate, steps and what the kind of decay adds."""
    return (Argument("initial_learning_rate"), Argument("decay_steps"), *more)


STAIRCASE = (Argument("decay_rate"), Argument("staircase", False, "boolean"), NAME)
CURVES: dict[str, Curve] = {
    "ExponentialDecay": Curve(ExponentialDecay, decaying(*STAIRCASE)),
    "InverseTimeDecay": Curve(InverseTimeDecay, decaying(*STAIRCASE)),
    "PolynomialDecay": Curve(
        PolynomialDecay,
        decaying(
            Argument("end_learning_rate", 1e-4), Argument("power", 1.0), Argument("cycle", False, "boolean"), NAME
        ),
    ),
    "PiecewiseConstantDecay": Curve(
        PiecewiseConstantDecay,
        (Argument("boundaries", REQUIRED, "numbers"), Argument("values", REQUIRED, "numbers"), NAME),
        {"values": "rates"},
    ),
    "CosineDecay": Curve(
        CosineDecay,
        decaying(Argument("alpha", 0.0), NAME, Argument("warmup_target", None, "number?"), Argument("warmup_steps", 0)),
    ),
    "CosineDecayRestarts": Curve(
        CosineDecayRestarts,
        (
            Argument("initial_learning_rate"),
            Argument("first_decay_steps"),
            Argument("t_mul", 2.0),
            Argument("m_mul", 1.0),
            Argument("alpha", 0.0),
            NAME,
        ),
    ),
}
"""keras.optimizers.schedules by class name."""


def read_curve(call: Call, curve: Curve, numbers: str) -> AbsoluteSchedule:
    """The schedule of a call, computed in the type ``numbers``."""
    values = bind(call, curve.arguments)
    settings = {key: values[argument.name] for argument, key in curve.settings()}
    try:
        return curve.schedule(numbers=numbers, **settings)
    except SettingError as error:
        raise call.error(str(error)) from None


def read_rate(value: Any, place: Place, curves: Mapping[str, Curve], numbers: str) -> float | AbsoluteSchedule:
    """What an optimizer's ``learning_rate`` says: a number, one of the ``curves``, or what is made of them."""
    value = unwrap(value)
    reader = RateReader(partial(_curve, curves, numbers), partial(_step_of, curves) if STEP in curves else None)
    if isinstance(value, Call) and value.receiver is None:
        if value.name in curves:
            given = _step_of(curves, value)
            if given is None or _is_step(reader, given):
                return read_curve(value, curves[value.name], numbers)
        guess = nearest(value.name, curves) if value.name not in FUNCTIONS else ""
        if value.name not in curves and (guess or "schedules" in value.path):
            hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(curves)}"
            raise value.error(f"{value.dotted} is not a schedule known here; {hint}")
    if is_number(value) or isinstance(value, Name | str) or (isinstance(value, Operation) and value.operator == "if"):
        return number(value, place, "learning_rate")
    found = rate_of_step(value, place, reader)
    if isinstance(found, float | int) or STEP in curves or isinstance(value, Call | Opaque):
        return found
    return found.at(0)  # arithmetic of tensors is done once, when the line is run


STEP = "exponential_decay"
"""A curve of TF1, whose decays are given the step and are tensors that change with it."""


def _curve(curves: Mapping[str, Curve], numbers: str, call: Call) -> AbsoluteSchedule | None:
    known = call.receiver is None and call.name in curves
    return read_curve(call, curves[call.name], numbers) if known else None


def _step_of(curves: Mapping[str, Curve], call: Call) -> Any:
    """What a decay of TF1 is given as the step; None where that is not said, or left to be called."""
    for i, argument in enumerate(curves[call.name].arguments):
        if argument.kind == "step":
            return call.kwargs.get(argument.name, call.args[i] if i < len(call.args) else None)
    return None


def _is_step(reader: RateReader, given: Any) -> bool:
    """True for the plain number of the step; a name that no line sets is taken for it."""
    if isinstance(given, Name | Attribute):
        return True
    try:
        return [reader.at(given, k) for k in (0, 1, 7)] == [0, 1, 7]
    except Unworkable as error:
        raise place_of(given).error(f"the step this decay is given cannot be worked out: {error}") from None


def write_rate(rows: Sequence[Transform], curves: Mapping[str, Curve], prefix: str, dialect: str) -> str:
    """The learning rate of a chain's rows as code."""
    row = next((row for row in rows if isinstance(row, LearningRate)), None)
    if row is None:
        raise NotRepresentable(f"an optimizer of {dialect} always has a learning rate; this chain has none")
    if row.schedule is None:
        return code(float(row.learning_rate))
    base = getattr(row.schedule, "base", 0.0)
    return write_curve(row.schedule, row.learning_rate / base if base else 1.0, curves, prefix, dialect)


def write_curve(schedule: Schedule, factor: float, curves: Mapping[str, Curve], prefix: str, dialect: str) -> str:
    """The call that makes ``schedule``, its rates times ``factor`` (a live change of the base learning rate)."""
    for name, curve in curves.items():
        if type(schedule) is not curve.schedule:
            continue
        parts = [f"{argument.name}=global_step" for argument in curve.arguments if argument.kind == "step"]
        for argument, key in curve.settings():
            value = getattr(schedule, key)
            if factor != 1.0 and key in RATES and value is not None:
                value = [rate * factor for rate in value] if isinstance(value, list) else value * factor
            if key.endswith("steps"):
                value = _whole(value)
            elif key == "boundaries":
                value = [_whole(boundary) for boundary in value]
            if argument.default is REQUIRED or not same_value(value, argument.default):
                parts.append(f"{argument.name}={code(value)}")
        missing = set(schedule.values()) - {key for _, key in curve.settings()} - {"numbers", "seed"}
        given = [key for key in sorted(missing) if getattr(schedule, key) != _default(schedule, key)]
        if given:
            raise NotRepresentable(f"{prefix}{name} has no {given[0]}, which is {getattr(schedule, given[0])!r} here")
        return f"{prefix}{name}({', '.join(parts)})"
    raise NotRepresentable(
        f"{dialect} has no schedule like {schedule.name} ({schedule.formula}); it has {', '.join(curves)}"
    )


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


def _default(schedule: Schedule, key: str) -> Any:
    return next(parameter.default for parameter in schedule.parameters if parameter.key == key)
