"""The loop of a plain NumPy script: the gradient from the traced reverse pass, the optimizer written out."""

from __future__ import annotations

import itertools

from core.export.scripts.data import data_lines
from core.export.scripts.formula import coordinate_names, gradient_lines
from core.export.scripts.network_numpy import gradient_function
from core.export.scripts.numpy_rows import Rows, rows_of
from core.export.scripts.numpy_schedules import rate_lines
from core.export.scripts.pieces import has_noise, noise_function
from core.export.scripts.plan import Plan, ScriptError, indented, losses


def body(plan: Plan) -> list[str]:
    """The lines of the script; ScriptError names the row or schedule that is not written out."""
    rows = [(stretch.step, rows_of(stretch.optimizer, plan.is_model)) for stretch in plan.stretches]
    first = rows[0][1]
    lines = ["import math", "from pathlib import Path", "", "import numpy as np", "", 'np.seterr(all="ignore")']
    if plan.is_model:
        lines += [*data_lines(plan), *gradient_function(plan), *rate_lines(plan), "", "w = start"]
        ends = list(itertools.accumulate(variable.size for variable in plan.first.objective.variables))
        parts = ", ".join(f"slice({begin}, {end})" for begin, end in zip([0, *ends], ends, strict=False))
        if any("in PARTS" in line for line in first.lines):
            lines.append(f"PARTS = [{parts}]  # of every variable in w")
    else:
        lines += [*_gradients(plan), *noise_function(plan), *rate_lines(plan), ""]
        lines += [f"w = np.array({plan.start!r}, dtype=np.float64)"]
    lines += [f"{name} = {value}" for name, value in first.numbers.items()]
    lines += [f"{name} = {value}" for name, value in first.state.items()]
    loop = _changes(rows)
    loop += ["loss, g = value_and_gradient(w, step)"]
    if has_noise(plan):
        loop.append("g = g + noise(step)")
    loop += ["print(step, float(loss), *w.tolist())", "t = step + 1", "u = g", *first.lines, "w = w + u"]
    return [*lines, "", f"for step in range({plan.steps}):", *indented(loop)]


def _gradients(plan: Plan) -> list[str]:
    found = losses(plan)
    lines: list[str] = []
    for step, objective in found:
        name = "value_and_gradient(w, step)" if len(found) == 1 else f"value_and_gradient_from_{step}(w)"
        unpacked = [f"{coordinate} = w[{i}]" for i, coordinate in enumerate(coordinate_names(objective))]
        lines += ["", f"def {name}:", *indented([*unpacked, *gradient_lines(objective)]), ""]
    if len(found) > 1:
        lines += ["", "def value_and_gradient(w, step):"]
        for step, _ in reversed(found[1:]):
            lines += [f"    if step >= {step}:", f"        return value_and_gradient_from_{step}(w)"]
        lines += ["    return value_and_gradient_from_0(w)", ""]
    return lines


def _changes(rows: list[tuple[int, Rows]]) -> list[str]:
    lines: list[str] = []
    for (_, before), (step, after) in itertools.pairwise(rows):
        if before.lines != after.lines:
            raise ScriptError(
                f"numpy: at step {step} a row was switched on or off or changed its rule; a script has one set of rows"
            )
        changed = [key for key in after.numbers if before.numbers[key] != after.numbers[key]]
        if changed:
            lines += [f"if step == {step}:", *(f"    {key} = {after.numbers[key]}" for key in changed)]
    return lines
