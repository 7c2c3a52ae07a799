"""Functions sampled on a grid: interpolation, differences, integrals, convolution, polynomials, grids themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating, refuse_complex
from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise, one_axis, refuse
from core.autodiff.rules.indexing import take
from core.autodiff.tensor import apply, arrayed


def _floating(a: Any) -> Any:
    return floating(arrayed(a), "gradient and numpy.linspace")


def _point(a: Any) -> Any:
    """An end of a range; Python numbers leave the type to the other end."""
    return float(a) if type(a) is int or type(a) is float else _floating(a)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """numpy.interp; at a point of the grid the slope is that of the piece to its right."""
    refuse("interp", period=period)
    x, xp, fp = (floating(arrayed(a), "interp").astype(np.float64) for a in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1 or len(xp) != len(fp) or not len(xp):
        raise ValueError(f"interp: xp and fp must be 1-D sequences of the same length: {xp.shape}, {fp.shape}")
    n = len(xp)
    before, after = fp[0] if left is None else left, fp[-1] if right is None else right
    if n == 1:
        inside = fp[0] + x * 0
    else:
        piece = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
        start, low = take(xp, piece), take(fp, piece)  # (numpy itself does not ask tensors that are indices)
        inside = (take(fp, piece + 1) - low) / (take(xp, piece + 1) - start) * (x - start) + low
        inside = np.where(np.equal(x, xp[-1]), fp[-1] + (inside - low) * 0 + (x - xp[-1]) * 0, inside)
    out = np.where(x < xp[0], before, np.where(x > xp[-1], after, inside))
    return np.where(np.isnan(x), x, out)


CONVOLVE = Op(
    "convolve",
    np.convolve,
    (
        lambda g, o, a, v: np.convolve(g, v[::-1], "valid"),
        lambda g, o, a, v: np.convolve(g, a[::-1], "valid"),
    ),
)


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """numpy.convolve."""
    a, v = np.atleast_1d(arrayed(a)), np.atleast_1d(arrayed(v))
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    n, m = len(a), len(v)
    if not n or not m:
        raise ValueError("a cannot be empty" if not n else "v cannot be empty")
    full = apply(CONVOLVE, (a, v))
    return _cut(full, max(n, m), min(n, m), mode)


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """numpy.correlate (real numbers)."""
    a, v = np.atleast_1d(arrayed(a)), np.atleast_1d(arrayed(v))
    refuse_complex(v, "correlate")
    if len(v) > len(a):  # numpy exchanges them and turns the result round
        return correlate(v, a, mode)[::-1]
    return convolve(a, v[::-1], mode)


def _cut(full: Any, most: int, least: int, mode: Any) -> Any:
    if mode in ("full", 2):
        return full
    if mode in ("same", 1):
        return full[(least - 1) // 2 : (least - 1) // 2 + most]
    if mode in ("valid", 0):
        return full[least - 1 : most]
    raise ValueError(f"mode must be one of 'full', 'same', 'valid', not {mode!r}")


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """numpy.trapezoid."""
    y = arrayed(y)
    if x is not None:
        x = arrayed(x)
        dx = np.diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[one_axis(axis, y.ndim)] = -1
            dx = np.reshape(dx, shape)
    lead = (slice(None),) * one_axis(axis, y.ndim)
    return np.sum(dx * (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2.0, axis=axis)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """numpy.gradient: second-order differences inside, of order ``edge_order`` at the two ends."""
    f = _floating(f)
    axes = tuple(range(f.ndim)) if axis is None else normalise(axis, f.ndim)
    assert axes is not None
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    spacings = [v if type(v) in (int, float) else arrayed(v) for v in varargs] or [1.0]
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    found = tuple(_slopes(f, h, i, edge_order) for h, i in zip(spacings, axes, strict=True))
    return found[0] if len(found) == 1 else found


def _slopes(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    f = np.moveaxis(f, axis, -1)
    n = f.shape[-1]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient: {n} entries along an axis are too few, at least edge_order + 1 = {edge_order + 1} are needed"
        )
    if np.ndim(h) == 0:
        inside = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
        start = next_start = end = next_end = h
    elif len(h) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    else:
        h = np.diff(h)
        a, b = h[:-1], h[1:]
        inside = (a * a * f[..., 2:] + (b * b - a * a) * f[..., 1:-1] - b * b * f[..., :-2]) / (a * b * (a + b))
        start, next_start, end, next_end = h[0], h[min(1, n - 2)], h[-1], h[max(-2, 1 - n)]
    if edge_order == 1:
        first, last = (f[..., 1] - f[..., 0]) / start, (f[..., -1] - f[..., -2]) / end
    else:
        first = _edge(f[..., 0], f[..., 1], f[..., 2], start, next_start)
        last = -_edge(f[..., -1], f[..., -2], f[..., -3], end, next_end)
    ends = [np.expand_dims(first, -1), inside, np.expand_dims(last, -1)]
    return np.moveaxis(np.concatenate(ends, axis=-1), -1, axis)


def _edge(f0: Any, f1: Any, f2: Any, a: Any, b: Any) -> Any:
    """The slope at f0 of the parabola through three points at distances a and b."""
    return -(2 * a + b) / (a * (a + b)) * f0 + (a + b) / (a * b) * f1 - a / (b * (a + b)) * f2


def polyval(p: Any, x: Any) -> Any:
    """numpy.polyval, by Horner's rule."""
    p, x = arrayed(p), arrayed(x)
    y = x * 0
    for k in range(len(p)):
        y = y * x + p[k]
    return y


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """numpy.vander."""
    x = arrayed(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    x = x.astype(np.promote_types(x.dtype, int))
    columns = [np.ones(len(x), x.dtype)]
    for _ in range(1, len(x) if N is None else N):
        columns.append(columns[-1] * x)
    columns = columns[: len(x) if N is None else N]
    return np.stack(columns if increasing else columns[::-1], axis=1)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Any:
    """numpy.unwrap: whole periods are added, so the gradient passes as it is."""
    return apply(_UNWRAP, (arrayed(p),), (discont, axis, period))


_UNWRAP = Op(
    "unwrap",
    lambda p, discont, axis, period: np.unwrap(p, discont, axis, period=period),
    (lambda g, o, p, *_: g,),
    keeps_inputs=False,
)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: int = 0,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """numpy.linspace."""
    start, stop = _point(start), _point(stop)
    pieces = num - 1 if endpoint else num
    step = (stop - start) / pieces if pieces > 0 else (stop - start) * np.nan
    shape = (-1, *(1,) * np.ndim(step))
    if pieces > 0:
        points = start + np.reshape(np.arange(num).astype(step.dtype), shape) * step
    else:
        points = start + np.zeros(num).reshape(shape) * (stop - start)
    if endpoint and num > 1:
        last = np.broadcast_to(np.asarray(stop, points.dtype) if type(stop) is float else stop, points.shape[1:])
        points = np.concatenate([points[:-1], np.expand_dims(last, 0)])
    points = np.moveaxis(points, 0, axis) if axis else points
    points = points if dtype is None else points.astype(dtype)
    return (points, step) if retstep else points


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """numpy.logspace."""
    points = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return points if dtype is None else points.astype(dtype)
