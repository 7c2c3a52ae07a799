"""optax schedules read from calls and lambdas, and written back."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind, nearest, number
from core.optim.dialects.rate_formulas import RateReader, rate_of_step
from core.optim.dialects.recipes import code
from core.optim.dialects.syntax import is_number, read_program
from core.optim.dialects.values import Call, NotRepresentable, Opaque, Place, describe
from core.optim.schedules import optax as kinds
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.base import Schedule
from core.optim.schedules.formula import Formula

Rate = float | AbsoluteSchedule


class Entry(NamedTuple):
    """How one optax function is read: its arguments and what they make."""

    signature: tuple[Argument, ...]
    make: Callable[[dict[str, Any]], AbsoluteSchedule]


def pieces(value: Any, place: Place) -> dict[int, float]:
    """``boundaries_and_scales``: a dict of step and factor, or None."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise place.error(f"boundaries_and_scales is a dict {{step: factor}}, not {describe(value)}")
    found: dict[int, float] = {}
    for key, scale in value.items():
        if not is_number(key) and not (isinstance(key, str) and key.isdigit()):
            raise place.error(f"boundaries_and_scales: {key!r} is not a step number")
        found[int(key)] = number(scale, place, f"boundaries_and_scales[{key}]")
    return found


def schedule_list(value: Any, place: Place) -> list[AbsoluteSchedule]:
    """A list of schedules."""
    if not isinstance(value, list | tuple):
        raise place.error(f"schedules is a list of schedules, not {describe(value)}")
    return [read_schedule(item, place) for item in value]


def cycles(value: Any, place: Place) -> list[dict[str, Any]]:
    """sgdr_schedule's list of dicts."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, dict) for item in value):
        raise place.error("cosine_kwargs is a list of dicts with the arguments of warmup_cosine_decay_schedule")
    return list(value)


def _plain(kind: type[AbsoluteSchedule], *signature: Argument) -> Entry:
    return Entry(signature, lambda values: kind(**values))


def _piecewise(values: dict[str, Any]) -> dict[str, Any]:
    found = values.pop("boundaries_and_scales")
    return {**values, "boundaries": list(found), "scales": list(found.values())}


def _sgdr(values: dict[str, Any]) -> AbsoluteSchedule:
    parts: list[AbsoluteSchedule] = []
    boundaries: list[float] = []
    for given in values["cosine_kwargs"]:
        parts.append(TABLE["warmup_cosine_decay_schedule"].make(bind(Call(("cycle",), (), given), WARMUP_COSINE)))
        boundaries.append((boundaries[-1] if boundaries else 0) + parts[-1].values()["decay_steps"])
    return kinds.Joined(parts, boundaries=boundaries[:-1])


INIT, PEAK, END = Argument("init_value"), Argument("peak_value"), Argument("end_value")
NO_END = Argument("end_value", None, "number?")
STEPS, BEGIN = Argument("transition_steps", kind="integer"), Argument("transition_begin", 0, "integer")
WARMUP = Argument("warmup_steps", kind="integer")
RATE, STAIRCASE = Argument("decay_rate"), Argument("staircase", False, "boolean")
BOUNDARIES = Argument("boundaries_and_scales", None, pieces)
DIVISORS = (Argument("div_factor", 25.0), Argument("final_div_factor", 1e4))
WARMUP_COSINE = (
    INIT,
    PEAK,
    WARMUP,
    Argument("decay_steps", kind="integer"),
    Argument("end_value", 0.0),
    Argument("exponent", 1.0),
)

TABLE: dict[str, Entry] = {
    "constant_schedule": _plain(kinds.Constant, Argument("value")),
    "linear_schedule": _plain(kinds.Polynomial, INIT, END, STEPS, BEGIN),
    "polynomial_schedule": _plain(kinds.Polynomial, INIT, END, Argument("power"), STEPS, BEGIN),
    "exponential_decay": _plain(kinds.Exponential, INIT, STEPS, RATE, BEGIN, STAIRCASE, NO_END),
    "cosine_decay_schedule": _plain(
        kinds.Cosine,
        INIT,
        Argument("decay_steps", kind="integer"),
        Argument("alpha", 0.0),
        Argument("exponent", 1.0),
    ),
    "piecewise_constant_schedule": Entry(
        (INIT, BOUNDARIES), lambda values: kinds.PiecewiseConstant(**_piecewise(values))
    ),
    "piecewise_interpolate_schedule": Entry(
        (Argument("interpolate_type", kind="text"), INIT, BOUNDARIES),
        lambda values: kinds.PiecewiseInterpolate(**_piecewise(values)),
    ),
    "linear_onecycle_schedule": _plain(
        kinds.LinearOnecycle, STEPS, PEAK, Argument("pct_start", 0.3), Argument("pct_final", 0.85), *DIVISORS
    ),
    "cosine_onecycle_schedule": _plain(kinds.CosineOnecycle, STEPS, PEAK, Argument("pct_start", 0.3), *DIVISORS),
    "warmup_constant_schedule": _plain(kinds.WarmupConstant, INIT, PEAK, WARMUP),
    "warmup_cosine_decay_schedule": _plain(kinds.WarmupCosine, *WARMUP_COSINE),
    "warmup_exponential_decay_schedule": _plain(
        kinds.WarmupExponential, INIT, PEAK, WARMUP, STEPS, RATE, BEGIN, STAIRCASE, NO_END
    ),
    "join_schedules": Entry(
        (Argument("schedules", kind=schedule_list), Argument("boundaries", kind="integers")),
        lambda values: kinds.Joined(values["schedules"], boundaries=values["boundaries"]),
    ),
    "sgdr_schedule": Entry((Argument("cosine_kwargs", kind=cycles),), _sgdr),
}
NAMES = frozenset(TABLE)


def rate(value: Any, place: Place) -> Rate:
    """A number or a schedule (the kind of ``learning_rate``)."""
    if is_schedule(value) or (isinstance(value, Call) and value.path[0] in ("optax", "schedules")):
        return read_schedule(value, place)
    return float(number(value, place, "the learning rate"))


def optional_rate(value: Any, place: Place) -> Rate | None:
    """The same, or None."""
    return None if value is None else rate(value, place)


def is_schedule(value: Any) -> bool:
    """True for what can only be a schedule: a call of one, a lambda or a function."""
    return isinstance(value, Opaque) or (isinstance(value, Call) and value.receiver is None and value.name in TABLE)


def read_schedule(value: Any, place: Place) -> AbsoluteSchedule:
    """The schedule that a call of an optax function or a lambda stands for."""
    if is_number(value):
        return kinds.Constant(value=float(value))
    if isinstance(value, Opaque):
        return _from_function(value)
    if not isinstance(value, Call) or value.receiver is not None:
        raise place.error(f"{describe(value)} is not a schedule; write one of optax's, or a lambda of the step")
    entry = TABLE.get(value.name)
    if entry is None:
        guess = nearest(value.name, TABLE)
        raise value.error(
            f"{value.dotted} is not a schedule known here" + (f"; did you mean {guess!r}?" if guess else "")
        )
    values = bind(value, entry.signature)
    try:
        return entry.make(values)
    except SettingError as error:
        raise value.error(str(error)) from None


def _from_function(value: Opaque) -> AbsoluteSchedule:
    node = value.node
    if isinstance(node, ast.Lambda):
        scaled = _scaled(node.body, node, value)
        if scaled is not None:
            return scaled
        try:
            return kinds.Written(Formula(node, value.names))
        except SettingError:
            pass  # more than one formula: worked out step by step
    found = rate_of_step(value, value.place, RateReader(_read_call))
    return found if isinstance(found, AbsoluteSchedule) else kinds.Constant(value=found)


def _read_call(call: Call) -> AbsoluteSchedule | None:
    return read_schedule(call, call.place) if is_schedule(call) else None


def _scaled(node: ast.expr, function: ast.Lambda, value: Opaque) -> AbsoluteSchedule | None:
    """``f * schedule(step)``, ``-schedule(step)`` or ``schedule(step)``, else None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inside = _scaled(node.operand, function, value)
        return None if inside is None else kinds.Scaled(inside, factor=-1.0)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            known = _number(factor, value)
            inside = None if known is None else _scaled(other, function, value)
            if inside is not None and known is not None:
                return kinds.Scaled(inside, factor=known)
        return None
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    argument = node.args[0]
    if not isinstance(argument, ast.Name) or argument.id != function.args.args[0].arg:
        return None
    if isinstance(node.func, ast.Name) and node.func.id in value.names:
        called = value.names[node.func.id]
        return read_schedule(called, value.place) if is_schedule(called) else None
    if isinstance(node.func, ast.Call | ast.Lambda):
        called = read_program(ast.unparse(node.func)).statements[0].value
        return read_schedule(called, value.place) if is_schedule(called) else None
    return None


def _number(node: ast.expr, value: Opaque) -> float | None:
    if isinstance(node, ast.Name):
        found: Any = value.names.get(node.id)
        return float(found) if is_number(found) else None
    try:
        literal = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return float(literal) if is_number(literal) else None


# writing ------------------------------------------------------------------------------------------------------

_WRITTEN: dict[type[AbsoluteSchedule], str] = {
    kinds.Constant: "constant_schedule",
    kinds.Polynomial: "polynomial_schedule",
    kinds.Exponential: "exponential_decay",
    kinds.Cosine: "cosine_decay_schedule",
    kinds.PiecewiseConstant: "piecewise_constant_schedule",
    kinds.PiecewiseInterpolate: "piecewise_interpolate_schedule",
    kinds.LinearOnecycle: "linear_onecycle_schedule",
    kinds.CosineOnecycle: "cosine_onecycle_schedule",
    kinds.WarmupConstant: "warmup_constant_schedule",
    kinds.WarmupCosine: "warmup_cosine_decay_schedule",
    kinds.WarmupExponential: "warmup_exponential_decay_schedule",
}


def write_rate(value: Rate) -> str:
    """A number or schedule as code."""
    return write_schedule(value) if isinstance(value, Schedule) else code(value)


def write_schedule(schedule: Schedule, factor: float = 1.0) -> str:
    """The schedule as code, times ``factor``; NotRepresentable for schedules of other frameworks."""
    if factor != 1.0:
        return f"lambda count: {factor!r} * {_called(schedule)}"
    if isinstance(schedule, kinds.Scaled):
        return f"lambda count: {schedule.factor!r} * {_called(schedule.schedule)}"
    if isinstance(schedule, kinds.Written):
        return schedule.written.text
    if isinstance(schedule, kinds.Joined):
        parts = ", ".join(write_schedule(part) for part in schedule.schedules)
        return f"optax.join_schedules([{parts}], {[int(boundary) for boundary in schedule.boundaries]!r})"
    name = _WRITTEN.get(type(schedule))  # type: ignore[arg-type]
    if name is None:
        raise NotRepresentable(f"optax has no schedule like {schedule.name!r} ({schedule.label or schedule.formula})")
    values = schedule.values()
    if name == "polynomial_schedule" and values["power"] == 1.0:
        name = "linear_schedule"
        del values["power"]
    if "boundaries" in values:
        bounds, scales = values.pop("boundaries"), values.pop("scales")
        values["boundaries_and_scales"] = {int(k): s for k, s in zip(bounds, scales, strict=True)}
    defaults = {argument.name: argument.default for argument in TABLE[name].signature}
    inside = ", ".join(f"{key}={code(values[key])}" for key in defaults if values[key] != defaults[key])
    return f"optax.{name}({inside})"


def _called(schedule: Schedule) -> str:
    text = write_schedule(schedule)
    return f"({text})(count)" if text.startswith("lambda") else f"{text}(count)"
