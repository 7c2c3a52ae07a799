"""'script': the experiment as a program that prints the same trajectory in a framework."""

from __future__ import annotations

from pathlib import Path

from core.commands.sources import RequestError
from core.export.scripts import ScriptError, make_script
from core.simulation import Experiment


def script_command(experiment: Experiment, framework: str, steps: int, out: str | None) -> int:
    """Print the script, or write it to ``out`` with its data beside it; RequestError says what cannot be done."""
    try:
        # not NAME.npz: the trace of the same run may stand there
        script = make_script(experiment, framework, steps, f"{Path(out or 'script').stem}_data.npz")
    except ScriptError as error:
        raise RequestError(f"no script: {error}") from None
    if out is None:
        if script.arrays:
            raise RequestError("the data of this model is too large to print: give -o FILE.py, it is written beside it")
        print(script.text, end="")
        return 0
    if Path(out).suffix.lower() != ".py":
        raise RequestError(f"--out {out}: a script ends in .py")
    print(f"written to {' and '.join(map(str, script.write(out)))}")
    return 0
