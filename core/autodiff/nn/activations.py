"""Activation functions, stable for large inputs; each takes tensors or plain arrays and keeps the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.operation import Op
from core.autodiff.tensor import Tensor, apply, raw


def as_float(x: Any) -> Any:
    """``x`` as a tensor or plain array of floating type."""
    if isinstance(x, Tensor):
        return x if is_floating(x.dtype) else x.astype(np.float64)
    array = np.asarray(raw(x))
    return array if is_floating(array.dtype) else array.astype(np.float64)


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
    (lambda g, o, x: g * (o > 0).astype(o.dtype),),
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


def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish."""
    x = as_float(x)
    return x * sigmoid(x)


_erf = np.frompyfunc(math.erf, 1, 1)


def _erf_forward(x: Any) -> Any:
    return _scalar(np.asarray(_erf(x.astype(np.float64)), dtype=np.float64).astype(x.dtype))


ERF = Op("erf", _erf_forward, (lambda g, o, x: g * (2 / math.sqrt(math.pi) * np.exp(-x * x)),), elementwise=True)


def erf(x: Any) -> Any:
    """The error function."""
    return apply(ERF, (as_float(x),))


def gelu(x: Any, approximate: bool = False) -> Any:
    """x times the normal distribution function of x; ``approximate``: the form with tanh."""
    x = as_float(x)
    if approximate:
        near = np.clip(x, -10.0, 10.0)  # tanh is 1 from there on; the cube of a large x would overflow
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * (near * near * near))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))
