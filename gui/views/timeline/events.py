"""Live changes as people read them: 'step 140: lr 0.06 → 0.045', a slider's whole drag as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication

from core.optim.optimizer import Optimizer
from core.simulation.experiment import Event
from core.simulation.simulation import Simulation
from gui.theme import cause_color
from gui.widgets.numbers import shown_number

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
    events: tuple[Event, ...] = ()
    """The changes it stands for, the first one first."""

    @property
    def place(self) -> tuple[str, str, int]:
        """What tells it from the other marks of the run."""
        return self.target, self.key, self.first


def marks_of(events: Sequence[Event], count: int, causes: Mapping[str, str], quiet: str) -> list[Mark]:
    """The marks of a run of ``count`` steps; ``causes`` maps row names to causes, ``quiet`` colours the others."""
    near = max(int(count * TOGETHER), 5)
    groups: list[list[Event]] = []
    newest: dict[tuple[str, str], list[Event]] = {}
    for event in sorted(events, key=lambda e: e.step):
        group = newest.get((event.target, event.key))
        if group is not None and event.step - group[-1].step <= near:
            group.append(event)
            continue
        newest[event.target, event.key] = group = [event]
        groups.append(group)
    return [_mark(group, causes, quiet) for group in groups]


def _mark(group: Sequence[Event], causes: Mapping[str, str], quiet: str) -> Mark:
    first, last = group[0], group[-1]
    row = first.target.split()[0].partition(".")[0]
    color = cause_color(causes[row]) if row in causes else quiet
    return Mark(first.step, last.step, first.target, first.key, first.old, last.value, color, tuple(group))


def mark_text(mark: Mark, optimizer: Optimizer | None) -> str:
    """'step 140: lr 0.06 → 0.045' in words of the chain at hand."""
    what = _what(mark, optimizer)
    if mark.first == mark.last:
        return translate("Timeline", "step {0}: {1}").format(f"{mark.first:,}", what)
    return translate("Timeline", "steps {0} to {1}: {2}").format(f"{mark.first:,}", f"{mark.last:,}", what)


def _what(mark: Mark, optimizer: Optimizer | None) -> str:
    if mark.target == "weights" or (mark.target == "optimizer" and mark.key == "order"):
        return _name(mark.target, mark.key, optimizer)
    if mark.target == "optimizer":
        lines = [line.strip() for line in str(mark.value).splitlines() if line.strip()]
        return translate("Timeline", "other optimizer: {0}").format(lines[-1] if lines else "")
    name = _name(mark.target, mark.key, optimizer)
    if mark.key == "enabled":
        return (
            translate("Timeline", "{0} switched on").format(name)
            if mark.value
            else translate("Timeline", "{0} switched off").format(name)
        )
    return f"{name} {value_text(mark.old)} → {value_text(mark.value)}"


def setting_text(event: Event, optimizer: Optimizer | None) -> str:
    """The name of what an event changes, in words of the chain at hand: 'lr', 'clip by value c', 'problem a'."""
    if event.target == "optimizer" and event.key == "lines":
        return translate("Timeline", "optimizer lines")
    return _name(event.target, event.key, optimizer)


def setting_texts(simulation: Simulation, events: Sequence[Event]) -> list[str]:
    """``setting_text`` of each of a run's events, looking at a chain only once for as long as it stays the same."""
    found = []
    optimizer: Optimizer | None = None
    for event in events:
        if optimizer is None or event.key in ("lines", "schedule"):
            optimizer = simulation.optimizer_at(event.step)
        found.append(setting_text(event, optimizer))
    return found


def _name(target: str, key: str, optimizer: Optimizer | None) -> str:
    if target == "weights":
        return translate("Timeline", "weights moved by hand")
    if target == "optimizer":
        return translate("Timeline", "chain in another order")
    if target == "problem":
        return translate("Timeline", "problem {0}").format(key)
    row = target.split()[0].partition(".")[0]
    label, symbol = row.replace("_", " "), key
    if optimizer is not None and row in optimizer.chain.row_names:
        transform = optimizer.transform(row)
        label = transform.label
        schedule = getattr(transform, "schedule", None)
        owner = schedule if target.endswith(".schedule") and schedule is not None else transform
        symbol = next((parameter.symbol for parameter in owner.parameters if parameter.key == key), key)
    if key == "enabled":
        return label
    return symbol if key == "learning_rate" else f"{label} {symbol}"


def event_text(value: Any) -> str:
    """A value in full, on one line: every digit, and of several lines the last."""
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        lines = [line.strip() for line in value.splitlines() if line.strip()]
        return lines[-1] if lines else ""
    if isinstance(value, list | tuple):
        return ", ".join(event_text(item) for item in value)
    return value_text(value)


def value_text(value: Any) -> str:
    """A setting's value in few characters."""
    if isinstance(value, bool):
        return translate("Timeline", "on") if value else translate("Timeline", "off")
    if isinstance(value, float):
        return shown_number(value)
    if isinstance(value, Mapping):
        return str(value.get("name", value))
    return translate("Timeline", "none") if value is None else str(value)
