"""The surface in a window: what is drawn equals the core's numbers, in pixels; mouse, keys, export."""

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor

from core.problems import problem
from core.simulation import Experiment, ProblemSettings, Simulation
from gui.export.figure import discard, make_figure, write_figure
from gui.theme import APPLIED, COMPUTED, DARK, LIGHT, cause_color
from gui.views.surface import SurfaceView, jobs, track
from gui.views.surface.cut import Region
from gui.views.surface.model import SurfaceModel
from gui.views.surface.palette import lookup_table
from gui.views.surface3d import Surface3DView, gl_trouble
from tests.gui.surface_driver import ADAM, drag, function, opener, send, settle, to_scene

CASES = Path(__file__).parent.parent / "cases" / "cases_open.json"


def case(name):
    document = json.loads(CASES.read_text(encoding="utf-8"))
    cases = document["cases"] if isinstance(document, dict) else document
    return next(entry for entry in cases if entry["id"] == name)


@pytest.fixture(autouse=True)
def coarse_grids(monkeypatch):
    """A grid as fine as the screen is looked at once; the other tests get by with less work."""
    monkeypatch.setattr(jobs, "PIXELS_A_POINT", 9.0)


@pytest.fixture
def open_view(qtbot):
    yield from opener(qtbot)


# the picture -------------------------------------------------------------------------------------------------------


def test_case_plot_09_pixel_and_read_out(open_view, qtbot):
    entry = case("PLOT-09")["right_values"]
    view = open_view(function("x + 10*y", start=[0.5, 0.5]))
    view.model.user_region = True
    view.canvas.set_region(Region(0.0, 3.0, 0.0, 1.0))
    view.model.set_kind("linear")
    settle(qtbot, view)
    picture = view.model.picture
    assert picture.z.shape == (len(picture.ys), len(picture.xs))
    np.testing.assert_allclose(picture.z, picture.xs[None, :] + 10 * picture.ys[:, None])
    # the pixel of the image at (2, 1) holds the colour of 12
    image = view.picture_layer.image
    at = image.mapFromParent(QPointF(2.0, 1.0))
    row, column = int(np.floor(at.y())), int(np.floor(at.x()))
    assert picture.indices[row, column] == picture.scale.indices(np.array([[12.0]]))[0, 0]
    view.model.probe(2.0, 1.0)
    qtbot.waitUntil(lambda: view.model.reading is not None)
    assert view.model.reading.loss == pytest.approx(entry["value_at_x2_y1"])
    np.testing.assert_allclose(view.model.reading.gradient, [1.0, 10.0])


def test_cells_are_painted_around_their_points(open_view, qtbot):
    view = open_view(function("x + 10*y + 0.3*x*y", start=[0.5, 0.5]), theme=LIGHT)
    view.model.set_kind("linear")
    for layer in ("contours", "minima"):
        view.controls.actions_by_layer[layer].setChecked(False)
    settle(qtbot, view)
    picture = view.model.picture
    screen = view.canvas.grab().toImage()
    words = view.canvas.words.mapRectToScene(view.canvas.words.boundingRect())
    table = lookup_table(LIGHT).astype(int)
    for row in range(6, len(picture.ys) - 6, 9):
        for column in range(6, len(picture.xs) - 6, 7):
            x, y = to_scene(view, (picture.xs[column], picture.ys[row]))
            if words.contains(x, y):
                continue
            seen = np.array(QColor(screen.pixel(int(x), int(y))).getRgb()[:3])
            wanted = table[picture.indices[row, column]][:3]
            if np.hypot(*(np.array([x, y]) - to_scene(view, (0.5, 0.5)))) > 25:
                assert np.abs(seen - wanted).max() <= 6, (row, column)


def test_losses_equal_the_problem_s_and_zooming_evaluates_anew(open_view, qtbot, monkeypatch):
    monkeypatch.setattr(jobs, "PIXELS_A_POINT", 2.5)
    view = open_view()
    view.model.user_region = True
    objective = problem("rosenbrock")
    for region in (Region(-2, 2, -1, 3), Region(0.9, 1.1, 0.95, 1.05), Region(-30, 40, -500, 1000)):
        view.canvas.set_region(region)
        settle(qtbot, view)
        picture = view.model.picture
        points = np.stack(np.meshgrid(picture.xs, picture.ys), axis=-1)
        np.testing.assert_array_equal(picture.z, objective.value(points))
        np.testing.assert_allclose([picture.xs[0], picture.xs[-1]], region[:2])
        np.testing.assert_allclose([picture.ys[0], picture.ys[-1]], region[2:])
        # full resolution at every zoom: at most three screen pixels a point
        room = view.canvas.box.rect()
        assert room.width() / len(picture.xs) < 3 and room.height() / len(picture.ys) < 3


def test_regions_that_are_not_finite_are_striped_and_named(open_view, qtbot):
    view = open_view(function("log(x) + y**2", start=[1.0, 1.0]))
    picture = view.model.picture
    negative = picture.xs < -1e-9
    assert (picture.indices[:, negative] >= 254).all() and (picture.indices[:, picture.xs > 1e-9] < 254).all()
    assert any(entry.mark == "stripes" for entry in view.canvas.legend.entries)


@pytest.mark.parametrize("half", [1e-7, 0.004, 3.0, 2e6])
def test_axes_say_the_values_themselves(open_view, qtbot, half):
    view = open_view()
    view.model.user_region = True
    view.canvas.set_region(Region(-half, half, -half, half))
    view.set_theme(LIGHT)
    settle(qtbot, view)
    axis = view.canvas.axes["bottom"]
    ticks, labels = [], []
    for spacing, values in axis.tickValues(-half, half, 400):
        ticks += list(values)
        labels += axis.tickStrings(values, axis.autoSIPrefixScale * axis.scale, spacing)
    assert len(ticks) >= 3
    np.testing.assert_allclose([float(label.replace("−", "-")) for label in labels], ticks, atol=half * 0.01)


def test_colour_scale_is_the_user_s_choice(open_view, qtbot):
    view = open_view()
    for kind in ("linear", "rank", "log10"):
        view.controls.kind.setCurrentIndex(view.controls.kind.findData(kind))
        view.controls.kind.activated.emit(view.controls.kind.currentIndex())
        assert view.model.picture.scale.kind == kind
        ticks = view.canvas.bar_axis._tickLevels[0]
        assert ticks == view.model.picture.scale.ticks()
        settle(qtbot, view)


# arrows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("region", [None, Region(-1.3, -1.1, 0.9, 1.15), Region(-100, 100, -70, 90)])
def test_arrows_end_where_the_history_says(open_view, qtbot, swapped, region):
    view = open_view(steps=30)
    if swapped:
        view.controls.actions_by_layer["swap"].trigger()
    if region is not None:
        view.model.user_region = True
        view.canvas.set_region(region)
    history = view.session.current.history
    for mode, factor, steps in (("true", 1.0, (0, 29)), ("fixed", 20.0, (7,)), ("auto", 1.0, (29,))):
        view._on_arrow_size(mode, factor)
        for step in steps:
            view.session.show_step(step)
            settle(qtbot, view)
            size = view._magnification
            assert size.common and (mode == "auto" or size.computed == factor)
            order = [1, 0] if swapped else [0, 1]
            w, e, a = (v[order] for v in (history.weights(step), history.expected(step), history.applied(step)))
            tails, tips = view.arrow_layer.main.scene_ends()
            names = [color.name() for color in view.arrow_layer.main.colors]
            for vector, color in ((e, COMPUTED), (a, APPLIED)):
                k = names.index(color)
                assert np.abs(tails[k] - to_scene(view, w)).max() < 1.0
                assert np.abs(tips[k] - to_scene(view, w + size.computed * vector)).max() < 1.0


def test_ledger_rows_stand_head_to_tail_between_the_two_tips(open_view, qtbot):
    view = open_view(steps=12)
    history = view.session.current.history
    view._on_arrow_size("fixed", 1000.0)
    settle(qtbot, view)
    step = view.session.cursor
    tails, tips = view.arrow_layer.rows.scene_ends()
    factor = 1000.0
    w = history.weights(step)
    assert np.abs(tails[0] - to_scene(view, w + factor * history.expected(step))).max() < 1.0
    assert np.abs(tips[-1] - to_scene(view, w + factor * history.applied(step))).max() < 1.0
    np.testing.assert_allclose(tails[1:], tips[:-1], atol=1e-6)
    schema, rows = history.schema(step), history.rows(step)
    drawn = [k for k, row in enumerate(rows) if np.hypot(*(factor * row / view.canvas.pixel())) >= 0.75]
    assert [color.name() for color in view.arrow_layer.rows.colors] == [cause_color(schema.causes[k]) for k in drawn]


def test_title_and_legend_name_the_same_magnification_while_a_run_goes_on(open_view, qtbot, monkeypatch):
    view = open_view(steps=20)
    monkeypatch.setattr(view.session, "state", "running")
    view.session.state_changed.emit("running")
    for factor in (50.0, 20.0, 5.0):
        view._on_arrow_size("fixed", factor)
        view.flush()
        said = f"×{factor:g}"
        assert any(said in entry.text for entry in view.canvas.legend.entries) and said in view.note.text()


def test_the_magnification_is_always_written_down(open_view, qtbot):
    view = open_view(steps=20)
    view._on_arrow_size("fixed", 50.0)
    settle(qtbot, view)
    assert any("×50" in entry.text for entry in view.canvas.legend.entries) and "×50" in view.note.text()
    view._on_arrow_size("true", 1.0)
    settle(qtbot, view)
    assert any(entry.text == "arrows: true length" for entry in view.canvas.legend.entries)
    view._on_arrow_size("separate", 1.0)
    settle(qtbot, view)
    texts = " ".join(entry.text for entry in view.canvas.legend.entries)
    assert "computed −lr·g ×" in texts and "applied Δw ×" in texts and "ledger left out" in texts
    assert len(view.arrow_layer.rows.tips) == 0


def test_separate_sizes_make_both_arrows_readable(open_view, qtbot):
    view = open_view(Experiment(optimizer="torch.optim.SGD(params, lr=1e-7, momentum=0.0)"), steps=3)
    view._on_arrow_size("separate", 1.0)
    settle(qtbot, view)
    tails, tips = view.arrow_layer.main.scene_ends()
    assert (np.hypot(*(tips - tails).T) >= 18.0).all()


def test_field_points_down_the_slope(open_view, qtbot):
    view = open_view()
    view.controls.actions_by_layer["field"].setChecked(True)
    settle(qtbot, view)
    field = view.arrow_layer.field
    gradient = problem("rosenbrock").gradient((field.tails + field.tips) / 2)
    moves = field.tips - field.tails
    assert len(moves) > 30
    assert ((moves * gradient).sum(axis=1) < 0).all()
    view.controls.actions_by_layer["field"].setChecked(False)
    settle(qtbot, view)
    assert len(field.tips) == 0


# path, runs, marks ---------------------------------------------------------------------------------------------------


def test_the_path_is_the_history_s_and_ends_in_the_step_shown(open_view, qtbot):
    view = open_view(steps=40)
    view.session.show_step(25)
    settle(qtbot, view)
    path = view.session.current.history.path()
    drawn = np.concatenate([np.column_stack(item.getData()) for item in view.path_layer.ages])
    drawn = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
    np.testing.assert_array_equal(drawn, path[:26])
    np.testing.assert_array_equal(np.column_stack(view.path_layer.later.getData()), path[25:])
    np.testing.assert_array_equal(np.column_stack(view.mark_layer.point.getData())[0], path[25])
    opacities = [item.pen.color().alpha() for item in view.path_layer.ages]
    assert opacities == sorted(opacities) and len(set(opacities)) == len(opacities)


def test_long_paths_are_thinned_but_whole(open_view, qtbot, monkeypatch):
    monkeypatch.setattr(track, "MOST_POINTS", 100)
    view = open_view(steps=330)
    kept, every = view.model.track, []
    for more in (0, 10, 70, 400):
        count = view.session.current.history.count + more
        if more:
            view.session.engine.advance(view.session.current, more)
            qtbot.waitUntil(lambda last=count - 1: view.session.cursor == last)
        settle(qtbot, view)
        path = view.session.current.history.path()
        assert len(kept.a) <= 101
        np.testing.assert_array_equal(np.column_stack([kept.a, kept.b]), path[:: kept.every])
        every.append(kept.every)
    assert every == [4, 4, 8, 16]


def test_other_visible_runs_are_drawn_in_their_colours(open_view, qtbot):
    view = open_view(steps=20)
    first = view.session.current
    other = view.session.fork(10, learning_rate=0.2)
    view.session.engine.advance(other, 15)
    qtbot.waitUntil(lambda: other.history.count == 25)
    settle(qtbot, view)
    assert set(view.others.shown) == {first.id}
    _, layer = view.others.shown[first.id]
    pen = layer.ages[-1].pen.color()
    assert pen.name() == QColor(DARK.run_color(first.color_index)).name()
    assert pen.name() != view.path_layer.ages[-1].pen.color().name()
    drawn = np.concatenate([np.column_stack(item.getData()) for item in layer.ages])
    drawn = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
    np.testing.assert_array_equal(drawn, first.history.path())
    view.session.set_visible(first, False)
    settle(qtbot, view)
    assert not view.others.shown


def test_known_minima_are_marked(open_view):
    view = open_view(Experiment(problem=ProblemSettings(name="himmelblau"), optimizer=ADAM))
    marked = np.column_stack(view.mark_layer.minima.getData())
    np.testing.assert_array_equal(marked, [minimum.x for minimum in problem("himmelblau").minima])


# mouse and keys ------------------------------------------------------------------------------------------------------


def test_dragging_the_start_previews_and_begins_the_run_there(open_view, qtbot):
    view = open_view(steps=15)
    start = to_scene(view, view.session.current.history.weights(0))
    goal = to_scene(view, (1.2, 2.0))
    release = drag(view, start, goal)
    qtbot.waitUntil(lambda: view.marks.preview is not None and len(view.marks.preview.path) > 1)
    previewed = view.marks.preview.path
    reference = Simulation(Experiment(optimizer=ADAM, start=[float(x) for x in previewed[0]]))
    reference.advance(len(previewed) - 1)
    np.testing.assert_array_equal(previewed[:-1], reference.history.path())
    assert view.session.current.history.count == 15
    release()
    settle(qtbot, view)
    begun = view.session.current.simulation.experiment.start
    assert np.abs(to_scene(view, begun) - goal).max() <= 1.5
    assert view.session.current.history.count == 0 and view.marks.preview is None
    np.testing.assert_allclose(view.marks.start.place(), begun)


def test_keys_move_the_start_zoom_and_fit(open_view, qtbot):
    view = open_view()
    home = view.canvas.region()
    view.canvas.setFocus()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Plus)
    zoomed = view.canvas.region()
    assert zoomed.width == pytest.approx(0.8 * home.width) and view.model.user_region
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert view.canvas.region().left == pytest.approx(zoomed.left + 0.1 * zoomed.width)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Home)
    assert view.canvas.region() == pytest.approx(home) and not view.model.user_region
    before = view.model.start_weights()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: view.session.current.simulation.experiment.start is not None)
    begun = view.session.current.simulation.experiment.start
    np.testing.assert_allclose(begun, before + np.array([0.0, 0.02 * home.height]))
    settle(qtbot, view)


def test_the_start_can_be_typed(open_view, qtbot):
    view = open_view()
    view.controls.start_a.setText("0.25")
    view.controls.start_b.setText("-0.5")
    qtbot.keyClick(view.controls.start_b, Qt.Key.Key_Return)
    assert view.session.current.simulation.experiment.start == [0.25, -0.5]
    settle(qtbot, view)


def test_hovering_reads_loss_and_gradient(open_view, qtbot):
    view = open_view()
    send(view, QEvent.Type.MouseMove, to_scene(view, (0.5, 1.5)))
    qtbot.waitUntil(lambda: view.model.reading is not None and abs(view.model.reading.a - 0.5) < 0.02)
    assert f"loss {view.model.reading.loss:.6g}" in view.footer.text()
    reading = view.model.reading
    objective = problem("rosenbrock")
    assert reading.loss == objective.value([reading.a, reading.b])
    np.testing.assert_array_equal(reading.gradient, objective.gradient([reading.a, reading.b]))


def test_a_zoom_by_hand_is_kept_while_the_run_goes_on(open_view, qtbot):
    view = open_view(steps=3)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Plus)
    region = view.canvas.region()
    view.session.engine.advance(view.session.current, 50)
    qtbot.waitUntil(lambda: view.session.cursor == 52)
    settle(qtbot, view)
    assert view.canvas.region() == region


def test_the_picture_grows_with_a_run_that_leaves_it_and_says_when_one_is_lost(open_view, qtbot):
    grows = function("0.5*x**2 - y", start=[0.0, 0.0])
    view = open_view(grows, steps=200)
    point = view.session.current.history.weights(view.session.cursor)
    assert view.model.region.holds(*point) and not Region(-3, 3, -3, 3).holds(*point)
    lost = open_view(Experiment(optimizer="torch.optim.SGD(params, lr=0.02)"))
    lost.session.engine.advance(lost.session.current, 50)
    qtbot.waitUntil(lambda: bool(lost.session.current.trouble))
    settle(qtbot, lost)
    assert lost.canvas.words.isVisible()
    assert lost.model.region.width < 100


def test_nothing_of_the_former_problem_stays_on_the_line_of_a_single_weight(open_view, qtbot):
    view = open_view(steps=3)
    assert len(view.mark_layer.minima.data) == 1
    view.session.rebuild(problem=ProblemSettings(name="expression", expression="5*x"), start=None)
    settle(qtbot, view)
    assert view.model.picture is None and view.model.curve is not None
    assert len(view.mark_layer.minima.data) == 0
    assert [view.canvas.axes[side].labelText for side in ("bottom", "left")] == ["x", "loss"]
    view.session.rebuild(problem=ProblemSettings(name="rosenbrock"), start=None)
    settle(qtbot, view)
    assert view.model.picture is not None and view.model.curve is None
    assert len(view.curve_layer.curve.getData()[0]) == 0 and len(view.mark_layer.minima.data) == 1


# life ----------------------------------------------------------------------------------------------------------------


def test_before_the_first_step_it_says_what_to_do(open_view):
    view = open_view()
    assert "press Run or Step" in view.canvas.words.toPlainText()
    assert len(view.arrow_layer.main.tips) == 0
    np.testing.assert_array_equal(view.marks.start.place(), problem("rosenbrock").start)


def test_another_problem_takes_over(open_view, qtbot):
    view = open_view(steps=10)
    view.session.rebuild(problem=ProblemSettings(name="himmelblau"), start=None)
    settle(qtbot, view)
    assert view.canvas.region() == pytest.approx(Region(-5, 5, -5, 5))
    points = np.stack(np.meshgrid(view.model.picture.xs, view.model.picture.ys), axis=-1)
    np.testing.assert_array_equal(view.model.picture.z, problem("himmelblau").value(points))
    view.session.rebuild(problem=ProblemSettings(name="logistic_regression"), start=None)
    settle(qtbot, view)
    assert view.model.plane.size == 31


def test_a_changed_problem_parameter_changes_the_picture(open_view, qtbot):
    view = open_view(function("a*x**2 + y**2", start=[1.0, 1.0], a=1.0), steps=3)
    before = view.model.picture.z
    with qtbot.waitSignal(view.session.settings_changed):
        view.session.change("problem", "a", 5.0)
    settle(qtbot, view)
    assert not np.array_equal(view.model.picture.z, before)
    picture = view.model.picture
    np.testing.assert_allclose(picture.z, 5 * picture.xs[None, :] ** 2 + picture.ys[:, None] ** 2)


def test_running_keeps_the_window_alive(open_view, qtbot):
    view = open_view()
    view.session.run()
    qtbot.waitUntil(lambda: view.session.current.history.count > 300, timeout=20_000)
    view.session.pause()
    view.session.engine.settle()
    settle(qtbot, view)
    step = view.session.cursor
    np.testing.assert_array_equal(
        np.column_stack(view.mark_layer.point.getData())[0], view.session.current.history.weights(step)
    )


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure_leaves_the_user_s_picture_alone(open_view, qtbot, tmp_path, suffix):
    view = open_view(steps=10)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Plus)
    settle(qtbot, view)
    region, picture = view.model.region, view.model.picture
    figure = make_figure(SurfaceView, view.session, LIGHT, 800, 500, view.options())
    try:
        assert figure.model is not view.model and figure.model.picture.complete
        assert figure.canvas.region() == pytest.approx(region)
        write_figure(figure.figure(), tmp_path / f"surface.{suffix}", 1.0, LIGHT.card)
    finally:
        discard(figure)
    assert (tmp_path / f"surface.{suffix}").stat().st_size > 5000
    assert view.model.region == region and view.model.picture is picture
    assert SurfaceModel.of(view.session) is view.model


def test_three_dimensions_or_a_plain_message(open_view, qtbot):
    view = open_view(steps=5, view_class=Surface3DView)
    if gl_trouble():
        assert view.scene is None
        assert "3-D" in view.message.text() and view.stack.currentWidget() is view.message
    else:
        qtbot.waitUntil(lambda: view.scene.terrain is not None)
        assert view.stack.currentWidget() is view.scene
        assert view.scene.terrain.picture is view.model.picture
    view.session.step_forward()
    qtbot.waitUntil(lambda: view.session.cursor == 5)
    view.set_theme(LIGHT)
    settle(qtbot, view)
