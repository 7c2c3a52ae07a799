"""Two problems as XLA computes their gradients on a CPU: products and sums fused, with one rounding.

The recorded optax trajectories were made with these bits; a gradient rounded otherwise drifts away from them on
problems that amplify rounding errors.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from core.optim.layout import Array


def fma(a: float, b: float, c: float) -> float:
    """a * b + c rounded once; finite numbers only, as the problems give them."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def rosenbrock(w: Array, k: int) -> tuple[float, Array]:
    x, y = map(float, w)
    if not np.isfinite(w).all():
        return float("nan"), np.full(2, np.nan)
    along = fma(-x, x, y)
    slope = 200 * along
    return fma(100 * along, along, (1 - x) * (1 - x)), np.array([-2 * (1 - x) - slope * (2 * x), slope])


def beale(w: Array, k: int) -> tuple[float, Array]:
    x, y = map(float, w)
    if not np.isfinite(w).all():
        return float("nan"), np.full(2, np.nan)
    square = y * y
    cube = y * square
    a, b, c = fma(x, y, 1.5 - x), fma(x, square, 2.25 - x), fma(x, cube, 2.625 - x)
    p, q, r = 2 * a, 2 * b, 2 * c
    dx = fma(p, y, fma(q, square, fma(r, cube, -r)) - q) - p
    dy = fma(p, x, fma(q * x, 2 * y, (r * x) * (3 * square)))
    return fma(c, c, fma(b, b, a * a)), np.array([dx, dy])
