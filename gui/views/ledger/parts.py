"""What the expected step is made of, above the ledger: with batch normalisation, the part through its statistics."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, Slot
from PySide6.QtWidgets import QLabel, QWidget

from gui.parts_source import PartsSource
from gui.session import Session
from gui.theme import COMPUTED
from gui.widgets.numbers import shown_number

Float64 = NDArray[np.float64]
GAP = "&nbsp;" * 4


def parts_html(parts: dict[str, Float64], part: slice) -> str:
    """One line a part: its length, and how much of it lies along their sum."""
    total = np.sum([vector[part] for vector in parts.values()], axis=0)
    length = float(np.linalg.norm(total))
    heads = (tr("length"), tr("along −lr·g"))
    lines = ["<tr><td></td>" + "".join(f"<td align='right'>{GAP}{html.escape(head)}</td>" for head in heads) + "</tr>"]
    for name, vector in parts.items():
        size = float(np.linalg.norm(vector[part]))
        along = float(vector[part] @ total) / length if length > 0 else 0.0
        lines.append(_line(html.escape(name), size, along))
    lines.append(_line(f"<span style='color:{COMPUTED}'>= −lr·g</span>", length, length))
    return "<table cellspacing='0' cellpadding='0'>" + "".join(lines) + "</table>"


def _line(name: str, length: float, along: float) -> str:
    numbers = (shown_number(length), shown_number(along, 4, "+"))
    cells = "".join(f"<td align='right'>{GAP}{number}</td>" for number in numbers)
    return f"<tr><td>{name}</td>{cells}</tr>"


def tr(text: str) -> str:
    """Translation of a text of this view."""
    return QCoreApplication.translate("PartsLine", text)


class PartsLine(QLabel):
    """Hidden for problems whose gradient has no parts; otherwise filled by the worker for the step shown."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._source = PartsSource(session, self)
        self._source.found.connect(self._on_found)
        self._part = slice(None)
        self.setObjectName("quiet")
        self.setContentsMargins(8, 4, 8, 4)
        self.setAccessibleName(self.tr("What the expected step is made of"))
        self.setToolTip(
            self.tr(
                "Batch normalisation: the gradient with mean and variance of the batch held constant, and what flows "
                "through them. Length of −lr times each part, and its amount along −lr·g; they add up to −lr·g."
            )
        )
        self.setVisible(False)

    def parts(self) -> dict[str, Float64]:
        """The parts shown, times −lr."""
        step = self._source.step
        history = self._session.current.history
        if not 0 <= step < history.count:
            return {}
        rate = float(history.scalar("base_learning_rate")[step])
        return {name: -rate * part for name, part in self._source.parts.items()}

    def show_step(self, step: int, part: slice) -> None:
        """Have the parts of another step shown, restricted to ``part`` of the weights."""
        other = part != self._part
        self._part = part
        if not self._source.ask(step):
            self.setVisible(False)
        elif other:
            self._on_found()

    @Slot()
    def _on_found(self) -> None:
        parts = self.parts()
        if parts:
            heading = self.tr("Gradient of step {0}, times −lr").format(self._source.step)
            self.setText(f"{html.escape(heading)}{parts_html(parts, self._part)}")
        self.setVisible(bool(parts))
