"""The arithmetic of a pasted lambda or one-line function, worked out by a whitelist: nothing is executed."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

from core.declare import SettingError

Function = Callable[..., Any]
MODULES = ("math", "np", "numpy", "torch", "jnp", "tf", "tf.math")
SHARED = ("sqrt", "exp", "log", "cos", "sin", "tan", "tanh", "floor", "ceil")
FUNCTIONS: dict[str, Function] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
    "int": int,
    "float": float,
    "pow": lambda a, b: _power(a, b),
    "math.pow": lambda a, b: _power(float(a), b),
    **{f"{module}.{name}": getattr(math, name) for module in MODULES for name in SHARED},
    **{f"{module}.rsqrt": lambda a: math.inf if a == 0 else 1.0 / math.sqrt(a) for module in (*MODULES, "keras.ops")},
    **{f"{module}.minimum": min for module in MODULES},
    **{f"{module}.maximum": max for module in MODULES},
    **{f"{module}.pow": lambda a, b: _power(a, b) for module in MODULES},
    **{f"{module}.power": lambda a, b: _power(a, b) for module in MODULES},
}
CONSTANTS: dict[str, float] = {
    f"{module}.{name}": getattr(math, name) for module in MODULES for name in ("pi", "e", "inf")
}
SYMBOLS: dict[type[Any], Function] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: _power(a, b),
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def _power(a: Any, b: Any) -> Any:
    """a ** b, in floating point where whole numbers would grow beyond bounds."""
    if isinstance(a, int) and isinstance(b, int) and b >= 0 and a.bit_length() * b > 256:
        return float(a) ** b
    return a**b


class Formula:
    """A function of one number made of arithmetic, comparisons, min, max, sqrt, cos ...; call it with that number.

    ``text`` is the lambda with the constants it used filled in; ``body`` the expression alone. Anything else than
    the whitelist raises SettingError when the formula is built, so a built one can be called safely; a call that
    cannot be worked out (division by zero) raises SettingError with the argument.
    """

    def __init__(self, node: ast.Lambda, names: Mapping[str, Any] | None = None) -> None:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        extra = len(named) - len(arguments.defaults) - 1
        if not named or extra > 0 or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise SettingError("a schedule's function takes one argument, the number of steps")
        known = dict(names or {})
        for argument, default in zip(named[::-1], arguments.defaults[::-1], strict=False):
            if argument is not named[0]:
                known[argument.arg] = _literal(default, known)
        self.argument = named[0].arg
        known.pop(self.argument, None)
        tree = _Substitute(known, self.argument).visit(copy.deepcopy(node.body))
        self._run = self._compile(ast.fix_missing_locations(tree))
        self.body = ast.unparse(tree)
        self.text = f"lambda {self.argument}: {self.body}"

    @staticmethod
    def read(text: str) -> Formula:
        """The formula written as ``text``: 'lambda k: 0.95 ** k'."""
        node = ast.parse(text, mode="eval").body
        if not isinstance(node, ast.Lambda):
            raise SettingError(f"a function is written as 'lambda k: ...', not {text!r}")
        return Formula(node)

    def __call__(self, k: float) -> float:
        try:
            value = self._run(k)
            return float(value)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
            raise SettingError(f"{self.text} cannot be worked out at {self.argument} = {k}: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def _compile(self, node: ast.expr) -> Callable[[float], Any]:
        """The node as nested Python functions of the argument."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            constant = node.value
            return lambda k: constant
        if isinstance(node, ast.Name) and node.id == self.argument:
            return lambda k: k
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp) and type(node.op) in SYMBOLS:
            return _pair(SYMBOLS[type(node.op)], self._compile(node.left), self._compile(node.right))
        if isinstance(node, ast.Compare) and all(type(op) in SYMBOLS for op in node.ops):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            parts = [self._compile(value) for value in node.values]
            if isinstance(node.op, ast.And):
                return lambda k: all(part(k) for part in parts)
            return lambda k: any(part(k) for part in parts)
        if isinstance(node, ast.IfExp):
            test, then, other = self._compile(node.test), self._compile(node.body), self._compile(node.orelse)
            return lambda k: then(k) if test(k) else other(k)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in CONSTANTS:
            value = CONSTANTS[ast.unparse(node)]
            return lambda k: value
        if isinstance(node, ast.Call) and ast.unparse(node.func) in FUNCTIONS and not node.keywords and node.args:
            function = FUNCTIONS[ast.unparse(node.func)]
            inputs = [self._compile(argument) for argument in node.args]
            return lambda k: function(*[part(k) for part in inputs])
        raise SettingError(
            f"{ast.unparse(node)!r} is not plain arithmetic; a schedule's function may use numbers, "
            f"{self.argument}, + - * / // % **, comparisons, if-else, min, max, abs, sqrt, exp, log, cos"
        )

    def _unary(self, node: ast.UnaryOp) -> Callable[[float], Any]:
        inside = self._compile(node.operand)
        if isinstance(node.op, ast.USub):
            return lambda k: -inside(k)
        if isinstance(node.op, ast.Not):
            return lambda k: not inside(k)
        if isinstance(node.op, ast.UAdd):
            return inside
        raise SettingError(f"{ast.unparse(node)!r} is not plain arithmetic")

    def _compare(self, node: ast.Compare) -> Callable[[float], Any]:
        parts = [self._compile(part) for part in (node.left, *node.comparators)]
        tests = [SYMBOLS[type(op)] for op in node.ops]

        def compare(k: float) -> bool:
            values = [part(k) for part in parts]
            return all(test(a, b) for test, a, b in zip(tests, values, values[1:], strict=False))

        return compare


def _pair(function: Function, left: Callable[[float], Any], right: Callable[[float], Any]) -> Callable[[float], Any]:
    return lambda k: function(left(k), right(k))


def _literal(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """A default value of a lambda's further argument: a number, or a name that stands for one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), int | float):
        return known[node.id]
    raise SettingError(f"the default {ast.unparse(node)!r} is not a number")


class _Substitute(ast.NodeTransformer):
    """Puts the numbers that names stand for in the place of the names."""

    def __init__(self, known: Mapping[str, Any], argument: str) -> None:
        self.known = known
        self.argument = argument

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._number(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._number(node, ast.unparse(node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def _number(self, node: ast.expr, name: str) -> ast.expr:
        value = self.known.get(name)
        if name != self.argument and isinstance(value, int | float) and not isinstance(value, bool):
            number: ast.expr = ast.Constant(abs(value))
            return ast.UnaryOp(ast.USub(), number) if value < 0 else number
        return node
