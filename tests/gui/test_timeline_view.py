"""The timeline draws the history's numbers, and mouse and keys move the step shown."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from core.optim.layout import Layout
from core.simulation import History, measures
from core.simulation.chunks import Schema
from gui.session import Session
from gui.theme import APPLIED, COMPUTED, DARK, LIGHT, cause_color
from gui.views.timeline import TimelineView
from gui.views.timeline.axis import short_number
from gui.views.timeline.events import marks_of
from tests.gui.synthetic import simulate

ADAM = (
    ("clip_by_global_norm", {"max_norm": 4.0}),
    ("first_moment", {}),
    ("bias_correction_1", {}),
    ("second_moment", {}),
    ("bias_correction_2", {}),
    ("learning_rate", {"learning_rate": 0.05}),
)


@pytest.fixture
def opened(screen):
    """Opens the view on a simulation, with these plots."""

    def make(simulation, plots=None, size=(760, 420), theme=DARK):
        session = Session.on(simulation)
        prepare = (lambda view: view.set_plots(plots)) if plots else None
        return session, screen.view(TimelineView, session, size, theme, prepare)

    return make


def panel(view, name):
    return next(panel for panel in view.canvas.panels if panel.spec.name == name)


def point(view, step, row=0):
    return view.canvas.position_of(step, row).toPoint()


def wheel(view, place, turns):
    viewport = view.canvas.viewport()
    position = QPointF(place)
    event = QWheelEvent(
        position,
        QPointF(viewport.mapToGlobal(place)),
        QPoint(),
        QPoint(0, 120 * turns),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)


def long_history(steps, size=2):
    """A history of many steps without taking them: a recorded one."""
    generator = np.random.default_rng(0)
    history = History(Layout(["p"], [(size,)]))
    gradient = generator.normal(size=(steps, size))
    rows = np.zeros((steps, 2, size))
    rows[:, 0] = generator.normal(size=(steps, size))
    schema = Schema(["clip", "rounding"], ["clipping", "rounding"], ["clip", "rounding"])
    history.load(0, np.ones((steps, size)), gradient, -0.1 * gradient + rows[:, 0], rows, schema)
    columns = {"loss": 1.0 + generator.random(steps), "learning_rate": np.full(steps, 0.1)}
    history.load_scalars({**columns, "base_learning_rate": np.full(steps, 0.1)}, {}, steps)
    return history


def test_curves_are_the_columns_of_the_history(opened):
    session, view = opened(simulate(*ADAM, steps=120), ["loss", "lengths", "ratio", "angle", "unmoved"])
    history = session.current.history
    (loss,) = panel(view, "loss").curves.lines
    np.testing.assert_array_equal(loss.x, np.arange(120))
    np.testing.assert_allclose(10.0**loss.y, history["loss"], rtol=1e-13)
    computed, applied = panel(view, "lengths").curves.lines
    assert (computed.color, applied.color) == (COMPUTED, APPLIED)
    np.testing.assert_allclose(10.0**computed.y, 0.05 * np.linalg.norm(history.vectors("gradient"), axis=1), rtol=1e-12)
    np.testing.assert_allclose(10.0**applied.y, np.linalg.norm(history.vectors("applied"), axis=1), rtol=1e-12)
    np.testing.assert_allclose(panel(view, "angle").curves.lines[0].y, measures.angle(history), rtol=1e-13)
    assert (panel(view, "unmoved").curves.lines[0].y == 0.0).all()


def test_the_dot_of_the_step_shown_is_painted_where_the_value_is(opened):
    session, view = opened(simulate(*ADAM, steps=80), ["loss", "lengths"])
    session.show_step(33)
    view.flush()
    picture = view.canvas.grab().toImage()
    box = panel(view, "lengths").box
    for values, color in ((measures.expected_norm, COMPUTED), (measures.applied_norm, APPLIED)):
        value = values(session.current.history)[33]
        place = box.mapViewToScene(QPointF(33.0, np.log10(value))).toPoint()
        assert picture.pixelColor(place) == QColor(color)


def test_shares_are_stacked_to_a_hundred_per_cent(opened):
    session, view = opened(simulate(*ADAM, steps=50), ["shares"])
    history, area = session.current.history, panel(view, "shares").area
    np.testing.assert_array_equal(area.x, np.arange(50))
    shares = measures.shares(history)
    np.testing.assert_allclose(area.edges[1:], 100.0 * np.cumsum(list(shares.values()), axis=0), rtol=1e-12)
    np.testing.assert_allclose(area.edges[-1], 100.0, rtol=1e-12)
    legend = panel(view, "shares").legend.entries
    largest = max(shares, key=lambda cause: shares[cause][session.cursor])
    assert legend[0] == (largest, f"{100 * shares[largest][session.cursor]:.0f} %", cause_color(largest))


def test_what_is_drawn_of_the_shares_is_smoothed_and_the_data_are_not(opened):
    session, view = opened(simulate(*ADAM, steps=2000), ["shares"])
    shown = panel(view, "shares")
    assert shown.window > 1
    raw = np.array(list(measures.shares(session.current.history).values()))
    drawn = np.diff(shown.area.edges, axis=0) / 100.0
    assert np.abs(np.diff(drawn)).sum() < np.abs(np.diff(raw)).sum()
    np.testing.assert_allclose(drawn.sum(axis=0), 1.0, rtol=1e-9)


def test_clicking_and_dragging_show_the_step_below_the_pointer(opened, qtbot):
    session, view = opened(simulate(*ADAM, steps=101))
    viewport = view.canvas.viewport()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=point(view, 40))
    assert session.cursor == 40 and not session.following
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=point(view, 60, 1))
    assert session.cursor == 60
    qtbot.mouseMove(viewport, point(view, 75, 2))
    assert session.cursor == 75
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=point(view, 75, 2))
    view.flush()
    assert all(shown.overlay.step == 75 for shown in view.canvas.panels)
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=point(view, 75))
    qtbot.mouseMove(viewport, QPoint(view.canvas.width() - 3, 40))
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton)
    assert session.cursor == 100


def test_the_line_follows_the_session_and_the_legend_says_the_values(opened):
    session, view = opened(simulate(*ADAM, steps=90), ["loss", "lengths", "angle"])
    session.show_step(17)
    view.flush()
    history = session.current.history
    assert panel(view, "loss").legend.entries[0][1] == short_number(history["loss"][17], 3)
    names = {name: value for name, value, _ in panel(view, "lengths").legend.entries}
    assert names["applied"] == short_number(np.linalg.norm(history.applied(17)), 3)
    assert panel(view, "angle").legend.entries[0][1] == f"{measures.angle(history)[17]:.1f}°"


def test_keys_move_the_step(opened, qtbot):
    simulation = simulate(*ADAM, steps=100)
    simulation.change("learning_rate", "learning_rate", 0.02)
    simulation.advance(100)
    session, view = opened(simulation)
    session.show_step(50)
    canvas = view.canvas
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert session.cursor == 51
    qtbot.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert session.cursor == 41
    qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert session.cursor == 100
    qtbot.keyClick(canvas, Qt.Key.Key_PageDown)
    assert session.cursor == 120
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    low, high = view.window_of_steps
    assert high - low == pytest.approx(200 / 1.25) and low < 120 < high
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert view.window_of_steps is None
    was = panel(view, "loss").log
    qtbot.keyClick(canvas, Qt.Key.Key_L)
    view.flush()
    assert panel(view, "loss").log is not was


def test_wheel_magnifies_around_the_pointer(opened):
    _, view = opened(simulate(*ADAM, steps=201))
    place = point(view, 50)
    before = view.canvas.step_at(QPointF(place))
    wheel(view, place, 4)
    view.flush()
    assert view.canvas.step_at(QPointF(place)) == pytest.approx(before, abs=1e-6)
    low, high = view.window_of_steps
    assert high - low == pytest.approx(200 / 1.25**4)
    assert view.all_button.isVisible()
    view.all_button.click()
    assert view.window_of_steps is None


def test_shift_and_drag_choose_a_range_and_a_double_click_shows_all(opened, qtbot):
    session, view = opened(simulate(*ADAM, steps=201))
    viewport, shift = view.canvas.viewport(), Qt.KeyboardModifier.ShiftModifier
    start, end = point(view, 60), point(view, 140)
    want = [view.canvas.step_at(QPointF(place)) for place in (start, end)]
    cursor = session.cursor
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, shift, start)
    qtbot.mouseMove(viewport, end)
    assert view.canvas.band.isVisible()
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, shift, end)
    assert not view.canvas.band.isVisible() and session.cursor == cursor
    assert view.window_of_steps == pytest.approx(want)
    view.flush()
    assert panel(view, "loss").box.viewRange()[0] == pytest.approx(want)
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=start)
    assert view.window_of_steps is None


def test_wheel_over_the_numbers_magnifies_that_plot_only(opened):
    _, view = opened(simulate(*ADAM, steps=50), ["loss", "angle"])
    shown, other = panel(view, "loss"), panel(view, "angle")
    before, beside = shown.box.viewRange()[1], other.box.viewRange()
    middle = view.canvas.plot_rect(shown).center()
    wheel(view, QPoint(30, int(middle.y())), 2)
    view.flush()
    after = shown.box.viewRange()[1]
    assert after[1] - after[0] == pytest.approx((before[1] - before[0]) / 1.25**2)
    assert other.box.viewRange() == beside and view.window_of_steps is None


def test_live_changes_are_marks_with_words(opened):
    simulation = simulate(*ADAM, steps=140)
    simulation.change("learning_rate", "learning_rate", 0.045)
    simulation.advance(100)
    simulation.change("clip_by_global_norm", "enabled", False)
    simulation.advance(10)
    session, view = opened(simulation)
    assert [mark.first for mark in view.marks] == [140, 240]
    assert view.mark_text(view.marks[0]) == "step 140: lr 0.05 → 0.045"
    assert view.mark_text(view.marks[1]) == "step 240: clip by global norm switched off"
    assert view.marks[0].color == cause_color("learning rate")
    session.show_step(150)
    view.flush()
    assert view.note.text() == "▲ step 140: lr 0.05 → 0.045"
    session.show_step(139)
    view.flush()
    assert view.note.text() == ""


def test_the_changes_of_one_drag_are_one_mark():
    from core.simulation import Event

    events = [Event(100 + k, "learning_rate", "learning_rate", 0.1 + k, 0.1 + k - 1) for k in range(20)]
    events.append(Event(600, "learning_rate", "learning_rate", 7.0, 20.0))
    marks = marks_of(events, 1000, {"learning_rate": "learning rate"}, "#000000")
    assert [(mark.first, mark.last, mark.old, mark.value) for mark in marks] == [
        (100, 119, pytest.approx(-0.9), pytest.approx(19.1)),
        (600, 600, 20.0, 7.0),
    ]


def test_a_run_that_diverged_is_drawn_up_to_there(opened):
    simulation = simulate(("learning_rate", {"learning_rate": 1e5}), steps=60)
    assert simulation.trouble
    session, view = opened(simulation, ["loss", "lengths", "ratio", "angle", "rate", "shares", "residual"])
    loss = session.current.history["loss"]
    y = panel(view, "loss").curves.lines[0].y
    np.testing.assert_array_equal(np.isfinite(y), np.isfinite(loss))
    assert np.isfinite(np.array([shown.box.viewRange() for shown in view.canvas.panels])).all()
    session.show_step(len(loss) - 1)
    view.flush()
    view.canvas.grab()


def test_a_loss_below_zero_is_drawn_on_a_linear_axis(opened):
    _, view = opened(simulate(("learning_rate", {"learning_rate": 0.01}), objective="saddle", steps=400), ["loss"])
    assert not panel(view, "loss").log
    view.set_log("loss", True)
    view.flush()
    assert panel(view, "loss").log


def test_other_runs_are_drawn_in_their_colours(opened):
    session, view = opened(simulate(*ADAM, steps=60), ["loss", "lengths"])
    session.add_run(simulate(("learning_rate", {"learning_rate": 1e-3}), steps=90), "plain")
    view.flush()
    lines = panel(view, "loss").curves.lines
    assert [line.color for line in lines] == [DARK.run_color(0), DARK.run_color(1)]
    assert len(lines[0].x) == 60 and len(lines[1].x) == 90
    assert [line.color for line in panel(view, "lengths").curves.lines] == [COMPUTED, APPLIED]
    assert panel(view, "loss").legend.entries[0][0] == "plain"
    session.set_visible(session.runs[0], False)
    view.flush()
    assert len(panel(view, "loss").curves.lines) == 1


def test_before_the_first_step_it_says_so(opened):
    session, view = opened(simulate(*ADAM))
    assert view.canvas.empty.isVisible() and "No steps yet" in view.canvas.empty.text()
    session.current.simulation.advance(1)
    session.history_changed.emit()
    view.flush()
    assert not view.canvas.empty.isVisible()
    assert len(panel(view, "loss").curves.lines[0].x) == 1
    assert panel(view, "loss").curves._dots


def test_a_rewound_run_is_drawn_anew(opened):
    session, view = opened(simulate(*ADAM, steps=80), ["loss"])
    simulation = session.current.simulation
    simulation.seek(30)
    simulation.change("learning_rate", "learning_rate", 0.5)
    simulation.advance(60)
    session.history_changed.emit()
    view.flush()
    np.testing.assert_allclose(
        10.0 ** panel(view, "loss").curves.lines[0].y, session.current.history["loss"], rtol=1e-13
    )


def test_the_plots_chosen_are_remembered(opened, qtbot):
    session, view = opened(simulate(*ADAM, steps=5))
    view.plots_button.plots.aboutToShow.emit()
    action = next(action for action in view.plots_button.plots.actions() if action.data() == "residual")
    action.setChecked(True)
    assert "residual" in view.shown
    again = TimelineView(session, LIGHT)
    qtbot.addWidget(again)
    assert again.shown == view.shown
    figure = next(action for action in view.plots_button.plots.actions() if action.data() == "1-beta1^t")
    figure.setChecked(True)
    view.flush()
    np.testing.assert_allclose(panel(view, "1-beta1^t").curves.lines[0].y, 1.0 - 0.9 ** np.arange(1, 6), rtol=1e-14)
    view.set_plots([])
    assert view.shown


def test_a_plot_named_twice_is_stacked_once_and_can_be_taken_away(opened):
    _, view = opened(simulate(*ADAM, steps=5), ["loss"])
    for _ in range(3):
        view.set_plots(["loss", "1-beta1^t", "loss", "1-beta1^t"])
        assert view.shown == ["loss", "1-beta1^t"]
        assert view.canvas.ci.layout.count() == 2 * len(view.canvas.panels) == 4
        view.set_plots(["angle"])
        assert view.canvas.ci.layout.count() == 2
    view.flush()
    view.canvas.grab()


def test_a_hundred_thousand_steps_are_a_few_points_and_keep_their_spikes(opened):
    simulation = simulate(*ADAM)
    simulation.history = long_history(100_000)
    simulation.history._scalars["loss"].put(54_321, 1e6)
    _, view = opened(simulation, ["loss", "lengths", "shares"])
    pixels = view.canvas.pixels
    for name in ("loss", "lengths"):
        for line in panel(view, name).curves.lines:
            assert len(line.x) <= 2 * pixels + 4
            assert line.mean_x is not None and len(line.mean_x) <= pixels
    assert np.nanmax(panel(view, "loss").curves.lines[0].y) == 6.0
    assert panel(view, "shares").area.edges.shape[1] <= pixels


def test_a_magnified_end_moves_along_with_the_run(opened):
    session, view = opened(simulate(*ADAM, steps=300), ["loss"])
    view.set_window(200.0, 300.0)
    view.flush()
    session.current.simulation.advance(50)
    session.history_changed.emit()
    view.flush()
    assert view.window_of_steps == pytest.approx((250.0, 350.0))
    session.show_step(10)
    session.current.simulation.advance(50)
    session.history_changed.emit()
    view.flush()
    assert view.window_of_steps == pytest.approx((250.0, 350.0))


def test_pointing_at_a_mark_says_what_changed(opened, monkeypatch):
    simulation = simulate(*ADAM, steps=50)
    simulation.change("learning_rate", "learning_rate", 0.01)
    simulation.advance(50)
    _, view = opened(simulation)
    said = []
    monkeypatch.setattr("gui.views.timeline.view.QToolTip.showText", lambda place, text, widget: said.append(text))
    view._on_point(50.4, QPoint(5, 5))
    view._on_point(30.0, QPoint(5, 5))
    (text,) = said
    assert text.splitlines()[0] == "step 50: lr 0.05 → 0.01   (learning_rate)"
    assert "double click" in text


def test_another_theme_recolours_without_losing_the_plots(opened):
    _, view = opened(simulate(*ADAM, steps=20), ["loss"])
    view.set_theme(LIGHT)
    view.flush()
    assert panel(view, "loss").curves.lines[0].color == LIGHT.run_color(0)
    picture = view.canvas.grab().toImage()
    assert picture.pixelColor(view.canvas.width() - 8, view.canvas.height() - 8) == QColor(LIGHT.card)


def test_every_control_has_a_name_and_a_tool_tip(opened):
    _, view = opened(simulate(*ADAM, steps=5))
    for button in view.findChildren(QToolButton):
        assert button.accessibleName() and button.toolTip()
    assert view.canvas.accessibleName()
    assert isinstance(view.figure(), QWidget)


def test_an_export_shows_what_the_view_shows(opened, tmp_path):
    from gui.export.figure import discard, make_figure, write_figure

    session, view = opened(simulate(*ADAM, steps=300), ["loss", "angle"])
    view.set_window(100.0, 200.0)
    view.set_log("loss", False)
    view.flush()
    figure = make_figure(TimelineView, session, LIGHT, 700, 400, view.options())
    try:
        assert [shown.spec.name for shown in figure.canvas.panels] == ["loss", "angle"]
        assert panel(figure, "loss").box.viewRange()[0] == [100.0, 200.0]
        assert not panel(figure, "loss").log
        for suffix in (".png", ".svg", ".pdf"):
            write_figure(figure.figure(), tmp_path / f"timeline{suffix}")
            assert (tmp_path / f"timeline{suffix}").stat().st_size > 3000
    finally:
        discard(figure)
    assert view.shown == ["loss", "angle"]


def test_the_view_leaves_nothing_behind(qtbot):
    session = Session.on(simulate(*ADAM, steps=10))
    host = QWidget()
    view = TimelineView(session, DARK, host)
    host.show()
    view.flush()
    host.close()
    host.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    session.show_step(3)
    session.close()
