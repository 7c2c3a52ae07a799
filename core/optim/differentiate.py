"""The loss of a step: its gradients for variables, scaled or not, and its evaluation at other weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from core.autodiff import GradientTape, Variable
from core.optim.blocks import Block
from core.optim.dtypes import for_arithmetic
from core.optim.layout import Array
from core.optim.pairs import plain

Evaluate = Callable[[Array], tuple[float, Array]]
EvaluateAll = Callable[[dict[Any, Array]], tuple[float, dict[Any, Array]]]
Found = list[tuple[Array | None, Variable]]


def differentiate(
    loss: Callable[[], Any], variables: Sequence[Variable] | None, scale: float | None
) -> tuple[float, Found]:
    """(loss, [(gradient or None, variable), ...]); without ``variables``, of all trainable ones the loss used.

    With a ``scale`` the gradients are those of the loss times it, in each gradient's own type.
    """
    if not callable(loss):
        raise TypeError("loss has to be callable: compute_gradients(lambda: (w * x).sum(), [w])")
    with GradientTape() as tape:
        value = loss()
    chosen = list(variables) if variables is not None else list(tape.watched_variables())
    if not chosen:
        raise ValueError("no trainable variable was read inside the loss function")
    result: Found = []
    for gradient, variable in zip(tape.gradient(value, chosen), chosen, strict=True):
        array = None if gradient is None else np.asarray(plain(gradient))
        if array is not None and scale is not None:
            array = scaled(array, scale)
        result.append((array, variable))
    return float(np.asarray(plain(value)).sum()), result


def evaluator(loss: Callable[[], Any], variables: Sequence[Variable]) -> EvaluateAll:
    """Loss and gradients as a function of the variables' values; the variables keep the values they have."""

    def at(values: dict[Any, Array]) -> tuple[float, dict[Any, Array]]:
        saved = [variable.numpy().copy() for variable in variables]
        try:
            for variable in variables:
                variable.assign(values[variable])
            with GradientTape() as tape:
                found = loss()
            gradients = tape.gradient(found, variables, unconnected_gradients="zero")
            arrays = {v: np.asarray(plain(gradient)) for v, gradient in zip(variables, gradients, strict=True)}
            return float(np.asarray(plain(found)).sum()), arrays
        finally:
            for variable, old in zip(variables, saved, strict=True):
                variable.assign(old)

    return at


def evaluate_block(block: Block, blocks: Sequence[Block], evaluate: EvaluateAll, dtype: Any) -> Evaluate:
    """Loss and gradient as a function of this block's flat weights, the other blocks held where they are."""

    def at(flat: Array) -> tuple[float, Array]:
        values = {key: key.numpy() for other in blocks for key in other.keys}
        values.update(zip(block.keys, block.layout.split(np.asarray(flat)), strict=True))
        loss, gradients = evaluate(values)
        return loss, for_arithmetic(block.layout.join([gradients[key] for key in block.keys], dtype), dtype)

    return at


def scaled(gradient: Array, scale: float) -> Array:
    """The gradient of a scaled loss, in the gradient's own type (where it may overflow)."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = (gradient * gradient.dtype.type(scale)).astype(gradient.dtype)
    return result


def used_components(block: Block, used: Mapping[Any, Array]) -> Array:
    """True where a sparse gradient names the component; all of a dense one, (size,)."""
    parts = [
        used.get(key, np.ones(shape, dtype=bool)).reshape(-1)
        for key, shape in zip(block.keys, block.layout.shapes, strict=True)
    ]
    return np.concatenate(parts)
