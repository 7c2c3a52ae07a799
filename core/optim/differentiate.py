"""The loss of a step: its gradients for variables, scaled or not, and its evaluation at other weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from core.autodiff import GradientTape, Tensor, Variable
from core.optim.blocks import Block
from core.optim.dtypes import for_arithmetic
from core.optim.layout import Array
from core.optim.pairs import plain

Evaluate = Callable[[Array], tuple[float, Array]]
EvaluateAll = Callable[[dict[Any, Array]], tuple[float, dict[Any, Array]]]
Found = list[tuple[Array | None, Variable]]


def differentiate(
    loss: Callable[[], Any], variables: Sequence[Variable] | None, scale: float | None, for_a_step: bool = False
) -> tuple[float, Found]:
    """(loss, [(gradient or None, variable), ...]); without ``variables``, of all trainable ones the loss used.

    With a ``scale`` the gradients are those of the loss times it, in each gradient's own type. With ``for_a_step``
    it is an error, which gives the reasons, when no variable has a gradient.
    """
    if not callable(loss):
        raise TypeError("loss has to be callable: compute_gradients(lambda: (w * x).sum(), [w])")
    given = None if variables is None else _checked(variables)
    with GradientTape() as tape:
        value = _loss_of(loss)
        read = [one for one in value if isinstance(one, Variable) and one.trainable]
    chosen = given
    if chosen is None:
        used = {*tape.watched_variables(), *read}
        chosen = sorted((v for v in used if v.dtype.kind not in "iub"), key=lambda v: v._id)
    if not chosen:
        raise ValueError("no trainable variable was read inside the loss function")
    gradients = tape.gradient(value, chosen)
    if for_a_step and chosen and all(gradient is None for gradient in gradients):
        reasons = "; ".join(dict.fromkeys(tape.why_none(variable) for variable in chosen[:3]))
        raise ValueError(f"no gradients for any variable: {reasons}")
    result: Found = []
    for gradient, variable in zip(gradients, chosen, strict=True):
        array = None if gradient is None else np.asarray(plain(gradient))
        if array is not None and scale is not None:
            array = scaled(array, scale)
        result.append((array, variable))
    return _total(value), result


def _checked(variables: Any) -> list[Variable]:
    """The variables as a list; TypeError unless they are that."""
    if isinstance(variables, (Variable, str, Mapping)) or not isinstance(variables, Iterable):
        name = f"the variable {variables.name!r}" if isinstance(variables, Variable) else type(variables).__name__
        raise TypeError(f"variables has to be a list of Variables, such as [w], not {name}")
    given = list(variables)
    for position, one in enumerate(given):
        if not isinstance(one, Variable):
            raise TypeError(f"variables[{position}] has to be a Variable, not {one!r}")
    return given


def _loss_of(loss: Callable[[], Any]) -> list[Any]:
    """The numbers of the loss, whose sum is differentiated; an error that says so when there are none."""
    value = loss()
    if value is None:
        name = getattr(loss, "__name__", type(loss).__name__)
        raise TypeError(f"the loss function {name} returned None: it has to return the loss (is a return missing?)")
    parts = list(value) if isinstance(value, (list, tuple)) else [value]
    for part in parts:
        if not isinstance(part, (Tensor, np.ndarray, np.generic, int, float)):
            raise TypeError(f"the loss function has to return a number or tensor, not {part!r}")
    return parts


def _total(value: list[Any]) -> float:
    return float(sum(np.asarray(plain(part)).sum() for part in value))


def evaluator(loss: Callable[[], Any], variables: Sequence[Variable]) -> EvaluateAll:
    """Loss and gradients as a function of the variables' values; the variables keep the values they have."""

    def at(values: dict[Any, Array]) -> tuple[float, dict[Any, Array]]:
        saved = [variable.numpy().copy() for variable in variables]
        try:
            for variable in variables:
                variable.assign(values[variable])
            with GradientTape() as tape:
                found = _loss_of(loss)
            gradients = tape.gradient(found, variables, unconnected_gradients="zero")
            arrays = {v: np.asarray(plain(gradient)) for v, gradient in zip(variables, gradients, strict=True)}
            return _total(found), arrays
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
