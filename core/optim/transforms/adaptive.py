"""Second-moment scaling: dividing each component by the root of its average square, and what corrects it."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.dtypes import FLOAT64, constants
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.divisor import (
    BETA2,
    EPSILON,
    EPSILON_ROOT,
    FORM,
    POWER,
    RULE,
    Float32Power,
    averaged,
    divide,
    divisor_formula,
    root_of,
)
from core.optim.transforms.fused import fused, fused_lerp

INITIAL = Parameter("initial", "v₀", 0.0, 0.0, 1.0, minimum=0.0, tooltip="what the average square starts at")


class SecondMoment(Transform):
    """v <- β₂ v + (1 - β₂) g², u <- u / (√v + ε), g being what went into the first moment (or u, without one).

    Without the correction behind it the divisor is too small early on (v starts at zero). It leaves (u, v) behind
    as ``ctx.scratch['second_moment']`` for the transforms that work on the divisor.
    """

    name = "second_moment"
    label = "second-moment scaling"
    cause = "adaptive scaling"
    formula = "v ← β₂ v + (1 − β₂) g²,  u ← u / (√v + ε)"
    source = "Kingma and Ba 2015, arXiv:1412.6980; Tieleman and Hinton 2012 (RMSprop)"
    parameters = (BETA2, EPSILON, EPSILON_ROOT, RULE, INITIAL, FORM)
    beta2: float
    eps: float
    eps_root: float
    rule: str
    initial: float
    form: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v": np.full_like(weights, self.initial) if self.initial else np.zeros_like(weights)}

    def prepare(self) -> None:
        self._numbers = (self.beta2, 1.0 - self.beta2, self.eps)
        self._float64 = constants(*self._numbers)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = ctx.scratch.pop("moment_input", u)
        old = state["v"]
        beta2, share, eps = self._float64 if u.dtype is FLOAT64 else self._numbers
        if self.form == "average":
            v = old * beta2 + g * g * share
        elif self.form == "lerp":
            v = fused(old * beta2, g * share, g)
        else:
            v = averaged(old, g * g, beta2, share, self.form)
        state["v"] = v
        ctx.scratch["second_moment"] = (u, v)
        return divide(u, v, self.rule, eps, self.eps_root, ctx.scratch)

    def explain(self, figures: dict[str, float]) -> str:
        formula = f"v ← β₂ v + (1 − β₂) g²,  u ← u / {divisor_formula(self.rule, 'v', self.eps_root)}"
        return self.told(formula, figures)


class SecondBiasCorrection(Transform):
    """The divisor corrected for its start at zero, ε added afterwards (PyTorch, optax) or before (Keras, TF1).

    ``order`` 'roots' divides √v by √(1 - β₂ᵗ) (PyTorch), 'squares' takes the root of v / (1 - β₂ᵗ) (optax), and
    'hat' multiplies the finished quotient by √(1 - β₂ᵗ), so that ε is in effect larger at first (Keras, TF1).
    """

    name = "bias_correction_2"
    label = "bias correction 2"
    cause = "bias correction"
    formula = "u ← m̂ / (√v / √(1 − β₂ᵗ) + ε)"
    source = "Kingma and Ba 2015, section 3; torch.optim.Adam, optax.scale_by_adam, keras.optimizers.Adam"
    parameters = (
        BETA2,
        EPSILON,
        EPSILON_ROOT,
        RULE,
        Parameter(
            "order",
            "order",
            "roots",
            scale="choice",
            choices=("roots", "squares", "hat"),
            tooltip="roots: √v / √(1 − β₂ᵗ) (PyTorch); squares: √(v / (1 − β₂ᵗ)) (optax); hat: √(1 − β₂ᵗ) u (Keras)",
        ),
        POWER,
    )
    beta2: float
    eps: float
    eps_root: float
    rule: str
    order: str
    power: str

    def prepare(self) -> None:
        self._float32 = Float32Power(self.beta2) if self.power == "float32" else None
        (self._eps,) = constants(self.eps)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        numerator, v = found
        t = ctx.count + 1
        correction = 1.0 - (self.beta2**t if self._float32 is None else self._float32(t))
        if self.order == "hat":
            root = math.sqrt(correction)
            ctx.figures["sqrt(1-beta2^t)"] = root
            hat = u * root
            m, down = ctx.scratch.get("first_moment"), ctx.figures.get("1-beta1^t", 1.0)
            quotient = ctx.scratch.get("quotient")
            if m is not None and quotient is not None and quotient[0] is u:
                ctx.scratch["quotient"] = (hat, m, root, down, 1.0, quotient[5])
            return hat
        if self.order == "roots":
            root = math.sqrt(correction)
            ctx.figures["sqrt(1-beta2^t)"] = root
            eps = self._eps if v.dtype is FLOAT64 else self.eps
            result: Array = numerator / (root_of(v, ctx.scratch) / root + eps)
            return result
        ctx.figures["1-beta2^t"] = correction
        corrected = v / correction
        ctx.scratch["second_moment"] = (numerator, corrected)
        return divide(numerator, corrected, self.rule, self.eps, self.eps_root, ctx.scratch)

    def explain(self, figures: dict[str, float]) -> str:
        if self.order == "hat":
            root = _number(figures, "sqrt(1-beta2^t)", "√(1 − β₂ᵗ)")
            return f"u ← {root} · u   (√(1 − β₂ᵗ) after ε: 'epsilon hat')"
        if self.order == "roots":
            root = _number(figures, "sqrt(1-beta2^t)", "√(1 − β₂ᵗ)")
            return self.told(f"u ← m̂ / (√v / {root} + ε)", figures)
        corrected = f"(v/{_number(figures, '1-beta2^t', '(1 − β₂ᵗ)')})"
        return self.told(f"u ← m̂ / {divisor_formula(self.rule, corrected, self.eps_root)}", figures)


def _number(figures: dict[str, float], key: str, symbol: str) -> str:
    """A figure of the step, its symbol where the row did not note it."""
    return f"{figures[key]:.6g}" if key in figures else symbol


class SecondMaximum(Transform):
    """V <- max(V, v), and V takes the place of v in the divisor (AMSGrad): the step can no longer grow back.

    Before the bias correction it keeps the maximum of v (PyTorch, Keras), behind it that of v̂ (optax).
    """

    name = "second_maximum"
    label = "largest second moment"
    cause = "adaptive scaling"
    formula = "V ← max(V, v),  u ← m̂ / (√V + ε)"
    source = "Reddi, Kale and Kumar 2018, arXiv:1904.09237"
    parameters = (EPSILON, EPSILON_ROOT, RULE)
    eps: float
    eps_root: float
    rule: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v_max": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        numerator, v = found
        largest = np.maximum(state["v_max"], v)
        state["v_max"] = largest
        ctx.scratch["second_moment"] = (numerator, largest)
        return divide(numerator, largest, self.rule, self.eps, self.eps_root, ctx.scratch)

    def explain(self, figures: dict[str, float]) -> str:
        return self.told(f"V ← max(V, v),  u ← m̂ / {divisor_formula(self.rule, 'V', self.eps_root)}", figures)


class CentredSecondMoment(Transform):
    """a <- ρ a + (1 - ρ) g, and v - a² (a running variance) takes the place of v in the divisor (centred RMSprop).

    ``corrected`` divides a by 1 - ρᵗ first (optax with bias_correction; stands behind the correction of v).
    """

    name = "centred_second_moment"
    label = "centred second moment"
    cause = "adaptive scaling"
    formula = "a ← ρ a + (1 − ρ) g,  u ← g / (√(v − a²) + ε)"
    source = "Graves 2013, arXiv:1308.0850, equations 38 to 45"
    parameters = (
        Parameter("rho", "ρ", 0.9, 0.5, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average gradient"),
        EPSILON,
        RULE,
        Parameter("corrected", "a / (1 − ρᵗ)", False, scale="switch", tooltip="correct the average for its start at 0"),
        FORM,
    )
    rho: float
    eps: float
    rule: str
    corrected: bool
    form: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"a": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        g, v = found
        share = 1.0 - self.rho
        as_torch = self.form == "lerp"
        a = fused_lerp(state["a"], g, share) if as_torch else averaged(state["a"], g, self.rho, share, self.form)
        state["a"] = a
        if self.corrected:
            a = a / (1.0 - self.rho ** (ctx.count + 1))
        # where g hardly changes the variance is what rounding left: in PyTorch's order it is the same, nan included
        variance = np.where(np.isinf(v) & np.isfinite(a), v, fused(v, -a, a)) if as_torch else v - a * a
        ctx.scratch["second_moment"] = (g, variance)
        return divide(g, variance, self.rule, self.eps, scratch=ctx.scratch)

    def explain(self, figures: dict[str, float]) -> str:
        square = "(a/(1 − ρᵗ))²" if self.corrected else "a²"
        under = f"v − {square}" if self.rule.startswith("inside") else f"(v − {square})"
        return self.told(f"a ← ρ a + (1 − ρ) g,  u ← g / {divisor_formula(self.rule, under)}", figures)


class SumOfSquares(Transform):
    """s <- s + g², u <- u / (√s + ε): the divisor only grows (Adagrad).

    ``zero_safe`` gives 0 where nothing but zeros came in yet (optax), instead of 0/0 when ε is 0.
    """

    name = "sum_of_squares"
    label = "sum of squares"
    cause = "adaptive scaling"
    formula = "s ← s + u²,  u ← u / (√s + ε)"
    source = "Duchi, Hazan and Singer 2011, JMLR 12"
    parameters = (
        Parameter("initial", "s₀", 0.0, 0.0, 1.0, minimum=0.0, tooltip="0 in PyTorch; 0.1 in Keras, TF1 and optax"),
        EPSILON,
        RULE,
        Parameter("zero_safe", "0 where s = 0", False, scale="switch", tooltip="0 instead of 0/0 (optax)"),
    )
    initial: float
    eps: float
    rule: str
    zero_safe: bool

    def init(self, weights: Array, layout: Layout) -> State:
        return {"s": np.full_like(weights, self.initial)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        s = state["s"] + u * u
        state["s"] = s
        divided = divide(u, s, self.rule, self.eps, scratch=ctx.scratch)
        if self.zero_safe:
            return np.where(s > 0, divided, np.zeros_like(u))
        return divided

    def explain(self, figures: dict[str, float]) -> str:
        divisor = divisor_formula(self.rule, "s") if self.eps else "√s"
        return self.told(f"s ← s + u² (from {self.initial:g}),  u ← u / {divisor}", figures)


class AccumulatedSteps(Transform):
    """u <- √(D + ε)/√(v + ε) g, then D <- ρ D + (1 - ρ) u²: Adadelta's own unit of length, in place of a rate.

    Stands behind a SecondMoment with ε inside.
    """

    name = "accumulated_steps"
    label = "average step length"
    cause = "adaptive scaling"
    formula = "u ← √(D + ε)/√(v + ε) · g,  D ← ρ D + (1 − ρ) u²"
    source = "Zeiler 2012, arXiv:1212.5701"
    parameters = (
        Parameter("rho", "ρ", 0.9, 0.5, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average square step"),
        Parameter("eps", "ε", 1e-6, 1e-12, 1e-1, "log", minimum=0.0, tooltip="the first step has length √ε"),
        Parameter(
            "order",
            "order",
            "ratio",
            scale="choice",
            choices=("ratio", "product", "reciprocal"),
            tooltip="ratio: (√D/√v) g (PyTorch, optax); product: (√D g)/√v (Keras); reciprocal: √D (1/√v) g (TF1)",
        ),
    )
    rho: float
    eps: float
    order: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"d": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        g, v = found
        old = state["d"]
        length, divisor = np.sqrt(old + self.eps), np.sqrt(v + self.eps)
        step: Array
        if self.order == "ratio":
            step = length / divisor * g
        elif self.order == "product":
            step = length * g / divisor
        else:
            step = length * (1.0 / divisor) * g
        state["d"] = old * self.rho + step * step * (1.0 - self.rho)
        return step
