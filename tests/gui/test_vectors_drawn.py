"""What the vectors view really paints: cells at their places, arrows in the picture, labels clear of one another."""

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter, QPixmap

from gui.session import Session
from gui.views.vectors import VectorsView
from tests.gui.on_screen import settle
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
TINY = ("clip_by_value", {"clip_value": 1e-10})


@pytest.fixture
def shown(screen):
    """Opens the view on a simulation, with these options."""

    def make(simulation, size=(420, 300), **options):
        session = Session.on(simulation)
        view = screen.view(VectorsView, session, size, prepare=lambda view: view.set_options(options))
        return session, view

    return make


def labels(axis):
    """Rectangles of the tick labels in the scene, as pyqtgraph draws them."""
    pixmap = QPixmap(8, 8)
    painter = QPainter(pixmap)
    painter.setFont(axis.style["tickFont"])
    specs = axis.generateDrawSpecs(painter)
    painter.end()
    return [(axis.mapRectToScene(rect), text) for rect, _, text in (specs[2] if specs else [])]


def test_one_cell_of_a_matrix_that_is_not_square_is_painted_at_its_row_and_column(shown):
    """A single weight is not zero: row 1, column 4 of 3 x 5; at the transposed place nothing is."""
    start = np.zeros(15)
    start[1 * 5 + 4] = 1.0
    session, view = shown(simulate(RATE, objective=Bowl({"W": (3, 5)}, start=start), steps=1), (640, 300), kind="heat")
    assert session.current.history.expected(0)[9] == -0.1
    chart = view.charts["heat"]
    image = chart.grab().toImage()
    ratio = image.devicePixelRatio()
    for panel in (0, 1):
        box = chart.plots[panel].getViewBox()

        def color(x, y, box=box):
            place = chart.mapFromScene(box.mapViewToScene(QPointF(x, y)))
            return image.pixelColor(int(place.x() * ratio), int(place.y() * ratio)).name()

        marked = color(4, 1)
        ground = color(0, 0)
        assert marked != ground
        for row, column in itertools.product(range(3), range(5)):
            inside = [(column + dx, row + dy) for dx in (-0.4, 0.4) for dy in (-0.4, 0.4)]
            wanted = marked if (row, column) == (1, 4) else ground
            assert {color(x, y) for x, y in inside} == {wanted}, (row, column)


@pytest.mark.parametrize("case", ["bars", "tiny", "many", "arrows", "magnified", "heat"])
def test_labels_of_neighbouring_panels_never_touch(shown, case):
    simulation, kind = {
        "bars": (simulate(RATE, objective=Bowl({"w": (6,)}), steps=3), "bars"),
        "tiny": (simulate(TINY, RATE, objective=Bowl({"w": (5,)}, start=[5, -3, 1, 2, -5]), steps=2), "bars"),
        "many": (simulate(("momentum", {}), RATE, objective=Bowl({"w": (31,)}), steps=5), "bars"),
        "arrows": (simulate(("momentum", {}), RATE, objective=Bowl({"w": (2,)}, start=[1, 0.3]), steps=5), "arrows"),
        "magnified": (simulate(TINY, RATE, objective=Bowl({"w": (2,)}, start=[5, -3]), steps=2), "arrows"),
        "heat": (simulate(("momentum", {}), RATE, objective=Bowl({"W": (8, 8)}), steps=5), "heat"),
    }[case]
    _, view = shown(simulation, kind=kind)
    chart = view.charts[kind]
    axes = {
        "bars": getattr(chart, "axes", None),
        "arrows": [pair[0] for pair in getattr(chart, "axes", [])] if kind == "arrows" else None,
        "heat": getattr(chart, "bar_axes", None),
    }[kind]
    for width in (420, 300, 760):
        view.resize(width, 300)
        settle(view)
        found = [item for axis in axes for item in labels(axis)]
        assert len(found) >= 3
        for (one, first), (two, second) in itertools.combinations(found, 2):
            assert not one.intersects(two), (width, first, second)


def test_arrows_stay_in_the_picture(shown):
    """Momentum overshoots in a valley: vectors of all directions and lengths, in panels of any form."""
    bowl = Bowl({"p": (2,)}, curvature=[1.0, 18.0], start=[3.0, -2.0])
    session, view = shown(simulate(("momentum", {}), RATE, objective=bowl, steps=25))
    chart = view.charts["arrows"]
    for step, size in zip(range(0, 25, 2), itertools.cycle([(300, 220), (420, 460), (900, 240)])):
        view.resize(*size)
        session.show_step(step)
        settle(view)
        for index, plot in enumerate(chart.plots):
            frame = plot.getViewBox().sceneBoundingRect().adjusted(-0.5, -0.5, 0.5, 0.5)
            for tip in chart.arrows[index].scene_ends()[1]:
                assert frame.contains(QPointF(*tip)), (step, index)


def test_ten_orders_of_magnitude_stay_readable_side_by_side(shown):
    session, view = shown(simulate(TINY, RATE, objective=Bowl({"w": (5,)}, start=5.0), steps=1))
    chart = view.charts["bars"]
    history = session.current.history
    assert history.expected(0)[0] == -0.5 and history.applied(0)[0] == pytest.approx(-1e-11, rel=1e-4)
    for panel, text in ((0, "−0.5"), (1, "−1e−11")):
        pixel = chart.plots[panel].getViewBox().viewPixelSize()[0]
        options = chart.bars[panel].opts
        assert (np.abs(np.asarray(options["x1"]) - np.asarray(options["x0"])) / pixel > 5).all()
        assert chart.values[panel].texts == [text] * 5
    assert view.remark.toolTip().startswith("Symmetric log scale, linear within ±1e−13") or (
        "Symmetric log scale" in view.remark.text()
    )
    assert "2.0e−11 times as long" in view.caption.text()


def test_what_is_infinite_reaches_the_edge_and_nan_has_no_bar(shown):
    bowl = Bowl({"w": (4,)}, start=[1, np.inf, np.nan, -3])
    _, view = shown(simulate(RATE, objective=bowl, steps=1))
    chart = view.charts["bars"]
    (left, right), _ = chart.plots[0].getViewBox().viewRange()
    ends = np.asarray(chart.bars[0].opts["x1"])
    assert ends[1] == left < ends[0] == -0.1 and ends[2] == 0.0 and ends[3] == pytest.approx(0.3) and right > 0.3
    assert chart.values[0].texts == ["−0.1", "−∞", "nan", "0.3"]
    assert "2 of 4 components are inf or nan" in view.caption.text()
