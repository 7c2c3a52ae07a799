"""The traced operations as a graph of nodes, simplified without changing a single bit of the results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.program.trace import Ref, Step
from core.autodiff.rules import arithmetic

_MAY_COPY = ("positive", "stop_gradient", "reshape", "astype", "transpose")


@dataclass(slots=True)
class Node:
    """One value of the program. ``op`` None: an input. Operands are numbers of nodes (Ref) or constants."""

    op: Op | None
    operands: tuple[Any, ...]
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    users: list[int] = field(default_factory=list)


def node_of(value: Any, op: Op | None = None, operands: tuple[Any, ...] = (), params: tuple[Any, ...] = ()) -> Node:
    """A node with the shape, dtype and memory layout of the example's value."""
    return Node(op, operands, params, value.shape, value.dtype, np.asarray(value).strides)


class Graph:
    """The nodes in order of computation (by the number of their tensor), and which of them are results."""

    def __init__(self, inputs: dict[int, Any], steps: list[Step], outputs: list[Any]) -> None:
        self.nodes: dict[int, Node] = {i: node_of(value) for i, value in inputs.items()}
        self._alias: dict[int, int] = {}
        seen: dict[Any, int] = {}
        for step in steps:
            operands = tuple(Ref(self._find(o.id)) if isinstance(o, Ref) else o for o in step.operands)
            same = self._same_as_operand(step, operands)
            if same is not None:
                self._alias[step.out_id] = same
                continue
            key = _key(step.op, operands, step.params)
            if key is not None and key in seen:
                self._alias[step.out_id] = seen[key]
                continue
            if key is not None:
                seen[key] = step.out_id
            self.nodes[step.out_id] = node_of(step.out, step.op, operands, step.params)
        self.outputs = [Ref(self._find(o.id)) if isinstance(o, Ref) else o for o in outputs]
        self._drop_unused()

    def _find(self, i: int) -> int:
        while i in self._alias:
            i = self._alias[i]
        return i

    def _same_as_operand(self, step: Step, operands: tuple[Any, ...]) -> int | None:
        """The operand that the step's result equals bit for bit: copies, and products and quotients with 1."""
        first = operands[0]
        if isinstance(first, Ref) and step.op.name in _MAY_COPY and self._unchanged(first, step):
            return first.id
        if step.op is arithmetic.MULTIPLY or step.op is arithmetic.DIVIDE:
            for one, other in ((operands[1], first), (first, operands[1])):
                if _is_one(one) and isinstance(other, Ref) and self._unchanged(other, step):
                    return other.id
                if step.op is arithmetic.DIVIDE:
                    break
        return None

    def _unchanged(self, ref: Ref, step: Step) -> bool:
        """Whether the result is the operand itself, in the same memory layout (which sums depend on)."""
        node, out = self.nodes[ref.id], step.out
        if step.op.name == "transpose" and list(step.params[0]) != list(range(len(node.shape))):
            return False
        return node.shape == out.shape and node.dtype == out.dtype and node.strides == np.asarray(out).strides

    def _drop_unused(self) -> None:
        used = {o.id for o in self.outputs if isinstance(o, Ref)}
        for i in reversed(list(self.nodes)):
            node = self.nodes[i]
            if i in used:
                used.update(o.id for o in node.operands if isinstance(o, Ref))
            elif node.op is not None:
                del self.nodes[i]
        for i, node in self.nodes.items():
            for o in node.operands:
                if isinstance(o, Ref):
                    self.nodes[o.id].users.append(i)


def _is_one(value: Any) -> bool:
    return isinstance(value, (float, int, np.floating)) and not isinstance(value, bool) and value == 1


def _key(op: Op, operands: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """What identifies a computation: equal keys compute equal bits. None when the parameters cannot be compared."""
    parts: list[Any] = [id(op)]
    for o in operands:
        if isinstance(o, Ref):
            parts.append(("ref", o.id))
        elif isinstance(o, np.ndarray):
            parts.append(("array", id(o)))
        else:
            parts.append((type(o), repr(o)))
    for p in params:
        text = _text_of(p)
        if text is None:
            return None
        parts.append(text)
    return tuple(parts)


def _text_of(param: Any) -> str | None:
    if isinstance(param, tuple):
        texts = [_text_of(p) for p in param]
        return None if any(t is None for t in texts) else f"({', '.join(t for t in texts if t is not None)})"
    if param is None or isinstance(param, (bool, int, float, str, slice, np.dtype)) or param is Ellipsis:
        return f"{type(param).__name__} {param!r}"
    return None
