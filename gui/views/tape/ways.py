"""The ways to ask for gradients, on the function shown: a role for each coordinate, code, results, explained Nones."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.problems.four_ways import ROLES, four_ways
from core.problems.functions import FunctionObjective
from gui.theme import Theme
from gui.widgets.keys import MOVING, KeepKeys


class WaysPage(QWidget):
    """Shows nothing but a hint for problems that are no functions of a few numbers."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.roles: dict[str, QComboBox] = {}
        self.labels: list[QLabel] = []
        self._objective: FunctionObjective | None = None
        self._point: tuple[float, ...] = ()
        self._role_names = {
            "trainable": self.tr("variable"),
            "frozen": self.tr("variable, not trainable"),
            "integer": self.tr("integer variable"),
            "constant": self.tr("tensor"),
            "watched": self.tr("watched tensor"),
        }
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 4, 0, 0)
        self._switches = QHBoxLayout()
        outer.addLayout(self._switches)
        self._inner = QWidget()
        self._list = QVBoxLayout(self._inner)
        self._hint = QLabel(self.tr("Choose a function or type an expression to compare the ways to ask on it."))
        self._hint.setWordWrap(True)
        self._list.addWidget(self._hint)
        self._list.addStretch(1)
        self.scroll = QScrollArea()
        self.scroll.setWidgetResizable(True)
        self.scroll.setWidget(self._inner)
        self.scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.scroll.setAccessibleName(self.tr("Ways to ask for gradients"))
        KeepKeys(self.scroll, MOVING)
        outer.addWidget(self.scroll, 1)

    def set_objective(self, objective: object, names: Sequence[str]) -> None:
        """Another problem; roles of coordinates that keep their names stay."""
        self._objective = objective if isinstance(objective, FunctionObjective) else None
        before = {name: str(box.currentData()) for name, box in self.roles.items()}
        while self._switches.count():
            item = self._switches.takeAt(0)
            if item.widget() is not None:
                item.widget().deleteLater()
        self.roles = {}
        self._hint.setVisible(self._objective is None)
        if self._objective is None:
            self._show([])
            return
        for name in names:
            box = QComboBox()
            # a narrow card shortens them
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(5)
            for role in ROLES:
                box.addItem(self._role_names[role], role)
            box.setCurrentIndex(max(box.findData(before.get(name, "trainable")), 0))
            box.setToolTip(
                self.tr(
                    "What {0} is in the code: a variable, or a tensor that a tape follows only when told to"
                ).format(name)
            )
            box.setAccessibleName(self.tr("What {0} is").format(name))
            box.currentIndexChanged.connect(self._on_role)
            label = QLabel(f"{name}:")
            label.setBuddy(box)
            self._switches.addWidget(label)
            self._switches.addWidget(box)
            self.roles[name] = box
        self._switches.addStretch(1)

    def show_point(self, point: Sequence[float]) -> None:
        """Ask at another point."""
        self._point = tuple(float(value) for value in point)
        self._write()

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self.theme = theme
        self._write()

    def _write(self) -> None:
        objective = self._objective
        if objective is None or len(self._point) != len(objective.component_names):
            return
        roles = {name: str(box.currentData()) for name, box in self.roles.items()}
        texts = []
        for way in four_ways(objective, self._point, roles=roles):
            lines = html.escape(way.result).split("\n")
            result = f"→ {lines[0]}" + "".join(f"\n  {line}" for line in lines[1:])
            # long explanations wrap, code keeps its columns
            style = "white-space:pre-wrap"
            texts.append(
                f"<b>{html.escape(way.name)}</b><br>"
                f"<span style='color:{self.theme.quiet}'>{html.escape(way.use)}</span>"
                f"<pre style='margin:4px 0;{style}'>{html.escape(way.code)}</pre>"
                f"<pre style='margin:0;color:{self.theme.accent};{style}'>{result}</pre>"
            )
        self._show(texts)

    def _show(self, texts: list[str]) -> None:
        """One label a way; those that stay keep selection and place."""
        while len(self.labels) < len(texts):
            label = QLabel()
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.RichText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._list.insertWidget(1 + len(self.labels), label)
            self.labels.append(label)
        for k, label in enumerate(self.labels):
            label.setVisible(k < len(texts))
            if k < len(texts) and label.text() != texts[k]:
                label.setText(texts[k])

    @Slot()
    def _on_role(self) -> None:
        self._write()
