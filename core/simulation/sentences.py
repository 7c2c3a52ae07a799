"""What a run says for itself: why it cannot go on, and that it was replayed with other digits."""

from __future__ import annotations

import platform

import numpy as np

from core.optim.layout import Array
from core.problems.non_finite import explain
from core.problems.objective import Objective
from core.simulation.experiment import Recorded
from core.simulation.history import History


def diverged(objective: Objective, history: History, step: int, loss: float, gradient: Array) -> str:
    """Why the run ends with ``step``, and which operation made what is not finite, as far as it can be traced."""
    if not np.isfinite(np.asarray(gradient, dtype=np.float64)).all():
        what = "the gradient is not finite any more"
    else:
        what = "the step left the range of numbers"
    rate = history.scalar("learning_rate")[step]
    why = explain(objective, history.weights(step), loss, gradient)
    if step == 0 and not np.isfinite(np.asarray(gradient, dtype=np.float64)).all():
        told = ("The run cannot begin: the gradient is not finite where it starts.", why, "Start elsewhere.")
        return " ".join(part for part in told if part)
    return (
        f"The run diverged at step {step}: {what} (loss {loss:.6g}, learning rate {rate:.6g}). "
        f"{why}{' ' if why else ''}Go back before it and lower the learning rate, or clip the gradient."
    )


def other_digits(recorded: Recorded) -> str:
    """The replayed steps are not quite those that were saved."""
    there, here = f"numpy {recorded.numpy} on {recorded.machine}", f"numpy {np.__version__} on {platform.machine()}"
    if there == here:
        return (
            f"The first {recorded.steps} steps replayed here are not those that were saved, also with {there}: the "
            "file or the data it names were changed since then, or another model of processor rounds otherwise."
        )
    return (
        f"The first {recorded.steps} steps replayed on this machine are not to the last digit those saved (saved with "
        f"{there}; here {here}): another numpy or processor rounds sums and functions otherwise."
    )
