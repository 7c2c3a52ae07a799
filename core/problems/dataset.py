"""A data set as models take it: features, targets and their names."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.problems.objective import ProblemError

MAX_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Dataset:
    """``features`` (rows, columns) float64 and ``targets`` (rows,): numbers, or class indices into ``classes``.

    ``classes`` is empty when the target is a number. ``notes`` say what reading the data has decided or left out.
    """

    name: str
    features: NDArray[np.float64]
    targets: NDArray[np.float64]
    feature_names: tuple[str, ...]
    target_name: str
    classes: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.targets.shape != self.features.shape[:1]:
            raise ProblemError(
                f"{self.name}: features {self.features.shape} and targets {self.targets.shape} do not fit; "
                "(rows, columns) and (rows,) are needed"
            )
        if not len(self.targets) or not self.features.shape[1]:
            raise ProblemError(f"{self.name}: at least one row and one feature are needed")
        for array in (self.features, self.targets):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.targets)

    def as_classes(self) -> Dataset:
        """The same data with the target read as classes; ProblemError when its numbers cannot be classes."""
        if self.classes:
            return self
        values, positions = np.unique(self.targets, return_inverse=True)
        if len(values) > MAX_CLASSES or not np.array_equal(values, np.round(values)):
            raise ProblemError(
                f"{self.name}: the target {self.target_name!r} is a number with {len(values)} different values, not a "
                "class; choose another target column, or a regression model"
            )
        names = tuple(f"{value:.0f}" for value in values)
        return Dataset(
            self.name, self.features, positions.astype(np.float64), self.feature_names, self.target_name,
            names, self.source, self.notes,
        )  # fmt: skip

    def as_numbers(self) -> Dataset:
        """The same data for a model that predicts a number; ProblemError when the target is text."""
        if not self.classes:
            return self
        try:
            numbers = np.array([float(name) for name in self.classes])
        except ValueError:
            raise ProblemError(
                f"{self.name}: the target {self.target_name!r} is text ({', '.join(self.classes[:4])}), not a number; "
                "choose another target column, or a model for classes (logistic_regression, softmax_regression, mlp)"
            ) from None
        return Dataset(
            self.name, self.features, numbers[self.targets.astype(np.intp)], self.feature_names, self.target_name,
            (), self.source, self.notes,
        )  # fmt: skip
