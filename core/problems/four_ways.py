"""The four ways to ask for gradients, on a problem of one's own: the code, what it returns, and why a None is None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff import (
    GradientTape,
    Variable,
    gradients_function,
    implicit_gradients,
    implicit_value_and_gradients,
)
from core.problems.functions import FunctionObjective


@dataclass(frozen=True)
class Way:
    """One way: its name, what it is for, the code, and the text of what it returned here."""

    name: str
    use: str
    code: str
    result: str


def four_ways(objective: FunctionObjective, point: Sequence[float], frozen: frozenset[str] = frozenset()) -> list[Way]:
    """The four ways on ``objective`` at ``point``; coordinates named in ``frozen`` are not trainable.

    Every result is really computed by the way it stands beside.
    """
    names = objective.component_names
    f = objective.compute
    numbers = [float(value) for value in point]
    variables = [
        Variable(value, name=name, trainable=name not in frozen) for name, value in zip(names, numbers, strict=True)
    ]
    made = "".join(
        f"{name} = Variable({value!r}{', trainable=False' if name in frozen else ''})\n"
        for name, value in zip(names, numbers, strict=True)
    )
    arguments = ", ".join(names)
    return [
        Way(
            "GradientTape",
            "You decide what is recorded and for what you ask; intermediate values can be asked for as well.",
            f"{made}with GradientTape() as tape:\n    loss = f({arguments})\ntape.gradient(loss, [{arguments}])",
            _tape(f, variables),
        ),
        Way(
            "gradients_function",
            "Gradients for the arguments of a function; no variables needed, trainable or not plays no part.",
            f"gradients_function(f)({', '.join(map(repr, numbers))})",
            _listed(gradients_function(f)(*numbers)),
        ),
        Way(
            "implicit_gradients",
            "Gradients for every trainable variable that the function used, in the order of first use.",
            f"{made}implicit_gradients(lambda: f({arguments}))()",
            _implicit(lambda: f(*variables)),
        ),
        Way(
            "implicit_value_and_gradients",
            "The same together with the value, so that the function runs only once.",
            f"{made}implicit_value_and_gradients(lambda: f({arguments}))()",
            _implicit_value(lambda: f(*variables)),
        ),
    ]


def _tape(f: Any, variables: list[Variable]) -> str:
    with GradientTape() as tape:
        loss = f(*variables)
    gradients = tape.gradient(loss, variables)
    lines = [_listed(gradients)]
    for gradient, variable in zip(gradients, variables, strict=True):
        if gradient is None:
            lines.append(f"None for {variable.name}: {tape.why_none(variable)}")
    return "\n".join(lines)


def _implicit(f: Any) -> str:
    try:
        return _pairs(implicit_gradients(f)())
    except ValueError as error:
        return f"ValueError: {error}"


def _implicit_value(f: Any) -> str:
    try:
        value, pairs = implicit_value_and_gradients(f)()
    except ValueError as error:
        return f"ValueError: {error}"
    return f"({_number(value)}, {_pairs(pairs)})"


def _pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    return "[" + ", ".join(f"({_number(gradient)}, {variable.name})" for gradient, variable in pairs) + "]"


def _listed(values: Sequence[Any]) -> str:
    return "[" + ", ".join("None" if value is None else _number(value) for value in values) + "]"


def _number(value: Any) -> str:
    return f"{float(np.asarray(value.numpy() if hasattr(value, 'numpy') else value)):.10g}"
