"""From rows back to optax's transformations, or the reason why optax has none like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.optim.dialects.optax_expansion import piece
from core.optim.dialects.optax_pieces import Piece
from core.optim.dialects.values import NotRepresentable
from core.optim.schedules.optax import Scaled
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
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L2
from core.optim.transforms.rprop_delayed import DelayedRprop
from core.optim.transforms.scaling import AddedDecay, FromageShrink, Noise, Scale, Sign, StepDecay
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

Rows = Sequence[Transform]
Match = tuple[Piece, int]
SQUARE = {"beta2": "beta2", "eps": "eps", "eps_root": "eps_root"}


def match(rows: Rows, i: int) -> Match:
    """The transformation that rows[i] and those behind it are, and how many rows it takes."""
    matcher = MATCHERS.get(type(rows[i]))
    if matcher is None:
        raise NotRepresentable(f"optax has nothing like the row {rows[i].label!r} ({rows[i].formula})")
    return matcher(rows, i)


def _next(rows: Rows, i: int, kind: type[Transform]) -> Any:
    """rows[i] when it is of this kind, else None."""
    return rows[i] if i < len(rows) and type(rows[i]) is kind else None


def _agree(first: Any, *others: Any, **keys: str) -> None:
    """NotRepresentable when rows that share one optax setting have been given different values of it."""
    for other in others:
        for key, theirs in keys.items():
            if other is not None and getattr(first, key) != getattr(other, theirs):
                raise NotRepresentable(
                    f"{first.label} has {key} = {getattr(first, key)!r}, {other.label} {theirs} = "
                    f"{getattr(other, theirs)!r}; optax has one setting for both"
                )


def _momentum(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.dampening:
        raise NotRepresentable(
            f"optax.trace has no dampening; here it is {row.dampening:g} (and PyTorch leaves it out of the first step)"
        )
    ahead = _next(rows, i + 1, Nesterov)
    nesterov = ahead is not None and ahead.momentum == row.momentum
    return piece("trace", decay=row.momentum, nesterov=nesterov), 1 + nesterov


def _corrected(rows: Rows, i: int) -> Any:
    """The bias correction at rows[i] when it is the corrected root plus epsilon, else None."""
    row = _next(rows, i, SecondBiasCorrection)
    if row is not None and row.order == "hat":
        raise NotRepresentable(
            "optax adds epsilon to the corrected root; here the correction comes after it (epsilon hat), "
            "which no optax setting gives"
        )
    return row


def _rule(row: Any) -> str:
    """Where epsilon stands in the last divisor."""
    return "outside" if isinstance(row, SecondBiasCorrection) and row.order == "roots" else str(row.rule)


def _outside(row: Any, owner: str) -> None:
    if not _rule(row).startswith("outside"):
        raise NotRepresentable(f"{owner} adds eps outside the root; here it stands under it")


def _average(rows: Rows, i: int, debias: bool) -> Match:
    """A first moment by itself is a moving average, unless something further on squares what went into it."""
    first: Any = rows[i]
    if first.initial:
        raise NotRepresentable(f"optax.ema starts at 0, here the average starts at {first.initial:g}")
    later = next((row for row in rows[i + 1 :] if type(row) in SQUARING), None)
    if later is not None:
        raise NotRepresentable(
            f"{later.label!r} squares what went into {first.label!r}; in optax that takes both in one transformation"
        )
    return piece("ema", decay=first.beta1, debias=debias), 1 + debias


SQUARING = (SecondMoment, InfinityMoment, BeliefMoment, YogiMoment, DifferenceMoment)


def _first_moment(rows: Rows, i: int) -> Match:
    """Everything that begins with an average of the gradient: the Adam family, Sophia and Muon."""
    first: Any = rows[i]
    j = i + 1
    correction = _next(rows, j, FirstBiasCorrection)
    j += correction is not None
    ahead = _next(rows, j, NesterovMoment)
    j += ahead is not None
    _agree(first, correction, ahead, beta1="beta1")
    common = {"b1": first.beta1}
    nesterov = {"nesterov": ahead is not None}
    row: Any = rows[j] if j < len(rows) else None
    if first.initial and not isinstance(row, YogiMoment):
        raise NotRepresentable(f"optax's averages start at 0 (but for Yogi's), here one starts at {first.initial:g}")
    if isinstance(row, SecondMoment):
        return _adam(rows, i, j, {**common, **nesterov}, correction is not None)
    if correction is None:
        return _average(rows, i, False)
    if isinstance(row, InfinityMoment) and row.place == "maximum" and ahead is None:
        return piece("scale_by_adamax", **common, b2=row.beta2, eps=row.eps), j + 1 - i
    if isinstance(row, DifferenceMoment):
        second, third = _next(rows, j + 1, SecondMoment), _corrected(rows, j + 2)
        if second is not None and third is not None and ahead is None:
            _agree(second, third, **SQUARE)
            _outside(third, "optax.adan")
            values = {**common, "b2": row.beta2, "b3": second.beta2, "eps": third.eps, "eps_root": third.eps_root}
            return piece("scale_by_adan", **values), j + 3 - i
    behind = _corrected(rows, j + 1) if isinstance(row, BeliefMoment | YogiMoment) else None
    if isinstance(row, BeliefMoment) and behind is not None and not behind.eps_root:
        _agree(row, behind, beta2="beta2", eps="eps")
        _outside(behind, "optax.adabelief")
        values = {**common, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root, **nesterov}
        return piece("scale_by_belief", **values), j + 2 - i
    if isinstance(row, YogiMoment) and behind is not None and ahead is None:
        _agree(row, behind, **SQUARE)
        _outside(behind, "optax.yogi")
        _agree(row, first, initial="initial")
        values = {**common, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root}
        return piece("scale_by_yogi", **values, initial_accumulator_value=row.initial), j + 2 - i
    if isinstance(row, CurvatureScaling) and ahead is None:
        return _sophia(rows, i, j, common)
    if isinstance(row, Orthogonalise):
        return _muon(rows, i, j, {"beta": first.beta1, **nesterov})
    if isinstance(row, InfinityMoment) and row.place != "maximum":
        raise NotRepresentable("optax.adamax adds epsilon before the maximum is taken; here it is added to the divisor")
    if ahead is not None:
        raise NotRepresentable("optax has this Nesterov look-ahead only inside Adam, RAdam, AdaBelief and Muon")
    return _average(rows, i, True)


def _adam(rows: Rows, i: int, j: int, common: dict[str, Any], corrected: bool) -> Match:
    second: Any = rows[j]
    values = {**common, "b2": second.beta2, "eps": second.eps, "eps_root": second.eps_root}
    if second.initial:
        raise NotRepresentable(f"the second moment of optax's Adam starts at 0, here at {second.initial:g}")
    if _next(rows, j + 1, SecondMaximum) is not None and _next(rows, j + 2, SecondBiasCorrection) is not None:
        raise NotRepresentable("optax.amsgrad keeps the maximum of the corrected second moment, here it is uncorrected")
    correction = _corrected(rows, j + 1)
    _agree(second, correction, **SQUARE)
    k = j + 1 + (correction is not None)
    largest, rectified = _next(rows, k, SecondMaximum), _next(rows, k, Rectification)
    _outside(largest or (second if correction is None else correction), "optax's Adam")
    if largest is not None:
        _agree(second, largest, eps="eps", eps_root="eps_root")
        flags = {"bias_correction_mu": corrected, "bias_correction_nu": correction is not None}
        if not values.pop("nesterov"):
            return piece("scale_by_amsgrad", **values, **flags), k + 1 - i
        raise NotRepresentable("optax.amsgrad has no Nesterov look-ahead")
    if correction is None or not corrected:
        raise NotRepresentable("optax's Adam always corrects both moments for their start at zero")
    if rectified is None:
        return piece("scale_by_adam", **values), k - i
    if correction.order != "squares":
        raise NotRepresentable("optax.radam corrects the second moment before the root, here it is done in another way")
    _agree(second, rectified, **SQUARE)
    if not rectified.inclusive:
        raise NotRepresentable("optax.radam rectifies from the threshold on, here only above it")
    return piece("scale_by_radam", **values, threshold=rectified.threshold), k + 1 - i


def _sophia(rows: Rows, i: int, j: int, common: dict[str, Any]) -> Match:
    row: Any = rows[j]
    clip = _next(rows, j + 1, ClipByValue)
    values = {**common, "b2": row.beta2, "eps": row.eps, "gamma": row.gamma, "update_interval": row.update_interval}
    limit = None if clip is None else clip.clip_value
    values["hessian_diagonal_fn"] = row.estimator
    return piece("scale_by_sophia", **values, clip_threshold=limit), j + 1 + (clip is not None) - i


def _muon(rows: Rows, i: int, j: int, common: dict[str, Any]) -> Match:
    row: Any = rows[j]
    if row.norm != "added" or row.work != "variable":
        raise NotRepresentable("optax's Muon divides by the norm plus eps and iterates in the update's own type")
    values = {**common, "ns_coeffs": list(row.coefficients), "ns_steps": row.steps, "eps": row.eps}
    return piece("scale_by_muon", **values), j + 1 - i


def _second_moment(rows: Rows, i: int) -> Match:
    """RMSprop, plain or centred, and Adadelta: a second moment of the update itself."""
    row: Any = rows[i]
    steps = _next(rows, i + 1, AccumulatedSteps)
    if steps is not None:
        if row.initial:
            raise NotRepresentable(f"optax.adadelta's averages start at 0, here one starts at {row.initial:g}")
        _agree(row, steps, beta2="rho")
        return piece("scale_by_adadelta", rho=row.beta2, eps=steps.eps), 2
    j = i + 1
    correction = _corrected(rows, j)
    j += correction is not None
    centred = _next(rows, j, CentredSecondMoment)
    if centred is not None and centred.corrected != (correction is not None):
        raise NotRepresentable("optax corrects the average square and the average together, or neither")
    last: Any = centred or correction or row
    if getattr(last, "eps_root", 0.0):
        raise NotRepresentable("optax.scale_by_rms has one epsilon, here there are two")
    _agree(row, correction, beta2="beta2")
    _agree(row, centred, beta2="rho")
    values = {
        "decay": row.beta2,
        "eps": last.eps,
        "initial_scale": row.initial,
        "eps_in_sqrt": _rule(last).startswith("inside"),
        "bias_correction": correction is not None,
    }
    if centred is not None:
        return piece("scale_by_stddev", **values), j + 1 - i
    return piece("scale_by_rms", **values), j - i


def _sum_of_squares(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if not row.rule.startswith("inside") and not (row.eps == 0.0 and row.initial > 0.0):
        raise NotRepresentable("optax.adagrad adds eps under the root, here it stands outside")
    return piece("scale_by_rss", initial_accumulator_value=row.initial, eps=row.eps), 1


def _clip_by_norm(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.convention == "torch":
        raise NotRepresentable(
            "PyTorch's clip_grad_norm_ divides by norm + 1e-6, optax.clip_by_global_norm by the norm"
        )
    if row.norm_type != 2.0:
        raise NotRepresentable(f"optax clips by the Euclidean norm, here by the one of order {row.norm_type:g}")
    return piece("clip_by_global_norm", max_norm=row.max_norm), 1


def _clip(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.clip_min is not None and row.clip_min != -row.clip_value:
        raise NotRepresentable(
            f"optax.clip has symmetric bounds, here they are {row.clip_min:g} and {row.clip_value:g}"
        )
    return piece("clip", max_delta=row.clip_value), 1


def _novograd(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    decay = _next(rows, i + 1, AddedDecay)
    average = _next(rows, i + 1 + (decay is not None), Momentum)
    if average is None or average.dampening or (decay is not None and decay.schedule is not None):
        raise NotRepresentable("optax has norm scaling only inside NovoGrad, with a momentum behind it")
    values = {"b1": average.momentum, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root}
    strength = 0.0 if decay is None else decay.weight_decay
    return piece("scale_by_novograd", **values, weight_decay=strength), 2 + (decay is not None)


def _lion(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if _next(rows, i + 1, Sign) is None:
        raise NotRepresentable("optax.scale_by_lion takes the sign of Lion's average, here no sign follows")
    return piece("scale_by_lion", b1=row.beta1, b2=row.beta2), 2


def _sm3(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    average = _next(rows, i + 1, MovingAverage)
    if average is None or average.debias:
        raise NotRepresentable("optax.scale_by_sm3 averages the scaled gradients, here no such average follows")
    return piece("scale_by_sm3", b1=average.decay, b2=row.beta2, eps=row.eps), 2


def _shape(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.rule == "columns over rows" and row.scale == 1.0:
        return piece("scale_by_shape"), 1
    if row.rule == "largest":
        return piece("scale_by_shape", consistent_rms=row.scale), 1
    raise NotRepresentable(f"optax's Muon has no factor by shape like {row.rule!r}")


def _scale(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.schedule is None:
        return (piece("set_to_zero") if row.factor == 0.0 else piece("scale", step_size=row.factor)), 1
    return piece("scale_by_schedule", step_size_fn=_times(row.schedule, row.factor)), 1


def _decay(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if isinstance(row, L2):
        return piece("add_decayed_weights", weight_decay=row.factor), 1
    strength = -row.weight_decay if isinstance(row, StepDecay) else row.weight_decay
    if row.schedule is not None:
        return piece("add_decayed_weights", weight_decay=_times(row.schedule, strength)), 1
    return piece("add_decayed_weights", weight_decay=strength), 1


def _times(schedule: Any, factor: float) -> Any:
    return schedule if factor == 1.0 else Scaled(schedule, factor=factor)


def _rate(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    return piece("scale_by_learning_rate", learning_rate=rate_value(row)), 1


def rate_value(row: LearningRate) -> Any:
    """The learning rate as optax takes it: a number, or a schedule (scaled when the rate was changed since)."""
    if row.schedule is None:
        return row.learning_rate
    base = getattr(row.schedule, "base", None)
    if base is None:
        raise NotRepresentable(
            f"optax schedules state rates themselves; {row.schedule.name} multiplies a base rate, which has no "
            "counterpart there"
        )
    return row.schedule if base in (row.learning_rate, 0.0) else Scaled(row.schedule, factor=row.learning_rate / base)  # type: ignore[arg-type]


def _plain(name: str, **names: str) -> Callable[[Rows, int], Match]:
    """A row that is one transformation: ``names`` says which of its values is which argument."""

    def matcher(rows: Rows, i: int) -> Match:
        values = rows[i].values()
        return piece(name, **{argument: values[key] for argument, key in names.items()}), 1

    return matcher


def _parameters(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    return piece(f"scale_by_param_block_{row.measure}", min_scale=row.min_scale), 1


def _normalise(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.eps == 0.0 and row.scale_factor == 1.0:
        return piece("normalize"), 1
    return piece("normalize_by_update_norm", scale_factor=row.scale_factor, eps=row.eps), 1


MATCHERS: dict[type[Transform], Callable[[Rows, int], Match]] = {
    Momentum: _momentum,
    FirstMoment: _first_moment,
    SecondMoment: _second_moment,
    SumOfSquares: _sum_of_squares,
    ClipByGlobalNorm: _clip_by_norm,
    ClipByValue: _clip,
    ParameterNormScaling: _novograd,
    LionMoment: _lion,
    Sm3Scaling: _sm3,
    ShapeFactor: _shape,
    Scale: _scale,
    L2: _decay,
    AddedDecay: _decay,
    StepDecay: _decay,
    LearningRate: _rate,
    ScaleByParameters: _parameters,
    NormaliseUpdate: _normalise,
    FromageShrink: _plain("fromage_shrink"),
    MovingAverage: _plain("ema", decay="decay", debias="debias", accumulator_dtype="accumulator"),
    OptimisticGradient: _plain("scale_by_optimistic_gradient", alpha="alpha", beta="beta"),
    TrustRatio: _plain("scale_by_trust_ratio", min_norm="min_norm", trust_coefficient="trust_coefficient", eps="eps"),
    FactoredMoment: _plain(
        "scale_by_factored_rms",
        factored="factored",
        decay_rate="decay_rate",
        step_offset="step_offset",
        min_dim_size_to_factor="least",
        epsilon="eps",
    ),
    DelayedRprop: _plain(
        "scale_by_rprop",
        learning_rate="step_size",
        eta_minus="eta_minus",
        eta_plus="eta_plus",
        min_step_size="min_step_size",
        max_step_size="max_step_size",
    ),
    PolyakStep: _plain(
        "scale_by_polyak", f_min="f_min", max_learning_rate="max_learning_rate", eps="eps", variant="variant"
    ),
    AdaptiveClip: _plain("adaptive_grad_clip", clipping="clipping", eps="eps"),
    ClipByBlockRms: _plain("clip_by_block_rms", threshold="threshold"),
    Centralise: _plain("centralize"),
    ZeroNans: _plain("zero_nans"),
    KeepNonNegative: _plain("keep_params_nonnegative"),
    Sign: _plain("scale_by_sign"),
    Noise: _plain("add_noise", eta="eta", gamma="gamma", key="seed"),
}
