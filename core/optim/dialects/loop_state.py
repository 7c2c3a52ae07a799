"""Which names of a loop's body one turn leaves to the next: counters, and numbers changed now and then."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from core.optim.dialects.known_values import is_number
from core.optim.dialects.values import Attribute, Call, Name

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
TARGETS = (ast.Name, ast.Attribute, ast.Subscript)


def counted_names(body: Sequence[ast.stmt]) -> dict[str, float]:
    """The names that ``name += number`` counts up in every turn, and nothing else changes, with what a turn adds."""
    found: dict[str, float] = {}
    for node in _direct(body):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name | ast.Attribute):
            amount = node.value.value if isinstance(node.value, ast.Constant) else None
            if isinstance(node.op, ast.Add) and is_number(amount) and isinstance(amount, int | float):
                found[ast.unparse(node.target)] = amount
    times: dict[str, int] = {}
    for text, _ in _changes(body, True):
        times[text] = times.get(text, 0) + 1
    return {text: amount for text, amount in found.items() if times.get(text) == 1}


def changed_names(body: Sequence[ast.stmt]) -> list[str]:
    """The names (also ``config['lr']``) whose value in one turn may come from the turn before.

    Those that each turn sets afresh before anything else changes them are not among them.
    """
    first: dict[str, bool] = {}
    for text, carried in _changes(body, True):
        first.setdefault(text, carried)
    return [text for text, carried in first.items() if carried]


def _direct(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that every turn comes to."""
    for node in body:
        yield node
        if isinstance(node, ast.With | ast.AsyncWith | ast.Try):
            yield from _direct(node.body)


def _changes(body: Sequence[ast.stmt], direct: bool) -> Iterator[tuple[str, bool]]:
    """(name, whether its old value may outlast a turn) for each assignment inside, functions left out."""
    for node in body:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, ast.AugAssign):
            yield ast.unparse(node.target), True
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            given = node.targets if isinstance(node, ast.Assign) else [node.target]
            used = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, TARGETS)}
            for target in given:
                for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                    if isinstance(one, TARGETS):
                        yield ast.unparse(one), not direct or ast.unparse(one) in used
        always = direct and isinstance(node, ast.With | ast.AsyncWith | ast.Try)
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(node, part, None)
            if isinstance(inner, list):
                yield from _changes(inner, always)
        for handler in getattr(node, "handlers", ()):
            yield from _changes(handler.body, False)
        for case in getattr(node, "cases", ()):
            yield from _changes(case.body, False)


def walked_pairs(target: ast.expr, walked: Any) -> Iterator[tuple[ast.Name, Any]]:
    """(name, what it walks through) for ``for g in optimizer.param_groups``, also inside enumerate and zip."""
    if isinstance(target, ast.Name):
        if isinstance(walked, Attribute) or (isinstance(walked, Name) and walked.text.endswith("param_groups")):
            yield target, walked
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(walked, Call) and walked.receiver is None:
        if walked.name == "enumerate" and walked.args and len(target.elts) == 2:
            yield from walked_pairs(target.elts[1], walked.args[0])
        elif walked.name == "zip":
            for one, source in zip(target.elts, walked.args, strict=False):
                yield from walked_pairs(one, source)
