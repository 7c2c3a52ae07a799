"""The reductions that pass over nan: entries that are nan count as absent, and get gradient 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating, is_floating
from core.autodiff.rules import reductions
from core.autodiff.rules.axes import refuse_out
from core.autodiff.rules.reductions import masked
from core.autodiff.rules.statistics import degrees_lost
from core.autodiff.tensor import apply, arrayed


def _present(a: Any, where: Any = None) -> tuple[Any, Any]:
    """The array, and where it holds numbers."""
    a = arrayed(a)
    there = np.logical_not(np.isnan(a))
    return a, there if where is None or where is True else np.logical_and(there, where)


def _filled(a: Any, instead: Any, where: Any = None) -> Any:
    """The array with ``instead`` (which does not change the result) where nothing is to be counted."""
    a, there = _present(a, where)
    return masked(a, there, instead)


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """numpy.nansum."""
    refuse_out("nansum", out)
    return np.sum(_filled(a, 0, where), axis=axis, dtype=dtype, keepdims=keepdims, initial=initial)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """numpy.nanprod."""
    refuse_out("nanprod", out)
    return np.prod(_filled(a, 1, where), axis=axis, dtype=dtype, keepdims=keepdims, initial=initial)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
) -> Any:
    """numpy.nanmean."""
    refuse_out("nanmean", out)
    a, there = _present(a, where)
    a = floating(a, "nanmean") if dtype is None else a.astype(dtype)
    return np.mean(a, axis=axis, keepdims=keepdims, where=there)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """numpy.nanvar; nan where ``ddof`` leaves no numbers over."""
    refuse_out("nanvar", out)
    a, there = _present(a, where)
    ddof = degrees_lost(ddof, correction)
    found = np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=there, mean=mean)
    enough = np.sum(there, axis=axis, keepdims=keepdims) > ddof
    return np.where(enough, found, found.dtype.type(np.nan))


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """numpy.nanstd; gradient 0 where the variance is 0."""
    refuse_out("nanstd", out)
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return apply(reductions.ROOT, (variance,))


def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """numpy.nanmax; tied maxima share the gradient equally."""
    refuse_out("nanmax", out)
    return _nan_extreme(np.max, -np.inf, a, axis, keepdims, initial, where)


def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    """numpy.nanmin; tied minima share the gradient equally."""
    refuse_out("nanmin", out)
    return _nan_extreme(np.min, np.inf, a, axis, keepdims, initial, where)


def _nan_extreme(f: Any, worst: float, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    a = arrayed(a)
    if not is_floating(a.dtype):
        return f(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    a, there = _present(a, where)
    found = f(masked(a, there, worst), axis=axis, keepdims=keepdims, initial=initial)
    if initial is not None:
        return found
    return np.where(np.any(there, axis=axis, keepdims=keepdims), found, found.dtype.type(np.nan))


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.nancumsum."""
    return np.cumsum(_filled(a, 0), axis=axis, dtype=dtype, out=out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """numpy.nancumprod."""
    return np.cumprod(_filled(a, 1), axis=axis, dtype=dtype, out=out)
