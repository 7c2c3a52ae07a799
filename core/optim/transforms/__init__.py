"""The table of transforms: a class listed here appears in the ledger, pipeline, sessions, exports and documents."""

from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    SecondMoment,
    SumOfSquares,
)
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L1, L2, DecoupledDecay
from core.optim.transforms.store import Store

_ALL: tuple[type[Transform], ...] = (
    FrozenMask,
    L1,
    L2,
    ClipByValue,
    ClipByNorm,
    ClipByGlobalNorm,
    Momentum,
    Nesterov,
    FirstMoment,
    FirstBiasCorrection,
    SecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    CentredSecondMoment,
    SumOfSquares,
    AccumulatedSteps,
    LearningRate,
    DecoupledDecay,
    Store,
)

TRANSFORMS: dict[str, type[Transform]] = {transform.name: transform for transform in _ALL}
