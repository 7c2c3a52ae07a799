"""Rules of numpy.linalg: inv, det, slogdet, solve, and what is put together from them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import refuse_out
from core.autodiff.rules.broadcasting import sum_to
from core.autodiff.tensor import apply, arrayed


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
    if n <= 1:
        return np.ones(x.shape, x.dtype)
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
    a = _floating(a)
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
    return apply(INV, (_floating(a),))


def det(a: Any) -> Any:
    """numpy.linalg.det; right for singular matrices too."""
    return apply(DET, (_floating(a),))


def solve(a: Any, b: Any) -> Any:
    """numpy.linalg.solve: b with one axis is one right-hand side, with more a stack of matrices (numpy 2)."""
    return apply(SOLVE, (_floating(a), _floating(b)))


def _floating(a: Any) -> Any:
    """Whole numbers as floats, as numpy.linalg takes them."""
    a = arrayed(a)
    return a if a.dtype.kind not in "biu" else a.astype(np.float64)


def matrix_power(a: Any, n: Any) -> Any:
    """numpy.linalg.matrix_power, by repeated squaring."""
    a = arrayed(a)
    _check_square(a)
    n = n.__index__()
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape) + a * 0
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 3:
        return (a @ a) @ a
    power: Any = a
    result: Any = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else result @ power
        if n:
            power = power @ power
    return np.copy(result)


def _check_square(a: Any) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given, or last two axes not equal: shape {a.shape}")


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """numpy.linalg.multi_dot: in the order that needs the fewest multiplications."""
    refuse_out("linalg.multi_dot", out)
    parts = [arrayed(a) for a in arrays]
    if len(parts) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    if first:
        parts[0] = np.expand_dims(parts[0], 0)
    if last:
        parts[-1] = np.expand_dims(parts[-1], 1)
    sizes = [p.shape[0] for p in parts] + [parts[-1].shape[1]]
    best: dict[tuple[int, int], tuple[int, int]] = {}  # from part i to j: cost, and where to cut

    def cost(i: int, j: int) -> int:
        if i == j:
            return 0
        if (i, j) not in best:
            best[i, j] = min(
                (cost(i, k) + cost(k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
        return best[i, j][0]

    def product(i: int, j: int) -> Any:
        cost(i, j)
        return parts[i] if i == j else product(i, best[i, j][1]) @ product(best[i, j][1] + 1, j)

    found = product(0, len(parts) - 1)
    if first and last:
        return found[0, 0]
    return found[0] if first else found[:, 0] if last else found


def tensorinv(a: Any, ind: int = 2) -> Any:
    """numpy.linalg.tensorinv."""
    a = arrayed(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = math.prod(a.shape[:ind])
    flat = np.linalg.inv(np.reshape(a, (rows, a.size // max(rows, 1))))
    return np.reshape(flat, a.shape[ind:] + a.shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """numpy.linalg.tensorsolve."""
    a, b = arrayed(a), arrayed(b)
    if axes is not None:
        moved = list(range(a.ndim))
        for k in axes:
            moved.remove(k)
            moved.append(k)
        a = np.transpose(a, moved)
    shape = a.shape[b.ndim :]
    n = math.prod(shape)
    if a.size != n**2:
        raise np.linalg.LinAlgError(f"tensorsolve: an array of shape {a.shape} is no square map")
    return np.reshape(np.linalg.solve(np.reshape(a, (n, n)), np.ravel(b)), shape)
