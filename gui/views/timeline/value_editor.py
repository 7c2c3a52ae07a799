"""One live change in a small dialog: at which step, and what the setting becomes. Refusals are said in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.declare import Parameter
from core.simulation.experiment import Event
from gui.widgets.slider_scale import read_value, value_text

LAST_STEP = 2**31 - 1
Check = Callable[[int, Any], str]
"""Given step and value: '' and it is done, or why it cannot be."""


class ValueEditor(QWidget):
    """The entry for one value, as its kind asks for: a switch, a choice, a number or list, or some lines of text."""

    def __init__(self, event: Event, parameter: Parameter | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.event_shown = event
        self.parameter = parameter
        self.box = self._make()
        self.box.setAccessibleName(self.tr("New value"))
        self.box.setToolTip(parameter.tooltip if parameter and parameter.tooltip else self.tr("What it becomes"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.box)
        self.setFocusProxy(self.box)

    def _make(self) -> QComboBox | QPlainTextEdit | QLineEdit:
        event, parameter = self.event_shown, self.parameter
        if isinstance(event.value, bool) or event.key == "enabled":
            box = QComboBox()
            box.addItem(self.tr("on"), True)
            box.addItem(self.tr("off"), False)
            box.setCurrentIndex(0 if event.value else 1)
            return box
        if parameter is not None and parameter.scale == "choice":
            box = QComboBox()
            for choice in parameter.choices:
                box.addItem(choice, choice)
            box.setCurrentIndex(box.findData(event.value))
            return box
        if event.key in ("lines", "order", "schedule"):
            text = QPlainTextEdit()
            text.setPlainText(_as_text(event))
            text.setTabChangesFocus(True)
            text.setMinimumSize(420, 120)
            return text
        line = QLineEdit(value_text(event.value, 17))
        line.selectAll()
        return line

    def value(self) -> Any:
        """What stands there, as Python data; ValueError with the reason when it cannot be read."""
        key = self.event_shown.key
        if isinstance(self.box, QComboBox):
            return self.box.currentData()
        if isinstance(self.box, QPlainTextEdit):
            text = self.box.toPlainText()
            if key == "order":
                return " ".join(text.split())
            return text if key == "lines" else _schedule(text)
        if self.event_shown.target == "weights":
            return read_value(Parameter("value", "w", [], scale="list"), self.box.text())
        parameter = self.parameter or Parameter(key, key, self.event_shown.value, optional=True)
        return parameter.check(read_value(parameter, self.box.text()), self.event_shown.target)


def _as_text(event: Event) -> str:
    if event.key == "order":
        return "\n".join(str(event.value).split())
    if event.key == "schedule":
        return "" if event.value is None else json.dumps(event.value)
    return str(event.value)


def _schedule(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f'a schedule is written as {{"name": "StepLR", "step_size": 30}}, or left empty for none ({error})'
        ) from None


class ChangeDialog(QDialog):
    """Step and value of a live change; OK asks ``check``, whose reason keeps the dialog open."""

    def __init__(
        self,
        title: str,
        about: str,
        event: Event,
        parameter: Parameter | None,
        check: Check,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(340)
        self._check = check
        self.step = QSpinBox()
        self.step.setRange(0, LAST_STEP)
        self.step.setGroupSeparatorShown(True)
        self.step.setValue(event.step)
        self.step.setAccessibleName(self.tr("Step"))
        self.step.setToolTip(self.tr("The first step that is taken with the new value"))
        self.editor = ValueEditor(event, parameter)
        self.reason = QLabel()
        self.reason.setObjectName("warning")
        self.reason.setWordWrap(True)
        self.reason.setAccessibleName(self.tr("Why it cannot be"))
        self.reason.hide()
        told = QLabel(about)
        told.setWordWrap(True)
        form = QFormLayout()
        form.addRow(self.tr("&Step"), self.step)
        form.addRow(self.tr("&Value"), self.editor)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, parent=self
        )
        for kind, tip in (
            (QDialogButtonBox.StandardButton.Ok, self.tr("Work the run out again from there; can be undone")),
            (QDialogButtonBox.StandardButton.Cancel, self.tr("Leave it as it is")),
        ):
            button = self.buttons.button(kind)
            button.setToolTip(tip)
            button.setAccessibleName(button.text().replace("&", ""))
        self.buttons.accepted.connect(self._on_ok)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(told)
        layout.addLayout(form)
        layout.addWidget(self.reason)
        layout.addWidget(self.buttons)

    def focus_on(self, what: str) -> None:
        """Put the keyboard on the 'step' or the 'value'."""
        if what == "step":
            self.step.setFocus()
            self.step.selectAll()
        else:
            self.editor.setFocus()

    @Slot()
    def _on_ok(self) -> None:
        try:
            reason = self._check(self.step.value(), self.editor.value())
        except ValueError as error:
            reason = str(error)
        if reason:
            self.reason.setText(reason)
            self.reason.show()
            self.adjustSize()
            return
        self.accept()
