"""Conditions of pasted code that the lines above settle: which branch of an ``if`` is read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from core.optim.dialects.expressions import COMPARISONS, ExpressionReader
from core.optim.dialects.known_values import is_number
from core.optim.dialects.values import Attribute, Call, Record

LONGEST_UNROLLED = 8
NO_IDEA = object()
"""What a condition gives that depends on what the text does not say."""


class Settled(ExpressionReader):
    """What a reader of statements needs to know about conditions."""

    def __init__(self, text: str, cuts: Sequence[int] = ()) -> None:
        super().__init__(text, cuts)
        self.changing: tuple[frozenset[str], ...] = ()

    def are_objects(self, items: Sequence[Any]) -> bool:
        """True for a short list of optimizers, schedulers and the like: what is done to each is read for each."""
        made = [isinstance(item, Call) and item.receiver is None and item.name[:1].isupper() for item in items]
        return 0 < len(items) <= LONGEST_UNROLLED and all(made)

    def decided(self, node: ast.expr) -> bool | None:
        """Whether a condition holds, where the lines above say so and no loop around changes what it is made of."""
        used = {ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)}
        groups = {name for name in used if getattr(self.names.get(name), "name", "").endswith("[]")}
        if any((used - groups) & changed for changed in self.changing):
            return None
        found = self.certain(node)
        return None if found is NO_IDEA else bool(found)

    def certain(self, node: ast.expr) -> Any:
        """The value of a condition, NO_IDEA where it depends on what the text does not say."""
        if isinstance(node, ast.BoolOp):
            parts = [self.certain(part) for part in node.values]
            ends = isinstance(node.op, ast.Or)
            if any(part is not NO_IDEA and bool(part) is ends for part in parts):
                return ends
            return NO_IDEA if NO_IDEA in parts else not ends
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inside = self.certain(node.operand)
            return inside if inside is NO_IDEA else not inside
        if isinstance(node, ast.Compare):
            return self.certain_comparison(node)
        value = self.value(node)
        if isinstance(value, Record) or (isinstance(value, Call) and self.are_objects([value])):
            return True
        return value if _is_known(value) else NO_IDEA

    def certain_comparison(self, node: ast.Compare) -> Any:
        values = [self.value(part) for part in (node.left, *node.comparators)]
        for operation, left, right in zip(node.ops, values, values[1:], strict=False):
            if isinstance(operation, ast.Is | ast.IsNot):
                found = _is_same(left, right)
            elif isinstance(operation, ast.In | ast.NotIn):
                found = _is_in(left, right) if not isinstance(right, Attribute) else _is_setting(left, right)
            else:
                found = _compared(COMPARISONS.get(type(operation), ""), left, right)
            if found is NO_IDEA:
                return NO_IDEA
            if isinstance(operation, ast.IsNot | ast.NotIn):
                found = not found
            if not found:
                return False
        return True


def _is_known(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | list | tuple | dict)


def _is_same(left: Any, right: Any) -> Any:
    if right is not None and not isinstance(right, bool):
        return NO_IDEA
    if _is_known(left) or isinstance(left, Record):
        return left is right
    if right is None and isinstance(left, Call) and left.name[:1].isupper():
        return False
    return NO_IDEA


def _is_in(left: Any, right: Any) -> Any:
    inside = right.fields if isinstance(right, Record) else right
    if isinstance(left, str) and isinstance(inside, str):
        return left in inside
    if isinstance(left, str | int | float) and isinstance(inside, list | tuple | dict):
        items = list(inside)
        return left in items if all(_is_known(item) for item in items) or left in items else NO_IDEA
    return NO_IDEA


def _is_setting(name: Any, group: Attribute) -> Any:
    """Whether ``'lr_scale' in param_group``, where the optimizer is made in the text."""
    owner: Any = group
    while isinstance(owner, Attribute):
        owner = owner.owner
    walked = group.owner if isinstance(group.owner, Attribute) else group
    if not isinstance(name, str) or not isinstance(owner, Call) or not walked.name.startswith("param_groups"):
        return NO_IDEA
    given = owner.args[0] if owner.args else owner.kwargs.get("params")
    groups = [item for item in given if isinstance(item, dict)] if isinstance(given, list | tuple) else []
    if any(name in item for item in groups):
        return True if all(name in item for item in groups) else NO_IDEA
    return False if name.startswith("lr_") else NO_IDEA


def _compared(symbol: str, left: Any, right: Any) -> Any:
    if not _is_known(left) or not _is_known(right) or not symbol:
        return NO_IDEA
    if symbol in ("==", "!="):
        return (left == right) is (symbol == "==")
    if not (is_number(left) and is_number(right)):
        return NO_IDEA
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[symbol]
