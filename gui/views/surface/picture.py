"""A picture of the loss on part of a plane: values on a grid, their colours and their contour lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import contourpy
import numpy as np
from numpy.typing import NDArray

from core.problems.planes import Plane
from gui.views.surface.scale import LossScale, fit_scale

Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Picture:
    """Losses ``z`` (rows, columns) at the points ``ys[row]``, ``xs[column]`` of ``plane``: row-major, y upwards.

    ``scale`` and ``indices`` are its colours (None and no colours when nothing is finite), ``contours`` the lines as
    (points, 2) with nan rows between them, ``complete`` tells that no finer picture will follow.
    """

    plane: Plane
    xs: Float64
    ys: Float64
    z: Float64
    scale: LossScale | None
    indices: NDArray[np.uint8]
    contours: Float64
    complete: bool

    @property
    def rectangle(self) -> tuple[float, float, float, float]:
        """(left, bottom, width, height) of the image: half a cell more than the points on every side."""
        left, width = _edges(self.xs)
        bottom, height = _edges(self.ys)
        return left, bottom, width, height

    @property
    def whole(self) -> bool:
        """True when every loss is finite."""
        return bool(np.isfinite(self.z).all())


def _edges(points: Float64) -> tuple[float, float]:
    """Where the row of cells centred on ``points`` begins, and its length."""
    cell = float(points[-1] - points[0]) / (len(points) - 1)
    return float(points[0]) - cell / 2, cell * len(points)


def make_picture(
    plane: Plane,
    xs: Float64,
    ys: Float64,
    z: Float64,
    kind: str,
    known_minimum: float | None = None,
    complete: bool = True,
    lines: bool = True,
) -> Picture:
    """Colours and (with ``lines``) contour lines for losses ``z`` of shape (len(ys), len(xs))."""
    if z.shape != (len(ys), len(xs)):
        raise ValueError(f"a picture of {len(ys)} rows and {len(xs)} columns needs losses of that shape, not {z.shape}")
    scale = fit_scale(kind, z, known_minimum)
    if scale is None:
        blank = LossScale("linear", 0.0, 1.0)
        return Picture(plane, xs, ys, z, None, blank.indices(z), np.empty((0, 2)), complete)
    contours = contour_lines(xs, ys, z, scale) if lines else np.empty((0, 2))
    return Picture(plane, xs, ys, z, scale, scale.indices(z), contours, complete)


def recolored(picture: Picture, kind: str, known_minimum: float | None = None) -> Picture:
    """The same losses on another scale."""
    fresh = make_picture(picture.plane, picture.xs, picture.ys, picture.z, kind, known_minimum, picture.complete)
    return replace(picture, scale=fresh.scale, indices=fresh.indices, contours=fresh.contours)


def contour_lines(xs: Float64, ys: Float64, z: Float64, scale: LossScale, count: int = 14) -> Float64:
    """Lines of equal loss, evenly spaced on the scale: (points, 2) with nan rows between the lines.

    Traced on the scale's own places, where they are smooth, not on losses that span many orders of magnitude.
    """
    if min(z.shape) < 2:
        return np.empty((0, 2))
    places = np.ma.masked_invalid(scale.normalised(z))
    tracer = contourpy.contour_generator(xs, ys, places, line_type=contourpy.LineType.ChunkCombinedNan, name="serial")
    pieces: list[Float64] = []
    for level in np.unique(scale.normalised(scale.levels(count))):
        points = tracer.lines(float(level))[0][0]
        if points is None or not len(points):
            continue
        if pieces:
            pieces.append(np.full((1, 2), np.nan))
        pieces.append(points)
    return np.concatenate(pieces) if pieces else np.empty((0, 2))
