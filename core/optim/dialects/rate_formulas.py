"""Learning rates that TensorFlow and JAX code makes of other things: arithmetic of decays, tf.cond, own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from core.declare import SettingError
from core.optim.dialects.number_functions import Bound, Function, Unworkable, Worker
from core.optim.dialects.number_tables import CASTS, FUNCTIONS, MODULES
from core.optim.dialects.syntax import is_number
from core.optim.dialects.turns import OPERATORS
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place, describe
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.formula import CONSTANTS
from core.optim.schedules.worked_out import WorkedOutRate

STEP_MAKERS = frozenset(("get_or_create_global_step", "get_global_step", "create_global_step"))
STEP_NAMES = ("global_step", "step", "iterations", "global_steps", "curr_step", "current_step", "train_step", "batch")
"""What the counter of the steps is called where no line makes it."""
ReadSchedule = Callable[[Call], AbsoluteSchedule | None]


class RateReader:
    """Works out a value of the program for step ``k``; ``schedules`` reads the calls that make schedules.

    ``scheduled`` says which argument of such a call is the step it is given (TF1's decays), None where the schedule
    is a function to be called.
    """

    def __init__(self, schedules: ReadSchedule, step_argument: Callable[[Call], Any] | None = None) -> None:
        self.schedules = schedules
        self.step_argument = step_argument
        self.read_calls: dict[int, AbsoluteSchedule | None] = {}
        self.counts = False

    def at(self, value: Any, k: float) -> Any:
        """``value`` when k steps have been taken; Unworkable with what stands in the way."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return [self.at(item, k) for item in value]
        if isinstance(value, dict):
            return {key: self.at(item, k) for key, item in value.items()}
        if isinstance(value, Name):
            return self.name(value, k)
        if isinstance(value, Operation):
            return self.operation(value, k)
        if isinstance(value, Call):
            return self.call(value, k)
        if isinstance(value, Opaque):
            return self.opaque(value, k)
        if isinstance(value, Attribute) and value.name in STEP_NAMES:
            self.counts = True
            return k
        raise Unworkable(f"no line above says what {describe(value)} is; write a number for it")

    def name(self, value: Name, k: float) -> Any:
        if value.text in CONSTANTS:
            return CONSTANTS[value.text]
        if value.text.split(".")[-1] in STEP_NAMES:
            self.counts = True
            return k
        raise Unworkable(f"no line above says what {value.text} is")

    def operation(self, value: Operation, k: float) -> Any:
        left = self.at(value.left, k)
        if value.operator == "if":
            return self.at(value.right[0 if left else 1], k)
        if value.operator == "not":
            return not left
        if value.right is None and value.operator in ("-", "+"):
            return -left if value.operator == "-" else left
        right = self.at(value.right, k)
        function = OPERATORS.get(value.operator)
        if function is None or not isinstance(left, int | float) or not isinstance(right, int | float):
            raise Unworkable(f"{value.text or value.operator} is more than arithmetic")
        try:
            return function(left, right)
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise Unworkable(f"{value.text} cannot be worked out at step {k:g}: {error}") from None

    def call(self, value: Call, k: float) -> Any:
        schedule = self.schedule(value)
        if schedule is not None:
            given = None if self.step_argument is None else self.step_argument(value)
            if given is None and self.step_argument is not None:
                self.counts = True
                return schedule.at(k)  # type: ignore[arg-type]
            return schedule if self.step_argument is None else schedule.at(self.at(given, k))
        name = value.path[-1]
        if name in STEP_MAKERS:
            self.counts = True
            return k
        if value.receiver is not None:
            return self.method(value, k)
        if name in ("Variable", "get_variable"):
            return self.variable(value, k)
        if name in CASTS and (len(value.path) == 1 or value.path[0] in MODULES):
            inside = self.at(value.args[0] if value.args else next(iter(value.kwargs.values()), None), k)
            return int(inside) if name in ("int", "to_int32", "to_int64") and is_number(inside) else inside
        arguments = [self.at(item, k) for item in value.args]
        named = {key: self.at(item, k) for key, item in value.kwargs.items() if key not in ("name", "dtype", "strict")}
        if name in ("cond", "smart_cond"):
            named = {"pred": None, "true_fn": None, "false_fn": None, **named}
            test, then, other = (*arguments[:3], *list(named.values())[len(arguments[:3]) : 3])
            chosen = then if test else other
            return chosen(*arguments[3:]) if callable(chosen) else chosen
        function = FUNCTIONS.get(name)
        if function is None or (len(value.path) > 1 and value.path[0] not in MODULES):
            raise Unworkable(f"{value.dotted} is no function of numbers known here")
        try:
            return function(*arguments, **named)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
            raise Unworkable(f"{value.text} cannot be worked out at step {k:g}: {error}") from None

    def variable(self, value: Call, k: float) -> float:
        """``tf.Variable(0, trainable=False)``: the counter of the steps; other variables are not known."""
        start = value.args[0] if value.args and value.name == "Variable" else value.kwargs.get("initial_value")
        initializer = value.kwargs.get("initializer")
        if isinstance(initializer, Call) and initializer.args:
            start = initializer.args[0]
        if isinstance(initializer, Call) and initializer.name.startswith("zeros"):
            start = 0
        dtype = describe(value.kwargs.get("dtype", ""))
        start = self.at(start, k) if isinstance(start, Call) else start
        whole = isinstance(start, int) or (isinstance(start, float) and "int" in dtype)
        if not isinstance(start, int | float) or not whole or self.step_argument is None:
            raise Unworkable(f"{value.text} is a variable, and no line says what becomes of it")
        self.counts = True
        return start + k

    def method(self, value: Call, k: float) -> Any:
        name = value.path[-1]
        if value.path == ("__call__",):
            function = self.at(value.receiver, k)
            arguments = [self.at(item, k) for item in value.args]
            if isinstance(function, AbsoluteSchedule):
                return function.at(arguments[0])
            if callable(function):
                return function(*arguments, **{key: self.at(item, k) for key, item in value.kwargs.items()})
            raise Unworkable(f"{value.text} is not known")
        if name in CASTS and value.receiver is not None:
            return self.at(value.receiver, k)
        raise Unworkable(f"{value.text} is not known")

    def opaque(self, value: Opaque, k: float) -> Any:
        worker = Worker(lambda inner: self.at(inner, k))
        if isinstance(value.node, ast.FunctionDef | ast.Lambda):
            return Function(value.node, value.names, worker)
        if isinstance(value.node, ast.expr):
            return worker.value(value.node, dict(value.names))
        raise Unworkable(f"{value.text} is not known")

    def schedule(self, value: Call) -> AbsoluteSchedule | None:
        if id(value) not in self.read_calls:
            self.read_calls[id(value)] = own_object(self, value) or self.schedules(value)
        return self.read_calls[id(value)]


def own_object(reader: RateReader, call: Call) -> AbsoluteSchedule | None:
    """The schedule of ``CustomSchedule(128)``, a class of the text with a ``__call__(self, step)``."""
    node = call.receiver.node if isinstance(call.receiver, Opaque) else None
    if call.path != ("__call__",) or not isinstance(node, ast.ClassDef):
        return None
    functions = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    rule = functions.get("__call__")
    if rule is None:
        return None
    names = {name: value for name, value in call.receiver.names.items() if not name.startswith("self.")}
    worker = Worker(lambda inner: reader.at(inner, 0))
    itself = Bound()
    init = functions.get("__init__")
    if init is not None:
        arguments = [reader.at(item, 0) for item in call.args]
        named = {key: reader.at(item, 0) for key, item in call.kwargs.items()}
        worker.run(init, [itself, *arguments], named, names)
    for name, part in functions.items():
        if name not in ("__init__", "__call__"):
            itself.attributes.setdefault(name, _method(part, itself, names, worker))
    assert rule is not None

    def value(k: float) -> Any:
        return worker.run(rule, [itself, k], {}, names)

    return worked_out(value, node.name, call.place, node.name)


def _method(node: ast.FunctionDef, itself: Bound, names: Mapping[str, Any], worker: Worker) -> Callable[..., Any]:
    return lambda *args, **kwargs: worker.run(node, [itself, *args], kwargs, names)


def worked_out(value: Callable[[float], Any], text: str, place: Place, title: str = "") -> WorkedOutRate:
    """The schedule of a function of the step, tried at the first steps; ParseError where it gives no number."""

    def number(k: int) -> float:
        try:
            found = value(k)
        except Unworkable as error:
            raise SettingError(f"the learning rate cannot be worked out at step {k}: {error}") from None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise SettingError(f"the learning rate at step {k} is no number")
        return float(found)

    try:
        found = WorkedOutRate(number, text, title)
        found.at(1)
    except SettingError as error:
        raise place.error(str(error)) from None
    return found


def rate_of_step(value: Any, place: Place, reader: RateReader) -> float | AbsoluteSchedule:
    """What a learning rate of the code amounts to: a number, or a rate for each step."""
    try:
        first = reader.at(value, 0)
        if isinstance(first, AbsoluteSchedule):
            return first
        if callable(first):
            return worked_out(lambda k: _called(reader.at(value, k), k), describe(value), place)
    except Unworkable as error:
        raise place.error(f"this learning rate cannot be worked out: {error}") from None
    if not reader.counts and isinstance(first, int | float) and not isinstance(first, bool):
        return float(first)
    return worked_out(lambda k: reader.at(value, k), describe(value), place)


def _called(function: Any, k: float) -> Any:
    node = getattr(function, "node", None)
    takes = node is None or node.args.args or node.args.posonlyargs
    return function(k) if takes else function()
