"""Which universal function of numpy is carried out by which rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules import arithmetic, choosing, complex_parts, elementwise, parts, products
from core.autodiff.tensor import binary, operand, power, unary

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
_NO_GRADIENT = [
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
    np.left_shift,
    np.right_shift,
    np.gcd,
    np.lcm,
    np.spacing,
]


def _of_op(op: Op) -> Callable[..., Any]:
    if op.forward is not None and (op.ufunc.nin if op.ufunc is not None else 1) == 1:
        return lambda x: unary(op, x)
    return lambda a, b: binary(op, a, b)


def _float_power(a: Any, b: Any) -> Any:
    """At least in float64, as numpy's."""
    a, b = (
        x if not hasattr(x, "dtype") else x.astype(np.result_type(x.dtype, np.float64)) for x in map(operand, (a, b))
    )
    return power(a, b)


UFUNCS: dict[Any, Callable[..., Any]] = {
    op.ufunc: _of_op(op) for op in _ARITHMETIC + elementwise.OPS + choosing.OPS + parts.OPS
}
UFUNCS |= {ufunc: _of_op(Op(ufunc.__name__, ufunc, ufunc=ufunc)) for ufunc in _NO_GRADIENT}
UFUNCS |= {
    np.power: power,
    np.float_power: _float_power,
    np.divmod: parts.divmod_,
    np.modf: parts.modf,
    np.ldexp: parts.ldexp,
    np.matmul: lambda a, b: binary(products.MATMUL, a, b),
    np.maximum: choosing.maximum,
    np.minimum: choosing.minimum,
    np.conjugate: complex_parts.conjugate,
    np.radians: lambda x: unary(elementwise.DEG2RAD, x),
    np.degrees: lambda x: unary(elementwise.RAD2DEG, x),
}
_NEWER = {"vecdot": products.vecdot, "matvec": products.matvec, "vecmat": products.vecmat}  # numpy 2.0, 2.2
UFUNCS |= {getattr(np, name): f for name, f in _NEWER.items() if hasattr(np, name)}
OWN_OPTIONS = {getattr(np, name) for name in _NEWER if hasattr(np, name)}
