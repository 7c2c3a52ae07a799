"""The dialog of 'Export animation': which steps and views, which size and rate; progress with cancel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSettings, Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QProgressDialog,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gui.export.animation import Cancelled, animation_steps, frames_of, write_animation
from gui.export.figure import FigureError
from gui.theme import THEMES
from gui.view_table import TABLE

if TYPE_CHECKING:
    from gui.main_window import MainWindow

LEFT_OUT = ("pipeline", "runs", "tape", "log", "surface3d")
"""Views that do not show a step of their own, or need a screen."""


class AnimationDialog(QDialog):
    """Asks for an animation of the current run and writes it; on failure the reason stands in the dialog."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window_ = window
        self.setWindowTitle(self.tr("Export animation"))
        settings = QSettings()
        last = max(window.session.current.history.count - 1, 0)
        self.views = QListWidget()
        chosen = str(settings.value("animation/views", "surface")).split(",")
        for entry in TABLE:
            name = entry.name
            if name in LEFT_OUT:
                continue
            item = QListWidgetItem(entry.spoken, self.views)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable)
            item.setCheckState(Qt.CheckState.Checked if name in chosen else Qt.CheckState.Unchecked)
        self.first = self._whole(0, last, 0)
        self.last = self._whole(0, last, last)
        self.every = self._whole(1, 10_000, max(1, (last + 1) // 200))
        self.width_box = self._whole(100, 7680, int(str(settings.value("animation/width", 960))))
        self.height_box = self._whole(100, 4320, int(str(settings.value("animation/height", 640))))
        self.fps = QDoubleSpinBox()
        self.fps.setRange(0.5, 60.0)
        self.fps.setValue(float(str(settings.value("animation/fps", 20.0))))
        self.theme = QComboBox()
        self.theme.addItems(list(THEMES))
        self.theme.setCurrentText(str(settings.value("animation/theme", "light")))
        form = QFormLayout()
        fields: tuple[tuple[str, QWidget, str], ...] = (
            (self.tr("Views"), self.views, self.tr("Several stand in a grid with letters")),
            (self.tr("First step"), self.first, self.tr("The step of the first frame")),
            (self.tr("Last step"), self.last, self.tr("No frame goes beyond this step")),
            (self.tr("Every"), self.every, self.tr("1: every step is a frame; 10: every tenth")),
            (self.tr("Width (px)"), self.width_box, self.tr("Pixels of a frame")),
            (self.tr("Height (px)"), self.height_box, self.tr("Pixels of a frame")),
            (self.tr("Frames a second"), self.fps, self.tr("How fast it is played")),
            (self.tr("Colours"), self.theme, self.tr("The theme of the frames")),
        )
        for label, field, tip in fields:
            form.addRow(label, field)
            field.setAccessibleName(label)
            field.setToolTip(tip)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Close)
        buttons.accepted.connect(self.ask_and_write)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form, 1)
        layout.addWidget(self.trouble)
        layout.addWidget(buttons)

    def _whole(self, low: int, high: int, value: int) -> QSpinBox:
        box = QSpinBox()
        box.setRange(low, high)
        box.setValue(value)
        return box

    def chosen_views(self) -> list[str]:
        """The names of the ticked views, in the order of the list."""
        items = [self.views.item(k) for k in range(self.views.count())]
        return [
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        ]

    @Slot()
    def ask_and_write(self) -> None:
        """Ask for a file and write it."""
        settings = QSettings()
        folder = Path(str(settings.value("export/folder", "")))
        name, chosen = QFileDialog.getSaveFileName(
            self,
            self.tr("Export animation"),
            str(folder / "steps.gif"),
            self.tr("GIF (*.gif);;Video (*.mp4);;WebP (*.webp);;Animated PNG (*.png)"),
        )
        if not name:
            return
        if not Path(name).suffix:
            name += {"V": ".mp4", "W": ".webp", "A": ".png"}.get(chosen[:1], ".gif")
        if self.write(name):
            settings.setValue("export/folder", str(Path(name).parent))
            self.accept()

    def write(self, name: str) -> bool:
        """Write the animation to ``name``; False when it was cancelled or failed, and then there is no file."""
        window, settings = self.window_, QSettings()
        names = self.chosen_views()
        for key, value in (
            ("views", ",".join(names)),
            ("width", self.width_box.value()),
            ("height", self.height_box.value()),
            ("fps", self.fps.value()),
            ("theme", self.theme.currentText()),
        ):
            settings.setValue(f"animation/{key}", value)
        self.trouble.setText("")
        if not names:
            self.trouble.setText(self.tr("Tick at least one view."))
            return False
        progress = QProgressDialog(self.tr("Drawing frames…"), self.tr("Cancel"), 0, 1, self)
        progress.setWindowModality(Qt.WindowModality.WindowModal)
        progress.setMinimumDuration(300)

        def report(done: int, total: int) -> bool:
            progress.setMaximum(total)
            progress.setValue(done)
            QCoreApplication.processEvents()
            return not progress.wasCanceled()

        self.progress = progress
        window.session.engine.settle()  # nobody else steps the run while frames are drawn
        try:
            steps = animation_steps(self.first.value(), self.last.value(), self.every.value())
            frames = frames_of(
                window.session.current.simulation,
                [(type(window.views[view]), window.views[view].options()) for view in names],
                THEMES[self.theme.currentText()],
                self.width_box.value(),
                self.height_box.value(),
                steps,
                report,
            )
            write_animation(frames, name, self.fps.value())
        except Cancelled:
            self.trouble.setText(self.tr("Cancelled; no file was written."))
            return False
        except (FigureError, OSError) as error:
            self.trouble.setText(str(error))
            return False
        finally:
            progress.close()
            progress.deleteLater()
        window.session.message.emit(self.tr("Written to {0}").format(name), "")
        return True
