"""Writes a graph as straight-line Python: infix operators, results into memory that is no longer needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.program.graph import Graph, Node
from core.autodiff.program.scalars import FLOAT64, PlainNumbers
from core.autodiff.program.trace import Ref
from core.autodiff.rules import reductions
from core.autodiff.rules.broadcasting import SUM_TO, repeated_axes
from core.autodiff.rules.indexing import GETITEM


class Writer:
    """Collects the lines of a program and the objects its names stand for.

    A value lives in a local name; names are used again once their value is dead, which frees its memory. An
    element-wise numpy operation writes into an operand's memory when that operand is dead, was computed by the
    program itself, is no view and has no living view, and has the result's shape, dtype and memory layout.
    """

    def __init__(self, graph: Graph, names: dict[int, str]) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.env: dict[str, Any] = {"np_float64": np.float64, "np_array": np.array, "add_reduce": np.add.reduce}
        self._constants = {id(value): name for name, value in self.env.items()}
        self.names = dict(names)
        self.numpy_arithmetic = False  # whether anything here can raise numpy's floating-point warnings
        self._inputs = set(names)
        self._free: list[str] = []
        self._count = 0
        self._group: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._last_use = self._find_last_uses()
        self.numbers = PlainNumbers(self)

    # ---- names --------------------------------------------------------------------------------------------
    def constant(self, value: Any) -> str:
        """A name (or literal) for a constant."""
        if value is None or (isinstance(value, (bool, int)) and not isinstance(value, np.generic)):
            return repr(value)
        if type(value) is float and np.isfinite(value):
            return repr(value)
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"c{len(self.env)}"
            self.env[name] = value
        return name

    def operand(self, o: Any) -> str:
        """The text for an operand that goes to numpy."""
        if not isinstance(o, Ref):
            return self.constant(o)
        if o.id in self.numbers.plain:
            return self.numbers.for_numpy(o.id)
        return self.names[o.id]

    def new_name(self) -> str:
        """A local name not in use."""
        if self._free:
            return self._free.pop()
        self._count += 1
        return f"v{self._count}"

    def new_number(self) -> int:
        """A number no name has yet."""
        self._count += 1
        return self._count

    # ---- how long values live -----------------------------------------------------------------------------
    def _find_last_uses(self) -> dict[int, int]:
        """For each group of values that may share memory, the position of the last operation that reads it."""
        last: dict[int, int] = {}
        for position, (i, node) in enumerate(self.graph.nodes.items()):
            base = node.operands[0] if node.op is not None and node.op.view and node.operands else None
            self._group[i] = self._group[base.id] if isinstance(base, Ref) else i
            self._members.setdefault(self._group[i], []).append(i)
            for o in node.operands:
                if isinstance(o, Ref):
                    last[self._group[o.id]] = position
        for o in self.graph.outputs:
            if isinstance(o, Ref):
                last[self._group[o.id]] = len(self.graph.nodes)
        return last

    def group(self, i: int) -> int:
        """The number of the value whose memory this one may share."""
        return self._group[i]

    def _dying(self, node: Node, position: int) -> list[int]:
        """The operands that nothing needs after this operation."""
        ids = dict.fromkeys(o.id for o in node.operands if isinstance(o, Ref))
        return [i for i in ids if self._last_use[self._group[i]] == position]

    def _reusable(self, i: int, node: Node) -> bool:
        candidate = self.graph.nodes[i]
        return (
            i not in self._inputs
            and candidate.op is not None
            and not candidate.op.view
            and self._group[i] == i
            and i not in self.numbers.plain
            and i not in self.numbers.vectors
            and candidate.shape == node.shape
            and candidate.dtype == node.dtype
            and candidate.strides == node.strides
        )

    # ---- writing ------------------------------------------------------------------------------------------
    def write(self) -> None:
        """All operations in order."""
        for position, (i, node) in enumerate(self.graph.nodes.items()):
            if node.op is None or self.numbers.write(i, node):
                continue
            dying = self._dying(node, position)
            text = self._expression(node, dying)
            for d in dying:
                self._release(d)
            self.names[i] = self.new_name()
            self.lines.append(f"{self.names[i]} = {text}")
            self._group_members(i)

    def _group_members(self, i: int) -> None:
        if i not in self._last_use and self._group[i] == i:
            self._release(i)

    def _release(self, i: int) -> None:
        for member in self._members[self._group[i]]:
            if member in self.names and member not in self._inputs:
                name = self.names.pop(member)
                if name.startswith("v") and name not in self._free:
                    self._free.append(name)

    def _expression(self, node: Node, dying: list[int]) -> str:
        op = node.op
        assert op is not None
        weak = (
            op.ufunc is not None
            and op.elementwise
            and all(self.graph.nodes[o.id].dtype == FLOAT64 for o in node.operands if isinstance(o, Ref))
            and any(isinstance(o, Ref) and o.id not in self.numbers.plain for o in node.operands)
        )
        texts = [
            self.numbers.plain[o.id] if weak and isinstance(o, Ref) and o.id in self.numbers.plain else self.operand(o)
            for o in (_as_float(o, node) for o in node.operands)
        ]
        if node.dtype.kind == "V" or any(_dtype_of(o, self.graph).kind == "V" for o in node.operands):
            return self._call(node)  # bfloat16: the forward function knows how
        if op.ufunc is not None and op.elementwise and op.name != "matmul":
            self.numpy_arithmetic = True
            target = next((d for d in dying if self._reusable(d, node)), None) if node.shape else None
            if target is not None:
                named = "out=" if op.ufunc in (np.maximum, np.minimum) else ""  # (numpy wants it by name there)
                return f"{self.constant(op.ufunc)}({', '.join([*texts, named + self.names[target]])})"
            if op.infix:
                return f"{texts[0]} {op.infix} {texts[1]}"
            return f"{self.constant(op.ufunc)}({', '.join(texts)})"
        if op.infix:
            self.numpy_arithmetic = self.numpy_arithmetic or op.infix == "@"
            return f"{texts[0]} {op.infix} {texts[1]}"
        if op is reductions.SUM or (op is reductions.MEAN and node.dtype.itemsize > 2):
            self.numpy_arithmetic = True
            axes, keepdims = node.params[:2]
            end = ", None, None, True" if keepdims else ""
            out = f"add_reduce({texts[0]}, {self._literal(axes)}{end})"
            return out if op is reductions.SUM else f"{out} / {node.params[3]}"
        if op is SUM_TO:
            shape, origin = node.params
            self.numpy_arithmetic = True
            out = f"add_reduce({texts[0]}, {self._literal(repeated_axes(shape, origin))})"
            lead = len(origin) - len(shape)
            whole = shape == () or not any(n == 1 and origin[lead + k] != 1 for k, n in enumerate(shape))
            return out if whole else f"{out}.reshape({self._literal(shape)})"
        if op.name == "reshape" and node.shape:
            return f"{texts[0]}.reshape({self._literal(node.params[0])})"
        if op.name == "transpose":
            order = tuple(node.params[0])
            full = order == tuple(reversed(range(len(order))))
            return f"{texts[0]}.T" if full else f"{texts[0]}.transpose({self._literal(order)})"
        if op is GETITEM and len(node.operands) == 1 and node.shape:
            return f"{texts[0]}[{self._index(node.params[0])}]"
        if op.name == "astype":
            return f"{texts[0]}.astype({self.constant(node.params[0])})"
        return self._call(node)

    def _call(self, node: Node) -> str:
        assert node.op is not None
        self.numpy_arithmetic = True
        texts = [self.operand(o) for o in node.operands]
        return f"{self.constant(node.op.forward)}({', '.join(texts + [self._literal(p) for p in node.params])})"

    def _literal(self, value: Any) -> str:
        if isinstance(value, tuple) and all(isinstance(v, (int, bool)) for v in value):
            return repr(tuple(int(v) if not isinstance(v, bool) else v for v in value))
        return self.constant(value)

    def _index(self, index: Any) -> str:
        parts = index if isinstance(index, tuple) else (index,)
        texts = []
        for p in parts:
            if p is Ellipsis:
                texts.append("...")
            elif isinstance(p, slice) and all(e is None or isinstance(e, int) for e in (p.start, p.stop, p.step)):
                texts.append(":".join("" if e is None else str(e) for e in (p.start, p.stop, p.step)))
            elif p is None or isinstance(p, int):
                texts.append(repr(p))
            else:
                return self.constant(index)
        return ", ".join(texts) if len(texts) != 1 or not isinstance(index, tuple) else texts[0] + ","


def _as_float(o: Any, node: Node) -> Any:
    """A Python integer in floating arithmetic as a float, which numpy converts faster to the same number."""
    if type(o) is int and abs(o) < 2**53 and node.dtype.kind == "f" and node.op is not None and node.op.elementwise:
        return float(o)
    return o


def _dtype_of(o: Any, graph: Graph) -> np.dtype[Any]:
    if isinstance(o, Ref):
        return graph.nodes[o.id].dtype
    return getattr(o, "dtype", FLOAT64)
