"""What a file given to the window holds: an experiment, or a trace with the experiment it was recorded from."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np

from core.simulation import Experiment, Recorded
from core.traces import TraceError, read_trace


def experiment_at(path: str) -> Experiment:
    """The experiment of a .json or .npz file; a trace's run is replayed up to where it was recorded.

    ExperimentError and TraceError say what is wrong with the file.
    """
    if Path(path).suffix.lower() != ".npz":
        return Experiment.load(path)
    history, experiment = read_trace(path)
    if experiment is None:
        raise TraceError(
            f"{path}: this trace holds no experiment, so it cannot be replayed; 'stepscope explain {path}' reads it"
        )
    if experiment.recorded is None:
        recorded = Recorded(history.count, "", np.__version__, platform.machine())
        experiment = experiment.replace(recorded=recorded)
    return experiment
