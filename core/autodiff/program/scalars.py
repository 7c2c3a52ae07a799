"""The part of a program that computes with single float64 numbers: as Python floats, which give the same bits.

Only what IEEE 754 fixes exactly is done on Python floats (+ - * / negation, comparison, choice); everything else
calls the same numpy function as the tape.
"""

from __future__ import annotations

import operator
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from core.autodiff.program.graph import Node
from core.autodiff.program.trace import Ref
from core.autodiff.rules import arithmetic, choosing
from core.autodiff.rules.indexing import GETITEM, SCATTER

if TYPE_CHECKING:
    from core.autodiff.program.emit import Writer

FLOAT64 = np.dtype(np.float64)
BOOL = np.dtype(np.bool_)
MOST_ENTRIES = 32  # arrays up to this size are taken apart into numbers and put together from them
_INFIX = {
    id(op)
    for op in (
        arithmetic.ADD,
        arithmetic.SUBTRACT,
        arithmetic.MULTIPLY,
        arithmetic.LESS,
        arithmetic.LESS_EQUAL,
        arithmetic.GREATER,
        arithmetic.GREATER_EQUAL,
        arithmetic.EQUAL,
        arithmetic.NOT_EQUAL,
    )
}


def divide(a: float, b: float) -> float:
    """``a / b`` as IEEE 754 says also for b = 0 (where Python would raise)."""
    with np.errstate(all="ignore"):
        return float(np.true_divide(a, b))


class PlainNumbers:
    """Which values of the program are Python floats (or bools), and small arrays known entry by entry."""

    def __init__(self, writer: Writer) -> None:
        self._writer: Writer = weakref.proxy(writer)  # the writer holds this object: no cycle
        self.plain: dict[int, str] = {}  # number of the node -> name
        self.vectors: dict[int, dict[tuple[int, ...], str]] = {}  # entries that are not known to be 0.0
        self._entries: dict[int, dict[tuple[int, ...], str]] = {}  # inputs taken apart

    # ---- inputs -------------------------------------------------------------------------------------------
    def take_apart(self, i: int, name: str) -> bool:
        """Read the input ``name`` as numbers when it is small and only ever read entry by entry."""
        node = self._writer.graph.nodes[i]
        if node.dtype != FLOAT64:
            return False
        if node.shape == ():
            number = f"{name}_"
            self._writer.lines.append(f"{number} = float({name})")
            self.plain[i] = number
            return True
        size = int(np.prod(node.shape))
        if not 0 < size <= MOST_ENTRIES or len(node.shape) > 2:
            return False
        for user in node.users:
            u = self._writer.graph.nodes[user]
            if u.op is not GETITEM or len(u.operands) != 1 or entry_index(u.params[0], node.shape) is None:
                return False
        if any(isinstance(o, Ref) and o.id == i for o in self._writer.graph.outputs):
            return False
        names = {index: f"{name}_{'_'.join(map(str, index))}" for index in np.ndindex(node.shape)}
        self._entries[i] = names
        rows = (
            [[names[(r, c)] for c in range(node.shape[1])] for r in range(node.shape[0])]
            if len(node.shape) == 2
            else [[n] for n in names.values()]
        )
        left = ", ".join(f"({', '.join(row)},)" if len(node.shape) == 2 else row[0] for row in rows)
        self._writer.lines.append(f"{left}{',' if len(rows) == 1 else ''} = {name}.tolist()")
        return True

    # ---- operations ---------------------------------------------------------------------------------------
    def write(self, i: int, node: Node) -> bool:
        """Write the operation when it can be done on plain numbers; False leaves it to numpy."""
        if node.op is SCATTER or node.op is arithmetic.ADD:
            if self._vector(i, node):
                return True
            self._make_arrays(node)
        elif any(isinstance(o, Ref) and o.id in self.vectors for o in node.operands):
            self._make_arrays(node)
        if node.shape != () or node.dtype not in (FLOAT64, BOOL):
            return False
        text = self._text(node)
        if text is None:
            return False
        if text.isidentifier():
            self.plain[i] = text
        else:
            self.plain[i] = f"s{self._writer.new_number()}"
            self._writer.lines.append(f"{self.plain[i]} = {text}")
        return True

    def _text(self, node: Node) -> str | None:
        op = node.op
        if op is GETITEM:
            return self._entry(node)
        texts = [self._number(o) for o in node.operands]
        if any(t is None for t in texts):
            return None
        a = texts[0]
        b = texts[1] if len(texts) > 1 else None
        if id(op) in _INFIX and (node.dtype == FLOAT64 or (op is not None and op.vjps is None)):
            # (sums and products of bools are bools in numpy, integers in Python: those are left to numpy)
            assert op is not None
            return f"{a} {op.infix} {b}"
        if op is arithmetic.SQUARE:
            return f"{a} * {a}"
        if op is arithmetic.NEGATIVE:
            return f"-{a}"
        if op is arithmetic.DIVIDE:
            constant = node.operands[1]
            if not isinstance(constant, Ref) and constant != 0:
                return f"{a} / {b}"
            self._writer.env["divide"] = divide
            return f"{a} / {b} if {b} else divide({a}, {b})"
        if op is choosing.WHERE:
            return f"{b} if {a} else {texts[2]}"
        if op is None:
            return None
        if op.name == "astype" and node.dtype == FLOAT64:
            return f"float({a})"
        convert = "float" if node.dtype == FLOAT64 else "bool"
        if op is arithmetic.POWER_CONSTANT:
            self._writer.numpy_arithmetic = True
            return f"float({self._writer.constant(np.power)}({a}, {self._writer.constant(node.params[0])}))"
        if op.ufunc is not None and op.ufunc.nin == len(texts) and not node.params:
            self._writer.numpy_arithmetic = True
            return f"{convert}({self._writer.constant(op.ufunc)}({', '.join(t for t in texts if t)}))"
        return None

    def _number(self, o: Any) -> str | None:
        """The operand as a Python number, or None when it is an array or of another type."""
        if isinstance(o, Ref):
            return self.plain.get(o.id)
        if isinstance(o, (bool, np.bool_)):
            return repr(bool(o))
        if type(o) in (float, int) or isinstance(o, np.float64):
            value = float(o)
            return f"({value!r})" if np.isfinite(value) else self._writer.constant(value)
        return None

    def _entry(self, node: Node) -> str | None:
        """A single entry of an array: by the name it was taken apart to, or read out."""
        source = node.operands[0]
        if len(node.operands) != 1 or not isinstance(source, Ref) or node.dtype != FLOAT64:
            return None
        index = entry_index(node.params[0], self._writer.graph.nodes[source.id].shape)
        if index is None:
            return None
        if source.id in self._entries:
            return self._entries[source.id][index]
        return f"{self._writer.operand(source)}.item({', '.join(map(str, index))})"

    # ---- small arrays put together from numbers -----------------------------------------------------------
    def _vector(self, i: int, node: Node) -> bool:
        if node.op is SCATTER:
            g = self._number(node.operands[0]) if len(node.operands) == 1 else None
            index = entry_index(node.params[0], node.shape)
            if g is None or index is None or int(np.prod(node.shape)) > MOST_ENTRIES or node.dtype != FLOAT64:
                return False
            self.vectors[i] = {index: self._keep(f"{g} + 0.0")}
            return True
        parts = [self.vectors.get(o.id) if isinstance(o, Ref) else None for o in node.operands]
        if parts[0] is None or parts[1] is None or node.dtype != FLOAT64:
            return False
        shapes = {self._writer.graph.nodes[o.id].shape for o in node.operands}
        if shapes != {node.shape}:
            return False
        total = dict(parts[0])
        for index, name in parts[1].items():
            total[index] = self._keep(f"{total[index]} + {name}") if index in total else name
        self.vectors[i] = total
        return True

    def _keep(self, text: str) -> str:
        name = f"e{self._writer.new_number()}"
        self._writer.lines.append(f"{name} = {text}")
        return name

    def _make_arrays(self, node: Node) -> None:
        for o in node.operands:
            if isinstance(o, Ref) and o.id in self.vectors and o.id not in self._writer.names:
                self.array(o.id)

    def array(self, i: int) -> str:
        """The name of the array for a vector kept entry by entry."""
        entries = self.vectors[i]
        node = self._writer.graph.nodes[i]
        name = self._writer.names[i] = f"a{self._writer.new_number()}"
        if len(entries) == int(np.prod(node.shape)) and len(node.shape) == 1:
            values = [entries[(k,)] for k in range(node.shape[0])]
            self._writer.lines.append(f"{name} = np_array(({', '.join(values)},))")
            return name
        self._writer.env["np_zeros"] = np.zeros
        self._writer.lines.append(f"{name} = np_zeros({node.shape!r})")
        for index, value in entries.items():
            self._writer.lines.append(f"{name}[{', '.join(map(str, index))}] = {value}")
        return name

    def for_numpy(self, i: int) -> str:
        """A plain number as numpy needs it: as float64 of full weight, not as a weak Python number."""
        return f"np_float64({self.plain[i]})" if self._writer.graph.nodes[i].dtype == FLOAT64 else self.plain[i]


def entry_index(index: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The non-negative position when ``index`` names exactly one entry of an array of this shape."""
    parts = tuple(p for p in (index if isinstance(index, tuple) else (index,)) if p is not Ellipsis)
    if len(parts) != len(shape):
        return None
    found = []
    for p, n in zip(parts, shape, strict=True):
        try:
            k = None if isinstance(p, (bool, np.ndarray, slice)) or p is None else operator.index(p)
        except TypeError:
            return None
        if k is None or not -n <= k < n:
            return None
        found.append(k % n)
    return tuple(found)
