"""The vectors view: what is drawn are the history's numbers, on the scale that is written down."""

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt

from gui.session import Session
from gui.theme import APPLIED, COMPUTED, LIGHT, cause_color
from gui.views.vectors import VectorsView
from gui.views.vectors.heat import COLORS, color_indices
from gui.views.vectors.order import choose
from gui.views.vectors.panels import Panel, ScaleKeeper, round_factor
from tests.gui.on_screen import settle
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
MOMENTUM = (("l2", {"weight_decay": 0.3}), ("momentum", {}), RATE)


@pytest.fixture
def shown(screen):
    """Opens the view on a simulation, with these options."""

    def make(simulation, size=(700, 420), **options):
        session = Session.on(simulation)
        view = screen.view(VectorsView, session, size, prepare=lambda view: view.set_options(options))
        return session, view

    return make


def bar_ends(chart, panel):
    options = chart.bars[panel].opts
    return np.asarray(options["x0"]), np.asarray(options["x1"])


def test_arrows_end_where_the_history_says_to_a_pixel(shown):
    session, view = shown(
        simulate(*MOMENTUM, objective=Bowl({"p": (2,)}, curvature=[1.0, 5.0], start=[1.0, 2.0]), steps=5)
    )
    history = session.current.history
    for step in (0, 3):
        session.show_step(step)
        settle(view)
        chart = view.charts["arrows"]
        for panel, vector in enumerate((history.expected(step), history.applied(step))):
            np.testing.assert_array_equal(chart.arrows[panel].tips, [vector])
            box = chart.plots[panel].getViewBox()
            _, tip = chart.arrows[panel].scene_ends()
            place = box.mapViewToScene(QPointF(*vector))
            np.testing.assert_allclose(tip[0], [place.x(), place.y()], atol=0.5)
            assert box.sceneBoundingRect().contains(place)
    # the same scale in both panels and both directions
    sizes = {
        (round(p.getViewBox().viewPixelSize()[0], 12), round(p.getViewBox().viewPixelSize()[1], 12))
        for p in chart.plots
    }
    (first,) = {size[0] for size in sizes}
    assert all(math.isclose(size[1], first, rel_tol=1e-6) for size in sizes)


def test_bars_are_the_vectors_and_the_difference(shown):
    session, view = shown(simulate(*MOMENTUM, objective=Bowl({"w": (7,)}), steps=4), kind="bars", scale="linear")
    history = session.current.history
    expected, applied = history.expected(3), history.applied(3)
    chart = view.charts["bars"]
    for panel, values in enumerate((expected, applied, applied - expected)):
        start, end = bar_ends(chart, panel)
        np.testing.assert_array_equal(start, 0.0)
        np.testing.assert_array_equal(end, values)
    assert [chart.bars[k].opts["brush"].name() for k in (0, 1)] == [COMPUTED, APPLIED]
    ranges = {tuple(plot.getViewBox().viewRange()[0]) for plot in chart.plots}
    assert len(ranges) == 1
    ((low, high),) = ranges
    assert low <= min(expected.min(), applied.min()) and max(expected.max(), applied.max()) <= high


def test_the_selected_cause_takes_the_third_panel(shown):
    session, view = shown(simulate(*MOMENTUM, objective=Bowl({"w": (4,)}), steps=4))
    session.select(row="momentum")
    settle(view)
    history = session.current.history
    row = history.rows(3)[history.schema(3).names.index("momentum")]
    np.testing.assert_array_equal(view.panels[2].values, row)
    assert view.panels[2].color == cause_color("momentum") and view.panels[2].title == "momentum"
    view.set_options({"third": "none"})
    settle(view)
    assert len(view.panels) == 2 and not view.charts["bars"].plots[2].isVisible()


def test_sizes_far_apart_are_drawn_readably_and_said(shown):
    clipped = (("clip_by_value", {"clip_value": 1e-5}), RATE)
    session, view = shown(simulate(*clipped, objective=Bowl({"w": (6,)}, start=np.linspace(1, 2, 6)), steps=1))
    chart = view.charts["bars"]
    low, high = chart.plots[1].getViewBox().viewRange()[0]
    for panel in (0, 1):
        _, ends = bar_ends(chart, panel)
        assert np.abs(ends).min() > 0.04 * (high - low)
    assert view.scale.kind == "symlog" and "log scale" in view.remark.text() and "far apart" in view.remark.text()
    np.testing.assert_allclose(view.scale.signed.values(bar_ends(chart, 1)[1]), session.current.history.applied(0))
    view.set_options({"scale": "linear"})
    settle(view)
    np.testing.assert_array_equal(bar_ends(chart, 1)[1], session.current.history.applied(0))
    assert view.remark.text() == "One linear scale for all panels."
    view.set_options({"scale": "separate"})
    settle(view)
    factor = view.scale.factors[1]
    assert factor == 1e5 and "×1e5" in view.remark.text() and "×1e5" in chart.titles[1].text
    np.testing.assert_allclose(bar_ends(chart, 1)[1], factor * session.current.history.applied(0))
    assert chart.axes[1].factor == factor


def test_far_apart_arrows_are_magnified_by_a_factor_that_is_written(shown):
    clipped = (("clip_by_value", {"clip_value": 1e-3}), RATE)
    session, view = shown(simulate(*clipped, objective=Bowl({"p": (2,)}, start=[3.0, 4.0]), steps=1))
    factor = view.scale.factors[1]
    assert factor in (1000.0, 2000.0) and f"×{factor:,.0f}" in view.remark.text()
    np.testing.assert_allclose(view.charts["arrows"].arrows[1].tips[0], factor * session.current.history.applied(0))
    assert view.scale.factors[0] == 1.0


def test_heat_map_cells_stand_at_their_row_and_column(shown):
    bowl = Bowl({"W": (10, 7), "b": (7,)}, start=np.linspace(-1, 1, 77))
    session, view = shown(simulate(RATE, objective=bowl, steps=1))
    session.select(variable="W")
    settle(view)
    chart = view.charts["heat"]
    expected = session.current.history.expected(0)[:70].reshape(10, 7)
    cells = chart.images[0].image
    reach = max(-view.scale.low, view.scale.high)
    assert cells.shape == (10, 7)
    np.testing.assert_array_equal(cells, color_indices(expected, reach))
    assert cells[0, 0] == np.max(cells) and cells[9, 6] == np.min(cells)
    box = chart.plots[0].getViewBox()
    top, bottom = box.mapViewToScene(QPointF(0, 0)), box.mapViewToScene(QPointF(6, 9))
    assert top.y() < bottom.y() and top.x() < bottom.x()
    assert chart.component_at(0, QPointF(2.4, 3.3)) == 3 * 7 + 2
    assert chart.component_at(0, QPointF(7.2, 0.0)) is None


def test_color_indices_are_symmetric_and_mark_what_is_not_finite():
    found = color_indices(np.array([-2.0, -1.0, 0.0, 1.0, np.nan, np.inf]), 1.0)
    assert found.tolist() == [0, 0, (COLORS - 1) // 2, COLORS - 1, COLORS, COLORS]


def test_words_state_norms_ratio_cosine_and_flips(shown):
    bowl = Bowl({"w": (3,)}, start=[1.0, 1.0, -0.5])
    session, view = shown(
        simulate(("momentum", {}), ("learning_rate", {"learning_rate": 1.2}), objective=bowl, steps=2)
    )
    history = session.current.history
    e, a = history.expected(1), history.applied(1)
    text = view.caption.text()
    assert f"‖−lr·g‖ = {np.linalg.norm(e):.4g}" in text and f"‖Δw‖ = {np.linalg.norm(a):.4g}" in text
    assert f"{np.linalg.norm(a) / np.linalg.norm(e):.3g} times as long" in text
    cosine = e @ a / np.linalg.norm(e) / np.linalg.norm(a)
    assert f"(cosine {round(cosine, 4):.4g})".replace("-", "−") in text
    assert f"{np.count_nonzero(e * a < 0)} of 3 weights move against" in text
    assert f"angle {math.degrees(math.acos(max(cosine, -1.0))):.1f}°" in view.note.text()


def test_hover_and_click_select_the_same_component_in_all_panels(shown, qtbot):
    session, view = shown(simulate(*MOMENTUM, objective=Bowl({"w": (5,)}), steps=2))
    chart = view.charts["bars"]

    def place(panel, line):
        scene = chart.plots[panel].getViewBox().mapViewToScene(QPointF(0.0, line))
        return chart.mapFromScene(scene) + QPoint(1, 0)

    qtbot.mouseMove(chart.viewport(), place(1, 3))
    qtbot.waitUntil(lambda: view._hovered == 3)
    assert all(bands[0].isVisible() and bands[0].getRegion() == (2.5, 3.5) for bands in chart._bands)
    applied = session.current.history.applied(1)[3]
    assert view.remark.text().startswith("w[3]:") and f"{applied:.6g}".replace("-", "−") in view.remark.text()
    qtbot.mouseClick(chart.viewport(), Qt.MouseButton.LeftButton, pos=place(0, 2))
    assert session.selected_component == 2
    chart.setFocus()
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert session.selected_component is None


def test_choosing_a_variable_shows_only_it(shown):
    bowl = Bowl({"W": (3, 2), "b": (2,)}, start=np.arange(8.0))
    session, view = shown(simulate(RATE, objective=bowl, steps=1))
    assert view.scope.size == 8 and view.controls.variable.count() == 3
    view.controls.variable.setCurrentIndex(2)
    view.controls.variable.activated.emit(2)
    settle(view)
    assert session.selected_variable == "b"
    np.testing.assert_array_equal(view.panels[0].values, session.current.history.expected(0)[6:])


def test_thousands_of_weights_show_the_largest(shown):
    rng = np.random.default_rng(1)
    session, view = shown(
        simulate(RATE, objective=Bowl({"w": (5000,)}, start=rng.normal(size=5000)), steps=1), order="size", most=12
    )
    expected = session.current.history.expected(0)
    np.testing.assert_array_equal(view.charts["bars"].lines, np.argsort(-np.abs(expected), kind="stable")[:12])
    assert "The 12 largest of 5000 weights." in view.remark.text()


def test_orders():
    e, a = np.array([1.0, -4.0, 2.0, np.nan]), np.array([1.0, -4.0, 0.5, 0.0])
    assert choose(e, a, "index", 10).tolist() == [0, 1, 2, 3]
    assert choose(e, a, "size", 3).tolist() == [3, 1, 2]
    assert choose(e, a, "difference", 2).tolist() == [3, 2]
    assert choose(e, a, "index", 2).tolist() == [1, 3]
    with pytest.raises(ValueError, match="no order"):
        choose(e, a, "name", 2)


def test_before_the_first_step_and_with_broken_numbers(shown):
    session, view = shown(simulate(*MOMENTUM, objective=Bowl({"w": (3,)})))
    assert view.stack.currentWidget() is view.empty and "No step" in view.empty.text()
    session.step_forward()
    session.engine.settle()
    settle(view)
    assert view.stack.currentWidget() is view.charts["bars"]
    _, broken = shown(
        simulate(("learning_rate", {"learning_rate": 1e308}), objective=Bowl({"w": (3,)}, start=10.0), steps=2)
    )
    assert "inf or nan" in broken.caption.text()


def test_ranges_stay_while_numbers_shrink_in_a_run():
    keeper = ScaleKeeper()
    panels = [Panel(name, name, "#fff", np.array([-0.9, 0.7])) for name in ("computed", "applied")]
    first = keeper.update(panels, True)
    smaller = [Panel(p.name, p.title, p.color, 0.5 * p.values) for p in panels]
    assert keeper.update(smaller, True) == first
    larger = [Panel(p.name, p.title, p.color, 3.0 * p.values) for p in panels]
    assert keeper.update(larger, True).low == -3.0


def test_the_scale_changes_for_good_reasons_only():
    keeper = ScaleKeeper("symlog")

    def kind(distance):
        panels = [
            Panel("computed", "", "#fff", np.array([1.0])),
            Panel("applied", "", "#fff", np.array([1.0 / distance])),
        ]
        return keeper.update(panels, False).kind

    assert [kind(d) for d in (2, 20, 30, 20, 12, 9, 20)] == [
        "linear", "linear", "symlog", "symlog", "symlog", "linear", "linear"
    ]  # fmt: skip


@pytest.mark.parametrize(("value", "factor"), [(0.3, 1), (1.0, 1), (3.7, 2), (51, 50), (999, 500), (1000, 1000)])
def test_magnifications_are_round(value, factor):
    assert round_factor(value) == factor


def test_themes_and_options_round_trip(shown):
    _, view = shown(simulate(*MOMENTUM, objective=Bowl({"W": (9, 9)}), steps=2))
    view.set_theme(LIGHT)
    settle(view)
    wanted = {"kind": "bars", "scale": "symlog", "third": "none", "order": "difference", "most": 24}
    view.set_options(wanted)
    settle(view)
    assert view.options() == wanted and view.stack.currentWidget() is view.charts["bars"]


def test_after_a_run_the_last_step_is_shown(shown, qtbot):
    session, view = shown(simulate(*MOMENTUM, objective=Bowl({"w": (5,)})))
    session.run()
    qtbot.waitUntil(lambda: session.current.history.count > 200)
    session.pause()
    session.engine.settle()
    settle(view)
    history = session.current.history
    np.testing.assert_array_equal(view.panels[1].values, history.applied(history.count - 1))
    assert f"‖Δw‖ = {np.linalg.norm(history.applied(history.count - 1)):.4g}".replace("-", "−") in view.caption.text()
