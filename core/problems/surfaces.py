"""Loss surfaces worked out a little at a time: coarse to fine, within a time budget, cancellable, remembered."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.lines import Line
from core.problems.objective import Objective
from core.problems.planes import Plane

Array = NDArray[Any]
COARSEST = 8


@dataclass(frozen=True, eq=False)
class Surface:
    """Losses ``values`` (rows, columns) at ``b[row]``, ``a[column]`` of ``plane``; rows go upwards.

    ``unpainted`` marks points without a loss, where the formula is not defined or has overflowed: a picture must not
    paint them as if they were losses. ``outside`` marks points beyond the usual domain of a 2-D function, for which
    its known minima are meant; losses there are true. ``complete``: no finer surface will follow.
    """

    plane: Plane
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    values: Array
    outside: NDArray[np.bool_]
    complete: bool

    @property
    def unpainted(self) -> NDArray[np.bool_]:
        """Points whose loss is not finite."""
        return np.asarray(~np.isfinite(self.values))

    def at(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """The loss between grid points by bilinear interpolation; nan beyond the grid."""
        columns, across = _locate(self.a, np.asarray(a, np.float64))
        rows, up = _locate(self.b, np.asarray(b, np.float64))
        z = self.values.astype(np.float64)
        low = z[rows, columns] * (1 - across) + z[rows, columns + 1] * across
        high = z[rows + 1, columns] * (1 - across) + z[rows + 1, columns + 1] * across
        return np.asarray(low * (1 - up) + high * up)


def _locate(axis: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    index = np.clip(np.searchsorted(axis, values, side="right") - 1, 0, len(axis) - 2)
    part = (values - axis[index]) / (axis[index + 1] - axis[index])
    return index, np.where((part < 0) | (part > 1), np.nan, part)


class SurfaceEvaluator:
    """Works out the losses on a grid of a plane, first every eighth point, then the ones between.

    Call ``advance`` until it returns True (or stop calling, or ``cancel``); ``surface`` is the finest complete level so
    far, None before the first. Every point is evaluated once. ``step``/``seed``: on that step's batch instead of
    the whole data set. ``dtype`` is the type of the arithmetic.
    """

    def __init__(
        self,
        objective: Objective,
        plane: Plane,
        window: tuple[tuple[float, float], tuple[float, float]],
        resolution: tuple[int, int] = (65, 65),
        *,
        step: int | None = None,
        seed: int = 0,
        dtype: Any = np.float64,
        cache: SurfaceCache | None = None,
    ) -> None:
        (left, right), (low, high) = window
        columns, rows = resolution
        if columns < 2 or rows < 2:
            raise ValueError(f"a surface needs at least 2 by 2 points, not {columns} by {rows}")
        if not (np.isfinite([left, right, low, high]).all() and left < right and low < high):
            raise ValueError(f"the window {window} is not a rectangle of finite size")
        if plane.size != objective.size:
            raise ValueError(f"the plane is for {plane.size} weights, the problem has {objective.size}")
        self.objective, self.plane = objective, plane
        self.step, self.seed, self.dtype = step, seed, np.dtype(dtype)
        self.a, self.b = np.linspace(left, right, columns), np.linspace(low, high, rows)
        self.surface: Surface | None = None
        self.cancelled = False
        self._cache = cache
        self._pool: ThreadPoolExecutor | None = None
        self._threads = 1
        self._values = np.full((rows, columns), np.nan, dtype=self.dtype)
        self._levels = _levels(rows, columns)
        self._level = 0
        self._place = 0
        self._evaluated = 0
        self._at_once = 16
        self._key = b"" if cache is None else surface_key(objective, plane, self.a, self.b, step, seed, self.dtype)
        if cache is not None:
            self.surface = cache.get(self._key)
            if self.surface is not None:
                self._level = len(self._levels)
                self._evaluated = rows * columns

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.cancelled or self._level == len(self._levels)

    @property
    def fraction(self) -> float:
        """Part of the points that are evaluated."""
        return self._evaluated / self._values.size

    def cancel(self) -> None:
        """Do no more; the levels finished so far stay."""
        self.cancelled = True

    def advance(self, budget_seconds: float) -> bool:
        """Evaluate for about ``budget_seconds`` (at least one small group of points); True when nothing is left."""
        begin = time.perf_counter()
        while not self.done:
            now = time.perf_counter()
            self._evaluate()
            took = time.perf_counter() - now
            left = budget_seconds - (time.perf_counter() - begin)
            # groups of about an eighth of the budget: long enough to be quick, short enough to stop in time
            if took < budget_seconds / 16:
                self._at_once = min(2 * self._at_once, 1 << 16)
            elif took > budget_seconds / 4:
                self._at_once = max(1, self._at_once // 2)
            if left < took:
                break
        return self.done

    def finish(self, threads: int = 1) -> Surface:
        """Evaluate everything at once, with several ``threads`` if wanted; for scripts and exports."""
        if threads > 1 and not self.done:
            self._threads = threads
            with ThreadPoolExecutor(threads) as self._pool:
                while not self.advance(10.0):
                    pass
            self._pool = None
        while not self.advance(10.0):
            pass
        if self.surface is None:
            raise ValueError("this surface was cancelled before its first level")
        return self.surface

    def _evaluate(self) -> None:
        stride, points = self._levels[self._level]
        part = points[self._place : self._place + self._at_once]
        if self._pool is None:
            self._evaluate_points(part)
        else:
            list(self._pool.map(self._evaluate_points, np.array_split(part, self._threads)))
        self._place += len(part)
        self._evaluated += len(part)
        if self._place >= len(points):
            self._level += 1
            self._place = 0
            self.surface = self._make(stride)
            if self._cache is not None and self.surface.complete:
                self._cache.put(self._key, self.surface)

    def _evaluate_points(self, points: NDArray[np.intp]) -> None:
        rows, columns = points[:, 0], points[:, 1]
        self._values[rows, columns] = self.objective.values_on(
            self.plane, self.a[columns], self.b[rows], self.step, self.seed, self.dtype
        )

    def _make(self, stride: int) -> Surface:
        rows, columns = (_indices(count, stride) for count in self._values.shape)
        a, b = self.a[columns], self.b[rows]
        outside = np.zeros((len(b), len(a)), dtype=bool)
        bounds = self.objective.bounds
        if bounds is not None and self.objective.size == 2:
            points = self.plane.lift(a[None, :], b[:, None])
            low, high = np.array(bounds).T
            slack = 1e-9 * (high - low)
            outside = ((points < low - slack) | (points > high + slack)).any(axis=-1)
        complete = self._level == len(self._levels)
        return Surface(self.plane, a, b, self._values[np.ix_(rows, columns)].copy(), outside, complete)


def _indices(count: int, stride: int) -> NDArray[np.intp]:
    """Every ``stride``-th number below ``count``, and the last one, so that every level spans the window."""
    found = np.arange(0, count, stride)
    return found if found[-1] == count - 1 else np.append(found, count - 1)


def _levels(rows: int, columns: int) -> list[tuple[int, NDArray[np.intp]]]:
    """(stride, new points as (row, column)) from the coarsest level to the finest."""
    levels = []
    seen = np.zeros((rows, columns), dtype=bool)
    stride = COARSEST
    while stride > 1 and min(rows, columns) <= stride:
        stride //= 2
    while stride >= 1:
        wanted = np.zeros((rows, columns), dtype=bool)
        wanted[np.ix_(_indices(rows, stride), _indices(columns, stride))] = True
        levels.append((stride, np.argwhere(wanted & ~seen)))
        seen |= wanted
        stride //= 2
    return [level for level in levels if len(level[1])]


def surface_key(
    objective: Objective, plane: Plane, a: Array, b: Array, step: int | None, seed: int, dtype: Any
) -> bytes:
    """A digest of everything a surface depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (plane.origin, plane.u, plane.v, a, b):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((objective.identity, step, seed if step is not None else None, str(dtype))).encode())
    return digest.digest()


class SurfaceCache:
    """Finished surfaces, the most recently used ones up to ``most_bytes``."""

    def __init__(self, most_bytes: int = 64 << 20) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[bytes, Surface] = OrderedDict()

    def get(self, key: bytes) -> Surface | None:
        """The surface of that key, if it is still kept."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: bytes, surface: Surface) -> None:
        """Keep a surface, and let go of the least recently used ones beyond the limit."""
        self._kept[key] = surface
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(_size(kept) for kept in self._kept.values()) > self.most_bytes:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)


def _size(surface: Surface) -> int:
    return surface.values.nbytes + surface.outside.nbytes + 3 * surface.plane.origin.nbytes


def line_values(
    objective: Objective, cut: Line, t: ArrayLike, step: int | None = None, seed: int = 0, dtype: Any = np.float64
) -> Array:
    """Losses along a line at the parameters ``t`` (...)."""
    return objective.value(cut.lift(t).astype(dtype), step, seed)
