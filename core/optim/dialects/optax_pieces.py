"""optax's gradient transformations one by one: their arguments, and the rows each of them is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_schedules import optional_rate, rate, read_schedule
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByValue
from core.optim.transforms.curvature import CurvatureScaling, PolyakStep
from core.optim.transforms.factored import FactoredMoment
from core.optim.transforms.lion import LionMoment
from core.optim.transforms.moments import MovingAverage, NesterovMoment, OptimisticGradient
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.orthogonalise import Orthogonalise, ShapeFactor
from core.optim.transforms.rprop_delayed import DelayedRprop
from core.optim.transforms.scaling import AddedDecay, Noise, Sign
from core.optim.transforms.second_moments import (
    BeliefMoment,
    DifferenceMoment,
    InfinityMoment,
    Rectification,
    YogiMoment,
)
from core.optim.transforms.sm3 import Sm3Scaling
from core.optim.transforms.trust import NormaliseUpdate, ParameterNormScaling, ScaleByParameters, TrustRatio
from core.optim.transforms.unitwise import AdaptiveClip, Centralise, ClipByBlockRms, KeepNonNegative, ZeroNans

Values = dict[str, Any]
Rows = list[Transform]


class Piece(NamedTuple):
    """One transformation as optax names it, its arguments complete and converted; ``group`` is what it is part of."""

    name: str
    args: Values
    group: str = ""


class Primitive(NamedTuple):
    """How a transformation is read, and the rows it makes."""

    signature: tuple[Argument, ...]
    make: Callable[[Values], Rows]


B1, B2 = Argument("b1", 0.9), Argument("b2", 0.999)
EPS, EPS_ROOT = Argument("eps", 1e-8), Argument("eps_root", 0.0)
MU_DTYPE = Argument("mu_dtype", None, kinds.own_type)
NESTEROV = Argument("nesterov", False, "boolean", keyword_only=True)


def _first(values: Values) -> Rows:
    rows: Rows = [FirstMoment(beta1=values["b1"]), FirstBiasCorrection(beta1=values["b1"])]
    if values.get("nesterov"):
        rows.append(NesterovMoment(beta1=values["b1"]))
    return rows


def _second(values: Values) -> Rows:
    common = {"beta2": values["b2"], "eps": values["eps"], "eps_root": values["eps_root"]}
    return [SecondMoment(**common), SecondBiasCorrection(**common, order="squares")]


def _trace(values: Values) -> Rows:
    rows: Rows = [Momentum(momentum=values["decay"])]
    return [*rows, Nesterov(momentum=values["decay"])] if values["nesterov"] else rows


def _adam(values: Values) -> Rows:
    return [*_first(values), *_second(values)]


def _amsgrad(values: Values) -> Rows:
    first = _first(values) if values["bias_correction_mu"] else _first(values)[:1]
    second = _second(values) if values["bias_correction_nu"] else _second(values)[:1]
    return [*first, *second, SecondMaximum(eps=values["eps"], eps_root=values["eps_root"])]


def _adamax(values: Values) -> Rows:
    return [*_first(values), InfinityMoment(beta2=values["b2"], eps=values["eps"])]


def _adan(values: Values) -> Rows:
    second = {**values, "b2": values["b3"]}
    return [*_first(values), DifferenceMoment(beta2=values["b2"]), *_second(second)]


def _belief(values: Values) -> Rows:
    belief = BeliefMoment(beta2=values["b2"], eps=values["eps"], eps_root=values["eps_root"])
    correction = SecondBiasCorrection(beta2=values["b2"], eps=values["eps"], order="squares")
    return [*_first(values), belief, correction]


def _yogi(values: Values) -> Rows:
    start = values["initial_accumulator_value"]
    common = {"beta2": values["b2"], "eps": values["eps"], "eps_root": values["eps_root"]}
    return [
        FirstMoment(beta1=values["b1"], initial=start),
        FirstBiasCorrection(beta1=values["b1"]),
        YogiMoment(**common, initial=start),
        SecondBiasCorrection(**common, order="squares"),
    ]


def _radam(values: Values) -> Rows:
    rectified = Rectification(
        beta2=values["b2"], eps=values["eps"], eps_root=values["eps_root"], threshold=values["threshold"]
    )
    return [*_adam(values), rectified]


def _rms(values: Values) -> Rows:
    rule = "inside, reciprocal" if values["eps_in_sqrt"] else "outside, reciprocal"
    common = {"beta2": values["decay"], "eps": values["eps"], "rule": rule}
    rows: Rows = [SecondMoment(**common, initial=values["initial_scale"])]
    if values["bias_correction"]:
        rows.append(SecondBiasCorrection(**common, order="squares"))
    return rows


def _stddev(values: Values) -> Rows:
    rows = _rms(values)
    rule = "inside, reciprocal" if values["eps_in_sqrt"] else "outside, reciprocal"
    centred = CentredSecondMoment(
        rho=values["decay"], eps=values["eps"], rule=rule, corrected=values["bias_correction"]
    )
    return [*rows, centred]


def _adadelta(values: Values) -> Rows:
    return [
        SecondMoment(beta2=values["rho"], eps=values["eps"], rule="inside"),
        AccumulatedSteps(rho=values["rho"], eps=values["eps"]),
    ]


def _novograd(values: Values) -> Rows:
    rows: Rows = [ParameterNormScaling(beta2=values["b2"], eps=values["eps"], eps_root=values["eps_root"])]
    if values["weight_decay"]:
        rows.append(AddedDecay(weight_decay=values["weight_decay"]))
    return [*rows, Momentum(momentum=values["b1"])]


def _sophia(values: Values) -> Rows:
    rows = _first(values)
    rows.append(
        CurvatureScaling(
            beta2=values["b2"],
            gamma=values["gamma"],
            eps=values["eps"],
            update_interval=values["update_interval"],
            estimator=values["hessian_diagonal_fn"],
        )
    )
    if values["clip_threshold"] is not None:
        rows.append(ClipByValue(clip_value=values["clip_threshold"]))
    return rows


def _muon(values: Values) -> Rows:
    beta = values["beta"]
    rows = _first({"b1": beta, "nesterov": values["nesterov"]})
    rows.append(Orthogonalise(coefficients=values["ns_coeffs"], steps=values["ns_steps"], eps=values["eps"]))
    return rows


def _shape(values: Values) -> Rows:
    factor = values["consistent_rms"]
    if factor is None:
        return [ShapeFactor(rule="columns over rows")]
    return [ShapeFactor(rule="largest", scale=factor)]


def _refuse(wanted: Any, reason: str) -> Callable[[Any, Any], Any]:
    """A kind that accepts one value only."""

    def convert(value: Any, place: Any) -> Any:
        if value != wanted:
            raise place.error(reason)
        return value

    return convert


def axis(value: Any, place: Any) -> None:
    """adaptive_grad_clip's axis: only the usual rule."""
    if value is not None:
        raise place.error("adaptive_grad_clip(axis=...) is not supported: leave it out for the usual units")


RMS = (
    Argument("decay", 0.9),
    EPS,
    Argument("initial_scale", 0.0),
    Argument("eps_in_sqrt", True, "boolean"),
    Argument("bias_correction", False, "boolean"),
)
MUON = (
    Argument("ns_coeffs", [3.4445, -4.775, 2.0315], kinds.coefficients),
    Argument("ns_steps", 5, "integer"),
    Argument("beta", 0.95),
    EPS,
    MU_DTYPE,
    Argument("nesterov", True, "boolean", keyword_only=True),
    Argument("adaptive", False, _refuse(False, "adaptive Muon is not supported"), keyword_only=True),
    Argument(
        "preconditioning",
        "frobenius",
        _refuse("frobenius", "only preconditioning='frobenius' is supported"),
        keyword_only=True,
    ),
)
SOPHIA = (
    Argument("b1", 0.965),
    Argument("b2", 0.99),
    EPS,
    Argument("gamma", 0.01),
    Argument("clip_threshold", 1.0, "number?"),
    Argument("update_interval", 10, "integer"),
    Argument("hessian_diagonal_fn", "diagonal", kinds.curvature),
    MU_DTYPE,
    Argument("verbose", False, "unused"),
    Argument("print_win_rate_every_n_steps", 0, "unused"),
)

PRIMITIVES: dict[str, Primitive] = {
    "identity": Primitive((), lambda v: []),
    "clip": Primitive((Argument("max_delta"),), lambda v: [ClipByValue(clip_value=v["max_delta"])]),
    "clip_by_global_norm": Primitive(
        (Argument("max_norm"),), lambda v: [ClipByGlobalNorm(max_norm=v["max_norm"], convention="optax")]
    ),
    "clip_by_block_rms": Primitive((Argument("threshold"),), lambda v: [ClipByBlockRms(**v)]),
    "adaptive_grad_clip": Primitive(
        (Argument("clipping"), Argument("eps", 1e-3), Argument("axis", None, axis)),
        lambda v: [AdaptiveClip(clipping=v["clipping"], eps=v["eps"])],
    ),
    "centralize": Primitive((), lambda v: [Centralise()]),
    "zero_nans": Primitive((), lambda v: [ZeroNans()]),
    "keep_params_nonnegative": Primitive((), lambda v: [KeepNonNegative()]),
    "normalize_by_update_norm": Primitive(
        (Argument("scale_factor", 1.0), Argument("eps", 1e-6)), lambda v: [NormaliseUpdate(**v)]
    ),
    "normalize": Primitive((), lambda v: [NormaliseUpdate(scale_factor=1.0, eps=0.0)]),
    "trace": Primitive(
        (
            Argument("decay"),
            Argument("nesterov", False, "boolean"),
            Argument("accumulator_dtype", None, kinds.own_type),
        ),
        _trace,
    ),
    "ema": Primitive(
        (
            Argument("decay"),
            Argument("debias", True, "boolean"),
            Argument("accumulator_dtype", "variable", kinds.accumulator),
        ),
        lambda v: [MovingAverage(decay=v["decay"], debias=v["debias"], accumulator=v["accumulator_dtype"])],
    ),
    "add_noise": Primitive(
        (
            Argument("eta"),
            Argument("gamma"),
            Argument("key", None, kinds.key),
            Argument("seed", None, kinds.key, keyword_only=True),
        ),
        lambda v: [Noise(eta=v["eta"], gamma=v["gamma"], seed=v["seed"] or v["key"] or 0)],
    ),
    "scale_by_adam": Primitive((B1, B2, EPS, EPS_ROOT, MU_DTYPE, NESTEROV), _adam),
    "scale_by_amsgrad": Primitive(
        (
            *(B1, B2, EPS, EPS_ROOT, MU_DTYPE),
            Argument("bias_correction_mu", True, "boolean"),
            Argument("bias_correction_nu", True, "boolean"),
        ),
        _amsgrad,
    ),
    "scale_by_adamax": Primitive((B1, B2, EPS), _adamax),
    "scale_by_adan": Primitive(
        (Argument("b1", 0.98), Argument("b2", 0.92), Argument("b3", 0.99), EPS, EPS_ROOT), _adan
    ),
    "scale_by_belief": Primitive((B1, B2, Argument("eps", 1e-16), Argument("eps_root", 1e-16), NESTEROV), _belief),
    "scale_by_yogi": Primitive(
        (B1, B2, Argument("eps", 1e-3), EPS_ROOT, Argument("initial_accumulator_value", 1e-6)), _yogi
    ),
    "scale_by_radam": Primitive((B1, B2, EPS, EPS_ROOT, Argument("threshold", 5.0), NESTEROV), _radam),
    "scale_by_rms": Primitive(RMS, _rms),
    "scale_by_stddev": Primitive(RMS, _stddev),
    "scale_by_rss": Primitive(
        (Argument("initial_accumulator_value", 0.1), Argument("eps", 1e-7)),
        lambda v: [
            SumOfSquares(
                initial=v["initial_accumulator_value"], eps=v["eps"], rule="inside, reciprocal", zero_safe=True
            )
        ],
    ),
    "scale_by_adadelta": Primitive((Argument("rho", 0.9), Argument("eps", 1e-6)), _adadelta),
    "scale_by_lion": Primitive(
        (
            *(B1, Argument("b2", 0.99), MU_DTYPE),
            Argument("mode", "hard", _refuse("hard", "only mode='hard' is supported"), keyword_only=True),
            Argument("smooth_beta", 1.0, "number", keyword_only=True),
        ),
        lambda v: [LionMoment(beta1=v["b1"], beta2=v["b2"]), Sign()],
    ),
    "scale_by_sign": Primitive((), lambda v: [Sign()]),
    "scale_by_trust_ratio": Primitive(
        (Argument("min_norm", 0.0), Argument("trust_coefficient", 1.0), Argument("eps", 0.0)),
        lambda v: [TrustRatio(**v)],
    ),
    "scale_by_param_block_norm": Primitive(
        (Argument("min_scale", 1e-3),), lambda v: [ScaleByParameters(measure="norm", **v)]
    ),
    "scale_by_param_block_rms": Primitive(
        (Argument("min_scale", 1e-3),), lambda v: [ScaleByParameters(measure="rms", **v)]
    ),
    "scale_by_novograd": Primitive(
        (B1, Argument("b2", 0.25), EPS, EPS_ROOT, Argument("weight_decay", 0.0), MU_DTYPE), _novograd
    ),
    "scale_by_optimistic_gradient": Primitive(
        (Argument("alpha", 1.0), Argument("beta", 1.0)), lambda v: [OptimisticGradient(**v)]
    ),
    "scale_by_sm3": Primitive(
        (B1, Argument("b2", 1.0), EPS),
        lambda v: [Sm3Scaling(beta2=v["b2"], eps=v["eps"]), MovingAverage(decay=v["b1"], debias=False)],
    ),
    "scale_by_factored_rms": Primitive(
        (
            Argument("factored", True, "boolean"),
            Argument("decay_rate", 0.8),
            Argument("step_offset", 0, "integer"),
            Argument("min_dim_size_to_factor", 128, "integer"),
            Argument("epsilon", 1e-30),
        ),
        lambda v: [
            FactoredMoment(
                factored=v["factored"],
                decay_rate=v["decay_rate"],
                step_offset=v["step_offset"],
                least=v["min_dim_size_to_factor"],
                eps=v["epsilon"],
            )
        ],
    ),
    "scale_by_rprop": Primitive(
        (
            Argument("learning_rate"),
            Argument("eta_minus", 0.5),
            Argument("eta_plus", 1.2),
            Argument("min_step_size", 1e-6),
            Argument("max_step_size", 50.0),
        ),
        lambda v: [DelayedRprop(step_size=v["learning_rate"], **{k: v[k] for k in v if k != "learning_rate"})],
    ),
    "scale_by_polyak": Primitive(
        (
            Argument("f_min", 0.0),
            Argument("max_learning_rate", 1.0),
            Argument("eps", 0.0),
            Argument("variant", "sps", "text"),
        ),
        lambda v: [PolyakStep(**v)],
    ),
    "scale_by_sophia": Primitive(SOPHIA, _sophia),
    "scale_by_muon": Primitive(MUON, _muon),
    "scale_by_shape": Primitive(
        (Argument("weight_dimension_numbers", None, "unused"), Argument("consistent_rms", None, "number?")), _shape
    ),
}
"""Transformations that only make rows. Rates, decay and everything with others inside have their own ways."""

MASKED_DECAY = (Argument("weight_decay", 0.0, rate), Argument("mask", None, kinds.mask))
SPECIAL: dict[str, tuple[Argument, ...]] = {
    "scale": (Argument("step_size"),),
    "scale_by_learning_rate": (
        Argument("learning_rate", None, optional_rate),
        Argument("flip_sign", True, "boolean", keyword_only=True),
    ),
    "scale_by_schedule": (Argument("step_size_fn", kind=read_schedule),),
    "add_decayed_weights": MASKED_DECAY,
    "fromage_shrink": (),
    "set_to_zero": (),
}
"""Transformations whose rows depend on where they stand in the chain."""
