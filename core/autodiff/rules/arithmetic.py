"""Rules of the operators: + - * / // % ** and comparisons. Written in plain numpy, no tensors needed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16, limits
from core.autodiff.operation import Op


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y)


def _power_base_rule(g: Any, out: Any, x: Any, y: Any) -> Any:
    # y == 0 makes a constant: its slope is 0 even at x == 0, where y * x**(y - 1) would be 0 * inf. (Elsewhere it is
    # not put in: the slope changes with y, and second derivatives must see that.)
    zero = np.logical_and(y == 0, np.logical_not(np.abs(x) >= limits(out.dtype).tiny))
    return g * np.where(zero, 0.0, y * np.power(np.where(zero, 1.0, x), y - 1.0)).astype(out.dtype)


def _power_exponent_rule(g: Any, out: Any, x: Any, y: Any) -> Any:
    # 0**y is 0 for every y > 0, and its one-sided slope at y == 0 is taken as 0 too
    zero = x == 0
    return g * np.where(zero & (y >= 0), 0.0, np.log(np.where(zero & (y >= 0), 1.0, x)) * out).astype(out.dtype)


def _power_constant(x: Any, n: float) -> Any:
    return np.power(x, n) if x.dtype is not BFLOAT16 else np.power(x, BFLOAT16.type(n))


def _zero(g: Any, *_: Any) -> Any:
    return g.dtype.type(0)


ADD = Op(
    "add",
    operator.add,
    (lambda g, o, x, y: g, lambda g, o, x, y: g),
    keeps_inputs=False,
    elementwise=True,
    infix="+",
    ufunc=np.add,
)
SUBTRACT = Op(
    "subtract",
    operator.sub,
    (lambda g, o, x, y: g, lambda g, o, x, y: -g),
    keeps_inputs=False,
    elementwise=True,
    infix="-",
    ufunc=np.subtract,
)
MULTIPLY = Op(
    "multiply",
    operator.mul,
    (lambda g, o, x, y: g * y, lambda g, o, x, y: g * x),
    elementwise=True,
    unbounded=True,
    infix="*",
    ufunc=np.multiply,
)
DIVIDE = Op(
    "divide",
    operator.truediv,
    (lambda g, o, x, y: g / y, lambda g, o, x, y: -(g * o) / y),
    keeps_output=True,
    elementwise=True,
    unbounded=True,
    infix="/",
    ufunc=np.true_divide,
)
NEGATIVE = Op("negative", operator.neg, (lambda g, o, x: -g,), keeps_inputs=False, elementwise=True, ufunc=np.negative)
POSITIVE = Op("positive", operator.pos, (lambda g, o, x: g,), keeps_inputs=False, elementwise=True, ufunc=np.positive)
COPY = Op("positive", lambda x: x.copy(), (lambda g, o, x: g,), keeps_inputs=False, elementwise=True)
SQUARE = Op("square", np.square, (lambda g, o, x: g * (2 * x),), elementwise=True, unbounded=True, ufunc=np.square)
FLOOR_DIVIDE = Op(
    "floor_divide",
    operator.floordiv,
    (_zero, _zero),
    keeps_inputs=False,
    elementwise=True,
    selects=True,
    ufunc=np.floor_divide,
)
REMAINDER = Op(
    "remainder",
    operator.mod,
    # (x // y, not floor(x / y): 1 % 0.1 is 1 - 9 * 0.1, although 1 / 0.1 rounds to 10)
    (lambda g, o, x, y: g, lambda g, o, x, y: -g * np.floor_divide(x, y)),
    elementwise=True,
    unbounded=True,
    ufunc=np.remainder,
)
POWER = Op(
    "power",
    _power,
    (_power_base_rule, _power_exponent_rule),
    keeps_output=True,
    elementwise=True,
    unbounded=True,
    ufunc=np.power,
)
# a constant exponent, handed over as a parameter: power(x; n)
POWER_CONSTANT = Op(
    "power",
    _power_constant,
    (lambda g, o, x, n: g * (n * constant_power(x, n - 1)) if n != 0 else _zero(g),),
    elementwise=True,
    unbounded=True,
)

LESS = Op("less", operator.lt, ufunc=np.less, infix="<")
LESS_EQUAL = Op("less_equal", operator.le, ufunc=np.less_equal, infix="<=")
GREATER = Op("greater", operator.gt, ufunc=np.greater, infix=">")
GREATER_EQUAL = Op("greater_equal", operator.ge, ufunc=np.greater_equal, infix=">=")
EQUAL = Op("equal", operator.eq, ufunc=np.equal, infix="==")
NOT_EQUAL = Op("not_equal", operator.ne, ufunc=np.not_equal, infix="!=")


def constant_power(x: Any, n: float) -> Any:
    """``x ** n`` for a number n, by the same short cuts for tensors and arrays (n = 2 is one multiplication)."""
    return x**n if hasattr(x, "_id") else raw_power(x, n)


def raw_power(x: Any, n: float) -> Any:
    """The forward value of ``x ** n`` for plain arrays, as the tensors compute it."""
    if n == 2:
        return np.square(x)
    if n == 1:
        return +x
    if n == 0.5:
        return np.sqrt(x)
    if n == -1:
        return np.reciprocal(x)
    return np.power(x, n)
