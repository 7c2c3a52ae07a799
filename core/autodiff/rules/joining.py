"""Rules of putting arrays together: concatenate, stack, and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise
from core.autodiff.tensor import Tensor, apply


def _concatenate(*rest: Any) -> Any:
    *arrays, axis, _ = rest
    return np.concatenate(arrays, axis=axis)


def _concatenate_rule(i: int, g: Any, out: Any, *rest: Any) -> Any:
    axis, bounds = rest[-2:]
    return g[(slice(None),) * axis + (slice(bounds[i], bounds[i + 1]),)]


CONCATENATE = Op("concatenate", _concatenate, _concatenate_rule, keeps_inputs=False)


def _arrays(arrays: Any) -> list[Any]:
    return [a if isinstance(a, Tensor) else np.asarray(a) for a in arrays]


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.concatenate."""
    if out is not None or dtype is not None or casting is not None:
        raise TypeError("numpy.concatenate on tensors supports neither out=, dtype= nor casting=")
    parts = _arrays(arrays)
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    axes = normalise(axis, parts[0].ndim)
    if axes is None or parts[0].ndim == 0:
        raise ValueError("arrays without axes cannot be concatenated: use np.stack")
    bounds = [0]
    for p in parts:
        if p.ndim != parts[0].ndim:
            raise ValueError(f"concatenate needs the same number of axes: {[q.shape for q in parts]}")
        bounds.append(bounds[-1] + p.shape[axes[0]])
    return apply(CONCATENATE, tuple(parts), (axes[0], tuple(bounds)))


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.stack."""
    if out is not None or dtype is not None or casting is not None:
        raise TypeError("numpy.stack on tensors supports neither out=, dtype= nor casting=")
    parts = _arrays(arrays)
    if len({p.shape for p in parts}) != 1:
        raise ValueError(f"stack needs equal shapes, not {[p.shape for p in parts]}")
    return concatenate([np.expand_dims(p, axis) for p in parts], axis)


def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.vstack."""
    return concatenate([np.atleast_2d(p) for p in _arrays(tup)], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.hstack."""
    parts = [np.atleast_1d(p) for p in _arrays(tup)]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def column_stack(tup: Any) -> Any:
    """numpy.column_stack."""
    return concatenate([p if p.ndim > 1 else np.reshape(p, (-1, 1)) for p in _arrays(tup)], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """numpy.append."""
    return concatenate([arr, values], axis)
