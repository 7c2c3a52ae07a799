"""Rules of taking entries out and putting them back: indexing of every kind, take, diagonals, sort, split."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16
from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise, one_axis, refuse_out
from core.autodiff.tensor import Tensor, apply, arrayed


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
    if isinstance(index, tuple) and not index:
        index = Ellipsis
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


def plain_index(index: Any, name: str) -> Any:
    """An index that decides the shape of the result, as plain numbers (compiled programs cannot follow that)."""
    if not isinstance(index, Tensor):
        return index
    index._leaves(f"numpy.{name}, where the shape of the result depends on values,", decides=True)
    return np.asarray(index._value)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """numpy.take."""
    refuse_out("take", out)
    a = arrayed(a)
    if not isinstance(indices, Tensor):
        indices = np.asarray(indices)
        if not indices.size and indices.dtype.kind == "f":
            indices = indices.astype(np.intp)
    if indices.dtype.kind == "b":
        indices = indices.astype(np.intp)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"numpy.take needs whole numbers as indices, not {indices.dtype}")
    if axis is None or a.ndim == 0:
        a, axis = np.ravel(a), 0
    number = one_axis(axis, a.ndim)
    n = a.shape[number]
    if mode in ("wrap", "clip"):
        indices = indices % n if mode == "wrap" else np.clip(indices, 0, n - 1)
    elif mode != "raise":
        raise ValueError(f"numpy.take: mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    return getitem(a, (slice(None),) * number + (indices,))


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
    if a.ndim == 0 and axis is not None:
        raise np.exceptions.AxisError(axis, 0)
    if axis is None:
        a, axis = np.ravel(a), -1
    return take_along_axis(a, np.argsort(a, axis=axis, kind="stable"), axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """numpy.partition; the gradient goes back the way the entries came."""
    if order is not None:
        raise TypeError("numpy.partition on tensors does not support order=")
    if axis is None:
        a, axis = np.ravel(a), -1
    return take_along_axis(a, np.argpartition(a, kth, axis=axis, kind=kind), axis)


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
    refuse_out("trace", out)
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def triu(m: Any, k: int = 0) -> Any:
    """numpy.triu."""
    m = _matrix(m)
    return np.where(np.tri(m.shape[-2], m.shape[-1], k - 1, dtype=bool), m.dtype.type(0), m)


def tril(m: Any, k: int = 0) -> Any:
    """numpy.tril."""
    m = _matrix(m)
    return np.where(np.tri(m.shape[-2], m.shape[-1], k, dtype=bool), m, m.dtype.type(0))


def _matrix(m: Any) -> Any:
    """One axis stands for equal rows, as in numpy."""
    if m.ndim == 0:
        raise TypeError("a triangle needs an array with axes")
    return np.broadcast_to(m, (len(m), len(m))) if m.ndim == 1 else m


def diagflat(v: Any, k: int = 0) -> Any:
    """numpy.diagflat."""
    return diag(np.ravel(v), k)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """numpy.diff."""
    a = arrayed(a)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    number = one_axis(axis, a.ndim)
    one = (*a.shape[:number], 1, *a.shape[number + 1 :])
    parts = [a if p is a else arrayed(p) for p in (prepend, a, append) if p is not None]
    if len(parts) > 1:
        a = np.concatenate([np.broadcast_to(p, one) if np.ndim(p) == 0 else p for p in parts], axis=number)
    before = (slice(None),) * number
    for _ in range(n):
        later, earlier = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = later != earlier if a.dtype.kind == "b" else later - earlier
    return a


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """numpy.split."""
    one_axis(axis, ary.ndim)
    if (
        isinstance(indices_or_sections, (int, np.integer))
        and indices_or_sections > 0
        and ary.shape[axis] % indices_or_sections
    ):
        raise ValueError(f"axis {axis} of length {ary.shape[axis]} has no {indices_or_sections} equal parts")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """numpy.vsplit."""
    return _split_axis("vsplit", ary, indices_or_sections, 0, 2)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """numpy.hsplit."""
    return _split_axis("hsplit", ary, indices_or_sections, min(1, ary.ndim - 1), 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """numpy.dsplit."""
    return _split_axis("dsplit", ary, indices_or_sections, 2, 3)


def _split_axis(name: str, ary: Any, indices_or_sections: Any, axis: int, least: int) -> list[Any]:
    if ary.ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
    return split(ary, indices_or_sections, axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """numpy.unstack."""
    if x.ndim == 0:
        raise ValueError("a single number cannot be unstacked")
    before = (slice(None),) * one_axis(axis, x.ndim)
    return tuple(x[(*before, i)] for i in range(x.shape[axis]))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """numpy.array_split."""
    if isinstance(indices_or_sections, (int, np.integer)) and indices_or_sections <= 0:
        raise ValueError("number sections must be larger than 0.")
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
