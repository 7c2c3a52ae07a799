"""Batch and layer normalisation; the gradient with batch statistics held constant, and the part through them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff.custom import stop_gradient
from core.autodiff.functions import Params, value_and_gradients_function
from core.autodiff.nn.activations import as_float
from core.autodiff.state import state


def _wide(x: Any) -> Any:
    """16-bit numbers as float32: their squares overflow from 256 on (PyTorch computes statistics the same way)."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _narrow(out: Any, given: Any) -> Any:
    return out.astype(given) if given.itemsize == 2 and out.dtype == np.float32 else out


def batch_norm(
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    moving_mean: Any = None,
    moving_variance: Any = None,
    *,
    training: bool = True,
    epsilon: float = 1e-5,
    axis: Any = 0,
    hold_statistics: bool = False,
) -> Any:
    """``gamma * (x - mean) / sqrt(variance + epsilon) + beta`` (Ioffe and Szegedy 2015).

    Training: mean and biased variance of the batch over ``axis`` (one or several axes of x), through which the
    gradient flows unless ``hold_statistics`` (or ``statistics_held_constant``). Inference (``training=False``):
    the moving ones given. ``gamma`` and ``beta`` broadcast against x; None means 1 and 0.
    """
    x = as_float(x)
    given, x = x.dtype, _wide(x)
    if training:
        mean = np.mean(x, axis=axis, keepdims=True)
        centred = x - mean
        variance = np.mean(centred * centred, axis=axis, keepdims=True)
        if hold_statistics or state.statistics_held:
            centred = x - stop_gradient(mean)
            variance = stop_gradient(variance)
    else:
        if moving_mean is None or moving_variance is None:
            raise ValueError("batch_norm in inference (training=False) needs moving_mean and moving_variance")
        centred, variance = x - moving_mean, as_float(moving_variance)
    out = _narrow(centred / np.sqrt(variance + epsilon), given)
    if gamma is not None:
        out = out * gamma
    return out if beta is None else out + beta


def layer_norm(x: Any, gamma: Any = None, beta: Any = None, *, epsilon: float = 1e-5, axis: Any = -1) -> Any:
    """As batch_norm in training, but over the features (``axis``) of each example (Ba et al. 2016)."""
    x = as_float(x)
    given, x = x.dtype, _wide(x)
    centred = x - np.mean(x, axis=axis, keepdims=True)
    out = _narrow(centred / np.sqrt(np.mean(centred * centred, axis=axis, keepdims=True) + epsilon), given)
    if gamma is not None:
        out = out * gamma
    return out if beta is None else out + beta


def moving_statistics(
    moving_mean: Any, moving_variance: Any, x: Any, *, momentum: float = 0.1, unbiased: bool = True, axis: Any = 0
) -> tuple[Any, Any]:
    """Moving mean and variance after seeing the batch x: ``(1 - momentum) * old + momentum * batch``.

    The default is PyTorch's; Keras keeps the biased variance and calls ``1 - momentum`` momentum
    (``momentum=0.01, unbiased=False``).
    """
    values = np.asarray(x, dtype=np.float64) if not hasattr(x, "dtype") else x
    mean, variance = np.mean(values, axis=axis), np.var(values, axis=axis, ddof=int(unbiased))
    keep = 1 - momentum
    return keep * moving_mean + momentum * mean, keep * moving_variance + momentum * variance


@contextmanager
def statistics_held_constant() -> Iterator[None]:
    """Inside, batch_norm in training computes the same values but sends no gradient through mean and variance."""
    before = state.statistics_held
    state.statistics_held = True
    try:
        yield
    finally:
        state.statistics_held = before


def hold_statistics(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with batch statistics held constant; for any of the ways to ask for gradients, compile_gradient too."""

    @functools.wraps(f)
    def held(*args: Any, **kwargs: Any) -> Any:
        with statistics_held_constant():
            return f(*args, **kwargs)

    return held


@dataclass(frozen=True, slots=True)
class SplitGradient:
    """The gradient of a loss with batch normalisation in two parts: ``held[i] + through[i] = full[i]``."""

    value: Any
    full: list[Any]
    held: list[Any]
    through: list[Any]


def split_gradient(f: Callable[..., Any], params: Params = None) -> Callable[..., SplitGradient]:
    """A function that returns f's gradients split into the part with batch statistics held constant (``held``)
    and the part that flows through mean and variance (``through``)."""
    whole = value_and_gradients_function(f, params)
    part = value_and_gradients_function(hold_statistics(f), params)

    def split(*args: Any) -> SplitGradient:
        value, full = whole(*args)
        _, held = part(*args)
        held = [
            h if h is not None or g is None else np.zeros(g.shape, g.dtype) for h, g in zip(held, full, strict=True)
        ]
        through = [None if g is None else g - h for g, h in zip(full, held, strict=True)]
        return SplitGradient(value, full, held, through)

    return split
