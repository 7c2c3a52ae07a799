"""What a gradient tape writes down: operations on the tensors it watches, and where values leave its sight."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16, FLOAT64
from core.autodiff.operation import Op
from core.autodiff.recording import Entry, Exit, Recorder, differences, place_of_user
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable


def as_it_is_now(value: Any) -> Any:
    """A plain array that rules will read, in memory of its own (and the same layout): its owner may change it."""
    if not isinstance(value, np.ndarray) or not can_change(value):
        return value
    if value.flags.c_contiguous or value.flags.f_contiguous or not value.size:
        return value.copy(order="A")
    low, high = np.lib.array_utils.byte_bounds(value)
    start = value.__array_interface__["data"][0]
    copy: Any = np.ndarray(value.shape, value.dtype, np.empty(high - low, np.uint8), start - low, value.strides)
    copy[...] = value
    return copy


def _params_now(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Parameters of an operation (index arrays among them) as they are now."""
    for p in params:
        if isinstance(p, np.ndarray):
            break
        if type(p) is tuple:
            for part in p:
                if isinstance(part, np.ndarray):
                    break
            else:
                continue
            break
    else:
        return params
    return tuple([_params_now(p) if type(p) is tuple else as_it_is_now(p) for p in params])


def can_change(value: Any) -> bool:
    """Whether someone may write to this array or to what it is a view of."""
    while isinstance(value, np.ndarray):
        if value.flags.writeable:
            return True
        value = value.base
    return value is not None  # memory of something that is no array


class WatchingRecorder(Recorder):
    """The recording half of GradientTape."""

    def __init__(self, watch_accessed_variables: bool) -> None:
        self._watch_accessed = watch_accessed_variables
        self._copies = True  # plain arrays are copied, so that what is done to them afterwards does not matter
        self._clear()

    def _clear(self) -> None:
        self._entries: list[Entry] = []
        self._exits: list[Exit] = []
        self._known: set[int] = set()  # the numbers of all tensors that depend on something watched
        self._leaf_ids: set[int] = set()  # the numbers of what is watched
        self._variables: list[Variable] = []  # the watched variables in the order of first use
        # what no gradient passes through, to explain a None: number of a tensor -> those that it was computed from
        self._lost: dict[int, tuple[int, ...]] = {}
        self._outside: dict[int, tuple[int, ...]] = {}  # the same for what was computed outside, from which variables
        self._blocked: list[tuple[int, str]] = []  # tensors that a rule gave no gradient for, and the operation
        self._paused = False  # whether stop_recording was ever used
        self._was_reset = False
        self._watched_late = False  # whether watch was called when something had been computed
        self._on_tensors = False  # bfloat16: tensors know how numbers go with it, plain numpy does not

    def _watch_one(self, tensor: Tensor) -> None:
        self._known.add(tensor._id)
        self._leaf_ids.add(tensor._id)
        if isinstance(tensor, Variable):
            self._variables.append(tensor)

    def _meet(self, tensor: Tensor) -> bool:
        """A tensor that is not known yet is used: watch it when it is a trainable variable."""
        if tensor._auto and self._watch_accessed:
            self._watch_one(tensor)
            return True
        if tensor._origin:  # computed outside the tape from these variables
            self._lost[tensor._id] = self._outside[tensor._id] = tensor._origin
        elif isinstance(tensor, Variable) and tensor.trainable and self._watch_accessed:
            self._use_integers(tensor)
        return False

    def _use_integers(self, variable: Variable) -> None:
        """A variable of integer type counts as used, although its gradient will be None."""
        if variable not in self._variables:
            self._variables.append(variable)

    def _touch(self, tensor: Tensor) -> None:
        """A tensor is read or assigned without an operation: a trainable variable counts as used."""
        if isinstance(tensor, Variable) and tensor._id not in self._known:
            self._meet(tensor)

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        known = self._known
        hit = False
        ids = []
        for a in args:
            if isinstance(a, Tensor):
                i = a._id
                if i in known or self._meet(a):
                    hit = True
                ids.append(i)
            else:
                ids.append(0)
        numbers = tuple(ids)
        if not hit:
            if self._lost:
                self._still_lost(numbers, out)
            return
        if op.vjps is None:
            self._dead_end(op, numbers, out)
            return
        known.add(out._id)
        value = out._value
        dtype = value.dtype
        if dtype is not FLOAT64:
            self._other_type(op, dtype)
        if self._copies:
            if op.keeps_inputs and 0 in numbers:
                vals = tuple([v if i else as_it_is_now(v) for i, v in zip(numbers, vals, strict=True)])
            if params:
                params = _params_now(params)
        fix = differences(numbers, vals, value.shape, dtype, op.elementwise)
        self._entries.append(
            (
                op,
                out._id,
                numbers,
                vals if op.keeps_inputs else None,
                value if op.keeps_output else None,
                params,
                value.shape,
                fix,
            )
        )

    # the same for one and for two operands: most operations are such, and every microsecond counts there
    def _record_unary(self, op: Op, a: Tensor, x: Any, out: Tensor) -> None:
        i = a._id
        if i not in self._known and not self._meet(a):
            if self._lost:
                self._still_lost((i,), out)
            return
        if op.vjps is None:
            self._dead_end(op, (i,), out)
            return
        k = out._id
        self._known.add(k)
        value = out._value
        shape = value.shape
        dtype = value.dtype
        if dtype is not FLOAT64:
            self._other_type(op, dtype)
        fix = ((x.shape, x.dtype),) if x.dtype is not dtype else None
        self._entries.append(
            (op, k, (i,), (x,) if op.keeps_inputs else None, value if op.keeps_output else None, (), shape, fix)
        )

    def _record_binary(self, op: Op, a: Any, b: Any, x: Any, y: Any, out: Tensor) -> None:
        known = self._known
        if isinstance(a, Tensor):
            i = a._id
            hit = i in known or self._meet(a)
        else:
            i = 0
            hit = False
            if isinstance(a, np.ndarray) and op.keeps_inputs and self._copies:
                x = as_it_is_now(a)
        if isinstance(b, Tensor):
            j = b._id
            if j in known or self._meet(b):
                hit = True
        else:
            j = 0
            if isinstance(b, np.ndarray) and op.keeps_inputs and self._copies:
                y = as_it_is_now(b)
        if not hit:
            if self._lost:
                self._still_lost((i, j), out)
            return
        if op.vjps is None:
            self._dead_end(op, (i, j), out)
            return
        k = out._id
        known.add(k)
        value = out._value
        shape = value.shape
        dtype = value.dtype
        if dtype is not FLOAT64:
            self._other_type(op, dtype)
        fix: tuple[Any, ...] | None = None
        if (i and (x.dtype is not dtype or (x.shape != shape and op.elementwise))) or (
            j and (y.dtype is not dtype or (y.shape != shape and op.elementwise))
        ):
            fix = ((x.shape, x.dtype) if i else None, (y.shape, y.dtype) if j else None)
        self._entries.append(
            (op, k, (i, j), (x, y) if op.keeps_inputs else None, value if op.keeps_output else None, (), shape, fix)
        )

    def _other_type(self, op: Op, dtype: Any) -> None:
        """bfloat16 needs tensors in the reverse pass; complex numbers have rules of their own, which are not here."""
        if dtype is BFLOAT16:
            self._on_tensors = True
        elif dtype.kind == "c":
            raise TypeError(
                f"{op.name} makes complex numbers of a value that is differentiated, and no gradient passes through "
                "those: keep real and imaginary part apart (np.cos and np.sin instead of np.exp(1j * x))"
            )

    def _dead_end(self, op: Op, ids: tuple[int, ...], out: Tensor) -> None:
        self._exits.append(Exit("function", op.name, ids, out._id, place_of_user()))
        self._lost[out._id] = ids

    def _still_lost(self, ids: tuple[int, ...], out: Tensor) -> None:
        """Something is computed without a record: remember where it came from when a connection was lost there."""
        if not self._lost.keys().isdisjoint(ids):
            self._lost[out._id] = ids

    def _follows(self, identity: int) -> bool:
        return identity in self._known

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        self._touch(tensor)
        if tensor._id in self._known or tensor._id in self._lost:
            kind = "decision" if decides else "numpy"
            self._exits.append(Exit(kind, how, (tensor._id,), 0, place_of_user()))

    def _assigned(self, variable: Tensor, value: Any) -> None:
        self._touch(variable)
        if isinstance(value, Tensor):
            self._touch(value)
            if value._id in self._known or value._id in self._lost:
                name = getattr(variable, "name", "")
                self._exits.append(Exit("assign", name, (value._id,), variable._id, place_of_user()))
