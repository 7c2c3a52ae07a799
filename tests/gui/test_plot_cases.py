"""The public cases about exported plots (tests/cases/cases_open.json, category plot_export)."""

import csv
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyqtgraph as pg
import pytest
from PIL import Image

from core.export import write_surface, write_table
from core.problems import expression
from core.problems.planes import whole_plane
from core.problems.surfaces import SurfaceEvaluator
from core.simulation import Experiment, ProblemSettings, Simulation
from gui.export.figure import write_figure
from gui.widgets.curves import SceneCurve
from tests.reference_data import public_cases

CASES = public_cases()
SVG = {"s": "http://www.w3.org/2000/svg"}


def plot_of(qtbot, x, y, width=622, height=400, log_x=False, log_y=False):
    """A plot with one curve; ``log``: the axis shows powers of ten, the curve holds logarithms (as our views do)."""
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    plot.resize(width, height)
    with np.errstate(all="ignore"):
        shown_x = np.log10(x) if log_x else x
        shown_y = np.log10(y) if log_y else y
    curve = SceneCurve(shown_x, shown_y, pen=pg.mkPen("#123456", width=1))
    plot.addItem(curve)
    plot.show()
    qtbot.waitExposed(plot)
    plot.grab()
    return plot, curve


def svg_points(path):
    """The points of the curve on the page."""
    root = ET.parse(path).getroot()
    found = []
    for group in root.iterfind(".//s:g[@stroke='#123456']", SVG):
        a, b, c, d, e, f = map(float, re.search(r"matrix\(([^)]*)\)", group.get("transform"))[1].split(","))
        for shape in group:
            for p, q in re.findall(r"(-?[\d.]+),(-?[\d.]+)", shape.get("d") or shape.get("points") or ""):
                x, y = float(p), float(q)
                found.append((a * x + c * y + e, b * x + d * y + f))
    return np.array(found)


def svg_paths(path):
    """What the curve's shapes are drawn from: 'M' begins a piece."""
    root = ET.parse(path).getroot()
    return [
        shape.get("d") or "M" + shape.get("points", "")
        for group in root.iterfind(".//s:g[@stroke='#123456']", SVG)
        for shape in group
    ]


def test_plot_01_a_png_has_whole_pixels_of_the_width_asked_for(qtbot, tmp_path):
    right = CASES["PLOT-01"]["right_values"]
    assert right["png_width"] == 1024 and right["png_height"].startswith("round(1024*source_h/source_w)")
    for width in (1024, 101):
        plot, _ = plot_of(qtbot, np.arange(3.0), np.arange(3.0), 622, 382)
        scale = width / 622
        write_figure(plot, tmp_path / "p.png", scale, "white")
        with Image.open(tmp_path / "p.png") as picture:
            assert picture.size == (width, round(width * 382 / 622))


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_plot_04_a_curve_on_a_log_axis_stands_where_the_screen_shows_it(qtbot, tmp_path, offset):
    x = offset + np.arange(0.0, 500.0, 10.0)
    if offset == 1e6:
        right = CASES["PLOT-04"]["right_values"]
        assert np.log10(x[[0, -1]]) == pytest.approx([right["log10_x_first"], right["log10_x_last"]], abs=1e-8)
    plot, curve = plot_of(qtbot, x, np.linspace(1, 2, len(x)), log_x=True)
    write_figure(plot, tmp_path / "c.svg")
    drawn = svg_points(tmp_path / "c.svg")
    ends = [curve.mapToScene(math.log10(x[k]), y) for k, y in ((0, 1.0), (-1, 2.0))]
    np.testing.assert_allclose(drawn[[0, -1]], [(p.x(), p.y()) for p in ends], atol=0.5)
    # inside the picture, and over nearly all of its width
    assert 0 < drawn[:, 0].min() < 0.2 * 622 and 0.9 * 622 < drawn[:, 0].max() < 622


def test_plot_06_exported_numbers_are_never_logarithms(tmp_path):
    right = CASES["PLOT-06"]["right_values"]
    # every step of lr = 1 down the slopes -x and -y doubles both
    simulation = Simulation(
        Experiment(
            problem=ProblemSettings(name="expression", expression="-0.5*x**2 - 0.5*y**2"),
            optimizer="torch.optim.SGD(params, lr=1.0)",
            start=[1.0, 10.0],
        )
    )
    simulation.advance(3)
    write_table(simulation.history, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["w.p[0]"]) for row in rows] == right["csv_x"]
    assert [float(row["w.p[1]"]) for row in rows] == right["csv_y"]


def test_plot_08_one_nan_leaves_a_gap_and_the_rest_of_the_curve(qtbot, tmp_path):
    right = CASES["PLOT-08"]["right_values"]
    for place in (0, 500):
        y = np.sin(np.arange(1000.0) / 50)
        y[place] = np.nan
        plot, _ = plot_of(qtbot, np.arange(1000.0), y)
        write_figure(plot, tmp_path / "n.svg")
        text = (tmp_path / "n.svg").read_text(encoding="utf-8")
        assert "nan" not in re.sub(r"<(title|desc)>.*?</\1>", "", text).lower()
        drawn = np.unique(np.round(svg_points(tmp_path / "n.svg"), 2), axis=0)
        assert len(drawn) == pytest.approx(right["visible_points"], abs=2)
        pieces = sum(re.sub(r"[^Mm]", "", shape).upper().count("M") for shape in svg_paths(tmp_path / "n.svg"))
        assert pieces == (right["gap_count"] + 1 if place else 1), "the ends of a curve are no gaps"
        low, high = plot.getViewBox().viewRange()[1]
        assert low > -1.5 and high < 1.5


def test_plot_09_the_loss_grid_is_not_transposed(tmp_path):
    right = CASES["PLOT-09"]["right_values"]
    evaluator = SurfaceEvaluator(expression("x + 10*y"), whole_plane(), ((0, 3), (0, 1)), (4, 2))
    surface = evaluator.finish()
    assert list(surface.values.shape) == right["array_shape"]
    assert surface.values[1, 2] == right["value_at_x2_y1"] == float(surface.at(2.0, 1.0))
    write_surface(tmp_path / "s.npz", surface.a, surface.b, surface.values)
    data = np.load(tmp_path / "s.npz")
    assert data["loss"][list(data["y"]).index(1.0), list(data["x"]).index(2.0)] == right["value_at_x2_y1"]


def test_plot_12_every_plot_becomes_well_formed_svg(qtbot, tmp_path):
    assert "well-formed" in CASES["PLOT-12"]["right_values"]["right"]
    empty = pg.PlotWidget()
    qtbot.addWidget(empty)
    empty.resize(600, 380)
    empty.show()
    qtbot.waitExposed(empty)
    filled, _ = plot_of(qtbot, np.arange(5.0), np.arange(5.0) ** 2)
    for plot in (empty, filled):
        write_figure(plot, tmp_path / "e.svg")
        root = ET.parse(tmp_path / "e.svg").getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 10
