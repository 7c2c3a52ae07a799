"""Steps taken for a command: with a bar on the terminal when it takes long, silently elsewhere."""

from __future__ import annotations

import sys

from core.simulation import Simulation

QUIET = 0.4
SLICE = 0.1
"""Seconds without a bar, and between its changes."""


def advance_to(simulation: Simulation, steps: int, what: str = "running") -> None:
    """Take steps until there are ``steps`` of them, or the run ends in trouble."""
    missing = steps - simulation.step
    if missing <= 0 or simulation.advance(missing, QUIET) >= missing or simulation.trouble:
        return
    if not sys.stderr.isatty():
        simulation.advance(steps - simulation.step)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=steps)
        while simulation.step < steps and not simulation.trouble:
            simulation.advance(steps - simulation.step, SLICE)
            bar.update(task, completed=simulation.step)
