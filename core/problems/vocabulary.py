"""The words of typed formulas: constants, functions by their numpy names, and the signs between them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

CONSTANTS: Mapping[str, float] = {"pi": np.pi, "π": np.pi, "e": np.e, "tau": 2 * np.pi, "inf": np.inf}


def where(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no)


def _relu(value: Any) -> Any:
    return np.maximum(value, 0.0)


def _softplus(value: Any) -> Any:
    return np.logaddexp(value, 0.0)


def _sigmoid(value: Any) -> Any:
    return 0.5 * (1.0 + np.tanh(0.5 * value))


def _log2(value: Any) -> Any:
    return np.log(value) / float(np.log(2.0))


def _log10(value: Any) -> Any:
    return np.log(value) / float(np.log(10.0))


def _several(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def combine(first: Any, *others: Any) -> Any:
        for other in others:
            first = pick(first, other)
        return first

    return combine


# name -> (function, fewest arguments, most arguments)
FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int, int]] = {
    **{
        name: (getattr(np, name), 1, 1)
        for name in (
            "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "expm1", "log",
            "log1p", "sqrt", "square", "abs", "sign", "floor", "reciprocal", "negative",
        )
    },
    "asin": (np.arcsin, 1, 1), "acos": (np.arccos, 1, 1), "atan": (np.arctan, 1, 1),
    "absolute": (np.abs, 1, 1), "fabs": (np.abs, 1, 1), "ln": (np.log, 1, 1),
    "log2": (_log2, 1, 1), "log10": (_log10, 1, 1),
    "relu": (_relu, 1, 1), "softplus": (_softplus, 1, 1), "sigmoid": (_sigmoid, 1, 1),
    "maximum": (np.maximum, 2, 2), "minimum": (np.minimum, 2, 2),
    "max": (_several(np.maximum), 1, 8), "min": (_several(np.minimum), 1, 8),
    "power": (np.power, 2, 2), "pow": (np.power, 2, 2), "hypot": (np.hypot, 2, 2),
    "arctan2": (np.arctan2, 2, 2), "atan2": (np.arctan2, 2, 2), "logaddexp": (np.logaddexp, 2, 2),
    "add": (np.add, 2, 2), "subtract": (np.subtract, 2, 2), "multiply": (np.multiply, 2, 2),
    "divide": (np.divide, 2, 2),
    "where": (where, 3, 3), "clip": (np.clip, 3, 3),
}  # fmt: skip


def divide(a: Any, b: Any) -> Any:
    return a / b


def negative(value: Any) -> Any:
    return -value


BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: divide,
    ast.Pow: lambda a, b: a**b,
    ast.Mod: lambda a, b: a % b,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
