"""Planes through the weights of models in the surface view: what lies in them is drawn where it belongs."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from gui.theme import COMPUTED
from gui.views.surface import jobs
from gui.views.surface.cut import CutChoice
from tests.gui.surface_driver import logistic, opener, settle, to_scene


@pytest.fixture(autouse=True)
def coarse_grids(monkeypatch):
    """A grid as fine as the screen is looked at once; the other tests get by with less work."""
    monkeypatch.setattr(jobs, "PIXELS_A_POINT", 9.0)


@pytest.fixture
def open_view(qtbot):
    yield from opener(qtbot)


@pytest.mark.parametrize("kind", ["weights", "step", "principal", "random"])
def test_planes_of_many_weights(open_view, qtbot, kind):
    view = open_view(logistic(), steps=12)
    view.model.choose(CutChoice(kind, 3, 30, 1))
    settle(qtbot, view)
    model, history, step = view.model, view.session.current.history, view.session.cursor
    assert model.trouble == "" and model.plane.size == 31
    picture = model.picture
    assert picture.plane is model.plane
    rows, columns = np.array([0, 5, -1]), np.array([2, 0, -1])
    points = model.plane.lift(picture.xs[columns], picture.ys[rows])
    np.testing.assert_allclose(picture.z[rows, columns], model.objective.value(points), rtol=1e-10)
    w, e = history.weights(step), history.expected(step)
    size = view._magnification
    a, b = model.plane.project_vector(e)
    origin = np.array(model.plane.project(w))
    _, tips = view.arrow_layer.main.scene_ends()
    k = [color.name() for color in view.arrow_layer.main.colors].index(COMPUTED)
    assert np.abs(tips[k] - to_scene(view, origin + size.computed * np.array([a, b]))).max() < 1.0
    text = view.footer.text()
    assert f"point {float(model.plane.distance(w)):.3g}" in text
    assert f"start {float(model.plane.distance(history.weights(0))):.3g}" in text
    if kind == "weights":
        np.testing.assert_allclose(origin, w[[3, 30]])
        assert model.plane.labels == (model.objective.component_names[3], model.objective.component_names[30])
        assert "outside: −lr·g" in text


def test_the_step_s_own_plane_holds_both_arrows_at_every_step(open_view, qtbot):
    view = open_view(logistic(), steps=9)
    view.model.choose(CutChoice("step"))
    history = view.session.current.history
    for step in (8, 3, 0):
        view.session.show_step(step)
        settle(qtbot, view)
        arrows_e, arrows_a = history.expected(step), history.applied(step)
        plane = view.model.plane
        for vector in (arrows_e, arrows_a):
            length = np.hypot(*plane.project_vector(vector))
            assert length == pytest.approx(np.linalg.norm(vector), rel=1e-9)
        assert "outside" not in view.footer.text()
        region = view.canvas.region()
        for tip in view.arrow_layer.main.tips:
            assert region.holds(*tip)


def test_a_plane_that_is_not_there_yet_says_so(open_view, qtbot):
    view = open_view(logistic())
    view.model.choose(CutChoice("step"))
    view.flush()
    assert "needs a step" in view.canvas.words.toPlainText()
    view.session.step_forward()
    qtbot.waitUntil(lambda: view.session.cursor == 0)
    settle(qtbot, view)
    assert not view.canvas.words.isVisible() and view.model.plane.kind == "gradient and applied change"


def test_dragging_the_start_in_a_plane_moves_only_what_lies_in_it(open_view, qtbot):
    view = open_view(logistic())
    view.model.choose(CutChoice("weights", 4, 7))
    settle(qtbot, view)
    view.marks.begin_at(0.5, -0.25)
    start = np.array(view.session.current.simulation.experiment.start)
    expected = np.zeros(31)
    expected[[4, 7]] = 0.5, -0.25
    np.testing.assert_array_equal(start, expected)
    settle(qtbot, view)


def test_controls_choose_planes(open_view, qtbot):
    view = open_view(logistic(), steps=5)
    controls = view.controls
    assert controls.plane_row.isVisibleTo(view) and controls.first.count() == 31
    controls.first.setCurrentIndex(1)
    controls.first.activated.emit(1)
    # the same weight twice: they change places
    assert (view.model.choice.first, view.model.choice.second) == (1, 0)
    controls.plane.setCurrentIndex(controls.plane.findData("random"))
    controls.plane.activated.emit(controls.plane.currentIndex())
    first = view.model.plane
    qtbot.mouseClick(controls.again, Qt.MouseButton.LeftButton)
    assert view.model.plane is not first and view.model.choice.seed == 1
    settle(qtbot, view)
