"""Rules of putting arrays together: concatenate, stack, and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import one_axis, refuse_out
from core.autodiff.tensor import apply, arrayed


def _concatenate(*rest: Any) -> Any:
    *arrays, axis, _ = rest
    return np.concatenate(arrays, axis=axis)


def _concatenate_rule(i: int, g: Any, out: Any, *rest: Any) -> Any:
    axis, bounds = rest[-2:]
    return g[(slice(None),) * axis + (slice(bounds[i], bounds[i + 1]),)]


CONCATENATE = Op("concatenate", _concatenate, _concatenate_rule, keeps_inputs=False)


def _arrays(arrays: Any) -> list[Any]:
    return [arrayed(a) for a in arrays]


def _cast(parts: list[Any], out: Any, dtype: Any, casting: Any) -> list[Any]:
    """The parts in the wanted type."""
    refuse_out("concatenate", out)
    if dtype is None:
        return parts
    rule: Any = "same_kind" if casting is None else casting
    for p in parts:
        if not np.can_cast(p.dtype, dtype, rule):
            raise TypeError(f"concatenate: {p.dtype} cannot be cast to {np.dtype(dtype)} by the rule {rule!r}")
    return [p.astype(dtype) for p in parts]


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.concatenate."""
    parts = _cast(_arrays(arrays), out, dtype, casting)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if parts[0].ndim == 0:
        raise ValueError("arrays without axes cannot be concatenated: use np.stack")
    along = one_axis(axis, parts[0].ndim)
    bounds = [0]
    for p in parts:
        if p.ndim != parts[0].ndim:
            raise ValueError(f"concatenate needs the same number of axes: {[q.shape for q in parts]}")
        bounds.append(bounds[-1] + p.shape[along])
    return apply(CONCATENATE, tuple(parts), (along, tuple(bounds)))


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.stack."""
    parts = _cast(_arrays(arrays), out, dtype, casting)
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({p.shape for p in parts}) != 1:
        raise ValueError(f"stack needs equal shapes, not {[p.shape for p in parts]}")
    return concatenate([np.expand_dims(p, axis) for p in parts], axis)


def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.vstack."""
    return concatenate([np.atleast_2d(p) for p in _arrays(tup)], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """numpy.hstack."""
    parts = [np.atleast_1d(p) for p in _arrays(tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """numpy.dstack."""
    return concatenate([np.atleast_3d(p) for p in _arrays(tup)], 2)


def column_stack(tup: Any) -> Any:
    """numpy.column_stack."""
    return concatenate([p if p.ndim > 1 else np.reshape(p, (-1, 1)) for p in _arrays(tup)], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """numpy.append."""
    return concatenate([arr, values], axis)


def block(arrays: Any) -> Any:
    """numpy.block: nested lists are joined along the last axis, the lists around them along the ones before."""
    depth = _depth(arrays)
    most = max([depth, *(p.ndim for p in _leaves(arrays))])
    return _joined(arrays, depth, most)


def _leaves(arrays: Any) -> list[Any]:
    return [p for a in arrays for p in _leaves(a)] if isinstance(arrays, list) else [arrayed(arrays)]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        raise ValueError("numpy.block: the lists must be nested equally deep, and not be empty")
    return 1 + depths.pop()


def _joined(arrays: Any, depth: int, most: int) -> Any:
    if depth == 0:
        part = arrayed(arrays)
        return np.reshape(part, (1,) * (most - part.ndim) + part.shape)
    return concatenate([_joined(a, depth - 1, most) for a in arrays], axis=-depth)
