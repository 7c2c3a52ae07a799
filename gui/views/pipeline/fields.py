"""Labels and boxes as all lines of the problem have them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy

from gui.widgets.keys import MOVING, PRESSING, KeepKeys


def quiet_label(text: str) -> QLabel:
    """What stands in front of a field."""
    label = QLabel(text)
    label.setObjectName("quiet")
    return label


def combo(name: str, tip: str) -> QComboBox:
    """A box to choose from, for keys and screen readers too."""
    box = QComboBox()
    box.setAccessibleName(name)
    box.setToolTip(tip)
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(6)
    KeepKeys(box, (*MOVING, *PRESSING))
    return box
