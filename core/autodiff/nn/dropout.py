"""Dropout with a seed, so that a run can be repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.nn.activations import as_float
from core.autodiff.operation import Op
from core.autodiff.tensor import apply


def _mask(seed: Any, rate: float, shape: Any, dtype: Any) -> Any:
    kept = np.random.default_rng(int(seed)).random(shape) >= rate
    return np.asarray(kept, dtype=dtype) / np.asarray(1 - rate, dtype=dtype)


# an operation of its own, so that in compiled programs the seed can change from call to call
MASK = Op("dropout_mask", _mask)


def dropout(x: Any, rate: float, seed: Any, training: bool = True) -> Any:
    """Each entry becomes 0 with probability ``rate``, the others are divided by ``1 - rate`` (Srivastava 2014).

    Equal seeds drop equal entries. In inference (``training=False``) x is returned as it is.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"dropout: rate must be at least 0 and below 1, {rate} was given")
    x = as_float(x)
    if not training or rate == 0:
        return x
    return x * apply(MASK, (seed,), (rate, x.shape, x.dtype))
