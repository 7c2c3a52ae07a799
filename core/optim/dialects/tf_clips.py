"""tf.clip_by_* statements of a training loop, read and written for the dialects of TensorFlow."""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.syntax import is_number, read_program
from core.optim.dialects.values import Call, NotRepresentable, Opaque, Operation, ParseError, Program, describe, walk
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByAverageNorm, ClipByGlobalNorm, ClipByNorm, ClipByValue

NAME = Argument("name", None, "unused")
CLIPS: dict[str, tuple[Argument, ...]] = {
    "clip_by_value": (
        Argument("t", None, "any"),
        Argument("clip_value_min"),
        Argument("clip_value_max"),
        NAME,
    ),
    "clip_by_norm": (Argument("t", None, "any"), Argument("clip_norm"), Argument("axes", None, "any"), NAME),
    "clip_by_global_norm": (
        Argument("t_list", None, "any"),
        Argument("clip_norm"),
        Argument("use_norm", None, "unused"),
        NAME,
    ),
    "clip_by_average_norm": (Argument("t", None, "any"), Argument("clip_norm"), NAME),
}
NO_GRADIENT = re.compile(
    r"pred|prob|logit|output|label|target|loss|action|ratio|std|sigma|image|^y\b|^x\b|reward|weights|advantage", re.I
)
"""What a clipped thing is called when it is not a gradient."""


def read_clips(program: Program) -> list[Transform]:
    """The rows of the clipping statements, in order; clipping of predictions, ratios and the like is left alone."""
    rows: list[Transform] = []
    bounds = {id(one) for call in program.calls() if call.path[-1] == "assign" for one in walk(list(call.args))}
    for call in every_call(program):
        if call.receiver is None and call.name in CLIPS and id(call) not in bounds:  # not w.assign(clip(w)): weights
            row = clip_row(call)
            if row is not None:
                rows.append(row)
    return rows


def clip_row(call: Call) -> Transform | None:
    """The row of one clipping call; None where it clips something that is no gradient."""
    values = bind(call, CLIPS[call.name])
    subject = values.get("t", values.get("t_list"))
    if is_number(subject):
        raise call.error(f"{call.name} takes the gradients first: {call.dotted}(gradients, {subject})")
    text = describe(subject)
    if "grad" not in text.lower() and NO_GRADIENT.search(text):
        return None
    try:
        if call.name == "clip_by_value":
            low, high = values["clip_value_min"], values["clip_value_max"]
            return ClipByValue(clip_value=high, clip_min=None if low == -high else low)
        if call.name == "clip_by_norm":
            return ClipByNorm(max_norm=values["clip_norm"], axes=_axes(values["axes"], call))
        if call.name == "clip_by_average_norm":
            return ClipByAverageNorm(max_norm=values["clip_norm"])
        return ClipByGlobalNorm(max_norm=values["clip_norm"], convention="tensorflow")
    except ParseError:
        raise
    except SettingError as error:
        raise call.error(str(error)) from None


def _axes(value: Any, call: Call) -> list[float]:
    if value is None:
        return []
    axes = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(axis, int) and not isinstance(axis, bool) for axis in axes):
        raise call.error(f"axes are whole numbers, not {describe(value)}")
    return [float(axis) for axis in axes]


def every_call(program: Program) -> Iterator[Call]:
    """The calls of the program and those inside comprehensions and lambdas, in order of their lines."""
    found = list(program.calls())
    seen: set[int] = set()
    for statement in program.statements:
        for opaque in _opaque(statement.value, seen):
            found += _inside(opaque)
    yield from sorted(found, key=lambda call: (call.line, 0))


def _opaque(value: Any, seen: set[int]) -> Iterator[Opaque]:
    """The opaque parts of a value."""
    stack = [value]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        if isinstance(item, Opaque):
            seen.add(id(item))
            yield item
        elif isinstance(item, Call):
            seen.add(id(item))
            stack += [item.receiver, *item.args, *item.kwargs.values()]
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, Operation):
            stack += [item.left, item.right]


def _inside(opaque: Opaque) -> list[Call]:
    """The clipping calls in a piece of code that is not run, with the numbers its names stand for."""
    found: list[Call] = []
    for node in ast.walk(opaque.node):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in CLIPS:
            filled = _Numbers(opaque).visit(copy.deepcopy(node))
            for call in read_program(ast.unparse(ast.fix_missing_locations(filled))).calls():
                if call.name in CLIPS:
                    found.append(Call(call.path, call.args, call.kwargs, opaque.place, call.text, None, (), {}))
    return found


class _Numbers(ast.NodeTransformer):
    """Puts the numbers that names stand for in the place of the names."""

    def __init__(self, opaque: Opaque) -> None:
        self.names = opaque.names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id)
        if isinstance(value, float | int) and is_number(value) and math.isfinite(value):
            return ast.copy_location(ast.parse(repr(value), mode="eval").body, node)
        return node


def write_clip(row: Transform) -> str:
    """The statement that clips as ``row`` does; NotRepresentable when TensorFlow has none."""
    if isinstance(row, ClipByValue):
        bounds = f"{row.least!r}, {row.clip_value!r}"
        return f"gradients = [tf.clip_by_value(g, {bounds}) for g in gradients]"
    if isinstance(row, ClipByNorm) and row.convention in ("tensorflow", "optax"):
        axes = f", axes={[int(axis) for axis in row.axes]}" if row.axes else ""
        return f"gradients = [tf.clip_by_norm(g, {row.max_norm!r}{axes}) for g in gradients]"
    if isinstance(row, ClipByAverageNorm):
        return f"gradients = [tf.clip_by_average_norm(g, {row.max_norm!r}) for g in gradients]"
    if isinstance(row, ClipByGlobalNorm) and row.convention in ("tensorflow", "optax"):
        return f"gradients, _ = tf.clip_by_global_norm(gradients, {row.max_norm!r})"
    if isinstance(row, ClipByNorm | ClipByGlobalNorm):
        raise NotRepresentable(
            "PyTorch divides by the norm + 1e-6 when it clips; TensorFlow's clips have no such term, "
            "so the factor would differ by about 1e-6 / norm"
        )
    raise NotRepresentable(f"TensorFlow has no statement for {row.label!r}")
