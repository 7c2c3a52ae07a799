"""Which plots the timeline offers: what each shows, in which colours, on which axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from core.simulation.history import History
from core.simulation.measures import MEASURES
from gui.theme import APPLIED, COMPUTED, cause_color

RUN = "run"
"""Stands for the colour of the run."""
SHARES = "shares"
DEFAULT_PLOTS = ("loss", "lengths", "angle", SHARES)


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: the column of the history (or measure), its label, and its colour (RUN: the run's own)."""

    column: str
    label: str
    color: str = RUN


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """One plot: axis label and unit, scale, curves; ``factor`` turns stored numbers into shown ones (100 for %).

    ``bounds`` are limits the axis does not go beyond (None: free), ``whole`` has it always show them all; ``least`` is
    the smallest range it shows.
    """

    name: str
    title: str
    axis: str
    unit: str
    series: tuple[Series, ...]
    log: bool = False
    factor: float = 1.0
    bounds: tuple[float | None, float | None] = (None, None)
    whole: bool = False
    least: float = 0.0
    about: str = ""

    @property
    def compares_runs(self) -> bool:
        """True when other runs are drawn as well (one curve each, so that colours stay clear)."""
        return len(self.series) == 1


_TITLES = {
    "loss": QT_TRANSLATE_NOOP("Timeline", "Loss"),
    "lengths": QT_TRANSLATE_NOOP("Timeline", "Lengths of the computed and the applied step"),
    "ratio": QT_TRANSLATE_NOOP("Timeline", "Applied over computed length"),
    "angle": QT_TRANSLATE_NOOP("Timeline", "Angle between the computed and the applied step"),
    "rate": QT_TRANSLATE_NOOP("Timeline", "Learning rate, set and effective"),
    SHARES: QT_TRANSLATE_NOOP("Timeline", "Share of each cause"),
    "clip_factor": QT_TRANSLATE_NOOP("Timeline", "Clip factor"),
    "gradient_norm": QT_TRANSLATE_NOOP("Timeline", "Length of the gradient"),
    "update_to_weights": QT_TRANSLATE_NOOP("Timeline", "Step over weights"),
    "unmoved": QT_TRANSLATE_NOOP("Timeline", "Unmoved weights"),
    "against": QT_TRANSLATE_NOOP("Timeline", "Weights that moved uphill"),
    "residual": QT_TRANSLATE_NOOP("Timeline", "Residual of the ledger"),
    "sharpness": QT_TRANSLATE_NOOP("Timeline", "Sharpness against 2/lr"),
}


def _about(name: str) -> str:
    return MEASURES[name].about


PLOTS: tuple[PlotSpec, ...] = (
    PlotSpec("loss", "Loss", "loss", "", (Series("loss", "loss"),), log=True, about="loss before the step"),
    PlotSpec(
        "lengths",
        "Lengths",
        "length",
        "",
        (Series("expected_norm", "computed", COMPUTED), Series("applied_norm", "applied", APPLIED)),
        log=True,
        about=f"{_about('expected_norm')}; {_about('applied_norm')}",
    ),
    PlotSpec("ratio", "Ratio", "ratio", "×", (Series("ratio", "‖Δw‖/‖lr·g‖"),), log=True, about=_about("ratio")),
    PlotSpec(
        "angle",
        "Angle",
        "angle",
        "°",
        (Series("angle", "angle"),),
        bounds=(0.0, 180.0),
        least=2.0,
        about=_about("angle"),
    ),
    PlotSpec(
        "rate",
        "Learning rate",
        "lr",
        "",
        (
            Series("learning_rate", "lr of the step", cause_color("learning rate")),
            Series("effective_rate", "effective lr", APPLIED),
        ),
        log=True,
        about=f"rate the schedule gave; {_about('effective_rate')}",
    ),
    PlotSpec(SHARES, "Shares", "share", "%", (), bounds=(0.0, 100.0), whole=True, about="|contribution| of each cause"),
    PlotSpec(
        "clip_factor",
        "Clip factor",
        "clip",
        "×",
        (Series("clip_factor", "clip factor", cause_color("clipping")),),
        bounds=(0.0, None),
        least=0.2,
        about="what clipping multiplied the gradient by",
    ),
    PlotSpec(
        "gradient_norm",
        "Gradient",
        "‖g‖",
        "",
        (Series("gradient_norm", "‖g‖"),),
        log=True,
        about=_about("gradient_norm"),
    ),
    PlotSpec(
        "update_to_weights",
        "Step over weights",
        "Δw/w",
        "×",
        (Series("update_to_weights", "‖Δw‖/‖w‖"),),
        log=True,
        about=_about("update_to_weights"),
    ),
    PlotSpec(
        "unmoved",
        "Unmoved",
        "unmoved",
        "%",
        (Series("unmoved", "unmoved"),),
        factor=100.0,
        bounds=(0.0, 100.0),
        whole=True,
        about=_about("unmoved"),
    ),
    PlotSpec(
        "against",
        "Uphill",
        "uphill",
        "%",
        (Series("against", "uphill"),),
        factor=100.0,
        bounds=(0.0, 100.0),
        whole=True,
        about=_about("against"),
    ),
    PlotSpec(
        "residual", "Residual", "residual", "", (Series("residual", "residual"),), log=True, about=_about("residual")
    ),
    PlotSpec(
        "sharpness",
        "Sharpness",
        "curvature",
        "",
        (Series("sharpness", "largest λ"), Series("stability_limit", "2/lr", cause_color("learning rate"))),
        log=True,
        about="largest eigenvalue of the Hessian; above 2/lr plain gradient descent is unstable",
    ),
)
BY_NAME = {spec.name: spec for spec in PLOTS}


def title(spec: PlotSpec) -> str:
    """What the menu calls a plot."""
    text = _TITLES.get(spec.name)
    return spec.title if text is None else QCoreApplication.translate("Timeline", text)


def figure_specs(history: History) -> list[PlotSpec]:
    """A plot for each further number the transforms note ('1-beta1^t'), as far as the table has none for it."""
    return [figure_spec(name) for name in history.figure_names if name not in BY_NAME and name != "lr_t"]


def figure_spec(name: str) -> PlotSpec:
    """The plot of a number that a transform notes."""
    label = name.replace("_", " ")
    return PlotSpec(name, label[:1].upper() + label[1:], label, "", (Series(name, label),), about=label)


def specs_of(names: Sequence[str]) -> list[PlotSpec]:
    """The plots of these names, each once, in the order of the table, figures at the end."""
    known = [spec for spec in PLOTS if spec.name in names]
    return known + [figure_spec(name) for name in dict.fromkeys(names) if name not in BY_NAME]
