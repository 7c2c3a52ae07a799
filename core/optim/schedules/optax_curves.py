"""optax schedules of one curve: functions of the step count alone, in float64, in optax's order of operations."""

from __future__ import annotations

import math
from bisect import bisect_right

from core.declare import Parameter, SettingError
from core.optim.schedules.absolute import AbsoluteSchedule


def value_parameter(key: str, symbol: str, default: float, tooltip: str) -> Parameter:
    """A scheduled value."""
    return Parameter(key, symbol, default, 1e-6, 1.0, "log", tooltip=tooltip)


def steps_parameter(key: str, symbol: str, default: int, tooltip: str, minimum: float = -math.inf) -> Parameter:
    """A number of steps."""
    return Parameter(key, symbol, default, 1, 10_000, "integer", minimum=minimum, tooltip=tooltip)


INIT = value_parameter("init_value", "a", 0.1, "value at the start")
END = value_parameter("end_value", "b", 0.0, "value at the end")
PEAK = value_parameter("peak_value", "p", 0.1, "value after the warm-up")
TRANSITION = steps_parameter("transition_steps", "T", 100, "steps the change takes; 0 or less: constant")
BEGIN = steps_parameter("transition_begin", "k₀", 0, "steps before the change begins")
WARMUP = steps_parameter("warmup_steps", "W", 10, "steps of the linear warm-up")
EXPONENT = Parameter("exponent", "q", 1.0, 0.1, 4.0, tooltip="power of the cosine")
STAIRCASE = Parameter("staircase", "⌊ ⌋", False, scale="switch", tooltip="decay in stairs")
OPTIONAL_END = Parameter(
    "end_value", "b", None, 1e-8, 1.0, "log", optional=True, tooltip="bound the decay never crosses; None: no bound"
)


class Constant(AbsoluteSchedule):
    """lr_t = a."""

    name = "optax_constant"
    label = "constant"
    formula = "a"
    source = "optax.constant_schedule"
    parameters = (value_parameter("value", "a", 0.1, "the value"),)
    value: float

    def at(self, k: int) -> float:
        return self.value

    def largest(self) -> float:
        return self.value


class Polynomial(AbsoluteSchedule):
    """From a to b with a power of the share of the way that is left."""

    name = "optax_polynomial"
    label = "polynomial"
    formula = "(a − b) (1 − k/T)^p + b"
    source = "optax.polynomial_schedule; optax.linear_schedule with p = 1"
    parameters = (INIT, END, Parameter("power", "p", 1.0, 0.5, 4.0, tooltip="power"), TRANSITION, BEGIN)
    init_value: float
    end_value: float
    power: float
    transition_steps: int
    transition_begin: int

    def at(self, k: int) -> float:
        steps = self.transition_steps
        if steps <= 0:
            return self.init_value
        count = min(max(k - max(self.transition_begin, 0), 0), steps)
        share = 1 - count / steps
        part: float = share**self.power
        return (self.init_value - self.end_value) * part + self.end_value

    def largest(self) -> float:
        return max(self.init_value, self.end_value)


class Exponential(AbsoluteSchedule):
    """a r^(k/T), never beyond ``end_value`` when one is given."""

    name = "optax_exponential"
    label = "exponential decay"
    formula = "a · r^(k/T)"
    source = "optax.exponential_decay"
    parameters = (
        INIT,
        TRANSITION,
        Parameter("decay_rate", "r", 0.9, 0.1, 1.0, minimum=0.0, tooltip="factor a transition; 0: constant"),
        BEGIN,
        STAIRCASE,
        OPTIONAL_END,
    )
    init_value: float
    transition_steps: int
    decay_rate: float
    transition_begin: int
    staircase: bool
    end_value: float | None

    def at(self, k: int) -> float:
        if self.transition_steps <= 0 or self.decay_rate == 0:
            return self.init_value
        count = k - max(self.transition_begin, 0)
        share = count / self.transition_steps
        if self.staircase:
            share = math.floor(share)
        factor: float = 1.0 if count <= 0 else self.decay_rate**share
        decayed = self.init_value if count <= 0 else self.init_value * factor
        if self.end_value is None:
            return decayed
        return max(decayed, self.end_value) if self.decay_rate < 1.0 else min(decayed, self.end_value)

    def largest(self) -> float:
        return self.init_value


class Cosine(AbsoluteSchedule):
    """Half a cosine from a to α a in D steps, then constant."""

    name = "optax_cosine"
    label = "cosine decay"
    formula = "a ((1 − α) (½ (1 + cos πk/D))^q + α)"
    source = "optax.cosine_decay_schedule"
    parameters = (
        INIT,
        steps_parameter("decay_steps", "D", 100, "steps of the decay", minimum=1),
        Parameter("alpha", "α", 0.0, 0.0, 1.0, tooltip="share of the value that is left at the end"),
        EXPONENT,
    )
    init_value: float
    decay_steps: int
    alpha: float
    exponent: float

    def at(self, k: int) -> float:
        steps = float(self.decay_steps)
        count = min(float(k), steps)
        wave = 0.5 * (1 + math.cos(math.pi * count / steps))
        power: float = wave**self.exponent
        return self.init_value * ((1 - self.alpha) * power + self.alpha)

    def largest(self) -> float:
        return self.init_value


class PiecewiseConstant(AbsoluteSchedule):
    """a, multiplied by scale i from step boundary i on (the step at the boundary already has it)."""

    name = "optax_piecewise_constant"
    label = "piecewise constant"
    formula = "a · Π scaleᵢ over boundaryᵢ ≤ k"
    source = "optax.piecewise_constant_schedule"
    parameters = (
        INIT,
        Parameter("boundaries", "kᵢ", [], scale="list", tooltip="steps at which the value changes"),
        Parameter("scales", "sᵢ", [], scale="list", tooltip="factor at each boundary"),
    )
    init_value: float
    boundaries: list[float]
    scales: list[float]

    def prepare(self) -> None:
        _check_pieces(self.name, self.boundaries, self.scales)
        self.pieces = sorted(zip(self.boundaries, self.scales, strict=True))

    def at(self, k: int) -> float:
        found = self.init_value
        for boundary, scale in self.pieces:
            if k >= boundary:
                found = scale * found
        return found

    def largest(self) -> float:
        return self.init_value


class PiecewiseInterpolate(AbsoluteSchedule):
    """Straight or along a cosine from one boundary to the next; each value is scale i times the one before."""

    name = "optax_piecewise_interpolate"
    label = "piecewise interpolated"
    formula = "between a · Π scaleᵢ at the boundaries"
    source = "optax.piecewise_interpolate_schedule"
    parameters = (
        Parameter("interpolate_type", "kind", "linear", scale="choice", choices=("linear", "cosine"), tooltip="curve"),
        *PiecewiseConstant.parameters,
    )
    interpolate_type: str
    init_value: float
    boundaries: list[float]
    scales: list[float]

    def prepare(self) -> None:
        _check_pieces(self.name, self.boundaries, self.scales)
        pieces = sorted(zip(self.boundaries, self.scales, strict=True))
        self.bounds = [0.0, *(boundary for boundary, _ in pieces)]
        self.values_at = [self.init_value]
        for _, scale in pieces:
            self.values_at.append(self.values_at[-1] * scale)

    def at(self, k: int) -> float:
        if k >= self.bounds[-1]:
            return self.values_at[-1]
        if k < 0:
            return 0.0
        i = bisect_right(self.bounds, k) - 1
        start, end = self.values_at[i], self.values_at[i + 1]
        share = (k - self.bounds[i]) / max(self.bounds[i + 1] - self.bounds[i], 1.0)
        if self.interpolate_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def largest(self) -> float:
        return max(self.values_at)


class LinearOnecycle(AbsoluteSchedule):
    """Straight up to the peak, straight down to the start, and on down to almost nothing."""

    name = "optax_linear_onecycle"
    label = "one cycle, linear"
    formula = "p/d → p → p/d → p/(d·f)"
    source = "Smith and Topin 2018, arXiv:1708.07120; optax.linear_onecycle_schedule"
    parameters = (
        steps_parameter("transition_steps", "T", 100, "length of the cycle", minimum=1),
        PEAK,
        Parameter("pct_start", "s", 0.3, 0.0, 1.0, tooltip="share of the cycle spent going up"),
        Parameter("pct_final", "e", 0.85, 0.0, 1.0, tooltip="share after which the last descent begins"),
        Parameter("div_factor", "d", 25.0, 1.0, 100.0, tooltip="peak over first value"),
        Parameter("final_div_factor", "f", 1e4, 1.0, 1e6, "log", tooltip="first value over last value"),
    )
    transition_steps: int
    peak_value: float
    pct_start: float
    pct_final: float
    div_factor: float
    final_div_factor: float

    def prepare(self) -> None:
        steps = self.transition_steps
        self.curve = _curve(
            "linear",
            self.peak_value / self.div_factor,
            {
                int(self.pct_start * steps): self.div_factor,
                int(self.pct_final * steps): 1.0 / self.div_factor,
                steps: 1.0 / self.final_div_factor,
            },
        )

    def at(self, k: int) -> float:
        return self.curve.at(k)

    def largest(self) -> float:
        return self.peak_value


class CosineOnecycle(AbsoluteSchedule):
    """Along a cosine up to the peak and along another down to almost nothing."""

    name = "optax_cosine_onecycle"
    label = "one cycle, cosine"
    formula = "p/d → p → p/(d·f)"
    source = "Smith and Topin 2018, arXiv:1708.07120; optax.cosine_onecycle_schedule"
    parameters = tuple(item for item in LinearOnecycle.parameters if item.key != "pct_final")
    transition_steps: int
    peak_value: float
    pct_start: float
    div_factor: float
    final_div_factor: float

    def prepare(self) -> None:
        steps = self.transition_steps
        self.curve = _curve(
            "cosine",
            self.peak_value / self.div_factor,
            {
                int(self.pct_start * steps): self.div_factor,
                steps: 1.0 / (self.div_factor * self.final_div_factor),
            },
        )

    def at(self, k: int) -> float:
        return self.curve.at(k)

    def largest(self) -> float:
        return self.peak_value


def _curve(kind: str, start: float, pieces: dict[int, float]) -> PiecewiseInterpolate:
    """A dict keeps the last of two equal boundaries, as optax's own does."""
    return PiecewiseInterpolate(
        interpolate_type=kind, init_value=start, boundaries=list(pieces), scales=list(pieces.values())
    )


def _check_pieces(name: str, boundaries: list[float], scales: list[float]) -> None:
    if len(boundaries) != len(scales):
        raise SettingError(f"{name}: {len(boundaries)} boundaries and {len(scales)} scales; each boundary has one")
    if any(scale < 0 for scale in scales):
        raise SettingError(f"{name}: scales are factors of 0 or more, {min(scales):g} was given")
