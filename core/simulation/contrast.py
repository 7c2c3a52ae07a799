"""Computed and applied step side by side: lengths, ratio, angle, sign flips, weights that did not move."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.simulation.measures import row_angles, row_norms

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contrast:
    """How the applied change differs from -lr * g, over ``size`` weights.

    ``ratio`` is nan where nothing was expected, ``angle`` (degrees) and ``cosine`` where one of the two is zero or
    not finite. ``flipped`` counts weights that moved against -lr * g, ``unmoved`` those that stayed although
    -lr * g is not zero there, ``broken`` those where either is inf or nan.
    """

    size: int
    expected_norm: float
    applied_norm: float
    ratio: float
    angle: float
    cosine: float
    flipped: int
    unmoved: int
    broken: int


def contrast(expected: Float64, applied: Float64) -> Contrast:
    """Compare -lr * g and the applied change, both (size,)."""
    with np.errstate(all="ignore"):
        expected_norm, applied_norm = norm(expected), norm(applied)
        ratio = applied_norm / expected_norm if expected_norm != 0.0 else math.nan
        angle = angle_between(expected, applied)
        flipped = int(np.count_nonzero(np.sign(expected) * np.sign(applied) < 0.0))
        unmoved = int(np.count_nonzero((applied == 0.0) & (expected != 0.0)))
        broken = int(np.count_nonzero(~(np.isfinite(expected) & np.isfinite(applied))))
    cosine = math.cos(math.radians(angle)) if angle == angle else math.nan
    return Contrast(expected.size, expected_norm, applied_norm, ratio, angle, cosine, flipped, unmoved, broken)


def norm(vector: NDArray[Any]) -> float:
    """Euclidean length, also where squares over- or underflow; 0 for an empty vector."""
    return float(row_norms(vector[np.newaxis])[0]) if vector.size else 0.0


def angle_between(first: Float64, second: Float64) -> float:
    """Angle in degrees, 0 to 180; nan where one of the vectors is zero, empty or not finite."""
    if not first.size:
        return math.nan
    return float(row_angles(first[np.newaxis], second[np.newaxis])[0])
