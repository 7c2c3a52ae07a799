"""Other second moments: belief, Yogi, infinity norm, and RAdam's rectification of the divisor."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.divisor import BETA2, EPSILON, EPSILON_ROOT, divide


class BeliefMoment(Transform):
    """v <- β₂ v + (1 - β₂)(g - m)² + ε̄, u <- u / (√v + ε): the step is long where the gradient is as expected."""

    name = "belief_moment"
    label = "belief scaling"
    cause = "adaptive scaling"
    formula = "v ← β₂ v + (1 − β₂)(g − m)² + ε̄,  u ← u / (√v + ε)"
    source = "Zhuang et al. 2020, arXiv:2010.07468 (AdaBelief)"
    parameters = (BETA2, EPSILON, EPSILON_ROOT)
    beta2: float
    eps: float
    eps_root: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = ctx.scratch.pop("moment_input", u)
        surprise = g - ctx.scratch.get("first_moment", u)
        v = state["v"] * self.beta2 + surprise * surprise * (1.0 - self.beta2) + self.eps_root
        state["v"] = v
        ctx.scratch["second_moment"] = (u, v)
        return divide(u, v, "outside", self.eps)


class YogiMoment(Transform):
    """v <- v - (1 - β₂) sign(v - g²) g², u <- u / (√v + ε): v moves by a bounded amount, so it forgets slowly."""

    name = "yogi_moment"
    label = "Yogi scaling"
    cause = "adaptive scaling"
    formula = "v ← v − (1 − β₂) sign(v − g²) g²,  u ← u / (√v + ε)"
    source = "Zaheer et al. 2018, NeurIPS (Yogi)"
    parameters = (
        BETA2,
        EPSILON,
        EPSILON_ROOT,
        Parameter("initial", "v₀", 1e-6, 0.0, 1.0, minimum=0.0, tooltip="what v starts at"),
    )
    beta2: float
    eps: float
    eps_root: float
    initial: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v": np.full_like(weights, self.initial)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = ctx.scratch.pop("moment_input", u)
        square = g * g
        old = state["v"]
        v = old - (1.0 - self.beta2) * np.sign(old - square) * square
        state["v"] = v
        ctx.scratch["second_moment"] = (u, v)
        return divide(u, v, "outside", self.eps, self.eps_root)


class InfinityMoment(Transform):
    """n <- max(β₂ n, |g| + ε), u <- u / n: the largest recent gradient as divisor (Adamax).

    ``place`` 'maximum' adds ε before the maximum is taken (PyTorch, optax), 'divisor' adds it to n (Keras).
    """

    name = "infinity_moment"
    label = "largest-gradient scaling"
    cause = "adaptive scaling"
    formula = "n ← max(β₂ n, |g| + ε),  u ← u / n"
    source = "Kingma and Ba 2015, section 7.1 (AdaMax)"
    parameters = (
        BETA2,
        EPSILON,
        Parameter(
            "place",
            "ε where",
            "maximum",
            scale="choice",
            choices=("maximum", "divisor"),
            tooltip="maximum: |g| + ε before the maximum (PyTorch, optax); divisor: n + ε (Keras)",
        ),
    )
    beta2: float
    eps: float
    place: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"n": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = np.abs(ctx.scratch.pop("moment_input", u))
        if self.place == "maximum":
            n = np.maximum(state["n"] * self.beta2, g + self.eps)
            state["n"] = n
            return u / n
        n = np.maximum(state["n"] * self.beta2, g)
        state["n"] = n
        divisor = n + self.eps
        result: Array = u / divisor
        m, down = ctx.scratch.get("first_moment"), ctx.figures.get("1-beta1^t", 1.0)
        ctx.scratch["quotient"] = (result, u if m is None else m, 1.0, 1.0, down, divisor)
        return result

    def explain(self, figures: dict[str, float]) -> str:
        inside = self.place == "maximum"
        return self.told(self.formula if inside else "n ← max(β₂ n, |g|),  u ← u / (n + ε)", figures)


class Rectification(Transform):
    """RAdam: while the variance of the divisor cannot be trusted (ρ_t small) u <- m̂, later u <- r_t u.

    ``inclusive`` rectifies already at ρ_t = threshold (optax), else only above it (PyTorch).
    """

    name = "rectification"
    label = "rectification"
    cause = "bias correction"
    formula = "u ← r_t u if ρ_t > 5, else m̂"
    source = "Liu et al. 2020, arXiv:1908.03265 (RAdam)"
    parameters = (
        BETA2,
        EPSILON,
        EPSILON_ROOT,
        Parameter("threshold", "ρ_min", 5.0, 4.0, 10.0, minimum=0.0, tooltip="ρ_t from which the divisor is used"),
        Parameter("inclusive", "≥", True, scale="switch", tooltip="rectify at the threshold itself (optax)"),
        Parameter(
            "anew", "anew", True, scale="switch", tooltip="r m̂/(√v + ε) (optax); off: r times what came in (PyTorch)"
        ),
    )
    beta2: float
    eps: float
    eps_root: float
    threshold: float
    inclusive: bool
    anew: bool

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        m, v = found
        limit = 2.0 / (1.0 - self.beta2) - 1.0
        t = ctx.count + 1
        power = self.beta2**t
        rho = limit - 2 * t * power / (1 - power)
        ctx.figures["rho_t"] = rho
        if not (rho >= self.threshold if self.inclusive else rho > self.threshold):
            result: Array = m
            return result
        square = (rho - 4.0) * (rho - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * rho)
        r = math.sqrt(square) if square >= 0 else math.nan
        ctx.figures["r_t"] = r
        if not self.anew:
            return u * r
        return divide(m * r, v, "outside", self.eps, self.eps_root)

    def explain(self, figures: dict[str, float]) -> str:
        rho = figures.get("rho_t", math.nan)
        sign = "≥" if self.inclusive else ">"
        if "r_t" in figures:
            return f"u ← {figures['r_t']:.6g} · u   because ρ_t = {rho:.6g} {sign} {self.threshold:g}"
        return f"u ← m̂   because ρ_t = {rho:.6g} is not {sign} {self.threshold:g}: no divisor yet"


class DifferenceMoment(Transform):
    """d = g - g_old, n <- β₂ n + (1 - β₂) d, u <- m̂ + (1 - β₂) n̂: Adan's look ahead along the change of gradient.

    What follows squares g + (1 - β₂) d.
    """

    name = "difference_moment"
    label = "gradient-difference moment"
    cause = "momentum"
    formula = "n ← β₂ n + (1 − β₂)(g − g_old),  u ← m̂ + (1 − β₂) n / (1 − β₂ᵗ)"
    source = "Xie et al. 2022, arXiv:2208.06677 (Adan)"
    parameters = (
        Parameter("beta2", "β₂", 0.92, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the change"),
    )
    beta2: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"n": np.zeros_like(weights), "g": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = ctx.scratch.get("moment_input", u)
        old = state["g"]
        change = np.zeros_like(g) if old is None else g - old
        share = 1.0 - self.beta2
        n = state["n"] * self.beta2 + change * share
        state["n"], state["g"] = n, g
        ctx.scratch["moment_input"] = g + change * share
        result: Array = u + (n / (1.0 - self.beta2 ** (ctx.count + 1))) * share
        return result
