"""Variable: a tensor whose value can be assigned, such as the weights that an optimizer moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.autodiff.dtypes import is_floating
from core.autodiff.state import state
from core.autodiff.tensor import Tensor, comparable


class Variable(Tensor):
    """A named value that tapes watch by themselves while ``trainable`` and of floating type.

    ``Variable(value, *, name=None, trainable=True, dtype=None)``; ``dtype`` also as text ('float32', 'bfloat16').
    Shape and dtype stay what they are. Variables are compared with one another and hashed by identity, so
    that they can be keys and be found in lists (``numpy.equal`` compares their values); ``==`` with numbers, arrays
    and other tensors goes element by element.
    """

    __slots__ = ("__weakref__", "_auto", "_dtype", "_shape", "_trainable", "name")

    def __init__(
        self, value: Any, *, name: str | None = None, trainable: bool = True, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(value, dtype)
        if self._value.dtype.kind == "c":
            raise TypeError("complex variables are not supported: keep real and imaginary part in two variables")
        self.name = f"variable_{self._id}" if name is None else name
        self._shape = self._value.shape
        self._dtype = self._value.dtype
        self.trainable = trainable
        if self._shape:
            self._value.setflags(write=False)

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it by themselves; may be changed at any time."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        self._auto = self._trainable and is_floating(self._dtype)

    @property
    def value(self) -> Any:
        """The value itself, read-only and without a copy (a numpy scalar when there are no axes)."""
        if state.tapes:
            self._leaves("value")
        return self._value

    def assign(self, value: Any) -> Variable:
        """Take over ``value`` (copied, converted to the variable's dtype); its shape must be the variable's.

        The assignment is not recorded: what is read afterwards does not depend on where the value came from.
        """
        if state.tapes:
            for tape in state.tapes:
                tape._assigned(self, value)
        new = self._plain(value)
        if new.shape != self._shape:
            raise ValueError(f"variable {self.name!r} has shape {self._shape}, cannot assign shape {new.shape}")
        if self._shape:
            new.setflags(write=False)
            self._value = new
        else:
            self._value = new[()]
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add ``delta``, computed in the variable's dtype."""
        if state.tapes:
            for tape in state.tapes:
                tape._assigned(self, delta)
        return self.assign(self._value + self._plain(delta))

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract ``delta``, computed in the variable's dtype."""
        if state.tapes:
            for tape in state.tapes:
                tape._assigned(self, delta)
        return self.assign(self._value - self._plain(delta))

    def _plain(self, value: Any) -> NDArray[Any]:
        """A copy of ``value`` in the variable's dtype; TypeError when integers would lose a fraction."""
        if isinstance(value, Tensor):
            value = value._value
        new = np.array(value, dtype=self._dtype, order="C")
        if self._dtype.kind in "iub" and not np.array_equal(new, value):
            raise TypeError(
                f"variable {self.name!r} is of integer type ({self._dtype}) and cannot take {value!r}: make it with a "
                f"decimal point or dtype='float64'"
            )
        return new

    def _no_update(self, sign: str, method: str) -> Any:
        raise RuntimeError(
            f"variable {sign}= value would make a new tensor and leave the variable {self.name!r} as it is: use "
            f"variable.{method} to change it, or out = variable {sign} value for a tensor"
        )

    def __iadd__(self, other: Any) -> Any:
        return self._no_update("+", "assign_add(value)")

    def __isub__(self, other: Any) -> Any:
        return self._no_update("-", "assign_sub(value)")

    def __imul__(self, other: Any) -> Any:
        return self._no_update("*", "assign(variable * value)")

    def __itruediv__(self, other: Any) -> Any:
        return self._no_update("/", "assign(variable / value)")

    def __ifloordiv__(self, other: Any) -> Any:
        return self._no_update("//", "assign(variable // value)")

    def __imod__(self, other: Any) -> Any:
        return self._no_update("%", "assign(variable % value)")

    def __ipow__(self, other: Any) -> Any:
        return self._no_update("**", "assign(variable ** value)")

    def __imatmul__(self, other: Any) -> Any:
        return self._no_update("@", "assign(variable @ value)")

    # (np.where(w == 0, ...) must not take the wrong branch because w is not the number 0)
    def __eq__(self, other: Any) -> Any:
        return super().__eq__(other) if comparable(other) and not isinstance(other, Variable) else self is other

    def __ne__(self, other: Any) -> Any:
        return super().__ne__(other) if comparable(other) and not isinstance(other, Variable) else self is not other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self._value), separator=", ")
        return f"Variable({text}, name={self.name!r}, dtype={self._dtype}, trainable={self._trainable})"

    def __reduce__(self) -> Any:
        return _restore, (np.asarray(self._value), self.name, self._trainable)

    def __copy__(self) -> Variable:
        return Variable(self._value, name=self.name, trainable=self._trainable)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = self.__copy__()
        memo[id(self)] = copy
        return copy


def _restore(value: Any, name: str, trainable: bool) -> Variable:
    return Variable(value, name=name, trainable=trainable)
