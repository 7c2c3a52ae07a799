"""Named optimizers of optax.contrib: Muon, Sophia and the schedule-free ones."""

from __future__ import annotations

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_expansion import (
    LR,
    WEIGHT_DECAY,
    Alias,
    adamw,
    decay_piece,
    piece,
    rate_piece,
    some,
)
from core.optim.dialects.optax_pieces import (
    B1,
    B2,
    EPS,
    MUON,
    SOPHIA,
    Piece,
    Values,
)
from core.optim.dialects.optax_schedules import optional_rate, rate
from core.optim.mask import Mask
from core.optim.schedules.optax import WarmupConstant

SOPHIA_ARGUMENTS = ("b1", "b2", "eps", "gamma", "clip_threshold", "update_interval", "hessian_diagonal_fn")
STATE_DTYPE = Argument("state_dtype", None, kinds.own_type)


def _muon(values: Values) -> list[Piece]:
    inner = some(values, "ns_coeffs", "ns_steps", "beta", "eps", "nesterov", "adaptive", "preconditioning")
    other = values["learning_rate"] if values["adam_learning_rate"] is None else values["adam_learning_rate"]
    adam = {
        "learning_rate": other,
        "b1": values["adam_b1"],
        "b2": values["adam_b2"],
        "eps": values["eps"],
        "eps_root": values["adam_eps_root"],
        "nesterov": values["nesterov"],
        "weight_decay": values["adam_weight_decay"],
    }
    muon = [
        piece("scale_by_muon", **inner),
        piece("scale_by_shape", consistent_rms=values["consistent_rms"]),
        decay_piece(values, "weight_decay_mask"),
        rate_piece(values),
    ]
    matrices, others = Mask(ndim=("==", 2)), Mask(ndim=("!=", 2))
    return [Piece("partition", {"groups": [(matrices, muon), (others, adamw(adam))]})]


def _warmed(values: Values) -> Values:
    """The arguments with the linear warm-up made part of the learning rate."""
    if values["warmup_steps"] is None:
        return values
    peak = values["learning_rate"]
    warm = WarmupConstant(init_value=0.0, peak_value=peak, warmup_steps=values["warmup_steps"])
    return {**values, "learning_rate": warm}


def _schedule_free(values: Values, inner: list[Piece]) -> list[Piece]:
    outer = some(values, "learning_rate", "b1", "weight_lr_power")
    return [Piece("schedule_free", {"inner": inner, **outer})]


def _schedule_free_sgd(values: Values) -> list[Piece]:
    values = _warmed(values)
    decay = [] if values["weight_decay"] is None else [decay_piece(values)]
    return _schedule_free(values, [*decay, rate_piece(values)])


def _schedule_free_adamw(values: Values) -> list[Piece]:
    values = _warmed(values)
    rms = {"decay": values["b2"], "eps": values["eps"], "eps_in_sqrt": False, "bias_correction": True}
    return _schedule_free(values, [piece("scale_by_rms", **rms), decay_piece(values), rate_piece(values)])


CONTRIB: dict[str, Alias] = {
    "sophia": Alias(
        (
            *(LR, *SOPHIA[:3], Argument("weight_decay", 1e-4, rate)),
            Argument("weight_decay_mask", None, kinds.mask),
            *SOPHIA[3:],
        ),
        lambda v: [
            piece("scale_by_sophia", **some(v, *SOPHIA_ARGUMENTS)),
            decay_piece(v, "weight_decay_mask"),
            rate_piece(v),
        ],
    ),
    "muon": Alias(
        (
            *(LR, *MUON[:4], WEIGHT_DECAY, Argument("weight_decay_mask", None, kinds.mask), *MUON[4:]),
            Argument("adam_b1", 0.9, keyword_only=True),
            Argument("adam_b2", 0.999, keyword_only=True),
            Argument("adam_eps_root", 0.0, keyword_only=True),
            Argument("adam_weight_decay", 0.0, rate, keyword_only=True),
            Argument("adam_learning_rate", None, optional_rate, keyword_only=True),
            Argument("muon_weight_dimension_numbers", None, kinds.own_axes, keyword_only=True),
            Argument("consistent_rms", None, "number?", keyword_only=True),
        ),
        _muon,
    ),
    "schedule_free_sgd": Alias(
        (
            Argument("learning_rate", 1.0),
            Argument("warmup_steps", None, "integer?"),
            Argument("b1", 0.9),
            Argument("weight_decay", None, "number?"),
            Argument("weight_lr_power", 2.0),
            STATE_DTYPE,
        ),
        _schedule_free_sgd,
    ),
    "schedule_free_adamw": Alias(
        (
            Argument("learning_rate", 0.0025),
            Argument("warmup_steps", None, "integer?"),
            *(B1, B2, EPS, Argument("weight_decay", 0.0), Argument("weight_lr_power", 2.0), STATE_DTYPE),
        ),
        _schedule_free_adamw,
    ),
}
