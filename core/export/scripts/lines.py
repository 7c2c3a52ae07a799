"""Lines of optimizer code taken apart: what each statement calls, and what differs between two of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """One statement: its ``text``, the ``path`` of what it calls ('torch.optim.SGD') and its keyword arguments."""

    text: str
    path: str
    keywords: dict[str, str]


def statements(text: str) -> tuple[list[Statement], list[str]]:
    """(the statements of ``text``, its comments)."""
    comments = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    found = []
    for node in ast.parse(text).body:
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        path, keywords = "", {}
        if isinstance(value, ast.Call):
            path = ast.unparse(value.func)
            keywords = {keyword.arg or "**": ast.unparse(keyword.value) for keyword in value.keywords}
        found.append(Statement(ast.get_source_segment(text, node) or "", path, keywords))
    return found, comments


def right_side(statement: Statement) -> str:
    """The statement without the name it is assigned to."""
    node = ast.parse(statement.text).body[0]
    return ast.unparse(node.value) if isinstance(node, ast.Assign) else statement.text


def differing(before: Statement, after: Statement) -> dict[str, tuple[str | None, str | None]]:
    """keyword -> (old text, new text), None where it is not written."""
    keys = [*before.keywords, *(key for key in after.keywords if key not in before.keywords)]
    return {
        key: (before.keywords.get(key), after.keywords.get(key))
        for key in keys
        if before.keywords.get(key) != after.keywords.get(key)
    }


def same_shape(before: str, after: str) -> bool:
    """Whether two pieces of code differ in their numbers only."""
    return _shape(before) == _shape(after)


def _shape(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            node.value = 0
    return ast.dump(tree)


def by_step(pieces: list[tuple[int, list[str]]]) -> list[str]:
    """Lines that depend on the step: ``pieces`` are (first step, lines); plain when all are alike."""
    distinct: list[tuple[int, list[str]]] = []
    for step, lines in pieces:
        if not distinct or distinct[-1][1] != lines:
            distinct.append((step, lines))
    if len(distinct) == 1:
        return distinct[0][1]
    found = []
    for position, (step, lines) in enumerate(reversed(distinct)):
        last = position == len(distinct) - 1
        found.append("else:" if last else f"{'if' if position == 0 else 'elif'} step >= {step}:")
        found += [f"    {line}" for line in lines or ["pass"]]
    return found
