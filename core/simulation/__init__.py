"""Experiments as data, stepping, history, going back and forking."""

from core.simulation.experiment import Event as Event
from core.simulation.experiment import Experiment as Experiment
from core.simulation.experiment import ExperimentError as ExperimentError
from core.simulation.experiment import ProblemSettings as ProblemSettings
from core.simulation.experiment import Recorded as Recorded
from core.simulation.history import History as History
from core.simulation.simulation import Simulation as Simulation
