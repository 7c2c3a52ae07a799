"""What the picture of a model is made of, worked out in the worker: predictions now, metrics over the steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.problems.models import ModelObjective
from core.simulation import Simulation
from core.simulation.history import History

Float64 = NDArray[np.float64]
GRID = 72
CURVE = 240
MOST_POINTS = 1500
EVERY_STEP = 64
"""Up to here the metrics of every step are taken; later ones in distances of 1/64 of their number."""


@dataclass(frozen=True, eq=False)
class Fit:
    """One picture of a model. ``kind`` is 'boundary', 'curve', 'confusion', 'predicted' or '' (nothing to draw).

    Boundary: ``grid_x``, ``grid_y`` and ``values`` (y, x, classes), probabilities. Curve: ``grid_x`` and ``values``
    (x,), the prediction in its own unit (of two classes: the probability of the second). Confusion: ``values`` (true,
    predicted), numbers of rows. ``train`` and ``test`` are points (rows, 2), ``train_class`` and ``test_class`` their
    classes: features of a boundary; feature and target of a curve; true and predicted value.
    """

    kind: str
    grid_x: Float64 = field(default_factory=lambda: np.empty(0))
    grid_y: Float64 = field(default_factory=lambda: np.empty(0))
    values: Float64 = field(default_factory=lambda: np.empty(0))
    train: Float64 = field(default_factory=lambda: np.empty((0, 2)))
    test: Float64 = field(default_factory=lambda: np.empty((0, 2)))
    train_class: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    test_class: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    on_test: bool = False


def kind_of(objective: ModelObjective) -> str:
    """Which picture suits the data of a model."""
    samples = objective.samples
    if not len(samples.train_rows):
        return ""
    features, classes = samples.dataset.features.shape[1], samples.classes
    if classes and features == 2:
        return "boundary"
    if features == 1 and classes in (0, 2):
        return "curve"
    return "confusion" if classes else "predicted"


def make_fit(objective: ModelObjective, weights: Float64) -> Fit:
    """The picture of the model at ``weights`` (size,)."""
    kind = kind_of(objective)
    if kind == "boundary":
        return _boundary(objective, weights)
    if kind == "curve":
        return _curve(objective, weights)
    if kind == "confusion":
        return _confusion(objective, weights)
    return _predicted(objective, weights) if kind else Fit("")


def _rows(objective: ModelObjective, part: str) -> NDArray[np.intp]:
    rows: NDArray[np.intp] = getattr(objective.samples, f"{part}_rows")
    if len(rows) > MOST_POINTS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_POINTS).astype(np.intp)]
    return rows


def _range(values: Float64) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room


def _boundary(objective: ModelObjective, weights: Float64) -> Fit:
    data = objective.samples.dataset
    x, y = (np.linspace(*_range(data.features[:, k]), GRID) for k in (0, 1))
    points = np.stack([grid.ravel() for grid in np.meshgrid(x, y)], axis=1)
    values = objective.predict(weights, points).reshape(GRID, GRID, -1)
    train, test = _rows(objective, "train"), _rows(objective, "test")
    classes = data.targets.astype(np.intp)
    return Fit(
        "boundary", x, y, values, data.features[train], data.features[test], classes[train], classes[test]
    )  # fmt: skip


def _curve(objective: ModelObjective, weights: Float64) -> Fit:
    data = objective.samples.dataset
    x = np.linspace(*_range(data.features[:, 0]), CURVE)
    values = objective.predict(weights, x[:, None])
    values = values[:, 1] if values.ndim == 2 else values
    both = np.column_stack([data.features[:, 0], data.targets])
    return Fit("curve", x, values=values, train=both[_rows(objective, "train")], test=both[_rows(objective, "test")])


def _confusion(objective: ModelObjective, weights: Float64) -> Fit:
    data = objective.samples.dataset
    on_test = bool(len(objective.samples.test_rows))
    rows = objective.samples.test_rows if on_test else objective.samples.train_rows
    found = objective.predict(weights, data.features[rows]).argmax(axis=1)
    count = len(data.classes)
    table = np.zeros((count, count))
    np.add.at(table, (data.targets[rows].astype(np.intp), found), 1.0)
    return Fit("confusion", values=table, on_test=on_test)


def _predicted(objective: ModelObjective, weights: Float64) -> Fit:
    data = objective.samples.dataset
    parts = []
    for part in ("train", "test"):
        rows = _rows(objective, part)
        found = objective.predict(weights, data.features[rows]) if len(rows) else np.empty(0)
        parts.append(np.column_stack([data.targets[rows], found]))
    return Fit("predicted", train=parts[0], test=parts[1])


class FitJob:
    """The picture and the metrics of one step: ``fit`` and ``metrics`` when done."""

    def __init__(self, simulation: Simulation, step: int) -> None:
        self.fit: Fit | None = None
        self.metrics: dict[str, float] = {}
        self.step = step
        self._simulation = simulation

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        simulation = self._simulation
        known = self.step < simulation.history.count
        weights = simulation.history.weights(self.step) if known else simulation.weights
        objective = simulation.objective
        assert isinstance(objective, ModelObjective)
        self.metrics = objective.metrics(np.asarray(weights, dtype=np.float64))
        self.fit = make_fit(objective, np.asarray(weights, dtype=np.float64))
        return True


class MetricsJob:
    """Metrics of the steps from the last known one on: ``steps`` (n,) and ``columns``, name to (n,), only grow."""

    def __init__(self, simulation: Simulation, history: History, known: MetricsJob | None = None) -> None:
        self.history = history
        self.steps: list[int] = list(known.steps) if known is not None else []
        self.rows: list[dict[str, float]] = list(known.rows) if known is not None else []
        self._simulation = simulation

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        end = time.perf_counter() + seconds
        while self.next_step < self.history.count:
            step = self.next_step
            weights = np.asarray(self.history.weights(step), dtype=np.float64)
            found = self._simulation.objective.metrics(weights)
            self.rows = [*self.rows, found]
            self.steps = [*self.steps, step]
            if time.perf_counter() >= end:
                return self.next_step >= self.history.count
        return True

    @property
    def next_step(self) -> int:
        """The step looked at next."""
        if not self.steps:
            return 0
        return self.steps[-1] + max(1, self.steps[-1] // EVERY_STEP)

    def column(self, name: str) -> tuple[Float64, Float64]:
        """Steps and values of one metric."""
        count = min(len(self.steps), len(self.rows))
        values = [row.get(name, np.nan) for row in self.rows[:count]]
        return np.array(self.steps[:count], dtype=np.float64), np.array(values)
