"""torch.optim: every optimizer as the transforms it is made of, in PyTorch's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import number
from core.optim.dialects.recipes import Recipe, Setting
from core.optim.dialects.values import Place
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.asgd import FallingDecay, FallingRate, IterateAverage
from core.optim.transforms.blend import NesterovBlend
from core.optim.transforms.factored_torch import ClipByRms, FlooredFactoredMoment, RelativeRate
from core.optim.transforms.lazy import LazyFirstMoment, LazySecondMoment
from core.optim.transforms.lbfgs import Lbfgs
from core.optim.transforms.maximise import Maximise
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.nadam import ScheduledNesterov
from core.optim.transforms.orthogonalise import Orthogonalise, ShapeFactor
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.rate_decay import RateDecay
from core.optim.transforms.regularise import L2, DecoupledDecay
from core.optim.transforms.rprop import Rprop
from core.optim.transforms.second_moments import InfinityMoment, Rectification

Values = dict[str, Any]
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


def _front(v: Values, decoupled: bool = False) -> list[Transform]:
    """Maximise, and L2 unless the decay is decoupled."""
    front: list[Transform] = [Maximise()] if v["maximize"] else []
    if v["weight_decay"] and not decoupled:
        front.append(L2(weight_decay=v["weight_decay"]))
    return front


def _back(v: Values, decoupled: bool = False) -> list[Transform]:
    """The learning rate, and decoupled decay."""
    back: list[Transform] = [LearningRate(v["schedule"], learning_rate=v["lr"])]
    if v["weight_decay"] and decoupled:
        back.append(DecoupledDecay(weight_decay=v["weight_decay"]))
    return back


def _betas(v: Values) -> tuple[float, float]:
    if len(v["betas"]) != 2:
        raise SettingError(f"betas are two numbers, {len(v['betas'])} were given: {v['betas']!r}")
    beta1, beta2 = v["betas"]
    for name, value in (("betas[0]", beta1), ("betas[1]", beta2)):
        if not 0.0 <= value < 1.0:
            raise SettingError(f"{name} must be at least 0 and less than 1, {value!r} was given")
    return beta1, beta2


def _moves_momentum(v: Values) -> bool:
    return v["schedule"] is not None and v["schedule"].moves_momentum


def _sgd(v: Values) -> list[Transform]:
    chain = _front(v)
    if v["momentum"] or _moves_momentum(v):
        chain.append(Momentum(momentum=v["momentum"], dampening=v["dampening"]))
        if v["nesterov"]:
            chain.append(Nesterov(momentum=v["momentum"]))
    return chain + _back(v)


def _check_sgd(v: Values) -> None:
    if v["nesterov"] and (v["momentum"] <= 0 or v["dampening"]):
        raise SettingError("SGD: nesterov needs a momentum above 0 and a dampening of 0, as in PyTorch")


def _adam(v: Values, decoupled: bool) -> list[Transform]:
    beta1, beta2 = _betas(v)
    chain = _front(v, decoupled)
    chain += [FirstMoment(beta1=beta1), FirstBiasCorrection(beta1=beta1), SecondMoment(beta2=beta2, eps=v["eps"])]
    if v["amsgrad"]:
        chain.append(SecondMaximum(eps=v["eps"]))
    return [*chain, SecondBiasCorrection(beta2=beta2, eps=v["eps"]), *_back(v, decoupled)]


def _true(value: Any, place: Place) -> bool:
    if value is True:
        return True
    raise place.error("AdamW's weight decay is always decoupled; for L2 write torch.optim.Adam(weight_decay=...)")


def _adamax(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    moments = [FirstMoment(beta1=beta1), FirstBiasCorrection(beta1=beta1), InfinityMoment(beta2=beta2, eps=v["eps"])]
    return [*_front(v), *moments, *_back(v)]


def _nadam(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    decoupled = v["decoupled_weight_decay"]
    return [
        *_front(v, decoupled),
        FirstMoment(beta1=beta1),
        ScheduledNesterov(beta1=beta1, momentum_decay=v["momentum_decay"]),
        SecondMoment(beta2=beta2, eps=v["eps"]),
        SecondBiasCorrection(beta2=beta2, eps=v["eps"], order="squares"),
        *_back(v, decoupled),
    ]


def _radam(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    decoupled = v["decoupled_weight_decay"]
    return [
        *_front(v, decoupled),
        FirstMoment(beta1=beta1),
        FirstBiasCorrection(beta1=beta1),
        SecondMoment(beta2=beta2, eps=v["eps"]),
        SecondBiasCorrection(beta2=beta2, eps=v["eps"], order="hat"),
        Rectification(beta2=beta2, eps=v["eps"], inclusive=False, anew=False),
        *_back(v, decoupled),
    ]


def _rmsprop(v: Values) -> list[Transform]:
    chain = [*_front(v), SecondMoment(beta2=v["alpha"], eps=v["eps"])]
    if v["centered"]:
        chain.append(CentredSecondMoment(rho=v["alpha"], eps=v["eps"]))
    if v["momentum"] > 0 or _moves_momentum(v):
        chain.append(Momentum(momentum=v["momentum"]))
    return chain + _back(v)


def _adagrad(v: Values) -> list[Transform]:
    chain = [*_front(v), SumOfSquares(initial=v["initial_accumulator_value"], eps=v["eps"])]
    if v["lr_decay"]:
        chain.append(RateDecay(lr_decay=v["lr_decay"]))
    return chain + _back(v)


def _adadelta(v: Values) -> list[Transform]:
    rho, eps = v["rho"], v["eps"]
    return [
        *_front(v),
        SecondMoment(beta2=rho, eps=eps, rule="inside"),
        AccumulatedSteps(rho=rho, eps=eps),
        *_back(v),
    ]


def _asgd(v: Values) -> list[Transform]:
    return [
        *_front(v),
        *_back(v),
        FallingRate(lambd=v["lambd"], alpha=v["alpha"]),
        FallingDecay(lambd=v["lambd"]),
        IterateAverage(t0=v["t0"]),
    ]


def _rprop(v: Values) -> list[Transform]:
    minus, plus = _two(v, "etas")
    low, high = _two(v, "step_sizes")
    rule = Rprop(eta_minus=minus, eta_plus=plus, step_min=low, step_max=high)
    return [*_front({**v, "weight_decay": 0.0}), LearningRate(v["schedule"], learning_rate=v["lr"]), rule]


def _two(v: Values, name: str) -> tuple[float, float]:
    if len(v[name]) != 2:
        raise SettingError(f"{name} are two numbers, {len(v[name])} were given: {v[name]!r}")
    return v[name][0], v[name][1]


def _check_rprop(v: Values) -> None:
    minus, plus = _two(v, "etas")
    if not 0.0 < minus < 1.0 < plus:
        raise SettingError(f"Rprop: etas must be below and above 1, {minus!r} and {plus!r} were given")


def _adafactor(v: Values) -> list[Transform]:
    eps1, eps2 = v["eps"]
    decay: list[Transform] = [DecoupledDecay(weight_decay=v["weight_decay"])] if v["weight_decay"] else []
    return [
        *_front(v, decoupled=True),
        FlooredFactoredMoment(beta2_decay=v["beta2_decay"], eps1=eps1),
        ClipByRms(d=v["d"]),
        LearningRate(v["schedule"], learning_rate=v["lr"]),
        RelativeRate(eps2=eps2),
        *decay,
    ]


def _pair_of_eps(value: Any, place: Place) -> tuple[float | None, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise place.error(f"Adafactor: eps are two numbers, the first may be None; not {value!r}")
    first = None if value[0] is None else float(number(value[0], place, "Adafactor: eps[0]"))
    return first, float(number(value[1], place, "Adafactor: eps[1]"))


def _sparse_adam(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    return [
        *_front({**v, "weight_decay": 0.0}),
        LazyFirstMoment(beta1=beta1),
        FirstBiasCorrection(beta1=beta1),
        LazySecondMoment(beta2=beta2, eps=v["eps"]),
        SecondBiasCorrection(beta2=beta2, eps=v["eps"], order="hat"),
        LearningRate(v["schedule"], learning_rate=v["lr"]),
    ]


def _muon(v: Values) -> list[Transform]:
    chain: list[Transform] = [FirstMoment(beta1=v["momentum"], form="difference")]
    if v["nesterov"]:
        chain.append(NesterovBlend(momentum=v["momentum"]))
    chain.append(
        Orthogonalise(
            coefficients=list(v["ns_coefficients"]), steps=v["ns_steps"], eps=v["eps"], norm="floored", work="bfloat16"
        )
    )
    matched = v["adjust_lr_fn"] == "match_rms_adamw"
    chain.append(ShapeFactor(rule="largest", scale=0.2) if matched else ShapeFactor(rule="rows over columns"))
    return chain + _back(v, decoupled=True)


def _adjustment(value: Any, place: Place) -> str | None:
    if value in (None, "original", "match_rms_adamw"):
        return None if value in (None, "original") else str(value)
    raise place.error(f"Muon: adjust_lr_fn is 'original' or 'match_rms_adamw', not {value!r}")


def _read_adjustment(rows: Mapping[str, Transform]) -> str | None:
    factor = rows.get("shape_factor")
    return "match_rms_adamw" if isinstance(factor, ShapeFactor) and factor.rule == "largest" else None


def _lbfgs(v: Values) -> list[Transform]:
    rule = Lbfgs(
        max_iter=v["max_iter"],
        max_eval=v["max_eval"],
        tolerance_grad=v["tolerance_grad"],
        tolerance_change=v["tolerance_change"],
        history_size=v["history_size"],
        line_search=v["line_search_fn"] or "none",
    )
    return [LearningRate(v["schedule"], learning_rate=v["lr"]), rule]


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
        _sgd,
        _check_sgd,
    ),
    Recipe(
        "AdamW",
        (
            *ADAM,
            _decay(0.01, "decoupled_decay.weight_decay|added_decay.weight_decay"),
            AMSGRAD,
            MAXIMISE,
            *IMPLEMENTATION,
            Setting("decoupled_weight_decay", True, kind=_true, keyword_only=True),
        ),
        lambda v: _adam(v, decoupled=True),
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
        lambda v: _adam(v, decoupled=v["decoupled_weight_decay"]),
    ),
    Recipe("Adamax", (PARAMS, _rate(2e-3), BETAS, EPS, _decay(), MAXIMISE, *IMPLEMENTATION), _adamax),
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
        _nadam,
    ),
    Recipe("RAdam", (*ADAM, _decay(at=ANY_DECAY), DECOUPLED, MAXIMISE, *IMPLEMENTATION), _radam),
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
        _rmsprop,
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
        _adagrad,
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
        _adadelta,
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
        _asgd,
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
        _rprop,
        _check_rprop,
    ),
    Recipe(
        "Adafactor",
        (
            PARAMS,
            _rate(1e-2),
            Setting("beta2_decay", -0.8, "floored_factored_moment.beta2_decay"),
            Setting("eps", (None, 1e-3), ("floored_factored_moment.eps1", "relative_rate.eps2"), _pair_of_eps),
            Setting("d", 1.0, "clip_by_rms.d"),
            _decay(at="decoupled_decay.weight_decay"),
            MAXIMISE,
            *IMPLEMENTATION,
        ),
        _adafactor,
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
        _sparse_adam,
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
            Setting("adjust_lr_fn", None, _read_adjustment, _adjustment),
        ),
        _muon,
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
        _lbfgs,
    ),
)
"""The first that builds a given chain is the one it is written as: AdamW before Adam, whose decay can be decoupled."""

BY_NAME: dict[str, Recipe] = {recipe.name: recipe for recipe in RECIPES}
