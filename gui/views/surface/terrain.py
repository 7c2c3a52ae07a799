"""The picture as a landscape: heights from the colour scale, shading, and curves laid upon it. Pure numbers, no GL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gui.views.surface.cut import Region
from gui.views.surface.picture import Picture

Float64 = NDArray[np.float64]
HEIGHT = 0.9
"""Height of the landscape's box; its floor is 2 by 2 (from -1 to 1)."""
MOST_POINTS = 129
ABOVE = 0.01
"""How far above the ground lines are drawn, so that they are not half buried in it."""
LIGHT = np.array([-0.45, 0.55, 0.7]) / np.linalg.norm([-0.45, 0.55, 0.7])
DRAPE_POINTS = 40
HEAD = 0.055


@dataclass(frozen=True, eq=False)
class Terrain:
    """A picture in the coordinates of a box: x and y from -1 to 1 across the region, z from 0 to HEIGHT."""

    picture: Picture

    @cached_property
    def stride(self) -> int:
        """The mesh takes every so-manieth point of the picture."""
        return max(1, -(-(max(self.picture.z.shape) - 1) // (MOST_POINTS - 1)))

    @property
    def region(self) -> Region:
        """The rectangle of the plane that is shown."""
        xs, ys = self.picture.xs, self.picture.ys
        return Region(float(xs[0]), float(xs[-1]), float(ys[0]), float(ys[-1]))

    @cached_property
    def places(self) -> Float64:
        """Places 0..1 on the colour scale (rows, columns), nan where the loss is not finite."""
        picture = self.picture
        if picture.scale is None:
            return np.full(picture.z.shape, np.nan)
        return picture.scale.normalised(picture.z)

    def mesh(self) -> tuple[Float64, Float64, Float64]:
        """x (columns,), y (rows,), z (columns, rows) of the mesh; the floor where the loss is not finite."""
        s = self.stride
        x, y = self.flat(self.picture.xs[::s], self.picture.ys[::s])
        z = HEIGHT * np.nan_to_num(self.places[::s, ::s]).T
        return x, y, z

    def colors(self, table: NDArray[np.uint8]) -> Float64:
        """(columns, rows, 4) colours 0..1 of the mesh's points, shaded, clear where the loss is not finite."""
        s = self.stride
        colors = table[self.picture.indices[::s, ::s]].astype(np.float64).transpose(1, 0, 2) / 255.0
        colors[..., :3] = np.clip(colors[..., :3] * self.shading()[..., None], 0.0, 1.0)
        colors[..., 3] = np.isfinite(self.places[::s, ::s]).T
        return colors

    def shading(self) -> Float64:
        """Brightness (columns, rows) of the ground under light from the upper left, 1 on level ground."""
        x, y, z = self.mesh()
        slope_x, slope_y = np.gradient(z, x, y)
        normals = np.stack([-slope_x, -slope_y, np.ones_like(z)], axis=-1)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        return np.asarray(0.72 + 0.28 * (normals @ LIGHT) / LIGHT[2])

    def flat(self, a: ArrayLike, b: ArrayLike) -> tuple[Float64, Float64]:
        """Box coordinates x and y of plane coordinates."""
        region = self.region
        x = 2.0 * (np.asarray(a, np.float64) - region.left) / region.width - 1.0
        y = 2.0 * (np.asarray(b, np.float64) - region.bottom) / region.height - 1.0
        return x, y

    def heights(self, a: ArrayLike, b: ArrayLike) -> Float64:
        """Heights of the ground at plane coordinates; nan outside, and next to losses that are not finite.

        Interpolated on the mesh that is drawn, so that what lies on the ground is not buried in it.
        """
        s = self.stride
        places = self.places[::s, ::s]
        columns, across = _located(self.picture.xs[::s], np.asarray(a, np.float64))
        rows, up = _located(self.picture.ys[::s], np.asarray(b, np.float64))
        low = places[rows, columns] * (1 - across) + places[rows, columns + 1] * across
        high = places[rows + 1, columns] * (1 - across) + places[rows + 1, columns + 1] * across
        return np.asarray(HEIGHT * (low * (1 - up) + high * up))

    def on_ground(self, a: ArrayLike, b: ArrayLike) -> Float64:
        """Points (n, 3) lying on the ground at plane coordinates (n,); nan rows where there is none."""
        x, y = self.flat(a, b)
        return np.stack([x, y, self.heights(a, b) + ABOVE], axis=-1)

    def draped(self, tail: ArrayLike, tip: ArrayLike) -> Float64:
        """A straight line of the plane laid on the ground, (n, 3): the part of it inside the region."""
        t = np.linspace(0.0, 1.0, DRAPE_POINTS)[:, None]
        start, end = np.asarray(tail, np.float64), np.asarray(tip, np.float64)
        line = (1 - t) * start + t * end
        points = self.on_ground(line[:, 0], line[:, 1])
        return points[np.isfinite(points).all(axis=1)]

    def arrow(self, tail: ArrayLike, tip: ArrayLike) -> Float64:
        """End points (2 n, 3) of the segments of an arrow laid on the ground: its shaft and two barbs at its tip."""
        shaft = self.draped(tail, tip)
        end = np.asarray(tip, np.float64)
        if len(shaft) < 2:
            return np.empty((0, 3))
        pieces = [segments(shaft)]
        inside = np.isfinite(self.heights(end[0], end[1]))
        along = shaft[-1] - shaft[0]
        length = float(np.hypot(along[0], along[1]))
        if inside and length > 0.0:
            head = min(HEAD, 0.5 * length)
            back = -along / length * head
            side = np.array([-back[1], back[0], 0.0]) * 0.5
            for barb in (back + side, back - side):
                point = shaft[-1] + barb
                a, b = self.plane_point(point[0], point[1])
                height = float(self.heights(a, b))
                point[2] = height + ABOVE if np.isfinite(height) else shaft[-1, 2]
                pieces.append(np.stack([shaft[-1], point]))
        return np.concatenate(pieces)

    def plane_point(self, x: float, y: float) -> tuple[float, float]:
        """Plane coordinates of box coordinates: the inverse of ``flat``."""
        region = self.region
        return region.left + (x + 1.0) / 2.0 * region.width, region.bottom + (y + 1.0) / 2.0 * region.height


def segments(points: Float64) -> Float64:
    """A chain of points (n, d) as the end points (2 m, d) of its segments, without those that touch a nan row."""
    whole = np.isfinite(points).all(axis=1)
    keep = whole[:-1] & whole[1:]
    return np.stack([points[:-1][keep], points[1:][keep]], axis=1).reshape(-1, points.shape[1])


def _located(axis: Float64, values: Float64) -> tuple[NDArray[np.intp], Float64]:
    """Cell numbers and places 0..1 within the cells; nan places outside the axis."""
    index = np.clip(np.searchsorted(axis, values, side="right") - 1, 0, len(axis) - 2)
    part = (values - axis[index]) / (axis[index + 1] - axis[index])
    return index, np.where((part < -1e-9) | (part > 1 + 1e-9), np.nan, part)
