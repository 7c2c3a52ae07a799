"""What lines do to the weights behind the step of TensorFlow and JAX code, and steps or optimizers made twice."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Any

from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.values import Call, Name, Opaque, Program, Statement, describe
from core.optim.transform import Transform
from core.optim.transforms.weight_bounds import ClipWeights

MAPS = ("map", "tree_map", "tree_multimap")
CLIPS = ("clip", "clip_by_value")
OTHERS = re.compile(r"ema|avg|aver|target|shadow|teacher|slow|swa|old|best|metric|count|step|loss|acc|sum|grad", re.I)
"""What is assigned in a loop and is not the weights."""
ALL = re.compile(r"variables|weights|params", re.I)
CHANGED = "the weights are changed here by hand, beside the optimizer, in a way that has no row; known is clipping them"


def bounded_weights(program: Program) -> list[Transform]:
    """``v.assign(tf.clip_by_value(v, -c, c))`` for all v, and the same over a tree of JAX."""
    rows: list[Transform] = []
    applied = [call for call in program.calls() if call.path[-1] == "apply_updates"]
    held = {name for s in program.statements if s.value in applied for name in s.targets}
    for statement in program.statements:
        value = statement.value
        if not isinstance(value, Call):
            continue
        if value.path[-1] == "assign" and value.args and any(_over_variables(loop.walked) for loop in statement.loops):
            owner = describe(value.receiver) if value.receiver is not None else value.path[0]
            name = describe(value.args[0])
            if not OTHERS.search(owner) and re.search(rf"\b{re.escape(owner)}\b", name) and "zeros" not in name:
                rows.append(_clip(value.args[0], statement))
        elif value.path[-1] == "set_weights" and statement.loops and "get_weights" in describe(value):
            if not OTHERS.search(value.dotted):
                raise value.error(CHANGED)
        elif held & set(statement.targets) and value not in applied and any(one in value.args for one in applied):
            rows.append(_clip(_mapped(value, statement), statement))
    return rows


def check_turns(program: Program, optimizer: Call, applying: tuple[str, ...]) -> None:
    """A ParseError for an optimizer that is made in the loop of its steps, or that takes two steps in one turn."""
    steps = [s for s in program.statements if _is_step(s.value, optimizer, applying)]
    for statement in program.statements:
        if statement.value is optimizer and any(statement.loops and statement.loops == s.loops for s in steps):
            raise optimizer.error(
                "the optimizer is made anew in each turn of this loop, so that its averages and its count start again "
                "with every step; make it before the loop"
            )
    for first, second in pairwise(steps):
        alike = (first.loops, first.conditions, first.function) == (second.loops, second.conditions, second.function)
        if alike and first.loops:
            raise second.place.error("two steps are taken in one turn of this loop; leave one of the two out")


def _is_step(value: Any, optimizer: Call, applying: tuple[str, ...]) -> bool:
    return isinstance(value, Call) and value.path[-1] in applying and value.receiver is optimizer


def _over_variables(walked: Any) -> bool:
    return ALL.search(describe(walked)) is not None


def _clip(value: Any, statement: Statement) -> Transform:
    """The row of ``clip(w, low, high)``."""
    if isinstance(value, Call) and value.name in CLIPS:
        bounds = [*value.args[1:], *(v for k, v in value.kwargs.items() if k in _BOUNDS)]
        if len(bounds) == 2 and all(map(is_number, bounds)):
            return ClipWeights(low=float(bounds[0]), high=float(bounds[1]))
    raise statement.place.error(CHANGED)


_BOUNDS = ("clip_value_min", "clip_value_max", "a_min", "a_max", "min", "max")


def _mapped(value: Call, statement: Statement) -> Any:
    """What ``tree.map(lambda p: ..., params)`` makes of each p."""
    function = value.args[0] if value.path[-1] in MAPS and len(value.args) == 2 else None
    if isinstance(function, Opaque) and isinstance(function.node, ast.Lambda):
        body = expression_of(function)
        given = function.node.args.args
        if isinstance(body, Call) and body.args and isinstance(body.args[0], Name) and len(given) == 1:
            return body if body.args[0].text == given[0].arg else None
    raise statement.place.error(CHANGED)
