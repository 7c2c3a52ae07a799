"""'run', 'new', 'problems', 'optimizers': the commands around a run."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from core.commands.progress import advance_to
from core.commands.sources import RequestError, check_steps
from core.declare import Parameter
from core.problems import problem, problem_names
from core.problems.objective import Objective
from core.simulation import Experiment, Simulation
from core.simulation.plain import plain, spelled
from core.traces import write_trace


def run_command(experiment: Experiment, steps: int, out: str | None, as_json: bool) -> int:
    """Run ``steps`` steps, write the trace, say how it ended. 0: done, 1: it diverged."""
    check_steps(steps)
    if out is not None and Path(out).suffix not in (".npz", ".csv"):
        raise RequestError(f"--out {out}: a trace ends in .npz or .csv")
    simulation = Simulation(experiment)
    advance_to(simulation, steps)
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


def new_command(experiment: Experiment, path: str, force: bool = False, as_json: bool = False) -> int:
    """Write an experiment file to start from; one that is there stays unless ``force`` is given."""
    if not path.strip():
        raise RequestError("--out is empty: give the name of the file to write")
    if Path(path).is_dir():
        raise RequestError(f"--out {path}: this is a folder; give the name of a file in it")
    if not force and Path(path).exists():
        raise RequestError(f"--out {path}: there is such a file already; choose another name, or --force to replace it")
    Simulation(experiment)
    experiment.save(path)
    print(json.dumps({"out": path}) if as_json else f"written to {path}")
    return 0


def problems_command(as_json: bool = False) -> int:
    """List the problems with what they are."""
    found = [problem(name) for name in problem_names()]
    if as_json:
        print(json.dumps([_problem_data(name, it) for name, it in zip(problem_names(), found, strict=True)]))
        return 0
    for name, it in zip(problem_names(), found, strict=True):
        print(f"{name:24} {it.title}: {it.formula}")
    return 0


def _problem_data(name: str, it: Objective) -> dict[str, Any]:
    return {
        "name": name,
        "title": it.title,
        "formula": it.formula,
        "weights": it.size,
        "bounds": it.bounds,
        "values": spelled(plain(dict(it.values))),
        "parameters": [_parameter_data(parameter) for parameter in it.parameters],
    }


def _parameter_data(parameter: Parameter) -> dict[str, Any]:
    """What a program needs to set it: name, symbol, default and what is accepted."""
    data = {
        "key": parameter.key,
        "symbol": parameter.symbol,
        "scale": parameter.scale,
        "default": parameter.default,
        "minimum": None if parameter.minimum == -math.inf else parameter.minimum,
        "maximum": None if parameter.maximum == math.inf else parameter.maximum,
        "choices": parameter.choices or None,
        "optional": parameter.optional,
        "about": parameter.tooltip,
    }
    return {key: value for key, value in spelled(plain(data)).items() if value is not None or key == "default"}


EXAMPLES = (
    "torch.optim.SGD(params, lr=0.1, momentum=0.9)",
    "torch.optim.AdamW(params, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)",
    "torch.nn.utils.clip_grad_norm_(params, max_norm=1.0); torch.optim.SGD(params, lr=0.1)",
    "tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9, clipnorm=1.0)",
    "tf.compat.v1.train.AdamOptimizer(0.01)",
    "optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))",
)


def optimizers_command(as_json: bool = False) -> int:
    """Show lines that are understood, and the transforms they are made of."""
    from core.optim.transforms import TRANSFORMS

    if as_json:
        transforms = [
            {
                "name": name,
                "cause": transform.cause,
                "formula": transform.formula,
                "parameters": [_parameter_data(parameter) for parameter in transform.parameters],
            }
            for name, transform in TRANSFORMS.items()
        ]
        print(json.dumps({"examples": EXAMPLES, "transforms": transforms}))
        return 0
    print("Lines that are understood, for example:")
    for line in EXAMPLES:
        print(f"  {line}")
    print("\nTransforms (the rows of the ledger):")
    for name, transform in TRANSFORMS.items():
        print(f"  {name:26} {transform.cause:20} {transform.formula}")
    return 0
