"""Sharpness: the largest eigenvalue of the loss' Hessian along a run, to be held against 2 / learning rate.

Gradient descent on a quadratic is stable as long as the sharpness stays below 2/lr; training of networks tends to
hover just there (Cohen et al. 2021, 'Gradient descent on neural networks typically occurs at the edge of stability').
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from core.problems.objective import Objective
from core.simulation.experiment import Event
from core.simulation.history import History

Float64 = NDArray[np.float64]
EXACT_SIZE = 40
"""Up to so many weights the whole Hessian is taken."""
LANCZOS_STEPS = 12


def sharpness_at(objective: Objective, weights: Float64) -> float:
    """Largest eigenvalue of the Hessian at ``weights`` (size,) on the whole data set; nan where it is not finite.

    Exact for few weights; else by Lanczos' method with central differences of the gradient (about four digits, and
    never above the true value but for their rounding).
    """
    point = np.asarray(weights, dtype=np.float64)
    if not np.isfinite(point).all():
        return math.nan
    with np.errstate(all="ignore"):
        if objective.size <= EXACT_SIZE:
            hessian = np.asarray(objective.hessian(point), dtype=np.float64)
            return _largest(0.5 * (hessian + hessian.T))
        return _lanczos(objective, point)


def _largest(symmetric: Float64) -> float:
    if not np.isfinite(symmetric).all():
        return math.nan
    return float(np.linalg.eigvalsh(symmetric)[-1])


def _lanczos(objective: Objective, point: Float64) -> float:
    """The largest eigenvalue of the Hessian restricted to the space that LANCZOS_STEPS products with it span."""
    # a fixed start: the same weights give the same number
    vector = np.random.default_rng(0).normal(size=point.size)
    vector /= np.linalg.norm(vector)
    basis: list[Float64] = []
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(LANCZOS_STEPS, point.size)):
        basis.append(vector)
        product = _hessian_times(objective, point, vector)
        if not np.isfinite(product).all():
            return math.nan
        diagonal.append(float(vector @ product))
        # all of the basis, twice: rounding would bring found directions back
        for _ in range(2):
            for known in basis:
                product = product - (known @ product) * known
        length = float(np.linalg.norm(product))
        if length <= 1e-10 * max(abs(value) for value in diagonal):
            break
        beside.append(length)
        vector = product / length
    size = len(diagonal)
    table = np.diag(diagonal) + np.diag(beside[: size - 1], 1) + np.diag(beside[: size - 1], -1)
    return _largest(table)


def _hessian_times(objective: Objective, point: Float64, direction: Float64) -> Float64:
    """The Hessian times a unit vector by central differences."""
    # the cube root of the machine's precision balances truncation against rounding
    reach = 6e-6 * max(1.0, float(np.linalg.norm(point)))
    ahead = np.asarray(objective.gradient(point + reach * direction), dtype=np.float64)
    behind = np.asarray(objective.gradient(point - reach * direction), dtype=np.float64)
    result: Float64 = (ahead - behind) / (2.0 * reach)
    return result


def objective_at(objective: Objective, events: Iterable[Event], step: int) -> Objective:
    """The objective as it was in ``step``, given the newest one and the live changes of the run."""
    later = [event for event in events if event.target == "problem" and event.step > step]
    values = {event.key: event.old for event in sorted(later, key=lambda event: -event.step)}
    return objective.with_values(**values) if values else objective


def places(low: int, high: int, most: int) -> list[int]:
    """Steps of low..high-1, at most ``most`` + 1 of them: multiples of a power of two, coarse ones first, so that more
    of a growing run needs few new ones.
    """
    stride = 1
    while (high - low) > most * stride:
        stride *= 2
    first = -(-low // stride)
    chosen = [k * stride for k in range(first, -(-high // stride))]
    return sorted(chosen, key=lambda step: (-_twos(step), step))


def _twos(number: int) -> int:
    """How often 2 divides ``number`` (0: always)."""
    return 64 if number == 0 else (number & -number).bit_length() - 1


class SharpnessJob:
    """Works the sharpness of some steps out, a few at a time (see gui.worker.Job).

    ``found`` maps steps to values; it is replaced, never changed.
    """

    def __init__(self, history: History, objective: Objective, events: Sequence[Event], steps: Sequence[int]) -> None:
        self.history = history
        self.found: dict[int, float] = {}
        self._objective = objective
        self._events = tuple(events)
        self._steps = list(steps)

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; True when all steps are done."""
        deadline = time.perf_counter() + seconds
        found = dict(self.found)
        while self._steps:
            step = self._steps.pop(0)
            if self.history.held_from <= step < self.history.count:
                objective = objective_at(self._objective, self._events, step)
                found[step] = sharpness_at(objective, self.history.weights(step))
            if time.perf_counter() >= deadline:
                break
        self.found = found
        return not self._steps
