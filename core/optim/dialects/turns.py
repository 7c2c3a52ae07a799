"""Works out conditions and numbers of pasted code for one turn of its loop, where counters have values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from core.optim.dialects.known_values import is_number
from core.optim.dialects.number_functions import Unworkable, Worker
from core.optim.dialects.plain_functions import as_expression
from core.optim.dialects.values import Call, Name, Opaque, Operation
from core.optim.schedules.formula import CONSTANTS, FUNCTIONS, SYMBOLS


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""What the text does not tell."""
Env = Mapping[str, Any]
STRICTLY = " strictly"
"""No name, but a mark among them: ``and`` of something unknown is unknown, whatever the rest."""
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": SYMBOLS[ast.Pow],
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BITS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def evaluate(value: Any, env: Env) -> Any:
    """``value`` as a number or truth, with the names in ``env``; UNKNOWN where the text does not tell."""
    if value is None or is_number(value) or isinstance(value, bool | str):
        return value
    if isinstance(value, Name):
        return env.get(value.text, UNKNOWN)
    if isinstance(value, list | tuple):
        return [evaluate(item, env) for item in value]
    if isinstance(value, Operation):
        left = evaluate(value.left, env)
        if value.operator == "if":
            return UNKNOWN if left is UNKNOWN else evaluate(value.right[0 if left else 1], env)
        if value.operator in ("not", "-", "+") and value.right is None:
            return _unary(value.operator, left)
        return _pair(value.operator, left, evaluate(value.right, env))
    if isinstance(value, Call) and value.path == ("__call__",) and isinstance(value.receiver, Opaque):
        given = {name: evaluate(item, env) for name, item in value.kwargs.items()}
        return _applied(value.receiver, [evaluate(item, env) for item in value.args], given)
    if isinstance(value, Call) and value.receiver is None and not value.kwargs:
        return _function(".".join(value.path), [evaluate(item, env) for item in value.args])
    if isinstance(value, Opaque):
        return _node(value.node, {**value.names}, env)
    return UNKNOWN


def holds(conditions: tuple[Any, ...], env: Env) -> bool:
    """Whether a statement under ``conditions`` is reached; an unknown ``if`` is taken, its ``else`` is not."""
    for condition in conditions:
        found = evaluate(condition, {**env, STRICTLY: True} if left(condition) else env)
        if found is UNKNOWN:
            if isinstance(condition, Operation) and condition.operator == "not" and condition.text == "":
                return False
        elif not found:
            return False
    return True


def left(condition: Any) -> bool:
    """True for the condition of lines behind ``if test: continue``, which are reached where ``test`` does not hold."""
    return isinstance(condition, Operation) and condition.operator == "not" and condition.text != ""


def reaches(conditions: tuple[Any, ...], env: Env) -> bool:
    """Whether a statement under ``conditions`` may be reached: no condition is known to fail."""
    return all(found is UNKNOWN or bool(found) for found in (evaluate(one, env) for one in conditions))


def names_in(value: Any) -> Iterator[str]:
    """The names ``value`` is made of that no line sets."""
    return (leaf for leaf in _leaves(value) if isinstance(leaf, str))


def numbers_in(value: Any) -> Iterator[float]:
    """The numbers ``value`` is made of, among them those of names that lines set."""
    return (float(leaf) for leaf in _leaves(value) if isinstance(leaf, int | float) and not isinstance(leaf, bool))


def _leaves(value: Any) -> Iterator[str | float | bool]:
    """Names (as text) and numbers at the ends of an expression; its texts are neither."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Name):
            yield item.text
        elif isinstance(item, bool | int | float):
            yield item
        elif isinstance(item, Operation):
            stack += [item.left, item.right]
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, Call):
            stack += item.args
        elif isinstance(item, Opaque):
            for node in ast.walk(item.node):
                if isinstance(node, ast.Constant):
                    stack.append(node.value)
                elif isinstance(node, ast.Name):
                    known = item.names.get(node.id)
                    if known is None:
                        yield node.id
                    elif not isinstance(known, Opaque):
                        stack.append(known)


def _unary(symbol: str, value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    if symbol == "not":
        return not value
    return (-value if symbol == "-" else value) if is_number(value) else UNKNOWN


def _pair(symbol: str, left: Any, right: Any) -> Any:
    function = OPERATORS.get(symbol)
    if function is None or left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if symbol not in ("==", "!=") and not (is_number(left) and is_number(right)):
        return UNKNOWN
    try:
        return function(left, right)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return UNKNOWN


def _function(name: str, values: list[Any]) -> Any:
    if name == "len" and len(values) == 1 and isinstance(values[0], list):
        return len(values[0])
    if name in ("np.interp", "numpy.interp") and len(values) == 3 and isinstance(values[1], list):
        return _interpolated(*values)
    function = FUNCTIONS.get(name)
    if function is None or not values or not all(is_number(value) for value in values):
        return UNKNOWN
    try:
        return function(*values)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return UNKNOWN


def _interpolated(at: Any, places: Any, values: Any) -> Any:
    """``np.interp`` at one number, or at a list of them."""
    if isinstance(at, list):
        found = [_interpolated(one, places, values) for one in at]
        return UNKNOWN if UNKNOWN in found else found
    numbers = [at, *places, *(values if isinstance(values, list) else [UNKNOWN])]
    if not all(is_number(one) for one in numbers) or len(places) != len(values) or not places:
        return UNKNOWN
    return float(np.interp(at, places, values))


def _node(node: ast.AST, known: Env, env: Env) -> Any:
    """The same for a piece of syntax that was kept as it is: ``and``, ``or``, ``in``, ``a if b else c``."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return evaluate(known[node.id], env) if node.id in known else env.get(node.id, UNKNOWN)
    if isinstance(node, ast.Attribute):
        text = ast.unparse(node)
        if text in CONSTANTS:
            return CONSTANTS[text]
        return evaluate(known[text], env) if text in known else env.get(text, UNKNOWN)
    if isinstance(node, ast.BoolOp):
        return _both(isinstance(node.op, ast.And), [_node(part, known, env) for part in node.values], STRICTLY in env)
    if isinstance(node, ast.UnaryOp):
        symbol = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+"}.get(type(node.op), "~")
        return _unary(symbol, _node(node.operand, known, env)) if symbol != "~" else UNKNOWN
    if isinstance(node, ast.BinOp):
        return _pair(BITS.get(type(node.op), "?"), _node(node.left, known, env), _node(node.right, known, env))
    if isinstance(node, ast.Compare):
        return _compared(node, known, env)
    if isinstance(node, ast.IfExp):
        test = _node(node.test, known, env)
        return UNKNOWN if test is UNKNOWN else _node(node.body if test else node.orelse, known, env)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_node(part, known, env) for part in node.elts]
    if isinstance(node, ast.Subscript):
        return _item(_node(node.value, known, env), _node(node.slice, known, env))
    if isinstance(node, ast.Call):
        function = known.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(function, Opaque):
            named = {word.arg: _node(word.value, known, env) for word in node.keywords if word.arg is not None}
            return _applied(function, [_node(part, known, env) for part in node.args], named)
        if node.keywords:
            return UNKNOWN
        return _function(ast.unparse(node.func), [_node(part, known, env) for part in node.args])
    return UNKNOWN


def _item(items: Any, key: Any) -> Any:
    """One of the numbers of a list that is written out."""
    if not isinstance(items, list | tuple) or not isinstance(key, int) or not -len(items) <= key < len(items):
        return UNKNOWN
    return items[key]


def _applied(function: Opaque, arguments: list[Any], named: Mapping[str, Any]) -> Any:
    """What a function of the text gives for these arguments, where it is arithmetic with ``if`` and ``return``."""
    node = function.node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return UNKNOWN
    found = UNKNOWN if named else _as_formula(node, function, arguments)
    if found is UNKNOWN and UNKNOWN not in [*arguments, *named.values()]:
        try:
            found = Worker().run(node, arguments, named, function.names)
        except Unworkable:
            return UNKNOWN
    return found if found is None or is_number(found) or isinstance(found, bool | str | list) else UNKNOWN


def _as_formula(node: ast.FunctionDef | ast.Lambda, function: Opaque, arguments: list[Any]) -> Any:
    body = node.body if isinstance(node, ast.Lambda) else as_expression(node)
    names = [argument.arg for argument in node.args.args]
    if body is None or isinstance(body, list) or len(arguments) > len(names):
        return UNKNOWN
    defaults = dict(zip(names[len(names) - len(node.args.defaults) :], node.args.defaults, strict=True))
    local = {name: _node(default, function.names, {}) for name, default in defaults.items()}
    local.update(zip(names, arguments, strict=False))
    return _node(body, {key: item for key, item in function.names.items() if key not in local}, local)


def _both(every: bool, values: list[Any], strictly: bool) -> Any:
    """``and`` and ``or`` over values that may be unknown: an unknown part leaves the known ones to decide."""
    known = [bool(value) for value in values if value is not UNKNOWN]
    if not known or (strictly and UNKNOWN in values and every not in [not value for value in known]):
        return UNKNOWN
    return all(known) if every else any(known)


def _compared(node: ast.Compare, known: Env, env: Env) -> Any:
    values = [_node(part, known, env) for part in (node.left, *node.comparators)]
    results: list[Any] = []
    for operation, left, right in zip(node.ops, values, values[1:], strict=False):
        if isinstance(operation, ast.In | ast.NotIn):
            if left is UNKNOWN or not isinstance(right, list):
                return UNKNOWN
            results.append((left in right) is isinstance(operation, ast.In))
        else:
            results.append(_pair(COMPARED.get(type(operation), "?"), left, right))
    return UNKNOWN if any(result is UNKNOWN for result in results) else all(results)
