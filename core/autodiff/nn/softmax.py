"""softmax, log_softmax and logsumexp over axes, stable for large inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.nn.activations import as_float
from core.autodiff.operation import Op
from core.autodiff.rules.axes import kept_shape, normalise
from core.autodiff.tensor import apply


def _shift(x: Any, axes: Any) -> Any:
    largest = np.maximum.reduce(x, axis=axes, keepdims=True)
    return np.where(np.isfinite(largest), largest, largest.dtype.type(0))


def _softmax(x: Any, axes: Any) -> Any:
    e = np.exp(x - np.maximum.reduce(x, axis=axes, keepdims=True))
    return e / np.add.reduce(e, axis=axes, keepdims=True)


def _log_softmax(x: Any, axes: Any) -> Any:
    moved = x - np.maximum.reduce(x, axis=axes, keepdims=True)
    return moved - np.log(np.add.reduce(np.exp(moved), axis=axes, keepdims=True))


def _logsumexp(x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    largest = _shift(x, axes)
    out = np.log(np.add.reduce(np.exp(x - largest), axis=axes, keepdims=True)) + largest
    if keepdims:
        return out
    out = np.squeeze(out, axis=axes)
    return out if out.ndim else out[()]


def _softmax_rule(g: Any, out: Any, x: Any, axes: Any) -> Any:
    return (g - np.add.reduce(g * out, axis=axes, keepdims=True)) * out


def _log_softmax_rule(g: Any, out: Any, x: Any, axes: Any) -> Any:
    return g - np.exp(out) * np.add.reduce(g, axis=axes, keepdims=True)


def _logsumexp_rule(g: Any, out: Any, x: Any, axes: Any, keepdims: bool, kept: Any) -> Any:
    if not keepdims:
        g = g.reshape(kept)
    return g * apply(WEIGHTS, (x,), (axes,))


def _weights(x: Any, axes: Any) -> Any:
    """softmax, where infinite entries share equally what softmax leaves undetermined (as logaddexp)."""
    largest = np.maximum.reduce(x, axis=axes, keepdims=True)
    first = x == largest
    with np.errstate(invalid="ignore"):
        e = np.where(np.isinf(largest), first, np.exp(x - largest)).astype(x.dtype)
    return e / np.add.reduce(e, axis=axes, keepdims=True)


SOFTMAX = Op("softmax", _softmax, (_softmax_rule,), keeps_inputs=False, keeps_output=True)
WEIGHTS = Op("softmax", _weights, (_softmax_rule,), keeps_inputs=False, keeps_output=True)
LOG_SOFTMAX = Op("log_softmax", _log_softmax, (_log_softmax_rule,), keeps_inputs=False, keeps_output=True)
LOGSUMEXP = Op("logsumexp", _logsumexp, (_logsumexp_rule,))


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    axes = normalise(axis, x.ndim)
    return tuple(range(x.ndim)) if axes is None else axes


def softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)) over ``axis``."""
    x = as_float(x)
    return apply(SOFTMAX, (x,), (_axes(x, axis),))


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """log(softmax(x)) over ``axis``, exact also where softmax underflows."""
    x = as_float(x)
    return apply(LOG_SOFTMAX, (x,), (_axes(x, axis),))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over ``axis`` (default all)."""
    x = as_float(x)
    axes = _axes(x, axis)
    return apply(LOGSUMEXP, (x,), (axes, keepdims, kept_shape(x.shape, axes)))
