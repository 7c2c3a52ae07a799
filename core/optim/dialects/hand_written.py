"""Weight updates written out by hand, without an optimizer: ``w -= lr * w.grad``, ``w.assign_sub(lr * dw)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from core.optim.chain import Chain
from core.optim.dialects.beyond_descent import refuse_more, refuse_unread
from core.optim.dialects.binding import unwrap
from core.optim.dialects.gradient_edits import hooks, is_gradient
from core.optim.dialects.jax_gradients import read_hand_written
from core.optim.dialects.syntax import is_number
from core.optim.dialects.tf_clips import CLIPS, clip_row
from core.optim.dialects.torch_events import Event, Events, read_events
from core.optim.dialects.torch_loop import play, shows_a_loop
from core.optim.dialects.torch_parts import CLIPS as TORCH_CLIPS
from core.optim.dialects.torch_reading import read_front
from core.optim.dialects.turns import UNKNOWN, evaluate
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Program, Statement, describe
from core.optim.optimizer import Optimizer
from core.optim.schedules.stepped import HandSetRate
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.rate import LearningRate

GRADIENT = re.compile(r"grad|^d_?[wbW]\w*$|^d_?theta|^dl_?dw|^g$|^nabla", re.I)
"""What a gradient is called where no framework says so."""
UNSAID = re.compile(r"(?:-=|-)\s*(?P<rate>\w*(?:lr|rate|step_size|eta|alpha)\w*)\s*\*|alpha=-(?P<alpha>[a-z]\w*)")
"""A weight update whose rate is a name."""


def read_updates(program: Program) -> Optimizer | None:
    """Plain gradient descent, where the text updates weights by hand; None where it does not."""
    found = [(statement, rate) for statement in program.statements for rate in _rates(statement)]
    for statement in program.statements if not found else ():
        rate = _of_line(statement.place.quote, program)
        found += [] if rate is None else [(statement, rate)]
    refuse_more(program, [statement for statement, _ in found])
    if not found:
        changing = _changing(program)
        if changing is None:
            _check_rate(program)
            _check_others(program)
            refuse_unread(program)
        return changing
    rates = {rate for _, rate in found}
    if len(rates) > 1:
        raise found[1][0].place.error(
            f"the weights are updated with different rates here ({', '.join(map(repr, sorted(rates)))}); write "
            "torch.optim.SGD with a group for each"
        )
    rate = found[0][1]
    front: list[Transform] = [*hooks(program)]
    remarks: list[str] = []
    events = read_events(program, _Updates([statement for statement, _ in found]))
    if shows_a_loop(events):
        reading = read_front(events, (), rate)
        front, remarks = [*front, *reading.front], reading.remarks
    else:
        written = read_hand_written(program, found[0][0])
        front += _clips(program) if written is None else written
    chain = Chain([FrozenMask(), *front, LearningRate(learning_rate=rate)])
    return Optimizer(chain, dialect="torch", source=program.text, remarks=remarks)


def _check_rate(program: Program) -> None:
    """ParseError where weights are updated by a rate that no line sets."""
    for statement in program.statements:
        match = UNSAID.search(statement.place.quote)
        name = (match.group("rate") or match.group("alpha")) if match else ""
        if name and not is_number(program.names.get(name)):
            raise statement.place.error(f"no line above says what {name} is; put a line '{name} = 0.01' above")


def _check_others(program: Program) -> None:
    """ParseError where parameters are changed by hand in another way than by a rate times their gradient."""
    for statement in program.statements:
        value = statement.value
        walked = any(loop.over_parameters for loop in statement.loops)
        taken = isinstance(value, Operation) and value.operator == "-" and statement.changes == "-"
        called = isinstance(value, Call) and value.path[-1] in ("sub_", "add_", "addcdiv_", "copy_")
        if walked and (taken or called):
            raise statement.place.error(
                "the weights are changed here by hand, by something else than a rate times their gradient; write the "
                "optimizer that does this, such as torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-4)"
            )


def _changing(program: Program) -> Optimizer | None:
    """``p.data -= learning_rate * p.grad`` with a rate worked out anew in each turn of the loop."""
    for statement in program.statements:
        value = statement.value
        if not isinstance(value, Operation) or value.operator != "-" or not isinstance(value.right, Operation):
            continue
        taken = value.right
        if taken.operator != "*" or not (statement.targets or statement.stores):
            continue
        rate = taken.left if _gradient(taken.right) else taken.right if _gradient(taken.left) else None
        if rate is None or isinstance(rate, Name):
            continue
        events = read_events(program, _Updates([statement], rate))
        if not shows_a_loop(events):
            return None
        first = next(play(events, 0.0), None)
        if first is None:
            return None
        reading = read_front(events, (), first.rate)
        schedule = HandSetRate(partial(_rates_of, events), first.rate, value.text)
        schedule.at(0)
        row = LearningRate(schedule=schedule, learning_rate=first.rate)
        chain = Chain([FrozenMask(), *hooks(program), *reading.front, row])
        return Optimizer(chain, dialect="torch", source=program.text, remarks=reading.remarks)
    return None


def _rates_of(events: Sequence[Event]) -> Iterator[float]:
    return (one.rate for one in play(events, 0.0))


class _Updates(Events):
    """The events of a loop whose step is the update of the weights; of several weights the first counts."""

    def __init__(self, updates: Sequence[Statement], rate: Any = None) -> None:
        super().__init__((), (), (), TORCH_CLIPS)
        self.first = updates[0].place
        self.rate = rate

    def of(self, statement: Statement) -> Iterator[Event]:
        if statement.place == self.first:
            if self.rate is not None:
                yield Event("rate", statement, self.rate)
            yield Event("step", statement, statement.value)
        elif not any(True for _ in _rates(statement)):
            yield from super().of(statement)


def _rates(statement: Statement) -> Iterator[float]:
    """The rate, where the statement takes rate times gradient away from something."""
    value = statement.value
    if isinstance(value, Operation) and value.operator in ("-", "+") and value.right is not None:
        if (statement.targets or statement.stores) and not is_number(value.left):
            rate = _rate(value.right)
            if rate is not None:
                yield rate if value.operator == "-" else -rate
    elif isinstance(value, Call):
        rate = _of_call(value)
        if rate is not None:
            yield rate
    elif isinstance(value, Opaque):
        rate = _of_opaque(value)
        if rate is not None:
            yield rate


def _of_call(call: Call) -> float | None:
    """``w.assign_sub(lr * g)``, ``p.data.add_(p.grad, alpha=-lr)``, ``jax.tree.map(lambda p, g: p - lr * g, ...)``."""
    name, args = call.path[-1], [unwrap(argument) for argument in call.args]
    if name in ("assign_sub", "sub_") and args:
        alpha = call.kwargs.get("alpha", 1.0)
        rate = _rate(args[-1])
        return None if rate is None or not is_number(alpha) else rate * alpha
    if name == "assign" and args and isinstance(args[-1], Operation) and args[-1].operator == "-":
        return _rate(args[-1].right)
    if name == "add_" and args:
        alpha = unwrap(call.kwargs.get("alpha", 1.0))
        if len(args) == 2 and is_number(args[0]):
            alpha, args = args[0], args[1:]
        rate = _rate(args[0]) if is_number(alpha) else None
        if rate is None or alpha * rate > 0 or is_gradient(".".join(call.path[:-1])):
            return None  # velocity.mul_(0.9).add_(p.grad) collects gradients
        return -alpha * rate
    if name in ("tree_map", "map", "tree_multimap") and call.args and isinstance(call.args[0], Opaque):
        return _of_lambda(call.args[0])
    return None


def _of_lambda(function: Opaque) -> float | None:
    node = function.node
    if not isinstance(node, ast.Lambda) or len(node.args.args) != 2 or not isinstance(node.body, ast.BinOp):
        return None
    weight, gradient = (argument.arg for argument in node.args.args)
    body = node.body
    if not isinstance(body.op, ast.Sub) or ast.unparse(body.left) != weight:
        return None
    return _times(body.right, gradient, function)


def _of_opaque(value: Opaque) -> float | None:
    """``[w - lr * dw for w, dw in zip(params, grads)]``, also with a tuple of weights for each layer."""
    node = value.node
    if not isinstance(node, ast.ListComp | ast.GeneratorExp):
        return None
    element = node.elt.elts[0] if isinstance(node.elt, ast.Tuple) and node.elt.elts else node.elt
    pair = getattr(node.generators[0].target, "elts", ())
    names = [_first(part) for part in pair]
    if len(names) != 2 or not isinstance(element, ast.BinOp):
        return None
    if not isinstance(element.op, ast.Sub) or ast.unparse(element.left) != names[0]:
        return None
    return _times(element.right, names[1], value)


def _first(node: ast.AST) -> str:
    """The name a target binds, the first of a tuple's."""
    inside = getattr(node, "elts", None)
    return _first(inside[0]) if inside else ast.unparse(node)


def _of_line(line: str, program: Program) -> float | None:
    """``w = w - lr * dw`` where the text works ``dw`` out above; ParseError when nothing says what the rate is."""
    try:
        node = ast.parse(line.strip()).body[0]
    except (SyntaxError, IndexError):
        return None
    sign = 1.0
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub | ast.Add):
        taken: ast.expr = node.value
        sign = 1.0 if isinstance(node.op, ast.Sub) else -1.0
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
        if ast.unparse(node.targets[0]) != ast.unparse(node.value.left):
            return None
        taken = node.value.right
    else:
        return None
    if isinstance(taken, ast.BinOp) and isinstance(taken.op, ast.Mult):
        for one, other in ((taken.left, taken.right), (taken.right, taken.left)):
            if isinstance(other, ast.BinOp):  # lr * (w.grad + decay * w) is more than a gradient
                continue
            if GRADIENT.search(ast.unparse(other).split(".")[-1]) and not GRADIENT.search(ast.unparse(one)):
                found = unwrap(evaluate(Opaque("", one, program.names), {}))
                return sign * float(found) if found is not UNKNOWN and is_number(found) else None
    return None


def _times(node: ast.expr, gradient: str, around: Opaque) -> float | None:
    """The rate in ``lr * g`` or ``g * lr``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if ast.unparse(other) == gradient:
                found = unwrap(evaluate(Opaque("", one, around.names), {}))
                return float(found) if found is not UNKNOWN and is_number(found) else None
    return 1.0 if ast.unparse(node) == gradient else None


def _rate(value: Any) -> float | None:
    """The number in front of a gradient: 0.1 for ``0.1 * w.grad``; None where this is no gradient."""
    factor = 1.0
    while isinstance(value, Operation) and value.operator in ("*", "/", "-"):
        left, right = unwrap(value.left), unwrap(value.right)
        if value.operator == "-":
            if value.right is not None:
                return None
            factor, value = -factor, value.left
        elif is_number(right) and (value.operator == "*" or right):
            factor, value = (factor * right if value.operator == "*" else factor / right), value.left
        elif is_number(left) and value.operator == "*":
            factor, value = factor * left, value.right
        else:
            return None
    return float(factor) if _gradient(value) else None


def _gradient(value: Any) -> bool:
    if is_gradient(value):
        return True
    if isinstance(value, Attribute):
        return _gradient(value.owner)
    if isinstance(value, Name):
        return GRADIENT.search(value.text.split(".")[-1]) is not None
    if isinstance(value, Call):
        if value.name in CLIPS and value.args:
            return _gradient(value.args[0])
        inner = value.receiver
        made = isinstance(inner, Call) and inner.name in ("grad", "value_and_grad")
        return made or value.name in ("gradient", "gradients") or GRADIENT.search(value.name) is not None
    return isinstance(value, Opaque) and "grad" in describe(value).lower()


def _clips(program: Program) -> list[Transform]:
    rows = [clip_row(call) for call in program.calls() if call.receiver is None and call.name in CLIPS]
    return [row for row in rows if row is not None]
