"""How much arrows are magnified: chosen so that they can be read, kept while they can, always written down."""

from __future__ import annotations

import math
from dataclasses import dataclass

MODES = ("auto", "true", "separate", "fixed")
READABLE = 28.0
"""Pixels: an arrow shorter than this wants magnifying."""
GOOD = 90.0
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
        factor = _factor(max(lengths), room, None if previous is None or not previous.common else previous.computed)
        return Magnification(factor, factor)
    return Magnification(
        _factor(lengths[0], room, None if previous is None else previous.computed),
        _factor(lengths[1], room, None if previous is None else previous.applied),
    )


def _factor(length: float, room: float, previous: float | None) -> float:
    if length <= 0.0:
        return 1.0 if previous is None else previous
    largest = max(TOO_LARGE * room, READABLE)
    if READABLE <= length <= largest:
        return 1.0
    if previous is not None and previous != 1.0 and READABLE <= length * previous <= largest:
        # a factor that still does is kept, unless true length has come close enough
        return previous
    return round_factor(min(GOOD, largest) / length)


def round_factor(factor: float) -> float:
    """The largest of ... 0.1, 0.2, 0.5, 1, 2, 5, 10 ... that is not above ``factor``."""
    power = math.floor(math.log10(factor))
    mantissa = factor / 10.0**power
    step = max(s for s in STEPS if s <= mantissa * (1 + 1e-9) or s == 1.0)
    return float(f"{step:.0f}e{power}")


def factor_text(factor: float) -> str:
    """'×20', '×0.05', '×1e6'."""
    return f"×{factor:g}" if 1e-3 <= factor < 1e6 else f"×{factor:.0e}".replace("e+0", "e").replace("e-0", "e-")
