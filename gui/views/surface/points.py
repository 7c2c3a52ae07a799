"""Points of runs that a plane is laid through: which there are, what they are called, and three natural choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QCoreApplication

from core.problems.planes import PlaneError
from gui.run import Run
from gui.session import Session
from gui.views.surface.cut import NamedPoint, RunPoint


def comparable_runs(session: Session) -> list[Run]:
    """Runs that have as many weights as the one shown, and at least one step."""
    size = session.current.history.size
    return [run for run in session.runs if run.history.size == size and run.history.count > 0]


def of_one_run(session: Session) -> tuple[RunPoint, ...]:
    """Start, middle and newest step of the run shown."""
    run = session.current
    return RunPoint(run.id, 0), RunPoint(run.id, max(run.history.count - 1, 0) // 2), RunPoint(run.id)


def ends_of_runs(session: Session) -> tuple[RunPoint, ...]:
    """The newest steps of three runs, the one shown among them; () when there are fewer."""
    runs = comparable_runs(session)
    chosen = [run for run in runs if run is session.current] + [run for run in runs if run is not session.current]
    return tuple(RunPoint(run.id) for run in chosen[:3]) if len(chosen) >= 3 else ()


def named_points(session: Session, points: Sequence[RunPoint]) -> list[NamedPoint]:
    """Names and weights of ``points`` (none: those ``of_one_run``); PlaneError says which of them is not there.

    Points of several runs are called A, B and C, as in the form.
    """
    known = {run.id: run for run in session.runs}
    chosen = list(points) or list(of_one_run(session))
    several = len({point.run for point in chosen}) > 1
    found = []
    for letter, point in zip("ABC", chosen, strict=False):
        run = known.get(point.run)
        if run is None:
            raise PlaneError("one of the three points belongs to a run that is closed; choose another")
        history = run.history
        if history.size != session.current.history.size:
            raise PlaneError(f"{run.name} has other weights than the run shown; choose points of runs like it")
        if history.count == 0:
            raise PlaneError("this plane needs steps: press Step or Run first")
        step = history.count - 1 if point.step < 0 else point.step
        if step >= history.count:
            raise PlaneError(f"step {step} is not taken yet: {run.name} holds steps 0 to {history.count - 1}")
        # names of runs are long, and those of forks alike at their beginnings
        name = letter if several else _tr("step {0}").format(step)
        found.append(NamedPoint(name, np.array(history.weights(step), dtype=np.float64)))
    return found


def _tr(text: str) -> str:
    return QCoreApplication.translate("SurfaceView", text)
