"""What lines of TensorFlow and JAX do to each gradient: ``[f(g, v) for g, v in ...]``, ``tree.map(f, grads)``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import unwrap
from core.optim.dialects.norm_clips import clip_of_scaled
from core.optim.dialects.parameter_rules import Unread, condition
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.tf_clips import CLIPS, clip_row
from core.optim.dialects.values import Call, Name, Opaque, Operation, ParseError, Place, describe
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByValue
from core.optim.transforms.nested import Masked
from core.optim.transforms.regularise import L1, L2
from core.optim.transforms.scaling import Sign, named_factor
from core.optim.transforms.unitwise import ZeroNans
from core.optim.variable_rules import Rule, negated

UNCHANGED = ("identity", "cast", "convert_to_tensor", "asarray", "astype", "array", "debug_print", "stop_gradient")
KNOWN = (
    "known are clips by value and by norms, sign, * and / by numbers, + λ · variable, and a choice by 'g is None', by "
    "the number of axes or by words in the variable's name"
)


def value_of(node: ast.expr, names: Mapping[str, Any], hidden: tuple[str, ...] = ()) -> Any:
    """The value of a piece of syntax with these names; ``hidden`` ones stay names."""
    arguments = ast.arguments([], [], None, [], [], None, [])
    known = {name: value for name, value in names.items() if name not in hidden}
    return expression_of(Opaque("", ast.Lambda(args=arguments, body=node), known))


class Elements:
    """Reads the change of one gradient backwards: the last change is the first of ``rows``."""

    def __init__(self, rows: list[Transform], place: Place, source: Any = None) -> None:
        self.rows = rows
        self.place = place
        self.source = source

    def read(self, value: Any, gradient: str, variable: str = "") -> None:
        """The rows of ``value``, made of the names ``gradient`` and ``variable``."""
        if isinstance(value, Name) and value.text == gradient:
            return
        if isinstance(value, Opaque) and isinstance(value.node, ast.IfExp):
            self.choice(value.node, value.names, gradient, variable)
        elif isinstance(value, Operation):
            self.operation(value, gradient, variable)
        elif isinstance(value, Call):
            self.call(value, gradient, variable)
        else:
            self.refuse(value)

    def refuse(self, value: Any) -> None:
        text = describe(value)
        if "zeros" in text or _is_sum(value):
            raise self.place.error(
                f"gradients are added up here ({text}) in a way that cannot be followed; write "
                "gradient_accumulation_steps=n into the optimizer, which takes the mean of n gradients"
            )
        raise self.place.error(f"the gradients are changed here in a way that has no row: {describe(value)}; {KNOWN}")

    def choice(self, node: ast.IfExp, names: Mapping[str, Any], gradient: str, variable: str) -> None:
        """``a if test else b``: a test for None leaves the other side, one of axes or names decides by variable."""
        test = ast.unparse(node.test)
        hidden = (gradient, variable)
        then, other = value_of(node.body, names, hidden), value_of(node.orelse, names, hidden)
        if test.endswith(("is not None", "is None")):
            self.read(other if test.endswith("is None") else then, gradient, variable)
            return
        try:
            rule = _rule(node.test, gradient, variable, names)
        except Unread:
            raise self.place.error(f"which gradients are changed here cannot be read from '{test}'; {KNOWN}") from None
        for part, picked in ((other, negated(rule)), (then, rule)):
            inner: list[Transform] = []
            Elements(inner, self.place, self.source).read(part, gradient, variable)
            self.rows += [Masked(row, Rule(test=picked, written=test)) for row in inner]

    def operation(self, value: Operation, gradient: str, variable: str) -> None:
        left, right = unwrap(value.left), unwrap(value.right)
        if value.operator == "-" and value.right is None:
            self.rows.append(named_factor(-1.0, "factor of the gradient"))
            self.read(value.left, gradient, variable)
            return
        if value.operator in ("*", "/"):
            if value.operator == "*" and (is_number(left) or not _uses(left, gradient)):
                left, right = right, left
            if is_number(right) and (right or value.operator == "*"):
                factor = float(right) if value.operator == "*" else 1.0 / right
                self.rows.append(named_factor(factor, "factor of the gradient"))
                self.read(left, gradient, variable)
                return
            row = self.scaled(value.operator, right, gradient)
            if row is not None:
                self.rows.append(row)
                self.read(left, gradient, variable)
                return
        if value.operator in ("+", "-") and variable:
            row = _penalty(value, variable)
            if row is not None:
                self.rows.append(row)
                self.read(value.left if _uses(value.left, gradient) else value.right, gradient, variable)
                return
        self.refuse(value)

    def scaled(self, operator: str, factor: Any, gradient: str) -> Transform | None:
        try:
            return clip_of_scaled(operator, factor, gradient, self.place, self.source)
        except ParseError:
            raise
        except SettingError as error:
            raise self.place.error(str(error)) from None

    def call(self, value: Call, gradient: str, variable: str) -> None:
        function = value.receiver if value.path == ("__call__",) else None
        if isinstance(function, Opaque) and isinstance(function.node, ast.FunctionDef | ast.Lambda):
            self.function(value, function, gradient, variable)
            return
        name = value.path[-1]
        inside = (
            value.receiver if value.receiver is not None else next(iter((*value.args, *value.kwargs.values())), None)
        )
        rest = value.args if value.receiver is not None else value.args[1:]
        row: Transform | None = None
        try:
            if name in CLIPS and value.receiver is None:
                row = clip_row(value)
            elif name == "clip":
                row = _clipped(rest, value.kwargs)
        except ParseError:
            raise
        except SettingError as error:
            raise self.place.error(str(error)) from None
        if name == "sign":
            row = Sign()
        elif name in ("where", "nan_to_num") and _zeroes_nans(value, gradient):
            row, inside = ZeroNans(), Name(gradient)
        elif name in ("negative", "neg"):
            row = named_factor(-1.0, "factor of the gradient")
        elif name in ("multiply", "divide", "add", "subtract") and len(value.args) == 2:
            symbol = {"multiply": "*", "divide": "/", "add": "+", "subtract": "-"}[name]
            self.operation(Operation(symbol, *value.args, value.place, value.text), gradient, variable)
            return
        elif name == "where" and len(value.args) == 3:
            row = _where_clip(value, gradient, self.place, self.source)
            inside = Name(gradient)
        if row is not None:
            self.rows.append(row)
        elif name not in UNCHANGED:
            self.refuse(value)
        self.read(inside, gradient, variable)

    def function(self, call: Call, function: Opaque, gradient: str, variable: str) -> None:
        """A function of the text with one argument that is the gradient; the others are the variable or numbers."""
        node = function.node
        assert isinstance(node, ast.FunctionDef | ast.Lambda)
        names = [argument.arg for argument in node.args.args]
        body = expression_of(function)
        given = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
        defaults = node.args.defaults
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            given.setdefault(name, value_of(default, function.names))
        known = {name: item for name, item in given.items() if is_number(unwrap(item))}
        if known:
            body = expression_of(Opaque(function.text, _without(node, set(known)), {**function.names, **known}))
        using = [name for name, item in given.items() if _uses(item, gradient)]
        if body is None or len(using) != 1:
            raise call.error(f"what {function.text} does to the gradients cannot be read: {KNOWN}")
        inner = next((name for name, item in given.items() if isinstance(item, Name) and item.text == variable), "")
        self.read(body, using[0], inner)
        self.read(given[using[0]], gradient, variable)


def _without(node: ast.FunctionDef | ast.Lambda, names: set[str]) -> ast.AST:
    """The function without these arguments, whose names then mean what they are given."""
    kept = [argument for argument in node.args.args if argument.arg not in names]
    arguments = ast.arguments([], kept, None, [], [], None, [])
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(arguments, node.body), node)
    return ast.copy_location(ast.FunctionDef(node.name, arguments, node.body, []), node)


def _rule(test: ast.expr, gradient: str, variable: str, names: Mapping[str, Any]) -> Any:
    """The rule of a test of a variable's axes or name."""
    text = ast.unparse(test)
    for end in (".shape.ndims", ".shape.rank", ".get_shape().ndims"):
        text = text.replace(end, ".ndim")
    for owner in (gradient, *([variable] if variable else ())):
        text = text.replace(f"len({owner}.get_shape())", f"{owner}.ndim").replace(f"tf.rank({owner})", f"{owner}.ndim")
    if variable:
        for end in (".op.name", ".name", ".path"):
            text = text.replace(f"{variable}{end}", "the_name")
    known = {name: item for name, item in names.items() if isinstance(item, str | list | tuple)}
    for parameter in (gradient, variable or gradient):
        try:
            return condition(ast.parse(text, mode="eval").body, "the_name", parameter, known)
        except Unread:
            if parameter == (variable or gradient):
                raise
    raise Unread(text)


def _is_sum(value: Any) -> bool:
    """True for ``a + g`` and ``a + g / n``."""
    if not isinstance(value, Operation) or value.operator != "+" or not isinstance(value.left, Name):
        return False
    added = value.right
    if isinstance(added, Operation) and added.operator in ("*", "/") and is_number(unwrap(added.right)):
        added = added.left
    return isinstance(added, Name)


def _uses(value: Any, name: str) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Name) and (item.text == name or item.text.startswith(f"{name}.")):
            return True
        if isinstance(item, Operation):
            stack += [item.left, item.right]
        elif isinstance(item, Call):
            if item.receiver is None and item.path[0] == name:
                return True
            stack += [item.receiver, *item.args, *item.kwargs.values()]
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, Opaque) and name in _free_names(item.node):
            return True
    return False


def _free_names(node: ast.AST) -> set[str]:
    """The names in a piece of syntax that it does not bind itself."""
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    bound = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return used - bound - {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}


def _penalty(value: Operation, variable: str) -> Transform | None:
    """The row of ``g + λ v`` and ``g + λ sign(v)``."""
    sign = 1.0 if value.operator == "+" else -1.0
    for part, first in ((value.right, False), (value.left, True)):
        if first and value.operator == "-":
            return None
        factor, kind = 1.0, part
        if isinstance(part, Operation) and part.operator == "*":
            left, right = unwrap(part.left), unwrap(part.right)
            factor, kind = (left, right) if is_number(left) else (right, left)
        if not is_number(factor) or sign * factor < 0:
            continue
        if isinstance(kind, Name) and kind.text in (variable, f"{variable}.value"):
            return L2(weight_decay=float(factor))
        if isinstance(kind, Call) and kind.path[-1] == "sign" and len(kind.args) == 1:
            inside = kind.args[0]
            if isinstance(inside, Name) and inside.text == variable:
                return L1(weight_decay=float(factor))
    return None


def _clipped(rest: Any, named: Mapping[str, Any]) -> Transform | None:
    bounds: list[Any] = [unwrap(item) for item in rest]
    for key, item in named.items():
        if key in ("a_min", "min", "x_min", "a_max", "max", "x_max"):
            bounds += [unwrap(item)]
    if len(bounds) != 2 or not all(is_number(bound) for bound in bounds):
        return None
    low, high = bounds if not any("max" in key for key in list(named)[:1]) else bounds[::-1]
    return ClipByValue(clip_value=high, clip_min=None if low == -high else low)


def _zeroes_nans(value: Call, gradient: str) -> bool:
    """``where(isnan(g), zeros_like(g), g)``: nan becomes 0; nan_to_num also changes inf and is not that."""
    if value.path[-1] != "where" or len(value.args) != 3:
        return False
    test, zero, kept = value.args
    asks = isinstance(test, Call) and test.path[-1] in ("isnan", "is_nan") and _uses(test, gradient)
    nought = (is_number(zero) and zero == 0) or (isinstance(zero, Call) and zero.path[-1] == "zeros_like")
    return asks and nought and isinstance(kept, Name) and kept.text == gradient


def _where_clip(value: Call, gradient: str, place: Place, source: Any) -> Transform | None:
    """``where(norm < c, g, g / norm * c)``, as optax clips."""
    test, then, other = value.args
    if not isinstance(test, Operation) or test.operator not in ("<", "<=", ">", ">="):
        return None
    kept, scaled = (then, other) if test.operator in ("<", "<=") else (other, then)
    if not isinstance(kept, Name) or kept.text != gradient or not isinstance(scaled, Operation):
        return None
    limit, norm = unwrap(test.right), test.left
    top, bottom = _fraction(scaled, gradient)
    if bottom is not norm or top != limit:
        return None
    factor = Call(("minimum",), (1.0, Operation("/", limit, norm)))
    return clip_of_scaled("*", factor, gradient, place, source)


def _fraction(value: Operation, gradient: str) -> tuple[Any, Any]:
    """(c, norm) of ``g / norm * c``, ``g * c / norm`` and ``g * (c / norm)``."""
    top: list[Any] = []
    bottom: list[Any] = []

    def take(item: Any, over: list[Any], under: list[Any]) -> None:
        if isinstance(item, Operation) and item.operator in ("*", "/") and item.right is not None:
            take(item.left, over, under)
            take(item.right, *((over, under) if item.operator == "*" else (under, over)))
        elif not (isinstance(item, Name) and item.text == gradient):
            over.append(unwrap(item))

    take(value, top, bottom)
    return (top[0], bottom[0]) if len(top) == len(bottom) == 1 else (None, None)
