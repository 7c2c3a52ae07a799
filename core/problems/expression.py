"""A typed formula as a problem: its open names are the coordinates, its given names become sliders."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.problems.functions import FunctionObjective, FunctionSpec
from core.problems.grammar import ExpressionError, Formula, parse
from core.problems.objective import Bounds, ProblemError, ProblemParameter, SettingError
from core.problems.vocabulary import CONSTANTS, FUNCTIONS

DEFAULT_BOUNDS: Bounds = ((-3.0, 3.0), (-3.0, 3.0))
_COORDINATE = re.compile(r"[xyzuvwpqθ]\d*|theta\d*")


def expression(
    text: str,
    *,
    variables: Sequence[str] | None = None,
    start: Sequence[float] | None = None,
    bounds: Bounds | None = None,
    title: str = "",
    **parameters: float,
) -> FunctionObjective:
    """The function a formula describes, for example ``expression("(a - x)**2 + b*(y - x**2)**2", a=1.0, b=100.0)``.

    ``parameters`` are the named constants, which become sliders; every other name is a coordinate, in the order of
    ``variables`` or else sorted (x, y, z; w1, w2, ... w10). The result is the same kind of object that ``problem``
    gives; points have shape (..., number of coordinates). Formulas are made of numbers, + - * / ** %, brackets,
    comparisons inside where(condition, a, b) and the functions in ``vocabulary.FUNCTIONS``.

    A parameter called ``noise`` that the formula does not use is the standard deviation of noise on the gradient.
    ExpressionError (a ValueError) marks the column of a mistake.
    """
    given = {unicodedata.normalize("NFKC", key): value for key, value in parameters.items()}
    formula = parse(text, given)
    noise = {"noise": given.pop("noise")} if "noise" in given and "noise" not in formula.names else {}
    for name, value in given.items():
        _check_parameter(name, value, formula)
    names = _coordinates(formula, given, variables)
    if start is not None and len(start) != len(names):
        raise ProblemError(f"start has {len(start)} numbers, but the formula has the coordinates {', '.join(names)}")
    usual_start = tuple(-1.5 if index % 2 == 0 else 1.0 for index in range(len(names)))
    spec = FunctionSpec(
        name="expression",
        title=title or "Own expression",
        formula=text.strip(),
        compute=formula,
        start=tuple(float(value) for value in start) if start is not None else usual_start,
        bounds=(bounds or DEFAULT_BOUNDS) if len(names) == 2 else None,
        parameters=tuple(_slider(name, float(value)) for name, value in given.items()),
        description="A formula of your own.",
        coordinates=names,
        by_name=True,
    )
    return FunctionObjective(spec, noise)


def suggest_parameters(text: str, known: Mapping[str, float] | None = None) -> dict[str, float]:
    """Which names of a formula just typed are constants: those not called x, y, z, w1, theta ..., each 1.0.

    Values in ``known`` are kept. When no name looks like a coordinate, all are coordinates.
    """
    kept = dict(known or {})
    names = parse(text, kept).names
    if not any(_COORDINATE.fullmatch(name) for name in names if name not in kept):
        return {name: kept[name] for name in names if name in kept}
    return {name: kept.get(name, 1.0) for name in names if name in kept or not _COORDINATE.fullmatch(name)}


def _check_parameter(name: str, value: Any, formula: Formula) -> None:
    if name not in formula.names:
        have = ", ".join(formula.names) or "none"
        raise SettingError(f"the formula has no name {name!r}; its names: {have}")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SettingError(f"expression: {name} must be a number, not {value!r}")
    if not np.isfinite(value):
        raise SettingError(f"expression: {name} must be finite, not {value!r}")


def _coordinates(formula: Formula, given: Mapping[str, Any], variables: Sequence[str] | None) -> tuple[str, ...]:
    free = [name for name in formula.names if name not in given]
    if variables is not None:
        missing = [name for name in free if name not in variables]
        if missing:
            column = formula.text.find(missing[0])
            raise ExpressionError(
                f"{missing[0]!r} is neither a coordinate nor a parameter with a value",
                formula.text, column, len(missing[0]),
            )  # fmt: skip
        clash = [name for name in variables if name in given or name in FUNCTIONS or name in CONSTANTS]
        if clash:
            raise ProblemError(f"{clash[0]!r} cannot be a coordinate: it is a parameter, constant or function")
        names = tuple(variables)
    else:
        names = tuple(sorted(free, key=_natural))
    if not names:
        raise ExpressionError(
            "the formula is a constant: it needs a name that can vary, such as x", formula.text, 0,
            len(formula.text),
        )  # fmt: skip
    return names


def _natural(name: str) -> tuple[str, int, str]:
    """Sorts w2 before w10."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    assert match is not None  # the pattern matches everything
    return match[1], int(match[2] or -1), name


def _slider(name: str, value: float) -> ProblemParameter:
    reach = 2 * abs(value) or 5.0
    return ProblemParameter(name, name, value, -reach, reach, tooltip=f"The constant {name} of the formula")
