"""Adafactor as PyTorch has it: lerped row and column means, a floor instead of an added ε, a rate in units of |w|."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import PerVariable, State, StepContext, Transform
from core.optim.transforms.divisor import lerp
from core.optim.transforms.trust import root_mean_square

FLOAT64_EPS = 2.220446049250313e-16


class FlooredFactoredMoment(Transform):
    """R, C <- lerp with t^c of the means of g², u <- g / √max(R C / max(mean R, ε), ε²); vectors keep a v."""

    name = "floored_factored_moment"
    label = "factored second moment"
    cause = "adaptive scaling"
    shows = ("share",)
    formula = "R, C ← lerp of row and column means of g² by t^c,  u ← g / √max(R C / mean R, ε²)"
    source = "Shazeer and Stern 2018, arXiv:1804.04235; torch.optim.Adafactor"
    parameters = (
        Parameter("beta2_decay", "c", -0.8, -1.0, -0.1, maximum=0.0, tooltip="power of t in the share of the new"),
        Parameter(
            "eps1", "ε", None, 1e-30, 1e-3, "log", minimum=0.0, optional=True, tooltip="None: the type's own epsilon"
        ),
    )
    beta2_decay: float
    eps1: float | None

    def init(self, weights: Array, layout: Layout) -> State:
        kept = PerVariable()
        for shape in layout.shapes:
            if len(shape) < 2:
                kept.append((np.zeros(shape, dtype=weights.dtype),))
            else:
                rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
                kept.append((np.zeros(rows, dtype=weights.dtype), np.zeros(columns, dtype=weights.dtype)))
        return {"averages": kept}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        share = float(ctx.count + 1) ** self.beta2_decay
        ctx.figures["share"] = share
        eps = self.eps1 if self.eps1 is not None else FLOAT64_EPS
        result = np.empty_like(u)
        averages = PerVariable()
        for part, g, old in zip(ctx.layout.slices, ctx.layout.split(u), state["averages"], strict=True):
            if not g.size:
                averages.append(old)
                continue
            square = g * g
            if g.ndim < 2:
                v = lerp(old[0], square, share)
                averages.append((v,))
            else:
                rows = lerp(old[0], square.mean(axis=-1, keepdims=True), share)
                columns = lerp(old[1], square.mean(axis=-2, keepdims=True), share)
                averages.append((rows, columns))
                v = rows * columns / np.maximum(rows.mean(axis=-2, keepdims=True), eps)
            result[part] = (g / np.sqrt(np.maximum(v, eps * eps))).reshape(-1)
        state["averages"] = averages
        return result


class ClipByRms(Transform):
    """u_v <- u_v / max(1, rms(u_v)/d), variable by variable."""

    name = "clip_by_rms"
    label = "clip by root mean square"
    cause = "clipping"
    shows = ("rms_divisor",)
    formula = "u_v ← u_v / max(1, rms(u_v)/d)"
    source = "Shazeer and Stern 2018, section 6; torch.optim.Adafactor(d)"
    parameters = (
        Parameter("d", "d", 1.0, 0.1, 10.0, "log", minimum=0.0, open_minimum=True, tooltip="largest root mean square"),
    )
    d: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        largest = 1.0
        for part in ctx.layout.slices:
            divisor = max(1.0, root_mean_square(u[part]) / self.d)
            largest = max(largest, divisor)
            result[part] = u[part] / divisor
        ctx.figures["rms_divisor"] = largest
        return result


class RelativeRate(Transform):
    """u <- u min(lr, 1/√t) / lr · max(ε₂, rms(w_v)): the rate in units of the weights. Stands behind the rate."""

    name = "relative_rate"
    label = "relative rate"
    cause = "trust ratio"
    shows = ("rho",)
    formula = "u_v ← u_v · max(ε₂, rms(w_v)) min(lr_t, 1/√t) / lr_t"
    source = "Shazeer and Stern 2018, section 8; torch.optim.Adafactor"
    parameters = (Parameter("eps2", "ε₂", 1e-3, 1e-6, 1.0, "log", minimum=0.0, tooltip="sizes are not taken smaller"),)
    eps2: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        limit = 1.0 / math.sqrt(ctx.count + 1)
        rho = min(ctx.rate, limit)
        share = 1.0 if ctx.rate <= limit else rho / ctx.rate
        ctx.figures["rho"] = rho
        result = np.empty_like(u)
        for part in ctx.layout.slices:
            result[part] = u[part] * (max(self.eps2, root_mean_square(ctx.weights[part])) * share)
        return result
