"""Which of the frameworks' conventions is at work in a row, as a sentence: docs/conventions.md is the table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.optim.chain import Chain, own_figures
from core.optim.schedule_conventions import schedule_convention

Facts = Mapping[str, Any]
Say = Callable[[Facts, Chain, int], str]


def convention(chain: Chain, row_name: str) -> str:
    """The convention behind a row where frameworks differ, '' where they all agree."""
    k = chain.index(row_name)
    transform = chain.transforms[k]
    say = SAY.get(transform.name)
    return say(transform.values(), chain, k) if say is not None else ""


def explain(chain: Chain, row_name: str, figures: dict[str, float]) -> str:
    """The row's formula with this step's numbers, and the convention at work behind it."""
    transform = chain.transforms[chain.index(row_name)]
    text, note = transform.explain(own_figures(row_name, figures)), convention(chain, row_name)
    return f"{text}   [{note}]" if note else text


def _place(chain: Chain, *names: str) -> int:
    """Position of the first transform with one of these names, -1 when there is none."""
    return next((k for k, transform in enumerate(chain) if transform.name in names), -1)


def _place_of_rate(facts: Facts, chain: Chain, k: int) -> str:
    if 0 <= chain.rate_index < k:
        return "lr inside the velocity: steps already in it keep their old rate (Keras; RMSProp of TF1 and optax; LARS)"
    return "lr outside the buffer: a new rate acts on all of it at once (PyTorch, TF1, optax)"


def _momentum(facts: Facts, chain: Chain, k: int) -> str:
    said = _place_of_rate(facts, chain, k)
    return f"{said}; the first step leaves dampening out (PyTorch)" if facts.get("dampening") else said


def _first_moment(facts: Facts, chain: Chain, k: int) -> str:
    if _place(chain, "orthogonalise") > k:
        return "an average, (1 − μ) G (PyTorch, optax); Keras' Muon adds G itself"
    return ""


def _second_moment(facts: Facts, chain: Chain, k: int) -> str:
    if _place(chain, "accumulated_steps") > k:
        return "ε inside the root (Adadelta in all four)"
    where = "ε inside the root" if str(facts["rule"]).startswith("inside") else "ε outside the root"
    alone = _place(chain, "bias_correction_2") < 0
    said = f"{where} ({'Keras, TF1, optax' if where.startswith('ε inside') else 'PyTorch'})" if alone else where
    return f"{said}; the average starts at {facts['initial']:g} (TF1's RMSProp: 1)" if facts.get("initial") else said


def _second_correction(facts: Facts, chain: Chain, k: int) -> str:
    if facts["order"] == "hat":
        whose = "Keras, TF1"
        if _place(chain, "rectification") > k:
            whose = "PyTorch's RAdam"
        elif _place(chain, "lazy_second_moment") >= 0:
            whose = "PyTorch's SparseAdam, Keras, TF1"
        return f"ε hat: added to the uncorrected root, so larger in effect early on ({whose})"
    if _place(chain, "scheduled_nesterov") >= 0:
        return "ε added to the corrected root (NAdam in PyTorch, Keras and optax)"
    return "ε added to the corrected root (PyTorch, optax; of Keras only Nadam, Lamb and ScheduleFreeAdamW)"


def _centred(facts: Facts, chain: Chain, k: int) -> str:
    if str(facts["rule"]).startswith("inside"):
        return "ε inside the root, with v − a² (Keras, TF1, optax)"
    return "ε outside the root (PyTorch; optax with eps_in_sqrt=False)"


def _second_maximum(facts: Facts, chain: Chain, k: int) -> str:
    correction = _place(chain, "bias_correction_2")
    if 0 <= correction < k:
        return "AMSGrad: largest of the corrected v̂ (optax)"
    return "AMSGrad: largest of the uncorrected v (PyTorch, Keras)"


def _sum_of_squares(facts: Facts, chain: Chain, k: int) -> str:
    inside = str(facts["rule"]).startswith("inside")
    where = "no ε" if not facts["eps"] else f"ε {'inside' if inside else 'outside'} the root"
    return f"the sum starts at {facts['initial']:g} (PyTorch 0; Keras, TF1 and optax 0.1); {where}"


def _nadam(facts: Facts, chain: Chain, k: int) -> str:
    psi = facts["momentum_decay"]
    whose = " (Keras)" if psi == 1.0 else " (PyTorch's default)" if psi == 0.004 else ""
    power = "t" if psi == 1.0 else f"({psi:g} t)"
    return f"μ_t = β₁(1 − ½·0.96^{power}){whose}; optax keeps β₁"


def _nesterov_moment(facts: Facts, chain: Chain, k: int) -> str:
    return "constant β₁ and m / (1 − β₁ᵗ⁺¹) (optax); in PyTorch and Keras μ_t grows towards β₁"


def _clip(facts: Facts, chain: Chain, k: int) -> str:
    rules = {
        "torch": "limit / (norm + 1e-6): a gradient exactly at the limit shrinks by a millionth (PyTorch)",
        "tensorflow": "limit · min(1/norm, 1/limit): at the limit nothing changes (TensorFlow, Keras)",
        "optax": "norm / limit divides from the limit on (optax)",
    }
    said = rules[str(facts["convention"])]
    scale = _place(chain, "loss_scale")
    return f"{said}; the gradient is still scaled here: the limit means something else" if scale > k else said


def _clip_value(facts: Facts, chain: Chain, k: int) -> str:
    return (
        "the gradient is still scaled here: the limit means something else" if _place(chain, "loss_scale") > k else ""
    )


def _per_variable(facts: Facts, chain: Chain, k: int) -> str:
    if facts["convention"] == "torch":
        return "each variable by its own norm, limit / (norm + 1e-6) (clip_grad_norm_ called for each)"
    if facts["convention"] == "optax":
        return "each variable by its own norm (optax.clip_by_block_norm), not all by one"
    return "each variable by its own norm (Keras clipnorm, tf.clip_by_norm), not all by one"


def _average_norm(facts: Facts, chain: Chain, k: int) -> str:
    return "each variable by its norm over its number of weights, not over the root of it (TF1)"


def _trust(facts: Facts, chain: Chain, k: int) -> str:
    said = "1 where a norm is 0"
    if 0 <= _place(chain, "added_decay") < k:
        return f"the decay is inside the ratio (optax); {said}"
    if _place(chain, "decoupled_decay") >= 0:
        return f"the decay is outside the ratio (Keras); {said}"
    return said


def _orthogonalise(facts: Facts, chain: Chain, k: int) -> str:
    if facts["work"] == "bfloat16":
        return "iterates in bfloat16 (PyTorch)"
    return "iterates in the variable's type (Keras, optax)"


def _loss_scale(facts: Facts, chain: Chain, k: int) -> str:
    clip = _place(chain, "clip_by_global_norm", "clip_by_norm", "clip_by_value")
    order = "" if clip < 0 else "; clips see the scaled gradient" if clip < k else "; unscaled before the clip"
    if not facts["dynamic"]:
        return f"the scale stays as it is{order}"
    shrink, wait = facts["backoff_factor"], facts["growth_interval"]
    grows = f"times {facts['growth_factor']:g} after {wait:g} good steps"
    start = f"starts at {facts['initial_scale']:g} (PyTorch 65536, Keras 32768)"
    return f"{start}, times {shrink:g} after inf or nan, {grows}{order}"


def _guard(facts: Facts, chain: Chain, k: int) -> str:
    if facts["schedule"] == "calls":
        return "a refused step advances neither moments nor t, but the schedule, which the loop steps all the same"
    return "a refused step advances nothing: no moments, no t, no schedule"


def _multi_steps(facts: Facts, chain: Chain, k: int) -> str:
    return f"the {'mean' if facts['mean'] else 'sum'} of the gradients; schedules count steps taken (optax)"


def _ftrl_l1(facts: Facts, chain: Chain, k: int) -> str:
    return "soft threshold: weights whose |z| is within λ₁ become exactly zero (TF1, Keras)"


def _ftrl_l2(facts: Facts, chain: Chain, k: int) -> str:
    return "penalty λ₂|w|² without the half (TF1, Keras)"


def _proximal_l2(facts: Facts, chain: Chain, k: int) -> str:
    return "penalty (λ₂/2)|w|² with the half, solved exactly (TF1 proximal)"


def _l2(facts: Facts, chain: Chain, k: int) -> str:
    half = "penalty (λ/2)|w|², gradient λw" if facts["half"] else "penalty λ|w|² without the half, gradient 2λw (Keras)"
    return f"coupled: goes through everything that follows (PyTorch's weight_decay outside AdamW); {half}"


def _l1(facts: Facts, chain: Chain, k: int) -> str:
    return "sub-gradient: sign(w), 0 at 0; it steps over zero where soft thresholding (proximal) stops at it"


def _decoupled(facts: Facts, chain: Chain, k: int) -> str:
    return "decoupled, times lr_t, on the weights before the update (PyTorch AdamW, Keras)"


def _added_decay(facts: Facts, chain: Chain, k: int) -> str:
    if _place(chain, "trust_ratio") > k:
        return "inside the trust ratio, times lr afterwards (optax lamb, lars)"
    return "inside the update, times lr afterwards (optax)"


def _step_decay(facts: Facts, chain: Chain, k: int) -> str:
    return "not times lr (optax adafactor)"


def _proximal(facts: Facts, chain: Chain, k: int) -> str:
    return "soft threshold: weights within lr·l1 of zero become exactly zero (TF1 proximal, FTRL)"


def _accumulate(facts: Facts, chain: Chain, k: int) -> str:
    what = "the mean of the gradients" if facts["mean"] else "the sum of the gradients"
    counts = (
        "schedules count calls (Keras)" if facts["schedule"] == "calls" else "schedules count steps taken (PyTorch)"
    )
    return f"{what}; {counts}"


def _shape(facts: Facts, chain: Chain, k: int) -> str:
    return {
        "rows over columns": "√max(1, rows/columns) (PyTorch)",
        "columns over rows": "√max(1, columns/rows) (optax)",
        "largest": "√max(rows, columns) (Keras; 0.2 times it matches AdamW)",
        "none": "no factor for the shape",
    }[str(facts["rule"])]


def _infinity(facts: Facts, chain: Chain, k: int) -> str:
    where = facts["place"] == "maximum"
    return "ε added before the maximum (PyTorch, optax)" if where else "ε added to the divisor (Keras)"


def _rectification(facts: Facts, chain: Chain, k: int) -> str:
    return "from ρ_t ≥ 5 on (optax)" if facts["inclusive"] else "only above ρ_t = 5 (PyTorch)"


def _rate(facts: Facts, chain: Chain, k: int) -> str:
    rate = chain.rate
    return "" if rate is None or rate.schedule is None else schedule_convention(rate.schedule)


def _rounding(facts: Facts, chain: Chain, k: int) -> str:
    return "" if facts["storage"] in ("variable", "float64") else "to nearest, ties to even"


SAY: dict[str, Say] = {
    "momentum": _momentum,
    "nesterov": _place_of_rate,
    "nesterov_moment": _nesterov_moment,
    "centred_second_moment": _centred,
    "lazy_second_moment": _second_moment,
    "clip_by_average_norm": _average_norm,
    "trust_ratio": _trust,
    "orthogonalise": _orthogonalise,
    "loss_scale": _loss_scale,
    "finite_guard": _guard,
    "multi_steps": _multi_steps,
    "clipped_accumulate": _accumulate,
    "ftrl_l1": _ftrl_l1,
    "ftrl_l2": _ftrl_l2,
    "proximal_l2": _proximal_l2,
    "first_moment": _first_moment,
    "second_moment": _second_moment,
    "bias_correction_2": _second_correction,
    "second_maximum": _second_maximum,
    "sum_of_squares": _sum_of_squares,
    "scheduled_nesterov": _nadam,
    "clip_by_global_norm": _clip,
    "clip_by_value": _clip_value,
    "clip_by_norm": _per_variable,
    "l2": _l2,
    "l1": _l1,
    "decoupled_decay": _decoupled,
    "added_decay": _added_decay,
    "step_decay": _step_decay,
    "proximal_l1": _proximal,
    "accumulate": _accumulate,
    "shape_factor": _shape,
    "infinity_moment": _infinity,
    "rectification": _rectification,
    "learning_rate": _rate,
    "rounding": _rounding,
}
