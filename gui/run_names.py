"""How runs of pasted lines are called: short enough to be told apart in a narrow column."""

from __future__ import annotations

import re

from core.simulation import Experiment

LONGEST = 80
_PREFIX = re.compile(r"^(?:\w+\s*=\s*)?(?:torch\.)?(?:optim\.)")
_WEIGHTS = re.compile(r"\((?:params|(?:\w+\.)+parameters\(\))\s*(?:,\s*|(?=\)))")


def racer_name(lines: str) -> str:
    """'SGD(lr=0.001, momentum=0.9)' for 'opt = torch.optim.SGD(params, lr=0.001, momentum=0.9)': what does not tell
    one runner from another is left out; other frameworks keep their names.
    """
    last = lines.strip().splitlines()[-1].strip()
    name = _WEIGHTS.sub("(", _PREFIX.sub("", last), count=1)
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def run_name(experiment: Experiment) -> str:
    """What a run is called until the user names it."""
    return experiment.comment or f"run of {experiment.problem.name}"
