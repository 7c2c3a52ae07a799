"""What a simulation steps on: a loss over one flat vector of weights, with values, gradients and Hessians."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.declare import Parameter as ProblemParameter
from core.declare import SettingError
from core.problems.planes import Plane

__all__ = ["Minimum", "Objective", "ProblemError", "ProblemParameter", "SettingError", "VariableSpec"]

Bounds = tuple[tuple[float, float], tuple[float, float]]


class ProblemError(ValueError):
    """A problem or data set that cannot be made: the message says what, where, and how to mend it."""


@dataclass(frozen=True, slots=True)
class VariableSpec:
    """One variable inside the flat weight vector; its elements stand there in C order.

    ``role`` is 'weight', 'bias' or 'norm' (scale and shift of a normalisation): penalties act on weights only, and
    filter normalisation treats the others apart. ``filter_axis`` numbers the filters of a matrix: the last axis
    when rows are multiplied from the left, ``x @ W``.
    """

    name: str
    shape: tuple[int, ...]
    role: str = "weight"
    filter_axis: int = -1

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Minimum:
    """A known minimum: the place ``x`` (flat weights), the value ``f``, and what is special about it.

    Unpacks as ``x, f`` and converts to an array as ``x``.
    """

    x: NDArray[np.float64]
    f: float
    note: str = ""

    def __iter__(self) -> Iterator[Any]:
        yield self.x
        yield self.f

    def __getitem__(self, key: int | str) -> Any:
        return {0: self.x, 1: self.f, "x": self.x, "f": self.f, "note": self.note}[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.x, dtype=dtype)


class Objective(ABC):
    """A loss as a pure function of flat weights, the step and the seed.

    The weights are one vector: the ``variables`` in order, each in C order. Every result depends on the
    arguments and on ``values`` only, so the same call gives the same bits at any time. Objectives are
    immutable: ``with_values`` makes a changed copy.
    """

    name: str
    title: str
    formula: str
    description: str = ""
    variables: tuple[VariableSpec, ...]
    component_names: tuple[str, ...]
    parameters: tuple[ProblemParameter, ...] = ()
    values: Mapping[str, Any] = MappingProxyType({})
    minima: tuple[Minimum, ...] = ()
    bounds: Bounds | None = None

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(variable.size for variable in self.variables)

    @property
    def start(self) -> NDArray[np.float64]:
        """The default start, float64 of shape (size,); a fresh array."""
        return self.initial_weights(0)

    @abstractmethod
    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        """Starting weights for ``seed``, float64 of shape (size,); a fresh array."""

    @abstractmethod
    def value_and_gradient(self, weights: NDArray[Any], step: int = 0, seed: int = 0) -> tuple[float, NDArray[Any]]:
        """Loss and gradient at ``weights`` (size,) on the batch that ``(seed, step)`` selects.

        Computed in the dtype of ``weights``; the gradient is a fresh flat array of that dtype.
        """

    @abstractmethod
    def value(self, points: ArrayLike, step: int | None = None, seed: int = 0) -> NDArray[Any]:
        """Losses at ``points`` (..., size) as (...); on the whole data set, or on the batch of ``step``."""

    @abstractmethod
    def gradient(self, points: ArrayLike) -> NDArray[Any]:
        """Gradients at ``points`` (..., size) on the whole data set, without noise; shape (..., size)."""

    @abstractmethod
    def hessian(self, point: ArrayLike) -> NDArray[Any]:
        """Second derivatives at ``point`` (size,) on the whole data set; shape (size, size)."""

    def hessian_vector(self, point: ArrayLike, vector: ArrayLike) -> NDArray[Any]:
        """Second derivatives at ``point`` (size,) times ``vector`` (size,), on the whole data set; shape (size,)."""
        return np.asarray(self.hessian(point) @ np.asarray(vector))

    @abstractmethod
    def with_values(self, **changes: Any) -> Objective:
        """A copy with some parameters changed; SettingError when a value cannot be used."""

    def values_on(
        self, plane: Plane, a: ArrayLike, b: ArrayLike, step: int | None = None, seed: int = 0, dtype: Any = np.float64
    ) -> NDArray[Any]:
        """Losses at the points (a, b) of a plane (broadcast against each other), computed in ``dtype``.

        The same as ``value(plane.lift(a, b))``, for models with less work.
        """
        return self.value(plane.lift(a, b).astype(dtype), step, seed)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences about settings under which training cannot work as one would expect."""
        return ()

    def metrics(self, weights: NDArray[Any]) -> dict[str, float]:
        """Named figures of merit at ``weights``; empty for plain functions."""
        return {}

    def gradient_parts(self, weights: NDArray[Any], step: int = 0, seed: int = 0) -> dict[str, NDArray[Any]]:
        """Named parts that add up to the gradient of ``value_and_gradient``; empty when it has no parts."""
        return {}

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells this objective from others: two with equal identities give the same results."""
        return (type(self).__name__, self.name, self.formula, self.component_names, tuple(self.values.items()))

    def split(self, weights: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Views of ``weights`` (..., size) as the variables, each of shape (..., *variable.shape)."""
        found: dict[str, NDArray[Any]] = {}
        begin = 0
        for variable in self.variables:
            part = weights[..., begin : begin + variable.size]
            found[variable.name] = part.reshape(weights.shape[:-1] + variable.shape)
            begin += variable.size
        return found

    def check_points(self, points: ArrayLike) -> NDArray[Any]:
        """``points`` as a floating array of shape (..., size); ValueError when it does not fit."""
        array = np.asarray(points)
        if array.dtype.kind in "iub":
            array = array.astype(np.float64)
        if array.ndim == 0 or array.shape[-1] != self.size:
            raise ValueError(
                f"{self.name}: points need shape (..., {self.size}) for {self._component_list()}, not {array.shape}"
            )
        return array

    def _component_list(self) -> str:
        names = self.component_names
        return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, ... {names[-1]}"

    def __repr__(self) -> str:
        inside = "".join(f", {key}={value!r}" for key, value in self.values.items())
        return f"problem({self.name!r}{inside})"


def checked_values(owner: str, parameters: tuple[ProblemParameter, ...], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """All parameter values, ``given`` ones checked, the others by default; SettingError for unknown names."""
    known = {parameter.key for parameter in parameters}
    for key in given:
        if key not in known:
            have = ", ".join(parameter.key for parameter in parameters) or "none"
            raise SettingError(f"{owner}: no parameter {key!r}; it has: {have}")
    return MappingProxyType(
        {
            parameter.key: parameter.check(given[parameter.key], owner) if parameter.key in given else parameter.default
            for parameter in parameters
        }
    )
