"""Works out the number that a function of pasted code returns: assignments, ``if``, loops over ranges, arithmetic.

Nothing is executed: every node is one of a short list, every function one of a table of numbers to numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.optim.dialects.number_tables import CASTS, CONSTANTS, FUNCTIONS, MODULES, SAID, WHOLE, choose, first
from core.optim.dialects.values import Call, Name, Opaque, Operation
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.formula import SYMBOLS

Node = ast.FunctionDef | ast.Lambda
LONGEST_LOOP = 10_000


class Unworkable(Exception):
    """The number cannot be worked out from the text; the argument says what stands in the way."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Function:
    """A function of the text, or a lambda, with the names it sees."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, scope: Mapping[str, Any], worker: Worker) -> None:
        self.node, self.scope, self.worker = node, scope, worker

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.worker.run(self.node, args, kwargs, self.scope)


class Bound:
    """An object of a class of the text: what its ``__init__`` has set."""

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}


class Worker:
    """Works functions out; ``read`` turns what the reader of the program found (a schedule's call) into a value."""

    def __init__(self, read: Callable[[Any], Any] | None = None) -> None:
        self.read = read
        self.depth = 0

    def run(
        self,
        node: ast.FunctionDef | ast.Lambda,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        scope: Mapping[str, Any],
    ) -> Any:
        """What the function gives for these arguments."""
        local = {**scope, **self.arguments(node, args, kwargs, scope)}
        self.depth += 1
        try:
            if self.depth > 50:
                raise Unworkable("its functions call one another without end")
            if isinstance(node, ast.Lambda):
                return self.value(node.body, local)
            self.body(node.body, local)
        except _Return as found:
            return found.value
        except (ZeroDivisionError, OverflowError, ValueError, TypeError, IndexError, KeyError) as error:
            raise Unworkable(f"it cannot be worked out: {error}") from None
        finally:
            self.depth -= 1
        return None

    def arguments(
        self,
        node: ast.FunctionDef | ast.Lambda,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        scope: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The arguments by name, defaults filled in."""
        given = node.args
        names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        if len(args) > len(names) and given.vararg is None:
            raise Unworkable(f"it takes {len(names)} arguments")
        local: dict[str, Any] = {}
        for name, default in zip(names[len(names) - len(given.defaults) :], given.defaults, strict=True):
            local[name] = self.value(default, scope)
        for argument, default_or_none in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if default_or_none is not None:
                local[argument.arg] = self.value(default_or_none, scope)
        if given.vararg is not None:
            local[given.vararg.arg] = tuple(args[len(names) :])
        local.update(zip(names, args, strict=False))
        known = {*names, *(argument.arg for argument in given.kwonlyargs)}
        local.update({key: value for key, value in kwargs.items() if key in known or given.kwarg is not None})
        missing = [name for name in known if name not in local]
        if missing:
            raise Unworkable(f"the argument {missing[0]} is not given")
        return local

    # statements ------------------------------------------------------------------------------------------------

    def body(self, nodes: Iterable[ast.stmt], local: dict[str, Any]) -> None:
        for node in nodes:
            self.statement(node, local)

    def statement(self, node: ast.stmt, local: dict[str, Any]) -> None:
        if isinstance(node, ast.Return):
            raise _Return(None if node.value is None else self.value(node.value, local))
        if isinstance(node, ast.Assign):
            value = self.value(node.value, local)
            for target in node.targets:
                self.store(target, value, local)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.store(node.target, self.value(node.value, local), local)
        elif isinstance(node, ast.AugAssign):
            before = self.value(node.target, local)
            self.store(node.target, self.pair(node.op, before, self.value(node.value, local)), local)
        elif isinstance(node, ast.If):
            self.body(node.body if self.truth(node.test, local) else node.orelse, local)
        elif isinstance(node, ast.For):
            self.loop(node, local)
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    local[item.optional_vars.id] = None
            self.body(node.body, local)
        elif isinstance(node, ast.FunctionDef):
            local[node.name] = Function(node, local, self)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant) and not only_says(node.value):
                raise Unworkable(f"{ast.unparse(node.value)} does something else than work out a number")
        elif isinstance(node, ast.Raise):
            raise Unworkable(f"it raises an error there: {ast.unparse(node)}")
        elif not isinstance(node, ast.Pass | ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            raise Unworkable(f"{ast.unparse(node).splitlines()[0]} is more than arithmetic")

    def loop(self, node: ast.For, local: dict[str, Any]) -> None:
        walked = self.value(node.iter, local)
        if not isinstance(walked, range | list | tuple) or len(walked) > LONGEST_LOOP:
            raise Unworkable(f"what {ast.unparse(node.iter)} walks over is not known")
        if any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node)):
            raise Unworkable("it leaves a loop early")
        for item in walked:
            self.store(node.target, item, local)
            self.body(node.body, local)

    def store(self, target: ast.expr, value: Any, local: dict[str, Any]) -> None:
        if isinstance(target, ast.Name):
            local[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, list | tuple):
            for part, item in zip(target.elts, value, strict=True):
                self.store(part, item, local)
        elif isinstance(target, ast.Attribute) and isinstance(owner := self.value(target.value, local), Bound):
            owner.attributes[target.attr] = value
        else:
            raise Unworkable(f"{ast.unparse(target)} is set there")

    # expressions -----------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr, local: Mapping[str, Any]) -> bool:
        value = self.value(node, local)
        if isinstance(value, Name | Call | Operation | Opaque):
            raise Unworkable(f"{ast.unparse(node)} is not known")
        return bool(value)

    def value(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.name(node.id, local)
        if isinstance(node, ast.Attribute):
            return self.attribute(node, local)
        if isinstance(node, ast.Call):
            return self.call(node, local)
        if isinstance(node, ast.BinOp):
            return self.pair(node.op, self.value(node.left, local), self.value(node.right, local))
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return not self.truth(node.operand, local)
            inside = self.value(node.operand, local)
            return -inside if isinstance(node.op, ast.USub) else inside
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And)
            value: Any = every
            for part in node.values:
                value = self.value(part, local)
                if bool(value) is not every:
                    break
            return value
        if isinstance(node, ast.Compare):
            return self.compared(node, local)
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self.truth(node.test, local) else node.orelse, local)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(part, local) for part in node.elts]
        if isinstance(node, ast.Dict) and None not in node.keys:
            keys = [self.value(key, local) for key in node.keys if key is not None]
            return dict(zip(keys, [self.value(part, local) for part in node.values], strict=True))
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value, local)
            if isinstance(node.slice, ast.Slice):
                raise Unworkable(f"{ast.unparse(node)} is a part of a list")
            return owner[self.value(node.slice, local)]
        if isinstance(node, ast.Lambda):
            return Function(node, local, self)
        if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
            return self.comprehension(node, local)
        raise Unworkable(f"{ast.unparse(node)} is more than arithmetic")

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, local: Mapping[str, Any]) -> list[Any]:
        generator = node.generators[0]
        walked = self.value(generator.iter, local)
        if not isinstance(walked, range | list | tuple | dict) or len(walked) > LONGEST_LOOP:
            raise Unworkable(f"what {ast.unparse(generator.iter)} walks over is not known")
        found = []
        for item in walked:
            inner = dict(local)
            self.store(generator.target, item, inner)
            if all(self.truth(test, inner) for test in generator.ifs):
                found.append(self.value(node.elt, inner))
        return found

    def name(self, name: str, local: Mapping[str, Any]) -> Any:
        if name not in local:
            if name in FUNCTIONS or name in CASTS:
                return FUNCTIONS.get(name, first)
            raise Unworkable(f"no line above says what {name} is")
        return self.plain(local[name])

    def plain(self, value: Any) -> Any:
        """What the reader of the program found, as something to compute with."""
        if isinstance(value, Opaque) and isinstance(value.node, ast.FunctionDef | ast.Lambda):
            return Function(value.node, value.names, self)
        if isinstance(value, Name):
            raise Unworkable(f"no line above says what {value.text} is")
        if isinstance(value, Call | Operation | Opaque) and self.read is not None:
            return self.read(value)
        return value

    def attribute(self, node: ast.Attribute, local: Mapping[str, Any]) -> Any:
        text = ast.unparse(node)
        if text in local:
            return self.plain(local[text])
        root = text.split(".")[0]
        if root not in local:
            if node.attr in CONSTANTS and root in MODULES:
                return CONSTANTS[node.attr]
            raise Unworkable(f"no line above says what {text} is")
        owner = self.value(node.value, local)
        if isinstance(owner, Bound):
            if node.attr not in owner.attributes:
                raise Unworkable(f"no line above says what {text} is")
            return self.plain(owner.attributes[node.attr])
        raise Unworkable(f"{text} is not known")

    def call(self, node: ast.Call, local: Mapping[str, Any]) -> Any:
        function = self.function(node.func, local)
        name = ast.unparse(node.func).split(".")[-1]
        args: list[Any] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                args += list(self.value(part.value, local))
            else:
                args.append(self.value_or_type(part, local) if function is first else self.value(part, local))
        if name in ("cond", "case", "smart_cond") and function is choose:
            return self.condition(args, {k.arg: self.value(k.value, local) for k in node.keywords if k.arg}, node)
        kwargs = {
            keyword.arg: self.value(keyword.value, local)
            for keyword in node.keywords
            if keyword.arg is not None and keyword.arg not in ("name", "dtype", "axis", "keepdims", "trainable")
        }
        if isinstance(function, AbsoluteSchedule):
            return function.at(args[0] if args else next(iter(kwargs.values())))
        if function is first:
            owner = args[0] if args else next(iter(kwargs.values()), None)
            return int(owner) if name in WHOLE and isinstance(owner, float) else owner
        return function(*args, **kwargs)

    def value_or_type(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        """An argument of a cast: the number, or None for the type."""
        try:
            return self.value(node, local)
        except Unworkable:
            if isinstance(node, ast.Attribute | ast.Constant):
                return None
            raise

    def condition(self, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call) -> Any:
        """``tf.cond(test, then, other)`` and ``jax.lax.cond(test, then, other, *operands)``."""
        test = args[0] if args else kwargs.get("pred")
        then = args[1] if len(args) > 1 else kwargs.get("true_fn")
        other = args[2] if len(args) > 2 else kwargs.get("false_fn")
        chosen = then if test else other
        if not callable(chosen):
            raise Unworkable(f"{ast.unparse(node)} has no functions to choose from")
        return chosen(*args[3:])

    def function(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        """What is called: a function of the text, a schedule, or one of the table."""
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            root, last = text.split(".")[0], node.attr
            if text not in local and root not in local and isinstance(_root(node), ast.Name):
                if root in MODULES and (last in FUNCTIONS or last in CASTS or last in ("cond", "smart_cond")):
                    return choose if last in ("cond", "smart_cond") else FUNCTIONS.get(last, first)
                raise Unworkable(f"{text} is no function of numbers known here")
            try:
                return self.value(node, local)
            except Unworkable:
                if last in CASTS:  # step.numpy(), x.astype(float)
                    owner = self.value(node.value, local)
                    return lambda *args, **kwargs: owner
                raise
        if isinstance(node, ast.Name) and node.id in ("cond",) and node.id not in local:
            return choose
        found = self.value(node, local)
        if not callable(found) and not isinstance(found, AbsoluteSchedule):
            raise Unworkable(f"{ast.unparse(node)} is no function of numbers known here")
        return found

    def pair(self, op: ast.operator, left: Any, right: Any) -> Any:
        function = SYMBOLS.get(type(op))
        lists = isinstance(left, list) and isinstance(right, list) and isinstance(op, ast.Add)
        numbers = all(isinstance(value, int | float) for value in (left, right))
        if function is None or not (numbers or lists):
            raise Unworkable("it computes with something that is no number")
        return function(left, right)

    def compared(self, node: ast.Compare, local: Mapping[str, Any]) -> bool:
        values = [self.value(part, local) for part in (node.left, *node.comparators)]
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                held = (left in right) is isinstance(op, ast.In)
            elif isinstance(op, ast.Is | ast.IsNot):
                held = (left is right) is isinstance(op, ast.Is)
            else:
                held = bool(SYMBOLS[type(op)](left, right))
            if not held:
                return False
        return True


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def only_says(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1].split("(")[0] in SAID | {"__init__"}
