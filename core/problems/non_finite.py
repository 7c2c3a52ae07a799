"""Says in words where an inf or nan of a loss or its gradient comes from, as far as the computation can be traced."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.autodiff import trace_nonfinite
from core.autodiff.nonfinite import NonFinite
from core.problems.functions import FunctionObjective
from core.problems.objective import Objective

FEW = 4
WORDS = {
    "absolute": "abs", "power": "**", "multiply": "*", "divide": "/", "true_divide": "/", "add": "+", "subtract": "-",
}  # fmt: skip
"""Operations as formulas write them, where numpy calls them otherwise."""


def explain(objective: Objective, weights: ArrayLike, loss: float, gradient: ArrayLike) -> str:
    """What is not finite of ``loss`` and ``gradient`` at ``weights``, and which operation made it; '' when both are.

    Functions and formulas are traced operation by operation; of models it is only said what is not finite.
    """
    g = np.asarray(gradient, dtype=np.float64)
    loss_fine, gradient_fine = bool(np.isfinite(loss)), bool(np.isfinite(g).all())
    if loss_fine and gradient_fine:
        return ""
    if gradient_fine:
        said = f"The loss is {loss:g} although its gradient is finite"
    elif loss_fine:
        said = f"The gradient is not finite although the loss ({loss:.6g}) is"
    else:
        said = f"Neither the loss ({loss:g}) nor its gradient is finite"
    found = origin(objective, np.asarray(weights, dtype=np.float64))
    return f"{said}: {describe(found)}." if found is not None else f"{said}."


def origin(objective: Objective, weights: NDArray[np.float64]) -> NonFinite | None:
    """The operation of a function or formula that made the first inf or nan; None where none is found."""
    if not isinstance(objective, FunctionObjective):
        return None
    with np.errstate(all="ignore"):
        return trace_nonfinite(objective.compute, *(float(x) for x in weights))


def describe(found: NonFinite) -> str:
    """'sqrt(-1) is nan', 'the derivative of sqrt at 0 is infinite ...'."""
    if found.phase == "argument":
        return f"{found.operation} is {_short(found.result)} already"
    name = WORDS.get(found.operation, found.operation)
    given = [_short(value) for value in found.inputs]
    written = f" {name} ".join(given) if len(given) == 2 and not name.isalnum() else f"{name}({', '.join(given)})"
    if found.phase == "forward":
        return f"{written} is {_short(found.result)}"
    upstream = np.asarray(found.upstream, dtype=np.float64)
    if not upstream.any():
        return (
            f"{written} has a slope that is not finite, and times the 0 that comes back from a branch of where() that "
            f"was not taken (or from a factor of 0) it is {_short(found.result)}; put another number into that branch "
            "where it is not taken"
        )
    return f"the slope of {written} is {_short(found.result)}"


def _short(value: object) -> str:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return f"{float(array):.6g}"
    shown = ", ".join(f"{x:.6g}" for x in array.ravel()[:FEW])
    return f"[{shown}{', ...' if array.size > FEW else ''}]"
