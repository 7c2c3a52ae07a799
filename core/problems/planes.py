"""Planes through the space of weights: where a picture of the loss is cut, and what lies in it.

A plane is an origin and two axes; coordinates (a, b) stand for the weights ``origin + a u + b v``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class PlaneError(ValueError):
    """A plane that cannot be laid through the given points: the message says why."""


@dataclass(frozen=True, eq=False)
class Plane:
    """``origin``, ``u``, ``v`` are flat weights (size,). ``labels`` name the two axes; ``kind`` says how it was made.

    ``u`` and ``v`` are independent; those of most kinds are orthonormal. ``explained`` holds, for a plane made from
    a trajectory, the parts of its variance along u and v.
    """

    origin: Array
    u: Array
    v: Array
    labels: tuple[str, str] = ("a", "b")
    kind: str = "plane"
    explained: tuple[float, float] | None = None
    _dual: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("origin", "u", "v"):
            array = np.array(getattr(self, name), dtype=np.float64).reshape(-1)
            if not np.isfinite(array).all():
                raise PlaneError(f"the plane's {name} has numbers that are not finite; choose another step")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not self.origin.shape == self.u.shape == self.v.shape:
            raise PlaneError(f"origin, u and v differ in size: {self.origin.size}, {self.u.size}, {self.v.size}")
        axes = np.stack([self.u, self.v])
        lengths = np.sqrt(np.einsum("ij,ij->i", axes, axes))
        if not lengths.all():
            raise PlaneError("an axis of the plane has length 0")
        scaled = axes / lengths[:, None]
        gram = scaled @ scaled.T
        if gram[0, 0] * gram[1, 1] - gram[0, 1] ** 2 <= 1e-24:
            raise PlaneError("the two axes of the plane are parallel")
        # rows that give the coordinates by a product: the inverse of the axes on their own span
        object.__setattr__(self, "_dual", np.linalg.solve(gram, scaled) / lengths[:, None])

    @property
    def size(self) -> int:
        """Number of weights."""
        return int(self.origin.size)

    def project(self, points: ArrayLike) -> tuple[Array, Array]:
        """Coordinates (a, b), each (...), of the points of the plane nearest to ``points`` (..., size)."""
        coordinates = self._offsets(points) @ self._dual.T
        return coordinates[..., 0], coordinates[..., 1]

    def project_vector(self, vectors: ArrayLike) -> tuple[Array, Array]:
        """Coordinates of directions (..., size): ``project`` without the origin."""
        coordinates = np.asarray(vectors, dtype=np.float64) @ self._dual.T
        return coordinates[..., 0], coordinates[..., 1]

    def distance(self, points: ArrayLike) -> Array:
        """Distances (...) of ``points`` (..., size) from the plane, in the units of the weights."""
        offsets = self._offsets(points)
        coordinates = offsets @ self._dual.T
        rest = offsets - coordinates @ np.stack([self.u, self.v])
        # taken once more, so that rounding of large coordinates does not look like a distance
        rest = rest - (rest @ self._dual.T) @ np.stack([self.u, self.v])
        return np.asarray(np.sqrt(np.einsum("...i,...i->...", rest, rest)))

    def lift(self, a: ArrayLike, b: ArrayLike) -> Array:
        """The weights (..., size) at coordinates ``a``, ``b`` (broadcast against each other)."""
        first, second = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        return self.origin + first[..., None] * self.u + second[..., None] * self.v

    def _offsets(self, points: ArrayLike) -> Array:
        array = np.asarray(points, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.size:
            raise PlaneError(f"points need shape (..., {self.size}), not {array.shape}")
        return array - self.origin


def whole_plane(labels: tuple[str, str] = ("x", "y")) -> Plane:
    """The plane of a function of two numbers: coordinates are the weights themselves."""
    return Plane(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), labels, "coordinates")


def two_weights(origin: ArrayLike, first: int, second: int, labels: Sequence[str] | None = None) -> Plane:
    """The plane in which weights ``first`` and ``second`` vary and the others stay as in ``origin``.

    Its coordinates are the two weights themselves, not offsets from the origin.
    """
    base = np.array(origin, dtype=np.float64).reshape(-1)
    for index in (first, second):
        if not 0 <= index < base.size:
            raise PlaneError(f"there is no weight number {index}: they go from 0 to {base.size - 1}")
    if first == second:
        raise PlaneError("choose two different weights")
    names = (labels[first], labels[second]) if labels is not None else (f"w[{first}]", f"w[{second}]")
    base[[first, second]] = 0.0
    u, v = np.zeros(base.size), np.zeros(base.size)
    u[first] = v[second] = 1.0
    return Plane(base, u, v, names, "two weights")


def expected_and_applied(origin: ArrayLike, expected: ArrayLike, applied: ArrayLike) -> Plane:
    """The plane at the step's weights that holds both its expected step and its applied change.

    u points along the expected step (or the applied one when the other is zero); v is the part of the other
    vector that is perpendicular to it. When both are parallel, or zero, a perpendicular axis is chosen freely, and
    both still lie in the plane.
    """
    base = np.asarray(origin, dtype=np.float64).reshape(-1)
    e = np.asarray(expected, dtype=np.float64).reshape(-1)
    a = np.asarray(applied, dtype=np.float64).reshape(-1)
    return _spanned(base, e, a, ("along the expected step", "across it"), "gradient and applied change")


def through_three(
    first: ArrayLike, second: ArrayLike, third: ArrayLike, names: Sequence[str] = ("A", "B", "C")
) -> Plane:
    """The plane through three weight vectors; the origin is the first, u points to the second."""
    a, b, c = (np.asarray(point, dtype=np.float64).reshape(-1) for point in (first, second, third))
    if not (b - a).any() and not (c - a).any():
        raise PlaneError("the three points are the same; choose points that differ")
    labels = (f"from {names[0]} to {names[1]}", f"across, towards {names[2]}")
    return _spanned(a, b - a, c - a, labels, "three points")


def principal(trajectory: ArrayLike, labels: tuple[str, str] | None = None) -> Plane:
    """The plane of largest variance of a trajectory (rows, size), through its last point.

    Differences from the last point, not centred by the mean, as in Li et al. 2018 (section 7): the end of the run
    lies in the plane exactly. ``explained`` are the parts of the sum of squared differences along u and v.
    """
    rows = np.asarray(trajectory, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise PlaneError("a plane of largest variance needs at least two points of a run")
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        raise PlaneError("fewer than two points of this run are finite")
    differences = rows - rows[-1]
    values, vectors = _principal_axes(differences)
    total = float(np.sum(differences**2))
    if total == 0.0:
        raise PlaneError("the weights have not moved: there is no plane of largest variance yet")
    explained = tuple(float(value / total) for value in values[:2])
    names = labels or tuple(f"PC {i + 1} ({100 * part:.3g} %)" for i, part in enumerate(explained))
    return Plane(rows[-1], vectors[0], vectors[1], (names[0], names[1]), "principal", (explained[0], explained[1]))


def _principal_axes(differences: Array) -> tuple[Array, Array]:
    """The two largest squared singular values and their right vectors, signs fixed by the largest component."""
    count, size = differences.shape
    if size > count:  # the small Gram matrix has the same non-zero values
        values, left = np.linalg.eigh(differences @ differences.T)
        values, left = values[::-1][:2], left[:, ::-1][:, :2]
        vectors = left.T @ differences
    else:
        values, right = np.linalg.eigh(differences.T @ differences)
        values, vectors = values[::-1][:2], right[:, ::-1][:, :2].T
    values = np.maximum(values, 0.0)
    if size < 2:
        raise PlaneError("a plane needs at least two weights; cut along a line instead")
    lengths = np.linalg.norm(vectors, axis=1)
    first = vectors[0] / lengths[0] if lengths[0] > 0 else _perpendicular(np.zeros(size))
    second = vectors[1] if len(vectors) > 1 else np.zeros(size)
    second = second - (second @ first) * first
    length = float(np.linalg.norm(second))
    scale = float(np.sqrt(max(values[0], 0.0)))
    second = second / length if length > 1e-12 * max(scale, 1e-300) else _perpendicular(first)
    axes = np.stack([first, second])
    axes *= np.where(axes[[0, 1], np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    return np.resize(values, 2) if len(values) > 1 else np.array([values[0], 0.0]), axes


def _spanned(origin: Array, first: Array, second: Array, labels: tuple[str, str], kind: str) -> Plane:
    if origin.size < 2:
        raise PlaneError("a plane needs at least two weights; cut along a line instead")
    for vector in (first, second):
        if vector.shape != origin.shape:
            raise PlaneError(f"directions of size {vector.size} do not fit weights of size {origin.size}")
        if not np.isfinite(vector).all():
            raise PlaneError("this step is not finite, so no plane holds it; choose an earlier step")
    # scaled by powers of two first: neither overflow nor loss of tiny steps in the squares
    p, q = _scaled(first), _scaled(second)
    base, other = (p, q) if p.any() else (q, p)
    u = base / np.linalg.norm(base) if base.any() else _perpendicular(np.zeros(origin.size))
    across = other
    for _ in range(2):  # twice is enough for full orthogonality
        across = across - (across @ u) * u
    length = float(np.linalg.norm(across))
    v = across / length if length > 1e-15 * max(1.0, float(np.linalg.norm(other))) else _perpendicular(u)
    return Plane(origin, u, v - (v @ u) * u, labels, kind)


def _scaled(vector: Array) -> Array:
    largest = float(np.max(np.abs(vector), initial=0.0))
    return np.asarray(np.ldexp(vector, -int(np.frexp(largest)[1]))) if largest else vector


def _perpendicular(unit: Array) -> Array:
    """A unit vector perpendicular to ``unit``: the axis it points along least, made perpendicular."""
    axis = np.zeros(unit.size)
    axis[int(np.abs(unit).argmin())] = 1.0
    axis = axis - (axis @ unit) * unit
    return np.asarray(axis / np.linalg.norm(axis))


def window(
    coordinates: tuple[Any, Any], margin: float = 0.15, least: float = 1e-9
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The rectangle ((a low, a high), (b low, b high)) that holds finite ``coordinates`` with a margin around."""
    limits = []
    for values in coordinates:
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
        extent = max(high - low, least * max(abs(low), abs(high)), 1e-300)
        limits.append((low - margin * extent, high + margin * extent))
    # a run along one axis would else give a needle: neither side is below a tenth of the other
    longest = max(high - low for low, high in limits)
    sides = []
    for low, high in limits:
        middle, half = (low + high) / 2, max(high - low, 0.1 * longest) / 2
        sides.append((middle - half, middle + half))
    return sides[0], sides[1]
