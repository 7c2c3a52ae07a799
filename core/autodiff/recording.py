"""The record a tape keeps of the operations done while it is active."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from core.autodiff.operation import Op
from core.autodiff.state import state
from core.autodiff.tensor import Tensor

_INSIDE = (__name__.rpartition(".")[0] + ".", "numpy.")  # modules that are not the user's

# One recorded operation: (op, out_id, ids, vals, out, params, shape, fix). A plain tuple, because making one is on
# the path of every operation. It holds values and numbers of tensors, never tensors or tapes, so no cycle can form.
#   ids    the number of each argument that is a tensor, 0 for the others
#   vals   the arguments' values, None when the rules do not read them
#   out    the result's value, None when the rules do not read it
#   shape  of the result
#   fix    (shape, dtype) of each tensor argument when one differs from the result's, otherwise None
Entry = tuple[
    Op, int, tuple[int, ...], tuple[Any, ...] | None, Any, tuple[Any, ...], tuple[int, ...], tuple[Any, ...] | None
]


class Exit(NamedTuple):
    """A value that left the record: through a function without gradient, plain numpy, or an assignment."""

    kind: str  # "function", "numpy", "assign", "decision"
    what: str
    ids: tuple[int, ...]
    out_id: int  # the result's number; 0 when it is no tensor
    place: str  # "file, line n" of the user's code


def place_of_user() -> str:
    """'file, line n' of the innermost line outside this package and numpy."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if not frame.f_globals.get("__name__", "").startswith(_INSIDE):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def differences(
    ids: tuple[int, ...], vals: tuple[Any, ...], shape: tuple[int, ...], dtype: Any, elementwise: bool
) -> tuple[Any, ...] | None:
    """What ``fix`` says in an Entry."""
    for i, v in zip(ids, vals, strict=True):
        if i and (v.dtype is not dtype or (elementwise and v.shape != shape)):
            return tuple([(v.shape, v.dtype) if i else None for i, v in zip(ids, vals, strict=True)])
    return None


class Recorder:
    """Base of tapes: a stack discipline that holds even when the block raises."""

    def _enter(self) -> None:
        state.tapes.append(self)

    def _leave(self) -> None:
        for i in range(len(state.tapes) - 1, -1, -1):
            if state.tapes[i] is self:
                del state.tapes[i]
                return

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        """Take note of ``out = op(*args; params)``; ``vals`` are the plain values of ``args``."""
        raise NotImplementedError

    def _record_unary(self, op: Op, a: Tensor, x: Any, out: Tensor) -> None:
        self._record(op, (a,), (x,), (), out)

    def _record_binary(self, op: Op, a: Any, b: Any, x: Any, y: Any, out: Tensor) -> None:
        self._record(op, (a, b), (x, y), (), out)

    def _follows(self, identity: int) -> bool:
        """Whether a gradient may be asked for the tensor of this number."""
        raise NotImplementedError

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        """Take note that a plain value was taken out of a tensor."""
        raise NotImplementedError

    def _assigned(self, variable: Tensor, value: Any) -> None:
        """Take note that a variable is assigned."""
        raise NotImplementedError


class VariablesRead(Recorder):
    """Collects the trainable variables that are read while it is active."""

    def __init__(self) -> None:
        self.variables: list[Any] = []

    def __enter__(self) -> VariablesRead:
        if state.tapes:  # nobody asks for gradients otherwise
            self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        for a in args:
            if isinstance(a, Tensor) and a._auto and op.vjps is not None and not any(a is v for v in self.variables):
                self.variables.append(a)

    def _follows(self, identity: int) -> bool:
        return False

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        """Values that are taken out have no gradient."""

    def _assigned(self, variable: Tensor, value: Any) -> None:
        """What is assigned is not read."""
