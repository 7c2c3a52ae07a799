"""The one place where an update is divided by the root of an average square, in every framework's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array

RULES = ("outside", "inside", "outside, reciprocal", "inside, reciprocal")
INSIDE = frozenset({"inside", "inside, reciprocal"})
RECIPROCAL = frozenset({"outside, reciprocal", "inside, reciprocal"})
BETA2 = Parameter("beta2", "β₂", 0.999, 0.8, 0.99999, minimum=0.0, maximum=1.0, tooltip="memory of the average square")
EPSILON = Parameter("eps", "ε", 1e-8, 1e-12, 1e-1, "log", minimum=0.0, tooltip="keeps the divisor away from zero")
EPSILON_ROOT = Parameter("eps_root", "ε̄", 0.0, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added under the root (optax)")
RULE = Parameter(
    "rule",
    "ε where",
    "outside",
    scale="choice",
    choices=RULES,
    tooltip="outside: √v + ε (PyTorch); inside: √(v + ε) (Keras); reciprocal: u times 1/divisor, as optax rounds it",
)


FORMS = ("average", "difference", "lerp")
FORM = Parameter(
    "form",
    "order",
    "average",
    scale="choice",
    choices=FORMS,
    tooltip="average: β v + (1 − β) x; difference: v + (1 − β)(x − v), as TensorFlow rounds it; lerp: PyTorch's",
)


def averaged(old: Array, new: Array, keep: Any, share: Any, form: str) -> Array:
    """``keep`` old + ``share`` new (they add up to 1), in the order of ``form``."""
    if form == "average":
        result: Array = old * keep + new * share
    elif form == "difference":
        result = old + (new - old) * share
    else:
        result = lerp(old, new, share)
    return result


def lerp(old: Array, new: Array, share: float) -> Array:
    """torch.lerp, which reckons from the nearer end: with infinities the order decides what becomes nan."""
    result: Array = old + (new - old) * share if share < 0.5 else new - (new - old) * (1.0 - share)
    return result


POWERS = ("exact", "float32")
POWER = Parameter(
    "power",
    "βᵗ",
    "exact",
    scale="choice",
    choices=POWERS,
    tooltip="float32: multiplied up step by step in float32, as TF1 keeps it beside float64 weights",
)


class Float32Power:
    """βᵗ multiplied up step by step in float32, t counting from 0."""

    __slots__ = ("_beta", "_kept")

    def __init__(self, beta: float) -> None:
        self._beta = np.float32(beta)
        self._kept = [np.float32(1.0)]

    def __call__(self, t: int) -> float:
        kept = self._kept
        while len(kept) <= t:
            kept.append(kept[-1] * self._beta)
        return float(kept[t])


def divide(
    u: Array, v: Array, rule: str, eps: float, eps_root: float = 0.0, scratch: dict[str, Any] | None = None
) -> Array:
    """u over the root of v, elementwise, (size,); ``eps_root`` counts only where ε stands outside.

    In ``scratch`` the division is kept as 'quotient' for a learning rate that multiplies the numerator first.
    """
    if rule in INSIDE:
        divisor: Array = np.sqrt(v + eps)
    else:
        root = np.sqrt(v + eps_root if eps_root else v)
        divisor = root + eps
        if scratch is not None and not eps_root:
            scratch["root"] = (v, root)
    result: Array = u * (1.0 / divisor) if rule in RECIPROCAL else u / divisor
    if scratch is not None:
        scratch["quotient"] = (result, u, 1.0, 1.0, 1.0, divisor)
    return result


def root_of(v: Array, scratch: dict[str, Any]) -> Array:
    """√v, not taken again where the division before this row has it."""
    kept = scratch.get("root")
    result: Array = kept[1] if kept is not None and kept[0] is v else np.sqrt(v)
    return result


def divisor_formula(rule: str, root: str = "v", eps_root: float = 0.0) -> str:
    """The divisor in mathematical notation."""
    if rule.startswith("inside"):
        return f"√({root} + ε)"
    return f"(√({root} + ε̄) + ε)" if eps_root else f"(√{root} + ε)"
