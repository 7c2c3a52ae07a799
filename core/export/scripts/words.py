"""How each framework spells the operations of a traced formula, with the slopes at kinks that Stepscope has."""

from __future__ import annotations

from collections.abc import Mapping

INFIX = frozenset({"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!="})

_SAME = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "square",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "reciprocal",
    "logaddexp",
    "arctan2",
    "hypot",
    "where",
)

_NUMPY = {
    **{name: f"np.{name}" for name in _SAME},
    **{name: f"np.{name}" for name in ("absolute", "maximum", "minimum", "fmax", "fmin", "exp2", "log2", "log10")},
    **{name: f"np.{name}" for name in ("cbrt", "rint", "isinf", "isnan", "bitwise_and", "remainder", "floor_divide")},
}
_TORCH = {
    **{name: f"torch.{name}" for name in _SAME},
    "absolute": "torch.abs",
    "remainder": "torch.remainder",
    "exp2": "torch.exp2",
    "log2": "torch.log2",
    "log10": "torch.log10",
}
_JAX = {
    **{name: f"jnp.{name}" for name in _SAME},
    "remainder": "jnp.remainder",
    "exp2": "jnp.exp2",
    "log2": "jnp.log2",
    "log10": "jnp.log10",
}
# keras.ops computes these in float32 even for float64 arguments (measured with Keras 3.15), the backend's own do not
_ROUNDED_BY_KERAS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "floor",
        "ceil",
        "logaddexp",
        "arctan2",
    ]
)
_KERAS = {
    **{name: f"exact.{name}" if name in _ROUNDED_BY_KERAS else f"ops.{name}" for name in _SAME if name != "hypot"},
    "remainder": "ops.mod",
}

FUNCTIONS: Mapping[str, Mapping[str, str]] = {"numpy": _NUMPY, "torch": _TORCH, "optax": _JAX, "keras": _KERAS}
"""framework -> name of the operation -> the function with the same values and slopes."""

MODULES: Mapping[str, str] = {"numpy": "np", "torch": "torch", "optax": "jnp", "keras": "ops"}

SPECIAL: Mapping[str, Mapping[str, str]] = {
    # |x| has slope 0 at 0; bounds that are constants have slope 1 on them; tied values share the slope
    "optax": {
        "absolute": "jnp.where({0} == 0, 0.0, jnp.abs({0}))",
        "maximum bound": "jnp.where({0} >= {1}, {0}, {1})",
        "minimum bound": "jnp.where({0} <= {1}, {0}, {1})",
        "maximum": "jnp.maximum({0}, {1})",
        "minimum": "jnp.minimum({0}, {1})",
    },
    "torch": {
        "maximum bound": "torch.clamp({0}, min={1})",
        "minimum bound": "torch.clamp({0}, max={1})",
        "maximum": "torch.maximum({0}, {1})",
        "minimum": "torch.minimum({0}, {1})",
    },
    "keras": {
        "absolute": "ops.where({0} == 0, 0.0, ops.abs({0}))",
        "maximum bound": "ops.where({0} >= {1}, {0}, {1})",
        "minimum bound": "ops.where({0} <= {1}, {0}, {1})",
        "maximum": "ops.where({0} == {1}, 0.5 * ({0} + {1}), ops.maximum({0}, {1}))",
        "minimum": "ops.where({0} == {1}, 0.5 * ({0} + {1}), ops.minimum({0}, {1}))",
    },
    "numpy": {},
}

NOTES: Mapping[str, str] = {
    "hypot": "at exactly (0, 0) frameworks give hypot the slope nan, Stepscope 0",
    "arctan2": "at exactly (0, 0) frameworks give arctan2 the slope nan, Stepscope 0",
}
"""Where values agree and slopes may not: said at the top of the script."""
