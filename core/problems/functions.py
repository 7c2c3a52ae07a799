"""Plain functions of a few named coordinates (x, y) as objectives; the formulas are in other files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.differentiate import Differentiated, elementwise_gradient, elementwise_hessian
from core.problems.objective import (
    Bounds,
    Minimum,
    Objective,
    ProblemParameter,
    VariableSpec,
    checked_values,
)

NOISE = ProblemParameter(
    "noise", "σ", 0.0, 0.0, 10.0, minimum=0.0,
    tooltip="Standard deviation of the normal noise added to every component of the gradient in each step",
)  # fmt: skip

MinimaRule = Callable[[Mapping[str, Any]], tuple[Minimum, ...]]


@dataclass(frozen=True)
class FunctionSpec:
    """A function of named coordinates: ``compute(x, y, **parameter values)`` of arrays of one shape.

    With ``by_name`` the coordinates are passed by keyword too, as formulas take them.
    """

    name: str
    title: str
    formula: str
    compute: Callable[..., Any]
    start: tuple[float, ...]
    bounds: Bounds | None
    minima: tuple[Minimum, ...] | MinimaRule = ()
    parameters: tuple[ProblemParameter, ...] = ()
    description: str = ""
    coordinates: tuple[str, ...] = ("x", "y")
    by_name: bool = False


class FunctionObjective(Objective):
    """An elementwise function of the coordinates of ``p``, with optional noise on the gradient.

    ``value``, ``gradient`` and ``hessian`` take points (..., n) and are free of noise.
    """

    def __init__(self, spec: FunctionSpec, given: Mapping[str, Any] | None = None) -> None:
        self.spec = spec
        self.name, self.title = spec.name, spec.title
        self.formula, self.description = spec.formula, spec.description
        self.variables = (VariableSpec("p", (len(spec.coordinates),)),)
        self.component_names = spec.coordinates
        self.bounds = spec.bounds
        taken = {parameter.key for parameter in spec.parameters} | set(spec.coordinates)
        # a parameter of the formula that happens to be called 'noise' keeps its own meaning
        self.parameters = spec.parameters if "noise" in taken else (*spec.parameters, NOISE)
        self.values = checked_values(spec.name, self.parameters, given or {})
        self.minima = spec.minima(self.values) if callable(spec.minima) else spec.minima
        self._settings = {parameter.key: self.values[parameter.key] for parameter in spec.parameters}
        self._noise = 0.0 if "noise" in taken else float(self.values["noise"])
        self._differentiated: Differentiated | None = None

    def compute(self, *columns: Any) -> Any:
        """The function at the current parameter values, elementwise over arrays or tensors of one shape."""
        if self.spec.by_name:
            return self.spec.compute(**dict(zip(self.spec.coordinates, columns, strict=True)), **self._settings)
        return self.spec.compute(*columns, **self._settings)

    def with_values(self, **changes: Any) -> FunctionObjective:
        return FunctionObjective(self.spec, {**self.values, **changes})

    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        """The start the function is known for; the same for every seed."""
        return np.array(self.spec.start, dtype=np.float64)

    def value_and_gradient(self, weights: NDArray[Any], step: int = 0, seed: int = 0) -> tuple[float, NDArray[Any]]:
        if self._differentiated is None:
            self._differentiated = Differentiated(self.compute, len(weights))
        value, parts = self._differentiated(*weights)
        gradient = np.array(parts, dtype=weights.dtype)
        if self._noise:
            noise = np.random.default_rng((seed, step)).standard_normal(len(weights))
            gradient = (gradient.astype(np.float64) + self._noise * noise).astype(weights.dtype)
        return value, gradient

    def value(self, points: ArrayLike, step: int | None = None, seed: int = 0) -> NDArray[Any]:
        array = self.check_points(points)
        with np.errstate(all="ignore"):
            result = np.asarray(self.compute(*np.moveaxis(array, -1, 0)))
        # a formula that leaves some coordinate out, or is constant, still has a value at every point
        return np.array(np.broadcast_to(result, array.shape[:-1]), dtype=array.dtype)

    def gradient(self, points: ArrayLike) -> NDArray[Any]:
        array = self.check_points(points)
        with np.errstate(all="ignore"):
            parts = elementwise_gradient(self.compute, list(np.moveaxis(array, -1, 0)))
        return np.stack(parts, axis=-1).astype(array.dtype, copy=False)

    def hessian(self, point: ArrayLike) -> NDArray[Any]:
        """Second derivatives at points (..., n); shape (..., n, n)."""
        array = self.check_points(point)
        with np.errstate(all="ignore"):
            return elementwise_hessian(self.compute, list(np.moveaxis(array, -1, 0)))
