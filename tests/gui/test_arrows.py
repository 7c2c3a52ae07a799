"""Arrows: ends exactly at their data coordinates at any zoom and axis order, heads of constant size, robust input."""

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor

from gui.widgets.arrows import ArrowItem, clipped

BLUE = "#3b8edb"


def make_plot(qtbot, item, x, y, invert_x=False, invert_y=False):
    plot = pg.PlotWidget(background="#000000")
    qtbot.addWidget(plot)
    plot.resize(480, 360)
    plot.hideAxis("left")
    plot.hideAxis("bottom")
    plot.addItem(item, ignoreBounds=True)
    plot.getViewBox().invertX(invert_x)
    plot.getViewBox().invertY(invert_y)
    plot.setXRange(*x, padding=0)
    plot.setYRange(*y, padding=0)
    plot.show()
    qtbot.waitExposed(plot)
    return plot


def painted(plot):
    """Positions (n, 2) of the pixels of the black picture on which something is painted."""
    image = plot.grab().toImage()
    found = []
    for y in range(image.height()):
        for x in range(image.width()):
            if max(QColor(image.pixel(x, y)).getRgb()[:3]) > 40:
                found.append((x + 0.5, y + 0.5))
    return np.array(found)


@pytest.mark.parametrize("zoom", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("invert_x", "invert_y"), [(False, False), (True, False), (False, True), (True, True)])
def test_ends_are_where_the_view_maps_them(qtbot, zoom, invert_x, invert_y):
    item = ArrowItem()
    tails, tips = zoom * np.array([[-0.5, 0.25], [0.1, 0.9]]), zoom * np.array([[0.75, -0.6], [-0.8, 0.9]])
    item.set_arrows(tails, tips, BLUE)
    plot = make_plot(qtbot, item, (-zoom, zoom), (-zoom, zoom), invert_x, invert_y)
    plot.grab()
    box = plot.getViewBox()
    # by hand: a linear axis from one edge of the box to the other
    frame = box.mapRectToScene(box.rect())
    for given, drawn in zip((tails, tips), item.scene_ends(), strict=True):
        part = (given / zoom + 1) / 2
        across = 1 - part[:, 0] if invert_x else part[:, 0]
        up = 1 - part[:, 1] if invert_y else part[:, 1]
        expected = np.stack([frame.left() + across * frame.width(), frame.bottom() - up * frame.height()], axis=1)
        np.testing.assert_allclose(drawn, expected, atol=0.01)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_painted_tip_and_head_do_not_depend_on_the_zoom(qtbot, scale):
    item = ArrowItem(width=3.0, head=13.0)
    item.set_arrows([[0.0, 0.0]], [[0.6 * scale, 0.0]], BLUE)
    plot = make_plot(qtbot, item, (-scale, scale), (-scale, scale))
    pixels = painted(plot)
    (_, _), (tip_x, tip_y) = (ends[0] for ends in item.scene_ends())
    assert abs(pixels[:, 0].max() + 0.5 - tip_x) <= 1.0
    last = pixels[pixels[:, 0] > tip_x - 13.0]
    height = np.ptp(last[:, 1]) + 1
    assert 2 * 0.36 * 13.0 - 2 <= height <= 2 * 0.36 * 13.0 + 2.5
    assert abs(last[:, 1].mean() - tip_y) <= 1.0


def test_a_line_of_a_billion_pixels_is_clipped(qtbot):
    item = ArrowItem(dashed=True)
    item.set_arrows([[0.0, 0.0], [-1e9, -1e9]], [[1e9, 0.0], [1e9, 1e9]], BLUE)
    plot = make_plot(qtbot, item, (-1, 1), (-1, 1))
    assert len(painted(plot)) > 100


def test_short_arrows_keep_their_ends_and_long_names_do_not_matter(qtbot):
    item = ArrowItem()
    item.set_arrows([[0.0, 0.0], [0.5, 0.5]], [[0.02, 0.0], [0.5, 0.5]], BLUE)
    plot = make_plot(qtbot, item, (-1, 1), (-1, 1))
    pixels = painted(plot)
    tails, tips = item.scene_ends()
    short = pixels[np.abs(pixels[:, 1] - tips[0, 1]) < 20]
    assert short[:, 0].min() >= tails[0, 0] - 1.5 and short[:, 0].max() <= tips[0, 0] + 1.5
    dot = pixels[np.hypot(*(pixels - tips[1]).T) < 6]
    assert len(dot) >= 4


def test_ends_that_are_not_finite_are_left_out():
    item = ArrowItem()
    item.set_arrows([[0, 0], [0, 0], [0, 0]], [[1, 1], [np.nan, 1], [np.inf, 0]], ["#ff0000", "#00ff00", "#0000ff"])
    assert item.tips.tolist() == [[1, 1]]
    assert [color.name() for color in item.colors] == ["#ff0000"]
    item.clear()
    assert len(item.tips) == 0 and item.dataBounds(0) == (None, None)


def test_as_many_colours_as_arrows():
    with pytest.raises(ValueError, match="2 arrows need as many colours, 1 were given"):
        ArrowItem().set_arrows([[0, 0], [0, 0]], [[1, 1], [2, 2]], ["#ff0000"])


def test_bounds_for_views_that_fit_their_contents():
    item = ArrowItem()
    item.set_arrows([[0, 5]], [[-2, 7]], BLUE)
    assert item.dataBounds(0) == (-2, 0) and item.dataBounds(1) == (5, 7)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ((-5, 5, 15, 5), (0, 5, 10, 5)),
        ((2, 2, 3, 3), (2, 2, 3, 3)),
        ((-5, -5, 5, 5), (0, 0, 5, 5)),
        ((-5, 20, 15, 20), None),
        ((5, -10, 5, 30), (5, 0, 5, 10)),
        ((-1, 5, -1, 6), None),
    ],
)
def test_clipping(line, expected):
    found = clipped(QLineF(*line), QRectF(0, 0, 10, 10))
    assert (found is None) == (expected is None)
    if found is not None:
        assert (found.x1(), found.y1(), found.x2(), found.y2()) == pytest.approx(expected)
