"""'compare A B': the first step at which two runs part, the ledger row that does it, and by how much."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.commands.progress import advance_to
from core.commands.sources import RequestError, Source, check_steps
from core.optim import parse_optimizer
from core.optim.aligned import RowPair, align_rows
from core.optim.compare import counts, culprit_of
from core.simulation.contrast import norm
from core.simulation.experiment import Experiment
from core.simulation.other_arithmetic import OtherArithmetic, PairedRow, apart
from core.simulation.plain import spelled

Float64 = NDArray[np.float64]
BLOCK_NUMBERS = 1 << 21
"""Numbers of a run that are compared at once (16 MB)."""
SAME = 1e-12
"""Recorded steps that differ by no more than this part of their length are the same."""


@dataclass(frozen=True)
class RowDifference:
    """One cause in both runs: the lengths of its contributions, None where a run has no such row."""

    name: str
    left: float | None
    right: float | None
    difference: float
    words: str


@dataclass(frozen=True)
class Parting:
    """Where two runs part: ``step`` is the first whose applied change differs, None where they do not part.

    ``same_gradients``: both were given the weights and gradients of the first run; otherwise each went its own way.
    ``rows`` are the causes in the order of the chain, ``cause`` the one that parts them ('gradient' or 'weights' when
    these differ already), ``words`` its two rules. ``applied`` is the length of the difference, ``length`` that of the
    longer step, ``expected`` the difference of -lr*g. ``rounding`` is the longest difference before it, of the last
    digits only, ``first_rounding`` its first step. ``ended`` says why no more could be compared.
    """

    steps: int
    same_gradients: bool
    names: tuple[str, str]
    rounding: float
    first_rounding: int | None
    ended: str
    weights_at_end: float
    losses: tuple[float, float]
    step: int | None = None
    cause: str = ""
    words: str = ""
    expected: float = 0.0
    applied: float = 0.0
    length: float = 0.0
    rows: tuple[RowDifference, ...] = ()


def find_parting(a: Source, b: Source, steps: int) -> Parting:
    """Compare two runs over ``steps`` steps (fewer when one ends before).

    Two optimizers for the same problem, start and seed are compared on the weights and gradients of the first run, any
    other runs as they were recorded.
    """
    if a.history.layout.shapes != b.history.layout.shapes:
        raise RequestError(
            f"the runs cannot be compared: their weights have shapes {a.history.layout.shapes} and "
            f"{b.history.layout.shapes}"
        )
    for source, which in ((a, "first run"), (b, "second run")):
        if source.simulation is not None:
            advance_to(source.simulation, steps, which)
    if min(a.history.count, b.history.count) == 0:
        raise RequestError("nothing to compare: a run holds no steps")
    return _by_optimizer(a, b, steps) if _differ_by_optimizer(a, b) else _as_recorded(a, b, steps)


def _differ_by_optimizer(a: Source, b: Source) -> bool:
    """Whether two fresh runs have all in common but their optimizer lines (and live changes of the first)."""
    if a.simulation is None or b.simulation is None or a.experiment is None or b.experiment is None:
        return False

    def rest(experiment: Experiment) -> Experiment:
        return experiment.replace(optimizer="", events=[], comment="", recorded=None)

    return rest(a.experiment) == rest(b.experiment) and b.experiment.events in ([], a.experiment.events)


FRAMEWORKS = {"torch": "PyTorch", "keras": "Keras", "tf1": "TensorFlow 1", "optax": "optax"}


def _names(first: str, second_lines: str) -> tuple[str, str]:
    """What the two are called: their frameworks, where these differ."""
    second = parse_optimizer(second_lines).dialect
    if first == second:
        return "the first", "the second"
    return FRAMEWORKS.get(first, first), FRAMEWORKS.get(second, second)


def _ends(a: Source, b: Source, count: int) -> tuple[float, tuple[float, float]]:
    """How far apart the weights are after ``count`` steps, each run going its own way; both losses of the last step."""
    last = count - 1
    with np.errstate(all="ignore"):
        ends = [it.history.weights(last) + it.history.applied(last) for it in (a, b)]
        distance = norm(ends[1] - ends[0])
    return distance, (float(a.history.scalar("loss")[last]), float(b.history.scalar("loss")[last]))


def _by_optimizer(a: Source, b: Source, steps: int) -> Parting:
    """Both optimizers on the weights and gradients of the first run."""
    assert a.simulation is not None and b.experiment is not None
    other = OtherArithmetic(a.simulation, b.experiment.optimizer)
    other.advance(steps)
    ends = _ends(a, b, min(steps, a.history.count, b.history.count))
    step = other.first_difference
    names = _names(a.simulation.optimizer_at(step or 0).dialect, b.experiment.optimizer)
    compared = other.reached - other.start
    found = Parting(compared, True, names, other.rounding, other.first_rounding, other.ended, *ends)
    if step is None:
        return found
    pair = other.pair(step, ("with " + names[0], "with " + names[1]))
    culprit = pair.first() or pair.largest()
    cause = words = ""
    if culprit is not None:
        cause = _name_of(culprit)
        instead = pair.instead(culprit)
        words = "; ".join(row.words for row in (culprit, instead) if row is not None and row.words)
    expected = next((row for row in pair.rows if row.left == "expected"), None)
    return replace(
        found,
        step=step,
        cause=cause,
        words=words,
        expected=0.0 if expected is None else norm(expected.difference),
        applied=norm(pair.difference),
        length=max(norm(pair.left), norm(pair.right)),
        rows=tuple(_row(row, row.label, row.words if pair.counts(row) else "") for row in pair.rows),
    )


def _name_of(pair: RowPair) -> str:
    return str(pair.right if pair.left is None else pair.left)


def _row(pair: RowPair, label: str, words: str) -> RowDifference:
    left = None if pair.left is None else norm(pair.left_contribution)
    right = None if pair.right is None else norm(pair.right_contribution)
    return RowDifference(label, left, right, norm(pair.difference), words)


def _as_recorded(a: Source, b: Source, steps: int) -> Parting:
    """Two histories side by side, each with the weights and gradients it had."""
    count = min(steps, a.history.count, b.history.count)
    step, first_rounding, rounding = _first_apart(a, b, count)
    names = ("the first", "the second")
    found = Parting(count, False, names, rounding, first_rounding, "", *_ends(a, b, count))
    if step is None:
        return found
    pairs = _recorded_rows(a, b, step)
    with np.errstate(all="ignore"):
        vectors = {
            name: [np.array(getattr(it.history, name)(step)) for it in (a, b)] for name in ("weights", "gradient")
        }
    cause = next((name for name, (one, two) in vectors.items() if not _same(one[None], two[None], SAME)[0]), "")
    first, second = np.array(a.history.applied(step)), np.array(b.history.applied(step))
    length = max(norm(first), norm(second))
    return replace(
        found,
        step=step,
        cause=cause or _name_of(culprit_of(pairs, lambda pair: counts(pair, SAME * length, SAME))),
        expected=norm(pairs[0].difference),
        applied=norm(apart(first, second)),
        length=length,
        rows=tuple(_row(pair, pair.label, "") for pair in pairs),
    )


def _recorded_rows(a: Source, b: Source, step: int) -> list[PairedRow]:
    """The rows of both, matched, with their names for people."""
    tables, labels = [], []
    for history in (a.history, b.history):
        schema, rows = history.schema(step), history.rows(step)
        tables.append(list(zip(schema.names, schema.causes, [np.array(row) for row in rows], strict=True)))
        labels.append({**dict(zip(schema.names, schema.labels, strict=True)), "expected": "−lr·g"})
    with np.errstate(all="ignore"):
        expected = [np.array(history.expected(step)) for history in (a.history, b.history)]
        pairs = align_rows(tables[0], tables[1], expected[0], expected[1])
    return [
        PairedRow(
            pair.cause, pair.left, pair.right, pair.left_contribution, pair.right_contribution, pair.moved, pair.gap,
            labels[1][str(pair.right)] if pair.left is None else labels[0][pair.left],
        )
        for pair in pairs
    ]  # fmt: skip


def _first_apart(a: Source, b: Source, count: int) -> tuple[int | None, int | None, float]:
    """(first step whose applied changes differ, first one before it that differs in its last digits, by how much at
    most); block by block, as much as memory should hold."""
    block = max(min(4096, BLOCK_NUMBERS // max(a.history.size, 1)), 1)
    first_rounding: int | None = None
    rounding = 0.0
    for start in range(0, count, block):
        stop = min(start + block, count)
        first, second = a.history.vectors("applied", start, stop), b.history.vectors("applied", start, stop)
        different = np.flatnonzero(~_same(first, second, SAME))
        until = int(different[0]) if len(different) else stop - start
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(np.nan_to_num(second[:until] - first[:until]), axis=1)
        if lengths.any():
            rounding = max(rounding, float(lengths.max()))
            first_rounding = start + int(np.flatnonzero(lengths)[0]) if first_rounding is None else first_rounding
        if len(different):
            return start + until, first_rounding, rounding
    return None, first_rounding, rounding


def _same(first: Float64, second: Float64, tolerance: float) -> NDArray[np.bool_]:
    """For each row whether the two steps are the same; one that is not finite only where both are so alike."""
    with np.errstate(all="ignore"):
        # by the largest number of the row, so that nothing overflows on the way
        largest = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))[:, None]
        one, other = first / largest, second / largest
        distance = np.linalg.norm(other - one, axis=1)
        near = distance <= tolerance * np.maximum(np.linalg.norm(one, axis=1), np.linalg.norm(other, axis=1))
        alike = ((first == second) | (np.isnan(first) & np.isnan(second))).all(axis=1)
    result: NDArray[np.bool_] = near | alike
    return result


def compare_command(a: Source, b: Source, steps: int, as_json: bool, exit_code: bool = False) -> int:
    """Print where two runs part. Exit code 0 in either case, with ``exit_code`` 1 when they do."""
    check_steps(steps)
    found = find_parting(a, b, steps)
    if as_json:
        print(json.dumps(spelled(asdict(found)), ensure_ascii=False))
    else:
        print("\n".join(_told(found)))
    return 1 if exit_code and found.step is not None else 0


def _told(found: Parting) -> list[str]:
    where = "On the weights and gradients of the first run the two" if found.same_gradients else "The runs"
    digits = f"{found.rounding:.3g}, first in step {found.first_rounding}"
    if found.step is None:
        close = "to the last bit" if found.first_rounding is None else f"rounding sets them apart by at most {digits}"
        lines = [f"{where} do not part within {found.steps} steps: {close}."]
    else:
        share = f" ({100.0 * found.applied / found.length:.3g} % of the step)" if found.length > 0.0 else ""
        lines = [f"{where} part at step {found.step}: what is applied differs by {found.applied:.6g}{share}."]
        if found.first_rounding is not None:
            lines.append(f"Before that they differ by rounding alone: at most {digits}.")
        lines += _cause_lines(found)
    if found.ended:
        lines.append(f"{found.ended}.")
    lines.append(
        f"Each going its own way, after {found.steps} steps the weights are {found.weights_at_end:.6g} apart; "
        f"losses {found.losses[0]:.6g} and {found.losses[1]:.6g}."
    )
    return lines


def _cause_lines(found: Parting) -> list[str]:
    if found.cause in ("gradient", "weights"):
        lines = [f"The {'computed gradients' if found.cause == 'gradient' else 'weights'} differ already there."]
    else:
        lines = [f"First through {found.cause}" + (f": {found.words}." if found.words else ".")]
    width = max(len(row.name) for row in found.rows)
    one, other = found.names
    lines += ["", f"  {'':{width}}  {one:>12}  {other:>12}  {'difference':>12}"]
    for row in found.rows:
        left, right = (f"{value:.6g}" if value is not None else "-" for value in (row.left, row.right))
        lines.append(f"  {row.name:{width}}  {left:>12}  {right:>12}  {row.difference:>12.6g}")
    return [*lines, ""]
