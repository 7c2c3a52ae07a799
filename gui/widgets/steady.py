"""Keeps a picture calm while numbers run: bounds that grow at once and shrink late, choices that do not flicker."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

NICE = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
SHRINK_BELOW = 0.45
PATIENCE = 0.7
"""Seconds that something else must have been needed while running: views are drawn more or less often."""

Clock = Callable[[], float]


def nice_ceiling(value: float) -> float:
    """The next round number from ``value`` (> 0) on: 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten."""
    if not math.isfinite(value) or value <= 0.0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    if power == 0.0:
        return value
    found = next((step * power for step in NICE if step * power >= value * (1.0 - 1e-12)), 10.0 * power)
    return found if math.isfinite(found) else value


class Patience:
    """Tells when something has been wanted for PATIENCE seconds without a break."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None

    def rest(self) -> None:
        """It is not wanted any more."""
        self._since = None

    def over(self, running: bool) -> bool:
        """It is wanted now; True when it has been for long enough, at once while not running."""
        now = self._clock()
        if self._since is None:
            self._since = now
        if running and now - self._since < PATIENCE:
            return False
        self._since = None
        return True


class SteadyBound:
    """An upper bound in round numbers. It grows at once; it shrinks when less than half of it is needed, and while
    running only after that has lasted for PATIENCE.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.value = 0.0
        self._patience = Patience(clock)

    def reset(self) -> None:
        """Forget: the next value is taken as it comes."""
        self.value = 0.0
        self._patience.rest()

    def update(self, needed: float, running: bool) -> float:
        """The bound for ``needed`` >= 0; values that are not finite leave it alone."""
        if not math.isfinite(needed):
            return self.value
        if needed > self.value or self.value == 0.0:
            self.value = nice_ceiling(needed)
            self._patience.rest()
        elif needed < SHRINK_BELOW * self.value:
            if self._patience.over(running):
                self.value = nice_ceiling(needed)
        else:
            self._patience.rest()
        return self.value


class SteadyRange:
    """A range around zero, (low <= 0, high >= 0), each side a SteadyBound."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._low = SteadyBound(clock)
        self._high = SteadyBound(clock)

    def reset(self) -> None:
        """Forget both sides."""
        self._low.reset()
        self._high.reset()

    def update(self, low: float, high: float, running: bool) -> tuple[float, float]:
        """The range for values between ``low`` and ``high``."""
        bottom = self._low.update(max(-low, 0.0), running)
        top = self._high.update(max(high, 0.0), running)
        return -bottom, top


class SteadyChoice:
    """A choice that changes at once when paused, and while running only when another is wanted for PATIENCE."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.value: str | None = None
        self._patience = Patience(clock)

    def reset(self) -> None:
        """Forget the choice."""
        self.value = None
        self._patience.rest()

    def update(self, wanted: str, running: bool) -> str:
        """The choice in force."""
        if wanted == self.value:
            self._patience.rest()
            return wanted
        if self.value is None or self._patience.over(running):
            self.value = wanted
            self._patience.rest()
        return self.value


class Pace:
    """Lets something through at most every ``seconds``: text that changes at every frame cannot be read.

    What takes long itself (``took``) is let through less often, so that it never costs more than a quarter of the
    time.
    """

    def __init__(self, seconds: float) -> None:
        self.least = seconds
        self.seconds = seconds
        self._last = -math.inf

    def took(self) -> None:
        """What was let through is done now."""
        self.seconds = max(self.least, 4.0 * (time.perf_counter() - self._last))

    def due(self, running: bool) -> bool:
        """True when it is time (always while not running)."""
        now = time.perf_counter()
        if running and now - self._last < self.seconds:
            return False
        self._last = now
        return True

    def wait(self) -> int:
        """Milliseconds until it is time again, at least 1."""
        return max(1, int(1000.0 * (self.seconds - (time.perf_counter() - self._last))) + 1)
