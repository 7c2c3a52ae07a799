"""Rules of the smooth functions of one argument, and of logaddexp, arctan2, hypot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.autodiff.operation import Op, Rule

LN2 = math.log(2.0)
LN10 = math.log(10.0)


def _from_input(ufunc: np.ufunc, rule: Rule, unbounded: bool = False) -> Op:
    return Op(ufunc.__name__, ufunc, (lambda g, o, x: rule(g, x),), elementwise=True, unbounded=unbounded, ufunc=ufunc)


def _from_output(ufunc: np.ufunc, rule: Rule, unbounded: bool = False) -> Op:
    return Op(
        ufunc.__name__,
        ufunc,
        (lambda g, o, x: rule(g, o),),
        keeps_inputs=False,
        keeps_output=True,
        elementwise=True,
        unbounded=unbounded,
        ufunc=ufunc,
    )


EXP = _from_output(np.exp, lambda g, o: g * o, unbounded=True)
EXP2 = _from_output(np.exp2, lambda g, o: g * (o * LN2), unbounded=True)
EXPM1 = _from_input(np.expm1, lambda g, x: g * np.exp(x), unbounded=True)  # (o + 1 would cancel for negative x)
LOG = _from_input(np.log, lambda g, x: g / x, unbounded=True)
LOG1P = _from_input(np.log1p, lambda g, x: g / (1 + x), unbounded=True)
LOG2 = _from_input(np.log2, lambda g, x: g / (x * LN2), unbounded=True)
LOG10 = _from_input(np.log10, lambda g, x: g / (x * LN10), unbounded=True)
SQRT = _from_output(np.sqrt, lambda g, o: g * 0.5 / o, unbounded=True)
CBRT = _from_output(np.cbrt, lambda g, o: g / (3 * (o * o)), unbounded=True)
RECIPROCAL = _from_output(np.reciprocal, lambda g, o: -g * (o * o), unbounded=True)
SIN = _from_input(np.sin, lambda g, x: g * np.cos(x))
COS = _from_input(np.cos, lambda g, x: -g * np.sin(x))
TAN = _from_output(np.tan, lambda g, o: g * (1 + o * o), unbounded=True)
ARCSIN = _from_input(np.arcsin, lambda g, x: g / np.sqrt(1 - x * x), unbounded=True)
ARCCOS = _from_input(np.arccos, lambda g, x: -g / np.sqrt(1 - x * x), unbounded=True)
ARCTAN = _from_input(np.arctan, lambda g, x: g / (1 + x * x))
SINH = _from_input(np.sinh, lambda g, x: g * np.cosh(x), unbounded=True)
COSH = _from_input(np.cosh, lambda g, x: g * np.sinh(x), unbounded=True)
TANH = _from_output(np.tanh, lambda g, o: _times_one_minus_square(g, o))
ARCSINH = _from_input(np.arcsinh, lambda g, x: g / np.sqrt(1 + x * x))
ARCCOSH = _from_input(np.arccosh, lambda g, x: g / np.sqrt(x * x - 1), unbounded=True)
ARCTANH = _from_input(np.arctanh, lambda g, x: g / (1 - x * x), unbounded=True)
DEG2RAD = _from_input(np.deg2rad, lambda g, x: g * (math.pi / 180))
RAD2DEG = _from_input(np.rad2deg, lambda g, x: g * (180 / math.pi))


def _times_one_minus_square(g: Any, o: Any) -> Any:
    """``g * (1 - o * o)``; on plain arrays without two of the three intermediate arrays, to the same bits."""
    if not isinstance(o, np.ndarray):
        return g * (1 - o * o)
    t = o * o
    np.subtract(1.0, t, t)
    if not isinstance(g, np.ndarray) or g.strides != t.strides or g.dtype != t.dtype:
        return g * t
    return np.multiply(g, t, t)


def _share(a: Any, b: Any, out: Any) -> Any:
    """``exp(a - out)``, how much of logaddexp comes from a; equal infinities share half and half."""
    taken = np.isinf(out) & (a == out)  # only there: a constant half at finite ties would lose the second derivative
    whole = np.where(a == b, 0.5, 1.0)
    return np.where(taken, whole, np.exp(np.where(taken, 0.0, a - out))).astype(out.dtype)


LOGADDEXP = Op(
    "logaddexp",
    np.logaddexp,
    (lambda g, o, x, y: g * _share(x, y, o), lambda g, o, x, y: g * _share(y, x, o)),
    keeps_output=True,
    elementwise=True,
    ufunc=np.logaddexp,
)
LOGADDEXP2 = Op(
    "logaddexp2",
    np.logaddexp2,
    (
        lambda g, o, x, y: g * _share(x * LN2, y * LN2, o * LN2),
        lambda g, o, x, y: g * _share(y * LN2, x * LN2, o * LN2),
    ),
    keeps_output=True,
    elementwise=True,
    ufunc=np.logaddexp2,
)
ARCTAN2 = Op(
    "arctan2",
    np.arctan2,
    (lambda g, o, y, x: g * _toward(x, y, x), lambda g, o, y, x: -g * _toward(y, y, x)),
    elementwise=True,
    ufunc=np.arctan2,
)
HYPOT = Op(
    "hypot",
    np.hypot,
    (lambda g, o, x, y: g * _cosine(x, o), lambda g, o, x, y: g * _cosine(y, o)),
    keeps_output=True,
    elementwise=True,
    ufunc=np.hypot,
)


def _cosine(x: Any, length: Any) -> Any:
    """``x / length``, 0 where the length is 0 (the sub-gradient of least norm)."""
    one = length.dtype.type(1)
    zero = length == 0
    return np.where(zero, one - one, x / np.where(zero, one, length))


def _toward(numerator: Any, y: Any, x: Any) -> Any:
    """``numerator / (x**2 + y**2)`` without overflow, 0 at the origin, where the angle has no derivative."""
    length = np.hypot(x, y)
    zero = length == 0
    one = length.dtype.type(1)
    safe = np.where(zero, one, length)
    return np.where(zero, one - one, numerator / safe / safe)


OPS = [
    EXP,
    EXP2,
    EXPM1,
    LOG,
    LOG1P,
    LOG2,
    LOG10,
    SQRT,
    CBRT,
    RECIPROCAL,
    SIN,
    COS,
    TAN,
    ARCSIN,
    ARCCOS,
    ARCTAN,
    SINH,
    COSH,
    TANH,
    ARCSINH,
    ARCCOSH,
    ARCTANH,
    DEG2RAD,
    RAD2DEG,
    LOGADDEXP,
    LOGADDEXP2,
    ARCTAN2,
    HYPOT,
]
