"""Stretching a gradient to a shape and summing it down to one: each is the other's rule."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.tensor import Tensor, apply

Shape = tuple[int, ...]


def _expand(x: Any, shape: Shape, _origin: Shape) -> Any:
    out = np.empty(shape, dtype=x.dtype)
    out[...] = x
    return out if shape else out[()]


@lru_cache(maxsize=4096)
def repeated_axes(shape: Shape, origin: Shape) -> Any:
    """The axes of ``origin`` along which ``shape`` was repeated: a number when there is one, a tuple otherwise."""
    lead = len(origin) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and origin[lead + i] != 1)
    return axes[0] if len(axes) == 1 else axes


def _sum_to(x: Any, shape: Shape, origin: Shape) -> Any:
    out = np.add.reduce(x, repeated_axes(shape, origin))
    if out.shape != shape:
        out = out.reshape(shape)
        return out if shape else out[()]
    return out


EXPAND = Op("broadcast_to", _expand, (lambda g, o, x, shape, origin: sum_to(g, origin),), keeps_inputs=False)
SUM_TO = Op("sum_to", _sum_to, (lambda g, o, x, shape, origin: expand(g, origin),), keeps_inputs=False)


def expand(x: Any, shape: Shape) -> Any:
    """``x`` repeated along new and length-1 axes until it has ``shape`` (a real copy, not a view)."""
    origin = x.shape
    if origin == shape:
        return x
    return apply(EXPAND, (x,), (shape, origin)) if isinstance(x, Tensor) else _expand(x, shape, origin)


def sum_to(x: Any, shape: Shape) -> Any:
    """``x`` summed over the axes along which something of ``shape`` was repeated."""
    origin = x.shape
    if origin == shape:
        return x
    return apply(SUM_TO, (x,), (shape, origin)) if isinstance(x, Tensor) else _sum_to(x, shape, origin)
