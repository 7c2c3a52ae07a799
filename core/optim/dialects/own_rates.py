"""Learning rates that pasted Keras code works out itself: schedule classes, callbacks, rates set in the loop."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.number_functions import Unworkable, Worker
from core.optim.dialects.plain_functions import as_expression
from core.optim.dialects.rate_formulas import RateReader
from core.optim.dialects.torch_events import Event, rate_factor, read_events
from core.optim.dialects.torch_loop import play
from core.optim.dialects.turns import UNKNOWN, evaluate
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, ParseError, Place, Program, Statement
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.keras_plateau import KerasPlateau
from core.optim.schedules.stepped import FunctionRate, HandSetRate, RecursiveRate
from core.optim.schedules.worked_out import EachEpoch

RATES = ("learning_rate", "lr")
CASTS = ("cast", "convert_to_tensor", "constant", "float", "Variable", "identity")
PLATEAU = (
    Argument("monitor", "val_loss", "text"),
    Argument("factor", 0.1),
    Argument("patience", 10, "integer"),
    Argument("verbose", 0, "unused"),
    Argument("mode", "auto", "text"),
    Argument("min_delta", 1e-4),
    Argument("cooldown", 0, "integer"),
    Argument("min_lr", 0.0),
)
CURRENT = Attribute(Attribute(None, "param_groups[0]"), "[lr]")
"""The rate as it is, in the words of the player of loops."""
APPLYING = ("apply_gradients", "apply", "minimize", "train_on_batch", "fit")


def class_schedule(call: Call, node: ast.ClassDef, place: Place) -> AbsoluteSchedule:
    """The schedule of ``CustomSchedule(128)``, a LearningRateSchedule written in the text: its ``__call__``."""
    functions = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    rule = functions.get("__call__")
    if rule is None:
        raise place.error(f"{node.name} has no __call__(self, step), which is its rule")
    known = _attributes(functions.get("__init__"), call)
    body = as_expression(rule)
    if body is None or len(rule.args.args) < 2:
        raise place.error(
            f"{node.name}.__call__ is more than arithmetic with if and return; write it as one expression"
        )
    step = rule.args.args[1].arg
    return _from_expression(body, step, known, place, node.name)


def _attributes(init: ast.FunctionDef | None, call: Call) -> dict[str, Any]:
    """What ``self.name`` stands for after ``__init__`` with the arguments of ``call``."""
    known: dict[str, Any] = {}
    if init is None:
        return known
    arguments = [argument.arg for argument in (*init.args.posonlyargs, *init.args.args)][1:]
    defaults = init.args.defaults
    for name, default in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
        known[name] = evaluate(Opaque("", default, {}), {})
    known.update(zip(arguments, call.args, strict=False))
    known.update(call.kwargs)
    for part in init.body:
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute):
            value = evaluate(Opaque("", _Plain().visit(copy.deepcopy(part.value)), known), {})
            if value is not UNKNOWN:
                known[ast.unparse(part.targets[0])] = value
    return known


def _from_expression(body: ast.expr, step: str, known: dict[str, Any], place: Place, title: str) -> AbsoluteSchedule:
    body = _Plain().visit(copy.deepcopy(body))
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(step)], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    try:
        return FunctionRate(Formula(ast.Lambda(args=arguments, body=body), known), title)
    except ParseError:
        raise
    except SettingError as error:
        raise place.error(str(error)) from None


class _Plain(ast.NodeTransformer):
    """Takes casts away: ``tf.cast(step, tf.float32)`` is ``step``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func).split(".")[-1]
        return node.args[0] if name in CASTS and node.args else node


def callback_rate(program: Program, base: float) -> AbsoluteSchedule | None:
    """``LearningRateScheduler(function)``: the rate of each epoch from its number, and from the rate before it;
    ``ReduceLROnPlateau(...)``: from the losses so far.
    """
    calls = [call for call in program.calls() if call.receiver is None]
    plateaus = [call for call in calls if call.name == "ReduceLROnPlateau"]
    schedulers = [call for call in calls if call.name == "LearningRateScheduler" and (call.args or call.kwargs)]
    if not schedulers:
        return _plateau(plateaus[0], base) if plateaus else None
    call = schedulers[-1]
    function = call.args[0] if call.args else call.kwargs.get("schedule")
    node = function.node if isinstance(function, Opaque) else None
    if not isinstance(function, Opaque) or not isinstance(node, ast.FunctionDef | ast.Lambda):
        raise call.error("the function of this LearningRateScheduler is not in the text; paste it as well")
    if plateaus and len(node.args.args) > 1:
        raise call.error("ReduceLROnPlateau and this LearningRateScheduler change each other's rates; leave one out")
    found = _scheduler(function, node, call, base)
    epochs = steps_per_epoch(program)
    return found if epochs is None or epochs == 1 else EachEpoch(found, epochs)


def _scheduler(function: Opaque, node: ast.FunctionDef | ast.Lambda, call: Call, base: float) -> AbsoluteSchedule:
    """The rates of ``LearningRateScheduler(function)``, one an epoch."""
    body = as_expression(node) if isinstance(node, ast.FunctionDef) else node.body
    names = [argument.arg for argument in node.args.args]
    if isinstance(body, ast.expr) and names:
        known = {name: value for name, value in function.names.items() if name not in names[:2]}
        body = _Plain().visit(copy.deepcopy(body))
        rule = Opaque(function.text, body, known, call.place)
        epoch, rate = names[0], names[1] if len(names) > 1 else ""
        found = RecursiveRate(partial(_of_epoch, rule, epoch, rate), base, ast.unparse(body))
        if found.probe() is not None:
            return found
    read = RateReader(lambda inner: None)
    worker = Worker(lambda value: read.at(value, 0))

    def rate_of(k: int, lr: float) -> float | None:
        try:
            given = worker.run(node, [k, lr][: len(names)], {}, function.names)
        except Unworkable as error:
            raise SettingError(f"the rates of {function.text} cannot be worked out at epoch {k}: {error}") from None
        return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None

    try:
        found = RecursiveRate(rate_of, base, function.text)
        if found.probe() is None:
            raise SettingError(f"{function.text} gives no number")
    except SettingError as error:
        raise call.error(str(error)) from None
    return found


def steps_per_epoch(program: Program) -> int | None:
    """How many steps ``fit(..., steps_per_epoch=n)`` takes in an epoch, None where the text does not tell."""
    found = [call.kwargs["steps_per_epoch"] for call in program.calls() if "steps_per_epoch" in call.kwargs]
    return found[-1] if found and isinstance(found[-1], int) and found[-1] > 0 else None


def _plateau(call: Call, base: float) -> AbsoluteSchedule:
    """Keras' ReduceLROnPlateau; an epoch is one step here, as for every schedule that counts epochs."""
    values = bind(call, PLATEAU)
    monitor, mode = values.pop("monitor"), values.pop("mode")
    if monitor not in ("loss", "val_loss"):
        raise call.error(f"ReduceLROnPlateau watches {monitor!r}; here there is the loss only: monitor='loss'")
    del values["verbose"]
    values["min_delta"] = abs(values["min_delta"])
    try:
        return KerasPlateau(base, mode="max" if mode == "max" else "min", **values)
    except SettingError as error:
        raise call.error(str(error)) from None


def _of_epoch(rule: Opaque, epoch: str, rate: str, k: int, lr: float) -> float | None:
    value = evaluate(rule, {epoch: k, rate: lr} if rate else {epoch: k})
    return None if value is UNKNOWN or not isinstance(value, int | float) else float(value)


class _Sets:
    """Events of a Keras loop that only the rate matters in: rates set, steps taken."""

    def __init__(self, optimizer: Call) -> None:
        self.optimizer = optimizer

    def of(self, statement: Statement) -> Iterator[Event]:
        for target in (*statement.targets, *statement.stores):
            if self.is_rate(target):
                yield Event("rate", statement, self.with_rate(statement.value))
        value = statement.value
        if not isinstance(value, Call):
            return
        assigned = value.path[-1] == "assign" and self.is_rate(_owner(value))
        setting = value.path[-2:] in (("backend", "set_value"), ("K", "set_value")) and len(value.args) > 1
        if assigned and value.args:
            yield Event("rate", statement, self.with_rate(value.args[0]))
        elif setting and self.is_rate(value.args[0]):
            yield Event("rate", statement, self.with_rate(value.args[1]))
        elif value.path[-1] in APPLYING:
            yield Event("step", statement, value)

    def with_rate(self, value: Any) -> Any:
        """``value`` with the rate as it is (``K.get_value(optimizer.lr)``) in the words the player knows."""
        if isinstance(value, Call) and value.path[-1] in (*CASTS, "get_value", "numpy", "value", "read_value"):
            inside = value.args[0] if value.args else _owner(value)
            return self.with_rate(inside) if self.holds_rate(inside) else value
        if isinstance(value, Operation) and value.operator in ("*", "/"):
            return Operation(value.operator, self.with_rate(value.left), self.with_rate(value.right), value.place)
        return CURRENT if self.holds_rate(value) and not isinstance(value, Call) else value

    def holds_rate(self, value: Any) -> bool:
        inside = next(iter(value.args), None) if isinstance(value, Call) else None
        return self.is_rate(value) or (inside is not None and self.holds_rate(inside))

    def is_rate(self, value: Any) -> bool:
        """True for ``optimizer.learning_rate`` of this optimizer, and for ``model.optimizer.learning_rate``."""
        if isinstance(value, Attribute):
            return value.owner is self.optimizer and value.name in RATES
        text = value.text if isinstance(value, Name) else value
        return isinstance(text, str) and text.endswith((".optimizer.learning_rate", ".optimizer.lr"))


def _owner(call: Call) -> Any:
    """What a method is called on."""
    if call.receiver is None:
        return ".".join(call.path[:-1])
    return Attribute(call.receiver, ".".join(call.path[:-1])) if len(call.path) > 1 else call.receiver


def rate_in_loop(program: Program, optimizer: Call, base: float) -> float | AbsoluteSchedule:
    """The rate that lines of the text set after the construction: a number, or one for each turn of the loop."""
    events: Sequence[Event] = read_events(program, _Sets(optimizer))
    lines = [event for event in events if event.kind == "rate"]
    if not lines:
        return base
    if not any(event.turns or event.statement.function for event in lines) or not any(e.kind == "step" for e in events):
        for event in lines:
            value = evaluate(event.what, {})
            factor = rate_factor(event.what)
            if factor is not None:  # the rate there is, times a number
                share = evaluate(factor[1], {})
                value = UNKNOWN if share is UNKNOWN or (factor[0] == "/" and not share) else share
                if value is not UNKNOWN:
                    value = base * share if factor[0] == "*" else base / share
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise event.statement.place.error("the rate set here is no number; paste the loop that it belongs to")
            base = float(value)
        return base
    text = "; ".join(event.statement.place.quote for event in lines)
    found = HandSetRate(lambda: (one.rate for one in play(events, base)), base, text)
    found.at(0)
    return found
