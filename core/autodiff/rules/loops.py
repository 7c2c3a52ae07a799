"""numpy's loops over slices: apply_along_axis and apply_over_axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.rules.axes import one_axis
from core.autodiff.tensor import arrayed


def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """numpy.apply_along_axis."""
    arr = arrayed(arr)
    number = one_axis(axis, arr.ndim)
    moved = np.moveaxis(arr, number, -1)
    lead = moved.shape[:-1]
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    found = [arrayed(func1d(moved[index], *args, **kwargs)) for index in np.ndindex(lead)]
    inside = np.shape(found[0])
    whole = np.reshape(np.stack(found), lead + inside)
    order = [*range(number), *range(len(lead), len(lead) + len(inside)), *range(number, len(lead))]
    return np.transpose(whole, order)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """numpy.apply_over_axes."""
    found = arrayed(a)
    ndim = found.ndim
    for axis in axes if np.ndim(axes) else [axes]:
        number = one_axis(axis, ndim)
        result = func(found, number)
        if np.ndim(result) != np.ndim(found):
            result = np.expand_dims(result, number)
        if np.ndim(result) != np.ndim(found):
            raise ValueError("function is not returning an array of the correct shape")
        found = result
    return found
