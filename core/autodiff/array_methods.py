"""The methods that tensors have because arrays have them; each is the numpy function of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

_IN_PLACE = {
    "sort": "np.sort(x)", "partition": "np.sort(x)", "fill": "np.full_like(x, value)", "put": "np.where",
    "resize": "np.reshape(x, shape)", "itemset": "np.where", "setflags": "x.numpy()", "setfield": "np.where",
    "byteswap": "x.numpy()", "view": "x.astype(dtype) or x.numpy()",
}  # fmt: skip


class ArrayMethods:
    """Mixed into Tensor."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name in _IN_PLACE:
            raise AttributeError(f"a tensor cannot be changed in place, so it has no .{name}(): use {_IN_PLACE[name]}")
        hint = f": x.numpy().{name} works on a plain copy" if hasattr(np.ndarray, name) else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    # ---- what it looks like -------------------------------------------------------------------------------
    @property
    def T(self: Any) -> Any:
        """The axes in reverse order."""
        return np.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"matrix transpose needs at least two axes, not {self.ndim}")
        return np.swapaxes(self, -1, -2)

    @property
    def flat(self: Any) -> Any:
        """All entries along one axis."""
        return np.ravel(self)

    @property
    def real(self: Any) -> Any:
        """As numpy.real."""
        return np.real(self)

    @property
    def imag(self: Any) -> Any:
        """As numpy.imag."""
        return np.imag(self)

    @property
    def itemsize(self: Any) -> int:
        """Bytes of one entry."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self: Any) -> int:
        """Bytes of all entries."""
        return int(self.size * self.dtype.itemsize)

    # ---- reductions ---------------------------------------------------------------------------------------
    def sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
        """As numpy.sum."""
        return np.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **more)

    def mean(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any
    ) -> Any:
        """As numpy.mean."""
        return np.mean(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **more)

    def prod(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any
    ) -> Any:
        """As numpy.prod."""
        return np.prod(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **more)

    def max(self: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
        """As numpy.max; tied maxima share the gradient equally."""
        return np.max(self, axis=axis, out=out, keepdims=keepdims, **more)

    def min(self: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
        """As numpy.min; tied minima share the gradient equally."""
        return np.min(self, axis=axis, out=out, keepdims=keepdims, **more)

    def var(
        self: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        **more: Any,
    ) -> Any:
        """As numpy.var."""
        return np.var(self, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, **more)

    def std(
        self: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        **more: Any,
    ) -> Any:
        """As numpy.std; gradient 0 where the variance is 0."""
        return np.std(self, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, **more)

    def cumsum(self: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """As numpy.cumsum."""
        return np.cumsum(self, axis=axis, dtype=dtype, out=out)

    def cumprod(self: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """As numpy.cumprod."""
        return np.cumprod(self, axis=axis, dtype=dtype, out=out)

    # ---- not differentiable -------------------------------------------------------------------------------
    def argmax(self: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """As numpy.argmax; not differentiable."""
        return np.argmax(self, axis=axis, out=out, keepdims=keepdims)

    def argmin(self: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """As numpy.argmin; not differentiable."""
        return np.argmin(self, axis=axis, out=out, keepdims=keepdims)

    def argsort(self: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        """As numpy.argsort; not differentiable."""
        return np.argsort(self, axis=axis, kind=kind, order=order, stable=stable)

    def all(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """As numpy.all; not differentiable."""
        return np.all(self, axis=axis, out=out, keepdims=keepdims)

    def any(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """As numpy.any; not differentiable."""
        return np.any(self, axis=axis, out=out, keepdims=keepdims)

    def nonzero(self: Any) -> Any:
        """As numpy.nonzero; not differentiable."""
        return np.nonzero(self)

    def searchsorted(self: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        """As numpy.searchsorted; not differentiable."""
        return np.searchsorted(self, v, side, sorter)

    # ---- entry by entry -----------------------------------------------------------------------------------
    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """As numpy.clip; gradient 1 on the bounds themselves."""
        return np.clip(self, min, max, out)

    def round(self: Any, decimals: int = 0, out: Any = None) -> Any:
        """As numpy.round; gradient 0."""
        return np.round(self, decimals, out)

    def conj(self: Any) -> Any:
        """As numpy.conjugate."""
        return np.conjugate(self)

    def conjugate(self: Any) -> Any:
        """As numpy.conjugate."""
        return np.conjugate(self)

    # ---- shapes -------------------------------------------------------------------------------------------
    def dot(self: Any, b: Any, out: Any = None) -> Any:
        """As numpy.dot."""
        return np.dot(self, b, out)

    def reshape(self: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """As numpy.reshape."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def ravel(self: Any, order: Any = "C") -> Any:
        """As numpy.ravel (a tensor is never changed, so whether it copies does not matter)."""
        return np.ravel(self, order)

    def flatten(self: Any, order: Any = "C") -> Any:
        """As numpy.ravel."""
        return np.ravel(self, order)

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

    def take(self: Any, indices: Any, axis: int | None = None, out: Any = None, mode: Any = "raise") -> Any:
        """As numpy.take."""
        return np.take(self, indices, axis=axis, out=out, mode=mode)

    def choose(self: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        """As numpy.choose."""
        return np.choose(self, choices, out=out, mode=mode)

    def compress(self: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """As numpy.compress."""
        return np.compress(condition, self, axis=axis, out=out)

    def diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """As numpy.diagonal."""
        return np.diagonal(self, offset, axis1, axis2)

    def trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        """As numpy.trace."""
        return np.trace(self, offset, axis1, axis2, dtype, out)
