"""Rules of numpy.linalg: inv, det, slogdet, solve, norm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import normalise
from core.autodiff.rules.broadcasting import sum_to
from core.autodiff.rules.reductions import ROOT
from core.autodiff.rules.spectral import spectral_norm
from core.autodiff.tensor import Tensor, apply


def _swap(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def _wide(g: Any) -> Any:
    return np.expand_dims(np.expand_dims(g, -1), -1)


INV = Op(
    "linalg.inv", np.linalg.inv, (lambda g, o, x: -(_swap(o) @ g @ _swap(o)),), keeps_inputs=False, keeps_output=True
)


def _det_rule(g: Any, out: Any, x: Any) -> Any:
    return _wide(g) * _cofactors(x)


def _cofactors(x: Any) -> Any:
    """The matrix of cofactors, d det(x) / dx; exact for singular matrices too, because it does not divide."""
    n = x.shape[-1]
    if n == 1:
        return x * 0 + 1
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            keep_i = [k for k in range(n) if k != i]
            keep_j = [k for k in range(n) if k != j]
            minor = x[..., keep_i, :][..., keep_j]
            row.append((-1) ** (i + j) * np.linalg.det(minor))
        rows.append(np.stack(row, axis=-1))
    return np.stack(rows, axis=-2)


DET = Op("linalg.det", np.linalg.det, (_det_rule,))
LOGDET = Op(
    "linalg.slogdet",
    lambda x: np.linalg.slogdet(x).logabsdet,
    (lambda g, o, x: _wide(g) * _swap(np.linalg.inv(x)),),
    unbounded=True,
)
SIGNDET = Op(
    "linalg.slogdet (sign)", lambda x: np.linalg.slogdet(x).sign, (lambda g, o, x: np.zeros(x.shape, x.dtype),)
)


class SlogdetResult(NamedTuple):
    """As numpy.linalg.slogdet returns it."""

    sign: Any
    logabsdet: Any


def slogdet(a: Any) -> SlogdetResult:
    """numpy.linalg.slogdet; the gradient of the sign is 0."""
    return SlogdetResult(apply(SIGNDET, (a,)), apply(LOGDET, (a,)))


def _solve_b(a: Any, g: Any, vector: bool) -> Any:
    at = _swap(a)
    return np.linalg.solve(at, np.expand_dims(g, -1))[..., 0] if vector else np.linalg.solve(at, g)


def _solve_left(g: Any, out: Any, a: Any, b: Any) -> Any:
    vector = b.ndim == 1
    gb = _solve_b(a, g, vector)
    if vector:
        return sum_to(-np.expand_dims(gb, -1) * np.expand_dims(out, -2), a.shape)
    return sum_to(-(gb @ _swap(out)), a.shape)


def _solve_right(g: Any, out: Any, a: Any, b: Any) -> Any:
    return sum_to(_solve_b(a, g, b.ndim == 1), b.shape)


SOLVE = Op("linalg.solve", np.linalg.solve, (_solve_left, _solve_right), keeps_output=True)


def inv(a: Any) -> Any:
    """numpy.linalg.inv."""
    return apply(INV, (a,))


def det(a: Any) -> Any:
    """numpy.linalg.det; right for singular matrices too."""
    return apply(DET, (a,))


def solve(a: Any, b: Any) -> Any:
    """numpy.linalg.solve: b with one axis is one right-hand side, with more a stack of matrices (numpy 2)."""
    a = a if isinstance(a, Tensor) else np.asarray(a)
    b = b if isinstance(b, Tensor) else np.asarray(b)
    return apply(SOLVE, (a, b))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """numpy.linalg.norm of orders 1, 2, inf, -inf, 0 < p, 'fro' for vectors; 'fro', 1, 2, inf for matrices.

    Gradient 0 at the zero vector (PyTorch; TensorFlow and JAX give nan there).
    """
    if isinstance(ord, str) and ord not in ("fro",):
        raise ValueError(f"the norm of order {ord!r} has no rule here: use 'fro', 1, 2, inf or a number")
    if axis is None and ord is not None and x.ndim == 2 and ord != "fro":
        axis = (0, 1)
    axes = normalise(axis, x.ndim)
    matrix = axes is not None and len(axes) == 2 and ord not in (None, "fro")
    if (axis is None and ord is None) or ord == "fro" or (not matrix and ord in (None, 2)):
        square = np.sum(x * x, axis=axis, keepdims=keepdims)
        return apply(ROOT, (square,))
    if matrix:
        assert axes is not None
        return _matrix_norm(x, ord, axes, keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), axis=axis, keepdims=keepdims)
    largest = np.max(np.abs(x), axis=axis, keepdims=True)
    return _p_norm(x, float(ord), axis, keepdims, largest)


def _p_norm(x: Any, p: float, axis: Any, keepdims: bool, largest: Any) -> Any:
    total = np.sum(np.abs(x) ** p, axis=axis, keepdims=keepdims)
    zero = total == 0
    return np.where(zero, 0.0, np.where(zero, 1.0, total) ** (1.0 / p)).astype(x.dtype)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    row, column = axes
    if ord == 2:
        out = spectral_norm(np.moveaxis(x, axes, (-2, -1)))
        return np.expand_dims(out, tuple(sorted(axes))) if keepdims else out
    if abs(ord) == 1:
        summed, rest = row, column
    elif abs(ord) == np.inf:
        summed, rest = column, row
    else:
        raise ValueError(f"the matrix norm of order {ord!r} has no rule here: use 'fro', 1, -1, 2, inf or -inf")
    sums = np.sum(np.abs(x), axis=summed, keepdims=True)
    out = (np.max if ord > 0 else np.min)(sums, axis=rest, keepdims=True)
    return out if keepdims else np.squeeze(out, axis=axes)
