"""Rules of the functions that take numbers apart or change their sign, and of sinc."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import floating
from core.autodiff.operation import Op
from core.autodiff.rules import arithmetic, choosing
from core.autodiff.tensor import apply, binary, operand, unary


def _zero(g: Any, *_: Any) -> Any:
    return g.dtype.type(0)


FMOD = Op(
    "fmod",
    np.fmod,
    (lambda g, o, x, y: g, lambda g, o, x, y: -g * np.trunc(x / y)),
    elementwise=True,
    unbounded=True,
    ufunc=np.fmod,
)
COPYSIGN = Op(
    "copysign",
    np.copysign,
    (lambda g, o, x, y: np.where(x != 0, g, g.dtype.type(0)) * (np.sign(x) * np.copysign(x.dtype.type(1), y)), _zero),
    elementwise=True,
    selects=True,
    ufunc=np.copysign,
)
HEAVISIDE = Op(
    "heaviside",
    np.heaviside,
    (_zero, lambda g, o, x, h: np.where(x == 0, g, g.dtype.type(0))),
    elementwise=True,
    selects=True,
    ufunc=np.heaviside,
)
NEXTAFTER = Op(
    "nextafter",
    np.nextafter,
    (lambda g, o, x, y: g, _zero),
    keeps_inputs=False,
    elementwise=True,
    ufunc=np.nextafter,
)
LDEXP = Op(
    "ldexp",
    np.ldexp,
    (lambda g, o, x, n: ldexp(g, n), None),
    elementwise=True,
)
OPS = [FMOD, COPYSIGN, HEAVISIDE, NEXTAFTER]


def ldexp(x: Any, n: Any) -> Any:
    """numpy.ldexp."""
    return apply(LDEXP, (operand(x), operand(n)))


def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """numpy.divmod."""
    return binary(arithmetic.FLOOR_DIVIDE, x, y), binary(arithmetic.REMAINDER, x, y)


def modf(x: Any) -> tuple[Any, Any]:
    """numpy.modf: the gradient passes through the fractional part, the whole part is a step."""
    if x.dtype.kind in "biu":
        x = x.astype(np.modf(np.ones(1, x.dtype))[0].dtype)
    whole = unary(choosing.TRUNC, x)
    # (of infinite numbers the fractional part is 0, not inf - inf)
    return np.copysign(np.where(np.isinf(x), x.dtype.type(0), x - whole), x), whole


def _sinc(x: Any, order: int) -> Any:
    """The derivative of this order of sin(y) / y at y = pi * x."""
    if order == 0:
        return np.sinc(x)
    y = np.asarray(np.pi * x, dtype=np.result_type(x.dtype, np.float64))
    found = np.sinc(y / np.pi)
    for n in range(1, order + 1):  # y f_n + n f_(n-1) = sin(y + n pi / 2)
        found = (np.sin(y + n * (np.pi / 2)) - n * found) / y
    near = np.abs(y) < order + 1  # there the recurrence cancels, and the series has few terms
    small = np.where(near, y, 0.0)
    series = np.zeros_like(small)
    for k in range(order // 2, order // 2 + 30):
        if 2 * k < order:
            continue
        factor = (-1.0) ** k / (2 * k + 1)
        for i in range(1, 2 * k - order + 1):
            factor = factor / i
        series = series + factor * small ** (2 * k - order)
    out = np.where(near, series, found).astype(x.dtype)
    return out if out.ndim else out[()]


SINC: Op = Op(
    "sinc",
    _sinc,
    (lambda g, o, x, order: g * (np.pi * apply(SINC, (x,), (order + 1,))),),
    elementwise=True,
)


def sinc(x: Any) -> Any:
    """numpy.sinc; smooth at 0, where its derivatives come from the series."""
    return apply(SINC, (floating(x, "sinc"),), (0,))
