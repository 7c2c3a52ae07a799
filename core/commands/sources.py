"""What a command works on: an experiment from a file or from options, or a recorded trace."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from core.commands.progress import advance_to
from core.declare import SettingError
from core.problems import problem_names
from core.simulation import Experiment, ExperimentError, History, ProblemSettings, Simulation
from core.traces import read_trace

DEFAULT_OPTIMIZER = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


class RequestError(ValueError):
    """The request was wrong (exit code 2)."""


class WorkError(RuntimeError):
    """The request was right, and what it asks for cannot be reached (exit code 1): the run diverged before."""


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
        if self.simulation is not None:
            advance_to(self.simulation, step + 1)
            if self.simulation.trouble and step >= self.history.count:
                raise WorkError(f"step {step} is never reached: {self.simulation.trouble}")
        if step >= self.history.count:
            raise RequestError(f"--step {step} is beyond the run: it holds {self.history.count} steps")


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
    _refuse_empty(arguments)
    if arguments.problem is not None:
        names = problem_names()
        if arguments.problem in names:
            changes["problem"] = ProblemSettings(name=arguments.problem)
        elif any(sign in arguments.problem for sign in "+-*/()0123456789") or arguments.problem in ("x", "y"):
            changes["problem"] = ProblemSettings(name="expression", expression=arguments.problem)
        else:
            raise RequestError(f"--problem {arguments.problem!r} is not known; there are: {', '.join(names)}")
    if arguments.optimizer is not None:
        changes["optimizer"] = arguments.optimizer
    if arguments.start is not None:
        changes["start"] = _numbers(arguments.start)
    if arguments.seed is not None:
        changes["seed"] = arguments.seed
    if arguments.storage:
        changes["storage"] = arguments.storage
    return experiment.replace(**changes)


def _refuse_empty(arguments: argparse.Namespace) -> None:
    """An empty value is a mistake (a variable of the shell that is not set), not the default."""
    for name, wanted in (
        ("problem", "a name from 'problems', or an expression in x and y"),
        ("optimizer", "the lines of a training loop ('optimizers' shows some)"),
        ("start", "numbers separated by commas"),
    ):
        value = getattr(arguments, name)
        if value is not None and not value.strip():
            raise RequestError(f"--{name} is empty: give {wanted}, or leave it out")


def source_from(arguments: argparse.Namespace, path: str | None, alone: bool = True) -> Source:
    """A trace (.npz) read back, or a fresh simulation of the experiment asked for.

    Options change experiments, not traces: beside a trace ``alone`` they are refused.
    """
    if path is not None and not path.strip():
        raise RequestError("the name of the file is empty: give an experiment or a trace, or leave it out")
    if path and Path(path).suffix == ".npz":
        given = [name for name in ("problem", "optimizer", "start", "seed", "storage") if _is_given(arguments, name)]
        if alone and given:
            raise RequestError(f"--{given[0]} changes an experiment; {path} is a trace and is read as it was recorded")
        history, experiment = read_trace(path)
        return Source(history, experiment, None)
    experiment = experiment_from(arguments, path)
    simulation = Simulation(experiment)
    return Source(simulation.history, experiment, simulation)


def other_source(arguments: argparse.Namespace, given: str, first: Source) -> Source:
    """The second run of a comparison: a file, or optimizer lines for the first run's problem, start and seed."""
    if Path(given).suffix in (".json", ".npz") or "(" not in given:
        # beside an experiment options belong to that; two traces have no use for them
        return source_from(arguments, given, alone=first.simulation is None)
    if first.experiment is None:
        raise RequestError("the first run is a trace without its experiment: give a file for the second one as well")
    simulation = Simulation(first.experiment.replace(optimizer=given, events=[]))
    return Source(simulation.history, simulation.experiment, simulation)


def _is_given(arguments: argparse.Namespace, name: str) -> bool:
    return getattr(arguments, name, None) is not None


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(";", ",").split(",")]
    except ValueError:
        raise RequestError(f"--start {text!r}: give numbers separated by commas, for example --start -1.2,1") from None


REQUEST_ERRORS = (RequestError, ExperimentError, SettingError)
