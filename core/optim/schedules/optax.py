"""The table of optax schedules."""

from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.optax_composed import Joined as Joined
from core.optim.schedules.optax_composed import Scaled as Scaled
from core.optim.schedules.optax_composed import WarmupConstant as WarmupConstant
from core.optim.schedules.optax_composed import WarmupCosine as WarmupCosine
from core.optim.schedules.optax_composed import WarmupExponential as WarmupExponential
from core.optim.schedules.optax_composed import Written as Written
from core.optim.schedules.optax_curves import Constant as Constant
from core.optim.schedules.optax_curves import Cosine as Cosine
from core.optim.schedules.optax_curves import CosineOnecycle as CosineOnecycle
from core.optim.schedules.optax_curves import Exponential as Exponential
from core.optim.schedules.optax_curves import LinearOnecycle as LinearOnecycle
from core.optim.schedules.optax_curves import PiecewiseConstant as PiecewiseConstant
from core.optim.schedules.optax_curves import PiecewiseInterpolate as PiecewiseInterpolate
from core.optim.schedules.optax_curves import Polynomial as Polynomial

OPTAX_SCHEDULES: tuple[type[AbsoluteSchedule], ...] = (
    Constant,
    Polynomial,
    Exponential,
    Cosine,
    PiecewiseConstant,
    PiecewiseInterpolate,
    LinearOnecycle,
    CosineOnecycle,
    WarmupConstant,
    WarmupCosine,
    WarmupExponential,
    Joined,
    Scaled,
    Written,
)
