"""The export dialog: which view, which size and density, which file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
)

from gui.export.figure import FigureError, discard, image_of, make_figure, write_figure
from gui.theme import THEMES

if TYPE_CHECKING:
    from gui.main_window import MainWindow

PREVIEW = 420


class ExportDialog(QDialog):
    """Draws a view of its own at the chosen size, so what is written does not depend on the window."""

    def __init__(self, window: MainWindow, view: str) -> None:
        super().__init__(window)
        self.window_ = window
        self.setWindowTitle(self.tr("Export plots"))
        settings = QSettings()
        self.view = QComboBox()
        for name, found in window.views.items():
            self.view.addItem(found.title, name)
        self.view.setCurrentIndex(max(self.view.findData(view), 0))
        self.theme = QComboBox()
        self.theme.addItems(list(THEMES))
        self.theme.setCurrentText(str(settings.value("export/theme", "light")))
        self.width_box = self._size_box(int(str(settings.value("export/width", 900))))
        self.height_box = self._size_box(int(str(settings.value("export/height", 600))))
        self.scale = QDoubleSpinBox()
        self.scale.setRange(0.5, 8.0)
        self.scale.setSingleStep(0.5)
        self.scale.setValue(float(str(settings.value("export/scale", 2.0))))
        self.scale.setToolTip(self.tr("Device pixels a logical pixel (PNG only)"))
        form = QFormLayout()
        for label, field in (
            (self.tr("View"), self.view),
            (self.tr("Colours"), self.theme),
            (self.tr("Width"), self.width_box),
            (self.tr("Height"), self.height_box),
            (self.tr("PNG density"), self.scale),
        ):
            form.addRow(label, field)
            field.setAccessibleName(label)
        self.preview = QLabel()
        self.preview.setMinimumSize(PREVIEW, PREVIEW * 2 // 3)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.preview.setAccessibleName(self.tr("Preview"))
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Close)
        buttons.accepted.connect(self.ask_and_write)
        buttons.rejected.connect(self.reject)
        top = QHBoxLayout()
        top.addLayout(form)
        top.addWidget(self.preview, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(top, 1)
        layout.addWidget(self.trouble)
        layout.addWidget(buttons)
        self.view.currentIndexChanged.connect(self._on_choice)
        self.theme.currentIndexChanged.connect(self._on_choice)
        self.width_box.editingFinished.connect(self._on_choice)
        self.height_box.editingFinished.connect(self._on_choice)
        self._on_choice()

    def _size_box(self, value: int) -> QSpinBox:
        box = QSpinBox()
        box.setRange(100, 10_000)
        box.setSuffix(" px")
        box.setValue(value)
        return box

    @Slot()
    def _on_choice(self) -> None:
        figure = self._figure()
        try:
            picture = QPixmap.fromImage(image_of(figure.figure(), 1.0, THEMES[self.theme.currentText()].card))
        finally:
            discard(figure)
        self.preview.setPixmap(
            picture.scaled(
                PREVIEW, PREVIEW, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        )

    def _figure(self):  # type: ignore[no-untyped-def]
        live = self.window_.views[str(self.view.currentData())]
        theme = THEMES[self.theme.currentText()]
        return make_figure(
            type(live), self.window_.session, theme, self.width_box.value(), self.height_box.value(), live.options()
        )

    @Slot()
    def ask_and_write(self) -> None:
        """Ask for a file and write it."""
        settings = QSettings()
        folder = Path(str(settings.value("export/folder", "")))
        name, chosen = QFileDialog.getSaveFileName(
            self,
            self.tr("Export plot"),
            str(folder / f"{self.view.currentData()}.png"),
            self.tr("Picture (*.png);;Vector (*.svg);;Document (*.pdf)"),
        )
        if not name:
            return
        if not Path(name).suffix:
            name += {"V": ".svg", "D": ".pdf"}.get(chosen[:1], ".png")
        if self.write(name):
            settings.setValue("export/folder", str(Path(name).parent))
            self.accept()

    def write(self, name: str) -> bool:
        """Write the figure to ``name``; on failure the reason stands in the dialog and nothing is lost."""
        settings = QSettings()
        for key, value in (
            ("theme", self.theme.currentText()),
            ("width", self.width_box.value()),
            ("height", self.height_box.value()),
            ("scale", self.scale.value()),
        ):
            settings.setValue(f"export/{key}", value)
        figure = self._figure()
        try:
            write_figure(figure.figure(), name, self.scale.value(), THEMES[self.theme.currentText()].card)
        except (FigureError, OSError) as error:
            self.trouble.setText(str(error))
            return False
        finally:
            discard(figure)
        self.window_.session.message.emit(self.tr("Written to {0}").format(name), "")
        return True
