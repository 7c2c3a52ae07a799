"""A function from a user's own Python file: run only when the caller says that the user has allowed it."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.problems.expression import DEFAULT_BOUNDS
from core.problems.functions import FunctionObjective, FunctionSpec
from core.problems.objective import Bounds, ProblemError, ProblemParameter

MAX_BYTES = 1 << 20


class NotAllowed(ProblemError):
    """The file was not run, because nobody has allowed it."""


def from_python_file(path: str | Path, *, allowed: bool = False) -> FunctionObjective:
    """The function ``loss`` of a Python file as a problem.

    Opening such a file runs its code with all rights of the user, so ``allowed`` must be True, which a program sets
    only after it has asked; nothing that reads session files calls this. ``loss(x, y, a=1.0)``: arguments without a
    default are the coordinates, those with a number as default become sliders; it computes with numpy functions on
    arrays. Optional names of the file: ``start`` and ``bounds`` (as for ``expression``), ``title``. Raises NotAllowed,
    or ProblemError with the line in the file.
    """
    path = Path(path)
    if not allowed:
        raise NotAllowed(f"{path.name} is a Python file: opening it runs its code; allow that only if you trust it")
    space = _run(path)
    loss = space.get("loss")
    if not callable(loss):
        raise ProblemError(f"{path.name}: it has no function called loss; write for example: def loss(x, y): ...")
    coordinates, sliders = _signature(loss, path.name)
    start = _numbers(space.get("start", [-1.5 if i % 2 == 0 else 1.0 for i in range(len(coordinates))]))
    if start is None or len(start) != len(coordinates):
        raise ProblemError(f"{path.name}: start must be {len(coordinates)} numbers, not {space.get('start')!r}")
    spec = FunctionSpec(
        name="python_file",
        title=str(space.get("title", path.stem)),
        formula=f"loss({', '.join(coordinates)}) of {path.name}",
        compute=loss,
        start=start,
        bounds=_bounds(space.get("bounds", DEFAULT_BOUNDS), path.name) if len(coordinates) == 2 else None,
        parameters=sliders,
        description=inspect.getdoc(loss) or "A function of your own.",
        coordinates=coordinates,
    )
    made = FunctionObjective(spec)
    _try(made, path)
    return made


def _run(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProblemError(f"{path.name}: the file cannot be read ({error.strerror})") from None
    if len(content) > MAX_BYTES:
        raise ProblemError(f"{path.name}: {len(content)} bytes is too long for a function; at most {MAX_BYTES}")
    space: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    try:
        exec(compile(content, str(path), "exec"), space)  # allowed by the user, see above
    except SyntaxError as error:
        raise ProblemError(f"{path.name}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise ProblemError(f"{path.name}, {_place(error, path)}{type(error).__name__}: {error}") from error
    return space


def _signature(loss: Callable[..., Any], name: str) -> tuple[tuple[str, ...], tuple[ProblemParameter, ...]]:
    coordinates: list[str] = []
    sliders: list[ProblemParameter] = []
    for argument in inspect.signature(loss).parameters.values():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise ProblemError(f"{name}: loss must name its arguments; *{argument.name} says nothing to a slider")
        default = argument.default
        if default is argument.empty:
            coordinates.append(argument.name)
            continue
        if isinstance(default, bool) or not isinstance(default, int | float) or not np.isfinite(default):
            raise ProblemError(f"{name}: the default of {argument.name!r} must be a number, not {default!r}")
        reach = 2 * abs(float(default)) or 5.0
        tooltip = f"The argument {argument.name} of loss"
        sliders.append(ProblemParameter(argument.name, argument.name, float(default), -reach, reach, tooltip=tooltip))
    if not coordinates:
        raise ProblemError(f"{name}: loss needs at least one argument without a default, which can then vary")
    return tuple(coordinates), tuple(sliders)


def _numbers(value: Any) -> tuple[float, ...] | None:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return tuple(array.tolist()) if array.ndim == 1 and np.isfinite(array).all() else None


def _bounds(value: Any, name: str) -> Bounds:
    sides = [_numbers(side) for side in value] if isinstance(value, list | tuple) and len(value) == 2 else []
    good = [side for side in sides if side is not None and len(side) == 2 and side[0] < side[1]]
    if len(good) != 2:
        raise ProblemError(f"{name}: bounds must be ((low, high), (low, high)), not {value!r}")
    return ((good[0][0], good[0][1]), (good[1][0], good[1][1]))


def _try(made: FunctionObjective, path: Path) -> None:
    """Evaluate once, so that a mistake shows here and not in the middle of a run."""
    try:
        made.value_and_gradient(made.start)
        made.value(np.stack([made.start, made.start]))
    except Exception as error:
        raise ProblemError(f"{path.name}, {_place(error, path)}{type(error).__name__}: {error}") from error


def _place(error: Exception, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"line {lines[-1]}: " if lines else ""
