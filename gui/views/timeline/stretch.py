"""Which stretch of steps is in sight: its round end, its limits, and how it goes along with the run."""

from __future__ import annotations

import math

Stretch = tuple[float, float]

LEAST_STEPS = 4.0


def whole_range(count: int) -> float:
    """The end of an axis for ``count`` steps: a round number a little above, so that the axis does not move all the
    time while the run grows.
    """
    last = max(count - 1, 1)
    if last <= 10:
        return float(max(last, 4))
    unit = 10.0 ** (math.floor(math.log10(last)) - 1)
    # two leading digits: at most a tenth of the width stays empty
    return math.ceil(last / unit) * unit


def within(low: float, high: float, count: int) -> Stretch | None:
    """``low`` .. ``high`` kept within a run of ``count`` steps and not narrower than a few; None: all of them."""
    end = whole_range(count)
    width = max(high - low, LEAST_STEPS)
    if width >= end:
        return None
    low = min(max(0.5 * (low + high) - 0.5 * width, 0.0), end - width)
    return low, low + width


def gone_along(stretch: Stretch, count: int, grown: int) -> Stretch:
    """Where the stretch is after the run has grown to ``count``: one that held the newest step still does."""
    low, high = stretch
    if high >= count - grown - 1 and high < count:
        return low + (count - high), float(count)
    return stretch
