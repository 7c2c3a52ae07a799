"""The export dialog: which views, which size on paper, which density, which file or the clipboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMimeData, Slot
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QSpinBox

from core.export.sizes import PRESETS, caption_of
from gui.export.compose import Composed
from gui.export.figure import FigureError, Paper, image_of, svg_text, write_figure
from gui.export.form import ExportForm

if TYPE_CHECKING:
    from gui.main_window import MainWindow

OWN = "own size"


class ExportDialog(ExportForm):
    """Draws views of its own at the chosen size, so what is written does not depend on the window."""

    group = "export"
    file_kinds = (("Picture", ".png"), ("Vector", ".svg"), ("Document", ".pdf"), ("TIFF", ".tiff"))

    def __init__(self, window: MainWindow, view: str) -> None:
        super().__init__(window, "", [view])
        self.setWindowTitle(self.tr("Export plots"))
        self.preset = QComboBox()
        for name in (*PRESETS, OWN):
            self.preset.addItem(self.tr(name), name)
        self.preset.setCurrentIndex(max(self.preset.findData(self.remembered("preset", "two columns")), 0))
        self.width_box = self._length(float(self.remembered("width_mm", 183.0)))
        self.height_box = self._length(float(self.remembered("height_mm", 110.0)))
        self.dpi = QSpinBox()
        self.dpi.setRange(50, 1200)
        self.dpi.setValue(int(self.remembered("dpi", 300)))
        self.transparent = QCheckBox()
        self.transparent.setChecked(self.remembered("transparent", "false") == "true")
        self.add_field(
            self.tr("Size"), self.preset, self.tr("Columns of a journal, a slide, a poster, or your own size")
        )
        self.add_field(self.tr("Width"), self.width_box, self.tr("On paper; letters keep their size in points"))
        self.add_field(self.tr("Height"), self.height_box, self.tr("On paper; letters keep their size in points"))
        tip = self.tr("Of PNG and TIFF; SVG and PDF are drawn with true lines")
        self.add_field(self.tr("Dots an inch"), self.dpi, tip)
        self.add_field(self.tr("Transparent"), self.transparent, self.tr("No ground behind the plots"))
        picture = self.add_button(
            self.tr("Copy as picture"), self.tr("The figure on the clipboard, in its dots an inch")
        )
        picture.clicked.connect(self.copy_picture)
        svg = self.add_button(self.tr("Copy as SVG"), self.tr("The figure on the clipboard, for drawing programs"))
        svg.clicked.connect(self.copy_svg)
        self._take_preset()
        self.finish()
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.transparent.toggled.connect(self.changed)
        self.width_box.editingFinished.connect(self._on_own_size)
        self.height_box.editingFinished.connect(self._on_own_size)

    def _length(self, value: float) -> QDoubleSpinBox:
        box = QDoubleSpinBox()
        box.setRange(20.0, 2000.0)
        box.setSuffix(" mm")
        box.setValue(value)
        return box

    def _take_preset(self) -> None:
        size = PRESETS.get(str(self.preset.currentData()))
        if size is not None:
            self.width_box.setValue(size[0])
            self.height_box.setValue(size[1])

    @Slot()
    def _on_preset(self) -> None:
        self._take_preset()
        self.changed()

    @Slot()
    def _on_own_size(self) -> None:
        size = self.width_box.value(), self.height_box.value()
        if size != tuple(round(length, 2) for length in PRESETS.get(str(self.preset.currentData()), (0.0, 0.0))):
            # tells the preset only: the size has been chosen
            self.preset.blockSignals(True)
            self.preset.setCurrentIndex(self.preset.findData(OWN))
            self.preset.blockSignals(False)
        self.changed()

    def choices(self) -> dict[str, Any]:
        """The size, the density and the ground."""
        return {
            "preset": str(self.preset.currentData()),
            "width_mm": self.width_box.value(),
            "height_mm": self.height_box.value(),
            "dpi": self.dpi.value(),
            "transparent": "true" if self.transparent.isChecked() else "false",
        }

    def paper(self) -> Paper:
        """The size asked for: a preset's own where it has more digits than the boxes show."""
        size = PRESETS.get(str(self.preset.currentData())) or (self.width_box.value(), self.height_box.value())
        return Paper(*size, float(self.dpi.value()))

    def picture(self) -> QImage:
        """The page at the screen's resolution."""
        with self._composed() as page:
            return image_of(page, 1.0, self._ground())

    def _ground(self) -> str:
        return "" if self.transparent.isChecked() else self.chosen_theme().card

    def _composed(self) -> Composed:
        return Composed(self.chosen_classes(), self.window_.session, self.chosen_theme(), *self.paper().logical())

    def _caption(self) -> str:
        session = self.window_.session
        return caption_of(session.current.simulation, session.cursor)

    @Slot()
    def copy_svg(self) -> None:
        """The figure as SVG on the clipboard."""
        if not self.chosen_views():
            return
        with self._composed() as page:
            text = svg_text(page, self._ground(), self._caption(), self.paper())
        data = QMimeData()
        data.setData("image/svg+xml", text.encode())
        data.setText(text)
        self._copied(data)

    @Slot()
    def copy_picture(self) -> None:
        """The figure on the clipboard as PNG and TIFF would hold it."""
        if not self.chosen_views():
            return
        try:
            with self._composed() as page:
                image = image_of(page, 1.0, self._ground(), self.paper())
        except FigureError as error:
            self.trouble.setText(str(error))
            return
        data = QMimeData()
        data.setImageData(image)
        self._copied(data)

    def _copied(self, data: QMimeData) -> None:
        self.remember()
        QGuiApplication.clipboard().setMimeData(data)
        self.window_.session.message.emit(self.tr("Copied to the clipboard"), "")

    def write_file(self, name: str) -> bool:
        """The figure as PNG, TIFF, SVG or PDF."""
        with self._composed() as page:
            write_figure(page, name, 1.0, self._ground(), self._caption(), self.paper())
        return True
