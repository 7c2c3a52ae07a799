"""optax's named optimizers, each as the chain of transformations optax itself makes of it."""

from __future__ import annotations

from collections.abc import Callable

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_contrib import CONTRIB
from core.optim.dialects.optax_expansion import (
    ADAM,
    LR,
    MASK,
    NESTEROV_ON,
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
    EPS_ROOT,
    MU_DTYPE,
    NESTEROV,
    PRIMITIVES,
    Piece,
    Values,
)
from core.optim.dialects.optax_schedules import optional_rate, rate
from core.optim.mask import Mask


def _sgd(values: Values) -> list[Piece]:
    if values["momentum"] is None:
        return [rate_piece(values)]
    return [piece("trace", decay=values["momentum"], nesterov=values["nesterov"]), rate_piece(values)]


def _rmsprop(values: Values) -> list[Piece]:
    name = "scale_by_stddev" if values["centered"] else "scale_by_rms"
    scaled = piece(name, **some(values, "decay", "eps", "initial_scale", "eps_in_sqrt", "bias_correction"))
    found = [scaled, rate_piece(values)]
    if values["momentum"] is not None:
        found.append(piece("trace", decay=values["momentum"], nesterov=values["nesterov"]))
    return found


def _adafactor(values: Values) -> list[Piece]:
    found = [
        piece(
            "scale_by_factored_rms",
            factored=values["factored"],
            decay_rate=values["decay_rate"],
            step_offset=values["decay_offset"],
            min_dim_size_to_factor=values["min_dim_size_to_factor"],
            epsilon=values["eps"],
        )
    ]
    if values["clipping_threshold"] is not None:
        found.append(piece("clip_by_block_rms", threshold=values["clipping_threshold"]))
    if values["learning_rate"] is not None:
        found.append(piece("scale_by_learning_rate", learning_rate=values["learning_rate"], flip_sign=False))
    if values["multiply_by_parameter_scale"]:
        found.append(piece("scale_by_param_block_rms"))
    if values["momentum"] is not None:
        kept = values["dtype_momentum"]
        found.append(piece("ema", decay=values["momentum"], debias=False, accumulator_dtype=kept))
    if values["weight_decay_rate"] is not None:
        decay = {"weight_decay": values["weight_decay_rate"], "mask": values["weight_decay_mask"]}
        found.append(piece("add_decayed_weights", **decay))
    return [*found, piece("scale", step_size=-1.0)]


def _lars(values: Values) -> list[Piece]:
    ratio = [piece("scale_by_trust_ratio", **some(values, "trust_coefficient", "eps"))]
    mask = values["trust_ratio_mask"]
    if mask is not None and mask != Mask():
        ratio = [Piece("masked", {"inner": ratio, "mask": mask})]
    decay_mask = None if values["weight_decay_mask"] == Mask() else values["weight_decay_mask"]
    return [
        piece("add_decayed_weights", weight_decay=values["weight_decay"], mask=decay_mask),
        *ratio,
        rate_piece(values),
        piece("trace", decay=values["momentum"], nesterov=values["nesterov"]),
    ]


def _optimistic_adam(values: Values) -> list[Piece]:
    optimism = values["learning_rate"] if values["optimism"] is None else values["optimism"]
    return [
        piece("scale_by_adam", **some(values, *ADAM)),
        piece("scale_by_optimistic_gradient", alpha=values["learning_rate"], beta=optimism),
        piece("scale_by_learning_rate", learning_rate=1.0),
    ]


def _polyak_sgd(values: Values) -> list[Piece]:
    step = piece("scale_by_polyak", **some(values, "max_learning_rate", "f_min", "eps", "variant"))
    return [piece("scale_by_learning_rate", learning_rate=values["scaling"]), step]


def _direct(name: str, *arguments: str) -> Callable[[Values], list[Piece]]:
    """One transformation, then the learning rate."""
    return lambda values: [piece(name, **some(values, *arguments)), rate_piece(values)]


def _decayed(name: str, *arguments: str) -> Callable[[Values], list[Piece]]:
    """One transformation, weight decay, then the learning rate."""
    return lambda values: [piece(name, **some(values, *arguments)), decay_piece(values), rate_piece(values)]


ADAM_SIGNATURE = (LR, B1, B2, EPS, EPS_ROOT, MU_DTYPE)
ADAMW_SIGNATURE = (*ADAM_SIGNATURE, Argument("weight_decay", 1e-4, rate), MASK)

ALIASES: dict[str, Alias] = {
    "sgd": Alias(
        (
            LR,
            Argument("momentum", None, "number?"),
            Argument("nesterov", False, "boolean"),
            Argument("accumulator_dtype", None, kinds.own_type),
        ),
        _sgd,
    ),
    "adam": Alias((*ADAM_SIGNATURE, NESTEROV), _direct("scale_by_adam", *ADAM)),
    "nadam": Alias((*ADAM_SIGNATURE, NESTEROV_ON), _direct("scale_by_adam", *ADAM)),
    "adamw": Alias((*ADAMW_SIGNATURE, NESTEROV), adamw),
    "nadamw": Alias((*ADAMW_SIGNATURE, NESTEROV_ON), adamw),
    "amsgrad": Alias(
        (
            *ADAM_SIGNATURE,
            Argument("bias_correction_mu", True, "boolean"),
            Argument("bias_correction_nu", True, "boolean"),
        ),
        _direct("scale_by_amsgrad", "b1", "b2", "eps", "eps_root", "bias_correction_mu", "bias_correction_nu"),
    ),
    "radam": Alias(
        (LR, B1, B2, EPS, EPS_ROOT, Argument("threshold", 5.0), NESTEROV),
        _direct("scale_by_radam", *ADAM, "threshold"),
    ),
    "adamax": Alias((LR, B1, B2, EPS), _direct("scale_by_adamax", "b1", "b2", "eps")),
    "adamaxw": Alias(
        (LR, B1, B2, EPS, Argument("weight_decay", 1e-4, rate), MASK), _decayed("scale_by_adamax", "b1", "b2", "eps")
    ),
    "adabelief": Alias(
        (LR, B1, B2, Argument("eps", 1e-16), Argument("eps_root", 1e-16), NESTEROV),
        _direct("scale_by_belief", *ADAM),
    ),
    "yogi": Alias((LR, B1, B2, Argument("eps", 1e-3)), _direct("scale_by_yogi", "b1", "b2", "eps")),
    "adan": Alias(
        (
            *(LR, Argument("b1", 0.98), Argument("b2", 0.92), Argument("b3", 0.99), EPS),
            Argument("eps_root", 1e-8),
            WEIGHT_DECAY,
            MASK,
        ),
        _decayed("scale_by_adan", "b1", "b2", "b3", "eps", "eps_root"),
    ),
    "rmsprop": Alias(
        (
            *(LR, Argument("decay", 0.9), EPS, Argument("initial_scale", 0.0)),
            Argument("eps_in_sqrt", True, "boolean"),
            Argument("centered", False, "boolean"),
            Argument("momentum", None, "number?"),
            Argument("nesterov", False, "boolean"),
            Argument("bias_correction", False, "boolean"),
        ),
        _rmsprop,
    ),
    "adagrad": Alias(
        (LR, Argument("initial_accumulator_value", 0.1), Argument("eps", 1e-7)),
        _direct("scale_by_rss", "initial_accumulator_value", "eps"),
    ),
    "adadelta": Alias(
        (
            Argument("learning_rate", None, optional_rate),
            Argument("rho", 0.9),
            Argument("eps", 1e-6),
            WEIGHT_DECAY,
            Argument("weight_decay_mask", None, kinds.mask),
        ),
        lambda v: [
            decay_piece(v, "weight_decay_mask"),
            piece("scale_by_adadelta", **some(v, "rho", "eps")),
            rate_piece(v),
        ],
    ),
    "adafactor": Alias(
        (
            Argument("learning_rate", None, optional_rate),
            Argument("min_dim_size_to_factor", 128, "integer"),
            Argument("decay_rate", 0.8),
            Argument("decay_offset", 0, "integer"),
            Argument("multiply_by_parameter_scale", True, "boolean"),
            Argument("clipping_threshold", 1.0, "number?"),
            Argument("momentum", None, "number?"),
            Argument("dtype_momentum", "float32", kinds.accumulator),
            Argument("weight_decay_rate", None, optional_rate),
            Argument("eps", 1e-30),
            Argument("factored", True, "boolean"),
            Argument("weight_decay_mask", None, kinds.mask),
        ),
        _adafactor,
    ),
    "lion": Alias(
        (LR, B1, Argument("b2", 0.99), MU_DTYPE, Argument("weight_decay", 1e-3, rate), MASK),
        _decayed("scale_by_lion", "b1", "b2"),
    ),
    "lamb": Alias(
        (LR, B1, B2, Argument("eps", 1e-6), EPS_ROOT, WEIGHT_DECAY, MASK),
        lambda v: [
            piece("scale_by_adam", **some(v, "b1", "b2", "eps", "eps_root")),
            decay_piece(v),
            piece("scale_by_trust_ratio"),
            rate_piece(v),
        ],
    ),
    "lars": Alias(
        (
            *(LR, WEIGHT_DECAY, Argument("weight_decay_mask", Mask(), kinds.mask)),
            Argument("trust_coefficient", 1e-3),
            Argument("eps", 0.0),
            Argument("trust_ratio_mask", Mask(), kinds.mask),
            Argument("momentum", 0.9),
            Argument("nesterov", False, "boolean"),
        ),
        _lars,
    ),
    "fromage": Alias(
        (LR, Argument("min_norm", 1e-6)),
        lambda v: [piece("scale_by_trust_ratio", min_norm=v["min_norm"]), rate_piece(v), piece("fromage_shrink")],
    ),
    "noisy_sgd": Alias(
        (LR, Argument("eta", 0.01), Argument("gamma", 0.55), *PRIMITIVES["add_noise"].signature[2:]),
        _direct("add_noise", "eta", "gamma", "key", "seed"),
    ),
    "sign_sgd": Alias((LR,), _direct("scale_by_sign")),
    "signum": Alias(
        (LR, Argument("beta", 0.9), Argument("accumulator_dtype", "variable", kinds.accumulator)),
        lambda v: [
            piece("ema", decay=v["beta"], debias=False, accumulator_dtype=v["accumulator_dtype"]),
            piece("scale_by_sign"),
            rate_piece(v),
        ],
    ),
    "novograd": Alias(
        (LR, B1, Argument("b2", 0.25), Argument("eps", 1e-6), EPS_ROOT, Argument("weight_decay", 0.0)),
        _direct("scale_by_novograd", "b1", "b2", "eps", "eps_root", "weight_decay"),
    ),
    "optimistic_gradient_descent": Alias(
        (LR, Argument("alpha", 1.0), Argument("beta", 1.0)),
        _direct("scale_by_optimistic_gradient", "alpha", "beta"),
    ),
    "optimistic_adam": Alias(
        (Argument("learning_rate"), Argument("optimism", None, "number?"), *ADAM_SIGNATURE[1:], NESTEROV_ON),
        _optimistic_adam,
    ),
    "optimistic_adam_v2": Alias(
        (
            LR,
            *(Argument(a.name, a.default, a.kind, True) for a in (Argument("alpha", 1.0), Argument("beta", 1.0))),
            *(Argument(a.name, a.default, a.kind, True) for a in ADAM_SIGNATURE[1:]),
            NESTEROV_ON,
        ),
        lambda v: [
            piece("scale_by_adam", **some(v, *ADAM)),
            piece("scale_by_optimistic_gradient", **some(v, "alpha", "beta")),
            rate_piece(v),
        ],
    ),
    "sm3": Alias((LR, Argument("momentum", 0.9)), lambda v: [piece("scale_by_sm3", b1=v["momentum"]), rate_piece(v)]),
    "rprop": Alias(
        PRIMITIVES["scale_by_rprop"].signature,
        lambda v: [piece("scale_by_rprop", **v), piece("scale", step_size=-1.0)],
    ),
    "polyak_sgd": Alias(
        (
            Argument("max_learning_rate", 1.0),
            Argument("scaling", 1.0, rate),
            Argument("f_min", 0.0),
            Argument("eps", 0.0),
            Argument("variant", "sps", "text"),
        ),
        _polyak_sgd,
    ),
    **CONTRIB,
}
