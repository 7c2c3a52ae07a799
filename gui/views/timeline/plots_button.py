"""The button with the menu of plots: which are stacked, and which of them have a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from gui.views.timeline.specs import DEFAULT_PLOTS, PLOTS, figure_specs, title

if TYPE_CHECKING:
    from gui.views.timeline.view import TimelineView


class PlotsButton(QToolButton):
    """Stands in the view's header; its menu is made when it opens, since each run has figures of its own."""

    def __init__(self, view: TimelineView) -> None:
        super().__init__()
        self._view = view
        self.plots = QMenu(view)
        self.plots.aboutToShow.connect(self._fill)
        self.setObjectName("plain")
        self.setText(self.tr("Plots ▾"))
        self.setToolTip(self.tr("Choose the plots and their scales"))
        self.setAccessibleName(self.tr("Choose plots"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        self.setMenu(self.plots)

    @Slot()
    def _fill(self) -> None:
        menu, view = self.plots, self._view
        menu.clear()
        for spec in [*PLOTS, *figure_specs(view.session.current.history)]:
            action = menu.addAction(title(spec))
            action.setCheckable(True)
            action.setChecked(spec.name in view.shown)
            action.setToolTip(spec.about)
            action.setData(spec.name)
            action.toggled.connect(self._on_plot)
        menu.addSeparator()
        scales = menu.addMenu(self.tr("Logarithmic scale"))
        for panel in view.canvas.panels:
            if panel.area is None:
                action = scales.addAction(title(panel.spec))
                action.setCheckable(True)
                action.setChecked(panel.log)
                action.setData(panel.spec.name)
                action.toggled.connect(self._on_log)
        menu.addAction(self.tr("All steps, automatic ranges")).triggered.connect(view.show_all)
        menu.addAction(self.tr("The usual plots")).triggered.connect(self._on_usual)

    @Slot(bool)
    def _on_plot(self, checked: bool) -> None:
        action, shown = self.sender(), self._view.shown
        if isinstance(action, QAction):
            name = str(action.data())
            self._view.set_plots([*shown, name] if checked else [other for other in shown if other != name])

    @Slot(bool)
    def _on_log(self, checked: bool) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._view.set_log(str(action.data()), checked)

    @Slot()
    def _on_usual(self) -> None:
        self._view.set_plots(list(DEFAULT_PLOTS))
