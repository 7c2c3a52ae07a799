"""Gradients that lines of a PyTorch loop change by hand: ``p.grad.clamp_(-1, 1)``, ``p.grad *= 0.5``, hooks."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import unwrap
from core.optim.dialects.hand_clips import hand_clip
from core.optim.dialects.parameter_rules import Unread, reached, unread_message, walked_path
from core.optim.dialects.plain_functions import as_expression
from core.optim.dialects.syntax import is_number
from core.optim.dialects.turns import UNKNOWN, evaluate
from core.optim.dialects.values import (
    Attribute,
    Call,
    Name,
    Opaque,
    Operation,
    ParseError,
    Place,
    Program,
    Statement,
    describe,
)
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByValue
from core.optim.transforms.nested import Masked
from core.optim.transforms.scaling import Sign, named_factor
from core.optim.transforms.weight_bounds import ClipWeights
from core.optim.variable_rules import ALL, Rule, joined

LOOKING = ("print", "append", "add_scalar", "info")
CLAMPS = ("clamp", "clamp_", "clip", "clip_")
INPLACE = {"mul_": "*", "div_": "/", "multiply_": "*", "divide_": "/", "mul": "*", "div": "/"}


def is_gradient(value: Any) -> bool:
    """True for ``p.grad``, ``p.grad.data`` and the like."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, Name):
        text = value.text
    elif isinstance(value, Attribute):
        text = "." + value.name
    elif isinstance(value, Call) and value.path[-1] == "detach":
        text = ".".join(value.path[:-1])
    else:
        return False
    return text.endswith((".grad", ".grad.data", "._grad")) or text in ("grad.data",)


def edited_gradient(statement: Statement) -> Transform:
    """The row for a statement that changes gradients; ParseError for what has none."""
    value = statement.value
    row = _change(value, statement.place) or _clipped(value, statement)
    if row is None:
        raise statement.place.error(
            "gradients are changed here in a way that has no row; known are clamp_, mul_, div_, sign_, "
            "* and / by numbers"
        )
    return row


def _clipped(value: Any, statement: Statement) -> Transform | None:
    """The clip that ``p.grad.mul_(coef)`` or ``p.grad = p.grad * coef`` is, when coef is limit over total norm."""
    if isinstance(value, Call) and INPLACE.get(value.path[-1]) == "*" and value.args:
        return hand_clip(value.args[-1], statement)
    if isinstance(value, Operation) and value.operator == "*":
        return hand_clip(value.right, statement) or hand_clip(value.left, statement)
    return None


def bounded_weights(call: Call) -> Transform:
    """The row of ``p.data.clamp_(-0.01, 0.01)``, behind the step."""
    bounds = _clamp([unwrap(argument) for argument in call.args], call.kwargs, call.place)
    if not isinstance(bounds, ClipByValue):
        raise call.error("the bounds of the weights are no numbers; write them out: p.data.clamp_(-0.01, 0.01)")
    return ClipWeights(low=bounds.least, high=bounds.clip_value)


def hooks(program: Program) -> list[Transform]:
    """The rows of ``p.register_hook(lambda grad: ...)``: they act on each gradient before it is added up."""
    rows: list[Transform] = []
    for statement in program.statements:
        call = statement.value
        if isinstance(call, Call) and call.path[-1] == "register_post_accumulate_grad_hook":
            raise call.error("what this hook does while gradients are worked out is not followed; write it in the loop")
        if not isinstance(call, Call) or call.path[-1:] != ("register_hook",) or not call.args:
            continue
        function = call.args[0]
        node = function.node if isinstance(function, Opaque) else None
        body = as_expression(node) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and body is not None:
            node = ast.Lambda(node.args, body)
        if not isinstance(node, ast.Lambda) or not node.args.args:
            if isinstance(function, Opaque) and any(isinstance(part, ast.Return) for part in ast.walk(function.node)):
                raise call.error("what this hook makes of the gradient is more than one return; write it as a lambda")
            continue
        assert isinstance(function, Opaque)
        row = _of_lambda(node, function.names, call.place)
        if row is not None:
            rule = _hooked(call, statement, program)
            rows.append(row if rule is None else Masked(row, rule))
    return rows


def _hooked(call: Call, statement: Statement, program: Program) -> Rule | None:
    """The parameters that a hook is put on, None for all."""
    owner = ".".join(call.path[:-1]) if call.receiver is None else describe(call.receiver)
    walked = [loop for loop in statement.loops if loop.over_parameters]
    try:
        test = reached(statement, owner, program.names)
    except Unread as error:
        raise call.error(unread_message(error)) from None
    if walked:
        path = walked_path(walked[-1])
        test = joined("and", [("in", path), test]) if "." in path else test
    elif owner.endswith((".weight", ".bias")):
        test = joined("and", [("in", owner), test])
    return None if test == ALL else Rule(test=test, written=f"line {call.line} hooks")


def _of_lambda(node: ast.Lambda, names: Any, place: Place) -> Transform | None:
    """The row of ``lambda grad: torch.clamp(grad, -c, c)``; None for one that only looks at the gradient."""
    argument, body = node.args.args[0].arg, node.body
    if isinstance(body, ast.Call) and ast.unparse(body.func).split(".")[-1] in LOOKING:
        return None
    known = {key: item for key, item in names.items() if key != argument}

    def number(part: ast.AST) -> Any:
        found = evaluate(Opaque("", part, known), {})
        return None if found is UNKNOWN else found

    def is_grad(part: ast.AST) -> bool:
        return isinstance(part, ast.Name) and part.id == argument

    row: Transform | None = None
    if isinstance(body, ast.Call):
        name = ast.unparse(body.func).split(".")[-1]
        method = isinstance(body.func, ast.Attribute) and is_grad(body.func.value)
        rest = body.args if method else body.args[1:]
        if name in CLAMPS and (method or (body.args and is_grad(body.args[0]))):
            bounds = {keyword.arg: number(keyword.value) for keyword in body.keywords}
            row = _clamp([number(part) for part in rest], bounds, place)
        elif name == "sign" and (method or (body.args and is_grad(body.args[0]))):
            row = Sign()
    elif isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub) and is_grad(body.operand):
        row = _scaled("*", -1.0, place)
    elif isinstance(body, ast.BinOp) and isinstance(body.op, ast.Mult | ast.Div):
        left, right = body.left, body.right
        if is_grad(right) and isinstance(body.op, ast.Mult):
            left, right = right, left
        factor = number(right)
        if is_grad(left) and is_number(factor):
            row = _scaled("*" if isinstance(body.op, ast.Mult) else "/", factor, place)
    if row is None:
        raise place.error(
            f"this hook changes gradients in a way that has no row ({ast.unparse(body)}); known are clamp, sign, "
            "* and / by numbers"
        )
    return row


def _change(value: Any, place: Place) -> Transform | None:
    if isinstance(value, Call):
        name = value.path[-1]
        args = [unwrap(argument) for argument in value.args]
        if args and not is_number(args[0]) and args[0] is not None and is_gradient(args[0]):
            args = args[1:]
        if name in CLAMPS:
            return _clamp(args, value.kwargs, place)
        if name in INPLACE and args and is_number(args[0]):
            return _scaled(INPLACE[name], args[0], place)
        if name in ("sign_", "sign"):
            return Sign()
        return _scaled("*", -1.0, place) if name in ("neg_", "neg") else None
    if isinstance(value, Operation) and value.operator == "-" and value.right is None:
        return _scaled("*", -1.0, place)
    if isinstance(value, Operation) and value.operator in ("*", "/"):
        left, right = value.left, unwrap(value.right)
        if value.operator == "*" and is_number(unwrap(left)):
            left, right = right, unwrap(left)
        if is_number(right) and not is_number(left):
            return _scaled(value.operator, right, place)
    return None


def _scaled(symbol: str, number: float, place: Place) -> Transform:
    if symbol == "/" and number == 0:
        raise place.error("a gradient divided by 0 is not a number")
    return named_factor(float(number) if symbol == "*" else 1.0 / number, "factor of the gradient")


def _clamp(args: Sequence[Any], bounds: Any, place: Place) -> Transform | None:
    low = args[0] if args else bounds.get("min")
    high = args[1] if len(args) > 1 else bounds.get("max")
    if not all(bound is None or is_number(bound) for bound in (low, high)) or (low is None and high is None):
        return None
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    try:
        return ClipByValue(clip_value=high, clip_min=None if low == -high else low)
    except ParseError:
        raise
    except SettingError as error:
        raise place.error(str(error)) from None
