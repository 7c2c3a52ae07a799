"""Reads pasted code without running it: ``ast`` in, a Program of plain values and calls out."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Sequence
from typing import Any

from core.optim.dialects.expressions import BINARY, ExpressionReader, compute, dotted_name
from core.optim.dialects.expressions import is_number as is_number
from core.optim.dialects.plain_functions import as_expression
from core.optim.dialects.values import (
    Attribute,
    Call,
    Loop,
    Name,
    Opaque,
    Operation,
    ParseError,
    Program,
    Statement,
)
from core.optim.schedules.formula import FUNCTIONS

LONGEST_TEXT = 200_000
Conditions = tuple[Any, ...]
LEAVING = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def read_program(text: str) -> Program:
    """The statements of ``text``; loops, ``with`` and ``if`` are read through once, functions kept as formulas.

    Raises ParseError with line and column when the text is not Python, or too long to be an optimizer.
    """
    if not isinstance(text, str):
        raise ParseError(f"code is text, not {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise ParseError(f"{len(text)} characters are too long for optimizer code; paste only the lines that set it up")
    reader = _Reader(text)
    try:
        with warnings.catch_warnings():
            # Python's own opinion of a half-typed line ("invalid decimal literal") is nobody's business here
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(reader.source)
        reader.body(tree.body, ())
    except SyntaxError as error:
        raise reader.at(error.lineno or 1, error.offset or 1).error(f"this is not Python: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ParseError("the code is nested too deeply to be read") from None
    except ValueError as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"this is not Python: {error}") from None
    return Program(text, tuple(reader.statements), dict(reader.names))


def expression_of(function: Opaque) -> Any:
    """The value that a function of the text returns, its own arguments left as names; None where it does more."""
    node = function.node
    body = node.body if isinstance(node, ast.Lambda) else None
    if isinstance(node, ast.FunctionDef):
        body = as_expression(node)
    if body is None or not isinstance(node, ast.Lambda | ast.FunctionDef):
        return None
    reader = _Reader(ast.unparse(body))
    arguments = {argument.arg for argument in node.args.args}
    reader.names = {name: value for name, value in function.names.items() if name not in arguments}
    return reader.value(ast.parse(reader.source, mode="eval").body)


class _Reader(ExpressionReader):
    """Goes through statements in order; loops, ``with`` and functions are read through once."""

    def __init__(self, text: str) -> None:
        super().__init__(_dedent(text))
        self.statements: list[Statement] = []
        self.loops: tuple[Loop, ...] = ()
        self.inside = ""

    def body(self, nodes: list[ast.stmt], conditions: Conditions) -> None:
        for node in nodes:
            self.statement(node, conditions)
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], LEAVING):
                test = self.value(node.test)
                conditions = (
                    *conditions,
                    Operation("not", test, None, self.place(node), f"not {self.text(node.test)}"),
                )

    def statement(self, node: ast.stmt, conditions: Conditions) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                path = tuple(name.name.split("."))
                self.aliases[name.asname or path[0]] = path if name.asname else path[:1]
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                self.aliases[name.asname or name.name] = (*(node.module or "").split("."), name.name)
        elif isinstance(node, ast.Expr):
            self.add(self.value(node.value), (), node, conditions)
        elif isinstance(node, ast.Assign):
            self.assign(node.targets, self.value(node.value), node, conditions)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign([node.target], self.value(node.value), node, conditions)
        elif isinstance(node, ast.AugAssign):
            self.augmented(node, conditions)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.forget(node.target)
            walked = self.value(node.iter)
            self.add(walked, (), node, conditions)
            if isinstance(walked, Attribute) and isinstance(node.target, ast.Name):
                self.names[node.target.id] = Attribute(walked, "[]", self.place(node.target), self.text(node.target))
            self.loop(node, walked, conditions)
            self.body(node.orelse, conditions)
        elif isinstance(node, ast.While):
            self.loop(node, None, conditions)
        elif isinstance(node, ast.If):
            test = self.value(node.test)
            before = dict(self.names) if self.loops or self.inside else {}
            self.body(node.body, (*conditions, test))
            taken = dict(self.names) if self.loops or self.inside else {}
            self.names.update(
                {name: value for name, value in before.items() if is_number(value)} if node.orelse else {}
            )
            self.body(node.orelse, (*conditions, Operation("not", test, None, self.place(node), "")))
            self.choose(node, test, before, taken)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                value = self.value(item.context_expr)
                targets = [item.optional_vars] if item.optional_vars is not None else []
                self.assign(targets, value, node, conditions)
            self.body(node.body, conditions)
        elif isinstance(node, ast.Try | ast.TryStar):
            self.body([*node.body, *node.orelse, *node.finalbody], conditions)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.function(node, conditions)
        elif isinstance(node, ast.ClassDef):
            self.scope(node.body, (), conditions)
            if any("Schedule" in ast.unparse(base) for base in node.bases):
                self.names[node.name] = Opaque(node.name, node, dict(self.names), self.place(node))
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.body(case.body, conditions)
        elif isinstance(node, ast.Return) and node.value is not None:
            self.add(self.value(node.value), (), node, conditions)
        # what is left (pass, break, assert, del, raise ...) sets nothing up

    def choose(self, node: ast.If, test: Any, before: dict[str, Any], taken: dict[str, Any]) -> None:
        """Numbers that a turn of the loop decides about (``lr = 0.1`` under an ``if``) depend on its test from here."""
        for name, value in taken.items():
            other = self.names.get(name) if node.orelse else before.get(name)
            if value is not other and _is_arithmetic(value) and _is_arithmetic(other) and value != other:
                self.names[name] = Operation("if", test, (value, other), self.place(node), name)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, walked: Any, conditions: Conditions) -> None:
        """The body of a loop, read once, with the names that count its turns left open."""
        counters, turns = _turns(node, walked)
        for name, amount in _counted(node.body).items():
            start = self.names.pop(name, None)
            if is_number(start):
                counters[name] = (start, amount)
        outer = self.loops
        self.loops = (*outer, Loop(walked, turns, counters))
        self.body(node.body, conditions)
        self.loops = outer

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, conditions: Conditions) -> None:
        """A function that only returns an expression is as good as a lambda; what is set up inside counts as well."""
        last = node.body[-1]
        returned = last.value if isinstance(last, ast.Return) else None
        plain = [part for part in node.body[:-1] if not isinstance(part, ast.Expr)]
        kept: ast.AST = node
        if returned is not None and not plain:
            kept = ast.copy_location(ast.Lambda(args=node.args, body=returned), node)
        before = dict(self.names)
        outer, self.loops, around, self.inside = self.loops, (), self.inside, node.name
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.scope(node.body, [argument.arg for argument in arguments], conditions)
        self.loops, self.inside = outer, around
        self.names[node.name] = Opaque(node.name, kept, before, self.place(node))

    def scope(self, nodes: list[ast.stmt], hidden: Sequence[str], conditions: Conditions) -> None:
        """Read a body whose names are its own; ``hidden`` are outer names that mean something else in it."""
        outer = self.names
        self.names = {name: value for name, value in outer.items() if name not in hidden}
        self.body(nodes, conditions)
        self.names = {**outer, **{name: value for name, value in self.names.items() if "." in name}}

    def add(self, value: Any, targets: tuple[str, ...], node: ast.stmt, conditions: Conditions) -> None:
        place = self.place(node)
        self.statements.append(Statement(value, targets, place, conditions, (), self.loops, self.inside))

    def assign(
        self, targets: list[ast.expr], value: Any, node: ast.stmt, conditions: Conditions, changes: str = ""
    ) -> None:
        names: list[str] = []
        stores: list[Any] = []
        for target in targets:
            self.store(target, value, names, stores)
        where = (self.loops, self.inside, changes)
        self.statements.append(Statement(value, tuple(names), self.place(node), conditions, tuple(stores), *where))

    def store(self, target: ast.expr, value: Any, names: list[str], stores: list[Any]) -> None:
        dotted = dotted_name(target)
        if dotted is not None and (len(dotted) == 1 or dotted[0] not in self.names):
            names.append(".".join(dotted))
            if dotted[-1] != "grad":  # a gradient is what backward() makes of it, whatever was assigned
                self.names[".".join(dotted)] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = list(value) if isinstance(value, tuple | list) and len(value) == len(target.elts) else None
            for i, element in enumerate(target.elts):
                if items is not None:
                    self.store(element, items[i], names, stores)
                else:
                    part = Attribute(value, f"[{i}]", self.place(element), self.text(element))
                    self.store(element, part, names, stores)
        else:
            stores.append(self.value(target))

    def augmented(self, node: ast.AugAssign, conditions: Conditions) -> None:
        symbol, function = BINARY.get(type(node.op), ("?", operator.add))
        left, right = self.value(node.target), self.value(node.value)
        place = self.place(node)
        if is_number(left) and is_number(right):
            value = compute(function, left, right, place)
        else:
            value = Operation(symbol, left, right, place, self.text(node))
        self.assign([node.target], value, node, conditions, symbol)

    def forget(self, target: ast.expr) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                self.names.pop(part.id, None)


def _is_arithmetic(value: Any) -> bool:
    """True for numbers and formulas of numbers, names and functions like cos; not for losses and the like."""
    if is_number(value):
        return True
    if isinstance(value, Operation):
        parts = value.right if isinstance(value.right, tuple) else (value.right,)
        return all(part is None or isinstance(part, Name) or _is_arithmetic(part) for part in (value.left, *parts))
    if isinstance(value, Call):
        return value.receiver is None and ".".join(value.path) in FUNCTIONS
    return False


def _turns(node: ast.For | ast.AsyncFor | ast.While, walked: Any) -> tuple[dict[str, tuple[float, float]], int | None]:
    """(counters, number of turns) of ``for i, batch in enumerate(batches, 1)`` and ``for i in range(10)``."""
    if isinstance(node, ast.While) or not isinstance(walked, Call) or walked.receiver is not None:
        return {}, None
    target = node.target
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    if not isinstance(first, ast.Name):
        return {}, None
    if walked.name in ("tqdm", "trange") and walked.args:
        inner = walked.args[0]
        return _turns(node, inner if walked.name == "tqdm" else Call(("range",), walked.args))
    if walked.name == "enumerate" and isinstance(target, ast.Tuple):
        start = walked.args[1] if len(walked.args) > 1 else walked.kwargs.get("start", 0)
        inside = walked.args[0] if walked.args else None
        turns = _range(inside)
        return {first.id: (start, 1)} if is_number(start) else {}, turns[1] if turns else None
    found = _range(walked)
    if found is None or isinstance(target, ast.Tuple):
        return {}, None
    (start, step), turns_known = found
    return {first.id: (start, step)}, turns_known


def _range(value: Any) -> tuple[tuple[int, int], int | None] | None:
    """((start, step), number of turns or None) of ``range(...)``."""
    if not isinstance(value, Call) or value.path != ("range",) or not 1 <= len(value.args) <= 3:
        return None
    start, stop, step = (0, *value.args, 1) if len(value.args) == 1 else (*value.args, 1)[:3]
    if not isinstance(start, int) or not isinstance(step, int) or not step:
        return None
    if not isinstance(stop, int):
        return (start, step), None
    return (start, step), len(range(start, stop, step))


def _counted(body: Sequence[ast.stmt]) -> dict[str, float]:
    """The names that ``name += number`` counts up in a loop's body, with what one turn adds."""
    found: dict[str, float] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            amount = node.value.value if isinstance(node.value, ast.Constant) else None
            if isinstance(node.op, ast.Add) and is_number(amount) and isinstance(amount, int | float):
                found[node.target.id] = found.get(node.target.id, 0) + amount
        stack.extend(ast.iter_child_nodes(node))
    return found


def _dedent(text: str) -> str:
    """Pasted lines without a common indentation, notebook magics and interactive prompts blanked out."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    if any(line.lstrip().startswith(">>>") for line in lines):
        lines = [_without_prompt(line) for line in lines]
    used = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    depth = min((len(line) - len(line.lstrip()) for line in used), default=0)
    kept = [line[depth:] if line[:depth].strip() == "" else line.lstrip() for line in lines]
    return "\n".join("" if line.startswith(("%", "!")) else line for line in kept)


def _without_prompt(line: str) -> str:
    bare = line.lstrip()
    for prompt in (">>> ", "... ", ">>>", "..."):
        if bare.startswith(prompt):
            return bare[len(prompt) :]
    return ""
