"""What a command works on: an experiment from a file or from options, or a recorded trace."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from core.declare import SettingError
from core.problems import problem_names
from core.simulation import Experiment, ExperimentError, History, ProblemSettings, Simulation
from core.traces import read_trace

DEFAULT_OPTIMIZER = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


class RequestError(ValueError):
    """The request was wrong (exit code 2)."""


@dataclass
class Source:
    """A run to look at: its history, and the simulation or the experiment behind it when there is one."""

    history: History
    experiment: Experiment | None
    simulation: Simulation | None

    def reach(self, step: int) -> None:
        """Have ``step`` in the history; a trace that is too short is the request's fault."""
        if step < 0:
            raise RequestError(f"--step {step}: steps count from 0")
        if self.simulation is not None and step >= self.history.count:
            self.simulation.advance(step + 1 - self.history.count)
        if step >= self.history.count:
            trouble = self.simulation.trouble if self.simulation is not None else ""
            reason = trouble or f"it holds {self.history.count} steps"
            raise RequestError(f"--step {step} is beyond the run: {reason}")


def add_experiment_options(parser: argparse.ArgumentParser) -> None:
    """The options that stand for an experiment file, or change one."""
    parser.add_argument("--problem", metavar="NAME", help="a problem ('problems' lists them) or an expression in x, y")
    parser.add_argument("--optimizer", metavar="LINES", help="the lines of a training loop ('optimizers' shows some)")
    parser.add_argument("--start", metavar="X,Y", help="starting weights, separated by commas")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of starts and mini-batches")
    parser.add_argument("--storage", choices=("float64", "float32", "float16", "bfloat16"), help="type of the weights")


def experiment_from(arguments: argparse.Namespace, path: str | None) -> Experiment:
    """The experiment in the file at ``path`` (default: the built-in one) with the options put over it."""
    experiment = Experiment.load(path) if path else Experiment(optimizer=DEFAULT_OPTIMIZER)
    changes: dict[str, object] = {}
    if arguments.problem:
        names = problem_names()
        if arguments.problem in names:
            changes["problem"] = ProblemSettings(name=arguments.problem)
        elif any(sign in arguments.problem for sign in "+-*/()0123456789") or arguments.problem in ("x", "y"):
            changes["problem"] = ProblemSettings(name="expression", expression=arguments.problem)
        else:
            raise RequestError(f"--problem {arguments.problem!r} is not known; there are: {', '.join(names)}")
    if arguments.optimizer:
        changes["optimizer"] = arguments.optimizer
    if arguments.start:
        changes["start"] = _numbers(arguments.start)
    if arguments.seed is not None:
        changes["seed"] = arguments.seed
    if arguments.storage:
        changes["storage"] = arguments.storage
    return experiment.replace(**changes)


def source_from(arguments: argparse.Namespace, path: str | None) -> Source:
    """A trace (.npz) read back, or a fresh simulation of the experiment asked for."""
    if path and Path(path).suffix == ".npz":
        history, experiment = read_trace(path)
        return Source(history, experiment, None)
    experiment = experiment_from(arguments, path)
    simulation = Simulation(experiment)
    return Source(simulation.history, experiment, simulation)


def other_source(arguments: argparse.Namespace, given: str, first: Source) -> Source:
    """The second run of a comparison: a file, or optimizer lines for the first run's problem, start and seed."""
    if Path(given).suffix in (".json", ".npz") or "(" not in given:
        return source_from(arguments, given)
    if first.experiment is None:
        raise RequestError("the first run is a trace without its experiment: give a file for the second one as well")
    simulation = Simulation(first.experiment.replace(optimizer=given, events=[]))
    return Source(simulation.history, simulation.experiment, simulation)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise RequestError(f"--start {text!r}: give numbers separated by commas, for example --start -1.2,1") from None


REQUEST_ERRORS = (RequestError, ExperimentError, SettingError)
