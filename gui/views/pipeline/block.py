"""One transform in a card: its line, its sliders, what is shown on demand, and the schedule of a learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from core.optim.schedules import SCHEDULES
from gui.theme import cause_color
from gui.views.pipeline.plan import Block, SchedulePlan, Setting
from gui.widgets.card import CauseHeader, Grip
from gui.widgets.eliding_combo import ElidingCombo
from gui.widgets.keys import MOVING, PRESSING, KeepKeys
from gui.widgets.parameter_slider import LABEL_WIDTH, ParameterSlider

Homes = Mapping[tuple[str, str], Any]


class SettingsList(QWidget):
    """Sliders of some settings; minor ones behind a button."""

    changed = Signal(str, str, object)
    refused = Signal(str)

    def __init__(
        self, settings: Sequence[Setting], owner: str, about: str, homes: Homes, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.sliders: dict[tuple[str, str], ParameterSlider] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self.more = QWidget()
        hidden = QVBoxLayout(self.more)
        hidden.setContentsMargins(0, 0, 0, 0)
        hidden.setSpacing(2)
        self.more.setVisible(False)
        for setting in settings:
            slider = ParameterSlider(
                setting.parameter, setting.value, owner=owner, about=about, home=home_of(setting, homes)
            )
            slider.setProperty("target", setting.target)
            slider.changed.connect(self._on_changed)
            slider.refused.connect(self.refused)
            self.sliders[setting.place] = slider
            (hidden if setting.minor else layout).addWidget(slider)
        layout.addWidget(self.more)
        self.has_more = any(setting.minor for setting in settings)
        self.has_any = any(not setting.minor for setting in settings)
        # never setVisible(True) on what has no parent yet: that opens a window of its own for a moment
        if not self.has_any:
            self.hide()

    @Slot(bool)
    def show_more(self, shown: bool) -> None:
        """Show or hide the minor settings."""
        self.more.setVisible(shown)
        self.setVisible(shown or self.has_any)

    @Slot(object)
    def _on_changed(self, value: Any) -> None:
        slider = self.sender()
        if isinstance(slider, ParameterSlider):
            self.changed.emit(str(slider.property("target")), slider.parameter.key, value)


def home_of(setting: Setting, homes: Homes) -> Any:
    """Where reset goes: what the lines said, or else the declared default."""
    row = setting.target.split()[0]
    return homes.get((row, setting.parameter.key), setting.parameter.default)


class ScheduleEditor(QWidget):
    """The choice of a schedule and the sliders of the one chosen, those of its parts below."""

    changed = Signal(str, str, object)
    refused = Signal(str)

    def __init__(self, plan: SchedulePlan, row: str, homes: Homes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self.lists: list[SettingsList] = []
        self._rate = 0.0
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        line = QHBoxLayout()
        line.setSpacing(4)
        label = QLabel(self.tr("sched."))
        label.setObjectName("quiet")
        label.setFixedWidth(LABEL_WIDTH)
        self.choice = ElidingCombo()
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.setMinimumContentsLength(6)
        self.choice.setAccessibleName(self.tr("Schedule of the learning rate"))
        tip = self.tr("How the learning rate changes over the steps; acts from the next step on")
        self.choice.setToolTip(f"{tip}\n{plan.about}" if plan.about else tip)
        label.setToolTip(self.choice.toolTip())
        KeepKeys(self.choice, (*MOVING, *PRESSING))
        self._fill(plan)
        self.choice.activated.connect(self._on_choice)
        line.addWidget(label)
        line.addWidget(self.choice, 1)
        self.more_button = MoreButton(self.tr("schedule"))
        line.addWidget(self.more_button)
        layout.addLayout(line)
        self._add(layout, plan, homes)
        if not any(found.has_more for found in self.lists):
            self.more_button.hide()
        for found in self.lists:
            self.more_button.toggled.connect(found.show_more)

    def _fill(self, plan: SchedulePlan) -> None:
        self.choice.addItem(self.tr("constant"), None)
        names = [name for name, kind in SCHEDULES.items() if can_be_chosen(name) or name == plan.name]
        for name in names:
            self.choice.addItem(f"{SCHEDULES[name].label or name} · {name}", name)
        if plan.name and plan.name not in names:
            self.choice.addItem(f"{plan.label} · {plan.name}" if plan.label != plan.name else plan.name, plan.name)
        self.choice.setCurrentIndex(max(self.choice.findData(plan.name or None), 0))
        width = max(self.choice.fontMetrics().horizontalAdvance(self.choice.itemText(i)) for i in range(len(names) + 1))
        self.choice.view().setMinimumWidth(width + 30)

    def _add(self, layout: QVBoxLayout, plan: SchedulePlan, homes: Homes) -> None:
        if not plan.name:
            return
        found = SettingsList(plan.settings, plan.label, plan.about, homes)
        found.changed.connect(self.changed)
        found.refused.connect(self.refused)
        self.lists.append(found)
        layout.addWidget(found)
        for k, part in enumerate(plan.parts):
            title = QLabel(f"{k + 1}. {part.label}")
            title.setObjectName("quiet")
            title.setToolTip(part.about)
            layout.addWidget(title)
            self._add(layout, part, homes)

    def set_rate(self, rate: float) -> None:
        """The base rate, which a newly chosen schedule starts from."""
        self._rate = rate

    @Slot(int)
    def _on_choice(self, index: int) -> None:
        name = self.choice.itemData(index)
        if name is None:
            self.changed.emit(self.row, "schedule", None)
            return
        settings: dict[str, Any] = {"name": name}
        for parameter in SCHEDULES[name].parameters:
            if parameter.key in ("initial_learning_rate", "max_lr") and self._rate > 0.0:
                settings[parameter.key] = self._rate
        self.changed.emit(self.row, "schedule", settings)


def can_be_chosen(name: str) -> bool:
    """True for schedules that need nothing but their settings, and do not have to watch the run from its start."""
    kind = SCHEDULES[name]
    if kind.watches:
        return False
    try:
        kind()
    except TypeError:
        return False
    return True


class MoreButton(QToolButton):
    """Shows or hides what is rarely needed."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plain")
        self.setCheckable(True)
        self.setText("▸")
        self.setFixedWidth(14)
        self.setToolTip(self.tr("Conventions and further settings"))
        self.setAccessibleName(self.tr("Further settings of {0}").format(what))
        self.setStyleSheet("QToolButton:checked { background: transparent; }")
        self.toggled.connect(self._on_toggled)
        KeepKeys(self, PRESSING)

    @Slot(bool)
    def _on_toggled(self, checked: bool) -> None:
        self.setText("▾" if checked else "▸")


class TransformBlock(QWidget):
    """One transform: line, sliders, schedule."""

    changed = Signal(str, str, object)
    """(target, key, value) the user chose."""
    refused = Signal(str)
    selected = Signal(str)

    def __init__(self, plan: Block, homes: Homes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = plan.row
        self.header = CauseHeader(plan.label, cause_color(plan.cause), switchable=plan.switchable)
        self.header.title.setToolTip(plan.about)
        self.header.toggled.connect(self._on_toggled)
        self.header.clicked.connect(self._on_clicked)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.header)
        self.list = SettingsList(plan.settings, plan.label, plan.about, homes)
        self.list.changed.connect(self.changed)
        self.list.refused.connect(self.refused)
        layout.addWidget(self.list)
        self.more_button = MoreButton(plan.label)
        if not self.list.has_more:
            self.more_button.hide()
        self.more_button.toggled.connect(self.list.show_more)
        self.header.add(self.more_button)
        self.grip: Grip | None = None
        self.schedule: ScheduleEditor | None = None
        if plan.schedule is not None:
            self.schedule = ScheduleEditor(plan.schedule, plan.row, homes)
            self.schedule.changed.connect(self.changed)
            self.schedule.refused.connect(self.refused)
            layout.addWidget(self.schedule)
        self.take(plan)

    def add_grip(self, grip: Grip) -> None:
        """What this row is moved by, at the end of its line."""
        self.grip = grip
        self.header.add(grip)

    def take(self, plan: Block) -> None:
        """Show the values of ``plan``, which has the same structure."""
        self.header.set_on(plan.enabled)
        for setting in plan.settings:
            self.list.sliders[setting.place].set_value(setting.value)
            if self.schedule is not None and setting.parameter.key == "learning_rate":
                self.schedule.set_rate(float(setting.value))
        if self.schedule is not None and plan.schedule is not None:
            values: dict[tuple[str, str], Any] = {}
            _values(plan.schedule, values)
            for found in self.schedule.lists:
                for place, slider in found.sliders.items():
                    slider.set_value(values[place])
            index = self.schedule.choice.findData(plan.schedule.name or None)
            if index != self.schedule.choice.currentIndex():
                self.schedule.choice.setCurrentIndex(index)

    def sliders(self) -> dict[tuple[str, str], ParameterSlider]:
        """Every slider by target and key."""
        found = dict(self.list.sliders)
        for part in self.schedule.lists if self.schedule is not None else ():
            found.update(part.sliders)
        return found

    def set_figure(self, text: str, active: bool, tip: str) -> None:
        """The numbers of the step shown; ``active``: the cause did something in it."""
        figure = self.header.figure
        if figure.text() != text:
            figure.setText(text)
        if figure.toolTip() != tip:
            figure.setToolTip(tip)
        name = "" if active else "quiet"
        if self.header.title.objectName() != name:
            self.header.title.setObjectName(name)
            # the style sheet colours by object name
            self.header.title.style().unpolish(self.header.title)
            self.header.title.style().polish(self.header.title)

    @Slot(bool)
    def _on_toggled(self, on: bool) -> None:
        self.changed.emit(self.row, "enabled", on)

    @Slot()
    def _on_clicked(self) -> None:
        self.selected.emit(self.row)


def _values(plan: SchedulePlan, found: dict[tuple[str, str], Any]) -> None:
    found.update({setting.place: setting.value for setting in plan.settings})
    for part in plan.parts:
        _values(part, found)
