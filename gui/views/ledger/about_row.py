"""What is told about the selected row beside its formula: the numbers behind it, for one weight."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QCoreApplication

from core.optim.worked import Worked
from gui.session import Session
from gui.views.ledger.step import LedgerStep, scope_part
from gui.views.ledger.whatif_job import WhatIfJob
from gui.widgets.numbers import real_minus
from gui.widgets.readable import with_hats


def example_weight(session: Session, step: LedgerStep, line: int) -> int:
    """The weight whose numbers are told: the one selected, else the one the row moves most."""
    history, component = session.current.history, session.selected_component
    if component is not None and 0 <= component < history.layout.size:
        return component
    part = scope_part(history, session.selected_variable, None)
    sizes = np.nan_to_num(np.abs(step.vector(line)), nan=np.inf)
    return part.start + (int(np.argmax(sizes)) if sizes.size else 0)


def shown_formula(text: str, answer: WhatIfJob | None) -> str:
    """The formula with the numbers that the row itself noted, as soon as they are known: figures of the step may be
    another row's of the same kind."""
    if answer is None or answer.numbers is None or text.endswith("(switched off)"):
        return with_hats(text)
    return with_hats(answer.numbers.formula)


def numbers_line(numbers: Worked, names: Sequence[str]) -> str:
    """What came in, the state it used, what went out and what that adds to the step, for one weight; rich text."""
    name = names[numbers.component] if numbers.component < len(names) else str(numbers.component)
    value = numbers.contribution
    contribution = "0" if value == 0.0 else f"{value:+.6g}" if value == value else "nan"
    text = QCoreApplication.translate("LedgerView", "{0}: {1}; contribution {2}.")
    return text.format(
        f"<b>{html.escape(name)}</b>",
        html.escape(with_hats(real_minus(numbers.text))).replace("none yet", _none_yet()),
        real_minus(contribution),
    )


def _none_yet() -> str:
    return QCoreApplication.translate("LedgerView", "none yet")
