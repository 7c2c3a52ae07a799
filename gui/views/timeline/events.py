"""Live changes as people read them: 'step 140: lr 0.06 → 0.045', a slider's whole drag as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QCoreApplication

from core.optim.optimizer import Optimizer
from core.simulation.experiment import Event
from gui.theme import cause_color

translate = QCoreApplication.translate
TOGETHER = 0.02
"""Changes of one setting nearer than this share of the run (or 5 steps) are one mark: they are one drag."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: from ``first`` to ``last`` step, what changed from ``old`` to ``value``, and its colour."""

    first: int
    last: int
    target: str
    key: str
    old: Any
    value: Any
    color: str = ""


def marks_of(events: Sequence[Event], count: int, causes: Mapping[str, str], quiet: str) -> list[Mark]:
    """The marks of a run of ``count`` steps; ``causes`` maps row names to causes, ``quiet`` colours the others."""
    near = max(int(count * TOGETHER), 5)
    found: list[Mark] = []
    newest: dict[tuple[str, str], int] = {}
    for event in sorted(events, key=lambda e: e.step):
        place = newest.get((event.target, event.key))
        if place is not None and event.step - found[place].last <= near:
            found[place] = replace(found[place], last=event.step, value=event.value)
            continue
        newest[event.target, event.key] = len(found)
        row = event.target.partition(".")[0]
        color = cause_color(causes[row]) if row in causes else quiet
        found.append(Mark(event.step, event.step, event.target, event.key, event.old, event.value, color))
    return found


def mark_text(mark: Mark, optimizer: Optimizer | None) -> str:
    """'step 140: lr 0.06 → 0.045' in words of the chain at hand."""
    what = _what(mark, optimizer)
    if mark.first == mark.last:
        return translate("Timeline", "step {0}: {1}").format(f"{mark.first:,}", what)
    return translate("Timeline", "steps {0} to {1}: {2}").format(f"{mark.first:,}", f"{mark.last:,}", what)


def _what(mark: Mark, optimizer: Optimizer | None) -> str:
    if mark.target == "weights":
        return translate("Timeline", "weights moved by hand")
    if mark.target == "optimizer":
        if mark.key == "order":
            return translate("Timeline", "chain in another order")
        lines = [line.strip() for line in str(mark.value).splitlines() if line.strip()]
        return translate("Timeline", "other optimizer: {0}").format(lines[-1] if lines else "")
    label, symbol, alone = mark.target, mark.key, False
    if mark.target == "problem":
        label = translate("Timeline", "problem")
    elif optimizer is not None and mark.target.partition(".")[0] in optimizer.chain.row_names:
        transform = optimizer.transform(mark.target.partition(".")[0])
        label = transform.label
        schedule = getattr(transform, "schedule", None)
        owner = schedule if mark.target.endswith(".schedule") and schedule is not None else transform
        symbols = {parameter.key: parameter.symbol for parameter in owner.parameters}
        symbol = symbols.get(mark.key, mark.key)
        alone = mark.key == "learning_rate"
    if mark.key == "enabled":
        return (
            translate("Timeline", "{0} switched on").format(label)
            if mark.value
            else translate("Timeline", "{0} switched off").format(label)
        )
    name = symbol if alone else f"{label} {symbol}"
    return f"{name} {value_text(mark.old)} → {value_text(mark.value)}"


def value_text(value: Any) -> str:
    """A setting's value in few characters."""
    if isinstance(value, bool):
        return translate("Timeline", "on") if value else translate("Timeline", "off")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return str(value.get("name", value))
    return translate("Timeline", "none") if value is None else str(value)
