"""Rules of matrix products: matmul (batched, broadcast), dot, inner, outer, tensordot, kron, cross."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16, refuse_complex
from core.autodiff.operation import Op
from core.autodiff.rules.axes import one_axis, refuse_out
from core.autodiff.rules.broadcasting import sum_to
from core.autodiff.tensor import arrayed


def _matmul(x: Any, y: Any) -> Any:
    out = operator.matmul(x, y)
    # numpy multiplies bfloat16 matrices into float32; the result is stored as the operands are
    return out.astype(BFLOAT16) if x.dtype is BFLOAT16 and y.dtype is BFLOAT16 else out


def _swap(a: Any) -> Any:
    return a.T if a.ndim == 2 else np.swapaxes(a, -1, -2)


def _left(g: Any, out: Any, x: Any, y: Any) -> Any:
    dx, dy = x.ndim, y.ndim
    if dy == 2 and dx >= 1:
        return g @ y.T
    if dy == 1:
        return g * y if dx == 1 else g.reshape((*g.shape, 1)) * y
    if dx == 1:  # g (..., m), y (..., k, m)
        return sum_to(np.sum(y * np.expand_dims(g, -2), axis=-1), x.shape)
    return sum_to(g @ _swap(y), x.shape)


def _right(g: Any, out: Any, x: Any, y: Any) -> Any:
    dx, dy = x.ndim, y.ndim
    if dx == 2 and dy <= 2:
        return x.T @ g
    if dx == 1:
        if dy == 1:
            return g * x
        column = x.reshape((-1, 1))
        return column * (g if dy == 2 else np.expand_dims(g, -2))
    if dy == 1:  # x (..., n, k), g (..., n)
        return sum_to(np.sum(x * np.expand_dims(g, -1), axis=-2), y.shape)
    if dy == 2:  # one product over all rows of the batch
        return x.reshape((-1, x.shape[-1])).T @ g.reshape((-1, g.shape[-1]))
    return sum_to(_swap(x) @ g, y.shape)


MATMUL = Op("matmul", _matmul, (_left, _right), infix="@", ufunc=np.matmul)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """numpy.dot."""
    refuse_out("dot", out)
    x, y = arrayed(a), arrayed(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2 and x.ndim <= 2:
        return x @ y
    return tensordot(x, y, ((x.ndim - 1,), (max(0, y.ndim - 2),)))


def inner(a: Any, b: Any) -> Any:
    """numpy.inner."""
    x, y = arrayed(a), arrayed(b)
    return x * y if x.ndim == 0 or y.ndim == 0 else tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,)))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """numpy.outer."""
    refuse_out("outer", out)
    return np.reshape(arrayed(a), (-1, 1)) * np.reshape(arrayed(b), (1, -1))


def outer_of_vectors(a: Any, b: Any, /) -> Any:
    """numpy.linalg.outer: of vectors only."""
    x, y = arrayed(a), arrayed(b)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return outer(x, y)


def vdot(a: Any, b: Any) -> Any:
    """numpy.vdot (real numbers)."""
    x = np.ravel(arrayed(a))
    refuse_complex(x, "vdot")
    return x @ np.ravel(arrayed(b))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """numpy.tensordot: by transposing and reshaping to one matrix product."""
    x, y = arrayed(a), arrayed(b)
    if np.ndim(axes) == 0:
        number = operator.index(axes)
        left, right = list(range(x.ndim - number, x.ndim)), list(range(number))
        if number > min(x.ndim, y.ndim):
            raise ValueError(f"tensordot over {number} axes of arrays with shapes {x.shape} and {y.shape}")
    else:
        left, right = ([one_axis(i, z.ndim) for i in _listed(part)] for part, z in zip(axes, (x, y), strict=True))
    if [x.shape[i] for i in left] != [y.shape[i] for i in right]:
        raise ValueError(f"tensordot: shapes {x.shape} and {y.shape} do not match over axes {axes}")
    free_x = [i for i in range(x.ndim) if i not in left]
    free_y = [i for i in range(y.ndim) if i not in right]
    rows, columns = [x.shape[i] for i in free_x], [y.shape[i] for i in free_y]
    inside = math.prod(x.shape[i] for i in left)
    flat_x = np.reshape(np.transpose(x, free_x + left), (math.prod(rows), inside))
    flat_y = np.reshape(np.transpose(y, right + free_y), (inside, math.prod(columns)))
    return np.reshape(flat_x @ flat_y, (*rows, *columns))


def _listed(part: Any) -> list[Any]:
    return list(part) if np.ndim(part) else [part]


def kron(a: Any, b: Any) -> Any:
    """numpy.kron."""
    x, y = arrayed(a), arrayed(b)
    n = max(x.ndim, y.ndim)
    left, right = (np.reshape(z, (1,) * (n - z.ndim) + z.shape) for z in (x, y))
    product = np.reshape(left, [k for m in left.shape for k in (m, 1)]) * np.reshape(
        right, [k for m in right.shape for k in (1, m)]
    )
    return np.reshape(product, tuple(i * j for i, j in zip(left.shape, right.shape, strict=True)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """numpy.cross of vectors with three entries."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = arrayed(a), arrayed(b)
    x = np.moveaxis(x, one_axis(axisa, x.ndim), -1)
    y = np.moveaxis(y, one_axis(axisb, y.ndim), -1)
    if x.shape[-1:] == (2,) == y.shape[-1:]:  # numpy 2: deprecated, only the third entry
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {x.shape[-1]} and "
            f"{y.shape[-1]} dimensional instead."
        )
    one, two = [1, 2, 0], [2, 0, 1]
    out = x[..., one] * y[..., two] - x[..., two] * y[..., one]
    return np.moveaxis(out, -1, axisc)


def vecdot(a: Any, b: Any, *, axis: int = -1) -> Any:
    """numpy.vecdot (real numbers)."""
    x, y = (np.moveaxis(z, one_axis(axis, z.ndim), -1) for z in (arrayed(a), arrayed(b)))
    refuse_complex(x, "vecdot")
    return np.squeeze(np.expand_dims(x, -2) @ np.expand_dims(y, -1), (-2, -1))


def matvec(a: Any, b: Any) -> Any:
    """numpy.matvec: a stack of matrices times a stack of vectors."""
    return np.squeeze(arrayed(a) @ np.expand_dims(arrayed(b), -1), -1)


def vecmat(a: Any, b: Any) -> Any:
    """numpy.vecmat: a stack of vectors times a stack of matrices (real numbers)."""
    x = arrayed(a)
    refuse_complex(x, "vecmat")
    return np.squeeze(np.expand_dims(x, -2) @ arrayed(b), -2)
