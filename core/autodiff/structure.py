"""Nested lists, tuples and dictionaries of sources and targets: taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def leaves(structure: Any) -> list[Any]:
    """The values in ``structure`` in order (dictionaries: in the order of their entries)."""
    if not isinstance(structure, (list, tuple, dict)):
        return [structure]
    out: list[Any] = []
    for value in structure.values() if isinstance(structure, dict) else structure:
        if isinstance(value, (list, tuple, dict)):
            out.extend(leaves(value))
        else:
            out.append(value)
    return out


def rebuild(structure: Any, values: list[Any]) -> Any:
    """``structure`` with its leaves replaced by ``values`` in order."""
    if not isinstance(structure, (list, tuple, dict)):
        return values[0]
    rest = iter(values)
    return _rebuild(structure, lambda: next(rest))


def _rebuild(structure: Any, take: Callable[[], Any]) -> Any:
    if isinstance(structure, dict):
        return {key: _rebuild(value, take) for key, value in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_rebuild(value, take) for value in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)([_rebuild(value, take) for value in structure])
    return take()


def is_structure(value: Any) -> bool:
    """Whether an argument is a collection of arrays, rather than one array (perhaps written as a list)."""
    if isinstance(value, dict):
        return True
    return isinstance(value, (list, tuple)) and any(
        isinstance(leaf, np.ndarray) or (hasattr(leaf, "__array_ufunc__") and not isinstance(leaf, np.generic))
        for leaf in leaves(value)
    )


def floats(numbers: Any) -> Any:
    """Python numbers in (nested) lists as an array; whole numbers count as floats, as single ones do."""
    array = np.asarray(numbers)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array
