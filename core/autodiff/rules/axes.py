"""Axis arguments of reductions: checked, made non-negative, and the shape that keeps the reduced axes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def normalise(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """``axis`` (None, a number, or several) as a tuple of non-negative numbers; None stays None."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        found = tuple(one_axis(a, ndim) for a in axis)
        if len(set(found)) != len(found):
            raise ValueError(f"axis {axis} names the same axis twice")
        return found
    return (one_axis(axis, ndim),)


def one_axis(axis: Any, ndim: int) -> int:
    """A single axis as a non-negative number."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return int(number % ndim)


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """``shape`` with length 1 in place of the reduced axes."""
    if axes is None:
        return (1,) * len(shape)
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def count(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> int:
    """How many entries are reduced to one."""
    number = 1
    for i, n in enumerate(shape):
        if axes is None or i in axes:
            number *= n
    return number


def refuse(name: str, **options: Any) -> None:
    """Raise for options of numpy's function that tensors do not support."""
    for key, value in options.items():
        if value is not None:
            raise TypeError(f"numpy.{name} on tensors does not support {key}=")


def refuse_out(name: str, out: Any) -> None:
    """Raise for ``out=``: a plain array cannot hold a gradient, and tensors do not change."""
    if out is not None:
        raise TypeError(
            f"numpy.{name} cannot write into out= when tensors take part: the connection to the gradient would be "
            f"lost. Write y = numpy.{name}(...)"
        )
