"""Rules of matrix decompositions (cholesky, eigh, svd, qr) and of pinv and lstsq, to any order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.autodiff.dtypes import limits
from core.autodiff.operation import Op
from core.autodiff.rules.axes import refuse
from core.autodiff.rules.indexing import plain_index
from core.autodiff.tensor import apply, arrayed


class EighResult(NamedTuple):
    """As numpy.linalg.eigh returns it."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """As numpy.linalg.svd returns it."""

    U: Any
    S: Any
    Vh: Any


class QRResult(NamedTuple):
    """As numpy.linalg.qr returns it."""

    Q: Any
    R: Any


def _swap(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def _matrices(a: Any) -> Any:
    a = arrayed(a)
    return a if a.dtype.kind not in "biu" else a.astype(np.float64)


def _of_columns(v: Any) -> Any:
    return np.expand_dims(v, -2)


def _differences(s: Any) -> Any:
    """``1 / (s_j - s_i)``, and 0 where both are equal: there single vectors have no derivative."""
    gap = np.expand_dims(s, -2) - np.expand_dims(s, -1)
    one = s.dtype.type(1)
    return np.where(gap == 0, one - one, one / np.where(gap == 0, one, gap))


# ---- Cholesky ---------------------------------------------------------------------------------------------
def _cholesky_rule(g: Any, out: Any, x: Any) -> Any:
    """``L^-T phi(L^T G) L^-1`` made symmetric; phi takes the lower triangle and half of the diagonal."""
    lower = _swap(out) @ np.tril(g)
    half = np.tril(lower) - lower * (0.5 * np.eye(out.shape[-1], dtype=out.dtype))
    left = np.linalg.solve(_swap(out), half)
    whole = _swap(np.linalg.solve(_swap(out), _swap(left)))
    return (whole + _swap(whole)) * 0.5


CHOLESKY = Op("linalg.cholesky", np.linalg.cholesky, (_cholesky_rule,), keeps_inputs=False, keeps_output=True)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """numpy.linalg.cholesky; the gradient is symmetric, as in PyTorch and JAX."""
    a = _matrices(a)
    return _swap(apply(CHOLESKY, (_swap(a),))) if upper else apply(CHOLESKY, (a,))


# ---- eigenvalues of symmetric matrices --------------------------------------------------------------------
def _values_rule(g: Any, out: Any, x: Any, uplo: str) -> Any:
    v = apply(EIGENVECTORS, (x,), (uplo,))
    return (v * _of_columns(g)) @ _swap(v)


def _vectors_rule(g: Any, out: Any, x: Any, uplo: str) -> Any:
    w = apply(EIGENVALUES, (x,), (uplo,))
    inside = out @ (_differences(w) * (_swap(out) @ g)) @ _swap(out)
    return (inside + _swap(inside)) * 0.5


EIGENVALUES = Op("linalg.eigvalsh", lambda x, uplo: np.linalg.eigvalsh(x, uplo), (_values_rule,))
EIGENVECTORS = Op(
    "linalg.eigh (vectors)",
    lambda x, uplo: np.linalg.eigh(x, uplo)[1],
    (_vectors_rule,),
    keeps_output=True,
)


def eigh(a: Any, UPLO: Any = "L") -> EighResult:
    """numpy.linalg.eigh; the gradient is symmetric. Vectors of equal eigenvalues contribute nothing."""
    a = _matrices(a)
    return EighResult(apply(EIGENVALUES, (a,), (UPLO,)), apply(EIGENVECTORS, (a,), (UPLO,)))


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """numpy.linalg.eigvalsh; the gradient is symmetric."""
    return apply(EIGENVALUES, (_matrices(a),), (UPLO,))


# ---- singular values --------------------------------------------------------------------------------------
def _short(x: Any) -> tuple[Any, Any, Any]:
    return apply(LEFT, (x,)), apply(SINGULAR, (x,)), apply(RIGHT, (x,))


def _singular_rule(g: Any, out: Any, x: Any) -> Any:
    return (apply(LEFT, (x,)) * _of_columns(g)) @ apply(RIGHT, (x,))


def _safe_inverse(s: Any) -> Any:
    one = s.dtype.type(1)
    return np.where(s == 0, one - one, one / np.where(s == 0, one, s))


def _left_rule(g: Any, out: Any, x: Any) -> Any:
    u, s, vt = _short(x)
    inner = _swap(u) @ g
    core = (_differences(s * s) * (inner - _swap(inner))) * _of_columns(s)
    outside = (g - u @ inner) * _of_columns(_safe_inverse(s))
    return (u @ core + outside) @ vt


def _right_rule(g: Any, out: Any, x: Any) -> Any:
    u, s, vt = _short(x)
    gv = _swap(g)
    inner = vt @ gv
    core = np.expand_dims(s, -1) * (_differences(s * s) * (inner - _swap(inner)))
    outside = np.expand_dims(_safe_inverse(s), -1) * (g - _swap(inner) @ vt)
    return u @ (core @ vt + outside)


SINGULAR = Op("linalg.svdvals", lambda x: np.linalg.svd(x, compute_uv=False), (_singular_rule,))
LEFT = Op("linalg.svd (U)", lambda x: np.linalg.svd(x, full_matrices=False)[0], (_left_rule,))
RIGHT = Op("linalg.svd (Vh)", lambda x: np.linalg.svd(x, full_matrices=False)[2], (_right_rule,))


def _not_determined(*_: Any) -> Any:
    raise NotImplementedError(
        "the vectors that linalg.svd adds to make a matrix square are not determined by it and have no gradient: "
        "use np.linalg.svd(x, full_matrices=False)"
    )


FULL_LEFT = Op("linalg.svd (U)", lambda x: np.linalg.svd(x)[0], (_not_determined,))
FULL_RIGHT = Op("linalg.svd (Vh)", lambda x: np.linalg.svd(x)[2], (_not_determined,))


def svdvals(x: Any, /) -> Any:
    """numpy.linalg.svdvals."""
    return apply(SINGULAR, (_matrices(x),))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """numpy.linalg.svd; vectors of equal singular values contribute nothing to the gradient."""
    refuse("linalg.svd", hermitian=hermitian or None)
    a = _matrices(a)
    if not compute_uv:
        return svdvals(a)
    rows, columns = a.shape[-2:]
    left = FULL_LEFT if full_matrices and rows > columns else LEFT
    right = FULL_RIGHT if full_matrices and columns > rows else RIGHT
    return SVDResult(apply(left, (a,)), apply(SINGULAR, (a,)), apply(right, (a,)))


# ---- QR ---------------------------------------------------------------------------------------------------
def _tall(x: Any) -> tuple[Any, Any]:
    return apply(Q_OF, (x,)), apply(R_OF, (x,))


def _qr_gradient(q: Any, r: Any, gq: Any, gr: Any) -> Any:
    m = (0 if gr is None else r @ _swap(gr)) - (0 if gq is None else _swap(gq) @ q)
    low = np.tril(m)
    symmetric = low + _swap(np.tril(m, -1))
    inside = q @ symmetric if gq is None else gq + q @ symmetric
    return _swap(np.linalg.solve(r, _swap(inside)))


Q_OF = Op("linalg.qr (Q)", lambda x: np.linalg.qr(x)[0], (lambda g, o, x: _qr_gradient(*_tall(x), g, None),))
R_OF = Op("linalg.qr (R)", lambda x: np.linalg.qr(x)[1], (lambda g, o, x: _qr_gradient(*_tall(x), None, g),))


def qr(a: Any, mode: str = "reduced") -> Any:
    """numpy.linalg.qr in the modes reduced and r (and complete, raw never: they are not determined)."""
    if mode not in ("reduced", "r"):
        raise TypeError(f"numpy.linalg.qr on tensors supports mode='reduced' and 'r', not {mode!r}")
    a = _matrices(a)
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = _tall(a)
    else:  # the columns beyond the square part only enter R
        q, r = _tall(a[..., :rows])
        r = np.concatenate([r, _swap(q) @ a[..., rows:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)


# ---- pseudo-inverse and least squares ---------------------------------------------------------------------
def _pinv_gradient(g: Any, p: Any, a: Any) -> Any:
    """Golub and Pereyra 1973; the rank must not change near a."""
    pt, gt = _swap(p), _swap(g)
    return -(pt @ g @ pt) + (gt - a @ (p @ gt)) @ p @ pt + pt @ p @ (gt - (gt @ p) @ a)


def _pinv(x: Any, rcond: Any, hermitian: bool) -> Any:
    return np.linalg.pinv(x, hermitian=hermitian) if rcond is None else np.linalg.pinv(x, rcond, hermitian=hermitian)


PINV = Op("linalg.pinv", _pinv, (lambda g, o, x, *_: _pinv_gradient(g, o, x),), keeps_output=True)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """numpy.linalg.pinv."""
    return apply(PINV, (_matrices(a),), (rcond if rtol is None else rtol, hermitian))


def _lstsq_left(g: Any, out: Any, a: Any, b: Any, rcond: Any) -> Any:
    p = pinv(a, _cutoff(a, rcond))
    columns = (lambda z: np.expand_dims(z, -1)) if b.ndim == 1 else (lambda z: z)
    return _pinv_gradient(columns(g) @ _swap(columns(b)), p, a)


def _lstsq_right(g: Any, out: Any, a: Any, b: Any, rcond: Any) -> Any:
    return _swap(pinv(a, _cutoff(a, rcond))) @ g


def _cutoff(a: Any, rcond: Any) -> Any:
    return float(limits(a.dtype).eps) * max(a.shape[-2:]) if rcond is None else rcond


LSTSQ = Op("linalg.lstsq", lambda a, b, rcond: np.linalg.lstsq(a, b, rcond)[0], (_lstsq_left, _lstsq_right))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """numpy.linalg.lstsq: solution, residuals, rank (a plain number), singular values."""
    a, b = _matrices(a), _matrices(b)
    wide = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(wide), b.astype(wide)
    values = svdvals(a)
    plain = plain_index(values, "linalg.lstsq")
    rank = int(np.count_nonzero(plain > _cutoff(a, rcond) * plain.max(initial=0)))
    x = apply(LSTSQ, (a, b), (rcond,))
    rows, columns = a.shape
    left = b - a @ x
    enough = rank == columns and rows > columns
    residuals = np.sum(left * left, axis=0) if enough else np.zeros(0, x.dtype)
    return x, np.reshape(residuals, (-1,)), rank, values
