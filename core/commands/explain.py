"""'explain': the ledger of one step as text, or as JSON for programs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from core.commands.formulas import formula_data, formula_lines
from core.commands.sources import Source
from core.simulation.gradient_parts import expected_parts, gradient_parts
from core.simulation.recorded import RecordedEntry, RecordedLedger
from core.simulation.simulation import Simulation
from core.simulation.whatif import unmissed
from core.simulation.wording import plain

MAX_COMPONENTS = 8


def explain_data(source: Source, step: int) -> dict[str, Any]:
    """The ledger of one step as plain data: every number in full precision, nan and inf as text."""
    source.reach(step)
    ledger = RecordedLedger(source.history, step)
    return {
        "step": step,
        **_parts_data(source, step),
        "loss": _plain(ledger.loss),
        "learning_rate": _plain(ledger.learning_rate),
        "base_learning_rate": _plain(ledger.base_learning_rate),
        "skipped": ledger.skipped,
        "figures": {name: _plain(value) for name, value in ledger.figures.items()},
        "variables": {name: _entry_data(source, ledger[name], step) for name in ledger},
        **_formulas_data(source, step),
    }


def _formulas_data(source: Source, step: int) -> dict[str, Any]:
    """Formulas with their numbers; a trace has no optimizer behind it, and so none."""
    if source.simulation is None:
        return {}
    found = formula_data(source.simulation, step)
    for row in found:
        row["numbers"] = {
            symbol: {key: _plain(value) for key, value in ends.items()} for symbol, ends in row["numbers"].items()
        }
        row["contribution"] = _plain(row["contribution"])
    return {"formulas": found}


def _parts_data(source: Source, step: int) -> dict[str, Any]:
    """What the gradient is made of, where it has parts; nothing for a trace, which has no problem behind it."""
    parts = gradient_parts(source.simulation, step) if source.simulation is not None else {}
    return {"gradient_parts": {name: _plain(part) for name, part in parts.items()}} if parts else {}


def _entry_data(source: Source, entry: RecordedEntry, step: int) -> dict[str, Any]:
    layout = source.history.layout
    part = layout.slices[layout.names.index(entry.name)]
    return {
        "shape": list(entry.shape),
        "weights": _plain(source.history.weights(step)[part].reshape(entry.shape)),
        "gradient": _plain(source.history.gradient(step)[part].reshape(entry.shape)),
        "expected": _plain(entry.expected),
        "rows": [
            {"name": row.name, "cause": row.cause, "contribution": _plain(row.contribution)} for row in entry.rows
        ],
        "applied": _plain(entry.applied),
        "residual": _plain(entry.residual),
    }


def explain_json(source: Source, step: int) -> str:
    """``explain_data`` as one JSON document."""
    return json.dumps(explain_data(source, step), indent=2, ensure_ascii=False)


def explain_text(source: Source, step: int) -> str:
    """The ledger of one step as a table for people: expected, one line a cause, applied, residual."""
    source.reach(step)
    ledger = RecordedLedger(source.history, step)
    schema = source.history.schema(step)
    lines = [
        f"step {step}   loss {ledger.loss:.8g}   learning rate {ledger.learning_rate:.6g}"
        + (f" (base {ledger.base_learning_rate:.6g})" if ledger.learning_rate != ledger.base_learning_rate else "")
        + ("   SKIPPED by a guard" if ledger.skipped else "")
    ]
    parts = expected_parts(source.simulation, step) if source.simulation is not None else {}
    for name in ledger:
        entry = ledger[name]
        part = source.history.layout.slices[source.history.layout.names.index(name)]
        above = [(f"-lr*g, {label}", vector[part].reshape(entry.shape)) for label, vector in parts.items()]
        lines += ["", *_variable_lines(entry, schema.labels, above)]
    from core.simulation.story import story

    made = source.experiment
    storage, arithmetic = (made.storage, made.arithmetic) if made is not None else ("", "")
    lines += ["", story(source.history, step, storage=storage, arithmetic=arithmetic)]
    if source.simulation is not None:
        lines += _from_the_problem(source.simulation, step)
        lines += ["", *formula_lines(source.simulation, step)]
        notes = (*source.simulation.optimizer.remarks, *source.simulation.objective_at(step).cautions)
        lines += [f"note: {note}" for note in notes]
    return "\n".join(lines)


def _from_the_problem(simulation: Simulation, step: int) -> list[str]:
    """What only the problem itself can tell: where an inf or nan comes from, whether the step is too long for the
    loss, and rows that would not be missed.
    """
    from core.problems.non_finite import describe, origin
    from core.simulation.overshoot import overshoot

    history = simulation.history
    weights, gradient = history.weights(step), history.gradient(step)
    if not (np.isfinite(history.scalar("loss")[step]) and np.isfinite(gradient).all()):
        found = origin(simulation.objective_at(step), weights)
        return [f"It comes from the loss: {describe(found)}."] if found is not None else []
    told = []
    passed = overshoot(simulation, step)
    if passed is not None:
        rate = float(history.scalar("learning_rate")[step])
        plain_step = np.allclose(history.applied(step), -rate * gradient, rtol=1e-6, atol=0.0)
        told.append(passed.sentence(rate if plain_step else None))
    return told + [plain(one.sentence()) for one in unmissed(simulation, step)]


def _variable_lines(
    entry: RecordedEntry, labels: tuple[str, ...], above: list[tuple[str, np.ndarray[Any, Any]]]
) -> list[str]:
    size = math.prod(entry.shape)
    shown = min(size, MAX_COMPONENTS)
    picked = np.argsort(-np.abs(entry.applied.ravel()), kind="stable")[:shown] if size > shown else np.arange(size)
    picked = np.sort(picked)
    heading = [f"{entry.name}[{i}]" for i in picked] if entry.shape else [entry.name]
    table: list[tuple[str, np.ndarray[Any, Any]]] = [*above, ("expected  -lr*g", entry.expected)]
    table += [(label, row.contribution) for label, row in zip(labels, entry.rows, strict=True)]
    table += [("applied", entry.applied), ("residual", _visible(entry))]
    width = max(len(label) for label, _ in table)
    lines = [f"{'':{width}}  {'norm':>13}" + "".join(f"  {name:>13}" for name in heading)]
    for position, (label, values) in enumerate(table):
        flat = values.ravel()
        if position == len(table) - 2:
            lines.append("-" * len(lines[0]))
        norm = float(np.sqrt(np.sum(flat * flat)))
        lines.append(f"{label:{width}}  {norm:13.6g}" + "".join(f"  {flat[i]:13.6g}" for i in picked))
    if size > shown:
        lines.append(f"({shown} of {size} components, those that moved most; --json has all)")
    return lines


def _visible(entry: RecordedEntry) -> np.ndarray[Any, Any]:
    """The residual, 0 where it is only the rounding of the sums (8 units in the last place of the largest |d_k|)."""
    running = entry.expected.copy()
    largest = np.abs(running)
    with np.errstate(all="ignore"):
        for row in entry.rows:
            running = running + row.contribution
            largest = np.fmax(largest, np.abs(running))
        bound = 8 * np.spacing(largest)
    return np.where(np.abs(entry.residual) <= bound, 0.0, entry.residual)


def _plain(value: Any) -> Any:
    """Numbers as JSON has them; what JSON lacks ('nan', 'inf', '-inf') as text."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
