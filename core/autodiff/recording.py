"""The record a tape keeps of the operations done while it is active."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from core.autodiff.operation import Op
from core.autodiff.state import state
from core.autodiff.tensor import Tensor

_PACKAGE = __name__.rpartition(".")[0]


class Entry(NamedTuple):
    """One recorded operation. Holds values and numbers of tensors, never tensors or tapes: no cycles.

    ``ids``: the number of each argument that is a tensor, 0 for the others. ``vals`` and ``out`` are None when
    the rules do not need them. ``fix``: shape and dtype of each argument when one differs from the result's.
    """

    op: Op
    out_id: int
    ids: tuple[int, ...]
    vals: tuple[Any, ...] | None
    out: Any
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    fix: tuple[Any, ...] | None


class Exit(NamedTuple):
    """A value that left the record: through a function without gradient, plain numpy, or an assignment."""

    kind: str  # "function", "numpy", "assign"
    what: str
    ids: tuple[int, ...]
    out_id: int  # the result's number; 0 when it is no tensor
    place: str  # "file, line n" of the user's code


def place_of_user() -> str:
    """'file, line n' of the innermost line outside this package and numpy."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith((_PACKAGE, "numpy")):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def build_entry(op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor,
                ids: tuple[int, ...]) -> Entry:
    """The entry for an operation just done."""
    value = out._value
    shape = value.shape
    dtype = value.dtype
    fix: tuple[Any, ...] | None = None
    for i, v in zip(ids, vals, strict=True):
        if i and (v.dtype is not dtype or (v.shape != shape and op.elementwise)):
            fix = tuple((v.shape, v.dtype) if i else None for i, v in zip(ids, vals, strict=True))
            break
    return Entry(op, out._id, ids, vals if op.keeps_inputs else None, value if op.keeps_output else None,
                 params, shape, fix)


class Recorder:
    """Base of tapes: a stack discipline that holds even when the block raises."""

    def _enter(self) -> None:
        state.tapes.append(self)

    def _leave(self) -> None:
        for i in range(len(state.tapes) - 1, -1, -1):
            if state.tapes[i] is self:
                del state.tapes[i]
                return

    def _record(self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...],
                out: Tensor) -> None:
        raise NotImplementedError

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        raise NotImplementedError

    def _assigned(self, variable: Tensor, value: Any) -> None:
        raise NotImplementedError
