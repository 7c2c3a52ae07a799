"""Losses: mean squared, Huber, and cross-entropies from logits; stable for large inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.nn.activations import as_float, sigmoid
from core.autodiff.nn.softmax import log_softmax
from core.autodiff.operation import Op
from core.autodiff.rules.indexing import take_along_axis
from core.autodiff.tensor import Tensor, apply, raw


def reduced(losses: Any, reduction: str) -> Any:
    """The mean, the sum, or ('none') the losses themselves."""
    if reduction == "mean":
        return np.mean(losses)
    if reduction == "sum":
        return np.sum(losses)
    if reduction == "none":
        return losses
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


def mean_squared_error(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """``(prediction - target)**2``, without a half."""
    return reduced(np.square(as_float(prediction) - as_float(target)), reduction)


def huber(prediction: Any, target: Any, delta: Any = 1.0, reduction: str = "mean") -> Any:
    """``r**2 / 2`` up to ``|r| = delta``, from there on the tangent ``delta * (|r| - delta / 2)`` (Huber 1964)."""
    if not isinstance(delta, Tensor) and not delta > 0:
        raise ValueError(f"huber: delta must be positive, {delta} was given")
    r = as_float(prediction) - as_float(target)
    q = np.clip(r, -delta, delta)
    return reduced(q * (r - 0.5 * q), reduction)


def softmax_cross_entropy(logits: Any, labels: Any, axis: int = -1, reduction: str = "mean") -> Any:
    """``-log(softmax(logits))`` at the labels: integers, or probabilities (one-hot) of the shape of the logits."""
    logits = as_float(logits)
    log_p = log_softmax(logits, axis)
    if not isinstance(labels, Tensor):
        labels = np.asarray(raw(labels))
    if labels.dtype.kind in "iu" and labels.shape != logits.shape:
        _check_classes(raw(labels), logits.shape, axis)
        picked = take_along_axis(log_p, np.expand_dims(labels, axis), axis)
        return reduced(-np.squeeze(picked, axis=axis), reduction)
    if labels.shape != logits.shape:
        raise ValueError(
            f"labels of shape {labels.shape} for logits of shape {logits.shape}: give class numbers "
            f"without the class axis, or one probability for each logit"
        )
    impossible = np.logical_and(np.equal(labels, 0), np.isinf(log_p))  # 0 * log(0) is 0 there
    return reduced(-np.sum(labels * np.where(impossible, log_p.dtype.type(0), log_p), axis=axis), reduction)


def _check_classes(labels: Any, shape: tuple[int, ...], axis: int) -> None:
    """A class number below 0 would silently count from the end."""
    examples = shape[:axis] + shape[axis % len(shape) + 1 :]
    try:
        fits = np.broadcast_shapes(labels.shape, examples) == examples
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"class numbers of shape {labels.shape} for logits of shape {shape}: one number for each example, "
            f"shape {examples}"
        )
    classes = shape[axis]
    wrong = (labels < 0) | (labels >= classes)
    if np.any(wrong):
        raise ValueError(f"class numbers go from 0 to {classes - 1}, {np.asarray(labels)[wrong].flat[0]} was given")


def _sigmoid_loss(z: Any, y: Any) -> Any:
    size = np.abs(z)
    wrong = np.where(z >= 0, 1 - y, y)  # how much of the label is on the other side; 0 also where z is infinite
    return np.where(wrong == 0, wrong, size * wrong) + np.log1p(np.exp(-size))


SIGMOID_CROSS_ENTROPY = Op(
    "sigmoid_cross_entropy",
    _sigmoid_loss,
    # sigmoid(z) - y, written so that nothing cancels for y = 0 and y = 1
    (lambda g, o, z, y: g * ((1 - y) * sigmoid(z) - y * sigmoid(-z)), lambda g, o, z, y: -g * z),
    elementwise=True,
)


def sigmoid_cross_entropy(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """``-y * log(p) - (1 - y) * log(1 - p)`` with ``p = sigmoid(logits)``; labels y from 0 to 1."""
    return reduced(apply(SIGMOID_CROSS_ENTROPY, (as_float(logits), as_float(labels))), reduction)
