"""Functions of pasted code that are arithmetic with ``if`` and ``return``, as one expression."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence

DEEPEST = 8
LONGEST_EXPRESSION = 2_000


def as_expression(node: ast.FunctionDef) -> ast.expr | None:
    """What the function returns as one expression (``a if test else b``), or None when it does more than that."""
    found = _returned(list(node.body), {})
    if found is not None and sum(1 for _ in ast.walk(found)) > LONGEST_EXPRESSION:
        return None
    return found


def _returned(body: list[ast.stmt], known: dict[str, ast.expr]) -> ast.expr | None:
    for i, part in enumerate(body):
        rest = body[i + 1 :]
        if isinstance(part, ast.Return):
            return _filled(part.value, known) if part.value is not None else None
        if isinstance(part, ast.If):
            then, other = _returned([*part.body, *rest], known), _returned([*part.orelse, *rest], known)
            if then is None or other is None:
                return None
            return ast.copy_location(ast.IfExp(_filled(part.test, known), then, other), part)
        target = part.targets[0] if isinstance(part, ast.Assign) and len(part.targets) == 1 else None
        if isinstance(part, ast.AnnAssign):
            target = part.target
        if isinstance(part, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and part.value is not None:
            known = {**known, target.id: _filled(part.value, known)}
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            before = _filled(ast.copy_location(ast.Name(part.target.id, ast.Load()), part), known)
            value = ast.copy_location(ast.BinOp(before, part.op, _filled(part.value, known)), part)
            known = {**known, part.target.id: value}
        elif not isinstance(part, ast.Pass | ast.Assert) and not _is_text(part):
            return None
    return None


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _filled(node: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    filled = _Names(known).visit(copy.deepcopy(node))
    assert isinstance(filled, ast.expr)
    return filled


class _Names(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.known.get(node.id)
        return copy.deepcopy(value) if value is not None else node


class Inlined(ast.NodeTransformer):
    """Puts the functions of the text that an expression calls into it; ``function(name)`` gives (function, names)."""

    def __init__(self, function: Callable[[str], tuple[ast.AST, Mapping[str, object]] | None], depth: int = 0) -> None:
        self.function, self.depth = function, depth

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node = ast.Call(
            node.func,
            [self.visit(part) for part in node.args],
            [ast.keyword(word.arg, self.visit(word.value)) for word in node.keywords],
        )
        known = self.function(node.func.id) if isinstance(node.func, ast.Name) else None
        if known is None or self.depth > DEEPEST or any(word.arg is None for word in node.keywords):
            return node
        body = applied(*known, node.args, {word.arg or "": word.value for word in node.keywords})
        return node if body is None else Inlined(self.function, self.depth + 1).visit(body)


def applied(
    function: ast.AST, names: Mapping[str, object], args: Sequence[ast.expr], named: Mapping[str, ast.expr]
) -> ast.expr | None:
    """What a function gives for these arguments, as one expression; None where it is no such function."""
    if not isinstance(function, ast.Lambda | ast.FunctionDef) or function.args.vararg or function.args.kwarg:
        return None
    body = function.body if isinstance(function, ast.Lambda) else as_expression(function)
    known = {name: _number(value) for name, value in names.items() if isinstance(value, int | float)}
    given = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    held: dict[str, ast.expr] = dict(known)
    for name in [*given, *[argument.arg for argument in function.args.kwonlyargs]]:
        held.pop(name, None)
    held.update(zip(given[len(given) - len(function.args.defaults) :], function.args.defaults, strict=True))
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            held[argument.arg] = default
    if not isinstance(body, ast.expr) or len(args) > len(given):
        return None
    return _filled(body, {**held, **dict(zip(given, args, strict=False)), **named})


def _number(value: object) -> ast.expr:
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]
