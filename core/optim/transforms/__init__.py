"""The table of transforms: a class listed here appears in the ledger, pipeline, sessions, exports and documents."""

from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate, ClippedAccumulate
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
from core.optim.transforms.clip import ClipByAverageNorm, ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.curvature import CurvatureScaling, PolyakStep
from core.optim.transforms.dropped import DroppedGradient
from core.optim.transforms.factored import FactoredMoment
from core.optim.transforms.factored_last import RelativeStep, RowColumnMoment, StepWarmup
from core.optim.transforms.factored_torch import ClipByRms, FlooredFactoredMoment, RelativeRate
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.ftrl import FtrlL1, FtrlL2, FtrlShrinkage, FtrlStep
from core.optim.transforms.lazy import LazyFirstMoment, LazySecondMoment
from core.optim.transforms.lbfgs import Lbfgs
from core.optim.transforms.lion import LionMoment
from core.optim.transforms.lookahead import Lookahead
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.transforms.master import MasterWeights
from core.optim.transforms.maximise import Maximise
from core.optim.transforms.moments import MovingAverage, NesterovMoment, OptimisticGradient
from core.optim.transforms.momentum import FirstBiasCorrection, FirstMoment, Momentum, Nesterov
from core.optim.transforms.multi_steps import ApplyIfFinite, MultiSteps
from core.optim.transforms.nadam import ScheduledNesterov
from core.optim.transforms.orthogonalise import Orthogonalise, ShapeFactor
from core.optim.transforms.proximal import ProximalL1, ProximalL2
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.rate_decay import RateDecay
from core.optim.transforms.regularise import L1, L2, DecoupledDecay, NormPenalty
from core.optim.transforms.rprop import Rprop
from core.optim.transforms.rprop_delayed import DelayedRprop
from core.optim.transforms.scaling import AddedDecay, FromageShrink, Noise, Scale, Sign, StepDecay
from core.optim.transforms.schedule_free import ScheduleFree
from core.optim.transforms.schedule_free_mean import ScheduleFreeMean
from core.optim.transforms.second_moments import (
    BeliefMoment,
    DifferenceMoment,
    InfinityMoment,
    Rectification,
    YogiMoment,
)
from core.optim.transforms.sharpness import SharpnessGradient, SharpnessReturn, SharpnessStep
from core.optim.transforms.sm3 import Sm3Scaling
from core.optim.transforms.store import Store
from core.optim.transforms.trust import NormaliseUpdate, ParameterNormScaling, ScaleByParameters, TrustRatio
from core.optim.transforms.unitwise import AdaptiveClip, Centralise, ClipByBlockRms, KeepNonNegative, ZeroNans
from core.optim.transforms.weight_average import WeightAverage
from core.optim.transforms.weight_bounds import ClipWeights, NormBounds

_ALL: tuple[type[Transform], ...] = (
    FrozenMask,
    L1,
    L2,
    NormPenalty,
    ClipByValue,
    ClipByNorm,
    ClipByGlobalNorm,
    ClipByAverageNorm,
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
    MovingAverage,
    NesterovMoment,
    OptimisticGradient,
    AddedDecay,
    FromageShrink,
    Noise,
    Scale,
    Sign,
    StepDecay,
    BeliefMoment,
    DifferenceMoment,
    InfinityMoment,
    Rectification,
    YogiMoment,
    NormaliseUpdate,
    ParameterNormScaling,
    ScaleByParameters,
    TrustRatio,
    AdaptiveClip,
    Centralise,
    ClipByBlockRms,
    KeepNonNegative,
    ZeroNans,
    LionMoment,
    Orthogonalise,
    ShapeFactor,
    Sm3Scaling,
    FactoredMoment,
    CurvatureScaling,
    PolyakStep,
    DelayedRprop,
    Lookahead,
    ScheduleFree,
    SharpnessGradient,
    SharpnessReturn,
    SharpnessStep,
    ApplyIfFinite,
    MultiSteps,
    ScheduledNesterov,
    RowColumnMoment,
    RelativeStep,
    StepWarmup,
    FtrlShrinkage,
    FtrlStep,
    FtrlL1,
    FtrlL2,
    ProximalL1,
    ProximalL2,
    WeightAverage,
    ScheduleFreeMean,
    Accumulate,
    ClippedAccumulate,
    LossScale,
    FiniteGuard,
    DroppedGradient,
    ClipWeights,
    NormBounds,
    FallingDecay,
    FallingRate,
    IterateAverage,
    NesterovBlend,
    ClipByRms,
    FlooredFactoredMoment,
    RelativeRate,
    LazyFirstMoment,
    LazySecondMoment,
    Lbfgs,
    MasterWeights,
    Maximise,
    RateDecay,
    Rprop,
    Store,
)

TRANSFORMS: dict[str, type[Transform]] = {transform.name: transform for transform in _ALL}
