"""Reads pasted code without running it: ``ast`` in, a Program of plain values and calls out."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import Any

from core.optim.dialects.expressions import BINARY, LONGEST_LIST, compute, dotted_name
from core.optim.dialects.following import Conditions, Follower, formula_node
from core.optim.dialects.known_values import is_number as is_number
from core.optim.dialects.loop_state import changed_names, counted_names, walked_pairs
from core.optim.dialects.pasted_text import read_source
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
    Record,
    Statement,
    place_of,
)
from core.optim.schedules.formula import FUNCTIONS

MOST_LEVELS = 25
"""How many calls on top of one another a name may stand for: activations of a network, not what sets it up."""
MOST_TERMS = 300
LEAVING = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def read_program(text: str) -> Program:
    """The statements of ``text``; loops, ``with`` and ``if`` are read through once, functions kept as formulas.

    Raises ParseError with line and column when the text is not Python, or too long to be an optimizer.
    """
    try:
        source = read_source(text)
        reader = _Reader(source.text, source.cuts)
        reader.module(source.tree.body)
    except (RecursionError, MemoryError):
        raise ParseError("the code is nested too deeply to be read") from None
    except ValueError as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"this is not Python: {error}") from None
    classes = {name: (reader.place(made.node), tuple(made.bases)) for name, made in reader.classes.items()}
    return Program(text, tuple(reader.statements), dict(reader.names), classes, reader.aliases, reader.assumed)


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


class _Reader(Follower):
    """Goes through statements in order; loops, ``with`` and functions are read through once."""

    def module(self, nodes: list[ast.stmt]) -> None:
        """The whole text: what stands in functions that nothing calls comes last."""
        if self.follows:
            self.hoist(nodes)
            self.hoisted = tuple(self.functions.values())
        self.body(nodes, ())
        self.rest(list(self.unread))

    def body(self, nodes: list[ast.stmt], conditions: Conditions) -> None:
        for node in nodes:
            self.conditions = conditions
            self.statement(node, conditions)
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], LEAVING):
                known = self.decided(node.test)
                if known is not None:
                    if known:
                        return
                    continue
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
            value = self.value(node.value)
            if not any(loop.over_parameters for loop in self.loops):
                _append(value)
            if len(self.statements) < 1_000 or not _only_says(value):
                self.add(value, (), node, conditions)
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
            if isinstance(walked, list | tuple) and self.are_objects(walked):
                for item in walked:
                    self.store(node.target, item, [], [])
                    self.body(node.body, conditions)
                return
            self.add(walked, (), node, conditions)
            for one, source in walked_pairs(node.target, walked):
                self.names[one.id] = Attribute(source, "[]", self.place(one), self.text(one))
            self.loop(node, walked, conditions)
            self.body(node.orelse, conditions)
        elif isinstance(node, ast.While):
            self.loop(node, None, conditions)
        elif isinstance(node, ast.If):
            self.branches(node, conditions)
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
            self.class_of_text(node, conditions)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.body(case.body, conditions)
        elif isinstance(node, ast.Return) and node.value is not None:
            value = self.value(node.value)
            self.add(value, (), node, conditions)
            if self.returns:
                self.returns[-1].append((value, conditions, self.loops))
        # what is left (pass, break, assert, del, raise ...) sets nothing up

    def branches(self, node: ast.If, conditions: Conditions) -> None:
        """Both branches of an ``if``, or the one that the lines above decide for."""
        known = self.decided(node.test)
        if known is not None:
            self.body(node.body if known else node.orelse, conditions)
            return
        test = self.value(node.test)
        before = dict(self.names)
        self.body(node.body, (*conditions, test))
        taken = dict(self.names)
        self.names.update({name: value for name, value in before.items() if is_number(value)} if node.orelse else {})
        self.body(node.orelse, (*conditions, Operation("not", test, None, self.place(node), "")))
        self.choose(node, test, before, taken)

    def choose(self, node: ast.If, test: Any, before: dict[str, Any], taken: dict[str, Any]) -> None:
        """Numbers that a turn of the loop decides about (``lr = 0.1`` under an ``if``) depend on its test from here."""
        for name, value in taken.items():
            other = self.names.get(name) if node.orelse else before.get(name)
            if value is not other and _is_arithmetic(value) and _is_arithmetic(other) and value != other:
                self.names[name] = Operation("if", test, (value, other), self.place(node), name)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, walked: Any, conditions: Conditions) -> None:
        """The body of a loop, read once, with the names that its turns hand on left open."""
        counters, turns = _turns(node, walked)
        carried: dict[str, Any] = {}
        counted = counted_names(node.body)
        turning = not Loop(walked).over_parameters
        for text in changed_names(node.body) if turning else ():
            start = self.start_of(text)
            if text in counted and is_number(start):
                counters[text] = (start, counted[text])
                self.hide(text)
            elif is_number(start) or isinstance(start, bool):
                carried[text] = start
                self.hide(text)
        outer, changing = self.loops, self.changing
        assigned = _assigned(node)
        self.loops = (*outer, Loop(walked, turns, counters, carried, assigned, _targets(node)))
        self.changing = (*changing, assigned)
        self.body(node.body, conditions)
        self.loops, self.changing = outer, changing

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, conditions: Conditions) -> None:
        """A function that only returns an expression is as good as a lambda; what is set up inside counts as well."""
        before = self.snapshot()
        self.names[node.name] = Opaque(node.name, formula_node(node), before, self.place(node))
        if self.follows:
            self.define(node, conditions)
            return
        outer, self.loops, around, self.inside_of = self.loops, (), self.inside_of, node.name
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.scope(node.body, [argument.arg for argument in arguments], conditions)
        self.loops, self.inside_of = outer, around
        self.names[node.name] = Opaque(node.name, formula_node(node), before, self.place(node))

    def class_of_text(self, node: ast.ClassDef, conditions: Conditions) -> None:
        made = self.describe_class(node)
        if not self.follows:
            self.unread.clear()
            if not made.is_data:
                self.scope(node.body, (), conditions)
        if any("Schedule" in base for base in made.bases):
            self.names[node.name] = Opaque(node.name, node, self.snapshot(), self.place(node))

    def scope(self, nodes: list[ast.stmt], hidden: Sequence[str], conditions: Conditions) -> None:
        """Read a body whose names are its own; ``hidden`` are outer names that mean something else in it."""
        outer = self.names
        self.names = {name: value for name, value in outer.items() if name not in hidden}
        self.body(nodes, conditions)
        self.names = {**outer, **{name: value for name, value in self.names.items() if "." in name}}

    def add(self, value: Any, targets: tuple[str, ...], node: ast.stmt, conditions: Conditions) -> None:
        place = self.place(node)
        self.statements.append(Statement(value, targets, place, conditions, (), self.loops, self.inside_of))

    def assign(
        self, targets: list[ast.expr], value: Any, node: ast.stmt, conditions: Conditions, changes: str = ""
    ) -> None:
        names: list[str] = []
        stores: list[Any] = []
        for target in targets:
            self.store(target, value, names, stores)
        self.cut_off(names, getattr(node, "value", None))
        where = (self.loops, self.inside_of, changes)
        self.statements.append(Statement(value, tuple(names), self.place(node), conditions, tuple(stores), *where))

    def cut_off(self, names: Sequence[str], given: ast.expr | None) -> None:
        """Names that are made of one another over and over (``x = f(x)``) do not grow into one endless value."""
        if given is None:
            return
        level = 1 + max(
            (self.levels.get(part.id, 0) for part in ast.walk(given) if isinstance(part, ast.Name)), default=0
        )
        for name in names:
            value = self.names.get(name)
            if level > MOST_LEVELS and isinstance(value, Call | Operation | Attribute):
                self.names[name] = Name(name, place_of(value))
                self.levels[name] = 0
            else:
                self.levels[name] = level

    def store(self, target: ast.expr, value: Any, names: list[str], stores: list[Any]) -> None:
        dotted = dotted_name(target)
        if self.is_carried(target):
            names.append(ast.unparse(target))
            return
        if dotted is not None and len(dotted) > 1 and self.keep_attribute(dotted, value):
            names.append(".".join(dotted))
            return
        if dotted is not None and (len(dotted) == 1 or dotted[0] not in self.names):
            names.append(".".join(dotted))
            if dotted[-1] != "grad":  # a gradient is what backward() makes of it, whatever was assigned
                self.names[".".join(dotted)] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = _spread(target.elts, value)
            for i, element in enumerate(target.elts):
                if items is not None:
                    self.store(element, items[i], names, stores)
                else:
                    part = Attribute(value, f"[{i}]", self.place(element), self.text(element))
                    self.store(element, part, names, stores)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value, names, stores)
        else:
            if isinstance(target, ast.Subscript):
                self.keep(target, value)
            stores.append(self.value(target))

    def keep(self, target: ast.Subscript, value: Any) -> None:
        """``config['lr'] = 0.1``: a dict of the text changes."""
        owner = self.value(target.value)
        fields: Any = owner.fields if isinstance(owner, Record) else owner
        key = None if isinstance(target.slice, ast.Slice) else self.value(target.slice)
        inside = isinstance(fields, list) and isinstance(key, int) and -len(fields) <= key < len(fields)
        if inside or (isinstance(fields, dict) and isinstance(key, str | int)):
            fields[key] = value

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


def _spread(targets: Sequence[ast.expr], value: Any) -> list[Any] | None:
    """What each of several targets is given, one of which may take the rest (``first, *others = ...``)."""
    if not isinstance(value, tuple | list):
        return None
    items = list(value)
    star = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    if star is None:
        return items if len(items) == len(targets) else None
    behind = len(targets) - star - 1
    if len(items) < len(targets) - 1:
        return None
    return [*items[:star], items[star : len(items) - behind], *items[len(items) - behind :]]


def _targets(node: ast.For | ast.AsyncFor | ast.While) -> tuple[str, ...]:
    """The names that a loop gives one thing after the other."""
    if isinstance(node, ast.While):
        return ()
    return tuple(part.id for part in ast.walk(node.target) if isinstance(part, ast.Name))


def _assigned(node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """The names that a loop gives other values while it runs."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store | ast.Del):
            found.add(ast.unparse(part))
    return frozenset(found)


def _only_says(value: Any) -> bool:
    """True for ``print('done')``, and for a text that stands alone: a comment, in effect."""
    if isinstance(value, str):
        return True
    said = isinstance(value, Call) and value.path == ("print",) and value.receiver is None
    return said and not any(isinstance(part, Call) for part in (*value.args, *value.kwargs.values()))


def _append(value: Any) -> None:
    """``parts.append(x)`` makes a list that is written out above longer, for the lines behind it."""
    known = value.receiver if isinstance(value, Call) and value.path == ("append",) and len(value.args) == 1 else None
    if isinstance(known, list) and value.args[0] is not known and len(known) < LONGEST_LIST:
        known.append(value.args[0])


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
