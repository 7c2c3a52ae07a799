"""Activation functions, stable for large inputs; each takes tensors or plain arrays and keeps the shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.dtypes import floating
from core.autodiff.operation import Op
from core.autodiff.rules.choosing import kept
from core.autodiff.tensor import Tensor, apply, arrayed


def as_float(x: Any) -> Any:
    """``x`` as a tensor or plain array of floating type."""
    if isinstance(x, Tensor):
        return floating(x, "nn")
    return floating(arrayed(x), "nn")


def _scalar(out: Any) -> Any:
    return out if out.ndim else out[()]


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return _scalar(np.where(x >= 0, 1, e) / (1 + e))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


RELU = Op(
    "relu",
    lambda x: np.maximum(x, x.dtype.type(0)),
    (lambda g, o, x: kept(o > 0, g),),
    keeps_inputs=False,
    keeps_output=True,
    elementwise=True,
    selects=True,
)
SIGMOID = Op(
    "sigmoid", _sigmoid, (lambda g, o, x: g * (o * (1 - o)),), keeps_inputs=False, keeps_output=True, elementwise=True
)
SOFTPLUS = Op("softplus", _softplus, (lambda g, o, x: g * sigmoid(x),), elementwise=True)


def relu(x: Any) -> Any:
    """max(x, 0); slope 0 at 0 (as in TensorFlow, PyTorch and JAX)."""
    return apply(RELU, (as_float(x),))


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where positive, ``negative_slope * x`` elsewhere (also the slope at 0, as in TensorFlow and PyTorch)."""
    x = as_float(x)
    return np.where(x > 0, x, x * negative_slope)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    x = as_float(x)
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    return apply(SIGMOID, (as_float(x),))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return apply(SOFTPLUS, (as_float(x),))


_FAR = 1e4  # from there on silu is 0 or x to the last bit, in all types; infinite times 0 would be nan


def _silu_slope(x: Any) -> Any:
    near = np.clip(x, -_FAR, _FAR)
    s = sigmoid(near)
    return s * (1 + near * (1 - s))


SILU = Op(
    "silu",
    lambda x: np.maximum(x, x.dtype.type(-_FAR)) * _sigmoid(x),
    (lambda g, o, x: g * _silu_slope(x),),
    elementwise=True,
)


def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish."""
    return apply(SILU, (as_float(x),))


def _elementwise(f: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of Python's math for arrays of any floating type."""
    each = np.frompyfunc(f, 1, 1)
    return lambda x: _scalar(np.asarray(each(x.astype(np.float64)), dtype=np.float64).astype(x.dtype))


_ROOT_PI = math.sqrt(math.pi)


def _bell(x: Any) -> Any:
    """exp(-x**2), also for infinite x and to any order."""
    near = np.clip(x, -30.0, 30.0)
    return np.exp(-near * near)


ERF = Op("erf", _elementwise(math.erf), (lambda g, o, x: g * (2 / _ROOT_PI * _bell(x)),), elementwise=True)
ERFC = Op("erfc", _elementwise(math.erfc), (lambda g, o, x: -g * (2 / _ROOT_PI * _bell(x)),), elementwise=True)


def erf(x: Any) -> Any:
    """The error function."""
    return apply(ERF, (as_float(x),))


def gelu(x: Any, approximate: bool = False) -> Any:
    """x times the normal distribution function of x; ``approximate``: the form with tanh."""
    x = as_float(x)
    if approximate:
        near = np.clip(x, -10.0, 10.0)  # tanh is 1 from there on; the cube of a large x would overflow
        inside = 0.5 * near * (1 + np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * (near * near * near))))
        return np.where(x > 10, x, inside)
    near = np.clip(x, -100.0, 100.0)  # so that infinite x do not meet a 0
    inside = 0.5 * near * apply(ERFC, (near * -math.sqrt(0.5),))  # (1 + erf would cancel for negative x)
    return np.where(x > 100, x, inside)
