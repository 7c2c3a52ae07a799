"""Surfaces with adjustable features: conditioning, rotation, ravines, plateaus, cliffs, saddles, slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.problems.functions import FunctionSpec
from core.problems.objective import Minimum, ProblemParameter


def quadratic(x: Any, y: Any, condition: float, rotation: float) -> Any:
    if rotation == 0.0:  # the plain form, so that no rounding or 0 * inf enters through cos and sin
        return 0.5 * (x**2 + condition * y**2)
    c, s = math.cos(math.radians(rotation)), math.sin(math.radians(rotation))
    along, across = c * x + s * y, c * y - s * x
    return 0.5 * (along**2 + condition * across**2)


def saddle(x: Any, y: Any, curvature: float) -> Any:
    return x**2 - curvature * y**2


def monkey_saddle(x: Any, y: Any) -> Any:
    return x**3 - 3 * x * y**2


def ravine(x: Any, y: Any, steepness: float, bend: float) -> Any:
    return 0.5 * x**2 + 0.5 * steepness * (y - bend * np.sin(2 * x)) ** 2


def plateau(x: Any, y: Any, width: float) -> Any:
    return 1 - np.exp(-(x**2 + y**2) / (2 * width**2))


def cliff(x: Any, y: Any, height: float, sharpness: float) -> Any:
    return 0.05 * (x + 3) ** 2 + 0.05 * y**2 + 0.5 * height * (1 + np.tanh(0.5 * sharpness * (x - 1)))


def slope(x: Any, y: Any, slope_x: float, slope_y: float) -> Any:
    return slope_x * x + slope_y * y


def double_well(x: Any, y: Any, tilt: float) -> Any:
    return (x**2 - 1) ** 2 + 0.5 * y**2 + tilt * x


def _origin(values: Mapping[str, Any]) -> tuple[Minimum, ...]:
    return (Minimum(np.zeros(2), 0.0),)


def _double_well_minima(values: Mapping[str, Any]) -> tuple[Minimum, ...]:
    # stationary points in x: 4x³ - 4x + tilt = 0; minima are those with positive curvature 12x² - 4
    tilt = values["tilt"]
    roots = np.roots([4.0, 0.0, -4.0, tilt])
    found = []
    for x in sorted(float(value.real) for value in roots if abs(value.imag) < 1e-9):
        if 12 * x * x - 4 > 0:
            x -= (4 * x**3 - 4 * x + tilt) / (12 * x * x - 4)
            found.append((x, (x * x - 1) ** 2 + tilt * x))
    lowest = min((f for _, f in found), default=0.0)
    return tuple(Minimum(np.array([x, 0.0]), f, "" if f - lowest <= 1e-12 else "a local minimum") for x, f in found)


_CONDITION = ProblemParameter(
    "condition", "κ", 25.0, 1.0, 1e4, "log", minimum=0.0, open_minimum=True,
    tooltip="Ratio of the largest to the smallest curvature: steepness across the valley over that along it",
)  # fmt: skip
_ROTATION = ProblemParameter(
    "rotation", "φ", 0.0, -90.0, 90.0, unit="°",
    tooltip="Turns the valley against the axes: methods with one rate a coordinate lose their advantage",
)  # fmt: skip

SHAPES: tuple[FunctionSpec, ...] = (
    FunctionSpec(
        "quadratic", "Quadratic bowl", "(x² + κ y²) / 2, turned by φ", quadratic,
        (2.0, 1.0), ((-2.5, 2.5), (-2.5, 2.5)), _origin, (_CONDITION, _ROTATION),
        "A bowl of adjustable condition number: gradient descent diverges for a rate above 2/κ.",
    ),
    FunctionSpec(
        "saddle", "Saddle", "x² - c y²", saddle,
        (1.0, 1e-3), ((-2, 2), (-2, 2)), (),
        (ProblemParameter("curvature", "c", 1.0, 0.01, 10.0, "log", minimum=0.0, open_minimum=True,
                          tooltip="How fast the surface falls to both sides of the ridge"),),
        "On the ridge y = 0 the gradient points at the saddle and no first-order method leaves it.",
    ),
    FunctionSpec(
        "monkey_saddle", "Monkey saddle", "x³ - 3 x y²", monkey_saddle,
        (1.2, 0.3), ((-2, 2), (-2, 2)), (), (),
        "Three valleys meet; at the centre gradient and Hessian vanish together.",
    ),
    FunctionSpec(
        "ravine", "Winding ravine", "x²/2 + k (y - b sin 2x)²/2", ravine,
        (-2.5, 1.5), ((-3, 3), (-2.5, 2.5)), _origin,
        (ProblemParameter("steepness", "k", 50.0, 1.0, 1e3, "log", minimum=0.0, open_minimum=True,
                          tooltip="Curvature of the walls"),
         ProblemParameter("bend", "b", 0.8, 0.0, 2.0, tooltip="How far the ravine winds")),
        "A narrow winding floor: steps bounce between the walls.",
    ),
    FunctionSpec(
        "plateau", "Hole in a plateau", "1 - exp(-(x² + y²)/(2 s²))", plateau,
        (1.8, 1.2), ((-3, 3), (-3, 3)), _origin,
        (ProblemParameter("width", "s", 0.7, 0.1, 2.0, minimum=0.0, open_minimum=True,
                          tooltip="Width of the hole; outside it the gradient vanishes"),),
        "Far from the hole the gradient is nearly zero: what a normalising optimizer does with almost nothing.",
    ),
    FunctionSpec(
        "cliff", "Cliff", "(x + 3)²/20 + y²/20 + h / (1 + exp(-s (x - 1)))", cliff,
        (2.5, 2.0), ((-4, 4), (-4, 4)), (),
        (ProblemParameter("height", "h", 5.0, 0.0, 50.0, tooltip="Height of the wall"),
         ProblemParameter("sharpness", "s", 20.0, 1.0, 1e3, "log", minimum=0.0, open_minimum=True,
                          tooltip="Steepness of the wall; the gradient there is about h s / 4")),
        "A gentle plain with a wall whose gradient throws an unclipped step far away. "
        "After Pascanu, Mikolov, Bengio 2013.",
    ),
    FunctionSpec(
        "slope", "Constant slope", "a x + b y", slope,
        (0.0, 0.0), ((-3, 3), (-3, 3)), (),
        (ProblemParameter("slope_x", "a", 3.0, -10.0, 10.0, tooltip="The gradient along x, everywhere"),
         ProblemParameter("slope_y", "b", 4.0, -10.0, 10.0, tooltip="The gradient along y, everywhere")),
        "The same gradient in every step: what remains is the optimizer alone.",
    ),
    FunctionSpec(
        "double_well", "Double well", "(x² - 1)² + y²/2 + t x", double_well,
        (0.4, 1.0), ((-2, 2), (-2, 2)), _double_well_minima,
        (ProblemParameter("tilt", "t", 0.3, -1.5, 1.5, tooltip="Makes one of the two wells deeper"),),
        "Two minima with a barrier between them: momentum can carry over it.",
    ),
)  # fmt: skip
