"""What the dialogs of figures and of animations have in common: views to tick, colours, live preview, saving."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSettings, Qt, QTimer, Slot
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.export.figure import FigureError
from gui.theme import THEMES, Theme
from gui.view_table import TABLE
from gui.views.base import View

if TYPE_CHECKING:
    from gui.main_window import MainWindow

PREVIEW = 420
PREVIEW_AFTER = 120
"""Milliseconds without a further change after which the preview is drawn."""


class ExportForm(QDialog):
    """A form on the left, the preview on the right, the trouble and the buttons below.

    Subclasses add fields, then call ``finish``; they say how the preview is drawn and how a file is written. What is
    chosen is kept under ``group`` in the settings. On failure the reason stands in the dialog and nothing is lost.
    """

    group = "export"
    file_name = "figure"
    file_kinds: tuple[tuple[str, str], ...] = ()
    """(what is shown in the file dialog, ending), the first one by default."""
    left_out: tuple[str, ...] = ()
    """Views that are not offered."""

    def __init__(self, window: MainWindow, title: str, ticked: list[str]) -> None:
        super().__init__(window)
        self.window_ = window
        self.setWindowTitle(title)
        self.views = QListWidget()
        for entry in TABLE:
            if entry.name in self.left_out:
                continue
            item = QListWidgetItem(entry.spoken, self.views)
            item.setData(Qt.ItemDataRole.UserRole, entry.name)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable)
            item.setCheckState(Qt.CheckState.Checked if entry.name in ticked else Qt.CheckState.Unchecked)
        self.theme = QComboBox()
        self.theme.addItems(list(THEMES))
        self.theme.setCurrentText(self.remembered("theme", "light"))
        self.form = QFormLayout()
        self.add_field(self.tr("Views"), self.views, self.tr("Several stand in a grid with panel letters"))
        self.preview = QLabel()
        self.preview.setMinimumSize(PREVIEW, PREVIEW * 2 // 3)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.preview.setAccessibleName(self.tr("Preview"))
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Close)
        self.buttons.accepted.connect(self.ask_and_write)
        self.buttons.rejected.connect(self.reject)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(PREVIEW_AFTER)
        self._later.timeout.connect(self.show_preview)
        self._drawing = False

    # for subclasses -------------------------------------------------------------------------------------------

    @abstractmethod
    def picture(self) -> QImage:
        """The preview; FigureError when there can be none."""
        raise NotImplementedError

    @abstractmethod
    def choices(self) -> dict[str, Any]:
        """What is remembered: setting -> value."""
        raise NotImplementedError

    @abstractmethod
    def write_file(self, name: str) -> bool:
        """Write the file; False when the user has cancelled. FigureError and OSError say what is wrong."""
        raise NotImplementedError

    def add_field(self, label: str, field: QWidget, tip: str) -> None:
        """One row of the form."""
        self.form.addRow(label, field)
        field.setAccessibleName(label)
        field.setToolTip(tip)

    def add_button(self, text: str, tip: str) -> QPushButton:
        """A button beside 'Save'."""
        button = self.buttons.addButton(text, QDialogButtonBox.ButtonRole.ActionRole)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        return button

    def finish(self) -> None:
        """Lay everything out and draw the first preview."""
        self.add_field(self.tr("Colours"), self.theme, self.tr("The theme of the figure"))
        top = QHBoxLayout()
        top.addLayout(self.form)
        top.addWidget(self.preview, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(top, 1)
        layout.addWidget(self.trouble)
        layout.addWidget(self.buttons)
        self.views.itemChanged.connect(self.changed)
        self.theme.currentIndexChanged.connect(self.changed)
        self.show_preview()

    # what is chosen -------------------------------------------------------------------------------------------

    def chosen_views(self) -> list[str]:
        """The names of the ticked views, in the order of the list."""
        items = [self.views.item(k) for k in range(self.views.count())]
        return [
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        ]

    def chosen_classes(self) -> list[tuple[type[View], dict[str, Any]]]:
        """The ticked views as they are made anew: class and options."""
        views = [self.window_.views[name] for name in self.chosen_views()]
        return [(type(view), view.options()) for view in views]

    def chosen_theme(self) -> Theme:
        """The colours of what is written."""
        return THEMES[self.theme.currentText()]

    def remembered(self, key: str, default: Any) -> str:
        """A choice of last time."""
        return str(QSettings().value(f"{self.group}/{key}", default))

    def remember(self) -> None:
        """Keep the choices for next time."""
        settings = QSettings()
        for key, value in {"theme": self.theme.currentText(), **self.choices()}.items():
            settings.setValue(f"{self.group}/{key}", value)

    # preview and file -----------------------------------------------------------------------------------------

    @Slot()
    def changed(self) -> None:
        """Draw the preview anew, once several changes in a row have come to rest."""
        self._later.start()

    @Slot()
    def show_preview(self) -> None:
        """The figure as it is going to be written, or the reason why it cannot be."""
        self._later.stop()
        if self._drawing:
            # a choice made while a figure waits for its views: drawn next, or the older one would cover it
            self._later.start()
            return
        self.trouble.setText("")
        if not self.chosen_views():
            self.trouble.setText(self.tr("Tick at least one view."))
            self.preview.clear()
            return
        self._drawing = True
        try:
            picture = QPixmap.fromImage(self.picture())
        except FigureError as error:
            self.trouble.setText(str(error))
            return
        finally:
            self._drawing = False
        size = self.preview.size().expandedTo(self.preview.minimumSize())
        keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        self.preview.setPixmap(picture.scaled(size, keep, smooth))

    @Slot()
    def ask_and_write(self) -> None:
        """Ask for a file and write it."""
        settings = QSettings()
        folder = Path(str(settings.value("export/folder", "")))
        kinds = {f"{self.tr(text)} (*{ending})": ending for text, ending in self.file_kinds}
        last = self.remembered("ending", self.file_kinds[0][1])
        chosen = next((text for text, ending in kinds.items() if ending == last), next(iter(kinds)))
        proposed = folder / f"{self.file_name}{kinds[chosen]}"
        name, kind = QFileDialog.getSaveFileName(self, self.windowTitle(), str(proposed), ";;".join(kinds), chosen)
        if not name:
            return
        if not Path(name).suffix:
            name += kinds.get(kind, last)
        if self.write(name):
            settings.setValue("export/folder", str(Path(name).parent))
            settings.setValue(f"{self.group}/ending", Path(name).suffix.lower())
            self.accept()

    def write(self, name: str) -> bool:
        """Write to ``name``; on failure the reason stands in the dialog, and what was there before is still there."""
        self.remember()
        self.trouble.setText("")
        if not self.chosen_views():
            self.trouble.setText(self.tr("Tick at least one view."))
            return False
        try:
            written = self.write_file(name)
        except (FigureError, OSError) as error:
            self.trouble.setText(str(error))
            return False
        if written:
            self.window_.session.message.emit(self.tr("Written to {0}").format(name), "")
        return written
