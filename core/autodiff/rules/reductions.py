"""Rules of sum, mean, prod, max, min over any axes, with where= and initial=, and the root that ends a norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating, is_floating
from core.autodiff.operation import Op
from core.autodiff.rules.axes import count, kept_shape, normalise, refuse_out
from core.autodiff.rules.choosing import kept as chosen_only
from core.autodiff.tensor import Tensor, apply, arrayed

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
    if x.ndim == 0 and axis is not None and axis in (0, -1):
        axis = None  # numpy allows that for single numbers
    axes = normalise(axis, x.ndim)
    kept = None if keepdims or axes is None else kept_shape(x.shape, axes)
    return axes, _compact(axes), kept


_ALL = (None, False, None)


def masked(a: Any, where: Any, instead: Any) -> Any:
    """``a`` with ``instead`` (which does not change the result) where the reduction does not look."""
    if where is None or where is True:
        return a
    where = where if isinstance(where, Tensor) else np.asarray(where)
    if np.broadcast_shapes(a.shape, where.shape) != a.shape:
        raise ValueError(f"where= of shape {where.shape} cannot be broadcast to the array of shape {a.shape}")
    return np.where(where.astype(bool), a, a.dtype.type(instead))


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
    a = arrayed(a)
    if out is not None or where is not None:
        refuse_out("sum", out)
        a = masked(a, where, 0)
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None and not keepdims:
        total = apply(SUM, (a,), _ALL)
    else:
        _, axes, kept = _reduced(a, axis, bool(keepdims))
        total = apply(SUM, (a,), (axes, bool(keepdims), kept))
    return total if initial is None else _as(initial, total) + total


def _as(initial: Any, result: Any) -> Any:
    """``initial`` of the result's type."""
    return initial.astype(result.dtype) if isinstance(initial, Tensor) else result.dtype.type(initial)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """numpy.mean."""
    a = arrayed(a)
    refuse_out("mean", out)
    a = floating(a, "mean") if dtype is None else a.astype(dtype)
    if where is not None and where is not True:
        seen = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims)
        total = np.sum(masked(a, where, 0), axis=axis, keepdims=keepdims)
        return total / seen.astype(a.dtype)
    if axis is None and not keepdims:
        return apply(MEAN, (a,), (None, False, None, a.size))
    wide, axes, kept = _reduced(a, axis, bool(keepdims))
    return apply(MEAN, (a,), (axes, bool(keepdims), kept, count(a.shape, wide)))


def _extreme_rule(g: Any, out: Any, x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    chosen = x == _restored(out, kept)
    share = _restored(g, kept) / np.add.reduce(chosen, axis=axes, keepdims=True, dtype=g.dtype)
    return chosen_only(chosen, share)


def _least(dtype: Any) -> Any:
    return -np.inf if is_floating(dtype) else dtype.type(0) if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    return np.inf if is_floating(dtype) else dtype.type(1) if dtype.kind == "b" else np.iinfo(dtype).max


def _with_one(a: Any, wide: Axes, initial: Any) -> Any:
    """An array of no entries with one for each reduction to find."""
    return np.broadcast_to(_as(initial, a), kept_shape(a.shape, wide))


def _extreme_op(name: str, ufunc: Any) -> Op:
    return Op(
        name,
        lambda x, axes, keepdims, kept: ufunc.reduce(x, axis=axes, keepdims=keepdims),
        (_extreme_rule,),
        keeps_output=True,
        selects=True,
    )


MAX = _extreme_op("max", np.maximum)
MIN = _extreme_op("min", np.minimum)


def _extreme(op: Op, ufunc: Any, worst: Any) -> Any:
    """Make numpy.max or numpy.min: two functions of one body, with no call in between at run time."""

    def extreme(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
    ) -> Any:
        a = arrayed(a)
        refuse_out(op.name, out)
        if where is not None and where is not True:
            if initial is None:
                raise ValueError(f"numpy.{op.name} with where= needs initial=, the value where nothing is looked at")
            a = masked(a, where, worst(a.dtype))
        wide, axes, kept = _reduced(a, axis, bool(keepdims))
        if initial is not None and not a.size:
            a = _with_one(a, wide, initial)
        found = apply(op, (a,), (axes, bool(keepdims), kept))
        return found if initial is None else ufunc(found, _as(initial, found))

    extreme.__name__ = extreme.__qualname__ = f"{op.name}_"
    extreme.__doc__ = f"numpy.{op.name}; tied {op.name}ima share the gradient equally."
    return extreme


max_ = _extreme(MAX, np.maximum, _least)
min_ = _extreme(MIN, np.minimum, _greatest)


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
    refuse_out("prod", out)
    a = masked(arrayed(a), where, 1)
    if dtype is not None:
        a = a.astype(dtype)
    _, axes, kept = _reduced(a, axis, bool(keepdims))
    total = apply(PROD, (a,), (axes, bool(keepdims), kept))
    return total if initial is None else _as(initial, total) * total


def _prod_rule(g: Any, out: Any, x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    """Each factor's gradient is the product of the others: exclusive products from both ends, no division."""
    if not x.size:
        return np.zeros(x.shape, g.dtype)
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
