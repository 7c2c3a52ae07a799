"""'script': the experiment as a program that prints the same trajectory in a framework."""

from __future__ import annotations

from pathlib import Path

from core.commands.sources import RequestError
from core.export.scripts import ScriptError, experiment_script
from core.simulation import Experiment
from core.simulation.experiment import write_atomically


def script_command(experiment: Experiment, framework: str, steps: int, out: str | None) -> int:
    """Print the script, or write it to ``out``; RequestError says what the framework cannot do."""
    try:
        text = experiment_script(experiment, framework, steps)
    except ScriptError as error:
        raise RequestError(f"no script: {error}") from None
    if out is None:
        print(text, end="")
        return 0
    write_atomically(Path(out), text.encode())
    print(f"written to {out}")
    return 0
