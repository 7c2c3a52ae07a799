"""From ``apply_gradients`` back to the tape: what TensorFlow code does to the gradients and to the loss in between."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.loss_terms import loss_terms
from core.optim.dialects.plain_functions import as_expression
from core.optim.dialects.syntax import is_number
from core.optim.dialects.tf_clips import CLIPS, clip_row, read_clips
from core.optim.dialects.tf_sums import Sums, sums_of
from core.optim.dialects.turns import UNKNOWN, evaluate
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place, Program, place_of, walk
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByValue
from core.optim.transforms.scaling import Sign, named_factor

SOURCES = ("gradient", "compute_gradients", "gradients", "get_gradients")
UNSCALING = "get_unscaled_gradients"
THROUGH = ("list", "tuple", "zip", "reversed", UNSCALING, "convert_to_tensor", "identity", "cast", "map")
SCALED = ("scale_loss", "get_scaled_loss")
DEEPEST = 40


class Lost(Exception):
    """The way back to the tape is lost in something that is not known."""


@dataclass
class Path:
    """The rows between the gradient of the problem and the optimizer, and the loss that was differentiated.

    ``factor`` is what multiplies the loss (the first row, where it is not 1). ``scaled`` says how many of the other
    rows act before the lines divide by the loss scale; None: the optimizer does it, after all of them.
    """

    rows: list[Transform] = field(default_factory=list)
    penalties: list[Transform] = field(default_factory=list)
    loss: Any = None
    scaled: int | None = None
    factor: float = 1.0


def read_path(program: Program, optimizer: Call | None = None) -> Path:
    """The way from the tape to ``apply_gradients``; where it is not to be followed, the clips that the text names."""
    applied = [call for call in program.calls() if call.path[-1:] in (("apply_gradients",), ("apply",))]
    if optimizer is not None:
        own = [call for call in applied if call.receiver is optimizer]
        applied = own or [call for call in applied if not isinstance(call.receiver, Call)]
    minimized = [call for call in program.calls() if call.path[-1:] == ("minimize",) and not applied]
    path = Path()
    if any(statement.stores and _clips_inside(statement.value) for statement in program.statements):
        return Path(rows=read_clips(program))  # gradients[i] = (tf.clip_by_norm(gradient, 5), variable)
    sums = sums_of(program, applied[-1]) if applied else None
    if sums is None:
        check_sums(program)
    try:
        if applied and (applied[-1].args or applied[-1].kwargs):
            given = applied[-1].args[0] if applied[-1].args else next(iter(applied[-1].kwargs.values()))
            Walk(path, sums).value(given, 0)
            if sums is not None:
                return _summed(path, sums)
        elif minimized and minimized[-1].args:
            path.loss = minimized[-1].args[0]
        else:
            raise Lost
    except Lost:
        if sums is not None:
            check_sums(program)
        return Path(rows=read_clips(program))
    return finished(path, _unscaled(path.loss))


def _summed(outer: Path, sums: Sums) -> Path:
    """The path of gradients that are added up: what is done to each, the sum, what is done to that."""
    inner = Path()
    Walk(inner).value(sums.gradients, 0)
    inner = finished(inner, _unscaled(inner.loss))
    inner.rows = sums.rows(inner.rows, outer.rows[::-1])
    return inner


def finished(path: Path, loss: Any) -> Path:
    """The path with its rows in the order they act, led by what the loss itself says."""
    path.rows.reverse()
    if path.scaled is not None:
        path.scaled = len(path.rows) - path.scaled
    if loss is not None:
        terms = loss_terms(loss)
        path.penalties = terms.rows()
        if terms.factor != 1.0:
            words = f"the loss is multiplied by {terms.factor:.6g}"
            path.rows.insert(0, named_factor(terms.factor, "factor of the loss", words))
            path.factor = terms.factor
    return path


def _clips_inside(value: Any) -> bool:
    return any(call.name in CLIPS for call in walk(value))


def _unscaled(loss: Any) -> Any:
    """The loss inside ``optimizer.scale_loss(loss)``, and inside a function that only returns it."""
    if isinstance(loss, Call) and loss.path[-1:] and loss.path[-1] in SCALED and loss.args:
        return loss.args[0]
    return loss


class Walk:
    """Goes back from what is applied to the tape; the last change comes first in ``path.rows``."""

    def __init__(self, path: Path, until: Sums | None = None) -> None:
        self.path = path
        self.until = until

    def value(self, value: Any, depth: int) -> None:
        if self.until is not None and self.until.is_sum(value):
            return
        if depth > DEEPEST:
            raise Lost
        if isinstance(value, Call):
            self.call(value, depth)
        elif isinstance(value, Attribute):
            self.value(value.owner, depth + 1)
        elif isinstance(value, list | tuple) and value:
            first = value[0]
            self.value(first[0] if isinstance(first, list | tuple) and first else first, depth + 1)
        elif isinstance(value, Operation):
            self.operation(value, depth)
        elif isinstance(value, Opaque):
            self.comprehension(value, depth)
        else:
            raise Lost

    def call(self, call: Call, depth: int) -> None:
        name = call.path[-1]
        if name in SOURCES:
            self.path.loss = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
        elif name in CLIPS and call.receiver is None and (call.args or call.kwargs):
            row = clip_row(call)
            if row is not None:
                self.path.rows.append(row)
            self.value(call.args[0] if call.args else next(iter(call.kwargs.values())), depth + 1)
        elif name in THROUGH and call.args:
            if name == UNSCALING:
                self.path.scaled = len(self.path.rows)
            inside = call.args[1] if name == "map" and len(call.args) > 1 else call.args[0]
            self.value(inside, depth + 1)
        else:
            raise Lost

    def operation(self, value: Operation, depth: int) -> None:
        if value.operator == "unpack":
            self.value(value.left, depth + 1)
            return
        left, right = unwrap(value.left), unwrap(value.right)
        if value.operator in ("*", "/") and is_number(right) and (value.operator == "*" or right):
            self.path.rows.append(
                named_factor(float(right) if value.operator == "*" else 1.0 / right, "factor of the gradient")
            )
            self.value(value.left, depth + 1)
        elif value.operator == "*" and is_number(left):
            self.path.rows.append(named_factor(float(left), "factor of the gradient"))
            self.value(value.right, depth + 1)
        elif value.operator == "-" and value.right is None:
            self.path.rows.append(named_factor(-1.0, "factor of the gradient"))
            self.value(value.left, depth + 1)
        else:
            raise Lost

    def comprehension(self, value: Opaque, depth: int) -> None:
        """``[tf.clip_by_norm(g, 1.0) for g in grads]``, ``[(clip(g), v) for g, v in pairs]``."""
        node = value.node
        if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
            raise Lost
        target = node.generators[0].target
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        element = node.elt.elts[0] if isinstance(node.elt, ast.Tuple) and node.elt.elts else node.elt
        if not isinstance(first, ast.Name):
            raise Lost
        self.element(element, first.id, value.names, value.place)
        self.value(_resolved(node.generators[0].iter, value), depth + 1)

    def element(self, node: ast.expr, gradient: str, names: Mapping[str, Any], place: Place) -> None:
        """What a comprehension does to each ``gradient``, the outermost change first."""
        if isinstance(node, ast.Name) and node.id == gradient:
            return
        if isinstance(node, ast.IfExp):
            test = ast.unparse(node.test)
            if not test.endswith("None"):
                raise Lost
            absent = " is None" in test
            self.element(node.orelse if absent else node.body, gradient, names, place)
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            function = names.get(node.func.id)
            if isinstance(function, Opaque) and isinstance(function.node, ast.FunctionDef | ast.Lambda):
                inner = function.node
                body = inner.body if isinstance(inner, ast.Lambda) else as_expression(inner)
                if isinstance(body, ast.expr) and len(inner.args.args) == 1:
                    self.element(body, inner.args.args[0].arg, function.names, place)
                    self.element(node.args[0], gradient, names, place)
                    return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            left, right = node.left, node.right
            if isinstance(node.op, ast.Mult) and _uses(right, gradient):
                left, right = right, left
            factor = unwrap(evaluate(Opaque("", right, names), {}))
            if is_number(factor) and (factor or isinstance(node.op, ast.Mult)):
                self.path.rows.append(
                    named_factor(
                        float(factor) if isinstance(node.op, ast.Mult) else 1.0 / factor, "factor of the gradient"
                    )
                )
                self.element(left, gradient, names, place)
                return
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self.path.rows.append(named_factor(-1.0, "factor of the gradient"))
            self.element(node.operand, gradient, names, place)
            return
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).split(".")[-1]
            inside = node.args[0] if node.args else next((k.value for k in node.keywords), None)
            if name in CLIPS and inside is not None:
                keywords = {k.arg: _number(k.value, names) for k in node.keywords if k.arg is not None}
                args = tuple(_number(part, names) for part in node.args)
                row = clip_row(Call((name,), args, keywords, place, ast.unparse(node)))
                if row is not None:
                    self.path.rows.append(row)
                self.element(inside, gradient, names, place)
                return
            if name == "clip" and inside is not None:
                bounds = [_number(part, names) for part in node.args[1:]]
                bounds += [_number(k.value, names) for k in node.keywords if k.arg != "a"]
                if len(bounds) == 2 and all(is_number(bound) for bound in bounds):
                    low, high = bounds
                    self.path.rows.append(ClipByValue(clip_value=high, clip_min=None if low == -high else low))
                    self.element(inside, gradient, names, place)
                    return
            if name == "sign" and inside is not None:
                self.path.rows.append(Sign())
                self.element(inside, gradient, names, place)
                return
            if name in ("identity", "cast", "convert_to_tensor") and inside is not None:
                self.element(inside, gradient, names, place)
                return
        if not _uses(node, gradient):
            raise Lost
        raise place.error(
            f"the gradients are changed here in a way that has no row: {ast.unparse(node)}; known are tf.clip_by_norm, "
            "clip_by_value, sign, * and / by numbers"
        )


def _number(node: ast.expr, names: Mapping[str, Any]) -> Any:
    found = evaluate(Opaque("", node, names), {})
    return Name(ast.unparse(node)) if found is UNKNOWN else found


def _resolved(node: ast.expr, owner: Opaque) -> Any:
    """What the thing a comprehension walks over stands for."""
    if isinstance(node, ast.Name):
        return owner.names.get(node.id)
    if isinstance(node, ast.Call) and node.args:
        name = ast.unparse(node.func).split(".")[-1]
        if name in ("zip", "list", "enumerate"):
            return _resolved(node.args[0], owner)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return Opaque(ast.unparse(node), node, owner.names, owner.place)
    return None


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def check_sums(program: Program) -> None:
    """Gradients that lines add up over several batches before ``apply_gradients`` under ``if step % n == 0``."""
    for statement in program.statements:
        value = statement.value
        if not isinstance(value, Call) or value.path[-1:] != ("apply_gradients",):
            continue
        for condition in statement.conditions:
            if isinstance(condition, Operation) and condition.operator == "==":
                steps = condition.left.right if isinstance(condition.left, Operation) else None
                if isinstance(condition.left, Operation) and condition.left.operator == "%" and is_number(steps):
                    raise place_of(value).error(
                        f"gradients are applied only every {steps} batches here; write "
                        f"gradient_accumulation_steps={steps} into the optimizer, which takes the mean of them"
                    )
