"""Median, quantiles, percentiles: entries of the sorted array, and straight lines between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating
from core.autodiff.rules.axes import kept_shape, normalise, refuse, refuse_out
from core.autodiff.tensor import Tensor, arrayed

# where the quantile lies among n sorted entries: n * q + (alpha + q * (1 - alpha - beta)) - 1 (Hyndman and Fan 1996)
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_OF_LINEAR = ("lower", "higher", "midpoint", "nearest")


def _lined_up(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The array with what is reduced along the last axis, sorted; and the shape that keeps the reduced axes."""
    a = floating(arrayed(a), "median and numpy.quantile")
    axes = tuple(range(a.ndim)) if axis is None else normalise(axis, a.ndim)
    assert axes is not None
    rest = [i for i in range(a.ndim) if i not in axes]
    moved = np.transpose(a, [*rest, *axes])
    flat = np.reshape(moved, (*(a.shape[i] for i in rest), int(np.prod([a.shape[i] for i in axes]))))
    if not flat.shape[-1]:
        raise ValueError(f"the median or quantile of no numbers: shape {a.shape}, axis {axis}")
    return np.sort(flat, axis=-1), kept_shape(a.shape, axes)


def _nan_stays(found: Any, ordered: Any) -> Any:
    """nan sorts to the end: where one is, the result is nan."""
    return np.where(np.isnan(ordered[..., -1]), found.dtype.type(np.nan), found)


def _shares(q: Any) -> Any:
    """``q`` as numbers from 0 to 1."""
    wanted = np.asarray(q, dtype=np.float64)
    if not np.all((wanted >= 0) & (wanted <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return wanted


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """numpy.median; with an even number of entries the two in the middle get half of the gradient each."""
    refuse_out("median", out)
    ordered, kept = _lined_up(a, axis)
    n = ordered.shape[-1]
    middle = ordered[..., (n - 1) // 2 : n // 2 + 1]
    found = _nan_stays(np.mean(middle, axis=-1), ordered)
    return np.reshape(found, kept) if keepdims else found


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """numpy.quantile of the continuous methods, and lower, higher, midpoint, nearest; no gradient for q."""
    refuse_out("quantile", out)
    refuse("quantile", weights=weights)
    if isinstance(q, Tensor):
        raise TypeError("numpy.quantile on tensors differentiates the data, not q: give q as a plain number")
    if method not in _CONTINUOUS and method not in _OF_LINEAR:
        raise TypeError(f"numpy.quantile on tensors supports {', '.join([*_CONTINUOUS, *_OF_LINEAR])}, not {method!r}")
    wanted = _shares(q)
    ordered, kept = _lined_up(a, axis)
    n = ordered.shape[-1]
    alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
    place = wanted * (n - 1) if alpha == beta == 1 else n * wanted + (alpha + wanted * (1 - alpha - beta)) - 1
    low, share = np.clip(np.floor(place), 0, n - 1), np.clip(place, 0, n - 1)
    share = share - low
    if method == "lower":
        share = share * 0
    elif method == "higher":
        share = np.ceil(share)
    elif method == "midpoint":
        share = np.where(share > 0, 0.5, 0.0)
    elif method == "nearest":
        share = np.where((share > 0.5) | ((share == 0.5) & (low % 2 == 1)), 1.0, 0.0)
    first = low.astype(np.intp)
    below, above = ordered[..., first], ordered[..., np.minimum(first + 1, n - 1)]
    t = share.astype(np.result_type(ordered.dtype, wanted.dtype) if wanted.ndim else ordered.dtype)
    found = np.where(t < 0.5, below + (above - below) * t, above - (above - below) * (1 - t))
    if wanted.ndim:
        ordered = np.reshape(ordered, (*ordered.shape[:-1], *(1,) * wanted.ndim, n))
    found = _nan_stays(found, ordered)
    lead = tuple(range(found.ndim - wanted.ndim, found.ndim))
    found = np.moveaxis(found, lead, tuple(range(wanted.ndim)))
    return np.reshape(found, wanted.shape + kept) if keepdims else found


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """numpy.percentile: the quantile of q / 100."""
    if not isinstance(q, Tensor):
        q = np.true_divide(q, 100)
    return quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """numpy.nanquantile of the method 'linear': nan sorts to the end and is not counted."""
    refuse_out("nanquantile", out)
    refuse("nanquantile", weights=weights)
    if isinstance(q, Tensor) or method != "linear":
        raise TypeError("numpy.nanquantile on tensors takes q as a plain number and method='linear'")
    wanted = _shares(q)
    ordered, kept = _lined_up(a, axis)
    last = np.maximum(np.sum(np.logical_not(np.isnan(ordered)), axis=-1, keepdims=True) - 1, 0)
    found = np.stack([_between(ordered, last, float(share)) for share in wanted.ravel()])
    return np.reshape(found, wanted.shape + (kept if keepdims else ordered.shape[:-1]))


def _between(ordered: Any, last: Any, share: float) -> Any:
    """The entry this share of the way to ``last``, by a straight line between neighbours."""
    place = share * last
    low = np.floor(place)
    first = low.astype(np.intp)
    below = np.take_along_axis(ordered, first, -1)
    above = np.take_along_axis(ordered, np.minimum(first + 1, last), -1)
    return below + (above - below) * (place - low).astype(ordered.dtype)


def nanpercentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    """numpy.nanpercentile: the nanquantile of q / 100."""
    return nanquantile(a, q if isinstance(q, Tensor) else np.true_divide(q, 100), *args, **options)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """numpy.nanmedian."""
    return nanquantile(a, 0.5, axis, out, keepdims=keepdims)
