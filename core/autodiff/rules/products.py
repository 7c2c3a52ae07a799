"""Rules of matrix products: matmul (batched, broadcast), dot, inner, outer, tensordot, einsum."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16
from core.autodiff.operation import Op
from core.autodiff.rules.broadcasting import sum_to
from core.autodiff.tensor import Tensor, apply


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
    if out is not None:
        raise TypeError("numpy.dot on tensors does not support out=")
    x = a if isinstance(a, Tensor) else np.asarray(a)
    y = b if isinstance(b, Tensor) else np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2 and x.ndim <= 2:
        return x @ y
    return tensordot(x, y, ((x.ndim - 1,), (max(0, y.ndim - 2),)))


def inner(a: Any, b: Any) -> Any:
    """numpy.inner."""
    x = a if isinstance(a, Tensor) else np.asarray(a)
    y = b if isinstance(b, Tensor) else np.asarray(b)
    return x * y if x.ndim == 0 or y.ndim == 0 else tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,)))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """numpy.outer."""
    if out is not None:
        raise TypeError("numpy.outer on tensors does not support out=")
    return np.reshape(_as(a), (-1, 1)) * np.reshape(_as(b), (1, -1))


def vdot(a: Any, b: Any) -> Any:
    """numpy.vdot (real numbers)."""
    return np.ravel(_as(a)) @ np.ravel(_as(b))


def _as(a: Any) -> Any:
    return a if isinstance(a, Tensor) else np.asarray(a)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """numpy.tensordot: by transposing and reshaping to one matrix product."""
    x, y = _as(a), _as(b)
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(x.ndim - int(axes), x.ndim)), list(range(int(axes)))
    else:
        left, right = ([int(i) for i in np.atleast_1d(part)] for part in axes)
    left, right = [i % x.ndim for i in left], [i % y.ndim for i in right]
    if [x.shape[i] for i in left] != [y.shape[i] for i in right]:
        raise ValueError(f"tensordot: shapes {x.shape} and {y.shape} do not match over axes {axes}")
    free_x = [i for i in range(x.ndim) if i not in left]
    free_y = [i for i in range(y.ndim) if i not in right]
    inside = int(np.prod([x.shape[i] for i in left]))
    flat_x = np.reshape(np.transpose(x, free_x + left), (-1, inside))
    flat_y = np.reshape(np.transpose(y, right + free_y), (inside, -1))
    return np.reshape(flat_x @ flat_y, tuple(x.shape[i] for i in free_x) + tuple(y.shape[i] for i in free_y))


def kron(a: Any, b: Any) -> Any:
    """numpy.kron."""
    x, y = _as(a), _as(b)
    n = max(x.ndim, y.ndim)
    left, right = (np.reshape(z, (1,) * (n - z.ndim) + z.shape) for z in (x, y))
    product = np.reshape(left, [k for m in left.shape for k in (m, 1)]) * np.reshape(
        right, [k for m in right.shape for k in (1, m)]
    )
    return np.reshape(product, tuple(i * j for i, j in zip(left.shape, right.shape, strict=True)))


def cross(a: Any, b: Any) -> Any:
    """numpy.cross of vectors with three entries along the last axis."""
    x, y = _as(a), _as(b)
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        raise ValueError(f"numpy.cross on tensors needs three entries along the last axis: {x.shape}, {y.shape}")
    one, two = [1, 2, 0], [2, 0, 1]
    return x[..., one] * y[..., two] - x[..., two] * y[..., one]


def _einsum(*rest: Any) -> Any:
    *arrays, inputs, output, _ = rest
    out = np.einsum(",".join(inputs) + "->" + output, *arrays)
    return out if out.ndim else out[()]


def _einsum_rule(i: int, g: Any, out: Any, *rest: Any) -> Any:
    *arrays, inputs, output, shapes = rest
    mine, others = inputs[i], [s for k, s in enumerate(inputs) if k != i]
    known = set(output).union(*others)
    once = "".join(dict.fromkeys(mine))
    factors = [a for k, a in enumerate(arrays) if k != i]
    subscripts = [output, *others]
    operands = [g, *factors]
    sizes = dict(zip(mine, shapes[i], strict=True))
    for letter in once:  # an index that was summed over in this operand alone: the gradient repeats along it
        if letter not in known:
            subscripts.append(letter)
            operands.append(np.ones(sizes[letter], dtype=g.dtype))
    found = np.einsum(",".join(subscripts) + "->" + once, *operands)
    if once != mine:  # a repeated index ('ii'): the gradient lies on the diagonal
        same = np.ones(shapes[i], dtype=g.dtype)
        for axis, letter in enumerate(mine):
            first = mine.index(letter)
            if first != axis:
                n = sizes[letter]
                along = [1] * len(mine)
                along[first], along[axis] = n, n
                same = same * np.eye(n, dtype=g.dtype).reshape(along)
        spread = [sizes[letter] if mine.index(letter) == axis else 1 for axis, letter in enumerate(mine)]
        found = np.reshape(found, tuple(spread)) * same
    return found


EINSUM = Op("einsum", _einsum, _einsum_rule)


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    """numpy.einsum with a text of subscripts (with or without '->', ellipses, repeated indices)."""
    if out is not None or options:
        raise TypeError("numpy.einsum on tensors supports neither out= nor dtype=, order=, casting=")
    if not operands or not isinstance(operands[0], str):
        raise TypeError("numpy.einsum on tensors takes the subscripts as text: einsum('ij,jk->ik', a, b)")
    arrays = [_as(a) for a in operands[1:]]
    inputs, output = _subscripts(operands[0].replace(" ", ""), [a.ndim for a in arrays])
    return apply(EINSUM, tuple(arrays), (inputs, output, tuple(a.shape for a in arrays)))


def _subscripts(text: str, ndims: list[int]) -> tuple[tuple[str, ...], str]:
    """The subscripts of each operand and of the result, with ellipses written out and '->' filled in."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise ValueError(f"einsum: {len(parts)} subscripts for {len(ndims)} operands")
    free = [c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in text]
    most = max((n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p), default=0)
    dots = "".join(free[:most])
    inputs = []
    for part, n in zip(parts, ndims, strict=True):
        if "..." in part:
            number = n - len(part.replace("...", ""))
            part = part.replace("...", dots[most - number :])
        if len(part) != n:
            raise ValueError(f"einsum: subscripts {part!r} for an operand with {n} axes")
        inputs.append(part)
    if arrow:
        output = right.replace("...", dots)
    else:
        every = "".join(inputs)
        output = dots + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in dots))
    return tuple(inputs), output
