"""'animate': a range of steps drawn into an animation without a display."""

from __future__ import annotations

import argparse
import signal

from rich.console import Console
from rich.progress import Progress

from core.commands.animate import VIEWS
from core.commands.render import view_names
from core.commands.sources import RequestError, Source
from core.export.sizes import caption_of


def animate_command(source: Source, arguments: argparse.Namespace) -> int:
    """Draw the animation; exit code 0. RequestError says what cannot be done."""
    names = view_names(arguments.view, VIEWS)
    if arguments.width < 100 or arguments.height < 100:
        raise RequestError("--width and --height are at least 100 pixels")
    from gui.export.render import simulation_of, use_offscreen

    use_offscreen()
    from gui.app import make_application
    from gui.export.animation import Cancelled, animation_steps, check_format, check_room, frames_of, write_animation
    from gui.export.figure import FigureError
    from gui.theme import THEMES, style_sheet
    from gui.view_table import view_class

    # raised inside a slot Ctrl+C would be printed there and the frames would go on
    stopped: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: stopped.append(number))
    theme = THEMES[arguments.theme]
    console = Console(stderr=True)
    try:
        steps = animation_steps(arguments.first, arguments.last, arguments.every)
        check_format(arguments.out)
        check_room(arguments.out, len(steps), arguments.width, arguments.height)
        source.reach(steps[-1])
        simulation = simulation_of(source)
        make_application().setStyleSheet(style_sheet(theme))
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("drawing", total=len(steps))

            def report(done: int, _total: int) -> bool:
                progress.update(task, completed=done)
                return not stopped

            views = [(view_class(name), {}) for name in names]
            frames = frames_of(simulation, views, theme, arguments.width, arguments.height, steps, report)
            write_animation(frames, arguments.out, arguments.fps, caption_of(simulation, steps[-1]))
    except FigureError as error:
        raise RequestError(str(error)) from None
    except Cancelled:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)
    print(f"{len(steps)} frames written to {arguments.out}")
    return 0
