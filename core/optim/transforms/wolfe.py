"""A line search for the strong Wolfe conditions: bracket, then zoom by cubic interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from core.optim.layout import Array

Evaluate = Callable[[Array], tuple[float, Array]]
DECREASE, CURVATURE = 1e-4, 0.9
SHORTEST = 1e-9
"""A bracket over which no weight moves more is not divided further (PyTorch does not hand its tolerance_change on)."""


class Point(NamedTuple):
    """The line at one length: loss, gradient, and slope along the direction."""

    length: float
    loss: float
    gradient: Array
    slope: float


def strong_wolfe(
    evaluate: Evaluate,
    move: Callable[[float], Array],
    length: float,
    direction: Array,
    start: Point,
    most: int = 25,
) -> tuple[Point, int]:
    """(the point, evaluations) at a length along ``direction`` that satisfies both conditions, or the best one found
    with ``most`` evaluations behind the first; ``move(t)`` are the weights at length t, ``start`` the point at 0.

    Nocedal and Wright 2006, algorithms 3.5 and 3.6, with the safeguards of torch.optim.LBFGS.
    """

    def at(t: float) -> Point:
        found, g = evaluate(move(t))
        return Point(t, found, g, float(g @ direction))

    points, tries, done = _bracket(at, start, length, most)
    if done:
        return points[0], tries + 1
    best, tries = _zoom(at, start, points, tries, float(np.abs(direction).max()), most)
    return best, tries + 1


def _bracket(at: Callable[[float], Point], start: Point, length: float, most: int) -> tuple[list[Point], int, bool]:
    """(one or two points, further evaluations, True when the one point will do)."""
    before, now, tries = start, at(length), 0
    while tries < most:
        if now.loss > start.loss + DECREASE * now.length * start.slope or (tries > 1 and now.loss >= before.loss):
            return [before, now], tries, False
        if abs(now.slope) <= -CURVATURE * start.slope:
            return [now], tries, True
        if now.slope >= 0:
            return [before, now], tries, False
        low, high = now.length + 0.01 * (now.length - before.length), now.length * 10
        following = cubic_minimum(before, now, low, high)
        before, now = now, at(following)
        tries += 1
    return [start, now], tries, False


def _zoom(
    at: Callable[[float], Point], start: Point, points: list[Point], tries: int, reach: float, most: int
) -> tuple[Point, int]:
    """(the lowest end of the last bracket, further evaluations); of equal ends the first counts as the lower one."""
    ends = list(points)
    low = _lower(ends)
    stalled = False
    while tries < most:
        left, right = sorted((ends[0].length, ends[1].length))
        if (right - left) * reach < SHORTEST:
            break
        length = cubic_minimum(ends[0], ends[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - length, length - left) < margin:
            if stalled or length >= right or length <= left:
                length = right - margin if abs(length - right) < abs(length - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = at(length)
        tries += 1
        if new.loss > start.loss + DECREASE * length * start.slope or new.loss >= ends[low].loss:
            ends[1 - low] = new
            low = _lower(ends)
            continue
        done = abs(new.slope) <= -CURVATURE * start.slope
        if not done and new.slope * (ends[1 - low].length - ends[low].length) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = new
        if done:
            break
    return ends[low], tries


def _lower(ends: list[Point]) -> int:
    return 0 if ends[0].loss <= ends[1].loss else 1


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes is lowest, kept between ``low`` and ``high``."""
    if a.length == b.length:
        return (low + high) / 2.0
    d1 = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.length - b.length)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    first, second = (a, b) if a.length <= b.length else (b, a)
    d2 = math.sqrt(square)
    above, below = second.slope + d2 - d1, second.slope - first.slope + 2.0 * d2
    share = above / below if below else above * math.inf
    where = second.length - (second.length - first.length) * share
    return min(max(where, low), high)
