"""Functions of pasted code that are arithmetic with ``if`` and ``return``, as one expression."""

from __future__ import annotations

import ast
import copy

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
