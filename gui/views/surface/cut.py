"""Where the picture is cut through the weights: the user's choice of plane, and the part of it that is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.problems.directions import random_plane
from core.problems.lines import Line, along, one_weight, random_line
from core.problems.objective import Objective
from core.problems.planes import Plane, PlaneError, expected_and_applied, principal, through_three, two_weights
from core.simulation import History

Float64 = NDArray[np.float64]
KINDS = ("weights", "step", "principal", "three", "random")
SLICES = ("slice weight", "slice gradient", "slice applied", "slice random")
"""Kinds of line: the loss is then drawn as a curve."""
FOLLOWS_THE_STEP = ("weights", "step", "slice weight", "slice gradient", "slice applied")
"""Kinds of cut that are made anew through each step shown; the others stay until they are asked for again."""
MOVES_WITH_THE_STEP = ("step", "slice gradient", "slice applied")
"""Those that follow it in every frame, as their directions are the step's own."""
PRINCIPAL_NUMBERS = 2_000_000


class RunPoint(NamedTuple):
    """A point of a run: ``run`` is its id, ``step`` -1 the newest step."""

    run: int
    step: int = -1


class NamedPoint(NamedTuple):
    """Weights (size,) with the name they get on an axis."""

    name: str
    weights: Float64


@dataclass(frozen=True, slots=True)
class CutChoice:
    """Which plane: two weights (``first`` across, ``second`` up), the step's own, the path's largest variance, through
    three ``points`` (none: start, middle and newest step of the run shown), or random filter-normalised directions
    drawn from ``seed``. Or which line, along weight ``first``, this step's gradient or applied change, or at random.
    """

    kind: str = "weights"
    first: int = 0
    second: int = 1
    seed: int = 0
    points: tuple[RunPoint, ...] = ()

    @property
    def is_line(self) -> bool:
        """True for the kinds that are drawn as a curve."""
        return self.kind in SLICES

    def plain(self, ids: Sequence[int]) -> list[Any]:
        """As plain data; runs by their place in ``ids``, as these are given anew when a session is opened."""
        kept = [[ids.index(point.run), point.step] for point in self.points if point.run in ids]
        return [self.kind, self.first, self.second, self.seed, *([kept] if len(kept) == 3 else [])]

    @staticmethod
    def of(values: Sequence[Any], ids: Sequence[int]) -> CutChoice:
        """The choice from ``plain`` data."""
        kind, first, second, seed, *rest = values
        points = tuple(RunPoint(ids[run], step) for run, step in rest[0] if run < len(ids)) if rest else ()
        return CutChoice(kind, first, second, seed, points if len(points) == 3 else ())


def first_choice(objective: Objective, weights: Float64) -> CutChoice:
    """What is shown of a problem at first: its first two weights, if the loss depends on them at ``weights``.

    The first pixels of a data set of pictures are always dark: over their weights any loss is flat, and the picture
    would be empty. Then the two weights with the steepest slopes are taken.
    """
    if objective.size <= 2:
        return CutChoice()
    with np.errstate(all="ignore"):
        gradient = np.abs(np.asarray(objective.value_and_gradient(weights, 0, 0)[1], dtype=np.float64))
    if gradient[:2].any() or not np.isfinite(gradient).all():
        return CutChoice()
    first, second = sorted(int(k) for k in np.argsort(-gradient, kind="stable")[:2])
    return CutChoice("weights", first, second)


class Region(NamedTuple):
    """A rectangle in plane coordinates."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        """Extent across."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Extent upwards."""
        return self.top - self.bottom

    def holds(self, a: float, b: float, margin: float = 0.0) -> bool:
        """Whether (a, b) lies inside, by at least ``margin`` of the extents."""
        return bool(
            self.left + margin * self.width <= a <= self.right - margin * self.width
            and self.bottom + margin * self.height <= b <= self.top - margin * self.height
        )

    def including(self, a: float, b: float, slack: float = 0.0) -> Region:
        """The smallest rectangle with (a, b) too; sides that move, move on by ``slack`` of their extent."""
        left, right = _stretched(self.left, self.right, a, slack)
        bottom, top = _stretched(self.bottom, self.top, b, slack)
        return Region(left, right, bottom, top)


def _stretched(low: float, high: float, value: float, slack: float) -> tuple[float, float]:
    if value < low:
        return value - slack * (high - value), high
    if value > high:
        return low, value + slack * (value - low)
    return low, high


def make_cut(
    choice: CutChoice,
    objective: Objective,
    history: History,
    step: int,
    weights: Float64,
    points: Sequence[NamedPoint] = (),
) -> Plane | Line:
    """The plane or line of ``choice`` through ``weights``, those of step ``step``; PlaneError says why there is none.

    ``points`` are those of a plane through three. A problem with a single weight has one line and no plane.
    """
    if objective.size < 2:
        return one_weight(weights, 0, objective.component_names)
    if choice.is_line:
        return _make_line(choice, objective, history, step, weights)
    if choice.kind == "weights":
        return two_weights(weights, choice.first, choice.second, objective.component_names)
    if choice.kind == "random":
        return random_plane(weights, objective.variables, choice.seed)
    if choice.kind == "three" and len(points) == 3:
        names, vectors = zip(*points, strict=True)
        return through_three(*vectors, names=names)
    if history.count == 0:
        raise PlaneError("this plane needs a step: press Step or Run first")
    if choice.kind == "step":
        return expected_and_applied(weights, history.expected(step), history.applied(step))
    if choice.kind == "principal":
        most = max(50, min(1000, PRINCIPAL_NUMBERS // objective.size))
        every = -(-history.count // most)
        rows = history.path(every=every)
        return principal(np.concatenate([rows, weights[None, :]]))
    raise ValueError(f"no kind of plane {choice.kind!r}; there are: {', '.join(KINDS)}")


def _make_line(choice: CutChoice, objective: Objective, history: History, step: int, weights: Float64) -> Line:
    if choice.kind == "slice weight":
        return one_weight(weights, choice.first, objective.component_names)
    if choice.kind == "slice random":
        return random_line(weights, objective.variables, choice.seed)
    if history.count == 0:
        raise PlaneError("this line needs a step: press Step or Run first")
    if choice.kind == "slice gradient":
        # downhill, so that the computed arrow points to the right
        return along(weights, -history.gradient(step), "distance along −g")
    return along(weights, history.applied(step), "distance along the applied change")
