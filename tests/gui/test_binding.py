"""Known-bad Qt bindings are refused with the mend; painting loses no references (style facts, measured)."""

import sys

import pyqtgraph as pg
import pytest

from gui.binding import check_binding, problem_with


@pytest.mark.parametrize(
    ("pyside", "python", "word"),
    [
        ("6.12.0", (3, 11), "aborts"),
        ("6.12.0", (3, 12), "pyqtgraph"),
        ("6.11.3", (3, 11), "pyqtgraph"),
        ("6.9.1", (3, 11), "view boxes"),
        ("6.9.2", (3, 11), "crashes"),
        ("6.5.0", (3, 11), "older"),
    ],
)
def test_bad_versions_are_refused_with_the_mend(pyside, python, word):
    said = problem_with(pyside, "0.14.0", python)
    assert word in said and "pip install" in said and pyside in said


@pytest.mark.parametrize("pyside", ["6.8.3", "6.9.3", "6.10.3"])
def test_good_versions_pass(pyside):
    assert problem_with(pyside, "0.14.0", (3, 11)) == ""
    assert "0.13.7" in problem_with(pyside, "0.13.7", (3, 11))


def test_what_is_installed_works():
    assert check_binding() == ""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on, its count never moves")
def test_painting_keeps_the_references_of_none(qtbot):
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    curve = plot.plot([0, 1], [0, 1])
    plot.show()
    for _ in range(20):
        curve.setData([0, 1, 2], [0, 1, 0])
        plot.grab()
    before = sys.getrefcount(None)
    for k in range(200):
        curve.setData([0, 1, 2], [0, k % 3, 0])
        plot.grab()
    # what is lost counts: curves and pictures that wait to be collected may hold more
    assert sys.getrefcount(None) - before > -200
    plot.close()
