"""'render' and the headless first run: views drawn into files without a display."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from core.commands.sources import DEFAULT_OPTIMIZER, RequestError, Source
from core.simulation import Experiment, Simulation
from core.traces import write_trace

HEADLESS_STEPS = 200
HEADLESS_STEP = 50
HEADLESS_VIEWS = ("surface", "vectors", "ledger", "timeline")


def render_command(source: Source, arguments: argparse.Namespace) -> int:
    """Draw one view of one step into a file; exit code 0."""
    if arguments.width < 100 or arguments.height < 100 or not 0 < arguments.scale <= 16:
        raise RequestError("--width and --height are at least 100 pixels, --scale is above 0 and at most 16")
    step = arguments.step
    if step is None:
        step = source.history.count - 1 if source.history.count else 50
    source.reach(step)
    draw(source, arguments.view, step, Path(arguments.out), arguments)
    print(f"written to {arguments.out}")
    return 0


def draw(source: Source, name: str, step: int, path: Path, arguments: argparse.Namespace) -> None:
    """Draw the view ``name`` at ``step`` of ``source`` into ``path``."""
    use_offscreen()
    from gui.app import make_application
    from gui.export.figure import FigureError, discard, make_figure, write_figure
    from gui.session import Session
    from gui.theme import THEMES
    from gui.view_table import view_class

    application = make_application()
    theme = THEMES[arguments.theme]
    if source.simulation is None:
        raise RequestError("this trace holds no experiment, so it cannot be drawn; 'explain' reads it")
    session = Session.on(source.simulation)
    try:
        session.show_step(step)
        application.setStyleSheet(_style(theme))
        figure = make_figure(view_class(name), session, theme, arguments.width, arguments.height, {})
        try:
            write_figure(figure.figure(), path, arguments.scale, theme.card)
        except FigureError as error:
            raise RequestError(str(error)) from None
        finally:
            discard(figure)
    finally:
        session.close()


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
    arguments = argparse.Namespace(theme="light", width=900, height=600, scale=2.0)
    step = min(HEADLESS_STEP, simulation.history.count - 1)
    for view in HEADLESS_VIEWS:
        source = Source(simulation.history, experiment, simulation)
        draw(source, view, step, folder / f"{view}.png", arguments)
    print(f"stepscope: {reason}; ran {simulation.step} steps headless and wrote plots and CSV to {folder.resolve()}")
    return 0


def use_offscreen() -> None:
    """Let Qt draw without a display where there is none."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and sys.platform.startswith("linux"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def _style(theme: object) -> str:
    from gui.theme import Theme, style_sheet

    assert isinstance(theme, Theme)
    return style_sheet(theme)
