"""'run', 'new', 'problems', 'optimizers': the commands around a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from core.commands.sources import RequestError
from core.problems import problem, problem_names
from core.simulation import Experiment, Simulation
from core.traces import write_trace

SLICE = 0.1


def run_command(experiment: Experiment, steps: int, out: str | None, as_json: bool) -> int:
    """Run ``steps`` steps, write the trace, say how it ended. 0: done, 1: it diverged."""
    if steps < 1:
        raise RequestError(f"--steps {steps}: at least one step")
    if out is not None and Path(out).suffix not in (".npz", ".csv"):
        raise RequestError(f"--out {out}: a trace ends in .npz or .csv")
    simulation = Simulation(experiment)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("running", total=steps)
        while simulation.step < steps and not simulation.trouble:
            simulation.advance(steps - simulation.step, SLICE)
            progress.update(task, completed=simulation.step)
    if out is not None:
        write_trace(simulation.history, out, simulation.experiment)
    print(_summary(simulation, out, as_json))
    if simulation.trouble:
        print(simulation.trouble, file=sys.stderr)
        return 1
    return 0


def _summary(simulation: Simulation, out: str | None, as_json: bool) -> str:
    history = simulation.history
    losses = history.scalar("loss")
    metrics = simulation.objective.metrics(simulation.weights)
    if as_json:
        data = {
            "steps": history.count,
            "first_loss": _number(losses[0]),
            "last_loss": _number(losses[-1]),
            "metrics": {name: _number(value) for name, value in metrics.items()},
            "weights": [_number(value) for value in simulation.weights.astype(np.float64)],
            "trouble": simulation.trouble,
            "out": out,
        }
        return json.dumps(data)
    text = f"{history.count} steps, loss {losses[0]:.6g} -> {losses[-1]:.6g}"
    text += "".join(f", {name} {value:.4g}" for name, value in metrics.items())
    return text + (f"; written to {out}" if out else "")


def _number(value: float) -> float | str:
    return float(value) if np.isfinite(value) else str(float(value))


def new_command(experiment: Experiment, path: str) -> int:
    """Write an experiment file to start from."""
    Simulation(experiment)
    experiment.save(path)
    print(f"written to {path}")
    return 0


def problems_command() -> int:
    """List the problems with what they are."""
    for name in problem_names():
        found = problem(name)
        print(f"{name:24} {found.title}: {found.formula}")
    return 0


EXAMPLES = (
    "torch.optim.SGD(params, lr=0.1, momentum=0.9)",
    "torch.optim.AdamW(params, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)",
    "torch.nn.utils.clip_grad_norm_(params, max_norm=1.0); torch.optim.SGD(params, lr=0.1)",
    "tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9, clipnorm=1.0)",
    "tf.compat.v1.train.AdamOptimizer(0.01)",
    "optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))",
)


def optimizers_command() -> int:
    """Show lines that are understood, and the transforms they are made of."""
    from core.optim.transforms import TRANSFORMS

    print("Lines that are understood, for example:")
    for line in EXAMPLES:
        print(f"  {line}")
    print("\nTransforms (the rows of the ledger):")
    for name, transform in TRANSFORMS.items():
        print(f"  {name:26} {transform.cause:20} {transform.formula}")
    return 0
