"""Models without hidden layers: linear, polynomial and ridge regression, logistic and softmax regression."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from core.problems.datasets import Dataset
from core.problems.models import Array, ModelObjective
from core.problems.objective import ProblemError, ProblemParameter, VariableSpec
from core.problems.options import (
    BATCH_SIZE,
    L2,
    REPLACEMENT,
    SPLIT_SEED,
    STANDARDISE,
    STANDARDISE_TARGET,
    TEST_FRACTION,
)
from core.problems.samples import Samples

MAX_TERMS = 500


class LinearModel(ModelObjective):
    """``z = x @ w + b``: one number a row, or with more than two classes one a class."""

    def build(self) -> tuple[VariableSpec, ...]:
        columns, width = self.samples.train_x.shape[1], self.head.width
        if width:
            return (VariableSpec("W", (columns, width)), VariableSpec("b", (width,), "bias"))
        return (VariableSpec("w", (columns,)), VariableSpec("b", (), "bias"))

    def column_names(self) -> tuple[str, ...]:
        """What the columns the weights belong to are called."""
        return self.samples.dataset.feature_names

    def name_components(self) -> tuple[str, ...]:
        if not self.head.width:
            return (*self.column_names(), "bias")
        classes = self.samples.dataset.classes
        return (
            *(f"{column} → {name}" for column in self.column_names() for name in classes),
            *(f"bias → {name}" for name in classes),
        )

    def outputs(self, parameters: Sequence[Any], x: Any, extras: Sequence[Any] = ()) -> Any:
        w, b = parameters
        return x @ w + b

    def batch_outputs(self, points: Sequence[Array], x: Array, extras: Sequence[Array] = ()) -> Array:
        w, b = points
        if self.head.width:
            return np.asarray(x @ w + b[:, None, :])
        return np.asarray(w @ x.T + b[:, None])


class LogisticRegression(LinearModel):
    """Two classes, ``z = x @ w + b``, loss ``mean(log(1 + exp z) - y z)``."""

    name = "logistic_regression"
    title = "Logistic regression"
    formula = "mean(log(1 + exp z) - y z) + λ/2 |w|², z = x·w + b"
    description = "Two classes from a table, by mini-batches; one weight a feature, and a bias."
    target_kind = "classes"

    def prepare_samples(self, dataset: Dataset) -> Samples:
        samples = super().prepare_samples(dataset)
        if samples.classes != 2:
            found = f"{dataset.name} has {samples.classes} classes; use softmax_regression"
            if samples.classes < 2:
                found = f"in {dataset.name} all rows are of one class"
            raise ProblemError(f"logistic regression separates two classes; {found}")
        return samples


class SoftmaxRegression(LinearModel):
    """Several classes, ``z = x @ W + b``, cross entropy of the softmax."""

    name = "softmax_regression"
    title = "Softmax regression"
    formula = "mean(log Σ exp z - z[class]) + λ/2 |W|², z = x·W + b"
    description = "Several classes from a table; one column of weights a class."
    target_kind = "classes"
    default_data = "iris"

    def prepare_samples(self, dataset: Dataset) -> Samples:
        samples = super().prepare_samples(dataset)
        if samples.classes < 3:
            raise ProblemError(
                f"softmax regression separates three or more classes; {dataset.name} has {samples.classes}; "
                "use logistic_regression"
            )
        return samples


class LinearRegression(LinearModel):
    """A number from a table, ``z = x @ w + b``, squared error."""

    name = "linear_regression"
    title = "Linear regression"
    formula = "mean((x·w + b - y)²) + λ/2 |w|²"
    description = "A number from a table by least squares."
    target_kind = "number"
    default_data = "diabetes"
    option_parameters: ClassVar[tuple[ProblemParameter, ...]] = (
        REPLACEMENT, TEST_FRACTION, SPLIT_SEED, STANDARDISE, STANDARDISE_TARGET,
    )  # fmt: skip


class RidgeRegression(LinearRegression):
    """Linear regression with an L2 penalty from the start."""

    name = "ridge_regression"
    title = "Ridge regression"
    description = "Least squares with a penalty on the squared weights: the loss itself holds the decay."
    parameters = (BATCH_SIZE, dataclasses.replace(L2, default=0.1))


class PolynomialRegression(LinearRegression):
    """Linear regression on all products of the features up to a degree, each standardised."""

    name = "polynomial_regression"
    title = "Polynomial regression"
    formula = "mean((p(x) - y)²) + λ/2 |w|², p a polynomial"
    description = "A curve through points: the powers are nearly parallel, so the valley is long and narrow."
    default_data = "sine"
    option_parameters = (
        ProblemParameter("degree", "d", 5, 1, 12, "integer", minimum=1, maximum=30,
                         tooltip="Highest power; higher ones make the problem worse conditioned"),
        *LinearRegression.option_parameters,
    )  # fmt: skip

    def prepare_samples(self, dataset: Dataset) -> Samples:
        samples = super().prepare_samples(dataset)
        self._terms = _terms(samples.train_x.shape[1], int(self.options["degree"]), dataset.name)
        raised = _raise(samples.train_x, self._terms)
        self._term_mean = raised.mean(axis=0)
        spread = raised.std(axis=0)
        self._term_scale = np.where(spread > 0, spread, 1.0)
        if not self.options["standardise"]:
            self._term_mean, self._term_scale = np.zeros(len(self._terms)), np.ones(len(self._terms))
        return dataclasses.replace(samples, train_x=self._expand(samples.train_x), test_x=self._expand(samples.test_x))

    def transform(self, features: Array) -> Array:
        return self._expand(super().transform(features))

    def _expand(self, x: Array) -> Array:
        return np.asarray((_raise(x, self._terms) - self._term_mean) / self._term_scale)

    def column_names(self) -> tuple[str, ...]:
        names = self.samples.dataset.feature_names
        return tuple(
            "·".join(
                names[column] + (f"^{term.count(column)}" if term.count(column) > 1 else "")
                for column in sorted(set(term))
            )
            for term in self._terms
        )


def _terms(columns: int, degree: int, name: str) -> tuple[tuple[int, ...], ...]:
    """Column numbers multiplied together in every term, by degree."""
    found: list[tuple[int, ...]] = []
    for power in range(1, degree + 1):
        for term in itertools.combinations_with_replacement(range(columns), power):
            found.append(term)
            if len(found) > MAX_TERMS:
                raise ProblemError(
                    f"{name}: degree {degree} of {columns} features makes more than {MAX_TERMS} terms; "
                    "choose a lower degree or fewer features"
                )
    return tuple(found)


def _raise(x: Array, terms: Sequence[tuple[int, ...]]) -> Array:
    return np.column_stack([np.prod(x[:, list(term)], axis=1) for term in terms])
