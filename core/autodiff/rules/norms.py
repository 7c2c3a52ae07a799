"""Rules of norms of vectors and matrices, and of the condition number; all have gradient 0 at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating
from core.autodiff.operation import Op
from core.autodiff.rules.axes import kept_shape, normalise
from core.autodiff.rules.decompositions import svdvals
from core.autodiff.rules.reductions import ROOT
from core.autodiff.rules.spectral import spectral_norm
from core.autodiff.tensor import apply, arrayed


def _floating(x: Any) -> Any:
    return floating(arrayed(x), "linalg.norm")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """numpy.linalg.norm in all its orders.

    Gradient 0 at the zero vector (PyTorch; TensorFlow and JAX give nan there).
    """
    x = _floating(x)
    if axis is None and (
        ord is None or (ord in ("f", "fro") and x.ndim == 2) or (not isinstance(ord, str) and ord == 2 and x.ndim == 1)
    ):
        found = _euclidean(np.ravel(x), None, False)
        return np.reshape(found, (1,) * x.ndim) if keepdims else found
    axes = tuple(range(x.ndim)) if axis is None else normalise(axis, x.ndim)
    assert axes is not None
    if len(axes) == 1:
        return vector(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return matrix(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """numpy.linalg.vector_norm: over all named axes at once."""
    x = _floating(x)
    axes = tuple(range(x.ndim)) if axis is None else normalise(axis, x.ndim)
    assert axes is not None
    return vector(x, ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """numpy.linalg.matrix_norm: over the last two axes."""
    x = _floating(x)
    if x.ndim < 2:
        raise ValueError(f"a matrix norm needs at least two axes, not {x.ndim}")
    return matrix(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def _euclidean(x: Any, axis: Any, keepdims: bool) -> Any:
    return apply(ROOT, (np.sum(x * x, axis=axis, keepdims=keepdims),))


def vector(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The norm over ``axes`` together, as of one vector."""
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == 2:
        return _euclidean(x, axes, keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims, initial=0.0)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.not_equal(x, 0).astype(x.dtype), axis=axes, keepdims=keepdims)
    return apply(P_NORM, (x,), (float(ord), axes, bool(keepdims)))


_add_reduce: Any = np.add.reduce


def _p_norm(x: Any, p: float, axes: Any, keepdims: bool) -> Any:
    total = _add_reduce(np.abs(x) ** p, axis=axes, keepdims=keepdims)
    return (total ** (1 / p)).astype(x.dtype)


def _p_norm_rule(g: Any, out: Any, x: Any, p: float, axes: Any, keepdims: bool) -> Any:
    """``sign(x) * (|x| / norm) ** (p - 1)``: from quotients, so that nothing overflows; 0 for the zero vector."""
    kept = kept_shape(x.shape, axes)
    length = out.reshape(kept)
    one = out.dtype.type(1)
    usable = np.logical_and(length > 0, np.isfinite(length))
    share = np.abs(x) / np.where(usable, length, one)
    # an entry 0 is a kink for p = 1 (taken as 0), flat for larger p, and infinitely steep for p between 0 and 1
    flat = np.logical_or(np.logical_not(usable), x == 0) if p >= 1 or p < 0 else np.logical_not(usable)
    slope = np.where(flat, one - one, np.where(flat, one, share) ** (p - 1))
    sign = np.sign(x) if p >= 1 or p < 0 else np.where(x < 0, -one, one)
    return g.reshape(kept) * (sign * slope).astype(x.dtype)


P_NORM = Op("linalg.norm", _p_norm, (_p_norm_rule,), keeps_output=True, selects=True)


def matrix(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The norm of the matrices that lie along two axes."""
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "f", "fro"):
        return _euclidean(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        moved = np.moveaxis(x, axes, (-2, -1))
        if ord == 2:
            out = spectral_norm(moved)
        else:
            values = svdvals(moved)
            out = values[..., -1] if ord == -2 else np.sum(values, axis=-1)
        return np.expand_dims(out, tuple(sorted(axes))) if keepdims else out
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid norm order {ord!r} for matrices: None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.")
    summed, rest = axes if abs(ord) == 1 else axes[::-1]
    sums = np.sum(np.abs(x), axis=summed, keepdims=True)
    out = (np.max if ord > 0 else np.min)(sums, axis=rest, keepdims=True)
    return out if keepdims else np.squeeze(out, axis=axes)


def cond(x: Any, p: Any = None) -> Any:
    """numpy.linalg.cond."""
    x = _floating(x)
    if x.ndim < 2 or not x.size:
        raise np.linalg.LinAlgError(f"cond is not defined for shape {x.shape}")
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return norm(x, p, axis=(-2, -1)) * norm(np.linalg.inv(x), p, axis=(-2, -1))
