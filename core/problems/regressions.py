"""Regression models on tables: logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.problems.datasets import Dataset
from core.problems.models import Array, ModelObjective
from core.problems.objective import ProblemError, VariableSpec
from core.problems.samples import Samples


class LogisticRegression(ModelObjective):
    """Two classes, ``z = x @ w + b``, loss ``mean(log(1 + exp(z)) - y z)``."""

    name = "logistic_regression"
    title = "Logistic regression"
    formula = "mean(log(1 + exp z) - y z) + λ/2 |w|², z = x·w + b"
    description = "Two classes from a table, by mini-batches; one weight a feature, and a bias."

    def prepare_samples(self, dataset: Dataset) -> Samples:
        dataset = dataset.as_classes()
        if len(dataset.classes) != 2:
            raise ProblemError(
                f"logistic regression separates two classes; {dataset.name} has {len(dataset.classes)} classes; "
                "use softmax_regression"
            )
        return super().prepare_samples(dataset)

    def build(self) -> tuple[VariableSpec, ...]:
        return (VariableSpec("w", (self.samples.train_x.shape[1],)), VariableSpec("b", (), "bias"))

    def name_components(self) -> tuple[str, ...]:
        return (*self.samples.dataset.feature_names, "bias")

    def outputs(self, parameters: Sequence[Any], x: Any) -> Any:
        w, b = parameters
        return x @ w + b

    def batch_outputs(self, points: Sequence[Array], x: Array) -> Array:
        w, b = points
        return np.asarray(w @ x.T + b[:, None])

    def cost(self, outputs: Any, y: Any) -> Any:
        return np.mean(np.logaddexp(0, outputs) - y * outputs, axis=-1)

    def metrics(self, weights: NDArray[Any]) -> dict[str, float]:
        found: dict[str, float] = {}
        parts = [np.asarray(part) for part in self.split(np.asarray(weights)).values()]
        for part in ("train", "test"):
            x, y = self.rows(part, weights.dtype)
            if len(y):
                z = self.outputs(parts, x)
                found[f"{part} accuracy"] = float(np.mean((z > 0) == (y > 0.5)))
                found[f"{part} loss"] = float(self.cost(z, y))
        return found
