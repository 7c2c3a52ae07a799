"""Reads expressions of pasted code into plain values and calls: literals are worked out, nothing is executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from core.optim.dialects.known_values import CONSTANTS, is_number, known_function
from core.optim.dialects.made_objects import Objects, keeper_place, prepared
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place, Record

SAME_RESULT = {"fused", "foreach", "capturable"}
"""Arguments of torch.optim that choose an implementation of the same arithmetic."""
LONGEST_LIST = 10_000
LARGEST_INTEGER_BITS = 256
LARGEST_BITS = 1023

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


def compute(symbol: Callable[[Any, Any], Any], left: Any, right: Any, place: Place) -> Any:
    """Arithmetic on literals; integers that would become enormous are refused."""
    try:
        whole = symbol is operator.pow and isinstance(left, int) and isinstance(right, int)
        if whole and right > 0 and left.bit_length() * right > LARGEST_INTEGER_BITS:
            return float(left) ** right
        if symbol is operator.mod and isinstance(left, str):
            raise TypeError("text")
        integers = isinstance(left, int) and isinstance(right, int)
        if symbol is operator.mul and integers and left.bit_length() + right.bit_length() > LARGEST_BITS:
            raise OverflowError("the number is beyond all bounds")
        result = symbol(left, right)
    except (ZeroDivisionError, OverflowError, TypeError) as error:
        raise place.error(f"this cannot be worked out: {error}") from None
    if isinstance(result, complex):
        raise place.error("this gives a complex number")
    return result


class ExpressionReader(Objects):
    """Turns expressions into values, remembering what names stand for."""

    def __init__(self, text: str, cuts: Sequence[int] = ()) -> None:
        super().__init__()
        self.source = text
        self.lines = self.source.split("\n")
        self.cuts = cuts
        self.aliases: dict[str, tuple[str, ...]] = {}

    def at(self, line: int, column: int) -> Place:
        quote = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return Place(line, column, quote if len(quote) <= 200 else quote[:200] + " ...")

    def place(self, node: ast.AST) -> Place:
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        before = self.lines[line - 1].encode()[:offset] if line <= len(self.lines) else b""
        cut = self.cuts[line - 1] if line <= len(self.cuts) else 0
        return self.at(line, cut + len(before.decode(errors="replace")) + 1)

    def text(self, node: ast.AST) -> str:
        start, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not start or end > len(self.lines):
            return ast.unparse(node)
        first, last = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        rows = [row.encode() for row in self.lines[start - 1 : end]]
        rows[-1] = rows[-1][:last]
        rows[0] = rows[0][first:]
        return b"\n".join(rows).decode(errors="replace") or ast.unparse(node)

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, complex | bytes) or node.value is ...:
                return Opaque(self.text(node), node, {}, self.place(node))
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
        if isinstance(node, ast.BoolOp):
            found = self.first_of(node)
            if found is not None:
                return found[0]
        if isinstance(node, ast.Compare):
            known = self.decided(node)
            if known is not None:
                return known
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
        if isinstance(node, ast.IfExp):
            known = self.decided(node.test)
            if known is not None:
                return self.value(node.body if known else node.orelse)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            written_out = self.comprehension(node)
            if written_out is not None:
                return written_out
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self.names[node.target.id] = value
            return value
        return Opaque(self.text(node), node, self.snapshot(), self.place(node))

    def decided(self, node: ast.expr) -> bool | None:
        """Whether a condition holds, None where the lines above do not say."""
        return None

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any] | None:
        """A comprehension written out as a list, None where it stays as it is."""
        return None

    def first_of(self, node: ast.BoolOp) -> tuple[Any] | None:
        """The value of ``args.lr or 0.1`` and the like, alone in a tuple; None where the lines above do not say."""
        for part in node.values:
            known = self.decided(part)
            if known is None:
                return None
            if known is isinstance(node.op, ast.Or):
                return (self.value(part),)
        return (self.value(node.values[-1]),)

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
        found = self.inside(dotted)
        if found is not None and not found[1]:
            return found[0]
        if found is not None and isinstance(found[0], Call):
            return Attribute(found[0], ".".join(found[1]), self.place(node), self.text(node))
        if dotted[0] in self.names and len(dotted) > 1:
            owner = self.names[dotted[0]]
            if isinstance(owner, Name) and "." in owner.text:  # optim = torch.optim
                return Name(f"{owner.text}.{'.'.join(dotted[1:])}", self.place(node))
            return Attribute(owner, ".".join(dotted[1:]), self.place(node), self.text(node))
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
                if isinstance(value, Record):
                    value = value.fields
                if not isinstance(value, dict):
                    raise self.place(item).error(f"** needs a dict written out above, not {self.text(item)}")
                result.update(value)
                continue
            name = self.value(key)
            if not isinstance(name, str | int | float):  # {placeholder: 0.1}: who wants to know reads it himself
                return Opaque(self.text(node), node, self.snapshot(), self.place(node))
            result[name] = value
        return result

    def subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return Opaque(self.text(node), node, self.snapshot(), self.place(node))
        key = self.value(node.slice)
        if isinstance(owner, Record):
            owner = owner.fields
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
            if keyword.arg is None and isinstance(value, Opaque) and isinstance(value.node, ast.IfExp):
                value = self.either(value.node, value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
                kwarg_places[keyword.arg] = self.place(keyword)
            elif isinstance(value, dict | Record):
                value = value.fields if isinstance(value, Record) else value
                kwargs.update({str(key): item for key, item in value.items()})
                kwarg_places.update(dict.fromkeys(map(str, value), self.place(keyword)))
            else:
                kwargs["**"] = Operation("unpack", value, None, self.place(keyword), self.text(keyword.value))
                kwarg_places["**"] = self.place(keyword)
        return self.finished_call(node, args, arg_places, kwargs, kwarg_places)

    def either(self, node: ast.IfExp, otherwise: Any) -> Any:
        """``dict(fused=True) if use_fused else dict()``: nothing, where both only say how the same is worked out."""
        found = [self.value(node.body), self.value(node.orelse)]
        return {} if all(isinstance(one, dict) and set(one) <= SAME_RESULT for one in found) else otherwise

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
        found = self.inside(dotted) if dotted is not None and len(dotted) > 1 else None
        if dotted is None:
            if not isinstance(node.func, ast.Attribute):
                inner = self.value(node.func)
                path: tuple[str, ...] = ("__call__",)
                receiver = inner
            else:
                receiver, path = self.value(node.func.value), (node.func.attr,)
        elif found is not None:
            receiver, path = found[0], found[1] or ("__call__",)
        elif dotted[0] in self.names and (len(dotted) > 1 or not isinstance(self.names[dotted[0]], Name)):
            receiver = self.names[dotted[0]]
            path = dotted[1:] or ("__call__",)
        elif dotted[0] in self.names and "." in self.names[dotted[0]].text:  # Optimizer = torch.optim.Adam
            path = tuple(self.names[dotted[0]].text.split("."))
        else:
            path = self.expand(dotted)
        if path == ("__call__",) and isinstance(receiver, Name):
            receiver, path = None, tuple(receiver.text.split("."))
        elif (
            isinstance(receiver, Name) and "." in receiver.text and receiver.text.split(".")[0] not in ("self", "model")
        ):
            receiver, path = None, (*receiver.text.split("."), *path)  # optim = torch.optim
        if path == ("__call__",) and isinstance(receiver, Call):
            made = prepared(receiver)
            if made is not None:  # partial(torch.optim.Adam, lr=0.1)(params), LazyCall(torch.optim.SGD)(lr=0.1)
                path, before, held = made
                receiver, args, arg_places = None, [*before, *args], [*[place] * len(before), *arg_places]
                kwargs = {**held, **kwargs}
                kwarg_places = {**dict.fromkeys(held, keeper_place(held, place)), **kwarg_places}
        if receiver is None:
            plain = known_function(".".join(path), args, kwargs, place)
            if plain is not None:
                return plain
        call = Call(path, tuple(args), kwargs, place, text, receiver, tuple(arg_places), kwarg_places)
        return self.settings_of(call)


def dotted_name(node: ast.expr) -> tuple[str, ...] | None:
    """('torch', 'optim', 'SGD') for a dotted name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(parts))
