"""The learning rate of a NumPy script: the schedule's formula, or its numbers where it is no simple formula."""

from __future__ import annotations

from core.export.scripts.plan import Plan, ScriptError
from core.optim.schedules import Schedule
from core.optim.schedules.keras import ExponentialDecay
from core.optim.schedules.torch_cycles import CosineAnnealingLR
from core.optim.schedules.torch_factors import ExponentialLR, MultiStepLR, PolynomialLR, StepLR


def rate_lines(plan: Plan) -> list[str]:
    """'def rate(lr, k)', for constant rates too."""
    schedules = []
    for stretch in plan.stretches:
        found = stretch.optimizer.chain.rate
        schedules.append((stretch.step, None if found is None else found.schedule))
    for _, schedule in schedules:
        if schedule is not None and schedule.watches:
            raise ScriptError(f"numpy: the schedule {schedule.name} watches the loss and is not written out")
        if schedule is not None and schedule.moves_momentum:
            raise ScriptError(f"numpy: the schedule {schedule.name} moves the momentum and is not written out")
    first = schedules[0][1]
    same = all(_settings(schedule) == _settings(first) for _, schedule in schedules)
    if same and first is None:
        return []
    text = _formula(first) if same and first is not None else None
    if text is not None:
        return ["", "def rate(lr, k):", f"    return {text}", ""]
    names = ", ".join(dict.fromkeys("constant" if s is None else s.name for _, s in schedules))
    return [
        "",
        f"RATES = {rates(plan)!r}  # of the schedule {names}, worked out by Stepscope",
        "",
        "",
        "def rate(lr, k):",
        "    return RATES[k]",
        "",
    ]


def rates(plan: Plan) -> list[float]:
    """The learning rate of every step of the plan, in float64."""
    found = []
    for step in range(plan.steps):
        stretch = next(s for s in reversed(plan.stretches) if s.step <= step)
        rate = stretch.optimizer.chain.rate
        found.append(0.0 if rate is None else rate.rate(step))
    return found


def _settings(schedule: Schedule | None) -> object:
    return None if schedule is None else schedule.settings()


def _formula(schedule: Schedule) -> str | None:
    if isinstance(schedule, StepLR):
        return f"lr * {schedule.gamma!r} ** (k // {schedule.step_size})"
    if isinstance(schedule, MultiStepLR):
        return f"lr * {schedule.gamma!r} ** sum(m <= k for m in {schedule.ordered!r})"
    if isinstance(schedule, ExponentialLR):
        return f"lr * {schedule.gamma!r} ** k"
    if isinstance(schedule, PolynomialLR):
        total = schedule.total_iters
        return f"lr * (1.0 - min(k, {total}) / {total}) ** {schedule.power!r}"
    if isinstance(schedule, CosineAnnealingLR):
        values = schedule.values()
        low, span = values["eta_min"], values["T_max"]
        return f"{low!r} + (lr - {low!r}) * (1.0 + math.cos(math.pi * k / {span})) / 2.0"
    if (
        isinstance(schedule, ExponentialDecay)
        and not schedule.values()["staircase"]
        and (schedule.values()["numbers"] == "float64")
    ):
        values = schedule.values()
        return f"{values['initial_learning_rate']!r} * {values['decay_rate']!r} ** (k / {values['decay_steps']!r})"
    return None
