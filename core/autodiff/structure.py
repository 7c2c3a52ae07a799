"""Nested lists, tuples and dictionaries of sources and targets: taken apart and put together again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np


def entries(structure: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The entries of a dictionary by sorted key, as in TensorFlow and JAX: equal dictionaries have equal orders."""
    try:
        return sorted(structure.items(), key=lambda entry: entry[0])
    except TypeError:  # keys of several types cannot be sorted
        return list(structure.items())


def leaves(structure: Any) -> list[Any]:
    """The values in ``structure`` in order (dictionaries: by sorted key)."""
    if not isinstance(structure, (list, tuple, dict)):
        return [structure]
    out: list[Any] = []
    for value in [v for _, v in entries(structure)] if isinstance(structure, dict) else structure:
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
        found = {key: _rebuild(value, take) for key, value in entries(structure)}
        same_order = {key: found[key] for key in structure}
        if isinstance(structure, defaultdict):
            return type(structure)(structure.default_factory, same_order)
        return same_order if type(structure) is dict else type(structure)(same_order)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_rebuild(value, take) for value in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)([_rebuild(value, take) for value in structure])
    return take()


def outline(structure: Any) -> Hashable:
    """What two structures have in common whose leaves can stand for one another."""
    if isinstance(structure, dict):
        return (type(structure), tuple((key, outline(value)) for key, value in entries(structure)))
    if isinstance(structure, (list, tuple)):
        return (type(structure), tuple(outline(value) for value in structure))
    return None


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
