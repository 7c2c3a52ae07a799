"""The whole text of a script: head, loss, loop."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.export.scripts import keras_loop, numpy_loop, optax_loop, torch_loop
from core.export.scripts.plan import Plan, ScriptError, make_plan
from core.optim.dialects import NotRepresentable
from core.problems.models import ModelObjective
from core.problems.objective import Objective
from core.simulation import Experiment
from core.simulation.experiment import write_atomically

FRAMEWORKS: dict[str, Callable[[Plan], list[str]]] = {
    "torch": torch_loop.body,
    "keras": keras_loop.body,
    "optax": optax_loop.body,
    "numpy": numpy_loop.body,
}
"""framework -> the lines of a script for a plan, in which it puts notes; ScriptError says what it cannot do."""


@dataclass(frozen=True)
class Script:
    """A program, and the arrays it reads from the file ``data_name`` beside it (none for functions and small data)."""

    text: str
    arrays: Mapping[str, NDArray[Any]]
    data_name: str

    def write(self, path: str | Path) -> list[Path]:
        """Write the program to ``path`` and its data beside it; the files written. OSError when that fails."""
        file = Path(path)
        written = []
        if self.arrays:
            content = io.BytesIO()
            np.savez_compressed(content, **self.arrays)  # type: ignore[arg-type]
            written.append(file.with_name(self.data_name))
            write_atomically(written[0], content.getvalue())
        write_atomically(file, self.text.encode())
        return [file, *written]


def make_script(experiment: Experiment, framework: str, steps: int, data_name: str = "data.npz") -> Script:
    """A Python program that prints 'step loss weights ...' for each of the first ``steps`` steps, in full precision.

    ``framework``: 'torch', 'keras', 'optax' or 'numpy'. ScriptError gives the exact reason when the framework cannot
    take the same steps.
    """
    if framework not in FRAMEWORKS:
        raise ScriptError(f"no framework {framework!r}; there are: {', '.join(FRAMEWORKS)}")
    plan = make_plan(experiment, steps, data_name)
    try:
        lines = FRAMEWORKS[framework](plan)
    except NotRepresentable as error:
        raise ScriptError(f"{framework}: {error}") from None
    if not plan.arrays:
        lines = [line for line in lines if line != "from pathlib import Path"]
    return Script("\n".join([*_head(plan, framework), *lines]) + "\n", plan.arrays, data_name)


def experiment_script(experiment: Experiment, framework: str, steps: int) -> str:
    """The text of ``make_script`` for a place that holds text only; ScriptError when a file has to stand beside it."""
    script = make_script(experiment, framework, steps)
    if script.arrays:
        raise ScriptError(
            "its data is too large to stand in the text; write it to a file ('stepscope script -o FILE.py'), and the "
            "data goes beside it"
        )
    return script.text


def _head(plan: Plan, framework: str) -> list[str]:
    objective = plan.first.objective
    values = ", ".join(f"{key} = {value}" for key, value in objective.values.items())
    lines = [
        f"Stepscope experiment in {framework}: prints step, loss and weights before every step, in full precision.",
        "",
        f"Problem: {objective.name}: {objective.formula}" + (f" with {values}" if values else ""),
        *_model(objective),
        "Optimizer as pasted:",
        *(f"    {line}" for line in plan.experiment.optimizer.splitlines()),
    ]
    if plan.experiment.comment:
        lines += ["Comment:", *(f"    {line}" for line in plan.experiment.comment.splitlines())]
    lines += [f"Note: {note}" for note in dict.fromkeys(plan.notes)]
    return [f"# {line}".rstrip() for line in lines] + [""]


def _model(objective: Objective) -> list[str]:
    if not isinstance(objective, ModelObjective):
        return []
    options = {key: value for key, value in objective.options.items() if isinstance(value, str | int | float | list)}
    return ["Model: " + ", ".join(f"{key} = {value}" for key, value in options.items())]
