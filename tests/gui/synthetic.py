"""Runs for tests of views: a simulation of any objective with a chain made by hand, and objectives of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.optim import Chain, Optimizer
from core.optim.transform import Transform
from core.optim.transforms import TRANSFORMS
from core.optim.transforms.store import Store
from core.problems import problem
from core.problems.objective import Objective, VariableSpec
from core.simulation import Experiment, Simulation
from core.simulation import simulation as module
from core.simulation.history import History


class Bowl(Objective):
    """0.5 * sum(c * (w - t)**2) over variables of any shapes; the gradient is c * (w - t)."""

    title = "Bowl"
    formula = "½ Σ c (w − t)²"

    def __init__(
        self,
        shapes: dict[str, tuple[int, ...]],
        curvature: Any = 1.0,
        target: Any = 0.0,
        start: Any = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.name = "bowl"
        self.variables = tuple(VariableSpec(name, shape) for name, shape in shapes.items())
        size = self.size
        self.curvature = np.broadcast_to(np.asarray(curvature, dtype=np.float64), (size,))
        self.target = np.broadcast_to(np.asarray(target, dtype=np.float64), (size,))
        begin = np.random.default_rng(3).normal(size=size) if start is None else start
        self.begin = np.broadcast_to(np.asarray(begin, dtype=np.float64), (size,)).copy()
        self.component_names = tuple(names or [f"{v.name}[{i}]" for v in self.variables for i in range(v.size)])

    def initial_weights(self, seed=0):
        return self.begin.copy()

    def value_and_gradient(self, weights, step=0, seed=0):
        away = weights - self.target
        return 0.5 * float(np.sum(self.curvature * away * away)), self.curvature * away

    def value(self, points, step=None, seed=0):
        away = np.asarray(points) - self.target
        return 0.5 * np.sum(self.curvature * away * away, axis=-1)

    def gradient(self, points):
        return self.curvature * (np.asarray(points) - self.target)

    def hessian(self, point):
        return np.diag(self.curvature)

    def with_values(self, **changes):
        return self


def build(*transforms: tuple[str, dict[str, Any]] | Transform) -> list[Transform]:
    """Transforms from (name, values) pairs; ready ones pass through."""
    return [item if isinstance(item, Transform) else TRANSFORMS[item[0]](**item[1]) for item in transforms]


class _Handmade(Simulation):
    """A simulation whose chain comes from a function instead of pasted lines."""

    def _optimizer(self, lines: str) -> Optimizer:
        transforms = [t for t in self._chain() if not isinstance(t, Store)]
        return Optimizer(
            Chain([*transforms, Store(storage=self.experiment.storage)]), arithmetic=self.experiment.arithmetic
        )


def simulate(
    *transforms: tuple[str, dict[str, Any]] | Transform,
    objective: Objective | str = "rosenbrock",
    steps: int = 0,
    storage: str = "float64",
    start: Sequence[float] | None = None,
    monkey: Any = None,
) -> Simulation:
    """A simulation of ``objective`` with these transforms, ``steps`` steps taken."""
    made = objective if isinstance(objective, Objective) else problem(objective)
    experiment = Experiment(storage=storage, start=None if start is None else [float(x) for x in start])
    kind = type("Handmade", (_Handmade,), {"_chain": staticmethod(lambda: build(*transforms))})
    right = module.build_objective
    module.build_objective = lambda experiment, *trusted: made
    try:
        simulation = kind(experiment)
    finally:
        module.build_objective = right
    simulation.advance(steps)
    return simulation


def history_of(**arguments: Any) -> History:
    """The history of ``simulate(**arguments)``."""
    return simulate(**arguments).history
