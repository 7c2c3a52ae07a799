"""Reads expressions of pasted code into plain values and calls: literals are worked out, nothing is executed."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place

LONGEST_LIST = 10_000
LARGEST_INTEGER_BITS = 256
LARGEST_BITS = 1023

CONSTANTS: dict[str, float] = {
    **{f"{module}.inf": math.inf for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.nan": math.nan for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.pi": math.pi for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.e": math.e for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
}
BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "float": float,
    "int": int,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "math.sqrt": math.sqrt,
    "math.exp": math.exp,
    "math.log": math.log,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "np.sqrt": math.sqrt,
    "np.exp": math.exp,
    "np.log": math.log,
    "np.float64": float,
    "np.float32": float,
    "numpy.float64": float,
    "numpy.float32": float,
    "np.log10": math.log10,
    "math.log10": math.log10,
}


def is_number(value: Any) -> bool:
    """True for an int or float, not for a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def compute(symbol: Callable[[Any, Any], Any], left: Any, right: Any, place: Place) -> Any:
    """Arithmetic on literals; integers that would become enormous are refused."""
    try:
        whole = symbol is operator.pow and isinstance(left, int) and isinstance(right, int)
        if whole and right > 0 and left.bit_length() * right > LARGEST_INTEGER_BITS:
            return float(left) ** right
        if symbol is operator.mod and isinstance(left, str):
            raise TypeError("text")
        result = symbol(left, right)
    except (ZeroDivisionError, OverflowError, TypeError) as error:
        raise place.error(f"this cannot be worked out: {error}") from None
    if isinstance(result, complex):
        raise place.error("this gives a complex number")
    return result


class ExpressionReader:
    """Turns expressions into values, remembering what names stand for."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.lines = self.source.splitlines() or [""]
        self.names: dict[str, Any] = {}
        self.aliases: dict[str, tuple[str, ...]] = {}

    def at(self, line: int, column: int) -> Place:
        quote = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return Place(line, column, quote if len(quote) <= 200 else quote[:200] + " ...")

    def place(self, node: ast.AST) -> Place:
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        before = self.lines[line - 1].encode()[:offset] if line <= len(self.lines) else b""
        return self.at(line, len(before.decode(errors="replace")) + 1)

    def text(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.source, node) or ast.unparse(node)

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, complex | bytes) or node.value is ...:
                raise self.place(node).error(f"{self.text(node)} cannot be a setting")
            if isinstance(node.value, int) and node.value.bit_length() > LARGEST_BITS:
                raise self.place(node).error("this number is beyond all bounds (above 1e308)")
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return self.name(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            left, right = self.value(node.left), self.value(node.comparators[0])
            return Operation(COMPARISONS[type(node.ops[0])], left, right, self.place(node), self.text(node))
        if isinstance(node, ast.List):
            return self.items(node.elts)
        if isinstance(node, ast.Tuple):
            return tuple(self.items(node.elts))
        if isinstance(node, ast.Dict):
            return self.dictionary(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self.names[node.target.id] = value
            return value
        return Opaque(self.text(node), node, dict(self.names), self.place(node))

    def items(self, nodes: list[ast.expr]) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inside = self.value(node.value)
                result += list(inside) if isinstance(inside, list | tuple) else [inside]
            else:
                result.append(self.value(node))
            self.checked(result, node)
        return result

    def checked(self, items: list[Any], node: ast.AST) -> list[Any]:
        if len(items) > LONGEST_LIST:
            raise self.place(node).error(f"a list of more than {LONGEST_LIST} things is too long")
        return items

    def name(self, node: ast.Name | ast.Attribute) -> Any:
        dotted = dotted_name(node)
        if dotted is None:
            assert isinstance(node, ast.Attribute)
            return Attribute(self.value(node.value), node.attr, self.place(node), self.text(node))
        full = ".".join(dotted)
        if full in self.names:
            return self.names[full]
        constant = CONSTANTS.get(".".join(self.expand(dotted)))
        if constant is not None:
            return constant
        if dotted[0] in self.names and len(dotted) > 1:
            return Attribute(self.names[dotted[0]], ".".join(dotted[1:]), self.place(node), self.text(node))
        return Name(".".join(self.expand(dotted)), self.place(node))

    def expand(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The path with an imported first name spelled out."""
        known = self.aliases.get(path[0])
        return (*known, *path[1:]) if known else path

    def unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if is_number(value) and isinstance(node.op, ast.USub | ast.UAdd):
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(value, bool) and isinstance(node.op, ast.Not):
            return not value
        symbol = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not", ast.Invert: "~"}[type(node.op)]
        return Operation(symbol, value, None, self.place(node), self.text(node))

    def binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        known = BINARY.get(type(node.op))
        if known is not None and is_number(left) and is_number(right):
            return compute(known[1], left, right, self.place(node))
        joinable = isinstance(left, list) and isinstance(right, list)
        if known is not None and known[0] == "+" and joinable:
            return self.checked(left + right, node)
        symbol = known[0] if known else type(node.op).__name__
        return Operation(symbol, left, right, self.place(node), self.text(node))

    def dictionary(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is None:
                if not isinstance(value, dict):
                    raise self.place(item).error(f"** needs a dict written out above, not {self.text(item)}")
                result.update(value)
                continue
            name = self.value(key)
            if not isinstance(name, str | int | float):
                raise self.place(key).error(f"{self.text(key)} cannot be a key")
            result[name] = value
        return result

    def subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return Opaque(self.text(node), node, dict(self.names), self.place(node))
        key = self.value(node.slice)
        if isinstance(owner, dict | list | tuple) and isinstance(key, str | int):
            try:
                return owner[key]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                raise self.place(node).error(f"there is no {self.text(node)} in the lines above") from None
        return Attribute(owner, f"[{key}]" if isinstance(key, str | int) else "[?]", self.place(node), self.text(node))

    def call(self, node: ast.Call) -> Any:
        args: list[Any] = []
        arg_places: list[Place] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                inside = self.value(item.value)
                if not isinstance(inside, list | tuple):  # an error only where the arguments are needed
                    inside = [Operation("unpack", inside, None, self.place(item), self.text(item.value))]
                args += list(inside)
                arg_places += [self.place(item)] * len(inside)
            else:
                args.append(self.value(item))
                arg_places.append(self.place(item))
        kwargs: dict[str, Any] = {}
        kwarg_places: dict[str, Place] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
                kwarg_places[keyword.arg] = self.place(keyword)
            elif isinstance(value, dict):
                kwargs.update({str(key): item for key, item in value.items()})
                kwarg_places.update(dict.fromkeys(map(str, value), self.place(keyword)))
            else:
                kwargs["**"] = Operation("unpack", value, None, self.place(keyword), self.text(keyword.value))
                kwarg_places["**"] = self.place(keyword)
        return self.finished_call(node, args, arg_places, kwargs, kwarg_places)

    def finished_call(
        self,
        node: ast.Call,
        args: list[Any],
        arg_places: list[Place],
        kwargs: dict[str, Any],
        kwarg_places: dict[str, Place],
    ) -> Any:
        place, text = self.place(node), self.text(node)
        dotted = dotted_name(node.func)
        receiver: Any = None
        if dotted is None:
            if not isinstance(node.func, ast.Attribute):
                inner = self.value(node.func)
                path: tuple[str, ...] = ("__call__",)
                receiver = inner
            else:
                receiver, path = self.value(node.func.value), (node.func.attr,)
        elif dotted[0] in self.names and (len(dotted) > 1 or not isinstance(self.names[dotted[0]], Name)):
            receiver = self.names[dotted[0]]
            path = dotted[1:] or ("__call__",)
        else:
            path = self.expand(dotted)
        if receiver is None:
            plain = _known_function(".".join(path), args, kwargs, place)
            if plain is not None:
                return plain
        return Call(path, tuple(args), kwargs, place, text, receiver, tuple(arg_places), kwarg_places)


def _known_function(name: str, args: list[Any], kwargs: dict[str, Any], place: Place) -> Any:
    """The value of a plain function of literals, or None when it is something else."""
    if name == "dict" and not args:
        return dict(kwargs)
    if name in ("list", "tuple") and len(args) == 1 and isinstance(args[0], list | tuple):
        return list(args[0]) if name == "list" else tuple(args[0])
    if name == "len" and len(args) == 1 and isinstance(args[0], list | tuple | dict):
        return len(args[0])
    function = FUNCTIONS.get(name)
    if function is None or kwargs or not args:
        return None
    if name == "float" and len(args) == 1 and isinstance(args[0], str):
        try:
            return float(args[0])
        except ValueError:
            raise place.error(f"float({args[0]!r}) is not a number") from None
    if not all(is_number(item) for item in args):
        return None
    try:
        return function(*args)
    except (ValueError, OverflowError, TypeError) as error:
        raise place.error(f"this cannot be worked out: {error}") from None


def dotted_name(node: ast.expr) -> tuple[str, ...] | None:
    """('torch', 'optim', 'SGD') for a dotted name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(parts))
