"""Real and imaginary part, conjugate: of real numbers themselves and nothing. (Complex numbers have no gradient.)"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules import arithmetic
from core.autodiff.tensor import apply, operand, unary

REAL = Op("real", lambda x: x.real.copy())
IMAG = Op("imag", lambda x: x.imag.copy())
CONJUGATE = Op("conjugate", np.conjugate)


def real(val: Any) -> Any:
    """numpy.real."""
    val = operand(val)
    return apply(REAL, (val,)) if val.dtype.kind == "c" else val


def imag(val: Any) -> Any:
    """numpy.imag."""
    val = operand(val)
    return apply(IMAG, (val,)) if val.dtype.kind == "c" else np.zeros(val.shape, val.dtype)[()]


def conjugate(x: Any) -> Any:
    """numpy.conjugate."""
    return unary(CONJUGATE if x.dtype.kind == "c" else arithmetic.COPY, x)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """numpy.real_if_close (of real numbers: themselves)."""
    if a.dtype.kind == "c":
        raise TypeError("numpy.real_if_close on complex tensors depends on their values: use np.real(x)")
    return a
