"""numpy.pad: constants, copies of entries, and what is computed from them (mean, ramps, largest and smallest)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.operation import Op
from core.autodiff.tensor import Tensor, apply, arrayed

_GATHERS = ("edge", "reflect", "symmetric", "wrap")  # modes that only copy entries
_LINEAR = ("reflect", "symmetric", "mean", "linear_ramp")  # along each axis a matrix times the entries
_STATISTICS: dict[str, Callable[..., Any]] = {"maximum": np.max, "minimum": np.min, "median": np.median}


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """numpy.pad in all modes but 'empty' and functions."""
    array = arrayed(array)
    if mode == "constant":
        return _constant(array, pad_width, options)
    if mode in _GATHERS and options.get("reflect_type", "even") == "even":
        if not array.size:
            return np.zeros(np.pad(np.zeros(array.shape), pad_width, mode, **options).shape, array.dtype) + np.sum(
                array
            )
        return np.reshape(array, (array.size,))[np.pad(_positions(array), pad_width, mode, **options)]
    if mode not in _LINEAR and mode not in _STATISTICS:
        raise TypeError(
            f"numpy.pad on tensors supports constant, {', '.join(dict.fromkeys((*_GATHERS, *_LINEAR, *_STATISTICS)))}, "
            f"not {mode!r}"
        )
    if not is_floating(array.dtype):  # whole numbers are rounded, and have no gradient
        return apply(_ROUNDED, (array,), (pad_width, mode, tuple(options.items())))
    widths = _pairs(pad_width, array.ndim)
    for axis, (left, right) in enumerate(widths):
        if left or right:
            own = {
                key: value if key == "reflect_type" or value is None else _pairs(value, array.ndim)[axis]
                for key, value in options.items()
            }
            along = _along_linear if mode in _LINEAR else _along_statistic
            array = along(array, axis, left, right, mode, own)
    return array


def _positions(a: Any) -> Any:
    return np.arange(a.size).reshape(a.shape)


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Before and after, for each axis, as numpy reads its arguments."""
    if isinstance(value, dict):
        given = {k % ndim: (v, v) if np.ndim(v) == 0 else tuple(v) for k, v in value.items()}
        return [given.get(i, (0, 0)) for i in range(ndim)]
    return [(row[0], row[1]) for row in np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()]


def _constant(array: Any, pad_width: Any, options: dict[str, Any]) -> Any:
    """The constants may be tensors too: they stand behind the entries, and all are taken from there by position."""
    values = arrayed(options.pop("constant_values", 0))
    if options:
        raise ValueError(f"unsupported keyword arguments for mode 'constant': {set(options)}")
    if not isinstance(values, Tensor):
        values = np.asarray(values)
    where = array.size + np.arange(values.size).reshape(values.shape)
    positions = np.pad(_positions(array), pad_width, constant_values=where)
    every = np.concatenate([np.reshape(array, (-1,)), np.reshape(values, (-1,)).astype(array.dtype)])
    return every[positions]


_numpy_pad: Any = np.pad
_ROUNDED = Op("pad", lambda x, width, mode, options: _numpy_pad(x, width, mode, **dict(options)))


def _along_linear(array: Any, axis: int, left: int, right: int, mode: str, own: dict[str, Any]) -> Any:
    n = array.shape[axis]
    matrix = np.stack([_numpy_pad(row, (left, right), mode, **_of_zero(own)) for row in np.eye(n)])
    offset = _numpy_pad(np.zeros(n), (left, right), mode, **own)
    padded = np.tensordot(array, matrix.astype(array.dtype), axes=(axis, 0)) + offset.astype(array.dtype)
    return np.moveaxis(padded, -1, axis)


def _of_zero(own: dict[str, Any]) -> dict[str, Any]:
    return {key: 0 if key == "end_values" else value for key, value in own.items()}


def _along_statistic(array: Any, axis: int, left: int, right: int, mode: str, own: dict[str, Any]) -> Any:
    lead = (slice(None),) * axis
    n = array.shape[axis]
    before, after = own.get("stat_length") or (None, None)
    parts = []
    for number, part in (
        (left, array[(*lead, slice(None, before))]),
        (right, array[(*lead, slice(None if after is None else max(n - after, 0), None))]),
    ):
        found = _STATISTICS[mode](part, axis=axis, keepdims=True)
        shape = (*array.shape[:axis], number, *array.shape[axis + 1 :])
        parts.append(np.broadcast_to(found, shape))
    return np.concatenate([parts[0], array, parts[1]], axis=axis)
