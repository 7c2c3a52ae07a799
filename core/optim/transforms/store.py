"""Cast and store: the finished step becomes stored weights, rounded to their type."""

from __future__ import annotations

from typing import Any

from core.declare import Parameter
from core.optim.dtypes import resolve_dtype
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform

STORAGE_TYPES = ("variable", "float64", "float32", "float16", "bfloat16")


class Store(Transform):
    """w <- round(w + u): the last row of every ledger, measured from the stored weights.

    'variable' keeps the type the variable has; another type is what a simulation stores its weights in.
    Rounding is to nearest, ties to even (IEEE 754).
    """

    name = "rounding"
    label = "rounding"
    cause = "rounding"
    formula = "w ← round(w + u)"
    source = "IEEE 754-2019, section 4.3.1"
    parameters = (
        Parameter(
            "storage",
            "type",
            "variable",
            scale="choice",
            choices=STORAGE_TYPES,
            tooltip="type in which the weights are stored",
        ),
    )
    storage: str
    """``dtype`` is the type the new weights are stored in, None for the variable's own."""

    def prepare(self) -> None:
        self.dtype: Any = None if self.storage == "variable" else resolve_dtype(self.storage)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return u
