"""Rules of what only moves entries: reshape, transpose, expand, squeeze, flip, roll, tile, repeat, astype."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise, one_axis
from core.autodiff.rules.broadcasting import expand
from core.autodiff.tensor import Tensor, apply, arrayed, operand, raw


def _reshape(x: Any, shape: Any, origin: Any) -> Any:
    out = x.reshape(shape)
    return out if shape else out[()]


RESHAPE = Op("reshape", _reshape, (lambda g, o, x, shape, origin: g.reshape(origin),), keeps_inputs=False, view=True)
TRANSPOSE = Op(
    "transpose",
    lambda x, axes: x.transpose(axes),
    (lambda g, o, x, axes: g.transpose(tuple(sorted(range(len(axes)), key=axes.__getitem__))),),
    keeps_inputs=False,
    view=True,
)
ASTYPE = Op(
    "astype",
    lambda x, dtype, origin: x.astype(dtype),
    (lambda g, o, x, dtype, origin: g.astype(origin),),
    keeps_inputs=False,
    elementwise=True,
)
ASTYPE_STOPS = Op("astype", lambda x, dtype, origin: x.astype(dtype))


def reshape(a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """numpy.reshape."""
    a = operand(a)
    wanted = newshape if shape is None else shape
    if isinstance(wanted, np.ndarray) and wanted.ndim:
        wanted = wanted.tolist()
    wanted = tuple(n.__index__() for n in wanted) if isinstance(wanted, (tuple, list)) else (wanted.__index__(),)
    if -1 in wanted:
        rest = 1
        for n in wanted:
            rest *= n if n != -1 else 1
        if wanted.count(-1) > 1 or rest == 0 or a.size % rest:
            raise ValueError(f"cannot reshape {a.shape} into {wanted}")
        wanted = tuple(a.size // rest if n == -1 else n for n in wanted)
    if order == "A":
        order = "F" if _fortran(a) else "C"
    if order == "F":  # the first axis varies fastest: as C order of the reversed axes
        return transpose(apply(RESHAPE, (transpose(a),), (wanted[::-1], a.shape[::-1])))
    if order != "C":
        raise ValueError(f"order must be one of 'C', 'F', 'A', not {order!r}")
    return apply(RESHAPE, (a,), (wanted, a.shape))


def _fortran(a: Any) -> bool:
    flags = np.asarray(raw(a)).flags
    return bool(flags.f_contiguous and not flags.c_contiguous)


def ravel(a: Any, order: Any = "C") -> Any:
    """numpy.ravel."""
    a = operand(a)
    if order == "K":  # in the order in which the entries lie in memory
        places = np.empty_like(np.asarray(raw(a)), dtype=np.intp)
        places[...] = _positions(a)
        return reshape(a, (a.size,))[places.ravel("K")] if not places.flags.c_contiguous else reshape(a, (a.size,))
    return reshape(a, (a.size,), order)


def transpose(a: Any, axes: Any = None) -> Any:
    """numpy.transpose."""
    order = tuple(reversed(range(a.ndim))) if axes is None else normalise(tuple(axes), a.ndim)
    if order is None or len(order) != a.ndim:
        raise ValueError(f"axes {axes} do not match an array with {a.ndim} axes")
    return apply(TRANSPOSE, (a,), (order,))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """numpy.swapaxes."""
    order = list(range(a.ndim))
    i, j = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    order[i], order[j] = j, i
    return transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """numpy.moveaxis."""
    taken, put = normalise(source, a.ndim), normalise(destination, a.ndim)
    assert taken is not None and put is not None
    if len(taken) != len(put):
        raise ValueError(f"moveaxis: {len(taken)} sources and {len(put)} destinations")
    order = [i for i in range(a.ndim) if i not in taken]
    for where, which in sorted(zip(put, taken, strict=True)):
        order.insert(where, which)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """numpy.rollaxis."""
    plain = list(range(a.ndim))
    plain.remove(axis % a.ndim)
    position = start % (a.ndim + 1) if start >= 0 else start % a.ndim
    plain.insert(position - 1 if axis % a.ndim < position else position, axis % a.ndim)
    return transpose(a, plain)


def expand_dims(a: Any, axis: Any) -> Any:
    """numpy.expand_dims."""
    number = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalise(axis, a.ndim + number)
    assert axes is not None
    lengths = iter(a.shape)
    return reshape(a, tuple(1 if i in axes else next(lengths) for i in range(a.ndim + number)))


def squeeze(a: Any, axis: Any = None) -> Any:
    """numpy.squeeze."""
    if axis is None:
        return reshape(a, tuple(n for n in a.shape if n != 1))
    axes = normalise(axis, a.ndim)
    assert axes is not None
    for i in axes:
        if a.shape[i] != 1:
            raise ValueError(f"cannot squeeze axis {i} of length {a.shape[i]} (shape {a.shape})")
    return reshape(a, tuple(n for i, n in enumerate(a.shape) if i not in axes))


def broadcast_to(a: Any, shape: Any, subok: bool = False) -> Any:
    """numpy.broadcast_to (the result is a real array)."""
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if np.broadcast_shapes(a.shape, wanted) != wanted:
        raise ValueError(f"shape {a.shape} cannot be broadcast to {wanted}")
    return expand(a, wanted)


def broadcast_arrays(*arrays: Any, subok: bool = False) -> Any:
    """numpy.broadcast_arrays."""
    parts = [arrayed(a) for a in arrays]
    shape = np.broadcast_shapes(*(np.shape(a) for a in parts))
    return tuple(np.broadcast_to(a, shape) for a in parts)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """numpy.meshgrid."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    order = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    where = [order.index(k) for k in range(n)]
    open_grid = tuple(
        np.reshape(operand(x), tuple(-1 if i == axis else 1 for i in range(n)))
        for x, axis in zip(xi, where, strict=True)
    )
    return open_grid if sparse else broadcast_arrays(*open_grid)


def _at_least(arrays: tuple[Any, ...], raised: Any) -> Any:
    out = tuple(raised(arrayed(a)) for a in arrays)
    return out[0] if len(out) == 1 else out


def atleast_1d(*arrays: Any) -> Any:
    """numpy.atleast_1d."""
    return _at_least(arrays, lambda a: a if a.ndim >= 1 else np.reshape(a, (1,)))


def atleast_2d(*arrays: Any) -> Any:
    """numpy.atleast_2d."""
    return _at_least(arrays, lambda a: a if a.ndim >= 2 else np.reshape(a, (1,) * (2 - a.ndim) + a.shape))


def atleast_3d(*arrays: Any) -> Any:
    """numpy.atleast_3d."""

    def raised(a: Any) -> Any:
        if a.ndim >= 3:
            return a
        return np.reshape(a, (*a.shape, 1) if a.ndim == 2 else (1, *a.shape, 1)[-3:] if a.ndim else (1, 1, 1))

    return _at_least(arrays, raised)


def flip(m: Any, axis: Any = None) -> Any:
    """numpy.flip."""
    axes = range(m.ndim) if axis is None else normalise(axis, m.ndim)
    assert axes is not None
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


def fliplr(m: Any) -> Any:
    """numpy.fliplr."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """numpy.flipud."""
    return flip(m, 0)


def _positions(a: Any) -> Any:
    return np.arange(a.size).reshape(a.shape)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """numpy.roll."""
    return reshape(a, (a.size,))[np.roll(_positions(a), shift, axis)]


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """numpy.rot90."""
    return reshape(m, (m.size,))[np.rot90(_positions(m), k, axes)]


def shifted(name: str) -> Any:
    """numpy.fft.fftshift or ifftshift, which only move entries."""
    shift = getattr(np.fft, name)

    def move(x: Any, axes: Any = None) -> Any:
        return reshape(x, (x.size,))[shift(_positions(x), axes)]

    return move


def tile(A: Any, reps: Any) -> Any:
    """numpy.tile."""
    return reshape(A, (A.size,))[np.tile(_positions(A), reps)]


def resize(a: Any, new_shape: Any) -> Any:
    """numpy.resize: as many entries as asked for, over and over."""
    a = arrayed(a)
    if not a.size:
        raise ValueError(f"numpy.resize of no entries: shape {a.shape}")
    return reshape(a, (a.size,))[np.resize(_positions(a), new_shape)]


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """numpy.repeat."""
    if axis is None:
        a, axis = ravel(a), 0
    if isinstance(repeats, Tensor):
        repeats = repeats.numpy()
    return np.take(a, np.repeat(np.arange(a.shape[axis]), repeats), axis=axis)


def astype(a: Any, dtype: Any) -> Any:
    """``a`` converted; the gradient passes between floating types only."""
    if dtype == a.dtype:
        return a
    op = ASTYPE if is_floating(dtype) and is_floating(a.dtype) else ASTYPE_STOPS
    return apply(op, (a,), (dtype, a.dtype))
