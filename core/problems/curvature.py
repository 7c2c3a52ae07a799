"""Curvature along a run: Hessian eigenvalues (all, or the extreme ones by Lanczos), the quadratic model's step.

With plain gradient descent a direction of curvature above 2/lr is unstable (Cohen et al. 2021, arXiv:2103.00065).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.problems.objective import Objective

Float64 = NDArray[np.float64]
DENSE_SIZE = 48
"""Up to this many weights the whole Hessian is worked out."""
LANCZOS_STEPS = 24


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues in descending order with unit eigenvectors as rows; ``complete`` when they are all there are."""

    values: Float64
    vectors: Float64
    complete: bool

    @property
    def sharpness(self) -> float:
        """The largest eigenvalue."""
        return float(self.values[0])


def spectrum(objective: Objective, weights: Float64, count: int = 3, seed: int = 0) -> Spectrum:
    """Curvature of the whole-data loss at ``weights`` (size,): all eigenvalues of small problems, else the ``count``
    largest and smallest by Lanczos iteration on Hessian-vector products.

    Raises FloatingPointError where the Hessian is not finite.
    """
    return _exhaust(spectrum_in_parts(objective, weights, count, seed))


def spectrum_in_parts(
    objective: Objective, weights: Float64, count: int = 3, seed: int = 0
) -> Generator[None, None, Spectrum]:
    """``spectrum`` as a generator that pauses after every Hessian-vector product, for work in slices."""
    point = np.asarray(weights, dtype=np.float64)
    if objective.size <= DENSE_SIZE:
        matrix = np.asarray(objective.hessian(point), dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise FloatingPointError(f"{objective.name}: the Hessian is not finite at this point")
        values, vectors = np.linalg.eigh(matrix)
        return Spectrum(values[::-1], vectors.T[::-1], True)
    return (yield from lanczos_in_parts(lambda v: objective.hessian_vector(point, v), objective.size, count, seed))


def lanczos(
    product: Callable[[Float64], Float64], size: int, count: int = 3, seed: int = 0, steps: int = LANCZOS_STEPS
) -> Spectrum:
    """The ``count`` largest and ``count`` smallest eigenvalues of a symmetric operator (Lanczos 1950).

    ``product(v)`` is the operator times v (size,). All basis vectors are orthogonalised against one another, so no
    eigenvalue appears twice. Runs until the wanted Ritz values have settled or ``steps`` times ten products.
    """
    return _exhaust(lanczos_in_parts(product, size, count, seed, steps))


def _exhaust(parts: Generator[None, None, Spectrum]) -> Spectrum:
    while True:
        try:
            next(parts)
        except StopIteration as end:
            found: Spectrum = end.value
            return found


def lanczos_in_parts(
    product: Callable[[Float64], Float64], size: int, count: int = 3, seed: int = 0, steps: int = LANCZOS_STEPS
) -> Generator[None, None, Spectrum]:
    """``lanczos`` as a generator that pauses after every product."""
    generator = np.random.default_rng(seed)
    basis: list[Float64] = []
    diagonal: list[float] = []
    off: list[float] = []
    vector = generator.standard_normal(size)
    vector /= np.linalg.norm(vector)
    previous: Float64 | None = None
    limit = min(size, 10 * steps)
    while len(basis) < limit:
        image = np.asarray(product(vector), dtype=np.float64)
        if not np.isfinite(image).all():
            raise FloatingPointError("a Hessian-vector product is not finite at this point")
        basis.append(vector)
        diagonal.append(float(vector @ image))
        rest = image.copy()
        for _ in range(2):
            table = np.array(basis)
            rest -= table.T @ (table @ rest)
        length = float(np.linalg.norm(rest))
        scale = max(abs(value) for value in diagonal) + (max(off) if off else 0.0)
        if length <= 1e-12 * max(scale, 1e-300):
            break
        if len(basis) % steps == 0:
            ritz = _ritz(diagonal, off)[0]
            wanted = np.concatenate([ritz[-count:], ritz[:count]])
            if previous is not None and np.allclose(wanted, previous, rtol=1e-9, atol=1e-12 * scale):
                break
            previous = wanted
        off.append(length)
        vector = rest / length
        yield
    values, inner = _ritz(diagonal, off[: len(diagonal) - 1])
    vectors = inner.T @ np.array(basis)
    order = np.arange(len(values))[::-1]
    if len(order) > 2 * count:
        order = np.concatenate([order[:count], order[-count:]])
    return Spectrum(values[order], vectors[order], len(values) == size)


def _ritz(diagonal: list[float], off: list[float]) -> tuple[Float64, Float64]:
    """Eigenvalues (ascending) and eigenvectors (columns) of the tridiagonal matrix."""
    side = np.array(off[: len(diagonal) - 1])
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(side, 1) + np.diag(side, -1))
    return values, vectors


def newton_step(found: Spectrum, gradient: Float64) -> Float64:
    """The step to the stationary point of the quadratic model, -H⁻¹g, (size,); needs a complete spectrum.

    Along directions without curvature there is no such point: LinAlgError.
    """
    if not found.complete:
        raise np.linalg.LinAlgError("the quadratic model's step needs all eigenvalues; this problem is too large")
    largest = float(np.abs(found.values).max())
    if float(np.abs(found.values).min()) <= 1e-14 * largest or largest == 0.0:
        raise np.linalg.LinAlgError("the Hessian is singular here: the quadratic model has no stationary point")
    return np.asarray(-(found.vectors.T @ ((found.vectors @ gradient) / found.values)))


def stability_limit(learning_rate: float) -> float:
    """2 / lr: plain gradient descent diverges along directions whose curvature is larger."""
    return 2.0 / learning_rate if learning_rate > 0 else np.inf
