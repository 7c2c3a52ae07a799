"""The structural similarity of two pictures (Wang, Bovik, Sheikh, Simoncelli 2004, equation 13 and section III-C)."""

import numpy as np

REACH = 5
DEVIATION = 1.5


def structural_similarity(a, b):
    """The mean over all windows of 11 x 11 pixels, Gaussian of deviation 1.5; ``a``, ``b`` are grey, 0 to 255."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    mean_a, mean_b = _weighted(first), _weighted(second)
    variance_a = _weighted(first * first) - mean_a**2
    variance_b = _weighted(second * second) - mean_b**2
    covariance = _weighted(first * second) - mean_a * mean_b
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    similarity = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    return float(np.mean(similarity / ((mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2))))


def _weighted(picture):
    weights = np.exp(-(np.arange(-REACH, REACH + 1) ** 2) / (2 * DEVIATION**2))
    weights /= weights.sum()
    rows = sum(w * picture[k : len(picture) - 2 * REACH + k] for k, w in enumerate(weights))
    return sum(w * rows[:, k : rows.shape[1] - 2 * REACH + k] for k, w in enumerate(weights))
