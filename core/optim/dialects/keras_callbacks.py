"""Callbacks of one's own that set the learning rate: ``on_epoch_begin``, ``on_train_batch_begin`` and the like."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from core.declare import SettingError
from core.optim.dialects.number_functions import Bound, Unworkable, Worker, only_says
from core.optim.dialects.rate_formulas import RateReader
from core.optim.dialects.values import Call, Place, Program
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.stepped import HandSetRate

BATCHES = ("on_batch_begin", "on_train_batch_begin", "on_batch_end", "on_train_batch_end")
EPOCHS = ("on_epoch_begin", "on_epoch_end")
STARTS = ("on_train_begin",)
RATES = (".optimizer.learning_rate", ".optimizer.lr", ".optimizer._learning_rate")


def own_callback(program: Program, base: float) -> tuple[AbsoluteSchedule, bool] | None:
    """(the rates that a callback class of the text sets, whether once an epoch); None where none sets the rate."""
    try:
        tree = ast.parse(program.text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or not any("Callback" in ast.unparse(one) for one in node.bases):
            continue
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        setting = [name for name, part in methods.items() if _sets_rate(part)]
        if not setting:
            continue
        made = [
            call for call in program.calls() if call.path[-1] in (node.name, "__call__") and _makes(call, node.name)
        ]
        if not made:
            continue
        return _played(node.name, methods, made[-1], program, base), not set(methods) & set(BATCHES)
    return None


def _makes(call: Call, name: str) -> bool:
    return call.name == name or getattr(call.receiver, "text", "") == name


def _sets_rate(part: ast.FunctionDef) -> bool:
    for node in ast.walk(part):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target).endswith(RATES) for target in targets):
                return True
        if isinstance(node, ast.Call) and _set_by(node) is not None:
            return True
    return False


def _set_by(node: ast.Call) -> ast.expr | None:
    """The rate that ``K.set_value(optimizer.lr, x)`` or ``optimizer.learning_rate.assign(x)`` sets."""
    function = ast.unparse(node.func)
    if function.split(".")[-1] == "set_value" and len(node.args) == 2 and ast.unparse(node.args[0]).endswith(RATES):
        return node.args[1]
    if function.endswith(tuple(f"{rate}.assign" for rate in RATES)) and len(node.args) == 1:
        return node.args[0]
    return None


class _Setting(Worker):
    """Works a callback out and remembers the rate it sets."""

    def __init__(self, reader: RateReader, rate: float) -> None:
        super().__init__(lambda value: reader.at(value, 0))
        self.rate = rate

    def statement(self, node: ast.stmt, local: dict[str, Any]) -> None:
        call = node.value if isinstance(node, ast.Expr) else None
        given = _set_by(call) if isinstance(call, ast.Call) else None
        if given is not None:
            self.set(self.value(given, local))
        elif isinstance(node, ast.If) and "optimizer" in ast.unparse(node.test) and "hasattr" in ast.unparse(node.test):
            self.body([part for part in node.body if not isinstance(part, ast.Raise)], local)
        elif not (isinstance(node, ast.Expr) and _is_looked_at(node.value)):
            super().statement(node, local)

    def store(self, target: ast.expr, value: Any, local: dict[str, Any]) -> None:
        if ast.unparse(target).endswith(RATES):
            self.set(value)
        else:
            super().store(target, value, local)

    def attribute(self, node: ast.Attribute, local: Mapping[str, Any]) -> Any:
        return self.rate if ast.unparse(node).endswith(RATES) else super().attribute(node, local)

    def set(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unworkable("the rate it sets is no number")
        self.rate = float(value)


def _is_looked_at(node: ast.expr) -> bool:
    """A statement that keeps a record: ``self.rates.append(lr)``, ``logs.update(...)``."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("append", "update", "__init__")


def _played(
    name: str, methods: Mapping[str, ast.FunctionDef], made: Call, program: Program, base: float
) -> AbsoluteSchedule:
    """The rates of the callback, one for each step; without batch methods one for each epoch."""
    place: Place = made.place
    names = {key: value for key, value in program.names.items() if not key.startswith("self.")}
    watched = [key for key in (*EPOCHS, *BATCHES) if key in methods and _reads_logs(methods[key])]
    if watched:
        raise place.error(f"{name} sets the rate by what it is told of losses; ReduceLROnPlateau is understood")

    def rates() -> Iterator[float]:
        reader = RateReader(lambda call: None)
        worker = _Setting(reader, base)
        itself = Bound()

        def call(key: str, *given: Any) -> None:
            node = methods.get(key)
            if node is not None:
                worker.run(node, [itself, *given, {}][: len(node.args.args)], {}, names)

        try:
            init = methods.get("__init__")
            if init is not None:
                given = [reader.at(item, 0) for item in made.args]
                worker.run(init, [itself, *given], {key: reader.at(v, 0) for key, v in made.kwargs.items()}, names)
            for key in STARTS:
                call(key)
            by_batch = any(key in methods for key in BATCHES)
            if by_batch:
                call("on_epoch_begin", 0)
            k = 0
            while True:
                call("on_epoch_begin" if not by_batch else "on_train_batch_begin", k)
                call("on_batch_begin", k)
                yield worker.rate
                call("on_epoch_end" if not by_batch else "on_train_batch_end", k)
                call("on_batch_end", k)
                k += 1
        except Unworkable as error:
            raise SettingError(f"the rates that {name} sets cannot be worked out: {error}") from None

    try:
        found = HandSetRate(rates, base, name)
        found.at(2)
    except SettingError as error:
        raise place.error(str(error)) from None
    return found


def _reads_logs(node: ast.FunctionDef) -> bool:
    """Whether a method looks at the losses that it is told."""
    last = node.args.args[-1].arg if node.args.args else ""
    kept = {
        id(part)
        for one in ast.walk(node)
        if isinstance(one, ast.Expr) and (_is_looked_at(one.value) or only_says(one.value))
        for part in ast.walk(one)
    }
    return any(
        (isinstance(part, ast.Subscript) and ast.unparse(part.value) == last)
        or (isinstance(part, ast.Call) and ast.unparse(part.func) == f"{last}.get")
        for part in ast.walk(node)
        if id(part) not in kept
    )
