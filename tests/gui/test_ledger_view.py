"""The ledger view: bars equal contributions, words and formulas belong to the step shown, rows keep their places."""

import math
import re

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QHelpEvent, QImage
from PySide6.QtWidgets import QToolTip

from gui.export.figure import discard, make_figure, write_figure
from gui.session import Session
from gui.theme import APPLIED, COMPUTED, DARK, LIGHT, cause_color
from gui.views.ledger import LedgerView
from gui.views.ledger.plot import THIN, amount_text
from gui.views.ledger.step import LedgerStep
from gui.views.vectors import VectorsView
from tests.gui.on_screen import settle
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
CHAIN = (
    ("l2", {"weight_decay": 0.3}), ("clip_by_global_norm", {"max_norm": 0.5}), ("momentum", {}), RATE,
    ("decoupled_decay", {"weight_decay": 0.1}),
)  # fmt: skip


@pytest.fixture
def shown(screen):
    """Opens the view on a simulation, with these options."""

    def make(simulation, size=(520, 480), theme=DARK, **options):
        session = Session.on(simulation)
        view = screen.view(LedgerView, session, size, theme=theme, prepare=lambda view: view.set_options(options))
        return session, view

    return make


def spans(view):
    options = view.plot.bars.opts
    return np.stack([np.asarray(options["x0"]), np.asarray(options["x1"])], axis=1)


def pixel(view):
    return view.plot.plot.getViewBox().viewPixelSize()[0]


def test_the_example_everyone_knows(shown):
    chain = (("clip_by_value", {"clip_value": 1.0}), RATE)
    _, view = shown(simulate(*chain, objective=Bowl({"w": ()}, start=5.0), steps=1))
    found = spans(view)
    np.testing.assert_allclose(np.sort(found[0]), [-0.5, 0.0])
    np.testing.assert_allclose(np.sort(found[1]), [-0.5, -0.1], atol=1e-12)
    np.testing.assert_allclose(np.sort(found[-1]), [-0.1, 0.0], atol=1e-12)
    assert view.plot.amounts.texts[:2] == ["−0.5", "+0.4"] and view.plot.amounts.texts[-1] == "−0.1"
    bare = re.sub(r"<[^>]*>", "", view.story.text())
    assert "In learning rates: expected −5 lr, clip by value +4 lr, applied −1 lr." in bare
    assert view.note.text() == "residual 0"


@pytest.mark.parametrize("measure", ["along", "across", "length"])
def test_bars_lead_from_expected_to_applied(shown, measure):
    bowl = Bowl({"w": (5,)}, curvature=[1, 2, 3, 4, 5], start=[1, -1, 2, -2, 1])
    session, view = shown(simulate(*CHAIN, objective=bowl, steps=6), measure=measure, scale="linear")
    history = session.current.history
    e, a, rows = history.expected(5), history.applied(5), history.rows(5)
    unit = e / np.linalg.norm(e)
    if measure == "length":
        total = np.cumsum(np.vstack([e, rows]), axis=0)
        values = np.linalg.norm(total, axis=1)
    else:
        if measure == "across":
            aside = a - (a @ unit) * unit
            unit = aside / np.linalg.norm(aside)
        values = np.cumsum(np.concatenate([[e @ unit], rows @ unit]))
    wanted = np.stack([[0, *values[:-1], 0], [*values, values[-1]]], axis=1)
    np.testing.assert_allclose(spans(view), np.sort(wanted, axis=1), atol=1.01 * pixel(view))
    changed = np.abs(np.diff(wanted, axis=1))[:, 0] > 3 * pixel(view)
    np.testing.assert_allclose(spans(view)[changed], np.sort(wanted, axis=1)[changed], atol=1e-12)


def test_colours_titles_and_order_come_from_the_chain(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}, start=5.0), steps=3))
    schema = session.current.history.schema(2)
    assert view.plot.titles.texts == ["expected −lr·g", *schema.labels, "applied Δw"]
    colors = [color.name() for color in view.plot.bars.opts["brushes"]]
    assert colors[0] == COMPUTED and colors[-1] == APPLIED
    for line, cause in enumerate(schema.causes, start=1):
        if view.step.acted(line):
            assert colors[line] == QColor(cause_color(cause)).name()


def test_rows_that_did_nothing_recede_and_keep_their_place(shown):
    chain = (("clip_by_global_norm", {"max_norm": 2.0}), ("momentum", {}), RATE)
    session, view = shown(simulate(*chain, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=40))

    def look(step):
        session.show_step(step)
        settle(view)
        options = view.plot.bars.opts
        return [view.plot.line_place(line).y() for line in range(6)], list(np.asarray(options["height"]))

    places, heights = look(0)
    assert heights[1] > THIN and heights[2] == THIN  # clipped; momentum has nothing behind it yet
    later, others = look(39)
    assert later == places and others[2] > THIN
    assert view.plot.amounts.texts[heights.index(THIN)] != ""
    assert look(0)[0] == places


def test_component_and_variable_scopes(shown):
    bowl = Bowl({"W": (2, 2), "b": (2,)}, start=[5, -4, 3, 2, 1, -6])
    session, view = shown(simulate(*CHAIN, objective=bowl, steps=2), scale="linear")
    history = session.current.history
    scope = view.controls.scope
    index = next(i for i in range(scope.count()) if scope.itemData(i) == (None, 5))
    scope.setCurrentIndex(index)
    scope.activated.emit(index)
    settle(view)
    assert session.selected_component == 5 and view.step.measure == "value"
    assert view.step.fall.values[0] == history.expected(1)[5]
    assert view.step.fall.applied == history.applied(1)[5]
    np.testing.assert_array_equal(view.step.fall.changes, history.rows(1)[:, 5])
    assert view.plot.axis.labelText == "change of b[1]"
    session.select(variable="b")
    settle(view)
    np.testing.assert_array_equal(view.step.expected, history.expected(1)[4:])
    assert scope.currentText() == "b"


def test_clicking_selects_a_row_and_again_lets_it_go(shown, qtbot):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}, start=5.0), steps=3))
    session.select(variable="w", component=1)
    settle(view)
    viewport = view.plot.viewport()
    line = view.step.line_of("momentum")
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=view.plot.line_place(line))
    assert (session.selected_row, session.selected_variable, session.selected_component) == ("momentum", "w", 1)
    settle(view)
    assert view.plot._selected_band.getRegion() == (line - 0.5, line + 0.5)
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=view.plot.line_place(line))
    assert session.selected_row is None
    view.plot.setFocus()
    qtbot.keyClick(view.plot, Qt.Key.Key_Down)
    assert session.selected_row == "l2"
    qtbot.keyClick(view.plot, Qt.Key.Key_Down)
    assert session.selected_row == "clip_by_global_norm"
    qtbot.keyClick(view.plot, Qt.Key.Key_Escape)
    assert session.selected_row is None


def test_a_cause_is_switched_off_from_its_menu(shown, qtbot):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}, start=5.0), steps=3))
    line = view.step.line_of("clip_by_global_norm")
    menu = view.row_menu(line)
    switch = next(action for action in menu.actions() if action.text() == "Switch this cause off")
    switch.trigger()
    qtbot.waitUntil(lambda: bool(session.current.events))
    (event,) = session.current.events
    assert (event.target, event.key, event.value, event.step) == ("clip_by_global_norm", "enabled", False, 3)
    session.step_forward()
    qtbot.waitUntil(lambda: session.current.history.count == 4)
    settle(view)
    assert view.plot.titles.texts[line] == "clip by global norm (off)" and not view.step.acted(line)
    assert "switched off" in view._tip(line)
    again = view.row_menu(line)
    assert any(action.text() == "Switch this cause on" and action.isEnabled() for action in again.actions())
    session.show_step(2)
    settle(view)
    assert view.plot.titles.texts[line] == "clip by global norm"
    rounding = view.row_menu(view.step.line_of("rounding"))
    assert not any(a.isEnabled() for a in rounding.actions() if a.text().startswith("Switch"))
    for made in (menu, again, rounding):
        made.deleteLater()


def test_tips_have_the_formula_with_the_numbers_of_the_step(shown, monkeypatch):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=2))
    session.show_step(0)
    settle(view)
    tip = view._tip(view.step.line_of("clip_by_global_norm"))
    # l2 makes 1.3 (3, 4), of norm 6.5, clipped at 0.5
    assert "‖u‖ = 6.5" in tip and f"{0.5 / (6.5 + 1e-6):.6g}" in tip
    size = np.linalg.norm(session.current.history.rows(0)[1])
    assert f"length {size:.6g}" in tip
    said = []
    monkeypatch.setattr(QToolTip, "showText", lambda place, text, widget: said.append(text))
    line = view.step.line_of("momentum")
    place = view.plot.line_place(line)
    QCoreApplication.sendEvent(view.plot.viewport(), QHelpEvent(QEvent.Type.ToolTip, place, place))
    assert said and said[0] == view._tip(line) and "Polyak" in said[0]


def test_the_table_has_the_same_numbers_and_copies_them_exactly(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}, start=[5.0, 1.0, 2.0]), steps=4), table=True)
    assert view.stack.currentWidget() is view.table
    history = session.current.history
    text = view.table.selected_text()
    lines = [line.split("\t") for line in text.strip().split("\n")]
    assert lines[0] == ["cause", "length", "along", "across", "share", "step after"]
    rows = history.rows(3)
    unit = history.expected(3) / np.linalg.norm(history.expected(3))
    for cells, label, row in zip(lines[2:], history.schema(3).labels, rows, strict=False):
        assert cells[0] == label
        np.testing.assert_allclose(float(cells[1]), np.linalg.norm(row), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(float(cells[2]), row @ unit, rtol=1e-9, atol=1e-15)
    shares = [float(cells[4]) for cells in lines[2:-1]]
    assert math.isclose(sum(shares), 1.0, rel_tol=1e-12) and lines[1][4] == lines[-1][4] == ""
    view.table.selectRow(2)
    assert session.selected_row == history.schema(3).names[1]
    view.table.copy()
    assert QGuiApplication.clipboard().text().startswith("cause\tlength")


def test_the_residual_is_zero_when_only_the_sums_round(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (50,)}), steps=5))
    history = session.current.history
    total = history.expected(4).copy()
    for row in history.rows(4):
        total = total + row
    largest = np.abs(history.applied(4) - total).max()
    assert np.abs(view.step.residual).max() == largest < 1e-15
    assert view.note.text() == "residual 0" and f"{largest:.1e}".replace("-", "−") in view.note.toolTip()
    view.step.rows[1, 0] += 1e-9
    wrong = LedgerStep(history, 4, slice(0, 50), "along")
    assert not wrong.closes
    view._tell_residual(wrong)
    assert view.note.text() == "residual 1.0e−09" and view.note.label.objectName() == "warning"


def test_a_refused_step_closes_and_says_nan_without_a_sign(shown, qtbot):
    """A gradient of inf that a guard stopped: nothing was applied, and nothing is left over."""
    rows = (("loss_scale", {"initial_scale": 1.0, "dynamic": False}), ("finite_guard", {}), RATE)
    session, view = shown(simulate(*rows, objective=Bowl({"w": (2,)}, curvature=np.inf, start=[3.0, 4.0]), steps=1))
    assert session.current.history.scalar("skipped")[0] and view.note.text() == "residual 0"
    session.select(row="loss_scale")
    qtbot.waitUntil(lambda: "contribution" in view.story.text())
    assert "contribution nan" in view.story.text()


def test_empty_and_broken_histories(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)})))
    assert view.stack.currentWidget() is view.empty and view.story.text() == ""
    session.step_forward()
    session.engine.settle()
    settle(view)
    assert view.stack.currentWidget() is view.plot
    _, broken = shown(
        simulate(("learning_rate", {"learning_rate": 1e308}), objective=Bowl({"w": (3,)}, start=10.0), steps=2)
    )
    assert "diverged" in broken.story.text()
    assert broken.note.text() == "residual not finite"
    assert broken.plot.axis.labelText == "no direction: −lr·g is not finite"


def test_no_gradient_is_measured_along_what_was_applied(shown):
    chain = (("momentum", {"momentum": 0.5}), ("learning_rate", {"learning_rate": 1.0}))
    _, view = shown(simulate(*chain, objective=Bowl({"w": (2,)}, start=[1.0, 0.0]), steps=2))
    assert view.plot.axis.labelText == "along the applied step (−lr·g is zero)"
    assert view.step.fall.applied == pytest.approx(0.5)


def test_the_story_does_not_move_the_waterfall(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (4,)}, start=[1.0, -2.0, 5.0, 0.1]), steps=30))
    heights = set()
    for step in range(30):
        session.show_step(step)
        settle(view)
        heights.add(view.story.height())
    last = view.story.height()
    for step in range(30):
        session.show_step(step)
        settle(view)
        assert view.story.height() == last
    assert sorted(heights)[-1] == last


def test_a_scale_that_hides_an_end_becomes_logarithmic_and_says_so(shown):
    chain = (("clip_by_value", {"clip_value": 1e-4}), RATE)
    _, view = shown(simulate(*chain, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=1))
    assert "symmetric log scale" in view.plot.axis.labelText
    low, high = view.plot.plot.getViewBox().viewRange()[0]
    assert np.diff(spans(view)[-1])[0] > 0.05 * (high - low)
    np.testing.assert_allclose(view.plot.scale.values(spans(view)[0].max()), 0.5)


def test_themes_and_options(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}), steps=2), theme=LIGHT)
    view.set_theme(DARK)
    wanted = {"measure": "size", "scale": "linear", "table": False}
    view.set_options(wanted)
    settle(view)
    assert view.options() == wanted
    sizes = np.linalg.norm(session.current.history.rows(1), axis=1)
    np.testing.assert_allclose(view.step.fall.values[1:], sizes)
    box = view.plot.plot.getViewBox()
    assert view.plot.line_at(QPointF(view.plot.line_place(2))) == 2 and box.viewRange()[0][0] <= 0.0


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [(0.25, True, "+0.25"), (-1e-7, True, "−1e−7"), (2.0, False, "2"), (7.97249e-4, True, "+7.972e−4")],
)
def test_amount_texts(value, sign, text):
    assert amount_text(value, sign) == text


def test_after_a_run_the_last_step_is_shown_and_told(shown, qtbot):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (4,)}, start=[1.0, -2.0, 5.0, 0.1])))
    session.run()
    qtbot.waitUntil(lambda: session.current.history.count > 200)
    session.pause()
    session.engine.settle()
    settle(view)
    last = session.current.history.count - 1
    assert session.cursor == last == view.step.step
    assert f"Step {last}:" in view.story.text()
    np.testing.assert_array_equal(view.step.applied, session.current.history.applied(last))


def test_a_selection_during_a_slow_run_shows_without_the_next_step(shown, qtbot):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (4,)}, start=[1.0, -2.0, 5.0, 0.1]), steps=3))
    session.state = "running"  # as if the next step were far away
    session.select(component=1)
    qtbot.waitUntil(lambda: view.step.expected.size == 1 and "Step 2" in view.story.text())
    session.select()
    qtbot.waitUntil(lambda: view.step.expected.size == 4)
    session.state = "paused"


def test_the_selected_cause_tells_its_formula_and_what_would_be_without_it(shown, qtbot):
    clip = ("clip_by_global_norm", {"max_norm": 1.0, "convention": "optax"})
    session, view = shown(simulate(clip, RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=2))
    session.show_step(0)
    session.select(row="clip_by_global_norm")
    qtbot.waitUntil(lambda: "Without" in view.story.text())
    bare = re.sub(r"<[^>]*>", "", view.story.text())
    assert "clip by global norm: u ← u · 0.2   because ‖u‖ = 5 &gt; 1" in bare
    assert "Without clip by global norm this step would have been 5 times as long." in bare
    # what is asked about stands first
    assert bare.index("clip by global norm:") < bare.index("Without") < bare.index("Step 0")
    session.select(row="learning_rate")
    settle(view)
    assert "Without" not in view.story.text() and "u ← −0.1 · u" in view.story.text()


def test_the_selected_cause_tells_the_numbers_behind_it_for_a_weight(shown, qtbot):
    """Momentum 0.9 on f = |w|²/2 from (3, 4): b₀ = g₀, then b₁ = 0.9 b₀ + g₁; the second weight moves more."""
    session, view = shown(
        simulate(("momentum", {"momentum": 0.9}), RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=3)
    )
    session.show_step(1)
    session.select(row="momentum")
    gradient = session.current.history.gradient(1)
    buffer = 0.9 * np.array([3.0, 4.0]) + gradient
    qtbot.waitUntil(lambda: "contribution" in view.story.text())
    bare = re.sub(r"<[^>]*>", "", view.story.text())
    assert f"w[1]: u = {gradient[1]:.6g} → {buffer[1]:.6g}, b = 4 → {buffer[1]:.6g}; contribution −0.36." in bare
    session.select(row="momentum", component=0)
    qtbot.waitUntil(lambda: f"u = {gradient[0]:.6g} → {buffer[0]:.6g}, b = 3" in view.story.text())
    session.show_step(0)
    qtbot.waitUntil(lambda: "b = none yet → 3" in view.story.text())


def test_two_rows_of_a_kind_tell_each_its_own_numbers(shown, qtbot):
    clips = [("clip_by_global_norm", {"max_norm": limit, "convention": "optax"}) for limit in (2.0, 1.0)]
    session, view = shown(simulate(*clips, RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=1))
    for row, told in (("clip_by_global_norm", "‖u‖ = 5 &gt; 2"), ("clip_by_global_norm_2", "‖u‖ = 2 &gt; 1")):
        session.select(row=row)
        qtbot.waitUntil(lambda told=told: told in view.story.text())
    session.select()
    settle(view)
    assert "u ←" not in view.story.text()


@pytest.mark.parametrize("view_class", [LedgerView, VectorsView])
def test_exports_are_vectors_and_complete(view_class, qtbot, tmp_path):
    session = Session.on(simulate(*CHAIN, objective=Bowl({"w": (6,)}, start=5.0), steps=3))
    figure = make_figure(view_class, session, LIGHT, 800, 500, {})
    try:
        write_figure(figure.figure(), tmp_path / "figure.svg")
        write_figure(figure.figure(), tmp_path / "figure.png")
        size = figure.figure().size()
    finally:
        discard(figure)
        session.close()
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "<image" not in text
    for wanted in ("applied", APPLIED, COMPUTED):
        assert wanted in text
    assert QImage(str(tmp_path / "figure.png")).size() == size


def test_steps_taken_back_while_they_are_read_are_no_error(shown, monkeypatch):
    """The worker takes steps back between two looks of the view at the history: it looks again in the next frame."""
    session, view = shown(simulate(RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=3))
    right = view.refresh

    def refresh():
        session.current.simulation.seek(1)
        raise IndexError("step 2 is not in the history: it holds steps 0 to 0")

    monkeypatch.setattr(view, "refresh", refresh)
    view.mark_stale()
    view.flush()
    monkeypatch.setattr(view, "refresh", right)
    view.flush()
    assert view.step.step == 0

    def broken():
        raise IndexError("of another kind")

    monkeypatch.setattr(view, "refresh", broken)
    view.mark_stale()
    with pytest.raises(IndexError, match="another kind"):
        view.flush()
    monkeypatch.setattr(view, "refresh", right)
