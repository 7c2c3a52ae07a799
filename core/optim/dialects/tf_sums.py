"""Gradients that TensorFlow code adds up by hand over several batches before ``apply_gradients`` under a counter."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.syntax import is_number
from core.optim.dialects.turns import UNKNOWN, evaluate
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Program, Statement, describe
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate
from core.optim.transforms.scaling import Scale, named_factor

PLAYED = 400
"""Turns of the loop that are played through."""


@dataclass(frozen=True)
class Sums:
    """Every ``steps`` batches (the first time after ``first``) the sum of ``factor`` times ``gradients`` is applied."""

    steps: int
    first: int
    kept: str
    gradients: Any
    factor: float
    adding: Statement
    held: Any = None

    def is_sum(self, value: Any) -> bool:
        """True for what the gradients are added up in."""
        return value is self.adding.value or (self.held is not None and value is self.held)

    def rows(self, before: Sequence[Transform], after: Sequence[Transform]) -> list[Transform]:
        """The rows ``before`` each gradient is added, the sum, those ``after``; a factor 1/n makes it a mean."""
        lists = [*before], [*after]
        if self.factor != 1.0:
            lists[0].append(named_factor(self.factor, "factor of the gradient"))
        mean = False
        for rows, at in ((lists[0], -1), (lists[0], 0), (lists[1], 0)):
            row = rows[at] if rows and self.kept == "step" and self.first == self.steps and not mean else None
            if isinstance(row, Scale) and abs(row.factor * self.steps - 1.0) < 1e-9:
                del rows[at]
                mean = True
        ahead = self.first if self.first != self.steps else None
        total = Accumulate(steps=self.steps, mean=mean, schedule="steps", first=ahead, kept=self.kept)
        return [*lists[0], total, *lists[1]]


def sums_of(program: Program, applied: Call) -> Sums | None:
    """The sums that the call applies, None where it is reached in every turn of its loop or nothing tells when."""
    place = next((one for one in program.statements if one.value is applied), None)
    if place is None or not place.loops:
        return None
    if not place.conditions:
        return _micro_batches(program, place)
    counters = place.loops[-1].counters
    turns: list[int] = []
    for k in range(PLAYED):
        env = {name: start + step * k for name, (start, step) in counters.items()}
        found = [evaluate(condition, env) for condition in place.conditions]
        if UNKNOWN in found:
            return None
        if all(found):
            turns.append(k)
    beats = {b - a for a, b in pairwise(turns)}
    if not turns or beats == {1}:
        return None
    adding = _adding(program, place)
    if adding is None:
        return None
    if len(beats) != 1:
        raise place.place.error("the gradients are applied at uneven times here; apply them every n batches")
    statement, gradients, factor = adding
    reset = any(_sets_back(one) and one.conditions == place.conditions for one in program.statements)
    return Sums(beats.pop(), turns[0] + 1, "step" if reset else "ever", gradients, factor, statement, _held(statement))


def _micro_batches(program: Program, place: Statement) -> Sums | None:
    """The sums of a loop ``for micro in range(n)`` inside each turn of the training."""
    adding = _adding(program, place)
    inner = adding[0].loops[len(place.loops) :] if adding is not None else ()
    turns = [loop.turns for loop in inner if loop.turns is not None]
    if adding is None or len(turns) != 1 or not turns[0]:
        return None
    statement, gradients, factor = adding
    reset = any(_sets_back(one) and one.loops[: len(place.loops)] == place.loops for one in program.statements)
    return Sums(turns[0], turns[0], "step" if reset else "ever", gradients, factor, statement, _held(statement))


def _adding(program: Program, place: Statement) -> tuple[Statement, Any, float] | None:
    """(the statement that adds, what it adds, times which factor) in the loop of ``place``."""
    for statement in program.statements:
        if statement.loops[: len(place.loops)] != place.loops or statement.conditions:
            continue
        value = statement.value
        if isinstance(value, Opaque) and isinstance(value.node, ast.ListComp) and len(value.node.generators) == 1:
            found = _added_in_list(value)
        elif isinstance(value, Call) and value.path[-1:] == ("assign_add",) and len(statement.loops) > len(place.loops):
            found = _added_in_place(value, statement)
        else:
            continue
        if found is not None:
            return statement, *found
    return None


def _added_in_list(value: Opaque) -> tuple[Any, float] | None:
    """``[a + g / n for a, g in zip(sums, gradients)]``."""
    node = value.node
    assert isinstance(node, ast.ListComp)
    element, generator = node.elt, node.generators[0]
    target, walked = generator.target, generator.iter
    pairs = isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(walked, ast.Call)
    if not pairs or not isinstance(element, ast.BinOp) or not isinstance(element.op, ast.Add):
        return None
    assert isinstance(target, ast.Tuple) and isinstance(walked, ast.Call)
    total, gradient = (ast.unparse(part) for part in target.elts)
    if ast.unparse(walked.func) != "zip" or len(walked.args) != 2 or ast.unparse(element.left) != total:
        return None
    added, factor = element.right, 1.0
    if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Div | ast.Mult):
        number = unwrap(evaluate(Opaque("", added.right, value.names), {}))
        if not is_number(number) or not number:
            return None
        factor = number if isinstance(added.op, ast.Mult) else 1.0 / number
        added = added.left
    source = walked.args[1]
    if ast.unparse(added) != gradient or not isinstance(source, ast.Name):
        return None
    return value.names.get(source.id), float(factor)


def _added_in_place(call: Call, statement: Statement) -> tuple[Any, float] | None:
    """``for total, g in zip(sums, gradients): total.assign_add(g / n)``."""
    walked = statement.loops[-1].walked
    numbered = isinstance(call.receiver, Attribute) and call.receiver.name.startswith("[")
    pairs = isinstance(walked, Call) and walked.path == ("zip",) and len(walked.args) == 2
    if len(call.args) != 1 or not (numbered or pairs):
        return None
    added, factor = call.args[0], 1.0
    if isinstance(added, Operation) and added.operator in ("*", "/") and is_number(unwrap(added.right)):
        number = unwrap(added.right)
        if not number:
            return None
        added, factor = added.left, (number if added.operator == "*" else 1.0 / number)
    if numbered:  # total[i].assign_add(gradients[i])
        parts = isinstance(added, Attribute) and added.name.startswith("[")
        return (added.owner, float(factor)) if parts else None
    return (walked.args[1], float(factor)) if isinstance(added, Name) else None


def _held(statement: Statement) -> Any:
    """The variables that ``assign_add`` adds to, None for a list made anew."""
    call = statement.value
    if isinstance(call, Call) and isinstance(call.receiver, Attribute):
        return call.receiver.owner
    walked = statement.loops[-1].walked if isinstance(call, Call) else None
    return walked.args[0] if isinstance(walked, Call) else None


def _sets_back(statement: Statement) -> bool:
    """True for ``sums = [tf.zeros_like(v) for v in ...]`` and ``total.assign(tf.zeros_like(v))``."""
    value = statement.value
    if isinstance(value, Call) and value.path[-1:] == ("assign",):
        return "zeros" in describe(value) or (bool(value.args) and value.args[0] == 0)
    return isinstance(value, Opaque) and "zeros" in value.text
