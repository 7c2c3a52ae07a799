"""Clipping against the weights or within a variable, centring, and what is done with nan."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter, SettingError
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.trust import root_mean_square

SMALLEST_NORM = 1e-6


def unit_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes one unit's norm runs over: all for vectors, the rows of a matrix (one norm a column), and so on."""
    if sum(1 for length in shape if length != 1) <= 1:
        return None
    if len(shape) in (2, 3):
        return (0,)
    if len(shape) in (4, 5):
        return tuple(range(len(shape) - 1))
    raise SettingError(f"adaptive clipping knows units for up to 5 dimensions; this variable has shape {shape}")


class AdaptiveClip(Transform):
    """Each unit's gradient to at most λ max(‖w_unit‖, ε): clipping relative to the weights."""

    name = "adaptive_clip"
    label = "adaptive clipping"
    cause = "clipping"
    formula = "u_i ← u_i · λ max(‖w_i‖, ε)/‖u_i‖ where ‖u_i‖ is larger"
    source = "Brock et al. 2021, arXiv:2102.06171; optax.adaptive_grad_clip"
    parameters = (
        Parameter("clipping", "λ", 0.1, 1e-3, 1.0, "log", minimum=0.0, tooltip="largest gradient over weight"),
        Parameter("eps", "ε", 1e-3, 1e-8, 1.0, "log", minimum=0.0, tooltip="weights are not taken smaller"),
    )
    clipping: float
    eps: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        clipped = units = 0
        for part, g, w in zip(ctx.layout.slices, ctx.layout.split(u), ctx.layout.split(ctx.weights), strict=True):
            axes = unit_axes(g.shape)
            size = np.sqrt(np.sum(g * g, axis=axes, keepdims=True))
            limit = self.clipping * np.maximum(np.sqrt(np.sum(w * w, axis=axes, keepdims=True)), self.eps)
            scaled = g * (limit / np.maximum(size, SMALLEST_NORM))
            within = size < limit
            clipped += int(np.count_nonzero(~within))
            units += size.size
            result[part] = np.where(within, g, scaled).reshape(-1)
        ctx.figures["clipped_units"] = clipped
        ctx.figures["units"] = units
        return result

    def explain(self, figures: dict[str, float]) -> str:
        return f"{self.formula}: {figures.get('clipped_units', 0):.0f} of {figures.get('units', 0):.0f} units clipped"


class ClipByBlockRms(Transform):
    """u_v <- u_v / max(1, rms(u_v)/c), variable by variable."""

    name = "clip_by_block_rms"
    label = "clip by block rms"
    cause = "clipping"
    shows = ("clip_divisor",)
    formula = "u_v ← u_v / max(1, rms(u_v) / c)"
    source = "Shazeer and Stern 2018, section 6; optax.clip_by_block_rms"
    parameters = (
        Parameter("threshold", "c", 1.0, 1e-3, 100.0, "log", minimum=0.0, open_minimum=True, tooltip="largest rms"),
    )
    threshold: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        largest = 1.0
        for part in ctx.layout.slices:
            divisor = np.maximum(1.0, root_mean_square(u[part]) / self.threshold)
            largest = max(largest, float(divisor))
            result[part] = u[part] / divisor.astype(u.dtype)
        ctx.figures["clip_divisor"] = largest
        return result


class Centralise(Transform):
    """u_v <- u_v - mean over all axes but the first, for matrices and larger."""

    name = "centralise"
    label = "gradient centralisation"
    cause = "centralisation"
    formula = "u_v ← u_v − mean(u_v) along its rows"
    source = "Yong et al. 2020, arXiv:2004.01461; optax.centralize"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = u.copy()
        for part, g in zip(ctx.layout.slices, ctx.layout.split(u), strict=True):
            if g.ndim > 1 and g.size:
                result[part] = (g - g.mean(axis=tuple(range(1, g.ndim)), keepdims=True)).reshape(-1)
        return result


class ZeroNans(Transform):
    """u <- 0 where it is nan; infinities stay."""

    name = "zero_nans"
    label = "nan to zero"
    cause = "guard"
    shows = ("nans",)
    formula = "u ← 0 where nan"
    source = "optax.zero_nans"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        bad = np.isnan(u)
        ctx.figures["nans"] = float(np.count_nonzero(bad))
        return np.where(bad, np.zeros_like(u), u)


class KeepNonNegative(Transform):
    """u <- -w where w + u would be negative: the weight stops at zero. Works on the finished step."""

    name = "keep_nonnegative"
    label = "weights kept at 0 or more"
    cause = "own rule"
    formula = "u ← −w where w + u < 0"
    source = "optax.keep_params_nonnegative"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return np.where(ctx.weights + u < 0.0, -ctx.weights, u)
