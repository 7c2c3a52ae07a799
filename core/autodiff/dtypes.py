"""The dtypes gradients exist for: numpy's floating types and bfloat16 (of ml_dtypes)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT64 = np.dtype(np.float64)


def as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """A numpy dtype; also understands the text 'bfloat16'."""
    return BFLOAT16 if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether gradients exist for this dtype: float16, float32, float64, longdouble, bfloat16."""
    return dtype.kind == "f" or dtype == BFLOAT16


def limits(dtype: np.dtype[Any]) -> Any:
    """numpy.finfo, for bfloat16 too."""
    return _bfloat16_limits if dtype == BFLOAT16 else np.finfo(dtype)


_finfo: Any = ml_dtypes.finfo
_bfloat16_limits = _finfo(BFLOAT16)


def floating(a: Any, name: str) -> Any:
    """``a`` with whole numbers as float64; complex numbers are refused, not cut to their real part."""
    if is_floating(a.dtype):
        return a
    refuse_complex(a, name)
    return a.astype(np.float64)


def refuse_complex(a: Any, name: str) -> None:
    """Raise for complex numbers, for which the rules of real numbers would give something else."""
    if a.dtype.kind == "c":
        raise TypeError(
            f"numpy.{name} has no rule for complex tensors: keep real and imaginary part apart (x.real, x.imag), or "
            f"apply it to x.numpy()"
        )
