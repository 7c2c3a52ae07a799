"""The one place where problems meet the autodiff: compiled gradients, many points at once, Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.autodiff import compile_gradient, value_and_gradients_function

Function = Callable[..., Any]


class Differentiated:
    """``function(*variables, *constants) -> scalar`` with its gradients for the first ``count`` arguments.

    Compiled at the first call, and again for other shapes and types.
    """

    def __init__(self, function: Function, count: int) -> None:
        self.function = function
        self.count = count
        self._program: Callable[..., tuple[Any, list[Any]]] | None = None

    def __call__(self, *arguments: Any) -> tuple[float, list[Any]]:
        """Value as a float and one gradient an argument (arrays or numbers), in the arguments' dtype."""
        if self._program is None:
            self._program = compile_gradient(self.function, *arguments, params=list(range(self.count)))
        value, gradients = self._program(*arguments)
        if any(gradient is None for gradient in gradients):
            gradients = [
                np.zeros(np.shape(argument)) if gradient is None else gradient
                for argument, gradient in zip(arguments, gradients, strict=False)
            ]
        return float(value), gradients


def as_array(value: Any) -> NDArray[Any]:
    """A tensor, number or array as a plain array."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def elementwise_gradient(function: Function, columns: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Partial derivatives of an elementwise ``function(*columns)`` at every element.

    The elements do not depend on one another, so the gradient of their sum is each one's own gradient.
    """

    def total(*arguments: Any) -> Any:
        return np.sum(function(*arguments))

    _, gradients = value_and_gradients_function(total)(*columns)
    return [
        np.zeros_like(column) if gradient is None else as_array(gradient)
        for column, gradient in zip(columns, gradients, strict=True)
    ]


def elementwise_hessian(function: Function, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Second derivatives of an elementwise function; shape ``columns[0].shape + (n, n)``."""
    count = len(columns)
    rows = np.zeros((*columns[0].shape, count, count), dtype=columns[0].dtype)

    def total(*arguments: Any) -> Any:
        return np.sum(function(*arguments))

    firsts = value_and_gradients_function(total)
    for i in range(count):

        def partial(*arguments: Any, index: int = i) -> Any:
            first = firsts(*arguments)[1][index]
            return np.sum(0.0 * arguments[index] if first is None else first)

        for j, second in enumerate(value_and_gradients_function(partial)(*columns)[1]):
            if second is not None:
                rows[..., i, j] = as_array(second)
    return np.asarray(0.5 * (rows + np.swapaxes(rows, -1, -2)))


def vector_hessian(function: Function, point: NDArray[Any]) -> NDArray[Any]:
    """Second derivatives (n, n) of ``function(vector) -> scalar`` at ``point`` (n,), made exactly symmetric."""
    first = value_and_gradients_function(function)
    rows = np.zeros((point.size, point.size), dtype=point.dtype)
    for i in range(point.size):

        def component(vector: Any, index: int = i) -> Any:
            gradient = first(vector)[1][0]
            return np.sum(0.0 * vector) if gradient is None else gradient[index]

        (second,) = value_and_gradients_function(component)(point)[1]
        if second is not None:
            rows[i] = as_array(second)
    return np.asarray(0.5 * (rows + rows.T))
