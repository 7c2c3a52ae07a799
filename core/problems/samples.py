"""From a data set to what a model trains on: split into train and test rows, standardised features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.problems.datasets import Dataset
from core.problems.objective import ProblemError

Array = NDArray[np.float64]


def _no_rows() -> NDArray[np.intp]:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Samples:
    """Train and test rows of a data set. ``mean`` and ``scale`` undo the standardising: raw = x * scale + mean.

    Features are (rows, columns), targets (rows,): numbers, or class indices. ``target_mean`` and ``target_scale``
    do the same for a numeric target (0 and 1 when it was left alone).
    """

    dataset: Dataset
    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array
    mean: Array
    scale: Array
    target_mean: float = 0.0
    target_scale: float = 1.0
    train_rows: NDArray[np.intp] = field(default_factory=_no_rows)
    test_rows: NDArray[np.intp] = field(default_factory=_no_rows)
    """Which rows of the data set these are; empty when the samples are no rows of it."""

    @property
    def classes(self) -> int:
        """Number of classes; 0 for a numeric target."""
        return len(self.dataset.classes)


def prepare(
    dataset: Dataset,
    test_fraction: float = 0.2,
    standardise: bool = True,
    standardise_target: bool = False,
    split_seed: int = 0,
) -> Samples:
    """Shuffle with ``split_seed``, set ``test_fraction`` of the rows aside, standardise by the training rows.

    A fraction of 0 trains on all rows in their own order. Columns that never change are only centred.
    """
    count = len(dataset)
    if not 0.0 <= test_fraction < 1.0:
        raise ProblemError(f"test_fraction must be at least 0 and below 1, not {test_fraction:g}")
    test_count = round(count * test_fraction)
    if count - test_count < 1:
        raise ProblemError(
            f"{dataset.name}: {count} rows with test_fraction {test_fraction:g} leave none to train on; "
            "choose a smaller fraction"
        )
    order = np.random.default_rng(split_seed).permutation(count) if test_count else np.arange(count)
    train, test = np.sort(order[test_count:]), np.sort(order[:test_count])
    train_x, test_x = dataset.features[train], dataset.features[test]
    train_y, test_y = dataset.targets[train], dataset.targets[test]
    mean, scale = np.zeros(train_x.shape[1]), np.ones(train_x.shape[1])
    if standardise:
        mean, scale = _centre_and_spread(train_x, dataset.feature_names, dataset.name)
        train_x, test_x = (train_x - mean) / scale, (test_x - mean) / scale
    target_mean, target_scale = 0.0, 1.0
    if standardise_target and not dataset.classes:
        centre, spread = _centre_and_spread(train_y[:, None], [dataset.target_name], dataset.name)
        target_mean, target_scale = float(centre[0]), float(spread[0])
        train_y, test_y = (train_y - target_mean) / target_scale, (test_y - target_mean) / target_scale
    return Samples(dataset, train_x, train_y, test_x, test_y, mean, scale, target_mean, target_scale, train, test)


def _centre_and_spread(columns: Array, names: Sequence[str], where: str) -> tuple[Array, Array]:
    """Mean and deviation of every column; ProblemError names one whose numbers are too large for it."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    if (largest > 2.0**1022).any():
        at = int(np.argmax(largest))
        raise ProblemError(
            f"{where}: {names[at]!r} holds {largest[at]:g}, too large for a mean and a deviation; "
            "write it in another unit, or switch standardise off"
        )
    # a power of two changes no digit, and squares neither overflow nor vanish
    unit = np.ldexp(1.0, np.frexp(largest)[1])
    mean = (columns / unit).mean(axis=0)
    spread = (columns / unit).std(axis=0)
    constant = spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return mean * unit, np.where(constant, 1.0, spread * unit)
