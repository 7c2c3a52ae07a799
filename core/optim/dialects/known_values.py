"""What constants, numbers and plain functions in pasted code stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.optim.dialects.values import Place

CONSTANTS: dict[str, float] = {
    **{f"{module}.inf": math.inf for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.nan": math.nan for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.pi": math.pi for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
    **{f"{module}.e": math.e for module in ("math", "np", "numpy", "torch", "jnp", "jax.numpy")},
}


def _single(value: float) -> float:
    """The float32 nearest to ``value``."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "float": float,
    "int": int,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "math.sqrt": math.sqrt,
    "math.exp": math.exp,
    "math.log": math.log,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "np.sqrt": math.sqrt,
    "np.exp": math.exp,
    "np.log": math.log,
    "np.float64": float,
    "np.float32": _single,
    "numpy.float64": float,
    "numpy.float32": _single,
    "np.log10": math.log10,
    "math.log10": math.log10,
}


def is_number(value: Any) -> bool:
    """True for an int or float, not for a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def known_function(name: str, args: list[Any], kwargs: dict[str, Any], place: Place) -> Any:
    """The value of a plain function of literals, or None when it is something else."""
    if name == "dict" and not args:
        return dict(kwargs)
    if name == "dict" and len(args) == 1 and isinstance(args[0], dict):
        return {**args[0], **kwargs}
    if name in ("copy.deepcopy", "copy.copy", "deepcopy") and len(args) == 1 and isinstance(args[0], dict | list):
        return dict(args[0]) if isinstance(args[0], dict) else list(args[0])
    if name in ("list", "tuple") and len(args) == 1 and isinstance(args[0], list | tuple):
        return list(args[0]) if name == "list" else tuple(args[0])
    if name == "len" and len(args) == 1 and isinstance(args[0], list | tuple | dict):
        return len(args[0])
    function = FUNCTIONS.get(name)
    if function is None or kwargs or not args:
        return None
    if name == "float" and len(args) == 1 and isinstance(args[0], str):
        try:
            return float(args[0])
        except ValueError:
            raise place.error(f"float({args[0]!r}) is not a number") from None
    if not all(is_number(item) for item in args):
        return None
    try:
        return function(*args)
    except (ValueError, OverflowError, TypeError) as error:
        raise place.error(f"this cannot be worked out: {error}") from None
