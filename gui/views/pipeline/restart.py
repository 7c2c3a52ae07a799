"""Starting again with the settings as they are now: live changes become part of the first step."""

from __future__ import annotations

from typing import Any

from core.simulation.experiment import Event, Experiment


def settled(experiment: Experiment, *, keep_problem: bool = True) -> dict[str, Any]:
    """The fields of ``experiment`` in which every live change acts from the first step on.

    Pasted lines take the place of the first ones (what was changed before them is gone with them); of several changes
    of one setting the last counts. Without ``keep_problem`` the changes of the problem are left out.
    """
    lines = experiment.optimizer
    values = dict(experiment.problem.values)
    newest: dict[tuple[str, str], Event] = {}
    for event in sorted(experiment.events, key=lambda e: e.step):
        if event.target == "weights":
            # a run that starts again starts at its start
            continue
        if event.target == "problem":
            values[event.key] = event.value
        elif event.target == "optimizer" and event.key == "lines":
            lines = str(event.value)
            newest.clear()
        else:
            # in the order of the last change: what is switched off after a new order is switched off after it
            old = newest.pop((event.target, event.key), event).old
            newest[event.target, event.key] = Event(0, event.target, event.key, event.value, old)
    fields: dict[str, Any] = {"optimizer": lines, "events": list(newest.values()), "recorded": None}
    if keep_problem and values != experiment.problem.values:
        fields["problem"] = experiment.problem.replace(values=values)
    return fields
