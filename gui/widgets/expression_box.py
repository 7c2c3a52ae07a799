"""A formula typed in the window: checked as it is typed, its mistake marked where it is, its constants as sliders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from core.problems import ExpressionError, expression, suggest_parameters
from core.problems.functions import NOISE
from core.problems.objective import Objective
from gui.theme import Theme
from gui.widgets.code_box import CodeEdit
from gui.widgets.parameter_slider import ParameterSlider


class FormulaEdit(CodeEdit):
    """One formula, wrapped; Enter submits."""

    def text(self) -> str:
        """What stands there."""
        return self.toPlainText()

    def setText(self, text: str) -> None:
        """Another formula."""
        self.setPlainText(text)

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._modified, self._text = False, ""
        super().__init__(*arguments, **settings)
        self.textChanged.connect(self._on_changed)

    @Slot()
    def _on_changed(self) -> None:
        # Qt's own flag is set by other colours as well, at once or later
        if self.text() != self._text:
            self._text, self._modified = self.text(), True

    def isModified(self) -> bool:
        """Whether the text is the user's, not yet that of the run."""
        return self._modified

    def setModified(self, modified: bool) -> None:
        """Say whose text it is."""
        self._modified = modified

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.submitted.emit()
            return
        super().keyPressEvent(event)


class ExpressionBox(QWidget):
    """The formula, what is wrong with it or what its names stand for, and sliders of constants not yet at work.

    ``objective`` is what the formula as it stands describes, None while it cannot be used.
    """

    submitted = Signal(str, object)
    """A formula to start the run with, and the values of its constants."""
    drafted = Signal(bool)
    """Whether another formula than the run's is being typed."""

    def __init__(self, theme: Theme, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.objective: Objective | None = None
        self.sliders: dict[str, ParameterSlider] = {}
        self.values: dict[str, float] = {}
        """The constants of the formula as it stands."""
        self._known: dict[str, float] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self.edit = FormulaEdit(theme, least=1, most=6)
        self.edit.setPlaceholderText(placeholder)
        self.edit.setAccessibleName(self.tr("Own formula"))
        self.edit.setToolTip(
            self.tr(
                "A formula in x and y (or w1, w2, …) with the functions of NumPy; other names become sliders. "
                "Enter restarts the run with it."
            )
        )
        self.edit.textChanged.connect(self._on_text)
        self.edit.submitted.connect(self._on_submitted)
        layout.addWidget(self.edit)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.trouble.setVisible(False)
        layout.addWidget(self.trouble)
        self.about = QLabel()
        self.about.setObjectName("quiet")
        self.about.setWordWrap(True)
        self.about.setVisible(False)
        layout.addWidget(self.about)
        self._drafts = QVBoxLayout()
        self._drafts.setSpacing(2)
        layout.addLayout(self._drafts)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.edit.restyle(theme)

    def show_run(self, text: str, values: Mapping[str, object]) -> None:
        """The formula and constants at work, unless another one is being typed."""
        self._known = {
            key: float(value)
            for key, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        if not self.edit.isModified() and self.edit.text() != text:
            self.edit.setText(text)
            self.edit.setModified(False)
            self.check()

    def take(self) -> bool:
        """Submit what stands there; False when it cannot be used."""
        self.check()
        if self.objective is None:
            return False
        text, values = self.edit.text().strip(), dict(self.values)
        self.edit.setModified(False)
        self.check()
        self.submitted.emit(text, values)
        return True

    def check(self) -> None:
        """Look at the formula as it stands."""
        self.drafted.emit(self.edit.isModified())
        text = self.edit.text()
        try:
            values = suggest_parameters(text, {**self._known, **self.values})
            self.objective = expression(text, **values)
        except ExpressionError as error:
            self.objective = None
            self._complain(error.reason, error.column)
            return
        except ValueError as error:
            self.objective = None
            self._complain(str(error), -1)
            return
        self.values = values
        self._complain("", -1)
        self._show_drafts()

    def _complain(self, reason: str, column: int) -> None:
        if reason and column >= 0:
            before = self.edit.text()[:column]
            line, place = before.count("\n") + 1, column - (before.rfind("\n") + 1) + 1
            self.trouble.setText(self.tr("column {0}: {1}").format(place, reason))
            self.edit.underline(line, place)
        else:
            self.trouble.setText(reason)
            self.edit.underline(0, 0)
        self.trouble.setVisible(bool(reason))
        if reason:
            self.about.setVisible(False)

    def _show_drafts(self) -> None:
        """Sliders and a line about the names, as long as the formula is not the one of the run."""
        fresh = self.edit.isModified()
        assert self.objective is not None
        coordinates = ", ".join(self.objective.component_names)
        self.about.setText(self.tr("in {0} — Enter restarts with it").format(coordinates))
        self.about.setVisible(fresh)
        wanted = {p.key: p for p in self.objective.parameters if fresh and p is not NOISE}
        for key in [key for key in self.sliders if key not in wanted]:
            slider = self.sliders.pop(key)
            self._drafts.removeWidget(slider)
            slider.hide()
            slider.deleteLater()
        for key, parameter in wanted.items():
            if key not in self.sliders:
                slider = ParameterSlider(parameter, self.values[key], owner=self.tr("Own formula"))
                slider.changed.connect(self._on_draft)
                self.sliders[key] = slider
                self._drafts.addWidget(slider)

    @Slot(object)
    def _on_draft(self, value: float) -> None:
        slider = self.sender()
        if isinstance(slider, ParameterSlider):
            self.values[slider.parameter.key] = float(value)

    @Slot()
    def _on_text(self) -> None:
        self.check()

    @Slot()
    def _on_submitted(self) -> None:
        self.take()
