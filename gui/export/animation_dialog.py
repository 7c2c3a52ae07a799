"""The dialog of 'Export animation': which steps and views, which size and rate; progress with cancel."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QDoubleSpinBox, QProgressDialog, QSpinBox

from core.export.sizes import caption_of
from gui.export.animation import (
    Cancelled,
    Report,
    animation_steps,
    check_format,
    check_room,
    frames_of,
    write_animation,
)
from gui.export.form import ExportForm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gui.main_window import MainWindow


class AnimationDialog(ExportForm):
    """Asks for an animation of the current run and writes it; on failure the reason stands in the dialog."""

    group = "animation"
    file_name = "steps"
    file_kinds = (("GIF", ".gif"), ("Video", ".mp4"), ("WebP", ".webp"), ("Animated PNG", ".png"))
    # these do not show a step of their own, or need a screen
    left_out = ("pipeline", "runs", "tape", "log", "surface3d")

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window, "", [])
        self.setWindowTitle(self.tr("Export animation"))
        ticked = self.remembered("views", "surface").split(",")
        for k in range(self.views.count()):
            item = self.views.item(k)
            found = item.data(Qt.ItemDataRole.UserRole) in ticked
            item.setCheckState(Qt.CheckState.Checked if found else Qt.CheckState.Unchecked)
        last = max(window.session.current.history.count - 1, 0)
        self.first = self._whole(0, last, 0)
        self.last = self._whole(0, last, last)
        self.every = self._whole(1, 10_000, max(1, (last + 1) // 200))
        self.width_box = self._whole(100, 7680, int(self.remembered("width", 960)))
        self.height_box = self._whole(100, 4320, int(self.remembered("height", 640)))
        self.fps = QDoubleSpinBox()
        self.fps.setRange(0.5, 60.0)
        self.fps.setValue(float(self.remembered("fps", 20.0)))
        self.add_field(self.tr("First step"), self.first, self.tr("The step of the first frame"))
        self.add_field(self.tr("Last step"), self.last, self.tr("No frame goes beyond this step"))
        self.add_field(self.tr("Every"), self.every, self.tr("1: every step is a frame; 10: every tenth"))
        self.add_field(self.tr("Width (px)"), self.width_box, self.tr("Pixels of a frame"))
        self.add_field(self.tr("Height (px)"), self.height_box, self.tr("Pixels of a frame"))
        self.add_field(self.tr("Frames a second"), self.fps, self.tr("How fast it is played"))
        self.progress: QProgressDialog | None = None
        self.finish()
        for box in (self.first, self.last, self.every, self.width_box, self.height_box):
            box.valueChanged.connect(self.changed)

    def _whole(self, low: int, high: int, value: int) -> QSpinBox:
        box = QSpinBox()
        box.setRange(low, high)
        box.setValue(value)
        return box

    def choices(self) -> dict[str, Any]:
        """The views, the size and the rate; the steps are another run's next time."""
        return {
            "views": ",".join(self.chosen_views()),
            "width": self.width_box.value(),
            "height": self.height_box.value(),
            "fps": self.fps.value(),
        }

    def steps(self) -> range:
        """The step of every frame; FigureError when there are none, or too many."""
        return animation_steps(self.first.value(), self.last.value(), self.every.value())

    def picture(self) -> QImage:
        """The last frame."""
        with closing(self._frames(self.steps()[-1:])) as frames:  # type: ignore[type-var]
            return next(frames)

    def _frames(self, steps: Sequence[int], report: Report | None = None) -> Iterator[QImage]:
        run, theme = self.window_.session.current, self.chosen_theme()
        size = self.width_box.value(), self.height_box.value()
        return frames_of(run.simulation, self.chosen_classes(), theme, *size, steps, report)

    def write_file(self, name: str) -> bool:
        """Draw all frames into ``name``; False when that was cancelled, and then there is no file."""
        steps = self.steps()
        check_format(name)
        check_room(name, len(steps), self.width_box.value(), self.height_box.value())
        progress = QProgressDialog(self.tr("Drawing frames…"), self.tr("Cancel"), 0, 1, self)
        progress.setWindowModality(Qt.WindowModality.WindowModal)
        progress.setMinimumDuration(300)

        def report(done: int, total: int) -> bool:
            progress.setMaximum(total)
            progress.setValue(done)
            QCoreApplication.processEvents()
            return not progress.wasCanceled()

        self.progress = progress
        session = self.window_.session
        session.engine.settle()  # nobody else steps the run while frames are drawn
        try:
            caption = caption_of(session.current.simulation, steps[-1])
            write_animation(self._frames(steps, report), name, self.fps.value(), caption)
        except Cancelled:
            self.trouble.setText(self.tr("Cancelled; no file was written."))
            return False
        finally:
            progress.close()
            progress.deleteLater()
        return True
