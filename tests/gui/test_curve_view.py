"""The loss along a line as a curve: one weight, slices through many, arrows with true ends, marks to be dragged."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor

from core.simulation import Event, Experiment, ProblemSettings, Simulation
from gui.theme import APPLIED, COMPUTED
from gui.views.surface import jobs
from gui.views.surface.curve import Curve
from gui.views.surface.cut import CutChoice, Region, RunPoint
from gui.views.surface3d import Surface3DView
from tests.gui.surface_driver import ADAM, drag, function, logistic, opener, send, settle, to_scene

CLIPPED = "torch.nn.utils.clip_grad_value_(params, 1.0)\ntorch.optim.SGD(params, lr=0.1)"


@pytest.fixture(autouse=True)
def coarse_grids(monkeypatch):
    monkeypatch.setattr(jobs, "PIXELS_A_POINT", 9.0)


@pytest.fixture
def open_view(qtbot):
    yield from opener(qtbot)


def five_x():
    return Experiment(problem=ProblemSettings(expression="5*x"), optimizer=CLIPPED, start=[0.0])


def ends_of(view, color):
    tails, tips = view.arrow_layer.main.scene_ends()
    k = [one.name() for one in view.arrow_layer.main.colors].index(color)
    return tails[k], tips[k]


@pytest.mark.parametrize("text", ["5*x", "x**2", "exp(sin(3*x)) + 0.1*x**2"])
def test_one_weight_has_a_true_curve_with_the_path_on_it(open_view, text):
    view = open_view(function(text, start=[1.5]), steps=6)
    curve, history = view.model.curve, view.session.current.history
    x, y = view.curve_layer.curve.getData()
    right = {"5*x": 5 * x, "x**2": x**2, "exp(sin(3*x)) + 0.1*x**2": np.exp(np.sin(3 * x)) + 0.1 * x**2}[text]
    np.testing.assert_allclose(y, right, rtol=1e-13, atol=1e-13)
    assert curve.complete and [view.canvas.axes[side].labelText for side in ("bottom", "left")] == ["x", "loss"]
    drawn = np.concatenate([np.column_stack(item.getData()) for item in view.path_layer.ages])
    drawn = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
    np.testing.assert_array_equal(drawn, np.column_stack([history.path()[:, 0], history.scalar("loss")]))
    region = view.canvas.region()
    for a, b in drawn:
        assert region.holds(a, b)


def test_the_example_everyone_knows_ends_where_it_ended(open_view, qtbot):
    view = open_view(five_x(), steps=1)
    view._on_arrow_size("true", 1.0)
    settle(qtbot, view)
    # gradient 5, lr 0.1: expected -0.5; clipped to 1: applied -0.1; both from x = 0
    for color, end in ((COMPUTED, -0.5), (APPLIED, -0.1)):
        tail, tip = ends_of(view, color)
        assert abs(tail[0] - to_scene(view, (0.0, 0.0))[0]) < 1.0 and tail[1] == pytest.approx(tip[1])
        assert abs(tip[0] - to_scene(view, (end, 0.0))[0]) < 1.0
    # the ledger's only row stands between the two tips
    tails, tips = view.arrow_layer.rows.scene_ends()
    assert abs(tails[0][0] - to_scene(view, (-0.5, 0.0))[0]) < 1.0
    assert abs(tips[-1][0] - to_scene(view, (-0.1, 0.0))[0]) < 1.0


@pytest.mark.parametrize("far", [0.0, 100.0])
def test_arrows_are_painted_wherever_the_picture_is(open_view, qtbot, far):
    view = open_view(function("(x - a)**2 + (y - a)**2", start=[far + 1.0, far + 2.0], a=far), steps=1)
    view.model.user_region = True
    view.canvas.set_region(Region(far - 1.0, far + 3.0, far - 1.0, far + 3.0))
    view._on_arrow_size("fixed", 10.0)
    view.controls.actions_by_layer["contours"].setChecked(False)
    settle(qtbot, view)
    tail, tip = ends_of(view, APPLIED)
    middle = (tail + tip) / 2
    screen = view.canvas.grab().toImage()
    assert np.hypot(*(tip - tail)) > 15
    near = [QColor(screen.pixel(int(middle[0]) + dx, int(middle[1]) + dy)).name() for dx in (0, 1) for dy in (0, 1)]
    assert APPLIED in near


def test_zooming_works_the_curve_out_anew(open_view, qtbot):
    view = open_view(function("sin(20*x)", start=[0.3]), steps=1)
    view.model.user_region = True
    view.canvas.set_region(Region(0.299, 0.301, -1.0, 1.0))
    settle(qtbot, view)
    curve = view.model.curve
    assert (curve.t[0], curve.t[-1]) == pytest.approx((0.299, 0.301)) and len(curve.t) == 513
    np.testing.assert_allclose(curve.losses, np.sin(20 * curve.t), rtol=1e-12)


def test_stretches_without_a_loss_are_hatched_and_named(open_view, qtbot):
    view = open_view(function("log(x) + 1/x", start=[0.5]), steps=2)
    gaps = view.curve_layer.gaps.gaps
    assert len(gaps) == 1 and gaps[0, 1] == pytest.approx(0.0, abs=0.01)
    assert any(entry.mark == "stripes" for entry in view.canvas.legend.entries)
    # the pole does not press the rest flat
    assert view.canvas.region().height < 40
    view.model.set_kind("log10")
    settle(qtbot, view)
    x, y = view.curve_layer.curve.getData()
    here = np.isfinite(y)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(y[here], np.log10(np.log(x) + 1 / x)[here])
    assert view.canvas.axes["left"].logMode


@pytest.mark.parametrize("kind", ["slice weight", "slice gradient", "slice applied", "slice random"])
def test_slices_through_a_model(open_view, qtbot, kind):
    view = open_view(logistic(), steps=12)
    view.model.choose(CutChoice(kind, 3, 30, 1))
    settle(qtbot, view)
    model, history, step = view.model, view.session.current.history, view.session.cursor
    line, curve, w = model.line, model.curve, history.weights(step)
    assert model.trouble == "" and model.plane is None and model.picture is None
    for k in (0, 100, 512):
        assert curve.losses[k] == pytest.approx(float(model.objective.value(line.lift(curve.t[k]))), rel=1e-10)
    vector = {"slice gradient": -history.gradient(step), "slice applied": history.applied(step)}.get(kind)
    if vector is not None:
        np.testing.assert_allclose(line.direction, vector / np.linalg.norm(vector), rtol=1e-12)
        arrow = {"slice gradient": COMPUTED, "slice applied": APPLIED}[kind]
        tail, tip = ends_of(view, arrow)
        length = np.linalg.norm(history.expected(step) if arrow == COMPUTED else vector) * view._magnification.computed
        assert abs(tip[0] - tail[0]) == pytest.approx(length / view.canvas.pixel()[0], abs=1.0)
    if kind == "slice weight":
        assert line.label == model.objective.component_names[3]
        assert float(line.project(w)) == w[3]
    assert any("of each step's batch" in entry.text for entry in view.canvas.legend.entries)
    text = view.footer.text()
    assert f"point {float(line.distance(w)):.3g}" in text
    assert f"start {float(line.distance(history.weights(0))):.3g}" in text


def test_a_slice_follows_the_step_shown_and_needs_one(open_view, qtbot):
    view = open_view(logistic())
    view.model.choose(CutChoice("slice applied"))
    view.flush()
    assert "needs a step" in view.canvas.words.toPlainText() and view.model.plane is not None
    view.session.engine.advance(view.session.current, 3)
    qtbot.waitUntil(lambda: view.session.cursor == 2)
    for step in (2, 0):
        view.session.show_step(step)
        settle(qtbot, view)
        applied = view.session.current.history.applied(step)
        np.testing.assert_allclose(view.model.line.direction, applied / np.linalg.norm(applied), rtol=1e-12)


def test_dragging_the_start_along_the_curve(open_view, qtbot):
    view = open_view(function("x**2", start=[3.0]), steps=2)
    release = drag(view, to_scene(view, (3.0, 9.0)), to_scene(view, (2.0, 20.0)))
    a, b = view.marks.start.place()
    # it stays on the curve wherever the mouse is
    assert b == pytest.approx(a**2, rel=1e-3)
    qtbot.waitUntil(lambda: view.marks.preview is not None and len(view.marks.preview.path) > 1)
    release()
    settle(qtbot, view)
    begun = view.session.current.simulation.experiment.start
    assert begun[0] == pytest.approx(2.0, abs=2 * view.canvas.pixel()[0])


@pytest.mark.parametrize("shown", [14, 6])
def test_dragging_the_point_of_a_step_goes_on_from_there_and_can_be_undone(open_view, qtbot, shown):
    view = open_view(steps=15)
    session = view.session
    session.show_step(shown)
    settle(qtbot, view)
    before = session.current.history.path().copy()
    goal = np.array([0.5, 1.5])
    release = drag(view, to_scene(view, before[shown]), to_scene(view, goal))
    qtbot.waitUntil(lambda: view.marks.preview is not None and len(view.marks.preview.path) > 1)
    previewed = view.marks.preview.path
    release()
    qtbot.waitUntil(lambda: len(session.current.events) == 1 and session.current.history.count == 15)
    settle(qtbot, view)
    event = session.current.events[0]
    assert (event.step, event.target) == (shown, "weights")
    assert np.abs(to_scene(view, event.value) - to_scene(view, goal)).max() <= 1.5
    # the file's settings alone give the same run; the arrows are those of the step taken from there
    replay = Simulation(Experiment(optimizer=ADAM, events=[Event(shown, "weights", "value", event.value)]))
    replay.advance(15)
    path = session.current.history.path()
    np.testing.assert_array_equal(path, replay.history.path())
    np.testing.assert_array_equal(path[:shown], before[:shown])
    np.testing.assert_array_equal(path[shown], event.value)
    # the preview may have been let go before it was as long as the run
    ahead = min(len(previewed), 15 - shown)
    np.testing.assert_array_equal(previewed[:ahead], path[shown : shown + ahead])
    np.testing.assert_array_equal(view.marks.point.place(), path[shown])
    assert view.marks.preview is None
    session.undo_stack.undo()
    qtbot.waitUntil(lambda: not session.current.events)
    settle(qtbot, view)
    np.testing.assert_array_equal(session.current.history.path(), before)


def test_keys_move_the_point(open_view, qtbot):
    view = open_view(steps=5)
    w, region = view.session.current.history.weights(4).copy(), view.canvas.region()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: len(view.session.current.events) == 1)
    np.testing.assert_allclose(view.session.current.events[0].value, [w[0] + 0.02 * region.width, w[1]])
    settle(qtbot, view)


def test_hovering_reads_loss_and_slope(open_view, qtbot):
    view = open_view(function("x**2", start=[3.0]), steps=1)
    send(view, QEvent.Type.MouseMove, to_scene(view, (2.0, 10.0)))
    qtbot.waitUntil(lambda: view.model.reading is not None and abs(view.model.reading.a - 2.0) < 0.05)
    t = view.model.reading.a
    assert f"loss {t**2:.6g}   slope {2 * t:.4g}" in view.footer.text()


def test_planes_through_three_steps_or_the_ends_of_three_runs(open_view, qtbot):
    view = open_view(logistic(), steps=11)
    session, model = view.session, view.model
    model.ask_for(CutChoice("three"))
    settle(qtbot, view)
    first = session.current
    for step in (0, 5, 10):
        assert float(model.plane.distance(first.history.weights(step))) < 1e-12
    assert float(model.plane.distance(first.history.weights(3))) > 1e-6
    assert model.plane.labels == ("from step 0 to step 5", "across, towards step 10")
    others = [session.fork(4, learning_rate=rate) for rate in (0.2, 0.01)]
    for run in others:
        session.engine.advance(run, 3)
        qtbot.waitUntil(lambda run=run: run.history.count == 7)
    settle(qtbot, view)
    view._on_points()
    view.controls.points.ends.click()
    settle(qtbot, view)
    assert set(model.choice.points) == {RunPoint(run.id) for run in (first, *others)}
    assert model.plane.labels == ("from A to B", "across, towards C")
    for run in (first, *others):
        assert float(model.plane.distance(run.history.weights(run.history.count - 1))) < 1e-12
    # one of the points by hand; what is chosen is remembered, and undone
    view._on_points()
    view.controls.points.steps[1].setValue(2)
    assert [point.step for point in model.choice.points] == [-1, 2, -1]
    kept = view.options()["plane"]
    assert CutChoice.of(kept, [run.id for run in session.runs]) == model.choice
    for kind in ("three", "three", "weights"):
        session.undo_stack.undo()
        assert model.choice.kind == kind
    session.undo_stack.redo()
    settle(qtbot, view)
    # a point that is gone is said
    model.choose(CutChoice("three", points=(RunPoint(99), RunPoint(99, 0), RunPoint(99, 1))))
    assert "run that is closed" in model.trouble


def test_controls_cut_along_lines(open_view, qtbot):
    view = open_view(steps=4)
    assert not view.controls.plane_row.isVisibleTo(view)
    view.controls.actions_by_layer["slice"].setChecked(True)
    settle(qtbot, view)
    assert view.model.line.label == "x" and view.controls.plane_row.isVisibleTo(view)
    view.controls.first.setCurrentIndex(1)
    view.controls.first.activated.emit(1)
    settle(qtbot, view)
    assert view.model.line.label == "y"
    options = view.options()
    view.controls.actions_by_layer["slice"].setChecked(False)
    settle(qtbot, view)
    assert view.model.plane.labels == ("x", "y") and view.model.picture is not None
    view.set_options(options)
    settle(qtbot, view)
    assert view.model.line.label == "y"


def test_three_dimensions_say_that_a_line_has_none(open_view, qtbot):
    view = open_view(function("x**2", start=[3.0]), steps=1)
    other = Surface3DView(view.session, view.theme)
    qtbot.addWidget(other)
    other.scene = object()
    other._draw()
    assert "no third dimension" in other.message.text()


def test_gaps_of_a_curve_are_the_points_without_height():
    t = np.linspace(0.0, 1.0, 11)
    losses = np.array([np.nan, 1, 2, np.inf, np.inf, 3, -1, 0, 5, 6, np.nan])
    curve = Curve(None, t, losses, True)
    np.testing.assert_allclose(curve.gaps("linear"), [[-0.05, 0.05], [0.25, 0.45], [0.95, 1.05]])
    np.testing.assert_allclose(curve.gaps("log10"), [[-0.05, 0.05], [0.25, 0.45], [0.55, 0.75], [0.95, 1.05]])


def test_what_is_drawn_comes_from_one_history_although_the_worker_puts_another_in_its_place(open_view, qtbot):
    view = open_view(steps=12)
    session, model = view.session, view.model
    kept = session.current.history
    # as the worker does while a run is worked out again: fewer rows than the step shown, in the middle of a frame
    session.current.simulation.history = kept.fork(3)
    assert model.history is kept and model.step == 11
    view._draw()
    np.testing.assert_array_equal(view.marks.point.place(), kept.weights(11))
    session.current.simulation.history = kept
    view.refresh()
