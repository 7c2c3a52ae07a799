"""Variance, standard deviation, averages, covariance: combinations of sums, and what they mean at their kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating, is_floating, refuse_complex
from core.autodiff.rules import reductions
from core.autodiff.rules.axes import count, normalise, refuse, refuse_out
from core.autodiff.tensor import apply, arrayed


def degrees_lost(ddof: Any, correction: Any) -> Any:
    """What is taken off the number of entries: numpy's ``ddof`` under one of its two names."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


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
    """numpy.var; as there nan (or inf) where ``ddof`` leaves no numbers over."""
    a = arrayed(a)
    refuse_out("var", out)
    ddof = degrees_lost(ddof, correction)
    a = floating(a, "var") if dtype is None else a.astype(dtype)
    if where is True:
        where = None
    centre = np.mean(a, axis=axis, keepdims=True, where=where) if mean is None else arrayed(mean)
    centred = a - centre
    if where is not None:
        centred = reductions.masked(centred, where, 0)
        seen = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims)
        number = np.maximum(seen - ddof, 0).astype(a.dtype)
    else:
        number = max(count(a.shape, normalise(axis, a.ndim) if a.ndim else None) - ddof, 0)
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / number


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
    refuse_out("std", out)
    return apply(reductions.ROOT, (var(a, axis, dtype, None, ddof, keepdims, where, mean, correction),))


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """numpy.ptp."""
    refuse_out("ptp", out)
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """numpy.average."""
    a = arrayed(a)
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        total: Any = np.asarray(a.size / mean.size)
    else:
        weights = arrayed(weights)
        if not is_floating(np.result_type(a.dtype, weights.dtype)):
            a = floating(a, "average")
        if weights.shape != a.shape:
            weights = _along(weights, a, axis)
        total = np.sum(weights, axis=axis, keepdims=keepdims, dtype=np.result_type(a.dtype, weights.dtype))
        mean = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return mean
    return mean, np.broadcast_to(total, mean.shape).astype(mean.dtype)


def _along(weights: Any, a: Any, axis: Any) -> Any:
    """The weights given for one or several axes, broadcast over the others."""
    if axis is None:
        raise TypeError("numpy.average: weights of another shape than the array need axis=")
    axes = normalise(axis, a.ndim)
    assert axes is not None
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise ValueError(f"numpy.average: weights of shape {weights.shape} along axis {axis} of shape {a.shape}")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [n if i in axes else 1 for i, n in enumerate(a.shape)]
    return np.broadcast_to(np.reshape(np.transpose(weights, order), shape), a.shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """numpy.cov (without weights)."""
    refuse("cov", fweights=fweights, aweights=aweights)
    rows = _rows(m, rowvar, dtype)
    if y is not None:
        rows = np.concatenate([rows, _rows(y, rowvar, dtype)], axis=0)
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    number = max(rows.shape[1] - (int(not bias) if ddof is None else ddof), 0)
    return np.squeeze(centred @ np.transpose(centred) / number)


def _rows(m: Any, rowvar: bool, dtype: Any) -> Any:
    m = arrayed(m)
    if m.ndim > 2:
        raise ValueError(f"numpy.cov takes one or two axes, not {m.ndim}")
    refuse_complex(m, "cov")
    m = m.astype(dtype if dtype is not None else np.result_type(m.dtype, np.float64))
    rows = np.reshape(m, (1, -1)) if m.ndim < 2 else m
    return rows if rowvar or m.ndim < 2 else np.transpose(rows)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """numpy.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    root = np.sqrt(np.diagonal(c))
    return np.clip(c / np.expand_dims(root, 1) / np.expand_dims(root, 0), -1, 1)
