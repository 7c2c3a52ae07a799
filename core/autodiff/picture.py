"""The computation graph of one call with values forward and adjoints backward, for looking at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.recording import Recorder
from core.autodiff.tape import GradientTape
from core.autodiff.tensor import Tensor

MAX_NODES = 400
_SIGNS = {"add": "+", "subtract": "−", "multiply": "·", "divide": "/", "true_divide": "/", "power": "^", "matmul": "@"}

_KEEP_THE_SHAPE_BEFORE = ("reshape", "broadcast_to", "sum_to", "astype")  # as their last parameter, for the rule


@dataclass(frozen=True, eq=False)
class Node:
    """One value of the call: an input, a constant, or the result of an operation.

    ``operands`` are the numbers of the nodes it was computed from; ``adjoint`` is the derivative of the result for
    this value (its shape), None where there is none. ``level`` is 0 for inputs and constants, else one more than
    the highest of its operands.
    """

    number: int
    kind: str
    label: str
    text: str
    value: Any
    adjoint: Any
    operands: tuple[int, ...]
    level: int


@dataclass(frozen=True, eq=False)
class Picture:
    """The nodes in the order they were computed; the last one is the result. ``cut`` when there were too many."""

    nodes: tuple[Node, ...]
    cut: bool

    @property
    def operations(self) -> tuple[Node, ...]:
        """The nodes that an operation made, in order."""
        return tuple(node for node in self.nodes if node.kind == "operation")


class _Watcher(Recorder):
    """Keeps the tensors themselves, so that their adjoints can be asked for."""

    def __init__(self) -> None:
        self.steps: list[tuple[Op, tuple[Any, ...], tuple[Any, ...], Tensor]] = []

    def __enter__(self) -> _Watcher:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        self.steps.append((op, args, params, out))

    def _follows(self, identity: int) -> bool:
        return False

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        """Looking at values is allowed here: nothing is repeated."""

    def _assigned(self, variable: Tensor, value: Any) -> None:
        """Assignments change nothing of what was recorded."""


def picture_of(
    f: Callable[..., Any], *inputs: Any, names: Sequence[str] = (), differentiate: int | None = None
) -> Picture:
    """Call ``f(*inputs)`` (a scalar result) and keep every value and its adjoint.

    ``names`` label the inputs; the first ``differentiate`` (default: all) get adjoints. Raises ValueError when the
    result is no scalar tensor.
    """
    count = len(inputs) if differentiate is None else differentiate
    tensors = [Tensor(np.asarray(value, dtype=np.float64)) for value in inputs[:count]]
    given = [*tensors, *inputs[count:]]
    tape = GradientTape(persistent=True)
    watcher = _Watcher()
    with tape:
        tape.watch(tensors)
        with watcher:
            result = f(*given)
    if not isinstance(result, Tensor) or result.shape != ():
        shape = getattr(result, "shape", type(result).__name__)
        raise ValueError(f"a picture needs a scalar result that depends on the inputs, not {shape}")
    needed = _needed(watcher, result)
    made = [step[3] for step in needed]
    adjoints = tape.gradient(result, [*tensors, *made])
    return _assemble(needed, tensors, inputs[count:], list(names), adjoints)


def _needed(watcher: _Watcher, result: Tensor) -> list[Any]:
    """The steps that the result depends on, in order."""
    wanted = {result._id}
    kept = []
    for step in reversed(watcher.steps):
        if step[3]._id in wanted:
            kept.append(step)
            wanted.update(arg._id for arg in step[1] if isinstance(arg, Tensor))
    return kept[::-1]


def _assemble(
    steps: list[Any], tensors: list[Tensor], constants: Sequence[Any], names: list[str], adjoints: list[Any]
) -> Picture:
    nodes: list[Node] = []
    places: dict[int, int] = {}
    labels: dict[int, str] = {}

    def put(kind: str, label: str, text: str, value: Any, adjoint: Any, operands: tuple[int, ...]) -> int:
        level = 1 + max((nodes[i].level for i in operands), default=-1)
        number = len(nodes)
        nodes.append(Node(number, kind, label, text, value, adjoint, operands, level if operands else 0))
        return number

    for position, tensor in enumerate(tensors):
        name = names[position] if position < len(names) else f"x{position}"
        places[tensor._id] = put("input", name, name, tensor.numpy(), _plain(adjoints[position]), ())
        labels[places[tensor._id]] = name
    known = {id(value): names[len(tensors) + k] for k, value in enumerate(constants) if len(tensors) + k < len(names)}
    for position, (op, args, params, out) in enumerate(steps[:MAX_NODES]):
        operands = []
        for arg in args:
            if isinstance(arg, Tensor) and arg._id in places:
                operands.append(places[arg._id])
            else:
                value = arg.numpy() if isinstance(arg, Tensor) else np.asarray(arg)
                name = known.get(id(arg)) or _short(value)
                number = put("constant", name, name, value, None, ())
                labels[number] = name
                operands.append(number)
        label = f"t{position + 1}"
        text = f"{label} = {_written(op, [labels[i] for i in operands], params)}"
        adjoint = _plain(adjoints[len(tensors) + position])
        places[out._id] = put("operation", _SIGNS.get(op.name, op.name), text, out.numpy(), adjoint, tuple(operands))
        labels[places[out._id]] = label
    return Picture(tuple(nodes), len(steps) > MAX_NODES)


def _written(op: Op, operands: list[str], params: tuple[Any, ...]) -> str:
    sign = _SIGNS.get(op.name)
    if sign and len(operands) == 2:
        return f"{operands[0]} {sign} {operands[1]}"
    if op.name == "power" and len(operands) == 1:
        return f"{operands[0]} ^ {params[0]}"
    if op.name == "getitem" and len(operands) == 1:
        return f"{operands[0]}[{_index(params[0])}]"
    if op.name in _KEEP_THE_SHAPE_BEFORE:
        params = params[:1]
    extra = [str(value) for value in params if value is not None and value is not False]
    return f"{op.name}({', '.join([*operands, *extra])})"


def _index(index: Any) -> str:
    """An index as it is written between brackets."""
    if isinstance(index, tuple):
        return ", ".join(_index(part) for part in index)
    if isinstance(index, slice):
        ends = ["" if end is None else str(end) for end in (index.start, index.stop)]
        return ":".join(ends if index.step is None else [*ends, str(index.step)])
    if index is Ellipsis:
        return "..."
    return _short(index) if isinstance(index, np.ndarray) else str(index)


def _short(value: Any) -> str:
    array = np.asarray(value)
    return (
        f"{float(array):.4g}" if array.ndim == 0 and array.dtype.kind in "fiub" else f"{array.dtype}{list(array.shape)}"
    )


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value
