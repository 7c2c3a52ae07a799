"""Entries picked, put in or left out, by condition or number: choose, select, piecewise, insert, delete, compress."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import refuse_out
from core.autodiff.rules.indexing import SCATTER, plain_index
from core.autodiff.tensor import Tensor, apply, arrayed, raw


def _positions(a: Any) -> Any:
    return np.arange(a.size).reshape(a.shape)


def _flat(a: Any) -> Any:
    return np.reshape(a, (-1,))


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """numpy.delete."""
    arr = arrayed(arr)
    return _flat(arr)[np.delete(_positions(arr), plain_index(obj, "delete"), axis)]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """numpy.insert; the gradient also goes to the values put in."""
    arr, values = arrayed(arr), arrayed(values)
    new = np.asarray(raw(values))
    where = np.insert(_positions(arr), plain_index(obj, "insert"), arr.size + _positions(new), axis)
    return np.concatenate([_flat(arr), _flat(values).astype(arr.dtype)])[where]


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """numpy.compress."""
    refuse_out("compress", out)
    a = arrayed(a)
    return _flat(a)[np.compress(plain_index(condition, "compress"), _positions(a), axis)]


def extract(condition: Any, arr: Any) -> Any:
    """numpy.extract."""
    arr = arrayed(arr)
    return _flat(arr)[np.extract(plain_index(condition, "extract"), _positions(arr))]


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """numpy.choose."""
    refuse_out("choose", out)
    parts = [arrayed(c) for c in choices]
    a = a if isinstance(a, Tensor) else np.asarray(a)
    n = len(parts)
    if mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = np.clip(a, 0, n - 1)
    else:
        found = np.asarray(raw(a))
        if np.any((found < 0) | (found >= n)):
            raise ValueError(f"invalid entry in choice array: {n} choices")
    result = parts[-1]
    for k in range(n - 2, -1, -1):
        result = np.where(np.equal(a, k), parts[k], result)
    return np.broadcast_to(result, np.broadcast_shapes(a.shape, *(np.shape(p) for p in parts)))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """numpy.select: the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    choices = [arrayed(c) for c in choicelist]
    dtype = np.result_type(*choices, default if not isinstance(default, Tensor) else default.dtype)
    result = arrayed(default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result.astype(dtype)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """numpy.piecewise; each function is evaluated on all of x, and its values are used where its condition holds."""
    x = arrayed(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if conditions and not isinstance(conditions[0], (list, Tensor, np.ndarray)):
        conditions = [np.asarray(conditions)] if np.ndim(x) else conditions
    conditions = [arrayed(c).astype(bool) for c in conditions]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        result = _applied(functions[-1], x, args, kw)
    elif len(functions) == len(conditions):
        result = np.zeros(x.shape, x.dtype)
    else:
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or one more functions")
    for condition, f in zip(conditions, functions[: len(conditions)], strict=True):  # the last that holds counts
        result = np.where(condition, _applied(f, x, args, kw), result)
    return np.broadcast_to(result, x.shape).astype(x.dtype)


def _applied(f: Any, x: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    return f(x, *args, **kw) if callable(f) else arrayed(f)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    **more: Any,
) -> Any:
    """numpy.unique; the gradient of each value goes to its first occurrence."""
    ar = arrayed(ar)
    plain = plain_index(ar, "unique")
    _, first, inverse, counts = np.unique(plain, True, True, True, axis, equal_nan=equal_nan, **more)
    found = _flat(ar)[first] if axis is None else np.take(ar, first, axis=axis)
    wanted = [p for p, asked in ((first, return_index), (inverse, return_inverse), (counts, return_counts)) if asked]
    return (found, *wanted) if wanted else found


_COUNTS = Op("bincount", lambda x, least: np.bincount(x, minlength=least), dynamic=True)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """numpy.bincount; the gradient goes to the weights."""
    if weights is None:
        return apply(_COUNTS, (x,), (minlength,))
    x = np.asarray(plain_index(x, "bincount"))
    weights = arrayed(weights).astype(np.float64)
    if x.ndim != 1 or x.shape != weights.shape:
        raise ValueError(f"bincount: {x.shape} numbers and {weights.shape} weights")
    size = max(int(x.max(initial=-1)) + 1, minlength)
    if np.any(x < 0):
        raise ValueError("bincount: the numbers must not be negative")
    return apply(SCATTER, (weights,), (x, (size,)))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """numpy.ediff1d."""
    flat = np.ravel(arrayed(ary))
    parts = [flat[1:] - flat[:-1]]
    if to_begin is not None:
        parts.insert(0, np.ravel(arrayed(to_begin)).astype(flat.dtype))
    if to_end is not None:
        parts.append(np.ravel(arrayed(to_end)).astype(flat.dtype))
    return np.concatenate(parts)
