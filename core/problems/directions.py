"""Random directions through the weights of a model, filter-normalised so that their lengths mean something."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.objective import VariableSpec
from core.problems.planes import Plane, PlaneError

Array = NDArray[np.float64]
BIAS_RULES = ("ignore", "whole", "raw")


def filter_normalised(
    direction: ArrayLike, weights: ArrayLike, variables: Sequence[VariableSpec], biases: str = "ignore"
) -> Array:
    """``direction`` (size,) with every filter rescaled to the norm of the same filter of ``weights``.

    Li et al. 2018 ('Visualizing the loss landscape of neural nets'): each filter once; biases and the parameters of
    normalisations are not moved at all ('ignore', the paper's choice), or each such variable is rescaled as a
    whole ('whole'), or left as drawn ('raw'). A filter whose direction is zero stays zero.
    """
    if biases not in BIAS_RULES:
        raise PlaneError(f"biases must be one of {', '.join(BIAS_RULES)}, not {biases!r}")
    d = np.array(direction, dtype=np.float64).reshape(-1)
    w = np.asarray(weights, dtype=np.float64).reshape(-1)
    size = sum(variable.size for variable in variables)
    if not d.size == w.size == size:
        raise PlaneError(f"direction ({d.size}), weights ({w.size}) and variables ({size}) differ in size")
    begin = 0
    for variable in variables:
        part = slice(begin, begin + variable.size)
        begin += variable.size
        if variable.role == "weight" and len(variable.shape) >= 2:
            own = np.moveaxis(w[part].reshape(variable.shape), variable.filter_axis, 0)
            drawn = np.moveaxis(d[part].reshape(variable.shape), variable.filter_axis, 0)
            own_norms = np.linalg.norm(own.reshape(len(own), -1), axis=1)
            norms = np.linalg.norm(drawn.reshape(len(drawn), -1), axis=1)
            factors = np.divide(own_norms, norms, out=np.zeros_like(norms), where=norms > 0)
            scaled = drawn * factors.reshape((-1,) + (1,) * (drawn.ndim - 1))
            d[part] = np.moveaxis(scaled, 0, variable.filter_axis).reshape(-1)
        elif variable.role == "weight" or biases == "whole":
            norm = float(np.linalg.norm(d[part]))
            d[part] *= float(np.linalg.norm(w[part])) / norm if norm > 0 else 0.0
        elif biases == "ignore":
            d[part] = 0.0
    return d


def random_direction(
    weights: ArrayLike, variables: Sequence[VariableSpec], seed: int = 0, biases: str = "ignore"
) -> Array:
    """A normally distributed direction (size,) for ``seed``, filter-normalised to ``weights``."""
    size = sum(variable.size for variable in variables)
    return filter_normalised(np.random.default_rng(seed).standard_normal(size), weights, variables, biases)


def random_plane(weights: ArrayLike, variables: Sequence[VariableSpec], seed: int = 0, biases: str = "ignore") -> Plane:
    """The plane at ``weights`` along two random filter-normalised directions.

    The axes keep the lengths the normalisation gave them (coordinate 1 is one length of the weights); like the
    paper's they are nearly, not exactly, perpendicular.
    """
    first, second = np.random.default_rng(seed).spawn(2)
    size = sum(variable.size for variable in variables)
    u = filter_normalised(first.standard_normal(size), weights, variables, biases)
    v = filter_normalised(second.standard_normal(size), weights, variables, biases)
    if not u.any() or not v.any():
        raise PlaneError("all weights are zero here, so every filter-normalised direction is zero; take a later step")
    return Plane(np.asarray(weights, dtype=np.float64), u, v, ("random 1", "random 2"), "random, filter-normalised")
