"""'render' and the headless first run: views drawn into files without a display."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from core.commands.render import FigureRequest, figure_request
from core.commands.sources import DEFAULT_OPTIMIZER, RequestError, Source
from core.export.sizes import caption_of
from core.simulation import Experiment, Simulation
from core.traces import write_trace

HEADLESS_STEPS = 200
HEADLESS_STEP = 50
HEADLESS_VIEWS = ("surface", "vectors", "ledger", "timeline")


def render_command(source: Source, arguments: argparse.Namespace) -> int:
    """Draw views of one step into files; exit code 0. RequestError says what cannot be done."""
    request = figure_request(arguments)
    step = arguments.step
    if step is None:
        step = source.history.count - 1 if source.history.count else 50
    source.reach(step)
    draw(source, step, request)
    print(f"written to {', '.join(map(str, request.outs))}")
    return 0


def draw(source: Source, step: int, request: FigureRequest) -> None:
    """Draw what ``request`` asks for at ``step`` of ``source``."""
    simulation = simulation_of(source)
    use_offscreen()
    from gui.app import make_application
    from gui.export.compose import Composed
    from gui.export.figure import FigureError, Paper, write_figure
    from gui.session import Session
    from gui.theme import THEMES, style_sheet
    from gui.view_table import view_class

    application = make_application()
    theme = THEMES[request.theme]
    paper = None if request.paper is None else Paper(*request.paper, request.dpi)
    width, height = (request.width, request.height) if paper is None else paper.logical()
    session = Session.on(simulation)
    try:
        session.show_step(step)
        application.setStyleSheet(style_sheet(theme))
        background = "" if request.transparent else theme.card
        with Composed([(view_class(name), {}) for name in request.views], session, theme, width, height) as page:
            for out in request.outs:
                write_figure(page, out, request.scale, background, caption_of(simulation, step), paper)
    except FigureError as error:
        raise RequestError(str(error)) from None
    finally:
        session.close()


def simulation_of(source: Source) -> Simulation:
    """The run to draw. That of a trace is taken anew, and refused where it does not come out as it was recorded."""
    if source.simulation is not None:
        return source.simulation
    if source.experiment is None:
        raise RequestError("this trace holds no experiment, so it cannot be drawn; 'explain' reads it")
    simulation = Simulation(source.experiment)
    simulation.advance(source.history.count)
    again = simulation.history
    for what in ("weights", "gradient"):
        recorded = source.history.vectors(what, 0, source.history.count)
        if again.count < source.history.count or not np.array_equal(
            recorded, again.vectors(what, 0, source.history.count), equal_nan=True
        ):
            raise RequestError(
                "the run of this trace does not come out the same here, so no picture of it can be right"
            )
    return simulation


def run_headless(path: str | None, reason: str) -> int:
    """No display: run the experiment (default: the built-in one), write plots and CSV, name the folder."""
    folder = Path("stepscope-output")
    experiment = Experiment.load(path) if path else Experiment(optimizer=DEFAULT_OPTIMIZER)
    simulation = Simulation(experiment)
    simulation.advance(HEADLESS_STEPS)
    try:
        folder.mkdir(exist_ok=True)
        write_trace(simulation.history, folder / "trace.csv", experiment)
        write_trace(simulation.history, folder / "trace.npz", experiment)
    except OSError as error:
        print(f"stepscope: {folder}: {error.strerror or error}", file=sys.stderr)
        return 1
    step = min(HEADLESS_STEP, simulation.history.count - 1)
    for view in HEADLESS_VIEWS:
        source = Source(simulation.history, experiment, simulation)
        draw(source, step, FigureRequest((view,), (folder / f"{view}.png",), scale=2.0))
    print(f"stepscope: {reason}; ran {simulation.step} steps headless and wrote plots and CSV to {folder.resolve()}")
    return 0


def use_offscreen() -> None:
    """Let Qt draw without a display where there is none."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and sys.platform.startswith("linux"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
