"""The methods of numpy's universal functions on tensors: reduce, accumulate, reduceat, outer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.rules import cumulative, reductions
from core.autodiff.rules.axes import normalise, one_axis, refuse, refuse_out
from core.autodiff.tensor import arrayed

_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: reductions.sum_,
    np.multiply: reductions.prod,
    np.maximum: reductions.max_,
    np.minimum: reductions.min_,
    np.logical_and: np.all,
    np.logical_or: np.any,
}


def reduce(
    ufunc: Any,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``ufunc.reduce``: the rule of the reduction where there is one, otherwise one operation after another."""
    a = arrayed(a)
    name = f"{ufunc.__name__}.reduce"
    refuse_out(name, out)
    options = {key: v for key, v in (("dtype", dtype), ("initial", initial)) if v is not None}
    if where is not True:
        options["where"] = where
    known = _REDUCTIONS.get(ufunc)
    if known is not None:
        return known(a, axis=axis, keepdims=bool(keepdims), **options)
    refuse(name, where=options.get("where"))
    if dtype is not None:
        a = a.astype(dtype)
    axes = tuple(range(a.ndim)) if axis is None else normalise(axis, a.ndim)
    assert axes is not None
    if len(axes) > 1 and ufunc.identity is None and ufunc not in (np.fmax, np.fmin):
        raise ValueError(f"{name}: the result depends on the order of the axes, so it takes one axis only")
    found = a
    for i in sorted(axes, reverse=True):
        found = _one_after_another(ufunc, found, i)[-1]
    if initial is not None:
        found = ufunc(initial, found)
    return np.expand_dims(found, tuple(sorted(axes))) if keepdims else found


def accumulate(ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``."""
    a = arrayed(a)
    refuse_out(f"{ufunc.__name__}.accumulate", out)
    if ufunc is np.add:
        return cumulative.cumsum(a, axis, dtype)
    if ufunc is np.multiply:
        return cumulative.cumprod(a, axis, dtype)
    if dtype is not None:
        a = a.astype(dtype)
    axis = one_axis(axis, a.ndim)
    return np.stack(_one_after_another(ufunc, a, axis), axis=axis) if a.shape[axis] else a


def _one_after_another(ufunc: Any, a: Any, axis: int) -> list[Any]:
    """The running results along the axis."""
    lead = (slice(None),) * axis
    if not a.shape[axis]:
        if ufunc.identity is None:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        return [np.full(shape, ufunc.identity, dtype=a.dtype)[()]]
    found = [a[(*lead, 0)]]
    for i in range(1, a.shape[axis]):
        found.append(ufunc(found[-1], a[(*lead, i)]))
    return found


def reduceat(ufunc: Any, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.reduceat``: one reduction for each index, up to the next one when that is larger."""
    a = arrayed(a)
    refuse_out(f"{ufunc.__name__}.reduceat", out)
    axis = one_axis(axis, a.ndim)
    starts = np.asarray(indices).tolist()
    n = a.shape[axis]
    if any(not 0 <= i < n for i in starts):
        raise IndexError(f"{ufunc.__name__}.reduceat: an index is outside 0 to {n - 1}: {starts}")
    lead = (slice(None),) * axis
    parts = []
    for start, stop in zip(starts, [*starts[1:], n], strict=True):
        part = a[(*lead, slice(start, stop if stop > start else start + 1))]
        parts.append(reduce(ufunc, part, axis, dtype))
    return np.stack(parts, axis=axis)


def outer(ufunc: Any, a: Any, b: Any, **options: Any) -> Any:
    """``ufunc.outer``: of every entry of a with every entry of b."""
    a, b = arrayed(a), arrayed(b)
    b_axes = b.ndim
    return ufunc(np.reshape(a, np.shape(a) + (1,) * b_axes), b, **options)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "outer": outer,
}
