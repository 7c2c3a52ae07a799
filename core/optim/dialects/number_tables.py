"""What functions of numbers pasted code may call: a table by the last part of their names, casts, and constants."""

from __future__ import annotations

import ast
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from core.optim.schedules.formula import SYMBOLS

MODULES = frozenset(
    (
        *("math", "np", "numpy", "onp", "jnp", "jax", "lax", "tf", "tensorflow", "keras", "K", "backend"),
        *("ops", "compat", "v1", "optax", "torch", "experimental", "cmath", "nn"),
    )
)
"""Beginnings of the dotted names whose last part is looked for in the table."""
CASTS = frozenset(
    (
        *("cast", "convert_to_tensor", "constant", "float", "Variable", "identity", "to_float", "to_int32"),
        *("stop_gradient", "asarray", "array", "float32", "float64", "int32", "int64", "astype", "numpy"),
        *("item", "value", "read_value", "get_value", "get_static_value", "reshape", "squeeze"),
        *("ensure_shape", "to_double", "to_int64", "eval"),
    )
)
WHOLE = frozenset(("int", "int32", "int64", "to_int32", "to_int64"))
SAID = frozenset(("print", "info", "debug", "warning", "write", "scalar", "add_scalar", "append", "summary", "super"))
"""Calls that only say something, as statements."""


def _piecewise(x: float, xp: Sequence[float], fp: Sequence[float]) -> float:
    if x <= xp[0]:
        return float(fp[0])
    if x >= xp[-1]:
        return float(fp[-1])
    i = bisect_right(xp, x)
    share = (x - xp[i - 1]) / (xp[i] - xp[i - 1])
    return fp[i - 1] + share * (fp[i] - fp[i - 1])


def _between(value: float, *bounds: Any, **named: Any) -> float:
    low, high = (*bounds, None, None)[:2]
    for key, item in named.items():
        low, high = (item, high) if "min" in key else (low, item)
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _power(a: Any, b: Any) -> Any:
    return SYMBOLS[ast.Pow](a, b)


def choose(test: Any, then: Any, other: Any) -> Any:
    return then if test else other


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "minimum": min,
    "maximum": max,
    "abs": abs,
    "fabs": abs,
    "absolute": abs,
    "round": round,
    "sum": sum,
    "len": len,
    "range": range,
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "reversed": lambda items: list(reversed(items)),
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *items: list(zip(*items, strict=False)),
    "bool": bool,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: math.inf if a == 0 else 1.0 / math.sqrt(a),
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "sigmoid": lambda a: 1.0 / (1.0 + math.exp(-a)) if a >= 0 else math.exp(a) / (1.0 + math.exp(a)),
    "floor": math.floor,
    "ceil": math.ceil,
    "square": lambda a: a * a,
    "sign": lambda a: (a > 0) - (a < 0),
    "pow": _power,
    "power": _power,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "divide": lambda a, b: a / b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "floor_divide": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "floormod": lambda a, b: a % b,
    "remainder": lambda a, b: a % b,
    "fmod": math.fmod,
    "negative": lambda a: -a,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_not": lambda a: not a,
    "clip": _between,
    "clip_by_value": _between,
    "interp": _piecewise,
    "where": choose,
    "select": choose,
    "searchsorted": lambda a, v, side="left": (
        bisect_right(a, v) if side == "right" else sum(1 for item in a if item < v)
    ),
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "newaxis": None}


def first(value: Any = None, *others: Any, **named: Any) -> Any:
    """A cast: the number as it is."""
    return value
