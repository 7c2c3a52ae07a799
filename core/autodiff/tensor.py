"""Tensor: a numpy array that tapes can follow, and ``apply``, the one door through which every operation goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from core.autodiff.array_methods import ArrayMethods
from core.autodiff.conversions import Conversions
from core.autodiff.dtypes import BFLOAT16, as_dtype, is_floating
from core.autodiff.hooks import hooks
from core.autodiff.operation import Op
from core.autodiff.rules import arithmetic as rules
from core.autodiff.state import next_id, state

_PLAIN = (np.ndarray, np.generic, float, int)


class Tensor(Conversions, ArrayMethods):
    """An immutable value (numpy array or scalar) with an identity that tapes know it by.

    ``Tensor(value, dtype=None)`` copies ``value``. Operators and numpy functions work on tensors and give
    tensors. ``==`` compares element by element, as in numpy; hashing is by identity.
    """

    __slots__ = ("_id", "_value")
    _id: int
    _value: Any  # a numpy array, or a numpy scalar when there are no axes
    __array_priority__ = 1000.0
    _auto = False  # whether tapes watch it by themselves (trainable variables)
    _origin: tuple[int, ...] | None = None  # the variables it was computed from outside any tape

    def __init__(self, value: Any, dtype: DTypeLike | None = None) -> None:
        if isinstance(value, Tensor):
            value = value._value
        array = np.array(value, dtype=None if dtype is None else as_dtype(dtype), order="C")
        if array.dtype.kind not in "fiubcV":
            raise TypeError(f"a tensor holds numbers, not {array.dtype} (value {value!r})")
        self._value = array if array.ndim else array[()]
        self._id = next_id()

    # ---- what it holds ------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self._value.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype."""
        dtype: np.dtype[Any] = self._value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        ndim: int = self._value.ndim
        return ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        size: int = self._value.size
        return size

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it by themselves; for plain tensors never."""
        return False

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Tensor]:
        if self._value.ndim == 0:
            raise TypeError("a tensor without axes cannot be iterated over")
        return (self[i] for i in range(len(self._value)))

    def __repr__(self) -> str:
        return f"Tensor({np.array2string(np.asarray(self._value), separator=', ')}, dtype={self.dtype})"

    __hash__ = object.__hash__

    def __copy__(self) -> Any:
        return self  # it never changes, and stays what tapes know

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        return Tensor, (self._value,)

    # ---- operators ----------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Any:
        return binary(rules.ADD, self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(rules.ADD, other, self)

    def __sub__(self, other: Any) -> Any:
        return binary(rules.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(rules.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Any:
        return binary(rules.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(rules.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary(rules.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(rules.DIVIDE, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary(rules.FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(rules.FLOOR_DIVIDE, other, self)

    def __mod__(self, other: Any) -> Any:
        return binary(rules.REMAINDER, self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(rules.REMAINDER, other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __matmul__(self, other: Any) -> Any:
        return binary(hooks.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return binary(hooks.matmul, other, self)

    def __neg__(self) -> Any:
        return unary(rules.NEGATIVE, self)

    def __pos__(self) -> Any:
        return unary(rules.POSITIVE, self)

    def __abs__(self) -> Any:
        return np.absolute(self)

    def __lt__(self, other: Any) -> Any:
        return binary(rules.LESS, self, other)

    def __le__(self, other: Any) -> Any:
        return binary(rules.LESS_EQUAL, self, other)

    def __gt__(self, other: Any) -> Any:
        return binary(rules.GREATER, self, other)

    def __ge__(self, other: Any) -> Any:
        return binary(rules.GREATER_EQUAL, self, other)

    def __eq__(self, other: Any) -> Any:
        return binary(rules.EQUAL, self, other) if comparable(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return binary(rules.NOT_EQUAL, self, other) if comparable(other) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return np.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return np.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return np.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return np.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return np.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return np.bitwise_xor(other, self)

    def __invert__(self) -> Any:
        return np.invert(self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __round__(self, digits: int = 0) -> Any:
        return np.round(self, digits)

    def __getitem__(self, index: Any) -> Any:
        return hooks.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "a tensor cannot be changed in place: build the new value with np.where, np.concatenate or np.stack "
            "(or assign to a Variable)"
        )

    # ---- numpy's protocols --------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:
            call = hooks.ufuncs.get(ufunc)
            if call is not None:
                return call(*inputs)
        return hooks.call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        call = hooks.functions.get(func)
        return hooks.call_function(func, args, kwargs) if call is None else call(*args, **kwargs)

    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Converted; between floating types the gradient is converted back, others stop it."""
        wanted = as_dtype(dtype)
        if casting != "unsafe" and not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(f"a tensor of {self.dtype} cannot be cast to {wanted} by the rule {casting!r}")
        return hooks.astype(self, wanted)

    def copy(self, order: str = "C") -> Any:
        """The same value as a new tensor; the gradient passes."""
        return unary(rules.COPY, self)


_new: Any = Tensor.__new__


class OutsideTensor(Tensor):
    """The result of an operation on variables outside any tape: knows which, to explain a None later."""

    __slots__ = ("_origin",)
    _origin: tuple[int, ...]


def make(value: Any, identity: int | None = None) -> Tensor:
    """A tensor around ``value`` (not copied); with ``identity`` it stands for a tensor recorded earlier."""
    tensor = _new(Tensor)
    tensor._value = value
    tensor._id = next_id() if identity is None else identity
    return tensor


def raw(value: Any) -> Any:
    """The plain array or number of a tensor or of something numpy can read."""
    if isinstance(value, Tensor):
        return value._value
    return value if isinstance(value, _PLAIN) else np.asarray(value)


def operand(value: Any) -> Any:
    """``value`` as an operand: tensors and plain values as they are, lists as arrays.

    A list that holds tensors becomes one tensor (numpy alone would make a plain array of it, without gradient).
    """
    if isinstance(value, (Tensor, *_PLAIN)):
        return value
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return np.stack([operand(v) for v in value])
    return np.asarray(value)


def arrayed(value: Any) -> Any:
    """As ``operand``, but numbers too have a shape and a dtype."""
    value = operand(value)
    return value if hasattr(value, "dtype") else np.asarray(value)


def _holds_tensor(value: Any) -> bool:
    return any(isinstance(v, Tensor) or (isinstance(v, (list, tuple)) and _holds_tensor(v)) for v in value)


def comparable(other: Any) -> bool:
    """Whether == with this makes sense element by element."""
    return isinstance(other, (Tensor, np.ndarray, np.generic, float, int, list, tuple))


def unary(op: Op, x: Any) -> Tensor:
    """``op`` of one tensor."""
    value = x._value
    result = op.forward(value)
    tapes = state.tapes
    if not tapes and (x._auto or x._origin):
        return outside(result, (x,))
    out = _new(Tensor)
    out._value = result
    out._id = next_id()
    for tape in tapes:
        tape._record_unary(op, x, value, out)
    return out


def binary(op: Op, a: Any, b: Any) -> Tensor:
    """``op`` of two operands, at least one of them a tensor."""
    x: Any
    y: Any
    if isinstance(a, Tensor):
        x = a._value
    elif type(a) is float or type(a) is int:
        x = a
        if b._value.dtype is BFLOAT16:  # numpy knows no weak Python numbers beside bfloat16: float32 would come out
            x = a = BFLOAT16.type(a)
    elif isinstance(a, _PLAIN):
        x = a
    else:
        a = operand(a)
        x = raw(a)
    if isinstance(b, Tensor):
        y = b._value
    elif type(b) is float or type(b) is int:
        y = b
        if x.dtype is BFLOAT16:
            y = b = BFLOAT16.type(b)
    elif isinstance(b, _PLAIN):
        y = b
    else:
        b = operand(b)
        y = raw(b)
    result = op.forward(x, y)
    tapes = state.tapes
    if tapes:
        out = _new(Tensor)
        out._value = result
        out._id = next_id()
        for tape in tapes:
            tape._record_binary(op, a, b, x, y, out)
        return out
    return outside(result, (a, b))


def apply(op: Op, args: tuple[Any, ...], params: tuple[Any, ...] = ()) -> Any:
    """``op`` of any operands: a tensor when one of them is, otherwise a plain value."""
    vals = tuple([a._value if isinstance(a, Tensor) else a for a in args])
    result = op.forward(*vals, *params)
    for a in args:
        if isinstance(a, Tensor):
            break
    else:
        return result
    tapes = state.tapes
    if not tapes:
        return outside(result, args)
    out = _new(Tensor)
    out._value = result
    out._id = next_id()
    for tape in tapes:
        tape._record(op, args, vals, params, out)
    return out


def outside(value: Any, args: tuple[Any, ...]) -> Tensor:
    """The result of an operation outside any tape; remembers (at most eight) variables it was computed from."""
    ids: set[int] = set()
    for a in args:
        if isinstance(a, Tensor):
            if a._auto:
                ids.add(a._id)
            if a._origin:
                ids.update(a._origin)
    if not ids:
        return make(value)
    out: OutsideTensor = _new(OutsideTensor)
    out._value = value
    out._id = next_id()
    out._origin = tuple(sorted(ids)[:8])
    return out


def power(a: Any, b: Any) -> Any:
    """``a ** b``; a number as exponent takes numpy's short cuts (2: square, 1: copy, 0.5: root, -1: reciprocal)."""
    if (type(b) is int or type(b) is float) and isinstance(a, Tensor):
        if b == 2:
            return unary(rules.SQUARE, a)
        if is_floating(a.dtype):  # (of whole numbers numpy's short cuts have other types)
            if b == 1:
                return unary(rules.POSITIVE, a)
            if b == 0.5:
                return np.sqrt(a)
            if b == -1:
                return np.reciprocal(a)
        return apply(rules.POWER_CONSTANT, (a,), (b,))
    return binary(rules.POWER, a, b)
