"""What part of a plane or line is looked at: where to begin, and how it follows a run that leaves it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.problems.lines import Line
from core.problems.objective import Objective
from core.problems.planes import Plane, window
from gui.views.surface.cut import CutChoice, Region

Float64 = NDArray[np.float64]
SLACK = 0.5


def home_range(t: Float64, vectors: Float64 | None = None) -> tuple[float, float]:
    """What part of a line to look at first: its points ``t`` with room around, 0 included when there is but one.

    ``vectors`` are the lengths of the step's own arrows, for lines that move with the step.
    """
    t = t[np.isfinite(t)]
    if vectors is not None and np.isfinite(vectors).all() and vectors.any():
        reach = 2.5 * float(np.abs(vectors).max())
        return -reach, reach
    low, high = (float(t.min()), float(t.max())) if len(t) else (0.0, 0.0)
    extent = high - low
    if extent > 0.0:
        return low - 0.35 * extent, high + 0.35 * extent
    half = max(1.0, 1.4 * abs(low))
    return low - half, low + half


def with_tips(t: Float64, tips: Float64) -> Float64:
    """Points ``t`` of a line with the ends of the arrows, unless these lie so far off that the rest would vanish."""
    near = t[np.isfinite(t)]
    extent = float(np.ptp(near)) if len(near) else 0.0
    reach = float(np.ptp(np.append(tips, near[-1:])))
    return np.append(t, tips) if np.isfinite(reach) and (extent == 0.0 or reach <= 4.0 * extent) else t


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


def step_region(region: Region, choice: CutChoice, objective: Objective, plane: Plane, tips: Float64) -> Region | None:
    """The step's own plane moves along with it: another region when the arrows (``tips`` as vectors from the step's
    weights) would not fill ``region`` well, else None.
    """
    a, b = plane.project_vector(tips)
    extent = float(max(np.ptp(a), np.ptp(b)))
    fits = all(region.holds(x, y, 0.08) for x, y in zip(a, b, strict=True))
    if fits and extent > 0.12 * min(region.width, region.height):
        return None
    return home_region(choice, objective, a, b)


def step_range(region: Region, line: Line, tips: Float64) -> Region | None:
    """The same along a line."""
    reach = float(np.abs(line.project_vector(tips)).max())
    if 0.1 * region.width < reach < 0.45 * region.width or not np.isfinite(reach) or reach == 0.0:
        return None
    left, right = home_range(np.zeros(1), np.array([reach]))
    return Region(left, right, region.bottom, region.top)


def grown(region: Region, objective: Objective, home: Region | None, a: float, b: float) -> Region | None:
    """``region`` with (a, b) too, None when it holds that already or the run has left for good."""
    if region.holds(a, b, 0.01) or not (np.isfinite(a) and np.isfinite(b)):
        return None
    if objective.bounds is not None and objective.size == 2 and home is not None and not most_of(home).holds(a, b):
        return None
    return region.including(a, b, SLACK)
