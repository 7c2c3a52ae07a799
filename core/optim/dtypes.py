"""The number types weights can be stored and steps computed in."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from core.declare import SettingError

FLOAT64 = np.dtype(np.float64)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS: dict[str, Any] = {
    "float64": FLOAT64,
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": BFLOAT16,
}


def resolve_dtype(name: str) -> Any:
    """The numpy dtype called ``name``; a clear error for another name."""
    try:
        return FLOATS[name]
    except (KeyError, TypeError):
        raise SettingError(f"unknown number type {name!r}; choose one of {', '.join(FLOATS)}") from None


class Rounded(np.ndarray[Any, Any]):
    """A bfloat16 array whose every operation rounds to bfloat16, Python numbers included.

    numpy's own float types adopt the type of the array when a Python number joins in; bfloat16 is foreign to numpy
    and would be computed in float32 instead.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [_operand(item) for item in inputs]
        if out is not None:
            kwargs["out"] = tuple(item.view(np.ndarray) if isinstance(item, Rounded) else item for item in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if isinstance(result, np.ndarray) and result.dtype == np.float32 and all(_is_narrow(item) for item in plain):
            result = result.astype(BFLOAT16)  # numpy has no such operation for bfloat16 (clip)
        if isinstance(result, tuple):
            return tuple(_result(item) for item in result)
        return _result(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _result(super().__array_function__(func, types, args, kwargs))


def _operand(item: Any) -> Any:
    if isinstance(item, np.ndarray):
        return item.view(np.ndarray) if isinstance(item, Rounded) else item
    if isinstance(item, float | int) and not isinstance(item, bool):
        return ml_dtypes.bfloat16(item)
    return item


def _is_narrow(item: Any) -> bool:
    return getattr(item, "dtype", BFLOAT16) == BFLOAT16


def _result(item: Any) -> Any:
    return item.view(Rounded) if isinstance(item, np.ndarray) and item.dtype == BFLOAT16 else item


def for_arithmetic(array: Any, dtype: Any) -> Any:
    """``array`` as the type the chain computes in, so that every operation on it rounds to that type."""
    if array.dtype != dtype:
        array = array.astype(dtype)
    return array.view(Rounded) if dtype == BFLOAT16 else array


def constants(*values: float) -> tuple[Any, ...]:
    """The numbers as float64 arrays without axes: float64 arithmetic takes them faster than Python numbers.

    Narrower arrays would be widened by them: use them only where the other operand is float64.
    """
    return tuple(np.array(value, dtype=np.float64) for value in values)
