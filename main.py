"""Entry point: arguments in, window or command out. Exit codes: 0 done, 1 the work failed, 2 the request was wrong."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
from collections.abc import Sequence

COMMANDS = ("new", "run", "render", "explain", "compare", "script", "export", "animate", "problems", "optimizers")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with ``argv`` (default: the command line); returns the exit code."""
    if sys.stdout is None:  # closed by whoever started the program
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    _show_what_the_terminal_has()
    given = _join_negative(list(sys.argv[1:] if argv is None else argv))
    if not given or given[0] not in (*COMMANDS, "-h", "--help", "--version"):
        return _window(given)
    arguments = _parser().parse_args(given)
    from core.commands.sources import REQUEST_ERRORS, WorkError
    from core.traces import TraceError

    try:
        code = _command(arguments)
        sys.stdout.flush()
        return code
    except (*REQUEST_ERRORS, TraceError) as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 2
    except WorkError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # the reader has enough ('... | head'); Python would complain once more at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"stepscope: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stepscope: stopped", file=sys.stderr)
        return 1


def _join_negative(given: list[str]) -> list[str]:
    """'--start -1.2,1' as '--start=-1.2,1', '--problem -x**2' likewise: argparse would take the value for an option."""
    result: list[str] = []
    for word in given:
        before = result[-1] if result else ""
        number = before == "--start" and word[:1] == "-" and word[1:2] in "0123456789."
        formula = before == "--problem" and word[:1] == "-" and word[1:2] not in ("", "-") and word not in ("-o", "-h")
        if number or formula:
            result[-1] = f"{before}={word}"
        else:
            result.append(word)
    return result


def _show_what_the_terminal_has() -> None:
    """A letter that the terminal's encoding lacks ('²' in ASCII) is shown as its code, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _window(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="stepscope", description="Open the window.")
    parser.add_argument("file", nargs="?", help="an experiment (.json) or a trace (.npz) to open")
    arguments, others = parser.parse_known_args(given)
    name = arguments.file or ""
    if name and not os.path.exists(name) and (others or not os.path.splitext(name)[1]):
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        print(f"stepscope: {name}: no such command or file; {hint}commands: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    if others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    from gui.app import run_window

    return run_window(arguments.file)


def _parser() -> argparse.ArgumentParser:
    from core.commands.animate import add_animation_options
    from core.commands.render import add_figure_options
    from core.commands.sources import add_experiment_options

    parser = argparse.ArgumentParser(
        prog="stepscope",
        description="Shows why the step an optimizer takes is not the gradient that was computed. "
        "Without a command: opens the window (or the FILE given).",
    )
    parser.add_argument("--version", action="version", version="stepscope 0.1.0")
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="write an experiment file")
    new.add_argument("-o", "--out", required=True, metavar="FILE")
    new.add_argument("--force", action="store_true", help="replace a file that is there")
    new.add_argument("--json", action="store_true", help="what was written, for programs")
    run = commands.add_parser("run", help="run an experiment and write its trace")
    run.add_argument("experiment", nargs="?", help="an experiment file; without one the options decide")
    run.add_argument("--steps", type=int, default=200)
    run.add_argument("--out", metavar="trace.npz|.csv")
    run.add_argument("--json", action="store_true", help="a summary for programs")
    render = commands.add_parser("render", help="draw views into files")
    add_figure_options(render)
    explain = commands.add_parser("explain", help="the ledger of one step as text")
    explain.add_argument("source", nargs="?", help="an experiment or a trace")
    explain.add_argument("--step", type=int, default=0)
    explain.add_argument("--json", action="store_true", help="for programs")
    compare = commands.add_parser("compare", help="where two runs or two optimizers part, and which row does it")
    compare.add_argument("first", help="an experiment, a trace, or the lines of an optimizer")
    compare.add_argument("second", help="another one; lines are compared on the first's own weights and gradients")
    compare.add_argument("--steps", type=int, default=200)
    compare.add_argument("--json", action="store_true", help="for programs")
    compare.add_argument("--exit-code", action="store_true", help="exit with 1 when they part, for scripts")
    script = commands.add_parser("script", help="write the experiment as a program for a framework")
    script.add_argument("experiment", nargs="?", help="an experiment file; without one the options decide")
    script.add_argument("--framework", required=True, choices=("torch", "keras", "optax", "numpy"))
    script.add_argument("--steps", type=int, default=100)
    script.add_argument("-o", "--out", metavar="file.py", help="default: print it")
    export = commands.add_parser("export", help="write the numbers of a run, or its loss surface")
    export.add_argument("source", nargs="?", help="an experiment or a trace")
    export.add_argument("-o", "--out", required=True, metavar="run.csv|.npz|.jsonl|.parquet, surface.npz|.vtk")
    export.add_argument("--steps", type=int, default=None, help="default: 200")
    export.add_argument("--header", action="store_true", help="units and settings in '#' lines of a CSV")
    export.add_argument("--surface", action="store_true", help="the loss over the first two weights")
    export.add_argument("--points", type=int, default=201, help="points a side of the surface")
    animate = commands.add_parser("animate", help="draw a range of steps into an animation")
    add_animation_options(animate)
    for command in (new, run, render, explain, compare, script, export, animate):
        add_experiment_options(command)
    problems = commands.add_parser("problems", help="list the problems")
    optimizers = commands.add_parser("optimizers", help="show what optimizer lines are understood")
    for command in (problems, optimizers):
        command.add_argument("--json", action="store_true", help="for programs, with every parameter")
    return parser


def _command(arguments: argparse.Namespace) -> int:
    from core.commands import explain, run
    from core.commands.sources import experiment_from, first_source, other_source, source_from

    if arguments.command == "problems":
        return run.problems_command(arguments.json)
    if arguments.command == "optimizers":
        return run.optimizers_command(arguments.json)
    if arguments.command == "new":
        return run.new_command(experiment_from(arguments, None), arguments.out, arguments.force, arguments.json)
    if arguments.command == "run":
        experiment = experiment_from(arguments, arguments.experiment)
        return run.run_command(experiment, arguments.steps, arguments.out, arguments.json)
    if arguments.command == "compare":
        from core.commands.compare import compare_command

        first = first_source(arguments, arguments.first)
        second = other_source(arguments, arguments.second, first)
        return compare_command(first, second, arguments.steps, arguments.json, arguments.exit_code)
    if arguments.command == "script":
        from core.commands.script import script_command

        experiment = experiment_from(arguments, arguments.experiment)
        return script_command(experiment, arguments.framework, arguments.steps, arguments.out)
    source = source_from(arguments, arguments.source)
    if arguments.command == "export":
        from core.commands.export import export_command, export_surface_command

        if arguments.surface:
            return export_surface_command(source, arguments.out, arguments.steps, arguments.points)
        return export_command(source, arguments.out, arguments.steps, arguments.header)
    if arguments.command == "animate":
        from gui.export.animate import animate_command

        return animate_command(source, arguments)
    if arguments.command == "explain":
        text = explain.explain_json if arguments.json else explain.explain_text
        print(text(source, arguments.step))
        return 0
    from gui.export.render import render_command

    return render_command(source, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
