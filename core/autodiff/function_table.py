"""Which of numpy's other functions is carried out by which rule, by the names they have in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules import (
    arithmetic,
    choosing,
    complex_parts,
    cumulative,
    decompositions,
    einsum,
    indexing,
    joining,
    linalg,
    loops,
    nan_reductions,
    norms,
    padding,
    parts,
    picking,
    products,
    quantiles,
    reductions,
    sampling,
    shaping,
    statistics,
)
from core.autodiff.rules.axes import refuse_out
from core.autodiff.tensor import Tensor, apply, operand, unary

_HERE = object()  # stands for a tensor among the arguments of a function without gradient


def _no_gradient(name: str, function: Callable[..., Any], dynamic: bool = False) -> Callable[..., Any]:
    """A function through which no gradient passes; its tensors may stand anywhere among the arguments."""

    def forward(*rest: Any) -> Any:
        *values, args, keys, kwargs = rest
        given = iter(values)
        filled = [next(given) if a is _HERE else a for a in args]
        found = function(*filled, **dict(zip(keys, given, strict=True)), **dict(kwargs))
        return found if hasattr(found, "dtype") else np.asarray(found)[()]

    op = Op(name, forward, dynamic=dynamic)

    def call(*args: Any, **kwargs: Any) -> Any:
        refuse_out(name, kwargs.pop("out", None))
        args = tuple(operand(a) if isinstance(a, (list, tuple)) else a for a in args)
        named = {key: value for key, value in kwargs.items() if isinstance(value, Tensor)}
        tensors = tuple(a for a in args if isinstance(a, Tensor)) + tuple(named.values())
        template = tuple(_HERE if isinstance(a, Tensor) else a for a in args)
        rest = tuple((key, value) for key, value in kwargs.items() if key not in named)
        return apply(op, tensors, (template, tuple(named), rest))

    return call


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that only looks at shapes, types or text: of the plain values."""
    return lambda *args, **kwargs: function(*(a._value if isinstance(a, Tensor) else a for a in args), **kwargs)


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    def like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
        return make(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)

    return like


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any
) -> Any:
    wide = np.broadcast_to(operand(fill_value), a.shape if shape is None else shape)
    return wide.astype(a.dtype if dtype is None else dtype)


def _nonzero(a: Any) -> Any:
    return tuple(np.transpose(np.argwhere(a)))


RULES: dict[str, Callable[..., Any]] = {
    # shapes and types
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "result_type": lambda *a: np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in a)),
    "can_cast": lambda a, to, casting="safe": np.can_cast(a.dtype, to, casting),
    "zeros_like": _like(np.zeros),
    "ones_like": _like(np.ones),
    "empty_like": _like(np.zeros),
    "full_like": _full_like,
    "array_repr": lambda a, *_: repr(a),
    "array_str": lambda a, *_: str(a),
    "astype": lambda x, dtype, /, *, copy=True, device=None: x.astype(dtype),
    # reductions
    "sum": reductions.sum_,
    "mean": reductions.mean,
    "average": statistics.average,
    "var": statistics.var,
    "std": statistics.std,
    "cov": statistics.cov,
    "corrcoef": statistics.corrcoef,
    "prod": reductions.prod,
    "max": reductions.max_,
    "min": reductions.min_,
    "amax": reductions.max_,
    "amin": reductions.min_,
    "ptp": statistics.ptp,
    "median": quantiles.median,
    "quantile": quantiles.quantile,
    "percentile": quantiles.percentile,
    "nanmedian": quantiles.nanmedian,
    "nanquantile": quantiles.nanquantile,
    "nanpercentile": quantiles.nanpercentile,
    "nansum": nan_reductions.nansum,
    "nanprod": nan_reductions.nanprod,
    "nanmean": nan_reductions.nanmean,
    "nanvar": nan_reductions.nanvar,
    "nanstd": nan_reductions.nanstd,
    "nanmax": nan_reductions.nanmax,
    "nanmin": nan_reductions.nanmin,
    "nancumsum": nan_reductions.nancumsum,
    "nancumprod": nan_reductions.nancumprod,
    "cumsum": cumulative.cumsum,
    "cumprod": cumulative.cumprod,
    "cumulative_sum": cumulative.cumulative_sum,
    "cumulative_prod": cumulative.cumulative_prod,
    # entry by entry
    "where": choosing.where,
    "clip": choosing.clip,
    "round": choosing.round_,
    "around": choosing.round_,
    "fix": lambda x, out=None: np.trunc(x, out),
    "nan_to_num": choosing.nan_to_num,
    "real": complex_parts.real,
    "imag": complex_parts.imag,
    "real_if_close": complex_parts.real_if_close,
    "sinc": parts.sinc,
    "unwrap": sampling.unwrap,
    "copy": lambda a, order="K", subok=False: unary(arithmetic.COPY, a),
    # shapes
    "reshape": shaping.reshape,
    "ravel": shaping.ravel,
    "transpose": shaping.transpose,
    "permute_dims": shaping.transpose,
    "swapaxes": shaping.swapaxes,
    "moveaxis": shaping.moveaxis,
    "rollaxis": shaping.rollaxis,
    "expand_dims": shaping.expand_dims,
    "squeeze": shaping.squeeze,
    "broadcast_to": shaping.broadcast_to,
    "broadcast_arrays": shaping.broadcast_arrays,
    "atleast_1d": shaping.atleast_1d,
    "atleast_2d": shaping.atleast_2d,
    "atleast_3d": shaping.atleast_3d,
    "meshgrid": shaping.meshgrid,
    "matrix_transpose": lambda x, /: x.mT,
    "flip": shaping.flip,
    "fliplr": shaping.fliplr,
    "flipud": shaping.flipud,
    "roll": shaping.roll,
    "rot90": shaping.rot90,
    "fft.fftshift": shaping.shifted("fftshift"),
    "fft.ifftshift": shaping.shifted("ifftshift"),
    "tile": shaping.tile,
    "resize": shaping.resize,
    "repeat": shaping.repeat,
    "pad": padding.pad,
    # taking out and putting together
    "take": indexing.take,
    "take_along_axis": indexing.take_along_axis,
    "sort": indexing.sort,
    "partition": indexing.partition,
    "diag": indexing.diag,
    "diagflat": indexing.diagflat,
    "diagonal": indexing.diagonal,
    "trace": indexing.trace,
    "triu": indexing.triu,
    "tril": indexing.tril,
    "diff": indexing.diff,
    "ediff1d": picking.ediff1d,
    "unique": picking.unique,
    "split": indexing.split,
    "array_split": indexing.array_split,
    "vsplit": indexing.vsplit,
    "hsplit": indexing.hsplit,
    "dsplit": indexing.dsplit,
    "unstack": indexing.unstack,
    "concatenate": joining.concatenate,
    "stack": joining.stack,
    "vstack": joining.vstack,
    "hstack": joining.hstack,
    "dstack": joining.dstack,
    "column_stack": joining.column_stack,
    "append": joining.append,
    "block": joining.block,
    "insert": picking.insert,
    "delete": picking.delete,
    "compress": picking.compress,
    "extract": picking.extract,
    "choose": picking.choose,
    "select": picking.select,
    "piecewise": picking.piecewise,
    "bincount": picking.bincount,
    "nonzero": _nonzero,
    "apply_along_axis": loops.apply_along_axis,
    "apply_over_axes": loops.apply_over_axes,
    # sampled functions and grids
    "interp": sampling.interp,
    "convolve": sampling.convolve,
    "correlate": sampling.correlate,
    "trapezoid": sampling.trapezoid,
    "gradient": sampling.gradient,
    "polyval": sampling.polyval,
    "vander": sampling.vander,
    "linspace": sampling.linspace,
    "logspace": sampling.logspace,
    # products
    "dot": products.dot,
    "inner": products.inner,
    "outer": products.outer,
    "vdot": products.vdot,
    "tensordot": products.tensordot,
    "einsum": einsum.einsum,
    "kron": products.kron,
    "cross": products.cross,
    # linear algebra
    "linalg.inv": linalg.inv,
    "linalg.det": linalg.det,
    "linalg.slogdet": linalg.slogdet,
    "linalg.solve": linalg.solve,
    "linalg.matrix_power": linalg.matrix_power,
    "linalg.multi_dot": linalg.multi_dot,
    "linalg.tensorinv": linalg.tensorinv,
    "linalg.tensorsolve": linalg.tensorsolve,
    "linalg.norm": norms.norm,
    "linalg.vector_norm": norms.vector_norm,
    "linalg.matrix_norm": norms.matrix_norm,
    "linalg.cond": norms.cond,
    "linalg.cholesky": decompositions.cholesky,
    "linalg.eigh": decompositions.eigh,
    "linalg.eigvalsh": decompositions.eigvalsh,
    "linalg.svd": decompositions.svd,
    "linalg.svdvals": decompositions.svdvals,
    "linalg.qr": decompositions.qr,
    "linalg.pinv": decompositions.pinv,
    "linalg.lstsq": decompositions.lstsq,
    "linalg.trace": lambda x, /, *, offset=0, dtype=None: indexing.trace(x, offset, -2, -1, dtype),
    "linalg.diagonal": lambda x, /, *, offset=0: indexing.diagonal(x, offset, -2, -1),
    "linalg.matrix_transpose": lambda x, /: x.mT,
    "linalg.matmul": lambda a, b, /: operand(a) @ operand(b),
    "linalg.outer": products.outer_of_vectors,
    "linalg.tensordot": lambda a, b, /, *, axes=2: products.tensordot(a, b, axes),
    "linalg.vecdot": lambda a, b, /, *, axis=-1: products.vecdot(a, b, axis=axis),
    "linalg.cross": lambda a, b, /, *, axis=-1: products.cross(a, b, axis=axis),
}
_NO_GRADIENT = [
    "argmax", "argmin", "nanargmax", "nanargmin", "argsort", "argpartition", "lexsort", "all", "any", "count_nonzero",
    "isclose", "allclose", "array_equal", "array_equiv", "isposinf", "isneginf", "isreal", "iscomplex", "isin",
    "searchsorted", "digitize", "angle", "linalg.matrix_rank",
]  # fmt: skip
_SHAPE_BY_VALUE = ["flatnonzero", "argwhere"]
_LOOKED_AT = [
    "may_share_memory", "shares_memory", "common_type", "min_scalar_type", "array2string", "einsum_path",
    "tril_indices_from", "triu_indices_from", "diag_indices_from",
]  # fmt: skip


def _numpy_function(name: str) -> Any:
    """The function of this name, None when the installed numpy does not have it."""
    module: Any = np
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    return getattr(module, last, None)


FUNCTIONS: dict[Any, Callable[..., Any]] = {}
for _name, _rule in [
    *RULES.items(),
    *((name, _no_gradient(name, _numpy_function(name))) for name in _NO_GRADIENT),
    *((name, _no_gradient(name, _numpy_function(name), dynamic=True)) for name in _SHAPE_BY_VALUE),
    *((name, _plain(_numpy_function(name))) for name in _LOOKED_AT),
]:
    _function = _numpy_function(_name)
    if _function is not None:
        FUNCTIONS[_function] = _rule
