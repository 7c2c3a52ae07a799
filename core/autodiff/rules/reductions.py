"""Rules of sum, mean, prod, max, min, var, std, cumsum, cumprod over any axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.operation import Op
from core.autodiff.rules.axes import count, kept_shape, normalise, refuse
from core.autodiff.tensor import apply

Axes = tuple[int, ...] | None
_add_reduce: Any = np.add.reduce


def _compact(axes: Axes) -> Any:
    return axes[0] if axes is not None and len(axes) == 1 else axes


def _sum(x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    return _add_reduce(x, axis=axes, keepdims=keepdims)


def _mean(x: Any, axes: Any, keepdims: bool, kept: Any, number: int) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind != "i":  # 16-bit floats: summed in float32, as numpy does
        return (_add_reduce(x, axis=axes, keepdims=keepdims, dtype=np.float32) / number).astype(x.dtype)
    return _add_reduce(x, axis=axes, keepdims=keepdims) / number


def _restored(g: Any, kept: Any) -> Any:
    """g with length-1 axes where x was reduced: it still has to be broadcast, which elementwise rules do."""
    return g if kept is None else g.reshape(kept)


SUM = Op("sum", _sum, (lambda g, o, x, axes, keepdims, kept: _restored(g, kept),), keeps_inputs=False)
MEAN = Op(
    "mean", _mean, (lambda g, o, x, axes, keepdims, kept, number: _restored(g / number, kept),), keeps_inputs=False
)


def _reduced(x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any, Any]:
    axes = normalise(axis, x.ndim)
    kept = None if keepdims or axes is None else kept_shape(x.shape, axes)
    return axes, _compact(axes), kept


_ALL = (None, False, None)


def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """numpy.sum."""
    if not (out is None and initial is None and where is None):
        refuse("sum", out=out, initial=initial, where=where)
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None and not keepdims:
        return apply(SUM, (a,), _ALL)
    _, axes, kept = _reduced(a, axis, bool(keepdims))
    return apply(SUM, (a,), (axes, bool(keepdims), kept))


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """numpy.mean."""
    if axis is None and not keepdims and dtype is None and out is None and where is None and is_floating(a.dtype):
        if not a.size:
            raise ValueError(f"the mean of no numbers: shape {a.shape}")
        return apply(MEAN, (a,), (None, False, None, a.size))
    refuse("mean", out=out, where=where)
    if dtype is not None:
        a = a.astype(dtype)
    elif not is_floating(a.dtype):
        a = a.astype(np.float64)
    wide, axes, kept = _reduced(a, axis, bool(keepdims))
    number = count(a.shape, wide)
    if number == 0:
        raise ValueError(f"the mean of no numbers: shape {a.shape}, axis {axis}")
    return apply(MEAN, (a,), (axes, bool(keepdims), kept, number))


def _extreme_rule(g: Any, out: Any, x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    chosen = (x == _restored(out, kept)).astype(g.dtype)
    return _restored(g, kept) * (chosen / np.add.reduce(chosen, axis=axes, keepdims=True))


MAX = Op(
    "max",
    lambda x, axes, keepdims, kept: np.maximum.reduce(x, axis=axes, keepdims=keepdims),
    (_extreme_rule,),
    keeps_output=True,
    selects=True,
)
MIN = Op(
    "min",
    lambda x, axes, keepdims, kept: np.minimum.reduce(x, axis=axes, keepdims=keepdims),
    (_extreme_rule,),
    keeps_output=True,
    selects=True,
)


def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """numpy.max; tied maxima share the gradient equally."""
    refuse("max", out=out, initial=initial, where=where)
    _, axes, kept = _reduced(a, axis, bool(keepdims))
    return apply(MAX, (a,), (axes, bool(keepdims), kept))


def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """numpy.min; tied minima share the gradient equally."""
    refuse("min", out=out, initial=initial, where=where)
    _, axes, kept = _reduced(a, axis, bool(keepdims))
    return apply(MIN, (a,), (axes, bool(keepdims), kept))


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """numpy.var."""
    refuse("var", out=out, where=where, mean=mean)
    if dtype is not None:
        a = a.astype(dtype)
    elif not is_floating(a.dtype):
        a = a.astype(np.float64)
    centred = a - np.mean(a, axis=axis, keepdims=True)
    number = count(a.shape, normalise(axis, a.ndim)) - (ddof if correction is None else correction)
    if number <= 0:
        raise ValueError(f"the variance needs more than {ddof} numbers: shape {a.shape}, axis {axis}, ddof {ddof}")
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / number


def _root_rule(g: Any, out: Any, x: Any) -> Any:
    zero = out == 0
    return np.where(zero, g.dtype.type(0), g * 0.5 / np.where(zero, out.dtype.type(1), out))


# the square root at the end of a norm or a standard deviation: slope 0 at 0, where the whole has sub-gradient 0
ROOT = Op(
    "root_of_sum",
    np.sqrt,
    (_root_rule,),
    keeps_inputs=False,
    keeps_output=True,
    elementwise=True,
    selects=True,
    ufunc=np.sqrt,
)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """numpy.std; gradient 0 where the variance is 0 (as in PyTorch)."""
    return apply(ROOT, (var(a, axis, dtype, out, ddof, keepdims, where, mean, correction),))


def _cumsum_rule(g: Any, out: Any, x: Any, axis: int) -> Any:
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


CUMSUM = Op("cumsum", lambda x, axis: np.add.accumulate(x, axis=axis), (_cumsum_rule,), keeps_inputs=False)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.cumsum."""
    refuse("cumsum", out=out)
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None:
        a, axis = np.ravel(a), 0
    axes = normalise(axis, a.ndim)
    assert axes is not None
    return apply(CUMSUM, (a,), (axes[0],))


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """numpy.prod; right also with zeros among the factors."""
    refuse("prod", out=out, initial=initial, where=where)
    if dtype is not None:
        a = a.astype(dtype)
    _, axes, kept = _reduced(a, axis, bool(keepdims))
    return apply(PROD, (a,), (axes, bool(keepdims), kept))


def _prod_rule(g: Any, out: Any, x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    """Each factor's gradient is the product of the others: exclusive products from both ends, no division."""
    wide = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else axes
    rest = tuple(i for i in range(x.ndim) if i not in wide)
    order = rest + wide
    moved = np.transpose(x, order)
    flat = np.reshape(moved, (*moved.shape[: len(rest)], -1))
    one = np.ones((*flat.shape[:-1], 1), dtype=flat.dtype)
    before = np.concatenate([one, np.cumprod(flat, axis=-1)[..., :-1]], axis=-1)
    after = np.flip(np.concatenate([one, np.cumprod(np.flip(flat, -1), axis=-1)[..., :-1]], axis=-1), -1)
    others = np.transpose(np.reshape(before * after, moved.shape), tuple(np.argsort(order)))
    return np.reshape(g, kept_shape(x.shape, axes if axes is None else wide)) * others


PROD = Op(
    "prod",
    lambda x, axes, keepdims, kept: np.multiply.reduce(x, axis=axes, keepdims=keepdims),
    (_prod_rule,),
    keeps_output=False,
)


def _cumprod_rule(g: Any, out: Any, x: Any, axis: int) -> Any:
    """Entry j of the gradient is sum over i >= j of g_i times the product of the other factors up to i.

    Computed from a triangular table of exclusive products, so that zeros among the factors do no harm.
    """
    moved = np.moveaxis(x, axis, -1)
    n = moved.shape[-1]
    eye = np.eye(n, dtype=bool)
    table = np.where(eye, moved.dtype.type(1), np.expand_dims(moved, -2))  # row j: factor j replaced by 1
    upper = np.triu(np.ones((n, n), dtype=moved.dtype))
    products = np.cumprod(table, axis=-1) * upper
    return np.moveaxis(np.sum(products * np.expand_dims(np.moveaxis(g, axis, -1), -2), axis=-1), -1, axis)


CUMPROD = Op("cumprod", lambda x, axis: np.multiply.accumulate(x, axis=axis), (_cumprod_rule,))


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.cumprod; right also behind a zero."""
    refuse("cumprod", out=out)
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None:
        a, axis = np.ravel(a), 0
    axes = normalise(axis, a.ndim)
    assert axes is not None
    return apply(CUMPROD, (a,), (axes[0],))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """numpy.average."""
    if returned:
        raise TypeError("numpy.average on tensors does not support returned=True")
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):
        if np.ndim(weights) != 1 or not isinstance(axis, int):
            raise TypeError("numpy.average: weights of another shape need one axis and must have one axis themselves")
        shape = [1] * np.ndim(a)
        shape[axis] = -1
        weights = np.reshape(weights, shape)
        total = np.sum(weights)
    else:
        total = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total
