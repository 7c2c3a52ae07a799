"""optax schedules made of others: warm-ups, one after another, scaled, and formulas of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import Parameter, SettingError
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.optax_curves import (
    END,
    EXPONENT,
    INIT,
    PEAK,
    WARMUP,
    Cosine,
    Exponential,
    Polynomial,
    steps_parameter,
)


class Joined(AbsoluteSchedule):
    """One schedule after another: schedule i takes over at boundary i and counts from 0 there."""

    name = "optax_joined"
    label = "joined schedules"
    formula = "scheduleᵢ(k − boundaryᵢ)"
    source = "optax.join_schedules, optax.sgdr_schedule"
    parameters = (Parameter("boundaries", "kᵢ", [], scale="list", tooltip="steps at which the next schedule begins"),)
    boundaries: list[float]

    def __init__(self, schedules: Sequence[AbsoluteSchedule], **values: Any) -> None:
        self.schedules: tuple[AbsoluteSchedule, ...] = tuple(schedules)
        self.parts = self.schedules
        super().__init__(**values)

    def prepare(self) -> None:
        if not self.schedules:
            raise SettingError(f"{self.name}: there are no schedules to join")
        if len(self.boundaries) != len(self.schedules) - 1:
            raise SettingError(
                f"{self.name}: {len(self.schedules)} schedules have {len(self.schedules) - 1} boundaries between "
                f"them, {len(self.boundaries)} were given"
            )

    def at(self, k: int) -> float:
        found = self.schedules[0]
        start = 0.0
        for boundary, schedule in zip(self.boundaries, self.schedules[1:], strict=True):
            if k >= boundary:
                found, start = schedule, boundary
        return found.at(int(k - start))

    def largest(self) -> float:
        return max(schedule.largest() for schedule in self.schedules)


class Scaled(AbsoluteSchedule):
    """A factor times another schedule."""

    name = "optax_scaled"
    label = "scaled schedule"
    formula = "f · schedule(k)"
    source = "lambda count: f * schedule(count)"
    parameters = (Parameter("factor", "f", 1.0, -10.0, 10.0, tooltip="factor of the whole curve"),)
    factor: float

    schedule: AbsoluteSchedule

    def __init__(self, schedule: AbsoluteSchedule | Sequence[AbsoluteSchedule], **values: Any) -> None:
        """``schedule`` may be a list of one, which is how settings list parts."""
        self.schedule = schedule if isinstance(schedule, AbsoluteSchedule) else schedule[0]
        self.parts = (self.schedule,)
        super().__init__(**values)

    def at(self, k: int) -> float:
        return self.factor * self.schedule.at(k)

    def largest(self) -> float:
        return self.factor * self.schedule.largest()


EARLY = (1, 10, 100, 1000)


class Written(AbsoluteSchedule):
    """A formula of the step count, written out as a function of one argument."""

    name = "optax_written"
    label = "own schedule"
    formula = "f(k)"
    source = "a lambda in place of a schedule"

    def __init__(self, written: Formula | str, **values: Any) -> None:
        self.written = Formula.read(written) if isinstance(written, str) else written
        self.formula = self.written.body
        super().__init__(**values)

    def at(self, k: int) -> float:
        return self.written(k)

    def largest(self) -> float:
        """A formula has no numbers of its own to show as base rate: the largest of a few early values, by amount."""
        return max((self.written(k) for k in EARLY), key=abs)

    @property
    def falls(self) -> bool:
        """True for a formula that carries the minus of the learning rate: ``lambda k: -0.1 * min(1, k / 10)``."""
        found = [self.written(k) for k in (0, *EARLY)]
        return max(found) <= 0.0 > min(found)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "written": self.written.text}


class WarmupConstant(AbsoluteSchedule):
    """Linear from a to p in W steps, then p."""

    name = "optax_warmup_constant"
    label = "warm-up"
    formula = "a + (p − a) min(k/W, 1)"
    source = "optax.warmup_constant_schedule"
    parameters = (INIT, PEAK, WARMUP)
    init_value: float
    peak_value: float
    warmup_steps: int

    def prepare(self) -> None:
        self.warmup = Polynomial(
            init_value=self.init_value, end_value=self.peak_value, transition_steps=self.warmup_steps
        )

    def at(self, k: int) -> float:
        return self.warmup.at(k)

    def largest(self) -> float:
        return max(self.init_value, self.peak_value)


class WarmupCosine(AbsoluteSchedule):
    """Linear from a to p in W steps, then half a cosine to b at step D (D counts the warm-up)."""

    name = "optax_warmup_cosine"
    label = "warm-up and cosine"
    formula = "a → p in W steps, then cosine to b at step D"
    source = "optax.warmup_cosine_decay_schedule"
    parameters = (
        INIT,
        PEAK,
        WARMUP,
        steps_parameter("decay_steps", "D", 100, "last step, warm-up included"),
        END,
        EXPONENT,
    )
    init_value: float
    peak_value: float
    warmup_steps: int
    decay_steps: int
    end_value: float
    exponent: float

    def prepare(self) -> None:
        if self.decay_steps <= self.warmup_steps:
            raise SettingError(
                f"{self.name}: decay_steps ({self.decay_steps}) counts the warm-up, so it has to be more than "
                f"warmup_steps ({self.warmup_steps})"
            )
        alpha = 0.0 if self.peak_value == 0.0 else self.end_value / self.peak_value
        first = Polynomial(init_value=self.init_value, end_value=self.peak_value, transition_steps=self.warmup_steps)
        second = Cosine(
            init_value=self.peak_value,
            decay_steps=self.decay_steps - self.warmup_steps,
            alpha=alpha,
            exponent=self.exponent,
        )
        self.joined = Joined([first, second], boundaries=[self.warmup_steps])

    def at(self, k: int) -> float:
        return self.joined.at(k)

    def largest(self) -> float:
        return max(self.init_value, self.peak_value, self.end_value)


class WarmupExponential(AbsoluteSchedule):
    """Linear from a to p in W steps, then exponential decay counted from there."""

    name = "optax_warmup_exponential"
    label = "warm-up and exponential"
    formula = "a → p in W steps, then p · r^((k − W)/T)"
    source = "optax.warmup_exponential_decay_schedule"
    parameters = (INIT, PEAK, WARMUP, *Exponential.parameters[1:])
    init_value: float
    peak_value: float
    warmup_steps: int
    transition_steps: int
    decay_rate: float
    transition_begin: int
    staircase: bool
    end_value: float | None

    def prepare(self) -> None:
        first = Polynomial(init_value=self.init_value, end_value=self.peak_value, transition_steps=self.warmup_steps)
        second = Exponential(
            init_value=self.peak_value,
            transition_steps=self.transition_steps,
            decay_rate=self.decay_rate,
            transition_begin=self.transition_begin,
            staircase=self.staircase,
            end_value=self.end_value,
        )
        self.joined = Joined([first, second], boundaries=[self.warmup_steps])

    def at(self, k: int) -> float:
        return self.joined.at(k)

    def largest(self) -> float:
        return max(self.init_value, self.peak_value)
