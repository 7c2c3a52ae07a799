"""One run as the window keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.simulation import Event, Experiment, History, Simulation


@dataclass(eq=False)
class Run:
    """One run: its simulation (changed by the worker only), how it looks, and where it came from."""

    id: int
    simulation: Simulation
    name: str
    color_index: int
    visible: bool = True
    parent: int | None = None
    forked_at: int | None = None
    trouble: str = ""
    events: list[Event] = field(default_factory=list)
    checked: bool = False
    saved: Experiment | None = None
    """The experiment as it stands in the session's file."""

    @property
    def history(self) -> History:
        """What has been recorded; safe to read from the GUI thread."""
        return self.simulation.history
