"""The export dialog: which views, which size on paper, which density, which file or the clipboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QSettings, Qt, Slot
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gui.export.compose import Composed
from gui.export.figure import FigureError, image_of, logical_dpi, svg_text, write_figure
from gui.export.sizes import PRESETS, caption_of, pixels
from gui.theme import THEMES
from gui.view_table import TABLE

if TYPE_CHECKING:
    from gui.main_window import MainWindow

PREVIEW = 420
OWN = "own size"


class ExportDialog(QDialog):
    """Draws views of its own at the chosen size, so what is written does not depend on the window."""

    def __init__(self, window: MainWindow, view: str) -> None:
        super().__init__(window)
        self.window_ = window
        self._ready = False
        self.setWindowTitle(self.tr("Export plots"))
        settings = QSettings()
        self.views = QListWidget()
        for entry in TABLE:
            name = entry.name
            item = QListWidgetItem(entry.spoken, self.views)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable)
            item.setCheckState(Qt.CheckState.Checked if name == view else Qt.CheckState.Unchecked)
        self.preset = QComboBox()
        for name in (*PRESETS, OWN):
            self.preset.addItem(self.tr(name), name)
        self.preset.setCurrentIndex(max(self.preset.findData(str(settings.value("export/preset", "two columns"))), 0))
        self.width_box = self._length(float(str(settings.value("export/width_mm", 183.0))))
        self.height_box = self._length(float(str(settings.value("export/height_mm", 110.0))))
        self.dpi = QSpinBox()
        self.dpi.setRange(50, 1200)
        self.dpi.setValue(int(str(settings.value("export/dpi", 300))))
        self.theme = QComboBox()
        self.theme.addItems(list(THEMES))
        self.theme.setCurrentText(str(settings.value("export/theme", "light")))
        self.transparent = QCheckBox()
        self.transparent.setChecked(str(settings.value("export/transparent", "false")) == "true")
        form = QFormLayout()
        fields: tuple[tuple[str, QWidget, str], ...] = (
            (self.tr("Views"), self.views, self.tr("Several stand in a grid with panel letters")),
            (self.tr("Size"), self.preset, self.tr("Columns of a journal, a slide, a poster, or your own size")),
            (self.tr("Width"), self.width_box, self.tr("On paper; letters keep their size in points")),
            (self.tr("Height"), self.height_box, self.tr("On paper; letters keep their size in points")),
            (self.tr("Dots an inch"), self.dpi, self.tr("Of PNG and TIFF; SVG and PDF are drawn with true lines")),
            (self.tr("Colours"), self.theme, self.tr("The theme of the figure")),
            (self.tr("Transparent"), self.transparent, self.tr("No ground behind the plots")),
        )
        for label, field, tip in fields:
            form.addRow(label, field)
            field.setAccessibleName(label)
            field.setToolTip(tip)
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
        copy = buttons.addButton(self.tr("Copy as SVG"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.setToolTip(self.tr("The figure on the clipboard, for drawing programs"))
        copy.clicked.connect(self.copy_svg)
        top = QHBoxLayout()
        top.addLayout(form)
        top.addWidget(self.preview, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(top, 1)
        layout.addWidget(self.trouble)
        layout.addWidget(buttons)
        self.views.itemChanged.connect(self._on_choice)
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.theme.currentIndexChanged.connect(self._on_choice)
        self.transparent.toggled.connect(self._on_choice)
        self.width_box.editingFinished.connect(self._on_own_size)
        self.height_box.editingFinished.connect(self._on_own_size)
        self._ready = True
        self._on_preset()

    def _length(self, value: float) -> QDoubleSpinBox:
        box = QDoubleSpinBox()
        box.setRange(20.0, 2000.0)
        box.setSuffix(" mm")
        box.setValue(value)
        return box

    def chosen_views(self) -> list[str]:
        """The names of the ticked views, in the order of the list."""
        items = [self.views.item(k) for k in range(self.views.count())]
        return [
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        ]

    @Slot()
    def _on_preset(self) -> None:
        size = PRESETS.get(str(self.preset.currentData()))
        if size is not None:
            self.width_box.setValue(size[0])
            self.height_box.setValue(size[1])
        self._on_choice()

    @Slot()
    def _on_own_size(self) -> None:
        size = self.width_box.value(), self.height_box.value()
        if size != PRESETS.get(str(self.preset.currentData())):
            # tells the preset only: the size has been chosen
            self.preset.blockSignals(True)
            self.preset.setCurrentIndex(self.preset.findData(OWN))
            self.preset.blockSignals(False)
        self._on_choice()

    @Slot()
    def _on_choice(self) -> None:
        if not self._ready:
            return
        if not self.chosen_views():
            self.trouble.setText(self.tr("Tick at least one view."))
            self.preview.clear()
            return
        self.trouble.setText("")
        with self._composed() as page:
            try:
                picture = QPixmap.fromImage(image_of(page, 1.0, self._ground()))
            except FigureError as error:
                self.trouble.setText(str(error))
                return
        self.preview.setPixmap(
            picture.scaled(
                PREVIEW, PREVIEW, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        )

    def _ground(self) -> str:
        return "" if self.transparent.isChecked() else THEMES[self.theme.currentText()].card

    def _composed(self) -> Composed:
        views = [self.window_.views[name] for name in self.chosen_views()]
        dpi = logical_dpi()
        return Composed(
            [(type(view), view.options()) for view in views],
            self.window_.session,
            THEMES[self.theme.currentText()],
            pixels(self.width_box.value(), dpi),
            pixels(self.height_box.value(), dpi),
        )

    def _caption(self) -> str:
        session = self.window_.session
        return caption_of(session.current.simulation, session.cursor)

    @Slot()
    def copy_svg(self) -> None:
        """The figure as SVG on the clipboard."""
        if not self.chosen_views():
            return
        with self._composed() as page:
            text = svg_text(page, self._ground(), self._caption())
        data = QMimeData()
        data.setData("image/svg+xml", text.encode())
        data.setText(text)
        QGuiApplication.clipboard().setMimeData(data)
        self.window_.session.message.emit(self.tr("Copied to the clipboard"), "")

    @Slot()
    def ask_and_write(self) -> None:
        """Ask for a file and write it."""
        settings = QSettings()
        folder = Path(str(settings.value("export/folder", "")))
        name, chosen = QFileDialog.getSaveFileName(
            self,
            self.tr("Export plot"),
            str(folder / f"{'_'.join(self.chosen_views()) or 'figure'}.png"),
            self.tr("Picture (*.png);;Vector (*.svg);;Document (*.pdf);;TIFF (*.tiff)"),
        )
        if not name:
            return
        if not Path(name).suffix:
            name += {"V": ".svg", "D": ".pdf", "T": ".tiff"}.get(chosen[:1], ".png")
        if self.write(name):
            settings.setValue("export/folder", str(Path(name).parent))
            self.accept()

    def write(self, name: str) -> bool:
        """Write the figure to ``name``; on failure the reason stands in the dialog and nothing is lost."""
        settings = QSettings()
        for key, value in (
            ("theme", self.theme.currentText()),
            ("preset", str(self.preset.currentData())),
            ("width_mm", self.width_box.value()),
            ("height_mm", self.height_box.value()),
            ("dpi", self.dpi.value()),
            ("transparent", "true" if self.transparent.isChecked() else "false"),
        ):
            settings.setValue(f"export/{key}", value)
        if not self.chosen_views():
            self.trouble.setText(self.tr("Tick at least one view."))
            return False
        try:
            with self._composed() as page:
                write_figure(page, name, self.dpi.value() / logical_dpi(), self._ground(), self._caption())
        except (FigureError, OSError) as error:
            self.trouble.setText(str(error))
            return False
        self.window_.session.message.emit(self.tr("Written to {0}").format(name), "")
        return True
