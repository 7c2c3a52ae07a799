"""Straight cuts through the weights: what a curve of the loss is drawn along, and what lies on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.directions import random_direction
from core.problems.objective import VariableSpec
from core.problems.planes import PlaneError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """A straight cut through the weights: ``origin + t * direction``."""

    origin: Array
    direction: Array
    label: str = "t"

    @property
    def size(self) -> int:
        """Number of weights."""
        return int(self.origin.size)

    def lift(self, t: ArrayLike) -> Array:
        """The weights (..., size) at parameters ``t`` (...)."""
        return np.asarray(self.origin + np.asarray(t, dtype=np.float64)[..., None] * self.direction)

    def project(self, points: ArrayLike) -> Array:
        """Parameters (...) of the points of the line nearest to ``points`` (..., size)."""
        return self.project_vector(np.asarray(points, dtype=np.float64) - self.origin)

    def project_vector(self, vectors: ArrayLike) -> Array:
        """Parameters of directions (..., size): ``project`` without the origin."""
        length = float(self.direction @ self.direction)
        if length == 0.0:
            raise PlaneError("the direction of this line is zero")
        return np.asarray(np.asarray(vectors, dtype=np.float64) @ self.direction / length)

    def distance(self, points: ArrayLike) -> Array:
        """Distances (...) of ``points`` (..., size) from the line."""
        rest = np.asarray(points, dtype=np.float64) - self.lift(self.project(points))
        return np.asarray(np.linalg.norm(rest, axis=-1))


def line(origin: ArrayLike, direction: ArrayLike, label: str = "t") -> Line:
    """The line through ``origin`` along ``direction`` (kept at its own length: t = 1 is one direction further)."""
    base = np.array(origin, dtype=np.float64).reshape(-1)
    along = np.array(direction, dtype=np.float64).reshape(-1)
    if base.shape != along.shape:
        raise PlaneError(f"a direction of size {along.size} does not fit weights of size {base.size}")
    if not np.isfinite(base).all():
        raise PlaneError("the weights here are not finite; choose an earlier step")
    if not np.isfinite(along).all():
        raise PlaneError("the direction of this line is not finite; choose an earlier step")
    return Line(base, along, label)


def one_weight(origin: ArrayLike, index: int, labels: Sequence[str] | None = None) -> Line:
    """The line on which weight ``index`` varies and the others stay as in ``origin``; t is the weight itself."""
    base = np.array(origin, dtype=np.float64).reshape(-1)
    if not 0 <= index < base.size:
        raise PlaneError(f"there is no weight number {index}: they go from 0 to {base.size - 1}")
    base[index] = 0.0
    direction = np.zeros(base.size)
    direction[index] = 1.0
    return line(base, direction, labels[index] if labels is not None else f"w[{index}]")


def along(origin: ArrayLike, vector: ArrayLike, label: str) -> Line:
    """The line through ``origin`` in the direction of ``vector``; t is the distance walked, in the weights' units."""
    direction = np.array(vector, dtype=np.float64).reshape(-1)
    largest = float(np.max(np.abs(direction), initial=0.0))
    if largest == 0.0:
        raise PlaneError("this step's vector is zero, so it has no direction; choose another step")
    if np.isfinite(largest):
        # by a power of two first, so that neither huge nor tiny vectors leave the range in their squares
        direction = np.ldexp(direction, -int(np.frexp(largest)[1]))
        direction = direction / float(np.linalg.norm(direction))
    return line(origin, direction, label)


def random_line(weights: ArrayLike, variables: Sequence[VariableSpec], seed: int = 0, biases: str = "ignore") -> Line:
    """The line at ``weights`` along a random filter-normalised direction: t = 1 is one length of the weights."""
    direction = random_direction(weights, variables, seed, biases)
    if not direction.any():
        raise PlaneError("all weights are zero here, so every filter-normalised direction is zero; take a later step")
    return line(weights, direction, "random direction")
