"""Figures in files: size on paper, density, transparency, captions, panels, and programs that open them."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from core.simulation import Experiment
from gui.export.dialog import ExportDialog

VIEWS = ("surface", "vectors", "ledger", "timeline", "inspector")


@pytest.fixture
def window(screen):
    return screen.window(Experiment(optimizer="torch.optim.Adam(params, lr=0.05)"), "light", (1000, 700), steps=8)


def tick(dialog, *names):
    dialog.views.blockSignals(True)
    for k in range(dialog.views.count()):
        item = dialog.views.item(k)
        wanted = item.data(Qt.ItemDataRole.UserRole) in names
        item.setCheckState(Qt.CheckState.Checked if wanted else Qt.CheckState.Unchecked)
    dialog.views.blockSignals(False)


@pytest.fixture
def dialog(window, qtbot):
    made = ExportDialog(window, "vectors")
    qtbot.addWidget(made)
    made.preset.setCurrentIndex(made.preset.findData("one column"))
    return made


def test_pictures_have_the_size_density_and_caption(dialog, window, tmp_path):
    dialog.dpi.setValue(300)
    for ending in ("png", "tiff"):
        assert dialog.write(str(tmp_path / f"f.{ending}")), dialog.trouble.text()
        with Image.open(tmp_path / f"f.{ending}") as picture:
            # 89 mm and 65 mm at 300 dots an inch
            assert picture.size == (round(89 / 25.4 * 300), round(65 / 25.4 * 300))
            assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
            caption = picture.info["Description"] if ending == "png" else picture.tag_v2[270]
            assert "torch.optim.Adam" in caption and window.session.current.simulation.digest in caption


def test_transparent_figures_have_no_ground(dialog, tmp_path):
    dialog.dpi.setValue(96)
    for transparent in (True, False):
        dialog.transparent.setChecked(transparent)
        assert dialog.write(str(tmp_path / "f.png"))
        with Image.open(tmp_path / "f.png") as picture:
            alpha = np.asarray(picture.convert("RGBA"))[..., 3]
        assert (alpha.min() == 0 and alpha.max() == 255) if transparent else alpha.min() == 255


@pytest.mark.parametrize("view", VIEWS)
def test_vector_files_of_every_view_open_elsewhere(dialog, tmp_path, view):
    tick(dialog, view)
    svg, pdf = tmp_path / "f.svg", tmp_path / "f.pdf"
    assert dialog.write(str(svg)) and dialog.write(str(pdf))
    root = ET.parse(svg).getroot()
    assert (root.get("width"), root.get("height")) == ("89mm", "65mm")
    assert "torch.optim.Adam" in (root.find("{http://www.w3.org/2000/svg}desc").text or "")
    assert "nan" not in svg.read_text(encoding="utf-8").split("<desc>")[1].split("</desc>")[1]
    media = re.search(rb"/MediaBox \[[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)\]", pdf.read_bytes())
    assert float(media[1]) == pytest.approx(89 / 25.4 * 72, abs=0.51)  # Qt writes whole points
    for program, arguments in (
        ("rsvg-convert", ["-o", str(tmp_path / "s.png"), str(svg)]),
        ("pdftoppm", ["-png", "-singlefile", str(pdf), str(tmp_path / "p")]),
    ):
        if shutil.which(program):
            subprocess.run([program, *arguments], check=True, capture_output=True, timeout=60)
    for drawn in tmp_path.glob("[sp].png"):
        with Image.open(drawn) as picture:
            assert np.asarray(picture.convert("L")).std() > 3, f"{drawn.name} of {view} is empty"


def test_panels_stand_in_a_grid_with_letters(dialog, tmp_path):
    tick(dialog, "vectors", "ledger", "timeline")
    dialog.preset.setCurrentIndex(dialog.preset.findData("two columns"))
    assert dialog.write(str(tmp_path / "f.svg"))
    texts = [(t.text or "").strip() for t in ET.parse(tmp_path / "f.svg").getroot().iter() if t.tag.endswith("text")]
    assert [text for text in texts if text in ("a", "b", "c", "d")] == ["a", "b", "c"]
    tick(dialog)
    assert not dialog.write(str(tmp_path / "none.svg")) and not (tmp_path / "none.svg").exists()


def test_svg_on_the_clipboard_and_choices_that_are_remembered(dialog, window, qtbot, tmp_path):
    dialog.copy_svg()
    mime = QGuiApplication.clipboard().mimeData()
    assert ET.fromstring(bytes(mime.data("image/svg+xml").data())).tag.endswith("svg")
    dialog.width_box.setValue(120.0)
    dialog.width_box.editingFinished.emit()
    assert dialog.preset.currentData() == "own size"
    dialog.dpi.setValue(150)
    assert dialog.write(str(tmp_path / "f.png"))
    again = ExportDialog(window, "ledger")
    qtbot.addWidget(again)
    assert (again.width_box.value(), again.dpi.value(), again.chosen_views()) == (120.0, 150, ["ledger"])
    assert not again.write(str(tmp_path / "missing" / "f.png"))
    assert "does not exist" in again.trouble.text()
