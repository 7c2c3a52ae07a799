"""Gradient clipping by value, by norm and by global norm, in the conventions of the frameworks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter, SettingError
from core.optim.dtypes import FLOAT64
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

CONVENTIONS = ("torch", "tensorflow", "optax")
CONVENTION = Parameter(
    "convention",
    "rule",
    "torch",
    scale="choice",
    choices=CONVENTIONS,
    tooltip="torch divides by norm + 1e-6; tensorflow and optax leave a norm at the limit alone",
)


def _limit(key: str, symbol: str, tooltip: str) -> Parameter:
    return Parameter(key, symbol, 1.0, 1e-3, 100.0, "log", minimum=0.0, infinite=True, tooltip=tooltip)


def clip_factor(norm: float, limit: float, convention: str) -> float:
    """The factor a vector of this norm is multiplied by (1 when it is not clipped).

    torch: min(1, limit / (norm + 1e-6)). tensorflow: limit * min(1/norm, 1/limit). optax: limit / norm if
    norm >= limit. Zero gradients stay zero under every rule, and a limit of 0 gives 0. A limit of inf is inf/inf
    where the norm is not finite either, and with tensorflow's rule always.
    """
    if limit == math.inf:
        return 1.0 if math.isfinite(norm) and convention != "tensorflow" else math.nan
    if convention == "torch":
        return min(1.0, limit / (norm + 1e-6)) if norm == norm else math.nan
    if norm == 0.0:
        return 1.0
    if limit == 0.0:
        return 0.0
    if convention == "tensorflow":
        return limit * min(1.0 / norm, 1.0 / limit) if math.isfinite(norm) else math.nan
    return 1.0 if norm < limit else limit / norm


LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def norm_of(u: Array) -> float:
    """Euclidean norm, worked out in float64; as a number of its own type where that is narrower."""
    if u.dtype is FLOAT64:
        return math.sqrt(u.dot(u))
    wide = np.asarray(u).astype(FLOAT64)
    return _of_type(float(wide.dot(wide)), 2.0, u.dtype)


def _of_type(total: float, p: float, dtype: Any) -> float:
    """The p-th root of a sum of powers in ``dtype``: frameworks add up narrow numbers in float32, which overflows."""
    if dtype != FLOAT64 and total > LARGEST_FLOAT32:
        return math.inf
    root = math.sqrt(total) if p == 2.0 else total ** (1.0 / p)
    with np.errstate(over="ignore"):
        return root if dtype == FLOAT64 else float(np.float64(root).astype(dtype))


def p_norm(updates: Sequence[Array], p: float) -> float:
    """(Σ|u|^p)^(1/p) over all the vectors together; the largest |u| for p = inf."""
    if p == 2.0 and len(updates) == 1:
        return norm_of(updates[0])
    dtype = max((u.dtype for u in updates), key=lambda kind: kind.itemsize)
    if p == 2.0:
        wide = [u if u.dtype is FLOAT64 else np.asarray(u).astype(FLOAT64) for u in updates]
        return _of_type(sum(float(u.dot(u)) for u in wide), p, dtype)
    sizes = [np.abs(u.astype(np.float64, copy=False)) for u in updates]
    if p == math.inf:
        return float(np.max([size.max(initial=0.0) for size in sizes]))
    return _of_type(sum(float(np.sum(size**p)) for size in sizes), p, dtype)


def norm_of_norms(updates: Sequence[Array], layouts: Sequence[Layout], p: float) -> float:
    """The same as PyTorch goes about it: a norm of each variable, then their norm; of a single number its size.

    Only where powers overflow is this another number: the norm of the one gradient 1e200 is 1e200.
    """
    parts = [u[part] for u, layout in zip(updates, layouts, strict=True) for part in layout.slices]
    norms = np.array([abs(float(part[0])) if part.size == 1 else p_norm([part], p) for part in parts])
    return float(norms[0]) if norms.size == 1 else p_norm([norms], p)


class ClipByValue(Transform):
    """Every component into [-c, c], or [c_min, c] when a lower bound is given; turns the direction."""

    name = "clip_by_value"
    label = "clip by value"
    cause = "clipping"
    formula = "u ← min(max(u, −c), c)"
    source = "torch.nn.utils.clip_grad_value_, tf.clip_by_value, Keras clipvalue, optax.clip"
    parameters = (
        Parameter("clip_value", "c", 1.0, 1e-3, 100.0, "log", infinite=True, tooltip="largest component"),
        Parameter(
            "clip_min", "c_min", None, -100.0, 0.0, infinite=True, optional=True, tooltip="smallest component; None: −c"
        ),
    )
    clip_value: float
    clip_min: float | None

    def prepare(self) -> None:
        self.least = -self.clip_value if self.clip_min is None else self.clip_min
        if self.least > self.clip_value:
            raise SettingError(f"{self.name}: the bounds {self.least:g} and {self.clip_value:g} leave no room")

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return np.clip(u, self.least, self.clip_value)


class ClipByNorm(Transform):
    """Each variable on its own: scaled so that its norm is at most c (Keras clipnorm, tf.clip_by_norm).

    The tensorflow rule is u c / max(‖u‖, c); with ``axes`` each slice along them has a norm of its own.
    """

    name = "clip_by_norm"
    label = "clip by norm"
    cause = "clipping"
    shows = ("clip_factor",)
    formula = "u_v ← u_v · min(1, c / ‖u_v‖)"
    source = "Keras clipnorm, tf.clip_by_norm"
    parameters = (
        _limit("max_norm", "c", "largest norm of each variable's gradient"),
        Parameter("convention", "rule", "tensorflow", scale="choice", choices=CONVENTIONS, tooltip=CONVENTION.tooltip),
        Parameter("axes", "axes", [], scale="list", tooltip="axes a norm is taken over; none: the whole variable"),
    )
    max_norm: float
    convention: str
    axes: list[float]

    def prepare(self) -> None:
        self.over = tuple(int(axis) for axis in self.axes) or None
        if self.over and self.convention != "tensorflow":
            raise SettingError(f"{self.name}: norms over some axes only are TensorFlow's; set convention 'tensorflow'")

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        smallest = 1.0
        result = np.empty_like(u)
        for part, variable in zip(ctx.layout.slices, ctx.layout.split(u), strict=True):
            if self.convention == "tensorflow":
                clipped, factor = self.tensorflow(variable)
                result[part] = clipped.reshape(-1)
            else:
                factor = clip_factor(norm_of(u[part]), self.max_norm, self.convention)
                result[part] = u[part] * factor
            smallest = min(smallest, factor)
        ctx.figures["clip_factor"] = smallest
        return result

    def tensorflow(self, variable: Array) -> tuple[Array, float]:
        """(the clipped variable, the smallest factor in it)."""
        c = self.max_norm
        if c == math.inf:
            return np.full_like(variable, math.nan), math.nan
        if c == 0.0 or not variable.size:
            return np.zeros_like(variable), 0.0
        if self.over:
            norms = np.sqrt(np.sum(variable * variable, axis=self.over, keepdims=True))
            divisors = np.maximum(norms, c)
            return variable * c / divisors, c / float(np.max(divisors))
        norm = norm_of(variable.reshape(-1))
        divisor = c if norm < c else norm  # a norm that is nan stays
        clipped: Array = variable * c / divisor
        return clipped, c / divisor


class ClipByAverageNorm(Transform):
    """Each variable on its own: scaled so that ‖u‖ over its number of weights is at most c (tf.clip_by_average_norm).

    A root of the mean square would divide by the root of that number; TensorFlow divides by the number itself.
    """

    name = "clip_by_average_norm"
    label = "clip by average norm"
    cause = "clipping"
    shows = ("clip_factor",)
    formula = "u_v ← u_v · c · min(n_v / ‖u_v‖, 1/c)"
    source = "tf.compat.v1.clip_by_average_norm"
    parameters = (_limit("max_norm", "c", "largest norm over number of weights"),)
    max_norm: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        smallest = 1.0
        for part in ctx.layout.slices:
            norm, size = norm_of(u[part]), max(part.stop - part.start, 1)
            factor = clip_factor(norm / size, self.max_norm, "tensorflow")
            smallest = min(smallest, factor)
            result[part] = u[part] * factor
        ctx.figures["clip_factor"] = smallest
        return result


class ClipByGlobalNorm(Transform):
    """All variables together: one factor, so that the norm over everything is at most c; keeps the direction."""

    name = "clip_by_global_norm"
    label = "clip by global norm"
    cause = "clipping"
    formula = "u ← u · min(1, c / ‖u‖)"
    source = "Pascanu, Mikolov and Bengio 2013, arXiv:1211.5063; torch.nn.utils.clip_grad_norm_"
    parameters = (
        _limit("max_norm", "c", "largest norm over all variables"),
        CONVENTION,
        Parameter(
            "norm_type",
            "p",
            2.0,
            1.0,
            4.0,
            minimum=0.0,
            open_minimum=True,
            infinite=True,
            rare=True,
            tooltip="which norm: 2 is the Euclidean one, inf the largest component",
        ),
    )
    couples = True
    max_norm: float
    convention: str
    norm_type: float

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        found = p_norm(updates, self.norm_type)
        if found == math.inf and self.convention == "torch":
            return norm_of_norms(updates, layouts, self.norm_type)
        return found

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        factor = clip_factor(ctx.combined, self.max_norm, self.convention)
        ctx.figures["gradient_norm"] = ctx.combined
        ctx.figures["clip_factor"] = factor
        if factor == 1.0:
            return u
        if self.convention == "optax" and self.max_norm > 0.0 and ctx.combined:
            return u / ctx.combined * self.max_norm
        return u * factor

    def explain(self, figures: dict[str, float]) -> str:
        norm, factor = figures.get("gradient_norm", math.nan), figures.get("clip_factor", 1.0)
        if factor == 1.0:
            return f"‖u‖ = {norm:.6g} is within {self.max_norm:g}: not clipped"
        if math.isnan(factor):
            return f"u ← nan: {self.max_norm:g} over ‖u‖ = {norm:.6g} is no number   ({self.convention} rule)"
        return f"u ← u · {factor:.6g}   because ‖u‖ = {norm:.6g} > {self.max_norm:g}   ({self.convention} rule)"
