"""The menu entries of exports: formats of the trace, the animation dialog, scripts on the clipboard."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QMessageBox

from core.simulation import Experiment, ProblemSettings
from core.traces import read_trace
from gui.export.animation_dialog import AnimationDialog
from gui.export.dialog import ExportDialog


@pytest.fixture
def window(screen):
    return screen.window(Experiment(optimizer="torch.optim.Adam(params, lr=0.05)"), "light", (900, 600), steps=12)


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("Table (*.csv)", ".csv"), ("NumPy (*.npz)", ".npz"), ("JSON lines (*.jsonl)", ".jsonl")],
)
def test_the_chosen_kind_decides_the_format(window, tmp_path, monkeypatch, kind, ending):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "run"), kind))
    window.menus.exports.trace()
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [f"run{ending}"]
    if ending == ".npz":
        history, _ = read_trace(tmp_path / "run.npz")
        np.testing.assert_array_equal(history.scalar("loss"), window.session.current.history.scalar("loss"))


def test_settings_stand_in_front_of_a_csv_when_asked_for(window, tmp_path, monkeypatch):
    for name, kind, first in (
        ("a", "Table with units and settings in # lines (*.csv)", "#"),
        ("b", "Table (*.csv)", "s"),
    ):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, n=name, k=kind: (str(tmp_path / n), k))
        window.menus.exports.trace()
        assert (tmp_path / f"{name}.csv").read_text(encoding="utf-8")[0] == first


def test_an_animation_of_the_chosen_steps(window, tmp_path, qtbot):
    dialog = AnimationDialog(window)
    qtbot.addWidget(dialog)
    for k in range(dialog.views.count()):
        item = dialog.views.item(k)
        ticked = item.data(Qt.ItemDataRole.UserRole) == "vectors"
        item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
    dialog.first.setValue(1)
    dialog.last.setValue(9)
    dialog.every.setValue(4)
    dialog.width_box.setValue(320)
    dialog.height_box.setValue(200)
    at = window.session.cursor
    assert dialog.write(str(tmp_path / "run.gif"))
    with Image.open(tmp_path / "run.gif") as read:
        assert read.size == (320, 200) and read.n_frames == 3
    assert window.session.cursor == at
    again = AnimationDialog(window)
    qtbot.addWidget(again)
    assert again.chosen_views() == ["vectors"] and again.width_box.value() == 320


def test_cancel_leaves_no_file_and_says_so(window, tmp_path, qtbot):
    dialog = AnimationDialog(window)
    qtbot.addWidget(dialog)
    QTimer.singleShot(0, lambda: dialog.progress.cancel())
    assert not dialog.write(str(tmp_path / "run.gif"))
    assert "ancelled" in dialog.trouble.text()
    assert not list(tmp_path.glob("*.gif")) and not list(tmp_path.glob(".run*"))
    assert not dialog.write(str(tmp_path / "run.avi"))
    assert ".webp" in dialog.trouble.text()


def test_a_script_on_the_clipboard_or_the_reason_why_not(window):
    entries = {
        a.text().replace("&", ""): a
        for a in window.findChildren(QAction)
        if a.data() in ("torch", "keras", "optax", "numpy")
    }
    entries["PyTorch"].trigger()
    assert "torch.optim.Adam(params, lr=0.05)" in QGuiApplication.clipboard().text()
    entries["Keras"].trigger()
    box = window.findChild(QMessageBox)
    assert box is not None and "Keras has no optimizer" in box.text()
    box.close()


def test_a_script_of_a_model_is_saved_with_its_data(window, tmp_path, monkeypatch):
    window.session.open_experiment(
        Experiment(problem=ProblemSettings(name="logistic_regression"), optimizer="torch.optim.SGD(params, lr=0.1)")
    )
    asked = []

    def cancelled(*given):
        asked.append(given)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", cancelled)
    assert not window.menus.exports.copy_script("numpy") and len(asked) == 1
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine"), ""))
    assert window.menus.exports.copy_script("numpy")
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == {"mine.py", "mine_data.npz"}
    assert "with_name('mine_data.npz')" in (tmp_path / "mine.py").read_text(encoding="utf-8")


def test_the_figure_on_the_clipboard_as_a_picture_in_its_density(window, qtbot):
    dialog = ExportDialog(window, "vectors")
    qtbot.addWidget(dialog)
    dialog.preset.setCurrentIndex(dialog.preset.findData("one column"))
    dialog.dpi.setValue(200)
    dialog.copy_picture()
    image = QGuiApplication.clipboard().image()
    assert (image.width(), image.height()) == (round(89 / 25.4 * 200), round(65 / 25.4 * 200))


def test_the_preview_follows_the_choices(window, qtbot):
    for dialog in (ExportDialog(window, "vectors"), AnimationDialog(window)):
        qtbot.addWidget(dialog)
        before = dialog.preview.pixmap().toImage()
        assert not before.isNull()
        dialog.theme.setCurrentText("dark")
        qtbot.waitUntil(lambda d=dialog, b=before: d.preview.pixmap().toImage() != b)
        for k in range(dialog.views.count()):
            dialog.views.item(k).setCheckState(Qt.CheckState.Unchecked)
        qtbot.waitUntil(lambda d=dialog: d.preview.pixmap().isNull())
        assert "at least one view" in dialog.trouble.text()


def test_a_choice_made_while_a_preview_is_drawn_is_shown_in_the_end(window, qtbot, monkeypatch):
    dialog = ExportDialog(window, "vectors")
    qtbot.addWidget(dialog)
    grey = {}

    def picture():
        """As grey as views are ticked; the first time another one is ticked in the middle of the drawing."""
        count = len(dialog.chosen_views())
        if not grey:
            grey[count] = True
            dialog.views.item(0).setCheckState(Qt.CheckState.Checked)
            # as the timer does, whose turn comes while views are waited for
            dialog.show_preview()
        image = QImage(10, 10, QImage.Format.Format_RGB32)
        image.fill(QColor(count, count, count))
        return image

    monkeypatch.setattr(dialog, "picture", picture)
    assert len(dialog.chosen_views()) == 1
    dialog.show_preview()
    qtbot.waitUntil(lambda: dialog.preview.pixmap().toImage().pixelColor(5, 5).red() == 2)
    assert len(dialog.chosen_views()) == 2


def test_the_kind_of_file_is_proposed_again(window, tmp_path, qtbot, monkeypatch):
    asked = []

    def answer(parent, title, proposed, kinds, chosen):
        asked.append((proposed, chosen))
        return str(tmp_path / "f.svg"), chosen

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    for _ in range(2):
        dialog = ExportDialog(window, "vectors")
        qtbot.addWidget(dialog)
        dialog.ask_and_write()
    assert asked[0][1].endswith("(*.png)") and asked[1][1].endswith("(*.svg)")
    assert asked[1][0].endswith("figure.svg")
