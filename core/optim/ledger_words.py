"""Ledgers and optimizers as the lines a console or notebook shows for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from core.optim.ledger import AbsentEntry, Entry, Float64, StepLedger
    from core.optim.optimizer import Optimizer

SHOWN = 4
"""Arrays up to this size are shown by their numbers, larger ones by their norm."""


def name_of(variable: Any) -> str:
    """What a variable of the step is called; flat steps know them by name alone."""
    return str(getattr(variable, "name", variable))


def figure(values: Float64) -> str:
    """A few numbers as they are, many by their norm."""
    if values.size <= SHOWN:
        return np.array2string(values, precision=6, separator=", ").replace("\n", "")
    with np.errstate(all="ignore"):
        return f"‖·‖ = {float(np.sqrt(np.sum(values * values))):.6g}"


def entry_text(entry: Entry) -> str:
    """Expected, a line a row, applied, residual."""
    lines = [("expected", "−lr · g", entry.expected)]
    lines += [(row.name, row.cause, row.contribution) for row in entry.rows]
    lines += [("applied", "w_next − w", entry.applied), ("residual", "", entry.residual)]
    wide = max(len(name) for name, _, _ in lines)
    broad = max(len(cause) for _, cause, _ in lines)
    head = f"Entry of {entry.name!r}, shape {entry.shape}: {entry.status}"
    return "\n".join([head, *[f"  {name:{wide}}  {cause:{broad}}  {figure(values)}" for name, cause, values in lines]])


def ledger_text(ledger: StepLedger) -> str:
    """The step, and a line a variable with what was expected and applied."""
    head = f"StepLedger of step {ledger.step}: lr_t = {ledger.learning_rate:g} of {ledger.base_learning_rate:g}"
    lines = [head + (", skipped" if ledger.skipped else "")]
    lines.append(f"  rows: {', '.join(ledger.row_names)}")
    entries: Sequence[Entry | AbsentEntry] = [ledger[key] for key in (*ledger, *ledger.absent)]
    for entry in entries:
        told = f"expected {figure(entry.expected)}, applied {figure(entry.applied)}"
        lines.append(f"  {entry.name!r} {entry.shape} {entry.status}: {told}")
    return "\n".join(lines)


def optimizer_text(optimizer: Optimizer) -> str:
    """The dialect, the steps taken, and a line a transform (those of the first group)."""
    groups = len(optimizer.groups)
    head = f"Optimizer ({optimizer.dialect}), {optimizer.step_count} steps taken"
    head += f", {groups} parameter groups, the first" if groups > 1 else ""
    rows = [f"  {row!r}{'' if row.enabled else '  (switched off)'}" for row in optimizer.chain]
    return "\n".join([f"{head}:", *rows])
