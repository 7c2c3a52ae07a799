"""Learning rates of Keras and TF1 in code: a number or a schedule, read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import REQUIRED, Argument, bind, nearest, number
from core.optim.dialects.recipes import code, same_value
from core.optim.dialects.values import Call, NotRepresentable, Opaque, Place, describe
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
    """What an optimizer's ``learning_rate`` says: a number, or one of the schedules ``curves``."""
    if isinstance(value, Call) and value.receiver is None:
        if value.name in curves:
            return read_curve(value, curves[value.name], numbers)
        guess = nearest(value.name, curves)
        if guess or "schedules" in value.path or value.path[-2:-1] == ("train",):
            hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(curves)}"
            raise value.error(f"{value.dotted} is not a schedule known here; {hint}")
    if isinstance(value, Call) and value.path == ("__call__",) and isinstance(value.receiver, Call):
        return read_rate(value.receiver, place, curves, numbers)  # schedule(step)
    if isinstance(value, Opaque):
        raise place.error(
            f"a learning rate that is a function ({describe(value)}) would have to be run; use one of the schedules: "
            f"{', '.join(curves)}"
        )
    return number(value, place, "learning_rate")


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
