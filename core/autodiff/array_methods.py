"""The methods that tensors have because arrays have them; each is the numpy function of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class ArrayMethods:
    """Mixed into Tensor."""

    __slots__ = ()

    @property
    def T(self: Any) -> Any:
        """The axes in reverse order."""
        return np.transpose(self)

    def sum(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.sum."""
        return np.sum(self, axis=axis, keepdims=keepdims)

    def mean(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.mean."""
        return np.mean(self, axis=axis, keepdims=keepdims)

    def prod(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.prod."""
        return np.prod(self, axis=axis, keepdims=keepdims)

    def max(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.max; tied maxima share the gradient equally."""
        return np.max(self, axis=axis, keepdims=keepdims)

    def min(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.min; tied minima share the gradient equally."""
        return np.min(self, axis=axis, keepdims=keepdims)

    def var(self: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """As numpy.var."""
        return np.var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """As numpy.std; gradient 0 where the variance is 0."""
        return np.std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def cumsum(self: Any, axis: int | None = None) -> Any:
        """As numpy.cumsum."""
        return np.cumsum(self, axis=axis)

    def argmax(self: Any, axis: int | None = None) -> Any:
        """As numpy.argmax; not differentiable."""
        return np.argmax(self, axis=axis)

    def argmin(self: Any, axis: int | None = None) -> Any:
        """As numpy.argmin; not differentiable."""
        return np.argmin(self, axis=axis)

    def all(self: Any, axis: Any = None) -> Any:
        """As numpy.all; not differentiable."""
        return np.all(self, axis=axis)

    def any(self: Any, axis: Any = None) -> Any:
        """As numpy.any; not differentiable."""
        return np.any(self, axis=axis)

    def clip(self: Any, min: Any = None, max: Any = None) -> Any:
        """As numpy.clip; gradient 1 on the bounds themselves."""
        return np.clip(self, min, max)

    def round(self: Any, decimals: int = 0) -> Any:
        """As numpy.round; gradient 0."""
        return np.round(self, decimals)

    def dot(self: Any, other: Any) -> Any:
        """As numpy.dot."""
        return np.dot(self, other)

    def reshape(self: Any, *shape: Any) -> Any:
        """As numpy.reshape."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self: Any) -> Any:
        """As numpy.ravel (a tensor is never changed, so whether it copies does not matter)."""
        return np.ravel(self)

    def flatten(self: Any) -> Any:
        """As numpy.ravel."""
        return np.ravel(self)

    def transpose(self: Any, *axes: Any) -> Any:
        """As numpy.transpose."""
        if not axes or axes == (None,):
            return np.transpose(self)
        return np.transpose(self, axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes)

    def swapaxes(self: Any, axis1: int, axis2: int) -> Any:
        """As numpy.swapaxes."""
        return np.swapaxes(self, axis1, axis2)

    def squeeze(self: Any, axis: Any = None) -> Any:
        """As numpy.squeeze."""
        return np.squeeze(self, axis=axis)

    def repeat(self: Any, repeats: Any, axis: int | None = None) -> Any:
        """As numpy.repeat."""
        return np.repeat(self, repeats, axis=axis)

    def take(self: Any, indices: Any, axis: int | None = None) -> Any:
        """As numpy.take."""
        return np.take(self, indices, axis=axis)

    def diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """As numpy.diagonal."""
        return np.diagonal(self, offset, axis1, axis2)

    def trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """As numpy.trace."""
        return np.trace(self, offset, axis1, axis2)
