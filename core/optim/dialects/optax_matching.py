"""From rows back to optax's transformations, or the reason why optax has none like them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.optim.dialects.optax_expansion import piece
from core.optim.dialects.optax_moments import (
    Match,
    Rows,
    match_first_moment,
    match_momentum,
    match_second_moment,
    match_sum_of_squares,
    next_row,
)
from core.optim.dialects.values import NotRepresentable
from core.optim.schedules.optax import Scaled
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByValue
from core.optim.transforms.curvature import PolyakStep
from core.optim.transforms.factored import FactoredMoment
from core.optim.transforms.lion import LionMoment
from core.optim.transforms.moments import MovingAverage, OptimisticGradient
from core.optim.transforms.momentum import FirstMoment, Momentum
from core.optim.transforms.orthogonalise import ShapeFactor
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L2
from core.optim.transforms.rprop_delayed import DelayedRprop
from core.optim.transforms.scaling import AddedDecay, FromageShrink, Noise, Scale, Sign, StepDecay
from core.optim.transforms.sm3 import Sm3Scaling
from core.optim.transforms.trust import NormaliseUpdate, ParameterNormScaling, ScaleByParameters, TrustRatio
from core.optim.transforms.unitwise import AdaptiveClip, Centralise, ClipByBlockRms, KeepNonNegative, ZeroNans


def match(rows: Rows, i: int) -> Match:
    """The transformation that rows[i] and those behind it are, and how many rows it takes."""
    matcher = MATCHERS.get(type(rows[i]))
    if matcher is None:
        raise NotRepresentable(f"optax has nothing like the row {rows[i].label!r} ({rows[i].formula})")
    return matcher(rows, i)


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
    decay = next_row(rows, i + 1, AddedDecay)
    average = next_row(rows, i + 1 + (decay is not None), Momentum)
    if average is None or average.dampening or (decay is not None and decay.schedule is not None):
        raise NotRepresentable("optax has norm scaling only inside NovoGrad, with a momentum behind it")
    values = {"b1": average.momentum, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root}
    strength = 0.0 if decay is None else decay.weight_decay
    return piece("scale_by_novograd", **values, weight_decay=strength), 2 + (decay is not None)


def _lion(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if next_row(rows, i + 1, Sign) is None:
        raise NotRepresentable("optax.scale_by_lion takes the sign of Lion's average, here no sign follows")
    return piece("scale_by_lion", b1=row.beta1, b2=row.beta2), 2


def _sm3(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    average = next_row(rows, i + 1, MovingAverage)
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
        return (piece("set_to_zero") if row.cleared else piece("scale", step_size=row.factor)), 1
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
    Momentum: match_momentum,
    FirstMoment: match_first_moment,
    SecondMoment: match_second_moment,
    SumOfSquares: match_sum_of_squares,
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
