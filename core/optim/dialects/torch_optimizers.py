"""torch.optim: every optimizer's arguments, with PyTorch's defaults, and where each is found in a chain."""

from __future__ import annotations

from core.optim.dialects import torch_rows as rows
from core.optim.dialects.recipes import Recipe, Setting

PARAMS = Setting("params", None, kind="skip")
MAXIMISE = Setting("maximize", False, "maximise", "boolean", keyword_only=True)
IMPLEMENTATION = tuple(
    Setting(name, None, kind="unused", keyword_only=True)
    for name in ("foreach", "fused", "capturable", "differentiable")
)
BETAS = Setting("betas", (0.9, 0.999), ("first_moment.beta1", "second_moment.beta2|infinity_moment.beta2"), "numbers")


def _rate(default: float) -> Setting:
    return Setting("lr", default, "learning_rate.learning_rate")


def _decay(default: float = 0.0, at: str = "l2.weight_decay", keyword_only: bool = False) -> Setting:
    return Setting("weight_decay", default, at, keyword_only=keyword_only, absent=0.0)


EPS = Setting("eps", 1e-8, "second_moment.eps|infinity_moment.eps|lazy_second_moment.eps")
AMSGRAD = Setting("amsgrad", False, "second_maximum", "boolean")
DECOUPLED = Setting("decoupled_weight_decay", False, "decoupled_decay", "boolean")
ANY_DECAY = "l2.weight_decay|decoupled_decay.weight_decay"
ADAM = (PARAMS, _rate(1e-3), BETAS, EPS)

RECIPES: tuple[Recipe, ...] = (
    Recipe(
        "SGD",
        (
            PARAMS,
            _rate(1e-3),
            Setting("momentum", 0.0, "momentum.momentum", absent=0.0),
            Setting("dampening", 0.0, "momentum.dampening", absent=0.0),
            _decay(),
            Setting("nesterov", False, "nesterov", "boolean"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.sgd,
        rows.check_sgd,
    ),
    Recipe(
        "AdamW",
        (
            *ADAM,
            _decay(0.01, "decoupled_decay.weight_decay|added_decay.weight_decay"),
            AMSGRAD,
            MAXIMISE,
            *IMPLEMENTATION,
            Setting("decoupled_weight_decay", True, kind=rows.always_decoupled, keyword_only=True),
        ),
        lambda v: rows.adam(v, decoupled=True),
    ),
    Recipe(
        "Adam",
        (
            *ADAM,
            _decay(at=ANY_DECAY),
            AMSGRAD,
            MAXIMISE,
            *IMPLEMENTATION,
            Setting("decoupled_weight_decay", False, "decoupled_decay", "boolean", keyword_only=True),
        ),
        lambda v: rows.adam(v, decoupled=v["decoupled_weight_decay"]),
    ),
    Recipe("Adamax", (PARAMS, _rate(2e-3), BETAS, EPS, _decay(), MAXIMISE, *IMPLEMENTATION), rows.adamax),
    Recipe(
        "NAdam",
        (
            PARAMS,
            _rate(2e-3),
            BETAS,
            EPS,
            _decay(at=ANY_DECAY),
            Setting("momentum_decay", 4e-3, "scheduled_nesterov.momentum_decay"),
            DECOUPLED,
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.nadam,
    ),
    Recipe("RAdam", (*ADAM, _decay(at=ANY_DECAY), DECOUPLED, MAXIMISE, *IMPLEMENTATION), rows.radam),
    Recipe(
        "RMSprop",
        (
            PARAMS,
            _rate(1e-2),
            Setting("alpha", 0.99, "second_moment.beta2"),
            EPS,
            _decay(),
            Setting("momentum", 0.0, "momentum.momentum", absent=0.0),
            Setting("centered", False, "centred_second_moment", "boolean"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.rmsprop,
    ),
    Recipe(
        "Adagrad",
        (
            PARAMS,
            _rate(1e-2),
            Setting("lr_decay", 0.0, "rate_decay.lr_decay", absent=0.0),
            _decay(),
            Setting("initial_accumulator_value", 0.0, "sum_of_squares.initial"),
            Setting("eps", 1e-10, "sum_of_squares.eps"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.adagrad,
    ),
    Recipe(
        "Adadelta",
        (
            PARAMS,
            _rate(1.0),
            Setting("rho", 0.9, "second_moment.beta2"),
            Setting("eps", 1e-6, "second_moment.eps"),
            _decay(),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.adadelta,
    ),
    Recipe(
        "ASGD",
        (
            PARAMS,
            _rate(1e-2),
            Setting("lambd", 1e-4, "falling_rate.lambd"),
            Setting("alpha", 0.75, "falling_rate.alpha"),
            Setting("t0", 1e6, "iterate_average.t0"),
            _decay(),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.asgd,
    ),
    Recipe(
        "Rprop",
        (
            PARAMS,
            _rate(1e-2),
            Setting("etas", (0.5, 1.2), ("rprop.eta_minus", "rprop.eta_plus"), "numbers"),
            Setting("step_sizes", (1e-6, 50.0), ("rprop.step_min", "rprop.step_max"), "numbers"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.rprop,
        rows.check_rprop,
    ),
    Recipe(
        "Adafactor",
        (
            PARAMS,
            _rate(1e-2),
            Setting("beta2_decay", -0.8, "floored_factored_moment.beta2_decay"),
            Setting("eps", (None, 1e-3), ("floored_factored_moment.eps1", "relative_rate.eps2"), rows.pair_of_eps),
            Setting("d", 1.0, "clip_by_rms.d"),
            _decay(at="decoupled_decay.weight_decay"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        rows.adafactor,
    ),
    Recipe(
        "SparseAdam",
        (
            PARAMS,
            _rate(1e-3),
            Setting("betas", (0.9, 0.999), ("lazy_first_moment.beta1", "lazy_second_moment.beta2"), "numbers"),
            EPS,
            MAXIMISE,
        ),
        rows.sparse_adam,
    ),
    Recipe(
        "Muon",
        (
            PARAMS,
            _rate(1e-3),
            _decay(0.1, "decoupled_decay.weight_decay"),
            Setting("momentum", 0.95, "first_moment.beta1"),
            Setting("nesterov", True, "nesterov_blend", "boolean", absent=False),
            Setting("ns_coefficients", (3.4445, -4.775, 2.0315), "orthogonalise.coefficients", "numbers"),
            Setting("eps", 1e-7, "orthogonalise.eps"),
            Setting("ns_steps", 5, "orthogonalise.steps", "integer"),
            Setting("adjust_lr_fn", None, rows.read_adjustment, rows.adjustment),
        ),
        rows.muon,
    ),
    Recipe(
        "LBFGS",
        (
            PARAMS,
            _rate(1.0),
            Setting("max_iter", 20, "lbfgs.max_iter", "integer"),
            Setting("max_eval", None, "lbfgs.max_eval", "integer?"),
            Setting("tolerance_grad", 1e-7, "lbfgs.tolerance_grad"),
            Setting("tolerance_change", 1e-9, "lbfgs.tolerance_change"),
            Setting("history_size", 100, "lbfgs.history_size", "integer"),
            Setting("line_search_fn", None, "lbfgs.line_search_fn", "text?"),
        ),
        rows.lbfgs,
    ),
)
"""The first that builds a given chain is the one it is written as: AdamW before Adam, whose decay can be decoupled."""

BY_NAME: dict[str, Recipe] = {recipe.name: recipe for recipe in RECIPES}
