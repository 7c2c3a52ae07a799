"""Rule of the spectral norm of matrices (their largest singular value), with first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.tensor import apply


def _pair(x: Any) -> Any:
    """``u v^T`` of the largest singular value: the derivative of that value."""
    u, _, vt = np.linalg.svd(x, full_matrices=False)
    return u[..., :, :1] * vt[..., :1, :]


def _pair_gradient(g: Any, x: Any) -> Any:
    """The gradient for x of ``sum(g * _pair(x))``.

    With x = U S V^T and A = U^T dx V the singular vectors change by du_1 = sum_k u_k (s_1 A_k1 + s_k A_1k) / (s_1^2 -
    s_k^2) and dv_1 = sum_k v_k (s_1 A_1k + s_k A_k1) / (s_1^2 - s_k^2), k from 2. Equal singular values, where the
    norm has a kink, contribute nothing.
    """
    rows, columns = x.shape[-2:]
    u, s, vt = np.linalg.svd(x, full_matrices=True)
    most = max(rows, columns)
    wide = np.zeros((*s.shape[:-1], most), dtype=s.dtype)
    wide[..., : s.shape[-1]] = s
    first = wide[..., :1]
    gap = first * first - wide * wide
    inverse = np.where(gap > 0, 1.0 / np.where(gap > 0, gap, 1.0), 0.0).astype(x.dtype)
    core = np.swapaxes(u, -1, -2) @ g @ np.swapaxes(vt, -1, -2)
    p, q = np.zeros_like(wide), np.zeros_like(wide)
    p[..., :rows], q[..., :columns] = core[..., :, 0], core[..., 0, :]
    a, b = (first * p + wide * q) * inverse, (wide * p + first * q) * inverse
    inner = np.zeros_like(core)
    inner[..., 1:, 0], inner[..., 0, 1:] = a[..., 1:rows], b[..., 1:columns]
    return u @ inner @ vt


def _third(*_: Any) -> Any:
    raise NotImplementedError("third derivatives of the spectral norm (norm of a matrix with ord=2) have no rule")


# (its own gradient would be a third derivative of the norm)
PAIR_GRADIENT = Op("spectral_norm (second derivative)", _pair_gradient, (_third, _third))
PAIR = Op("spectral_norm (derivative)", _pair, (lambda g, o, x: apply(PAIR_GRADIENT, (g, x)),))
SPECTRAL = Op(
    "linalg.norm (ord=2)",
    lambda x: np.linalg.svd(x, compute_uv=False)[..., 0],
    (lambda g, o, x: _norm_rule(g, o, x),),
    keeps_output=True,
)


def _norm_rule(g: Any, out: Any, x: Any) -> Any:
    """0 for a zero matrix, as for the other norms."""
    scale = np.where(out == 0, g.dtype.type(0), g)
    return np.expand_dims(np.expand_dims(scale, -1), -1) * apply(PAIR, (x,))


def spectral_norm(x: Any) -> Any:
    """The largest singular value over the last two axes."""
    return apply(SPECTRAL, (x,))
