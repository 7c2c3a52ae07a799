"""What hovering over a line of the ledger tells: its formula with this step's numbers, lengths, source."""

from __future__ import annotations

import html

from PySide6.QtCore import QCoreApplication

from core.optim.optimizer import Optimizer
from core.simulation.formulas import formula
from gui.theme import Theme
from gui.views.ledger.step import LedgerStep
from gui.widgets.numbers import shown_number
from gui.widgets.readable import text_color, with_hats


def tr(text: str) -> str:
    """Translation of a text of this view."""
    return QCoreApplication.translate("LedgerView", text)


def line_tip(step: LedgerStep, line: int, optimizer: Optimizer | None, figures: dict[str, float], theme: Theme) -> str:
    """Rich text about a line; ``optimizer`` has the settings of that step (None: unknown)."""
    numbers = step.numbers[line]
    if line == 0:
        return _page(
            tr("expected −lr·g"), "computed", [tr("What the gradient alone asks for."), _length(numbers.size)], theme
        )
    if line == step.lines - 1:
        told = [tr("The stored weights after the step minus those before it."), _length(numbers.size)]
        return _page(tr("applied Δw"), "applied", told, theme)
    name, cause = step.names[line - 1], step.causes[line - 1]
    told = []
    if optimizer is not None:
        text = formula(optimizer, name, figures)
        if text:
            told.append(f"<span style='white-space:pre-wrap'>{html.escape(with_hats(text))}</span>")
    if not step.acted(line):
        told.append(tr("Did nothing in this step."))
    else:
        told.append(
            tr("Contribution: length {0} ({1} % of all), along −lr·g {2}, across {3}.").format(
                _number(numbers.size), f"{100.0 * numbers.share:.3g}", _number(numbers.along), _number(numbers.across)
            )
        )
        told.append(tr("The step is {0} long after it.").format(_number(numbers.length_after)))
    source = _source(optimizer, name)
    if source:
        told.append(f"<span style='color:{theme.quiet}'>{html.escape(source)}</span>")
    return _page(f"{step.labels[line - 1]}  ({cause})", cause, told, theme)


def _page(title: str, meaning: str, paragraphs: list[str], theme: Theme) -> str:
    heading = f"<b style='color:{text_color(theme, meaning)}'>{html.escape(title)}</b>"
    return "<br>".join([heading, *paragraphs])


def _length(size: float) -> str:
    return tr("Length {0}.").format(_number(size))


def _source(optimizer: Optimizer | None, name: str) -> str:
    if optimizer is None or name not in optimizer.chain.row_names:
        return ""
    return optimizer.transform(name).source


def _number(value: float) -> str:
    return shown_number(value, 6)
