"""Rules of running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import one_axis, refuse_out
from core.autodiff.tensor import apply, arrayed


def _cumsum_rule(g: Any, out: Any, x: Any, axis: int) -> Any:
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


CUMSUM = Op("cumsum", lambda x, axis: np.add.accumulate(x, axis=axis), (_cumsum_rule,), keeps_inputs=False)


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


def _cumulated(op: Op, a: Any, axis: Any, dtype: Any) -> Any:
    a = arrayed(a)
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None or a.ndim == 0:
        a, axis = np.ravel(a), 0
    return apply(op, (a,), (one_axis(axis, a.ndim),))


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.cumsum."""
    refuse_out("cumsum", out)
    return _cumulated(CUMSUM, a, axis, dtype)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.cumprod; right also behind a zero."""
    refuse_out("cumprod", out)
    return _cumulated(CUMPROD, a, axis, dtype)


def _array_api(name: str, x: Any, axis: Any, start: float | None, running: Any) -> Any:
    """The names of the array API standard: one axis may be left away only where there is one."""
    x = arrayed(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"numpy.{name}: an array with {x.ndim} axes needs axis=")
        axis = 0
    if start is not None:
        one = list(x.shape)
        one[one_axis(axis, x.ndim)] = 1
        return np.concatenate([np.full(one, start, running.dtype), running], axis=axis)
    return running


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """numpy.cumulative_sum."""
    return _array_api("cumulative_sum", x, axis, 0.0 if include_initial else None, cumsum(x, axis, dtype, out))


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """numpy.cumulative_prod."""
    return _array_api("cumulative_prod", x, axis, 1.0 if include_initial else None, cumprod(x, axis, dtype, out))
