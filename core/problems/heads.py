"""What a model's outputs mean: a number, one of two classes, or one of many; loss, prediction and metrics of each."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.autodiff import nn
from core.problems.samples import Samples

Array = NDArray[Any]


class Head(Protocol):
    """How outputs (..., rows[, width]) are scored against targets; leading axes are kept."""

    width: int  # outputs a row: 0 for a single number without an axis of its own
    formula: str

    def encode(self, targets: Array) -> Array:
        """Targets in the form ``cost`` takes."""

    def cost(self, outputs: Any, y: Any) -> Any:
        """Mean loss over the rows; arrays or tensors."""

    def cost_across(self, outputs: Array, y: Array) -> Array:
        """``cost`` of many weights at once: plain ``outputs`` (count, max(1, width), rows), rows last; (count,)."""

    def predict(self, outputs: Array) -> Array:
        """Numbers in the target's own unit, or the probability of every class (rows, classes)."""

    def metrics(self, outputs: Array, targets: Array) -> dict[str, float]:
        """Named figures of merit; ``targets`` as the samples hold them."""


class NumberHead:
    """Squared error: ``mean((output - y)²)``."""

    width = 0
    formula = "mean((output - y)²)"

    def __init__(self, samples: Samples) -> None:
        self._mean, self._scale = samples.target_mean, samples.target_scale

    def encode(self, targets: Array) -> Array:
        return targets

    def cost(self, outputs: Any, y: Any) -> Any:
        return np.mean(np.square(outputs - y), axis=-1)

    def cost_across(self, outputs: Array, y: Array) -> Array:
        return np.asarray(self.cost(outputs[:, 0], y))

    def predict(self, outputs: Array) -> Array:
        return outputs.astype(np.float64) * self._scale + self._mean

    def metrics(self, outputs: Array, targets: Array) -> dict[str, float]:
        residual = outputs.astype(np.float64) - targets
        spread = float(np.mean((targets - targets.mean()) ** 2))
        error = float(np.mean(residual**2))
        found = {"RMS error": error**0.5 * self._scale}
        if spread > 0:
            found["R²"] = 1.0 - error / spread
        return found


class BinaryHead:
    """Two classes, cross entropy of the sigmoid: ``mean(log(1 + exp z) - y z)``."""

    width = 0
    formula = "mean(log(1 + exp z) - y z)"

    def encode(self, targets: Array) -> Array:
        return targets

    def cost(self, outputs: Any, y: Any) -> Any:
        return np.mean(nn.softplus(outputs) - y * outputs, axis=-1)

    def cost_across(self, outputs: Array, y: Array) -> Array:
        return np.asarray(self.cost(outputs[:, 0], y))

    def predict(self, outputs: Array) -> Array:
        p = np.asarray(nn.sigmoid(outputs.astype(np.float64)))
        return np.stack([1 - p, p], axis=-1)

    def metrics(self, outputs: Array, targets: Array) -> dict[str, float]:
        return {"accuracy": float(np.mean((outputs > 0) == (targets > 0.5)))}


class SoftmaxHead:
    """Several classes, cross entropy of the softmax: ``mean(log(sum(exp z)) - z[y])``."""

    formula = "mean(log Σ exp z - z[class])"

    def __init__(self, classes: int) -> None:
        self.width = classes

    def encode(self, targets: Array) -> Array:
        return np.eye(self.width)[targets.astype(np.intp)]

    def cost(self, outputs: Any, y: Any) -> Any:
        return np.mean(nn.logsumexp(outputs, axis=-1) - np.sum(y * outputs, axis=-1), axis=-1)

    def cost_across(self, outputs: Array, y: Array) -> Array:
        largest = outputs.max(axis=1)
        picked = outputs.reshape(len(outputs), -1) @ y.T.reshape(-1) / outputs.dtype.type(len(y))
        outputs = outputs - largest[:, None]
        np.exp(outputs, out=outputs)
        return np.asarray(np.mean(np.log(outputs.sum(axis=1)) + largest, axis=-1) - picked)

    def predict(self, outputs: Array) -> Array:
        return np.asarray(nn.softmax(outputs.astype(np.float64), axis=-1))

    def metrics(self, outputs: Array, targets: Array) -> dict[str, float]:
        return {"accuracy": float(np.mean(outputs.argmax(axis=-1) == targets))}


def head_for(samples: Samples) -> Head:
    """The head that fits the targets."""
    if not samples.classes:
        return NumberHead(samples)
    return BinaryHead() if samples.classes == 2 else SoftmaxHead(samples.classes)
