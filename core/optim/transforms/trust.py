"""Steps measured against the weights: trust ratios, block norms, and normalised gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import PerVariable, State, StepContext, Transform
from core.optim.transforms.clip import norm_of

MIN_NORM = Parameter("min_norm", "n_min", 0.0, 1e-8, 1.0, "log", minimum=0.0, tooltip="norms are not taken smaller")


class TrustRatio(Transform):
    """u_v <- u_v · c max(‖w_v‖, n_min) / (max(‖u_v‖, n_min) + ε), variable by variable; unchanged where a norm is 0."""

    name = "trust_ratio"
    label = "trust ratio"
    cause = "trust ratio"
    formula = "u_v ← u_v · c ‖w_v‖ / (‖u_v‖ + ε)"
    source = "You, Gitman and Ginsburg 2017, arXiv:1708.03888 (LARS); You et al. 2020, arXiv:1904.00962 (LAMB)"
    parameters = (
        MIN_NORM,
        Parameter("trust_coefficient", "c", 1.0, 1e-4, 1.0, "log", minimum=0.0, tooltip="step length over weight norm"),
        Parameter("eps", "ε", 0.0, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added to the update's norm"),
    )
    min_norm: float
    trust_coefficient: float
    eps: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        smallest, largest = math.inf, 0.0
        for part in ctx.layout.slices:
            ratio = self.ratio(norm_of(ctx.weights[part]), norm_of(u[part]))
            smallest, largest = min(smallest, ratio), max(largest, ratio)
            result[part] = u[part] * ratio
        ctx.figures["trust_ratio"] = smallest
        if largest != smallest:
            ctx.figures["largest_trust_ratio"] = largest
        return result

    def ratio(self, weight_norm: float, update_norm: float) -> float:
        """The factor of one variable."""
        weight_norm = max(weight_norm, self.min_norm)
        update_norm = max(update_norm, self.min_norm)
        if weight_norm == 0.0 or update_norm == 0.0:
            return 1.0
        return self.trust_coefficient * weight_norm / (update_norm + self.eps)

    def explain(self, figures: dict[str, float]) -> str:
        low = figures.get("trust_ratio", 1.0)
        high = figures.get("largest_trust_ratio", low)
        factor = f"the factor is {low:.6g}" if low == high else f"factors from {low:.6g} to {high:.6g}"
        weights, update = "‖w_v‖", "‖u_v‖"
        if self.min_norm:
            weights, update = f"max({weights}, n_min)", f"max({update}, n_min)"
        formula = f"u_v ← u_v · c {weights} / ({update} + ε)" if self.eps else f"u_v ← u_v · c {weights} / {update}"
        return f"{self.told(formula, figures)}   ({factor})"


class ScaleByParameters(Transform):
    """u_v <- u_v · max(size of w_v, s_min), the size being the norm or the root mean square of the variable."""

    name = "scale_by_parameters"
    label = "scaled by the weights"
    cause = "trust ratio"
    formula = "u_v ← u_v · max(rms(w_v), s_min)"
    source = "Shazeer and Stern 2018, arXiv:1804.04235; optax.scale_by_param_block_rms, scale_by_param_block_norm"
    parameters = (
        Parameter("measure", "size", "rms", scale="choice", choices=("rms", "norm"), tooltip="what the size is"),
        Parameter("min_scale", "s_min", 1e-3, 1e-6, 1.0, "log", minimum=0.0, tooltip="sizes are not taken smaller"),
    )
    measure: str
    min_scale: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        for part in ctx.layout.slices:
            weights = ctx.weights[part]
            size = norm_of(weights) if self.measure == "norm" else root_mean_square(weights)
            result[part] = u[part] * max(size, self.min_scale)
        return result

    def explain(self, figures: dict[str, float]) -> str:
        size = "‖w_v‖" if self.measure == "norm" else "rms(w_v)"
        return f"u_v ← u_v · max({size}, {self.min_scale:g})"


class NormaliseUpdate(Transform):
    """u <- u s / (‖u‖ + ε), the norm over all variables together."""

    name = "normalise_update"
    label = "normalised gradient"
    cause = "clipping"
    shows = ("gradient_norm",)
    formula = "u ← u · s / (‖u‖ + ε)"
    source = "optax.normalize_by_update_norm, optax.contrib.normalize"
    parameters = (
        Parameter("scale_factor", "s", 1.0, 1e-3, 100.0, "log", tooltip="norm the update is brought to"),
        Parameter("eps", "ε", 1e-6, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added to the norm"),
    )
    couples = True
    scale_factor: float
    eps: float

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return norm_of(updates[0]) if len(updates) == 1 else math.hypot(*[norm_of(u) for u in updates])

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        ctx.figures["gradient_norm"] = ctx.combined
        divisor = (ctx.combined + self.eps) / self.scale_factor
        return u / np.asarray(divisor, dtype=u.dtype)


class ParameterNormScaling(Transform):
    """v <- β₂ v + (1 - β₂)‖g_v‖² (one number a variable, ‖g_v‖² at first), u_v <- u_v / (√(v + ε̄) + ε): NovoGrad."""

    name = "norm_scaling"
    label = "norm scaling"
    cause = "adaptive scaling"
    formula = "v ← β₂ v + (1 − β₂)‖g_v‖²,  u_v ← u_v / (√v + ε)"
    source = "Ginsburg et al. 2019, arXiv:1905.11286 (NovoGrad)"
    parameters = (
        Parameter("beta2", "β₂", 0.25, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the squared norm"),
        Parameter("eps", "ε", 1e-6, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added to the root"),
        Parameter("eps_root", "ε̄", 0.0, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added under the root"),
    )
    beta2: float
    eps: float
    eps_root: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v": PerVariable([None] * len(layout.names))}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        squares = PerVariable()
        for part, old in zip(ctx.layout.slices, state["v"], strict=True):
            square = norm_of(u[part]) ** 2
            new = square if old is None else square * (1.0 - self.beta2) + old * self.beta2
            squares.append(new)
            result[part] = u[part] / np.asarray(math.sqrt(new + self.eps_root) + self.eps, dtype=u.dtype)
        state["v"] = squares
        return result


def root_mean_square(values: Array) -> float:
    """The root of the mean square in float64; 0 for an empty array."""
    wide = values.astype(np.float64, copy=False)
    return math.sqrt(float(np.mean(wide * wide))) if wide.size else 0.0
