"""Rules of taking entries out and putting them back: indexing of every kind, take, diagonals, sort, split."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16
from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise
from core.autodiff.tensor import Tensor, apply


class _Slot:
    """Stands in an index for an array that is an argument of the operation (so that it can change)."""

    def __repr__(self) -> str:
        return "<index array>"


SLOT = _Slot()


def _filled(template: Any, arrays: tuple[Any, ...]) -> Any:
    """The index with the argument arrays put in."""
    rest = iter(arrays)
    return tuple(next(rest) if part is SLOT else part for part in template)


def _is_basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or (isinstance(part, (slice, int, np.integer)) and not isinstance(part, bool))
        for part in parts
    )


def _getitem(x: Any, index: Any, shape: Any) -> Any:
    out = x[index]
    return out if out.ndim else out[()]


def _scatter(g: Any, index: Any, shape: Any) -> Any:
    """Zeros of ``shape`` with g added at the index; entries named several times add up. Never gives -0.0."""
    if type(index) is int or _is_basic(index):
        out = np.zeros(shape, dtype=g.dtype)
        out[index] += g
        return out
    size = int(np.prod(shape))
    where = np.arange(size).reshape(shape)[index]
    if g.dtype == np.float64 and where.size:  # (without entries bincount forgets the type of its weights)
        return np.bincount(where.ravel(), weights=g.ravel(), minlength=size).reshape(shape)
    out = np.zeros(size, dtype=np.float32 if g.dtype in (np.float16, BFLOAT16) else g.dtype)
    np.add.at(out, where.ravel(), g.ravel())
    return out.reshape(shape).astype(g.dtype)


def _getitem_rule(g: Any, out: Any, x: Any, index: Any, shape: Any) -> Any:
    return apply(SCATTER, (g,), (index, shape)) if isinstance(g, Tensor) else _scatter(g, index, shape)


def _add_at(total: Any, g: Any, index: Any, shape: Any) -> bool:
    """Add to a buffer that _scatter made: the same bits as adding a second one, because it holds no -0.0."""
    if isinstance(total, np.ndarray) and (type(index) is int or _is_basic(index)):
        total[index] += g
        return True
    return False


# an index known beforehand
GETITEM = Op("getitem", _getitem, (_getitem_rule,), keeps_inputs=False, selects=True, view=True, add_to=_add_at)
SCATTER = Op(
    "scatter",
    _scatter,
    (lambda g, o, x, index, shape: apply(GETITEM, (g,), (index, shape)),),
    keeps_inputs=False,
)


def _gather(x: Any, *rest: Any) -> Any:
    *arrays, template, shape = rest
    return _getitem(x, _filled(template, tuple(arrays)), shape)


def _spread(g: Any, *rest: Any) -> Any:
    *arrays, template, shape = rest
    return _scatter(g, _filled(template, tuple(arrays)), shape)


# an index with arrays that are tensors: arguments of the operation, so that they can change in compiled programs
GATHER = Op("getitem", _gather, lambda *given: _gather_rule(*given), selects=True, view=True)
SPREAD = Op("scatter", _spread, lambda *given: _spread_rule(*given))


def _gather_rule(i: int, g: Any, out: Any, x: Any, *rest: Any) -> Any:
    return apply(SPREAD, (g, *rest[:-2]), rest[-2:]) if i == 0 else None


def _spread_rule(i: int, g: Any, out: Any, x: Any, *rest: Any) -> Any:
    return apply(GATHER, (g, *rest[:-2]), rest[-2:]) if i == 0 else None


def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` for every kind of index numpy knows; index arrays may be integer or boolean tensors."""
    if type(index) is int or type(index) is slice:
        return apply(GETITEM, (x,), (index, x.shape))
    parts = index if isinstance(index, tuple) else (index,)
    arrays: list[Any] = []
    template: list[Any] = []
    for part in parts:
        if isinstance(part, Tensor):
            arrays.append(part)
            template.append(SLOT)
        elif isinstance(part, list):
            template.append(np.asarray(part) if part else np.empty(0, dtype=np.intp))
        else:
            template.append(part)
    if arrays:
        return apply(GATHER, (x, *arrays), (tuple(template), x.shape))
    return apply(GETITEM, (x,), (tuple(template) if isinstance(index, tuple) else template[0], x.shape))


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """numpy.take."""
    if out is not None or mode != "raise":
        raise TypeError("numpy.take on tensors supports neither out= nor mode=")
    if not isinstance(indices, Tensor):
        indices = np.asarray(indices)
    if axis is None:
        return getitem(np.ravel(a), indices)
    axes = normalise(axis, a.ndim)
    assert axes is not None
    return getitem(a, (slice(None),) * axes[0] + (indices,))


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """numpy.take_along_axis."""
    if axis is None:
        return getitem(np.ravel(arr), indices)
    axes = normalise(axis, arr.ndim)
    assert axes is not None
    index: list[Any] = []
    for i, n in enumerate(arr.shape):
        along = [1] * arr.ndim
        along[i] = n
        index.append(indices if i == axes[0] else np.arange(n).reshape(along))
    return getitem(arr, tuple(index))


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """numpy.sort; the gradient goes back the way the entries came (equal entries keep their order)."""
    if order is not None:
        raise TypeError("numpy.sort on tensors does not support order=")
    if axis is None:
        a, axis = np.ravel(a), -1
    return take_along_axis(a, np.argsort(a, axis=axis, kind="stable"), axis)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """numpy.diagonal."""
    moved = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = _diagonal_indices(moved.shape[-2], moved.shape[-1], offset)
    return moved[..., rows, columns]


def _diagonal_indices(rows: int, columns: int, offset: int) -> tuple[Any, Any]:
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return np.arange(length) + max(-offset, 0), np.arange(length) + max(offset, 0)


def diag(v: Any, k: int = 0) -> Any:
    """numpy.diag: the diagonal of a matrix, or a matrix with this diagonal."""
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"numpy.diag takes one or two axes, not {v.ndim}")
    n = v.shape[0] + abs(k)
    return apply(SCATTER, (v,), (_diagonal_indices(n, n, k), (n, n)))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """numpy.trace."""
    if dtype is not None or out is not None:
        raise TypeError("numpy.trace on tensors supports neither dtype= nor out=")
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


def triu(m: Any, k: int = 0) -> Any:
    """numpy.triu."""
    return np.where(np.tri(m.shape[-2], m.shape[-1], k - 1, dtype=bool), m.dtype.type(0), m)


def tril(m: Any, k: int = 0) -> Any:
    """numpy.tril."""
    return np.where(np.tri(m.shape[-2], m.shape[-1], k, dtype=bool), m, m.dtype.type(0))


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """numpy.diff."""
    if prepend is not None or append is not None:
        raise TypeError("numpy.diff on tensors supports neither prepend= nor append=: use np.concatenate first")
    axes = normalise(axis, a.ndim)
    assert axes is not None
    before = (slice(None),) * axes[0]
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """numpy.split."""
    if isinstance(indices_or_sections, (int, np.integer)) and ary.shape[axis] % indices_or_sections:
        raise ValueError(f"axis {axis} of length {ary.shape[axis]} has no {indices_or_sections} equal parts")
    return array_split(ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """numpy.array_split."""
    axes = normalise(axis, ary.ndim)
    assert axes is not None
    n = ary.shape[axes[0]]
    if isinstance(indices_or_sections, (int, np.integer)):
        each, more = divmod(n, int(indices_or_sections))
        bounds = np.cumsum([0] + [each + 1] * more + [each] * (int(indices_or_sections) - more)).tolist()
    else:
        bounds = [0, *[int(i) for i in indices_or_sections], n]
    before = (slice(None),) * axes[0]
    return [ary[(*before, slice(start, stop))] for start, stop in itertools.pairwise(bounds)]
