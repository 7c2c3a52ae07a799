"""A product joined to a sum with one rounding, as the processor instruction does that PyTorch's vectors use."""

from __future__ import annotations

import numpy as np

from core.optim.layout import Array

SPLIT = 134217729.0


def fused(x: Array, a: float | Array, y: Array) -> Array:
    """x + a y rounded once, as PyTorch's vectorised ``add_(y, alpha=a)`` does (float64; others round twice).

    The bits matter: the curvature of nearly equal pairs magnifies them. Products and sums with their rounding
    errors by Dekker 1971 and Knuth 1969.
    """
    if x.dtype != np.float64:
        result: Array = x + y * a
        return result
    product = y * a
    high_a = SPLIT * a - (SPLIT * a - a)
    high_y = SPLIT * y - (SPLIT * y - y)
    low_a, low_y = a - high_a, y - high_y
    product_error = ((high_y * high_a - product) + high_y * low_a + low_y * high_a) + low_y * low_a
    total = x + product
    part = total - x
    total_error = (x - (total - part)) + (product - part)
    exact = np.isfinite(total) & np.isfinite(product_error)
    return np.where(exact, total + (total_error + np.where(exact, product_error, 0.0)), total)


def fused_lerp(old: Array, new: Array, share: float) -> Array:
    """torch.lerp to the last bit (float64): from the nearer end, each with one rounding."""
    return fused(old, share, new - old) if share < 0.5 else fused(new, share - 1.0, new - old)
