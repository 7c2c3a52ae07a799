"""The whole text of a script: head, loss, loop."""

from __future__ import annotations

from collections.abc import Callable

from core.export.scripts import keras_loop, numpy_loop, optax_loop, torch_loop
from core.export.scripts.plan import Plan, ScriptError, make_plan
from core.optim.dialects import NotRepresentable
from core.simulation import Experiment

FRAMEWORKS: dict[str, Callable[[Plan], list[str]]] = {
    "torch": torch_loop.body,
    "keras": keras_loop.body,
    "optax": optax_loop.body,
    "numpy": numpy_loop.body,
}
"""framework -> the lines of a script for a plan, in which it puts notes; ScriptError says what it cannot do."""


def experiment_script(experiment: Experiment, framework: str, steps: int) -> str:
    """A Python program that prints 'step loss weights ...' for each of the first ``steps`` steps, in full precision.

    ``framework``: 'torch', 'keras', 'optax' or 'numpy'. ScriptError gives the exact reason when the framework cannot
    take the same steps.
    """
    if framework not in FRAMEWORKS:
        raise ScriptError(f"no framework {framework!r}; there are: {', '.join(FRAMEWORKS)}")
    plan = make_plan(experiment, steps)
    try:
        lines = FRAMEWORKS[framework](plan)
    except NotRepresentable as error:
        raise ScriptError(f"{framework}: {error}") from None
    return "\n".join([*_head(plan, framework), *lines]) + "\n"


def _head(plan: Plan, framework: str) -> list[str]:
    objective = plan.first.objective
    values = ", ".join(f"{key} = {value}" for key, value in objective.values.items())
    lines = [
        f"Stepscope experiment in {framework}: prints step, loss and weights before every step, in full precision.",
        "",
        f"Problem: {objective.name}: {objective.formula}" + (f" with {values}" if values else ""),
        "Optimizer as pasted:",
        *(f"    {line}" for line in plan.experiment.optimizer.splitlines()),
    ]
    if plan.experiment.comment:
        lines += ["Comment:", *(f"    {line}" for line in plan.experiment.comment.splitlines())]
    lines += [f"Note: {note}" for note in dict.fromkeys(plan.notes)]
    return [f"# {line}".rstrip() for line in lines] + [""]
