"""The number types weights can be stored and steps computed in."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from core.declare import SettingError

FLOATS: dict[str, Any] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def resolve_dtype(name: str) -> Any:
    """The numpy dtype called ``name``; a clear error for another name."""
    try:
        return FLOATS[name]
    except KeyError:
        raise SettingError(f"unknown number type {name!r}; choose one of {', '.join(FLOATS)}") from None
