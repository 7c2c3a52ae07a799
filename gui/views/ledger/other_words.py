"""What a comparison with another framework's arithmetic found, in sentences."""

from __future__ import annotations

import html

import numpy as np
from PySide6.QtCore import QCoreApplication

from core.optim.port import Port, changes_that_count
from core.simulation.contrast import norm
from core.simulation.other_arithmetic import OtherArithmetic, PairedRow, StepPair
from core.simulation.wording import number
from gui.theme import Theme
from gui.views.ledger.other_job import OtherJob
from gui.widgets.numbers import real_minus
from gui.widgets.readable import text_color, with_hats


def tr(text: str) -> str:
    """Translation of a text of this panel."""
    return QCoreApplication.translate("OtherDialog", text)


def amount(value: float) -> str:
    """Four digits, with a real minus sign."""
    return real_minus(number(value))


def port_words(port: Port, name: str) -> str:
    """Whether the lines are the same optimizer, and what they cannot keep; rich text."""
    if port.exact:
        notes = [line[1:].strip() for line in port.lines.splitlines() if line.startswith("#")]
        told = tr("{0} can say exactly this.").format(name)
        return told + "".join(f" {html.escape(note[:1].upper() + note[1:])}." for note in notes)
    reason = html.escape(port.reason.rstrip("."))
    if not port.lines:
        return tr("{0} cannot express this chain: {1}. Own lines can be compared all the same.").format(name, reason)
    changed = changes_that_count(port.changed)
    told = tr("{0} cannot express this chain exactly: {1}.").format(name, reason)
    listed = ", ".join(f"{label} ({key}: {_shown(here)} → {_shown(there)})" for label, key, here, there in changed)
    told += " " + tr("Below is what a port by hand gives: the same numbers, with {0}'s conventions.").format(name)
    return told + " " + html.escape(tr("Changed: {0}.").format(listed)) if listed else told


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def verdict(job: OtherJob, left: str, right: str, theme: Theme) -> str:
    """The first step that differs, the cause, by how much; then the step shown. Rich text."""
    if job.trouble:
        return html.escape(tr("This comparison cannot go on: {0}").format(job.trouble))
    other = job.other
    told = []
    if other.start:
        told.append(tr("Compared from step {0} on, where the present optimizer lines begin.").format(other.start))
    first = other.first_difference
    steps = job.reached - other.start
    if steps < 1 and not other.ended:
        return " ".join([*told, tr("No step has been taken yet.")])
    if first is None and steps:
        told.append(
            tr("On the weights and gradients of this run {0} and {1} take the same steps, all {2} of them{3}.").format(
                left, right, steps, _how_close(other)
            )
        )
    elif job.first is not None:
        told.append(tr("The first step that differs is {0}: {1}").format(f"<b>{first}</b>", _cause(job.first, theme)))
        if other.first_rounding is not None:
            told.append(
                tr("Before it they differ by rounding alone, at most {0}, first in step {1}.").format(
                    amount(other.rounding), other.first_rounding
                )
            )
        if steps > 1:
            distances = other.distances
            furthest = int(np.argmax(np.nan_to_num(distances, nan=np.inf)))
            told.append(
                tr("They are furthest apart in step {0}, by {1}.").format(
                    other.start + furthest, amount(float(distances[furthest]))
                )
            )
    if other.ended:
        told.append(html.escape(other.ended) + ".")
    return " ".join(told)


def _how_close(other: OtherArithmetic) -> str:
    """How much 'the same' leaves open."""
    if other.first_rounding is None:
        return tr(", to the last bit")
    return tr("; rounding sets them apart by at most {0}, first in step {1}").format(
        amount(other.rounding), other.first_rounding
    )


def _cause(pair: StepPair, theme: Theme) -> str:
    """Which row parts them in this step, with its rules."""
    row = pair.first() or pair.largest()
    size, length = norm(pair.difference), norm(pair.left)
    share = ""
    if length > 0.0 and np.isfinite(size):
        share = tr(", {0} % of the step").format(amount(float(f"{100.0 * size / length:.3g}")))
    said = tr("what is applied differs by {0}{1}").format(amount(size), share)
    if row is None:
        return said + "."
    told = f"{said}, {tr('first through')} {name_of(row, theme)}"
    instead = pair.instead(row)
    words = "; ".join(it.words for it in (row, instead) if it is not None and it.words)
    return f"{told} ({html.escape(with_hats(words))})." if words else f"{told}."


def step_words(pair: StepPair, left: str, right: str, theme: Theme) -> str:
    """The step shown: how far apart, and through which cause most of it."""
    head = f"<b>{tr('Step {0}:').format(pair.step)}</b> "
    if np.array_equal(pair.left, pair.right):
        return head + tr("both apply the same, to the last bit.")
    size, length = norm(pair.difference), norm(pair.left)
    if not pair.differs:
        return head + tr("the same step, rounded in another order. They differ by {0}.").format(amount(size))
    told = head + tr("{0} applies a step of length {1}, {2} one of {3}; they differ by {4}").format(
        left, amount(length), right, amount(norm(pair.right)), amount(size)
    )
    if length > 0.0 and np.isfinite(size):
        told += tr(", {0} % of the step").format(amount(float(f"{100.0 * size / length:.3g}")))
    return told + ". " + _furthest(pair, theme)


def _furthest(pair: StepPair, theme: Theme) -> str:
    """The two rows with the largest differences (rows may undo one another, so none of them is 'most of it')."""
    sizes = sorted(((norm(row.difference), k) for k, row in enumerate(pair.rows)), key=lambda item: (-item[0], item[1]))
    least = 1e-3 * sizes[0][0] if sizes else 0.0
    told = [
        tr("{0} by {1}").format(name_of(pair.rows[k], theme), amount(size)) for size, k in sizes[:2] if size > least
    ]
    if not told:
        return ""
    text = tr("Furthest apart is {0}.").format(told[0])
    return text if len(told) == 1 else tr("Furthest apart are {0} and {1}.").format(*told)


def name_of(row: PairedRow, theme: Theme) -> str:
    """The name of a cause in its colour."""
    meaning = "computed" if "expected" in (row.left, row.right) else row.cause
    return f"<b style='color:{text_color(theme, meaning)}'>{html.escape(row.label)}</b>"
