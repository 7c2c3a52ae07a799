"""What a script has to do, step by step: which loss, which optimizer, from where, and what cannot be written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from core.optim import Optimizer
from core.problems.functions import FunctionObjective
from core.problems.models import ModelObjective
from core.problems.objective import Objective
from core.simulation import Experiment, Simulation


class ScriptError(ValueError):
    """The experiment cannot be written as a script that prints the same trajectory: the message says why."""


@dataclass(frozen=True)
class Stretch:
    """From ``step`` on the loss is ``objective``, and the optimizer has the settings of ``optimizer``."""

    step: int
    objective: Objective
    optimizer: Optimizer


@dataclass
class Plan:
    """``stretches`` in order, the first from step 0; ``notes`` are said at the top of the script."""

    experiment: Experiment
    steps: int
    start: list[float]
    stretches: list[Stretch]
    notes: list[str] = field(default_factory=list)
    data_name: str = "data.npz"
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    """What the script reads from the file ``data_name`` beside it; empty when it needs none."""

    @property
    def is_model(self) -> bool:
        """Whether the problem is a model on data, with several variables; else a function of one vector ``p``."""
        return isinstance(self.first.objective, ModelObjective)

    @property
    def first(self) -> Stretch:
        """What is in force in step 0."""
        return self.stretches[0]

    def note(self, comments: list[str]) -> None:
        """Put the emitted lines' conditions at the top; refuse when a live change breaks one."""
        rates = {
            None if s.optimizer.chain.rate is None else s.optimizer.chain.rate.learning_rate for s in self.stretches
        }
        for comment in comments:
            if "constant" in comment and len(rates) > 1:
                raise ScriptError(f"the learning rate was changed, and these lines give {comment}")
        self.notes += comments


def make_plan(experiment: Experiment, steps: int, data_name: str = "data.npz") -> Plan:
    """The plan for the first ``steps`` steps; ScriptError when no script could print the same numbers."""
    if steps < 1:
        raise ScriptError(f"{steps} steps: a script takes at least one")
    for what, kind in (("stored", experiment.storage), ("computed", experiment.arithmetic)):
        if kind != "float64":
            raise ScriptError(f"the weights are {what} in {kind}; scripts are written for float64 only")
    if experiment.problem.python:
        raise ScriptError("the problem is a Python file of its own: a script cannot hold it")
    events = [event for event in experiment.events if event.step < steps]
    for event in events:
        if event.target == "weights":
            raise ScriptError(
                f"at step {event.step} the weights were put elsewhere by hand; export the run from there as one of "
                "its own"
            )
        if event.target == "optimizer":
            raise ScriptError(
                f"at step {event.step} the optimizer itself was changed ({event.key}): its state starts anew or is "
                "taken over, which the frameworks do not do alike; fork the run there and export the two"
            )
    simulation = Simulation(experiment)
    objective: Objective = simulation.objective
    if not isinstance(objective, FunctionObjective | ModelObjective):
        raise ScriptError(f"{objective.title}: this kind of problem is not written out")
    stretches = []
    for step in sorted({0, *(event.step for event in events)}):
        for event in events:
            if event.step == step and event.target == "problem":
                objective = objective.with_values(**{event.key: event.value})
        stretches.append(Stretch(step, objective, simulation.optimizer_at(step)))
    return Plan(experiment, steps, [float(value) for value in simulation.weights], stretches, data_name=data_name)


def losses(plan: Plan) -> list[tuple[int, FunctionObjective]]:
    """(first step, loss) of every stretch that has a loss of its own."""
    found: list[tuple[int, FunctionObjective]] = []
    for stretch in plan.stretches:
        objective = stretch.objective
        assert isinstance(objective, FunctionObjective)
        if not found or found[-1][1].identity != objective.identity:
            found.append((stretch.step, objective))
    return found


def noise_of(objective: FunctionObjective) -> float:
    """The standard deviation of the noise on the gradient."""
    return objective._noise


def indented(lines: list[str], by: int = 4) -> list[str]:
    """The lines further to the right."""
    return [" " * by + line if line else line for line in lines]
