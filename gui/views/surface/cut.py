"""Where the picture is cut through the weights: the user's choice of plane, and the part of it that is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.problems.directions import random_plane
from core.problems.objective import Objective
from core.problems.planes import Plane, PlaneError, expected_and_applied, principal, two_weights, window
from core.simulation import History

Float64 = NDArray[np.float64]
KINDS = ("weights", "step", "principal", "random")
FOLLOWS_THE_STEP = ("weights", "step")
"""Kinds of plane that are cut anew through each step shown; the others stay until they are asked for again."""
PRINCIPAL_NUMBERS = 2_000_000
SLACK = 0.5


@dataclass(frozen=True, slots=True)
class CutChoice:
    """Which plane: two weights (``first`` across, ``second`` up), the step's own, the path's largest variance, or
    random filter-normalised directions drawn from ``seed``.
    """

    kind: str = "weights"
    first: int = 0
    second: int = 1
    seed: int = 0


class Region(NamedTuple):
    """A rectangle in plane coordinates."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        """Extent across."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Extent upwards."""
        return self.top - self.bottom

    def holds(self, a: float, b: float, margin: float = 0.0) -> bool:
        """Whether (a, b) lies inside, by at least ``margin`` of the extents."""
        return bool(
            self.left + margin * self.width <= a <= self.right - margin * self.width
            and self.bottom + margin * self.height <= b <= self.top - margin * self.height
        )

    def including(self, a: float, b: float, slack: float = 0.0) -> Region:
        """The smallest rectangle with (a, b) too; sides that move, move on by ``slack`` of their extent."""
        left, right = _stretched(self.left, self.right, a, slack)
        bottom, top = _stretched(self.bottom, self.top, b, slack)
        return Region(left, right, bottom, top)


def _stretched(low: float, high: float, value: float, slack: float) -> tuple[float, float]:
    if value < low:
        return value - slack * (high - value), high
    if value > high:
        return low, value + slack * (value - low)
    return low, high


def make_plane(choice: CutChoice, objective: Objective, history: History, step: int, weights: Float64) -> Plane:
    """The plane of ``choice`` through ``weights``, those of step ``step``; PlaneError says why there is none."""
    if objective.size < 2:
        raise PlaneError("this problem has a single weight: there is no plane to look at, only a line")
    if choice.kind == "weights":
        return two_weights(weights, choice.first, choice.second, objective.component_names)
    if choice.kind == "random":
        return random_plane(weights, objective.variables, choice.seed)
    if history.count == 0:
        raise PlaneError("this plane needs a step: press Step or Run first")
    if choice.kind == "step":
        return expected_and_applied(weights, history.expected(step), history.applied(step))
    if choice.kind == "principal":
        most = max(50, min(1000, PRINCIPAL_NUMBERS // objective.size))
        every = -(-history.count // most)
        rows = history.path(every=every)
        return principal(np.concatenate([rows, weights[None, :]]))
    raise ValueError(f"no kind of plane {choice.kind!r}; there are: {', '.join(KINDS)}")


def home_region(choice: CutChoice, objective: Objective, a: Float64, b: Float64) -> Region:
    """What to look at first: the function's usual domain, or the points (a, b) with room around."""
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    if choice.kind == "weights" and objective.size == 2 and objective.bounds is not None:
        (left, right), (bottom, top) = objective.bounds[choice.first], objective.bounds[choice.second]
        domain = Region(float(left), float(right), float(bottom), float(top))
        limit = most_of(domain)
        near = (a >= limit.left) & (a <= limit.right) & (b >= limit.bottom) & (b <= limit.top)
        if not near.any():
            return domain
        a, b = a[near], b[near]
        region = domain.including(float(a.min()), float(b.min()), 0.08)
        return region.including(float(a.max()), float(b.max()), 0.08)
    if choice.kind == "step":
        (left, right), (bottom, top) = window((a, b), margin=1.0)
    else:
        (left, right), (bottom, top) = window((a, b), margin=0.35)
    if not np.ptp(a) > 0.0 and not np.ptp(b) > 0.0:
        half = max(1.0, 0.5 * float(np.abs(np.concatenate([a, b])).max(initial=0.0)))
        middle_a, middle_b = (left + right) / 2, (bottom + top) / 2
        return Region(middle_a - half, middle_a + half, middle_b - half, middle_b + half)
    # circles should look round at first sight, as far as a picture that is wider than high allows
    half = max(right - left, 1.3 * (top - bottom)) / 2
    middle_a, middle_b = (left + right) / 2, (bottom + top) / 2
    return Region(middle_a - half, middle_a + half, middle_b - half / 1.3, middle_b + half / 1.3)


def most_of(domain: Region) -> Region:
    """How far a picture may grow by itself: beyond it a run is said to have left, rather than shown as a dot."""
    return Region(
        domain.left - 1.5 * domain.width,
        domain.right + 1.5 * domain.width,
        domain.bottom - 1.5 * domain.height,
        domain.top + 1.5 * domain.height,
    )
