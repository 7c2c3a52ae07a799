"""torch.optim: the transforms each optimizer is made of, in PyTorch's order of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import number
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
"""The bound arguments of a constructor by name, and the 'schedule' of its learning rate.

Each function below has the name of an optimizer, and returns its rows for such values.
"""


def _front(v: Values, decoupled: bool = False) -> list[Transform]:
    """Maximise, and L2 unless the decay is decoupled."""
    rows: list[Transform] = [Maximise()] if v["maximize"] else []
    if v["weight_decay"] and not decoupled:
        rows.append(L2(weight_decay=v["weight_decay"]))
    return rows


def _back(v: Values, decoupled: bool = False) -> list[Transform]:
    """The learning rate, and decoupled decay."""
    rows: list[Transform] = [LearningRate(v["schedule"], learning_rate=v["lr"])]
    if v["weight_decay"] and decoupled:
        rows.append(DecoupledDecay(weight_decay=v["weight_decay"]))
    return rows


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


def sgd(v: Values) -> list[Transform]:
    chain = _front(v)
    if v["momentum"] or _moves_momentum(v):
        chain.append(Momentum(momentum=v["momentum"], dampening=v["dampening"]))
        if v["nesterov"]:
            chain.append(Nesterov(momentum=v["momentum"]))
    return chain + _back(v)


def check_sgd(v: Values) -> None:
    if v["nesterov"] and (v["momentum"] <= 0 or v["dampening"]):
        raise SettingError("SGD: nesterov needs a momentum above 0 and a dampening of 0, as in PyTorch")


def adam(v: Values, decoupled: bool) -> list[Transform]:
    beta1, beta2 = _betas(v)
    chain = _front(v, decoupled)
    chain += [FirstMoment(beta1=beta1), FirstBiasCorrection(beta1=beta1), SecondMoment(beta2=beta2, eps=v["eps"])]
    if v["amsgrad"]:
        chain.append(SecondMaximum(eps=v["eps"]))
    return [*chain, SecondBiasCorrection(beta2=beta2, eps=v["eps"]), *_back(v, decoupled)]


def always_decoupled(value: Any, place: Place) -> bool:
    if value is True:
        return True
    raise place.error("AdamW's weight decay is always decoupled; for L2 write torch.optim.Adam(weight_decay=...)")


def adamax(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    moments = [FirstMoment(beta1=beta1), FirstBiasCorrection(beta1=beta1), InfinityMoment(beta2=beta2, eps=v["eps"])]
    return [*_front(v), *moments, *_back(v)]


def nadam(v: Values) -> list[Transform]:
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


def radam(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    decoupled = v["decoupled_weight_decay"]
    return [
        *_front(v, decoupled),
        FirstMoment(beta1=beta1, form="lerp"),
        FirstBiasCorrection(beta1=beta1),
        SecondMoment(beta2=beta2, eps=v["eps"]),
        SecondBiasCorrection(beta2=beta2, eps=v["eps"], order="hat"),
        Rectification(beta2=beta2, eps=v["eps"], inclusive=False, anew=False),
        *_back(v, decoupled),
    ]


def rmsprop(v: Values) -> list[Transform]:
    form = "lerp" if v["centered"] else "average"
    chain = [*_front(v), SecondMoment(beta2=v["alpha"], eps=v["eps"], form=form)]
    if v["centered"]:
        chain.append(CentredSecondMoment(rho=v["alpha"], eps=v["eps"], form="lerp"))
    if v["momentum"] > 0 or _moves_momentum(v):
        chain.append(Momentum(momentum=v["momentum"]))
    return chain + _back(v)


def adagrad(v: Values) -> list[Transform]:
    chain = [*_front(v), SumOfSquares(initial=v["initial_accumulator_value"], eps=v["eps"])]
    if v["lr_decay"]:
        chain.append(RateDecay(lr_decay=v["lr_decay"]))
    return chain + _back(v)


def adadelta(v: Values) -> list[Transform]:
    rho, eps = v["rho"], v["eps"]
    return [
        *_front(v),
        SecondMoment(beta2=rho, eps=eps, rule="inside"),
        AccumulatedSteps(rho=rho, eps=eps),
        *_back(v),
    ]


def asgd(v: Values) -> list[Transform]:
    return [
        *_front(v),
        *_back(v),
        FallingRate(lambd=v["lambd"], alpha=v["alpha"]),
        FallingDecay(lambd=v["lambd"]),
        IterateAverage(t0=v["t0"]),
    ]


def rprop(v: Values) -> list[Transform]:
    minus, plus = _two(v, "etas")
    low, high = _two(v, "step_sizes")
    rule = Rprop(eta_minus=minus, eta_plus=plus, step_min=low, step_max=high)
    return [*_front({**v, "weight_decay": 0.0}), LearningRate(v["schedule"], learning_rate=v["lr"]), rule]


def _two(v: Values, name: str) -> tuple[float, float]:
    if len(v[name]) != 2:
        raise SettingError(f"{name} are two numbers, {len(v[name])} were given: {v[name]!r}")
    return v[name][0], v[name][1]


def check_rprop(v: Values) -> None:
    minus, plus = _two(v, "etas")
    if not 0.0 < minus < 1.0 < plus:
        raise SettingError(f"Rprop: etas must be below and above 1, {minus!r} and {plus!r} were given")


def adafactor(v: Values) -> list[Transform]:
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


def pair_of_eps(value: Any, place: Place) -> tuple[float | None, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise place.error(f"Adafactor: eps are two numbers, the first may be None; not {value!r}")
    first = None if value[0] is None else float(number(value[0], place, "Adafactor: eps[0]"))
    return first, float(number(value[1], place, "Adafactor: eps[1]"))


def sparse_adam(v: Values) -> list[Transform]:
    beta1, beta2 = _betas(v)
    return [
        *_front({**v, "weight_decay": 0.0}),
        LazyFirstMoment(beta1=beta1, form="difference"),
        FirstBiasCorrection(beta1=beta1),
        LazySecondMoment(beta2=beta2, eps=v["eps"], form="difference"),
        SecondBiasCorrection(beta2=beta2, eps=v["eps"], order="hat"),
        LearningRate(v["schedule"], learning_rate=v["lr"]),
    ]


def muon(v: Values) -> list[Transform]:
    chain: list[Transform] = [FirstMoment(beta1=v["momentum"], form="lerp")]
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


def adjustment(value: Any, place: Place) -> str | None:
    if value in (None, "original", "match_rms_adamw"):
        return None if value in (None, "original") else str(value)
    raise place.error(f"Muon: adjust_lr_fn is 'original' or 'match_rms_adamw', not {value!r}")


def read_adjustment(rows: Mapping[str, Transform]) -> str | None:
    factor = rows.get("shape_factor")
    return "match_rms_adamw" if isinstance(factor, ShapeFactor) and factor.rule == "largest" else None


def lbfgs(v: Values) -> list[Transform]:
    rule = Lbfgs(
        max_iter=v["max_iter"],
        max_eval=v["max_eval"],
        tolerance_grad=v["tolerance_grad"],
        tolerance_change=v["tolerance_change"],
        history_size=v["history_size"],
        line_search=v["line_search_fn"] or "none",
    )
    return [LearningRate(v["schedule"], learning_rate=v["lr"]), rule]
