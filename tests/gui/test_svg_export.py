"""Strokes of constant width in SVG files: page coordinates instead of stretched groups."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pyqtgraph as pg
import pytest

from gui.export.figure import write_figure
from gui.export.svg import without_stretched_strokes
from gui.widgets.curves import SceneCurve

GROUP = (
    '<g fill="none" stroke="#fff" stroke-width="1" transform="matrix(100,0,0,-50,10,20)"\nfont-size="12" \n>\n'
    '<path vector-effect="non-scaling-stroke" fill-rule="evenodd" d="M0,0 L1,2 C0.5,1e-1 -1,2 3,4"/>\n'
    '<polyline fill="none" vector-effect="non-scaling-stroke" points="0.5,1 2,-3 " />\n</g>'
)


def test_points_are_moved_by_the_matrix_of_their_group():
    result = without_stretched_strokes(GROUP)
    assert "non-scaling-stroke" not in result
    assert 'transform="matrix(1,0,0,1,0,0)"' in result
    numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)(?=[ \"])", result)]
    given = [(0, 0), (1, 2), (0.5, 0.1), (-1, 2), (3, 4), (0.5, 1), (2, -3)]
    np.testing.assert_allclose(numbers, [(100 * x + 10, -50 * y + 20) for x, y in given])
    ET.fromstring(result)


def test_other_groups_stay_as_they_are():
    text = '<g transform="matrix(2,0,0,2,0,0)"><rect x="0" y="0"/></g>'
    assert without_stretched_strokes(text) == text
    mixed = '<g transform="matrix(2,0,0,2,0,0)"><path vector-effect="non-scaling-stroke" d="M0,0"/><rect x="0"/></g>'
    assert without_stretched_strokes(mixed) == mixed


@pytest.mark.parametrize(("make", "offset"), [(pg.PlotCurveItem, 0.0), (SceneCurve, 0.0), (SceneCurve, 1e6)])
def test_a_plotted_curve_stands_where_the_screen_shows_it(qtbot, tmp_path, make, offset):
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    plot.resize(500, 300)
    x, y = offset + np.array([0.0, 0.25, 1.0]), np.array([0.0, 2.0, 1.0])
    curve = make(x, y, pen=pg.mkPen("#123456", width=1))
    plot.addItem(curve)
    plot.show()
    qtbot.waitExposed(plot)
    plot.grab()
    write_figure(plot, tmp_path / "curve.svg")
    root = ET.parse(tmp_path / "curve.svg").getroot()
    names = {"s": "http://www.w3.org/2000/svg"}
    group = next(g for g in root.iterfind(".//s:g[@stroke='#123456']", names) if len(g))
    drawn = re.findall(r"([-\d.]+),([-\d.]+)", group[0].get("d") or group[0].get("points"))
    found = np.array(drawn, dtype=float)
    expected = [curve.mapToScene(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, [(p.x(), p.y()) for p in expected], atol=0.1)
