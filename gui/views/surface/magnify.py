"""How much arrows are magnified: chosen so that they can be read, kept while they can, always written down."""

from __future__ import annotations

import math
from dataclasses import dataclass

MODES = ("auto", "true", "separate", "fixed")
READABLE = 40.0
"""Pixels: an arrow shorter than this wants magnifying."""
VISIBLE = 18.0
"""Pixels that the shorter of two arrows should have."""
GOOD = 120.0
TOO_LARGE = 0.6
"""Part of the picture's shorter side that an arrow may take."""
STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Magnification:
    """Factors the computed and the applied arrow are drawn with; equal unless they are magnified separately."""

    computed: float = 1.0
    applied: float = 1.0

    @property
    def common(self) -> bool:
        """True when one factor holds for all arrows, so that the ledger's arrows can stand between them."""
        return self.computed == self.applied


def choose(
    mode: str,
    computed: float,
    applied: float,
    room: float,
    previous: Magnification | None = None,
    fixed: float = 1.0,
) -> Magnification:
    """The magnification of a step whose arrows are ``computed`` and ``applied`` pixels long at true length.

    ``room`` is the shorter side of the picture in pixels. 'auto' draws the longer of both readably, 'separate' each
    of them, both preferring true length and keeping the ``previous`` factors as long as they will do; 'true' is 1
    and 'fixed' is ``fixed``.
    """
    if mode not in MODES:
        raise ValueError(f"no way {mode!r} to magnify arrows; there are: {', '.join(MODES)}")
    if mode == "true":
        return Magnification()
    if mode == "fixed":
        return Magnification(fixed, fixed)
    lengths = [length if math.isfinite(length) else 0.0 for length in (computed, applied)]
    if mode == "auto":
        longest, shortest = max(lengths), min(lengths)
        largest = max(TOO_LARGE * room, READABLE)
        least = READABLE
        if shortest > 0.0 and longest <= 0.9 * largest / VISIBLE * shortest:
            # one factor can show both: it is the shorter arrow that asks for it
            least = max(READABLE, VISIBLE * longest / shortest)
        factor = _factor(
            longest, least, largest, None if previous is None or not previous.common else previous.computed
        )
        return Magnification(factor, factor)
    largest = max(TOO_LARGE * room, READABLE)
    return Magnification(
        _factor(lengths[0], READABLE, largest, None if previous is None else previous.computed),
        _factor(lengths[1], READABLE, largest, None if previous is None else previous.applied),
    )


def _factor(length: float, least: float, largest: float, previous: float | None) -> float:
    """A round factor that makes an arrow of ``length`` pixels from ``least`` to ``largest`` long, 1 if that will do."""
    if length <= 0.0:
        return 1.0 if previous is None else previous
    if least <= length <= largest:
        return 1.0
    if previous is not None and previous != 1.0 and 0.85 * least <= length * previous <= largest:
        # a factor that still does is kept, so that arrows do not jump from step to step
        return previous
    return round_factor(min(max(GOOD, 1.6 * least), largest) / length)


def round_factor(factor: float) -> float:
    """The largest of ... 0.1, 0.2, 0.5, 1, 2, 5, 10 ... that is not above ``factor``."""
    power = math.floor(math.log10(factor))
    mantissa = factor / 10.0**power
    step = max(s for s in STEPS if s <= mantissa * (1 + 1e-9) or s == 1.0)
    return float(f"{step:.0f}e{power}")


def factor_text(factor: float) -> str:
    """'×20', '×0.05', '×1e6'."""
    return f"×{factor:g}" if 1e-3 <= factor < 1e6 else f"×{factor:.0e}".replace("e+0", "e").replace("e-0", "e-")
