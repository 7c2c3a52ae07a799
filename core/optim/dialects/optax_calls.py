"""Writes one optax call: its arguments as code, where they differ from their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_contrib import CONTRIB
from core.optim.dialects.optax_pieces import Values
from core.optim.dialects.optax_schedules import write_schedule
from core.optim.dialects.recipes import code
from core.optim.mask import Mask
from core.optim.schedules.base import Schedule

ELSEWHERE = frozenset({*CONTRIB, "sam", "schedule_free", "normalize", "scale_by_muon"})
"""What is found under optax.contrib."""


class Code(str):
    """Text that is code already."""


def call_text(name: str, *texts: str, **values: Any) -> str:
    """``optax.name(texts, key=value, ...)``, or optax.contrib's."""
    inside = [
        *texts,
        *(f"{key}={value}" if isinstance(value, Code) else f"{key}={code(value)}" for key, value in values.items()),
    ]
    prefix = "optax.contrib" if name in ELSEWHERE else "optax"
    return f"{prefix}.{name}({', '.join(inside)})"


def write_call(name: str, signature: Sequence[Argument], values: Values) -> str:
    """The call with the arguments that differ from their defaults."""
    given = {}
    for argument in signature:
        value = values[argument.name]
        if repr(argument.default) == "REQUIRED" or value != argument.default:
            given[argument.name] = Code(write_value(argument.name, value))
    return call_text(name, **given)


def write_value(name: str, value: Any) -> str:
    """One argument as code."""
    if isinstance(value, Schedule):
        return write_schedule(value)
    if isinstance(value, Mask):
        return kinds.write_mask(value)
    if name == "hessian_diagonal_fn":
        return "optax.contrib.hutchinson_estimator_diag_hessian()"
    if name == "ns_coeffs":
        return kinds.write_coefficients(value)
    if name in ("accumulator_dtype", "dtype_momentum"):
        return "jnp.float32" if value == "float32" else "jnp.float64"
    return code(value)
