"""The ways out of a tensor: plain arrays, Python numbers, text. What is computed from those is not recorded."""

from __future__ import annotations

import linecache
import logging
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.autodiff.state import state

log = logging.getLogger("stepscope.autodiff")
_said: set[str] = set()  # the lines of user code that were told about already


class Conversions:
    """Mixed into Tensor."""

    __slots__ = ()

    def numpy(self: Any) -> NDArray[Any]:
        """A copy of the value as a plain array; what is computed from it is not recorded."""
        self._leaves("numpy()")
        return np.array(self._value)

    def item(self: Any, *index: Any) -> Any:
        """The only entry (or the one at ``index``) as a Python number."""
        self._leaves("item()")
        return self._value.item(*index)

    def tolist(self: Any) -> Any:
        """The entries as nested lists of Python numbers."""
        self._leaves("tolist()")
        return self._value.tolist()

    def __array__(self: Any, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        self._leaves("a conversion to an array")
        self._say_that_it_leaves()
        if copy is False:
            view = np.array(self._value, dtype=dtype, copy=False).view()
            view.setflags(write=False)
            return view
        return np.array(self._value, dtype=dtype)  # a copy: tensors never change

    def __float__(self: Any) -> float:
        self._leaves("float()")
        self._say_that_it_leaves("float")  # numpy's a[0] = x and math.sin(x) come here too
        return float(self._value)

    def __int__(self: Any) -> int:
        self._leaves("int()")
        return int(self._value)

    def __index__(self: Any) -> int:
        self._leaves("its use as an index or count")
        index: int = self._value.__index__()
        return index

    def __bool__(self: Any) -> bool:
        self._leaves("a decision (if, while, and, or, not)", decides=True)
        return bool(self._value)

    def __complex__(self: Any) -> complex:
        self._leaves("complex()")
        return complex(self._value)

    def __format__(self: Any, spec: str) -> str:
        if not spec:
            return str(self)
        self._leaves("text")
        return format(self._value.item() if self._value.ndim == 0 else self._value, spec)

    def _leaves(self: Any, how: str, decides: bool = False) -> None:
        """Tell the active tapes that this value leaves what they record (a decision leaves only in programs)."""
        for tape in state.tapes:
            tape._value_leaves(self, how, decides)

    def _say_that_it_leaves(self: Any, word: str = "") -> None:
        """Nobody wrote this conversion: np.array([x, y]), np.sum([x, y]), a[0] = x do it unasked.

        Said once for each line of code, and not at all where ``word`` stands in it: there it is meant.
        """
        if any(tape._follows(self._id) for tape in state.tapes):
            from core.autodiff.recording import place_of_user  # (which is written with tensors itself)

            place = place_of_user()
            if word:
                file, _, line = place.rpartition(", line ")
                text = linecache.getline(file, int(line))
                if not text or word in text:
                    return
            if place not in _said:
                _said.add(place)
                log.warning(
                    "%s: a differentiated tensor becomes plain numbers here, and no gradient passes through that. "
                    "Lists of tensors are put together with np.stack([...]) or np.concatenate, functions of math have "
                    "the same names in numpy; where it is meant, write x.numpy() or float(x)",
                    place,
                )
