"""Keras optimizers as rows: what each is made of, in Keras' own order of operations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from core.optim.mask import Mask
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.base import Schedule
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.factored_last import RelativeStep, RowColumnMoment, StepWarmup
from core.optim.transforms.ftrl import FtrlL1, FtrlL2, FtrlShrinkage, FtrlStep
from core.optim.transforms.lion import LionMoment
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.nadam import ScheduledNesterov
from core.optim.transforms.nested import Masked
from core.optim.transforms.orthogonalise import Orthogonalise, ShapeFactor
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import DecoupledDecay
from core.optim.transforms.scaling import Scale, Sign
from core.optim.transforms.schedule_free_mean import ScheduleFreeMean
from core.optim.transforms.second_moments import InfinityMoment
from core.optim.transforms.trust import ScaleByParameters, TrustRatio
from core.optim.transforms.unitwise import ClipByBlockRms

Values = dict[str, Any]
"""The arguments of a constructor by name; 'cast' is what happens to constants on their way into a tensor."""
Cast = Callable[[float], float]
T = TypeVar("T", bound=Transform)


def exact(value: float) -> float:
    """Constants as they were written."""
    return value


def single(value: float) -> float:
    """Constants the way TensorFlow casts plain numbers: to float32 first, whatever type the variables have."""
    return float(np.float32(value))


def worded(transform: T, formula: str) -> T:
    """The transform with the formula of the place it has in this chain."""
    transform.formula = formula
    return transform


def learning_rate(rate: float | Schedule | LearningRate, order: str = "numerator") -> LearningRate:
    """The learning-rate row for a number, a schedule, or a row to be written again; rounded as TensorFlow does."""
    if isinstance(rate, LearningRate):
        return LearningRate(schedule=rate.schedule, learning_rate=rate.learning_rate, order=order)
    if isinstance(rate, AbsoluteSchedule):
        return LearningRate(schedule=rate, learning_rate=rate.base, order=order)
    return LearningRate(learning_rate=rate, order=order)


def plain_rate(rate: float | Schedule | LearningRate) -> LearningRate:
    """The same where no quotient stands before it."""
    return learning_rate(rate, "product")


def velocity(momentum: float, nesterov: bool) -> list[Transform]:
    """Momentum behind the learning rate: steps are averaged, not gradients."""
    rows: list[Transform] = [Momentum(momentum=momentum)]
    return [*rows, Nesterov(momentum=momentum)] if nesterov else rows


def sgd(v: Values) -> list[Transform]:
    rows: list[Transform] = [plain_rate(v["learning_rate"])]
    return rows + velocity(v["cast"](v["momentum"]), v["nesterov"]) if v["momentum"] else rows


def rmsprop(v: Values) -> list[Transform]:
    rows: list[Transform] = [SecondMoment(beta2=v["rho"], eps=v["epsilon"], rule="inside")]
    if v["centered"]:
        rows.append(CentredSecondMoment(rho=v["rho"], eps=v["epsilon"], rule="inside"))
    rows.append(learning_rate(v["learning_rate"]))
    return rows + velocity(v["momentum"], False) if v["momentum"] > 0 else rows


def adagrad(v: Values) -> list[Transform]:
    initial = v["cast"](v["initial_accumulator_value"])
    return [SumOfSquares(initial=initial, eps=v["epsilon"], rule="inside"), learning_rate(v["learning_rate"])]


def adadelta(v: Values) -> list[Transform]:
    return [
        SecondMoment(beta2=v["rho"], eps=v["epsilon"], rule="inside"),
        AccumulatedSteps(rho=v["rho"], eps=v["epsilon"], order="product"),
        learning_rate(v["learning_rate"]),
    ]


def moments(beta1: float, beta2: float, eps: float, cast: Cast) -> list[Transform]:
    """Adam's two averages, the bias correction of the first between them."""
    return [
        FirstMoment(beta1=beta1, form="difference"),
        FirstBiasCorrection(beta1=cast(beta1)),
        SecondMoment(beta2=beta2, eps=eps, form="difference"),
    ]


def adam(v: Values) -> list[Transform]:
    cast = v["cast"]
    rows = moments(v["beta_1"], v["beta_2"], v["epsilon"], cast)
    if v["amsgrad"]:
        rows.append(SecondMaximum(eps=v["epsilon"]))
    rows.append(SecondBiasCorrection(beta2=cast(v["beta_2"]), eps=v["epsilon"], order="hat"))
    return [*rows, learning_rate(v["learning_rate"])]


def adamax(v: Values) -> list[Transform]:
    cast = v["cast"]
    return [
        FirstMoment(beta1=v["beta_1"], form="difference"),
        FirstBiasCorrection(beta1=cast(v["beta_1"])),
        InfinityMoment(beta2=v["beta_2"], eps=v["epsilon"], place="divisor"),
        learning_rate(v["learning_rate"]),
    ]


def nadam(v: Values) -> list[Transform]:
    cast = v["cast"]
    beta1, beta2 = cast(v["beta_1"]), cast(v["beta_2"])
    constants = "float64" if cast is exact else "float32"
    return [
        FirstMoment(beta1=beta1, form="difference"),
        ScheduledNesterov(beta1=v["beta_1"], momentum_decay=v.get("schedule_decay") or 1.0, cast=constants),
        SecondMoment(beta2=beta2, eps=v["epsilon"], form="difference"),
        SecondBiasCorrection(beta2=beta2, eps=v["epsilon"], order="squares"),
        learning_rate(v["learning_rate"]),
    ]


def ftrl(v: Values) -> list[Transform]:
    return [
        FtrlShrinkage(shrinkage=v["l2_shrinkage_regularization_strength"]),
        learning_rate(v["learning_rate"]),
        FtrlStep(power=v["learning_rate_power"], initial=v["cast"](v["initial_accumulator_value"])),
        FtrlL1(l1=v["l1_regularization_strength"]),
        FtrlL2(l2=v["l2_regularization_strength"], beta=v["beta"]),
    ]


def lion(v: Values) -> list[Transform]:
    cast = v["cast"]
    return [LionMoment(beta1=cast(v["beta_1"]), beta2=cast(v["beta_2"])), Sign(), plain_rate(v["learning_rate"])]


def lamb(v: Values) -> list[Transform]:
    cast = v["cast"]
    return [
        *moments(v["beta_1"], v["beta_2"], v["epsilon"], cast),
        SecondBiasCorrection(beta2=cast(v["beta_2"]), eps=v["epsilon"], order="squares"),
        TrustRatio(),
        learning_rate(v["learning_rate"]),
    ]


def adafactor(v: Values) -> list[Transform]:
    # relative_step changes nothing: Keras takes min(lr, 1/sqrt(t)) once more in every case
    return [
        RowColumnMoment(beta2_decay=v["beta_2_decay"], eps=v["epsilon_1"]),
        ClipByBlockRms(threshold=v["clip_threshold"]),
        ScaleByParameters(measure="rms", min_scale=v["cast"](v["epsilon_2"])),
        learning_rate(v["learning_rate"]),
        RelativeStep(),
    ]


def schedule_free_adamw(v: Values) -> list[Transform]:
    cast = v["cast"]
    beta2, eps = cast(v["beta_2"]), cast(v["epsilon"])
    rows: list[Transform] = [
        SecondMoment(beta2=beta2, eps=eps, form="difference"),
        SecondBiasCorrection(beta2=beta2, eps=eps, order="squares"),
        learning_rate(v["learning_rate"]),
    ]
    if v["warmup_steps"] > 0:
        rows.append(StepWarmup(steps=v["warmup_steps"]))
    return [*rows, ScheduleFreeMean(beta1=cast(v["beta_1"]))]


@dataclass(frozen=True, slots=True)
class DecayMask(Mask):
    """The variables whose names no pattern of ``exclude_from_weight_decay`` fits."""

    patterns: tuple[str, ...] = ()

    def picks(self, name: str, shape: tuple[int, ...]) -> bool:
        return not any(re.search(pattern, name) for pattern in self.patterns)

    @property
    def text(self) -> str:
        """The mask in words."""
        return f"variables whose names do not hold {' or '.join(self.patterns)}"

    def settings(self) -> dict[str, Any]:
        """The mask as plain data."""
        return {"excluded": self.patterns}


@dataclass(frozen=True, slots=True)
class MuonMask(Mask):
    """The variables that Keras' Muon orthogonalises: matrices whose name no pattern fits; or all the others."""

    patterns: tuple[str, ...] = ()
    embeddings: bool = False
    others: bool = False

    def picks(self, name: str, shape: tuple[int, ...]) -> bool:
        excluded = len(shape) != 2 or any(re.search(pattern, name) for pattern in self.patterns)
        if not self.embeddings and "embedding" in name.lower():
            excluded = True
        return excluded is self.others

    @property
    def text(self) -> str:
        """The mask in words."""
        but = f" whose names do not hold {', '.join(self.patterns)}" if self.patterns else ""
        return f"variables other than matrices{but}" if self.others else f"matrices{but}"

    def settings(self) -> dict[str, Any]:
        """The mask as plain data."""
        return {"muon": self.patterns, "embeddings": self.embeddings, "others": self.others}


def muon_masks(v: Values) -> tuple[MuonMask, MuonMask]:
    """(matrices to orthogonalise, everything else)."""
    patterns, embeddings = tuple(v["exclude_layers"] or ()), not v["exclude_embeddings"]
    return MuonMask(patterns=patterns, embeddings=embeddings), MuonMask(
        patterns=patterns, embeddings=embeddings, others=True
    )


def muon(v: Values) -> list[Transform]:
    cast = v["cast"]
    matrices, others = muon_masks(v)
    orthogonal: list[Transform] = [Momentum(momentum=v["momentum"])]
    if v["nesterov"]:
        orthogonal.append(Nesterov(momentum=v["momentum"]))
    coefficients = [v["muon_a"], v["muon_b"], v["muon_c"]]
    orthogonal.append(Orthogonalise(coefficients=coefficients, steps=v["ns_steps"], eps=1e-7, norm="added"))
    adam_rows = moments(v["adam_beta_1"], v["adam_beta_2"], v["epsilon"], cast)
    adam_rows.append(SecondBiasCorrection(beta2=cast(v["adam_beta_2"]), eps=v["epsilon"], order="hat"))
    if v["adam_lr_ratio"] != 1:
        adam_rows.append(Scale(factor=v["adam_lr_ratio"]))
    rows: list[Transform] = [Masked(row, matrices) for row in orthogonal]
    rows += [Masked(row, others) for row in adam_rows]
    rows.append(learning_rate(v["learning_rate"]))
    if v["rms_rate"] is not None:
        rows.append(Masked(ShapeFactor(rule="largest", scale=v["rms_rate"]), matrices))
    return rows


def decay_rows(v: Values) -> list[Transform]:
    """Weight decay, which Keras applies to the weights before the update, times the learning rate."""
    cast = v["cast"]
    strength = v.get("weight_decay")
    if "adam_weight_decay" not in v:
        return [] if strength is None else [decay(cast(strength))]
    matrices, others = muon_masks(v)
    rows: list[Transform] = [] if strength is None else [Masked(decay(cast(strength)), matrices)]
    if v["adam_weight_decay"] is not None:
        rows.append(Masked(decay(cast(v["adam_weight_decay"])), others))
    return rows


def decay(strength: float) -> DecoupledDecay:
    """w <- w - w λ lr, in this order."""
    return worded(DecoupledDecay(weight_decay=strength, order="difference"), "w ← w − w λ lr_t")
