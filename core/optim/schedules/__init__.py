"""The table of learning-rate schedules."""

from core.optim.schedules.base import Schedule as Schedule
from core.optim.schedules.torch_combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from core.optim.schedules.torch_cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
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
    LambdaLR,
    MultiplicativeLR,
    SequentialLR,
    ChainedScheduler,
    ReduceLROnPlateau,
)

SCHEDULES: dict[str, type[Schedule]] = {schedule.name: schedule for schedule in _ALL}
