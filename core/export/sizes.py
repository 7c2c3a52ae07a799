"""Sizes of figures on paper and on screens, and the caption that goes into a figure's file."""

from __future__ import annotations

from core.simulation import Simulation

MM_AN_INCH = 25.4

PRESETS: dict[str, tuple[float, float]] = {
    "one column": (89.0, 65.0),
    "two columns": (183.0, 110.0),
    "slide 16:9": (254.0, 142.875),
    "poster": (420.0, 297.0),
}
"""Name -> width and height in mm: columns as journals have them, a slide of 10 inches, A3."""


def pixels(mm: float, dpi: float) -> int:
    """A length in mm as logical pixels at ``dpi`` a logical inch."""
    return max(round(mm / MM_AN_INCH * dpi), 1)


def caption_of(simulation: Simulation, step: int) -> str:
    """The experiment in one line: problem, optimizer, step, and the digest that identifies the run."""
    experiment = simulation.experiment
    problem = experiment.problem.expression or experiment.problem.name
    lines = "; ".join(line.strip() for line in experiment.optimizer.splitlines() if line.strip())
    return (
        f"{problem}; {lines}; seed {experiment.seed}; step {step}; run of {simulation.step} steps, {simulation.digest}"
    )


def preset_words() -> dict[str, str]:
    """What a preset is called on the command line ('one-column', 'slide') -> its name."""
    return {name.split(" 16")[0].replace(" ", "-"): name for name in PRESETS}
