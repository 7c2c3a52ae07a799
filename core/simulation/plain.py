"""Values of settings as JSON has them: numpy numbers become Python's, and what JSON lacks (inf, nan) is spelled out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_SPELLED = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def plain(value: Any) -> Any:
    """``value`` without numpy: its numbers, switches and arrays as Python's own, tuples as lists."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return _inside(plain, value)


def spelled(value: Any) -> Any:
    """``value`` with 'inf', '-inf' and 'nan' for the numbers that a JSON document cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _inside(spelled, value)


def read_spelled(value: Any) -> Any:
    """The numbers behind what ``spelled`` wrote."""
    if isinstance(value, str):
        return _SPELLED.get(value, value)
    return _inside(read_spelled, value)


def _inside(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [change(item) for item in value]
    if isinstance(value, Mapping):
        return {key: change(item) for key, item in value.items()}
    return value
