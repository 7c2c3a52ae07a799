"""The facts of one recorded step that sentences are made from: which rows mattered, what they did, what was lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.simulation.contrast import Contrast, contrast, norm
from core.simulation.history import History
from core.simulation.measures import row_norms
from core.simulation.running_sums import relative_effects, running_sums

Float64 = NDArray[np.float64]
NEGLIGIBLE = 1e-3
"""A row shorter than this share of the step it acts on is not worth a sentence."""
ROUNDING_NEGLIGIBLE = 1e-6
"""The same for a row that alone makes the difference: rounding in float64 stays below it."""
NOTHING = 1e-12
"""What is left of a step that rows took away altogether, relative to what it was."""
UNDONE = 0.25
"""Two rows are told as one when what is left of both is no more than this share of the shorter."""
COMPANIONS = ("momentum", "adaptive scaling")
"""Averages of these causes are told together with the bias correction right behind them: one makes up for the other."""
EVEN = 1.02
"""Weights that move by amounts within this factor of one another move by the same amount, to a reader."""
MOST_TOGETHER = 2
"""Rows that another one may still be told together with."""
RUNAWAY_STEPS = 8
RUNAWAY_FACTOR = 100.0


@dataclass(frozen=True, slots=True)
class Deed:
    """Ledger rows that mattered: mostly one, or neighbours that largely undo each other and are told as one.

    ``size`` is the length of their joint contribution, ``effect`` that over the length of the step they acted on,
    ``share`` the part of the size in the sum over all deeds.
    """

    rows: tuple[int, ...]
    size: float
    effect: float
    share: float = 0.0

    @property
    def first(self) -> int:
        """The first of the rows."""
        return self.rows[0]

    @property
    def last(self) -> int:
        """The last of the rows."""
        return self.rows[-1]


class StepFacts:
    """Everything the story needs to know of one step; vectors (size,), rows (rows, size), prefixes d_0 .. d_n."""

    def __init__(
        self,
        step: int,
        gradient: Float64,
        expected: Float64,
        applied: Float64,
        rows: Float64,
        causes: tuple[str, ...],
        labels: tuple[str, ...],
        names: tuple[str, ...] = (),
    ) -> None:
        self.step = step
        self.size = expected.size
        self.gradient = gradient
        self.expected = expected
        self.applied = applied
        self.rows = rows
        self.causes = causes
        self.labels = labels
        self.names = names or labels
        self.weights: Float64 | None = None
        self.loss = math.nan
        self.rate = math.nan
        self.base_rate = math.nan
        self.skipped = False
        self.figures: dict[str, float] = {}
        self.parts: dict[str, slice] = {}
        self.recent_losses: Float64 = np.empty(0)
        self.first_loss = np.nan

    @classmethod
    def of(cls, history: History, step: int) -> StepFacts:
        """The facts of a recorded step."""
        schema = history.schema(step)
        with np.errstate(all="ignore"):
            expected = history.expected(step)
        facts = cls(
            step,
            history.gradient(step),
            expected,
            history.applied(step),
            history.rows(step),
            schema.causes,
            schema.labels,
            schema.names,
        )
        facts.weights = history.weights(step)
        losses = history.scalar("loss")
        facts.loss = float(losses[step])
        facts.first_loss = float(losses[0])
        facts.recent_losses = losses[max(step - RUNAWAY_STEPS, 0) : step + 1]
        facts.rate = float(history.scalar("learning_rate")[step])
        facts.base_rate = float(history.scalar("base_learning_rate")[step])
        facts.skipped = bool(history.scalar("skipped")[step])
        facts.figures = history.figures(step)
        facts.parts = dict(zip(history.layout.names, history.layout.slices, strict=True))
        return facts

    @cached_property
    def contrast(self) -> Contrast:
        """Computed against applied."""
        return contrast(self.expected, self.applied)

    @cached_property
    def finite(self) -> bool:
        """True when the step can be told in numbers: nothing in it is inf or nan."""
        return bool(
            np.isfinite(self.expected).all() and np.isfinite(self.applied).all() and np.isfinite(self.rows).all()
        )

    @cached_property
    def sums(self) -> Float64:
        """The step as it stood before the first row, after it, ... after the last: (rows + 1, size)."""
        return running_sums(self.expected, self.rows, self.applied)

    @cached_property
    def sizes(self) -> Float64:
        """Length of each contribution, (rows,)."""
        return row_norms(self.rows)

    @cached_property
    def deeds(self) -> list[Deed]:
        """What made the step what it is, the longest contribution first.

        Deeds of a NEGLIGIBLE effect are left out unless there are only such; so are rows that cancel (see ``pairs``).
        Empty when the step is -lr * g but for the rounding of float64.
        """
        left = [deed for deed in self._merged if deed.effect > ROUNDING_NEGLIGIBLE]
        chosen = [deed for deed in left if deed.effect > NEGLIGIBLE] or left
        total = sum(deed.size for deed in chosen)
        shared = [Deed(deed.rows, deed.size, deed.effect, deed.size / total) for deed in chosen]
        return sorted(shared, key=lambda deed: -deed.size)

    @cached_property
    def pairs(self) -> list[tuple[int, ...]]:
        """Neighbouring rows whose contributions, each worth telling, cancel altogether."""
        return [deed.rows for deed in self._merged if len(deed.rows) > 1 and deed.effect <= NEGLIGIBLE]

    @cached_property
    def _merged(self) -> list[Deed]:
        """All rows in order; neighbours (rows that did nothing aside) that largely undo each other are one deed."""
        effects, deeds = relative_effects(self.sums, self.sizes), list[Deed]()
        acting = np.flatnonzero(~(effects <= ROUNDING_NEGLIGIBLE)).tolist()
        for row, behind in zip(acting, [*acting, None][1:], strict=True):
            last = deeds[-1] if deeds else None
            if last is not None and self._belongs_to(row, last):
                deeds[-1] = self._joined((*last.rows, row))
                continue
            size, effect = float(self.sizes[row]), float(effects[row])
            undoing = last is not None and len(last.rows) <= MOST_TOGETHER and min(effect, last.effect) > NEGLIGIBLE
            if undoing and last is not None and not self._awaits_correction(row, behind):
                joined = self._joined((*last.rows, row))
                if joined.size <= UNDONE * min(size, last.size):
                    deeds[-1] = joined
                    continue
            deeds.append(Deed((row,), size, effect))
        return deeds

    def _belongs_to(self, row: int, last: Deed) -> bool:
        """Whether ``row`` is the bias correction of the average that ``last`` is."""
        return self.causes[row] == "bias correction" and len(last.rows) == 1 and self.causes[last.first] in COMPANIONS

    def _awaits_correction(self, row: int, behind: int | None) -> bool:
        """Whether ``row`` is an average whose bias correction is the next row that acted: the two are told together."""
        return behind is not None and self.causes[behind] == "bias correction" and self.causes[row] in COMPANIONS

    def _joined(self, rows: tuple[int, ...]) -> Deed:
        """Neighbouring rows as one deed."""
        joint = norm(self.rows[list(rows)].sum(axis=0))
        longer = max(norm(self.sums[rows[0]]), norm(self.sums[rows[-1] + 1]))
        return Deed(rows, joint, joint / longer if longer > 0.0 else 0.0)

    @cached_property
    def alone(self) -> bool:
        """True when a single deed makes the whole difference, but for the rounding of float64."""
        return len([deed for deed in self._merged if deed.effect > ROUNDING_NEGLIGIBLE]) == 1

    @cached_property
    def even_amount(self) -> float | None:
        """The amount by which every weight moves, along its own -lr * g, when it is the same for all of them although
        the gradients are not: then only the signs of the gradient are left. None otherwise.
        """
        if self.size < 2 or not self.finite or not {"adaptive scaling", "sign"} & set(self.causes):
            return None
        sizes, moved = np.abs(self.expected), np.abs(self.applied)
        if not sizes.all() or not moved.all() or sizes.max() < 1.5 * sizes.min():
            return None
        if (np.sign(self.expected) != np.sign(self.applied)).any() or moved.max() > EVEN * moved.min():
            return None
        return float(np.median(moved))

    @property
    def _rounds(self) -> bool:
        return bool(self.causes) and self.causes[-1] == "rounding"

    @cached_property
    def first_broken_row(self) -> int | None:
        """The first row with inf or nan although what came before it was finite."""
        if not np.isfinite(self.expected).all():
            return None
        bad = ~np.isfinite(self.rows).all(axis=1)
        return int(np.argmax(bad)) if bad.any() else None

    @cached_property
    def zeroing_row(self) -> int | None:
        """The row from which on nothing is left of the step, but for the rounding of float64."""
        amounts = np.abs(self.sums)
        left = np.flatnonzero((amounts > NOTHING * amounts.max(axis=0)).any(axis=1))
        return int(left[-1]) if len(left) and left[-1] < len(self.rows) else None

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Weights that stayed although the finished step wanted to move them: rounding took the whole update."""
        if not self._rounds or self.skipped:
            return np.zeros(self.size, dtype=bool)
        taken = np.abs(self.rows[-1])
        # what the rows before left over by the rounding of float64 is no update that was lost
        meant = taken > NOTHING * np.abs(self.sums).max(axis=0)
        return (self.applied == 0.0) & meant & np.isfinite(taken)

    @cached_property
    def stopped(self) -> bool:
        """True when some weight that was expected to move was stopped before rounding."""
        return bool(((self.expected != 0.0) & (self.applied == 0.0) & ~self.lost).any())

    @cached_property
    def flipping_row(self) -> int | None:
        """The row that turned the sign of most of the weights that moved against -lr * g."""
        flipped = np.sign(self.expected) * np.sign(self.applied) < 0.0
        if not flipped.any():
            return None
        signs = np.sign(self.sums[:, flipped])
        other = signs != signs[-1]
        turned_by = len(signs) - 1 - np.argmax(other[::-1], axis=0)
        return int(np.argmax(np.bincount(turned_by)))

    def main_variable(self) -> tuple[str, float]:
        """The variable with most of |applied - expected|², and its share; ('', 0) for a single variable."""
        if len(self.parts) < 2:
            return "", 0.0
        difference = self.applied - self.expected
        lengths = {name: norm(difference[part]) for name, part in self.parts.items()}
        total = norm(np.array(list(lengths.values())))
        if total == 0.0:
            return "", 0.0
        name = max(lengths, key=lambda key: lengths[key])
        return name, (lengths[name] / total) ** 2

    @cached_property
    def runaway(self) -> tuple[float, int] | None:
        """(loss then, steps) when the loss has grown in each of the last steps, a hundredfold or more in all."""
        losses = self.recent_losses
        if len(losses) <= RUNAWAY_STEPS or not np.isfinite(losses).all() or losses[0] <= 0.0:
            return None
        if (np.diff(losses) > 0.0).all() and losses[-1] > RUNAWAY_FACTOR * losses[0]:
            return float(losses[0]), RUNAWAY_STEPS
        return None
