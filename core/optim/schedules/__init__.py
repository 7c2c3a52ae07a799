"""The table of learning-rate schedules."""

from core.optim.schedules.base import Schedule as Schedule
from core.optim.schedules.keras import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from core.optim.schedules.keras_cosine import CosineDecay, CosineDecayRestarts
from core.optim.schedules.optax import OPTAX_SCHEDULES
from core.optim.schedules.tf1 import LinearCosineDecay, NaturalExpDecay, NoisyLinearCosineDecay
from core.optim.schedules.torch_combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from core.optim.schedules.torch_cycles import (
    SWALR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    OneCycleLR,
)
from core.optim.schedules.torch_factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

_ALL: tuple[type[Schedule], ...] = (
    StepLR,
    MultiStepLR,
    ExponentialLR,
    PolynomialLR,
    LinearLR,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    OneCycleLR,
    CyclicLR,
    SWALR,
    LambdaLR,
    MultiplicativeLR,
    SequentialLR,
    ChainedScheduler,
    ReduceLROnPlateau,
    ExponentialDecay,
    InverseTimeDecay,
    PolynomialDecay,
    PiecewiseConstantDecay,
    CosineDecay,
    CosineDecayRestarts,
    NaturalExpDecay,
    LinearCosineDecay,
    NoisyLinearCosineDecay,
    *OPTAX_SCHEDULES,
)

SCHEDULES: dict[str, type[Schedule]] = {schedule.name: schedule for schedule in _ALL}
