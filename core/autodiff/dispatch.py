"""Which numpy function is carried out by which rule: the one table, and the way in for numpy's protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.hooks import hooks
from core.autodiff.operation import Op
from core.autodiff.rules import (
    arithmetic,
    choosing,
    elementwise,
    indexing,
    joining,
    linalg,
    products,
    reductions,
    shaping,
)
from core.autodiff.tensor import Tensor, apply, binary, power, unary

_ARITHMETIC = [
    arithmetic.ADD,
    arithmetic.SUBTRACT,
    arithmetic.MULTIPLY,
    arithmetic.DIVIDE,
    arithmetic.NEGATIVE,
    arithmetic.POSITIVE,
    arithmetic.SQUARE,
    arithmetic.FLOOR_DIVIDE,
    arithmetic.REMAINDER,
    arithmetic.LESS,
    arithmetic.LESS_EQUAL,
    arithmetic.GREATER,
    arithmetic.GREATER_EQUAL,
    arithmetic.EQUAL,
    arithmetic.NOT_EQUAL,
]
_NO_GRADIENT_UFUNCS = [
    np.isnan,
    np.isinf,
    np.isfinite,
    np.signbit,
    np.logical_and,
    np.logical_or,
    np.logical_not,
    np.logical_xor,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.invert,
    np.nextafter,
    np.spacing,
]


def _of_op(op: Op) -> Callable[..., Any]:
    if op.forward is not None and (op.ufunc.nin if op.ufunc is not None else 1) == 1:
        return lambda x: unary(op, x)
    return lambda a, b: binary(op, a, b)


UFUNCS: dict[Any, Callable[..., Any]] = {op.ufunc: _of_op(op) for op in _ARITHMETIC + elementwise.OPS + choosing.OPS}
UFUNCS |= {ufunc: _of_op(Op(ufunc.__name__, ufunc, ufunc=ufunc)) for ufunc in _NO_GRADIENT_UFUNCS}
UFUNCS |= {
    np.power: power,
    np.float_power: lambda a, b: power(a, b),
    np.matmul: lambda a, b: binary(products.MATMUL, a, b),
    np.maximum: choosing.maximum,
    np.minimum: choosing.minimum,
    np.fabs: lambda x: unary(choosing.ABSOLUTE, x),
    np.conjugate: lambda x: unary(arithmetic.POSITIVE, x),
    np.radians: lambda x: unary(elementwise.DEG2RAD, x),
    np.degrees: lambda x: unary(elementwise.RAD2DEG, x),
}
UFUNC_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {
    (np.add, "reduce"): lambda a, axis=0, keepdims=False, **k: reductions.sum_(a, axis, keepdims=keepdims, **k),
    (np.multiply, "reduce"): lambda a, axis=0, keepdims=False, **k: reductions.prod(a, axis, keepdims=keepdims, **k),
    (np.maximum, "reduce"): lambda a, axis=0, keepdims=False, **k: reductions.max_(a, axis, keepdims=keepdims, **k),
    (np.minimum, "reduce"): lambda a, axis=0, keepdims=False, **k: reductions.min_(a, axis, keepdims=keepdims, **k),
    (np.add, "accumulate"): lambda a, axis=0, **k: reductions.cumsum(a, axis, **k),
    (np.multiply, "accumulate"): lambda a, axis=0, **k: reductions.cumprod(a, axis, **k),
    (np.multiply, "outer"): lambda a, b: products.tensordot(a, b, 0),
}


def _no_gradient(name: str, function: Callable[..., Any], dynamic: bool = False) -> Callable[..., Any]:
    """A function through which no gradient passes; its tensors may stand anywhere among the arguments."""

    def forward(*rest: Any) -> Any:
        *values, args, keys, kwargs = rest
        given = iter(values)
        filled = [next(given) if a is _HERE else a for a in args]
        return function(*filled, **dict(zip(keys, given, strict=True)), **dict(kwargs))

    op = Op(name, forward, dynamic=dynamic)

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {key: value for key, value in kwargs.items() if isinstance(value, Tensor)}
        tensors = tuple(a for a in args if isinstance(a, Tensor)) + tuple(named.values())
        template = tuple(_HERE if isinstance(a, Tensor) else a for a in args)
        rest = tuple((key, value) for key, value in kwargs.items() if key not in named)
        return apply(op, tensors, (template, tuple(named), rest))

    return call


_HERE = object()  # stands for a tensor among the arguments of a function without gradient

_METADATA: dict[Any, Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.result_type: lambda *a: np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in a)),
    np.can_cast: lambda a, to, casting="safe": np.can_cast(a.dtype, to, casting),
    np.zeros_like: lambda a, dtype=None, order="K", subok=True, shape=None, **k: np.zeros(
        a.shape if shape is None else shape, a.dtype if dtype is None else dtype
    ),
    np.ones_like: lambda a, dtype=None, order="K", subok=True, shape=None, **k: np.ones(
        a.shape if shape is None else shape, a.dtype if dtype is None else dtype
    ),
    np.full_like: lambda a, fill_value, dtype=None, order="K", subok=True, shape=None, **k: np.broadcast_to(
        fill_value, a.shape if shape is None else shape
    ).astype(a.dtype if dtype is None else dtype),
    np.empty_like: lambda a, dtype=None, order="K", subok=True, shape=None, **k: np.zeros(
        a.shape if shape is None else shape, a.dtype if dtype is None else dtype
    ),
    np.array_repr: lambda a, *_: repr(a),
    np.array_str: lambda a, *_: str(a),
}

FUNCTIONS: dict[Any, Callable[..., Any]] = _METADATA | {
    np.sum: reductions.sum_,
    np.mean: reductions.mean,
    np.average: reductions.average,
    np.var: reductions.var,
    np.std: reductions.std,
    np.prod: reductions.prod,
    np.max: reductions.max_,
    np.min: reductions.min_,
    np.ptp: lambda a, axis=None, out=None, keepdims=False: (
        reductions.max_(a, axis, out, keepdims) - reductions.min_(a, axis, out, keepdims)
    ),
    np.cumsum: reductions.cumsum,
    np.cumprod: reductions.cumprod,
    np.where: choosing.where,
    np.clip: choosing.clip,
    np.round: choosing.round_,
    np.fix: lambda x: np.trunc(x),
    np.reshape: shaping.reshape,
    np.ravel: shaping.ravel,
    np.transpose: shaping.transpose,
    np.swapaxes: shaping.swapaxes,
    np.moveaxis: shaping.moveaxis,
    np.rollaxis: shaping.rollaxis,
    np.expand_dims: shaping.expand_dims,
    np.squeeze: shaping.squeeze,
    np.broadcast_to: shaping.broadcast_to,
    np.broadcast_arrays: shaping.broadcast_arrays,
    np.atleast_1d: shaping.atleast_1d,
    np.atleast_2d: shaping.atleast_2d,
    np.flip: shaping.flip,
    np.fliplr: shaping.fliplr,
    np.flipud: shaping.flipud,
    np.roll: shaping.roll,
    np.rot90: shaping.rot90,
    np.tile: shaping.tile,
    np.repeat: shaping.repeat,
    np.pad: shaping.pad,
    np.copy: lambda a, order="K", subok=False: unary(arithmetic.POSITIVE, a),
    np.matrix_transpose: lambda x: np.swapaxes(x, -1, -2),
    np.take: indexing.take,
    np.take_along_axis: indexing.take_along_axis,
    np.sort: indexing.sort,
    np.diag: indexing.diag,
    np.diagonal: indexing.diagonal,
    np.trace: indexing.trace,
    np.triu: indexing.triu,
    np.tril: indexing.tril,
    np.diff: indexing.diff,
    np.split: indexing.split,
    np.array_split: indexing.array_split,
    np.vsplit: lambda a, n: indexing.split(a, n, 0),
    np.hsplit: lambda a, n: indexing.split(a, n, min(1, a.ndim - 1)),
    np.concatenate: joining.concatenate,
    np.stack: joining.stack,
    np.vstack: joining.vstack,
    np.hstack: joining.hstack,
    np.column_stack: joining.column_stack,
    np.append: joining.append,
    np.dot: products.dot,
    np.inner: products.inner,
    np.outer: products.outer,
    np.vdot: products.vdot,
    np.tensordot: products.tensordot,
    np.einsum: products.einsum,
    np.linalg.inv: linalg.inv,
    np.linalg.det: linalg.det,
    np.linalg.slogdet: linalg.slogdet,
    np.linalg.solve: linalg.solve,
    np.linalg.norm: linalg.norm,
    np.real: lambda x: x,
    np.nan_to_num: choosing.nan_to_num,
}
FUNCTIONS |= {  # further names and combinations of the above
    np.amax: reductions.max_,
    np.amin: reductions.min_,
    np.around: choosing.round_,
    np.nansum: lambda a, **k: np.sum(np.where(np.isnan(a), 0.0, a), **k),
    np.kron: products.kron,
    np.cross: products.cross,
    np.meshgrid: shaping.meshgrid,
    np.linalg.trace: lambda x, *, offset=0: indexing.trace(x, offset, -2, -1),
    np.linalg.diagonal: lambda x, *, offset=0: indexing.diagonal(x, offset, -2, -1),
    np.linalg.matrix_transpose: lambda x: np.swapaxes(x, -1, -2),
    np.linalg.vector_norm: lambda x, *, axis=None, keepdims=False, ord=2: linalg.norm(
        np.ravel(x) if axis is None and not keepdims else x, ord, axis, keepdims
    ),
    np.linalg.matmul: lambda a, b: a @ b,
    np.linalg.outer: products.outer,
    np.linalg.tensordot: lambda a, b, *, axes=2: products.tensordot(a, b, axes),
}
_STOPPING: list[Any] = [
    np.argmax, np.argmin, np.argsort, np.all, np.any, np.count_nonzero, np.isclose, np.allclose, np.array_equal,
    np.searchsorted,
]  # fmt: skip
_SHAPE_BY_VALUE: list[Any] = [np.unique, np.flatnonzero, np.argwhere]
FUNCTIONS |= {f: _no_gradient(f.__name__, f) for f in _STOPPING}
FUNCTIONS |= {f: _no_gradient(f.__name__, f, dynamic=True) for f in _SHAPE_BY_VALUE}
FUNCTIONS[np.nonzero] = lambda a: tuple(np.transpose(np.argwhere(a)))


def no_rule(name: str) -> TypeError:
    """The error for a function without a rule: names it and says what to do."""
    return TypeError(
        f"{name} has no gradient rule, so it cannot be applied to a tensor. Either give it one with "
        f"core.autodiff.custom_gradient, or, if no gradient has to pass, apply it to plain numbers: "
        f"stop_gradient(x).numpy()"
    )


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """numpy's way in for universal functions (``Tensor.__array_ufunc__``)."""
    if any(isinstance(o, Tensor) for o in options.get("out", ())):
        raise TypeError(f"a tensor cannot be changed in place: numpy.{ufunc.__name__} with out= a tensor")
    options = {key: value for key, value in options.items() if value is not None or key == "axis"}
    if method == "__call__":
        call = UFUNCS.get(ufunc)
        if call is None:
            raise no_rule(f"numpy.{ufunc.__name__}")
        dtype = options.pop("dtype", None)
        if "out" in options:
            raise TypeError(
                f"numpy.{ufunc.__name__} cannot write a tensor into a plain array (out=, or an in-place update such as "
                f"a += x): the connection to the gradient would be lost. Write a = a + x"
            )
        if options:
            raise TypeError(f"numpy.{ufunc.__name__} on tensors does not support {', '.join(options)}=")
        out = call(*inputs)
        return out if dtype is None else out.astype(dtype)
    call = UFUNC_METHODS.get((ufunc, method))
    if call is None:
        raise no_rule(f"numpy.{ufunc.__name__}.{method}")
    return call(*inputs, **options)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """numpy's way in for the other functions (``Tensor.__array_function__``)."""
    call = FUNCTIONS.get(function)
    if call is None:
        raise no_rule(f"{function.__module__}.{function.__name__}")
    return call(*args, **kwargs)


def install() -> None:
    """Make tensors use the tables above."""
    hooks.ufuncs = UFUNCS
    hooks.functions = FUNCTIONS
    hooks.call_ufunc = call_ufunc
    hooks.call_function = call_function
    hooks.getitem = indexing.getitem
    hooks.matmul = products.MATMUL
    hooks.astype = shaping.astype
