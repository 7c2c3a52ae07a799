"""What is written is what is shown: every view in SVG and PDF against the screen, and places and sizes in the files."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pyqtgraph as pg
import pytest
from PIL import Image
from PySide6.QtGui import QImage

from core.commands.render import VIEWS
from core.simulation import Experiment, Simulation
from gui.export.animation import as_pillow
from gui.export.compose import Composed
from gui.export.figure import Paper, image_of, write_figure
from gui.session import Session
from gui.theme import THEMES, style_sheet
from gui.view_table import TABLE, view_class
from gui.widgets.curves import SceneCurve
from tests.gui.test_plot_cases import plot_of, svg_points
from tests.structural_similarity import structural_similarity

SIZE = (640, 400)
PROGRAMS = {
    "svg": ("rsvg-convert", lambda i, o: ["-w", str(SIZE[0]), "-h", str(SIZE[1]), "-o", f"{o}.png", str(i)]),
    "pdf": (
        "pdftoppm",
        lambda i, o: ["-png", "-singlefile", "-scale-to-x", str(SIZE[0]), "-scale-to-y", str(SIZE[1]), str(i), str(o)],
    ),
}


@pytest.fixture
def session(qapp):
    simulation = Simulation(
        Experiment(
            optimizer="torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)",
            start=[-1.2, 1.0],
        )
    )
    simulation.advance(30)
    made = Session.on(simulation)
    made.show_step(20)
    before = qapp.styleSheet()
    qapp.setStyleSheet(style_sheet(THEMES["light"]))
    yield made
    qapp.setStyleSheet(before)
    made.close()


def grey(path):
    with Image.open(path) as picture:
        assert picture.size == SIZE
        return np.asarray(picture.convert("L"), dtype=np.float64)


def as_rgba(image):
    plain = image.convertToFormat(QImage.Format.Format_RGBA8888)
    shape = (plain.height(), plain.bytesPerLine() // 4, 4)
    return np.frombuffer(bytes(plain.constBits()), np.uint8).reshape(shape)[:, : plain.width()]


def test_all_views_that_need_no_screen_can_be_rendered():
    assert set(VIEWS) == {entry.name for entry in TABLE} - {"surface3d"}


def test_similarity_is_one_for_equals_and_falls_for_a_moved_curve():
    ramp = np.add.outer(np.arange(60.0), np.arange(80.0))
    assert structural_similarity(ramp, ramp) == pytest.approx(1.0, abs=1e-12)
    # constant pictures: only the first factor is left, (2 a b + c1) / (a² + b² + c1)
    c1 = (0.01 * 255) ** 2
    flat = structural_similarity(np.full((40, 40), 100.0), np.full((40, 40), 200.0))
    assert flat == pytest.approx((2 * 100 * 200 + c1) / (100**2 + 200**2 + c1), rel=1e-12)
    line = np.where(np.eye(80) > 0, 0.0, 255.0)
    assert structural_similarity(line, np.roll(line, 3, axis=1)) < 0.9


@pytest.mark.parametrize("view", VIEWS)
def test_a_figure_fills_its_page(session, view):
    with Composed([(view_class(view), {})], session, THEMES["light"], *SIZE) as page:
        assert (page.figures[0].width(), page.figures[0].height()) == SIZE
        clear, solid = (np.array(as_rgba(image_of(page, 1.0, ground)))[..., 3] for ground in ("", "#ffffff"))
    # without a ground one sees through between the letters and lines, and nowhere with one
    assert np.mean(clear == 0) > 0.1 and clear.max() == 255 and solid.min() == 255


@pytest.mark.parametrize("view", VIEWS)
def test_vector_files_look_like_the_screen(session, tmp_path, view):
    theme, found = THEMES["light"], {}
    with Composed([(view_class(view), {})], session, theme, *SIZE) as page:
        as_pillow(image_of(page, 1.0, theme.card)).save(tmp_path / "screen.png")
        for kind, (program, arguments) in PROGRAMS.items():
            write_figure(page, tmp_path / f"f.{kind}", 1.0, theme.card, "caption")
            if shutil.which(program):
                command = [program, *arguments(tmp_path / f"f.{kind}", tmp_path / kind)]
                subprocess.run(command, check=True, capture_output=True, timeout=60)
                found[kind] = structural_similarity(grey(tmp_path / "screen.png"), grey(tmp_path / f"{kind}.png"))
    if not found:
        pytest.skip("neither rsvg-convert nor pdftoppm is installed here, so vectors cannot be made pixels")
    assert min(found.values()) > 0.95, found


@pytest.mark.parametrize(
    ("x", "log"),
    [
        (1e8 + np.array([0.0, 1.0, 4.0, 10.0]), False),
        (1e8 * np.array([1.0, 1.5, 2.0, 8.0]), True),
        (np.array([1e-3, 1.0, 1e2, 1e5]), True),
    ],
)
def test_points_far_away_and_on_log_axes_are_in_their_place(qtbot, tmp_path, x, log):
    y = np.array([1.0, 10.0, 1e3, 1e6])
    plot, _ = plot_of(qtbot, x, y, log_x=log, log_y=True)
    write_figure(plot, tmp_path / "f.svg")
    # the place from the data alone: linear in x (or its logarithm) over the plot's own range
    (left, right), (low, high) = plot.getViewBox().viewRange()
    area = plot.getViewBox().sceneBoundingRect()
    shown = np.log10(x) if log else x
    right_places = np.column_stack(
        [
            area.left() + (shown - left) / (right - left) * area.width(),
            area.bottom() - (np.log10(y) - low) / (high - low) * area.height(),
        ]
    )
    np.testing.assert_allclose(svg_points(tmp_path / "f.svg"), right_places, atol=0.6)


def test_markers_and_letters_keep_their_size_on_paper(qtbot, tmp_path):
    plot = pg.PlotWidget(background="w")
    qtbot.addWidget(plot)
    plot.resize(336, 245)
    plot.setRange(xRange=(0, 1), yRange=(0, 1))
    plot.addItem(pg.ScatterPlotItem([0.5], [0.5], size=10, pen=None, brush="#ff0000"))
    plot.show()
    qtbot.waitExposed(plot)
    plot.grab()
    inches = []
    for dpi in (96, 300, 600):
        write_figure(plot, tmp_path / "f.png", 1.0, "white", "", Paper(89, 65, dpi))
        with Image.open(tmp_path / "f.png") as picture:
            assert picture.size == (round(89 / 25.4 * dpi), round(65 / 25.4 * dpi))
            pixels = np.asarray(picture.convert("RGB")).astype(int)
        red = (pixels[..., 0] > 150) & (pixels[..., 1] < 100)
        inches.append(np.count_nonzero(red.any(axis=0)) / dpi)
    # ten logical pixels of 89 mm / 336 each
    np.testing.assert_allclose(inches, 10 * 89 / 336 / 25.4, atol=1.5 / 96)
    assert abs(inches[1] - inches[2]) < 2 / 300
    heights = []
    for size in (Paper(89, 65), Paper(183, 110)):
        plot.resize(*size.logical())
        plot.grab()
        write_figure(plot, tmp_path / "f.svg", 1.0, "white", "", size)
        root = ET.parse(tmp_path / "f.svg").getroot()
        view = [float(number) for number in root.get("viewBox").split()]
        mm = float(root.get("width")[:-2]) / view[2]
        texts = {float(g.get("font-size")) for g in root.iter() if g.get("font-size") and g.get("font-size") != "0"}
        heights.append(max(texts) * mm)
    assert heights[0] == pytest.approx(heights[1], rel=0.01)


def test_a_curve_in_a_picture_of_twice_the_density_is_twice_as_far(qtbot, tmp_path):
    plot = pg.PlotWidget(background="w")
    qtbot.addWidget(plot)
    plot.resize(300, 200)
    plot.setRange(xRange=(0, 1), yRange=(0, 1))
    plot.addItem(SceneCurve(np.array([0.3, 0.3]), np.array([0.0, 1.0]), pen=pg.mkPen("#ff0000", width=1)))
    plot.show()
    qtbot.waitExposed(plot)
    plot.grab()
    middles = []
    for scale in (1, 2, 4):
        red = np.array(as_pillow(image_of(plot, scale, "white"))).astype(int)
        weight = np.clip(red[..., 0] - red[..., 1], 0, None).sum(axis=0)
        middles.append((weight * (np.arange(len(weight)) + 0.5)).sum() / weight.sum() / scale)
    np.testing.assert_allclose(middles, plot.getViewBox().mapViewToScene(pg.Point(0.3, 0.0)).x(), atol=0.6)


def test_the_caption_is_in_every_kind_of_file(session, tmp_path):
    caption = "Rosenbrock; torch.optim.Adam(params, lr=0.05); <seed> 0 & sha256:αβγ"
    with Composed([(view_class("vectors"), {})], session, THEMES["light"], 300, 200) as page:
        for ending in ("svg", "pdf", "png", "tiff"):
            write_figure(page, tmp_path / f"f.{ending}", 1.0, "white", caption)
    described = ET.parse(tmp_path / "f.svg").getroot().find("{http://www.w3.org/2000/svg}desc")
    assert described.text == caption
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.info["Description"] == caption
    with Image.open(tmp_path / "f.tiff") as picture:
        assert picture.tag_v2[270].encode().decode("unicode_escape") == caption
    title = re.search(rb"/Title \(\xfe\xff((?:[^\\)]|\\.)*)\)", (tmp_path / "f.pdf").read_bytes(), re.DOTALL)
    assert re.sub(rb"\\(.)", rb"\1", title[1], flags=re.DOTALL).decode("utf-16-be") == caption
