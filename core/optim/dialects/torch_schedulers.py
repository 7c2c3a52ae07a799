"""torch.optim.lr_scheduler: constructor calls to schedules, and back."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind, number
from core.optim.dialects.known_values import is_number
from core.optim.dialects.plain_functions import Inlined, applied
from core.optim.dialects.recipes import code, same_value
from core.optim.dialects.torch_optimizers import BY_NAME
from core.optim.dialects.transformers_schedules import NAMES as TRANSFORMERS
from core.optim.dialects.transformers_schedules import WARM_UPS, named_schedule, warm_up_schedule
from core.optim.dialects.values import Call, NotRepresentable, Opaque, ParseError, Place, place_of
from core.optim.schedules import Schedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.torch_combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from core.optim.schedules.torch_cycles import (
    SWALR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    OneCycleLR,
)
from core.optim.schedules.torch_factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from core.optim.schedules.torch_rig import Chainable

OPTIMIZER = Argument("optimizer", None, "skip")


def _no_resuming(value: Any, place: Place) -> int:
    if value == -1:
        return -1
    raise place.error("last_epoch resumes a run that is not here; leave it out and fork the run at its step instead")


def _function(value: Any, place: Place) -> Formula | None:
    """A lambda or one-line function as a formula, or a list of them (one a parameter group)."""
    if value is None:
        return None
    place = place_of(value, place)
    held: dict[str, ast.expr] = {}
    if isinstance(value, Call) and value.receiver is None and value.name == "partial" and value.args:
        held = {name: ast.Constant(given) for name, given in value.kwargs.items() if is_number(given)}
        value = value.args[0] if len(held) == len(value.kwargs) and len(value.args) == 1 else None
    if not isinstance(value, Opaque) or not isinstance(value.node, ast.Lambda | ast.FunctionDef):
        raise place.error("a function of the step is needed here: lambda k: 0.95 ** k")
    node, names = value.node, value.names
    if held or isinstance(node, ast.FunctionDef):
        step = next(iter(argument.arg for argument in (*node.args.posonlyargs, *node.args.args)), "")
        body = applied(node, {}, [ast.Name(step, ast.Load())], held)
        if body is None:
            raise place.error(f"{value.text} is more than one return of arithmetic; write it as a lambda")
        one = ast.arguments([], [ast.arg(step)], None, [], [], None, [])
        node = ast.copy_location(ast.Lambda(one, body), node)

    def known(name: str) -> tuple[ast.AST, Mapping[str, Any]] | None:
        found = names.get(name)
        return (found.node, found.names) if isinstance(found, Opaque) else None

    try:
        body = Inlined(known).visit(copy.deepcopy(node.body))
        return Formula(ast.copy_location(ast.Lambda(node.args, body), node), names)
    except SettingError as error:
        raise place.error(str(error)) from None


def _per_group(one: Callable[[Any, Place], Any]) -> Callable[[Any, Place], Any]:
    def convert(value: Any, place: Place) -> Any:
        if isinstance(value, list | tuple):
            return [one(item, place) for item in value]
        return one(value, place)

    return convert


def _float(value: Any, place: Place) -> float | int:
    return number(value, place, "a rate or momentum")


FLOATS = _per_group(_float)
FUNCTIONS = _per_group(_function)
LAST = Argument("last_epoch", -1, _no_resuming)
VERBOSE = Argument("verbose", None, "unused")


def _of(kind: type[Schedule], **renamed: str) -> tuple[Argument, ...]:
    """The arguments of a scheduler whose parameters bear PyTorch's names (or those in ``renamed``)."""
    kinds = {"integer": "integer", "switch": "boolean", "choice": "text", "list": "numbers"}
    found = []
    for parameter in kind.parameters:
        name = kinds.get(parameter.scale, "number") + ("?" if parameter.optional else "")
        found.append(Argument(renamed.get(parameter.key, parameter.key), parameter.default, name))
    return tuple(found)


def _simple(kind: type[Schedule], order: Sequence[str], **renamed: str) -> tuple[type[Schedule], tuple[Argument, ...]]:
    arguments = {argument.name: argument for argument in _of(kind, **renamed)}
    return kind, (OPTIMIZER, *[arguments[name] for name in order], LAST, VERBOSE)


SIMPLE: dict[str, tuple[type[Schedule], tuple[Argument, ...]]] = {
    "StepLR": _simple(StepLR, ("step_size", "gamma")),
    "MultiStepLR": _simple(MultiStepLR, ("milestones", "gamma")),
    "ConstantLR": _simple(ConstantLR, ("factor", "total_iters"), scale="factor"),
    "LinearLR": _simple(LinearLR, ("start_factor", "end_factor", "total_iters")),
    "ExponentialLR": _simple(ExponentialLR, ("gamma",)),
    "PolynomialLR": _simple(PolynomialLR, ("total_iters", "power")),
    "CosineAnnealingLR": _simple(CosineAnnealingLR, ("T_max", "eta_min")),
    "CosineAnnealingWarmRestarts": _simple(CosineAnnealingWarmRestarts, ("T_0", "T_mult", "eta_min")),
}
REQUIRED_HERE = {
    "StepLR": ("step_size",),
    "MultiStepLR": ("milestones",),
    "ExponentialLR": ("gamma",),
    "CosineAnnealingLR": ("T_max",),
    "CosineAnnealingWarmRestarts": ("T_0",),
}
PLATEAU = (OPTIMIZER, *_of(ReduceLROnPlateau), VERBOSE)
TORCH_DEFAULTS: dict[str, Any] = {"total_iters": 5}
ONE_CYCLE = (
    OPTIMIZER,
    Argument("max_lr", kind=FLOATS),
    Argument("total_steps", None, "integer?"),
    Argument("epochs", None, "integer?"),
    Argument("steps_per_epoch", None, "integer?"),
    Argument("pct_start", 0.3),
    Argument("anneal_strategy", "cos", "text"),
    Argument("cycle_momentum", True, "boolean"),
    Argument("base_momentum", 0.85, FLOATS),
    Argument("max_momentum", 0.95, FLOATS),
    Argument("div_factor", 25.0),
    Argument("final_div_factor", 1e4),
    Argument("three_phase", False, "boolean"),
    LAST,
    VERBOSE,
)
CYCLIC = (
    OPTIMIZER,
    Argument("base_lr", kind=FLOATS),
    Argument("max_lr", kind=FLOATS),
    Argument("step_size_up", 2000, "integer"),
    Argument("step_size_down", None, "integer?"),
    Argument("mode", "triangular", "text"),
    Argument("gamma", 1.0),
    Argument("scale_fn", None, _function),
    Argument("scale_mode", "cycle", "text"),
    Argument("cycle_momentum", True, "boolean"),
    Argument("base_momentum", 0.8, FLOATS),
    Argument("max_momentum", 0.9, FLOATS),
    LAST,
    VERBOSE,
)
LAMBDA = (OPTIMIZER, Argument("lr_lambda", kind=FUNCTIONS), LAST, VERBOSE)
SEQUENTIAL = (
    OPTIMIZER,
    Argument("schedulers", kind="any"),
    Argument("milestones", kind="numbers"),
    LAST,
    VERBOSE,
)
SWA = (
    OPTIMIZER,
    Argument("swa_lr", kind="number"),
    Argument("anneal_epochs", 10, "integer"),
    Argument("anneal_strategy", "cos", "text"),
    LAST,
)
CHAINED = (Argument("schedulers", kind="any"), Argument("optimizer", None, "skip"))
NAMES = frozenset(
    {*SIMPLE, "ReduceLROnPlateau", "OneCycleLR", "CyclicLR", "LambdaLR", "MultiplicativeLR", "SequentialLR"}
    | {"ChainedScheduler", "SWALR"}
)


def build_schedule(call: Call, group: int = 0) -> Schedule:
    """The schedule of a constructor call, for one parameter group (lists of rates have one entry a group)."""
    try:
        return _build(call, group)
    except ParseError:
        raise
    except SettingError as error:
        raise call.error(str(error)) from None


def _rate_of(call: Call) -> float | None:
    """The rate of the optimizer that a schedule is made for, where the text makes that optimizer."""
    made = call.args[0] if call.args else call.kwargs.get("optimizer")
    if not isinstance(made, Call) or made.receiver is not None or made.name not in BY_NAME:
        return None
    rate: float = BY_NAME[made.name].bind(made)["lr"]
    return rate


def _build(call: Call, group: int) -> Schedule:
    call = named_schedule(call)
    name = call.name
    if name in SIMPLE:
        kind, signature = SIMPLE[name]
        values = bind(call, _required(name, signature))
        values = {key: value for key, value in values.items() if key not in ("optimizer", "last_epoch", "verbose")}
        if kind is ConstantLR:
            values["scale"] = values.pop("factor")
        return kind(**values)
    if name == "ReduceLROnPlateau":
        values = bind(call, PLATEAU)
        return ReduceLROnPlateau(**_without(values, "optimizer", "verbose"))
    if name == "SWALR":
        return SWALR(**_without(bind(call, SWA), "optimizer"))
    if name in WARM_UPS:
        return warm_up_schedule(call, _rate_of(call))
    if name == "OneCycleLR":
        return _one_cycle(call, bind(call, ONE_CYCLE), group)
    if name == "CyclicLR":
        return _cyclic(call, bind(call, CYCLIC), group)
    if name in ("LambdaLR", "MultiplicativeLR"):
        function = _pick(bind(call, LAMBDA)["lr_lambda"], group, call)
        return LambdaLR(function) if name == "LambdaLR" else MultiplicativeLR(function)
    if name == "SequentialLR":
        values = bind(call, SEQUENTIAL)
        return SequentialLR(_parts(call, values["schedulers"], group), milestones=values["milestones"])
    values = bind(call, CHAINED)
    return chained(_parts(call, values["schedulers"], group), call)


def chained(parts: Sequence[Schedule], call: Call) -> ChainedScheduler:
    """Schedules that all act at each step, each on what the one before it left."""
    good = [part for part in parts if isinstance(part, Chainable)]
    if len(good) != len(parts):
        raise call.error("a scheduler that watches the loss (ReduceLROnPlateau) cannot be combined with others here")
    return ChainedScheduler(good)


def _required(name: str, signature: Sequence[Argument]) -> list[Argument]:
    """The signature with PyTorch's own defaults: some arguments have none there."""
    result = []
    for argument in signature:
        if argument.name in REQUIRED_HERE.get(name, ()):
            argument = Argument(argument.name, kind=argument.kind)
        elif argument.name in TORCH_DEFAULTS:
            argument = argument._replace(default=TORCH_DEFAULTS[argument.name])
        elif name == "ExponentialLR" and argument.name == "gamma":
            argument = Argument("gamma")
        result.append(argument)
    return result


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in (*names, "last_epoch")}


def _pick(value: Any, group: int, call: Call) -> Any:
    if not isinstance(value, list):
        return value
    if group >= len(value):
        raise call.error(f"{call.name}: a list needs one entry for each parameter group, {len(value)} were given")
    return value[group]


def _one_cycle(call: Call, values: dict[str, Any], group: int) -> Schedule:
    total = values["total_steps"]
    if total is None:
        if values["epochs"] is None or values["steps_per_epoch"] is None:
            raise call.error("OneCycleLR needs total_steps, or both epochs and steps_per_epoch")
        total = values["epochs"] * values["steps_per_epoch"]
    for key in ("max_lr", "base_momentum", "max_momentum"):
        values[key] = _pick(values[key], group, call)
    kept = _without(values, "optimizer", "verbose", "epochs", "steps_per_epoch", "total_steps")
    return OneCycleLR(total_steps=total, **kept)


def _cyclic(call: Call, values: dict[str, Any], group: int) -> Schedule:
    for key in ("base_lr", "max_lr", "base_momentum", "max_momentum"):
        values[key] = _pick(values[key], group, call)
    if values["scale_fn"] is not None:
        values["mode"] = "own"
    if values["scale_mode"] not in ("cycle", "iterations"):
        raise call.error(f"CyclicLR: scale_mode is 'cycle' or 'iterations', not {values['scale_mode']!r}")
    return CyclicLR(**_without(values, "optimizer", "verbose"))


def _parts(call: Call, value: Any, group: int) -> list[Schedule]:
    if not isinstance(value, list | tuple) or not value:
        raise call.error(f"{call.name}: schedulers is a list of schedulers")
    parts = []
    for item in value:
        if not isinstance(item, Call) or (item.name not in NAMES and item.name not in TRANSFORMERS):
            raise place_of(item, call.place).error(f"{call.name}: this is not a scheduler known here")
        parts.append(build_schedule(item, group))
    return parts


# writing ------------------------------------------------------------------------------------------------------------


def write_schedule(schedule: Schedule, optimizer: str = "optimizer") -> str:
    """The constructor call of a schedule; NotRepresentable when PyTorch has no such scheduler."""
    name = schedule.name
    if name not in NAMES:
        raise NotRepresentable(f"torch.optim.lr_scheduler has nothing like {schedule.label!r} ({schedule.formula})")
    prefix = f"torch.optim.{'swa_utils' if name == 'SWALR' else 'lr_scheduler'}.{name}"
    if isinstance(schedule, SequentialLR):
        parts = ", ".join(write_schedule(part, optimizer) for part in schedule.parts)
        milestones = code([_whole(m) for m in schedule.milestones])
        return f"{prefix}({optimizer}, [{parts}], milestones={milestones})"
    if isinstance(schedule, ChainedScheduler):
        return f"{prefix}([{', '.join(write_schedule(part, optimizer) for part in schedule.parts)}])"
    if isinstance(schedule, LambdaLR | MultiplicativeLR):
        return f"{prefix}({optimizer}, {schedule.function.text})"
    values = schedule.values()
    signature: Sequence[Argument]
    if isinstance(schedule, CyclicLR):
        signature = CYCLIC
        if schedule.scale_fn is not None:
            values.update(scale_fn=schedule.scale_fn, scale_mode=schedule.scale_mode, mode="triangular")
    elif isinstance(schedule, OneCycleLR):
        signature = ONE_CYCLE
    elif isinstance(schedule, ReduceLROnPlateau):
        signature = PLATEAU
    elif isinstance(schedule, SWALR):
        signature = SWA
    else:
        signature = _required(name, SIMPLE[name][1])
        if isinstance(schedule, ConstantLR):
            values["factor"] = values.pop("scale")
    written = [optimizer]
    for argument in signature:
        if argument.name in values and not same_value(values[argument.name], argument.default):
            value = values[argument.name]
            if argument.name == "milestones":
                value = [_whole(m) for m in value]
            written.append(f"{argument.name}={value.text if isinstance(value, Formula) else code(value)}")
    return f"{prefix}({', '.join(written)})"


def write_schedules(schedules: Sequence[Schedule | None]) -> str:
    """The constructor call for the schedules of all parameter groups, '' for none: what differs becomes a list."""
    first = schedules[0]
    if all(_settings(other) == _settings(first) for other in schedules):
        return "" if first is None else write_schedule(first)
    found = [schedule for schedule in schedules if schedule is not None]
    if first is None or len(found) < len(schedules) or any(type(other) is not type(first) for other in found):
        raise NotRepresentable("PyTorch's schedulers act on all parameter groups alike; here they differ in kind")
    texts = [write_schedule(schedule) for schedule in found]
    calls = [ast.parse(text, mode="eval").body for text in texts]
    merged = _merged([call for call in calls if isinstance(call, ast.Call)])
    return ast.unparse(merged)


LISTS = {"max_lr", "base_lr", "base_momentum", "max_momentum", "lr_lambda"}
"""Arguments for which PyTorch takes one value a parameter group."""


def _settings(schedule: Schedule | None) -> Any:
    return None if schedule is None else schedule.settings()


def _merged(calls: Sequence[ast.Call]) -> ast.Call:
    """One call, with lists where the calls differ; NotRepresentable where PyTorch takes no list."""
    first = calls[0]
    keywords = [{keyword.arg: keyword.value for keyword in call.keywords} for call in calls]
    names = list(dict.fromkeys(name for known in keywords for name in known))
    positional: list[ast.expr] = []
    for values in zip(*[call.args for call in calls], strict=True):
        alike = len({ast.unparse(value) for value in values}) == 1
        positional.append(values[0] if alike else ast.List(list(values), ast.Load()))
    written = []
    for name in names:
        found = [known[name] for known in keywords if name in known]
        if len(found) == len(calls) and len({ast.unparse(value) for value in found}) == 1:
            written.append(ast.keyword(name, found[0]))
        elif name in LISTS and len(found) == len(calls):
            written.append(ast.keyword(name, ast.List(found, ast.Load())))
        else:
            raise NotRepresentable(f"{ast.unparse(first.func)} takes one {name} for all parameter groups")
    return ast.Call(first.func, positional, written)


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
