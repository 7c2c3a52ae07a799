"""What a command works on: an experiment from a file or from options, or a recorded trace."""

from __future__ import annotations

import argparse
import ast
import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.commands.progress import advance_to
from core.declare import SettingError
from core.problems import problem, problem_names
from core.simulation import Experiment, ExperimentError, History, ProblemSettings, Simulation
from core.traces import read_trace

DEFAULT_OPTIMIZER = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


MOST_STEPS = 20_000_000
"""More would fill the memory with losses alone, hours later."""


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
        check_steps(max(step, 1), "--step")
        if self.simulation is not None:
            advance_to(self.simulation, step + 1)
            if self.simulation.trouble and step >= self.history.count:
                raise WorkError(f"step {step} is never reached: {self.simulation.trouble}")
        if step >= self.history.count:
            raise RequestError(f"--step {step} is beyond the run: it holds {self.history.count} steps")


def add_experiment_options(parser: argparse.ArgumentParser) -> None:
    """The options that stand for an experiment file, or change one."""
    parser.add_argument(
        "--problem",
        metavar="NAME",
        help="a problem ('problems' lists them), also with settings: NAME(setting=value), or an expression in x, y",
    )
    parser.add_argument("--optimizer", metavar="LINES", help="the lines of a training loop ('optimizers' shows some)")
    parser.add_argument("--start", metavar="X,Y", help="starting weights, separated by commas")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of starts and mini-batches")
    types = ("float64", "float32", "float16", "bfloat16")
    parser.add_argument("--storage", choices=types, help="type of the weights")
    parser.add_argument("--arithmetic", choices=types, help="type of the computation (default: float64)")


def experiment_from(arguments: argparse.Namespace, path: str | None) -> Experiment:
    """The experiment in the file at ``path`` (default: the built-in one) with the options put over it."""
    experiment = Experiment.load(path) if path else Experiment(optimizer=DEFAULT_OPTIMIZER)
    changes: dict[str, object] = {}
    _refuse_empty(arguments)
    if arguments.problem is not None:
        changes["problem"] = problem_asked_for(arguments.problem)
    if arguments.optimizer is not None:
        changes["optimizer"] = arguments.optimizer
    if arguments.start is not None:
        changes["start"] = _numbers(arguments.start)
    if arguments.seed is not None:
        changes["seed"] = arguments.seed
    if arguments.storage:
        changes["storage"] = arguments.storage
    if arguments.arithmetic:
        changes["arithmetic"] = arguments.arithmetic
    return experiment.replace(**changes)


def check_steps(steps: int, option: str = "--steps") -> None:
    """RequestError for no steps at all, and where a run would not end in this life."""
    if steps < 1:
        raise RequestError(f"{option} {steps}: at least one step")
    if steps > MOST_STEPS:
        raise RequestError(f"{option} {steps}: at most {MOST_STEPS} steps")


def problem_asked_for(text: str) -> ProblemSettings:
    """A known name (capitals, blanks and hyphens do no harm), else a formula; RequestError for a name unknown."""
    names = problem_names()
    called = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.DOTALL)
    if called and called.group(1).casefold() in names and ("=" in called.group(2) or not called.group(2).strip()):
        return _with_settings(called.group(1).casefold(), text)
    plain = re.sub(r"[\s-]+", "_", text.strip().casefold())
    if plain in names:
        return ProblemSettings(name=plain)
    # a formula is told by its signs and digits, or by one letter alone; other words are names with a slip
    if re.search("[²³⁴×·]", text) or not re.fullmatch(r"[^\W\d]{2,}([\s_-]+[^\W\d]{2,})*\d?", text.strip()):
        return ProblemSettings(name="expression", expression=text)
    near = difflib.get_close_matches(plain, names, n=1, cutoff=0.7)
    if near:
        raise RequestError(f"--problem {text!r} is not known; did you mean {near[0]!r}? ('problems' lists all)")
    if re.search(r"[-\d]", text):
        return ProblemSettings(name="expression", expression=text)
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise RequestError(
        f"--problem {shown!r} is not known, and no formula with a sign in it; there are: {', '.join(names)}"
    )


def _with_settings(name: str, text: str) -> ProblemSettings:
    """``mlp(layers=[8], norm="batch", data="moons(rows=200)")``; RequestError for what is no plain value."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise RequestError(f"--problem {text!r}: {error.msg}; write NAME(setting=value, ...)") from None
    if not isinstance(call, ast.Call) or call.args:
        raise RequestError(f"--problem {text!r}: settings are named, as in {name}(setting=value)")
    settings: dict[str, Any] = {}
    for keyword in call.keywords:
        try:
            settings[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            shown = ast.unparse(keyword.value)
            raise RequestError(f"--problem {text!r}: {keyword.arg} is {shown}; write a number, text or list") from None
    beside = {key: settings.pop(key) for key in ("data", "target", "features", "missing") if key in settings}
    sliders = {parameter.key for parameter in problem(name).parameters}
    values = {key: value for key, value in settings.items() if key in sliders}
    options = {key: value for key, value in settings.items() if key not in sliders}
    return ProblemSettings(name=name, values=values, options=options, **beside)


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
        given = [
            name
            for name in ("problem", "optimizer", "start", "seed", "storage", "arithmetic")
            if _is_given(arguments, name)
        ]
        if alone and given:
            raise RequestError(f"--{given[0]} changes an experiment; {path} is a trace and is read as it was recorded")
        history, experiment = read_trace(path)
        return Source(history, experiment, None)
    experiment = experiment_from(arguments, path)
    simulation = Simulation(experiment)
    return Source(simulation.history, experiment, simulation)


def first_source(arguments: argparse.Namespace, given: str) -> Source:
    """The first run of a comparison: a file, or optimizer lines for the problem that the options name."""
    if not is_lines(given):
        return source_from(arguments, given, alone=False)
    if arguments.optimizer is not None:
        raise RequestError("--optimizer beside optimizer lines: give the lines of the first run once")
    simulation = Simulation(experiment_from(arguments, None).replace(optimizer=given))
    return Source(simulation.history, simulation.experiment, simulation)


def is_lines(given: str) -> bool:
    """Whether a text is optimizer lines and not the name of a file."""
    return "(" in given and Path(given).suffix not in (".json", ".npz")


def other_source(arguments: argparse.Namespace, given: str, first: Source) -> Source:
    """The second run of a comparison: a file, or optimizer lines for the first run's problem, start and seed."""
    if not is_lines(given):
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
