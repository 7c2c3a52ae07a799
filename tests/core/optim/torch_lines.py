"""Recorded PyTorch cases written as the lines a training script has, and the rates that such lines give."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.optim import parse_optimizer
from core.optim.layout import Layout

UNSAID = {"name"}
CLIPS = {"clip_grad_norm_", "clip_grad_value_"}


def value_text(value: Any) -> str:
    """A recorded value as Python code ('Infinity' and 'inf' are text in the files)."""
    if isinstance(value, str) and value.lower() in ("inf", "infinity"):
        return "float('inf')"
    if isinstance(value, list):
        return "(" + ", ".join(value_text(item) for item in value) + ",)"
    return repr(value)


def arguments(settings: dict[str, Any], unsaid: set[str] = UNSAID) -> str:
    """``key=value`` for every setting."""
    return ", ".join(f"{key}={value_text(value)}" for key, value in settings.items() if key not in unsaid)


def schedule_line(schedule: dict[str, Any]) -> str:
    """The scheduler's constructor call."""
    name = schedule["name"]
    if name == "InverseSqrt":
        w = schedule["warmup"]
        return f"torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: min((e + 1) / {w}, math.sqrt({w} / (e + 1))))"
    if name == "SequentialLR":
        parts = ", ".join(schedule_line(part) for part in schedule["schedulers"])
        return f"torch.optim.lr_scheduler.SequentialLR(optimizer, [{parts}], milestones={schedule['milestones']})"
    return f"torch.optim.lr_scheduler.{name}(optimizer, {arguments(schedule)})"


def lines(case: dict[str, Any]) -> str:
    """The whole program of a recorded case."""
    result = []
    clip = case.get("clip")
    if clip:
        result.append(f"torch.nn.utils.{clip['kind']}(params, {arguments(clip, {'kind'})})")
    settings = case["optimizer"]
    result.append(f"optimizer = torch.optim.{settings['name']}(params, {arguments(settings)})")
    if case.get("schedule"):
        result.append(f"scheduler = {schedule_line(case['schedule'])}")
    scaler = case.get("grad_scaler")
    if scaler:
        result.append(f"scaler = torch.amp.GradScaler('cpu', {arguments(scaler)})")
    return "\n".join(result)


GROUPS = """
optimizer = torch.optim.SGD([
    {'params': model.base.parameters()},
    {'params': model.head.parameters(), 'lr': 1.0, 'weight_decay': 0.5},
], lr=0.1, momentum=0.9)
"""


def rates(text: str, steps: int, losses: list[float] | None = None) -> list[float]:
    """lr_t of the first steps."""
    optimizer, layout = parse_optimizer(text), Layout(["w"], [(1,)])
    w, found = np.zeros(1), []
    for k in range(steps):
        ledger, w = optimizer.step_flat(w, np.ones(1), layout, loss=None if losses is None else losses[k])
        found.append(ledger.learning_rate)
    return found
