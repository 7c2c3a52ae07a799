"""The parts of the surface that need no window: scales, magnification, pictures, paths, planes, landscape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QTransform
from PySide6.QtWidgets import QGraphicsScene

from core.problems import problem
from core.problems.planes import whole_plane
from gui.views.surface import scale as scales
from gui.views.surface.cut import CutChoice, Region, first_choice
from gui.views.surface.framing import home_region
from gui.views.surface.magnify import Magnification, choose, factor_text, round_factor
from gui.views.surface.picture import contour_lines, make_picture, recolored
from gui.views.surface.scale import KINDS, LossScale, fit_scale
from gui.views.surface.step_arrows import StepArrows
from gui.views.surface.terrain import HEIGHT, Terrain, segments
from gui.widgets.curves import SceneCurve

finite_or_not = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(hnp.arrays(np.float64, (3, 4), elements=finite_or_not), st.sampled_from(KINDS))
@settings(max_examples=200, deadline=None)
def test_any_losses_get_colours_and_ticks(values, kind):
    scale = fit_scale(kind, values)
    finite = np.isfinite(values)
    assert (scale is None) == (not finite.any())
    if scale is None:
        return
    places = scale.normalised(values)
    assert np.array_equal(np.isnan(places), ~finite)
    assert ((places[finite] >= 0) & (places[finite] <= 1)).all()
    order = np.argsort(values[finite], kind="stable")
    assert (np.diff(places[finite][order]) >= -1e-12).all()
    indices = scale.indices(values)
    assert (indices[finite] < scales.COLORS).all() and (indices[~finite] >= scales.COLORS).all()
    ticks = scale.ticks()
    assert all(-1e-6 <= t <= 1 + 1e-6 for t, _ in ticks)
    assert [t for t, _ in ticks] == sorted(t for t, _ in ticks)


def test_log_scale_is_the_logarithm():
    scale = fit_scale("log10", [1.0, 10.0, 100.0, 1e4])
    assert scale.floor == 0.0
    np.testing.assert_allclose(scale.normalised([1.0, 10.0, 100.0, 1e4]), [0, 0.25, 0.5, 1.0], atol=1e-12)
    np.testing.assert_allclose(scale.loss_at([0.25, 0.5]), [10.0, 100.0])
    assert [text for _, text in scale.ticks()] == ["1", "10", "100", "1000", "1e4"]


def test_losses_below_zero_are_measured_from_the_known_minimum():
    scale = fit_scale("log10", [-90.0, 0.0, 900.0], known_minimum=-100.0)
    assert scale.floor == -100.0
    np.testing.assert_allclose(scale.normalised([-90.0, 0.0, 900.0]), [0.0, 0.5, 1.0], atol=1e-12)


def test_rank_scale_goes_by_the_part_below():
    values = np.array([1.0, 2.0, 3.0, 1e9, 1e300])
    scale = fit_scale("rank", values)
    np.testing.assert_allclose(scale.normalised(values), [0, 0.25, 0.5, 0.75, 1.0], atol=2 / 256)


def test_linear_scale_and_one_value():
    np.testing.assert_allclose(LossScale("linear", -1e308, 1e308).normalised([-1e308, 0.0, 1e308]), [0, 0.5, 1])
    for kind in KINDS:
        assert fit_scale(kind, [7.0, 7.0]).normalised(7.0) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="there are: log10, linear, rank"):
        fit_scale("cubic", [1.0])


# magnification


def test_true_length_is_kept_when_it_can_be_read():
    assert choose("auto", 100.0, 60.0, 400.0) == Magnification(1.0, 1.0)
    assert choose("true", 1e-9, 1e9, 400.0) == Magnification(1.0, 1.0)
    assert choose("fixed", 1.0, 1.0, 400.0, fixed=20.0) == Magnification(20.0, 20.0)


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12), st.sampled_from(["auto", "separate"]))
@settings(deadline=None)
def test_chosen_factors_make_arrows_readable(computed, applied, mode):
    size = choose(mode, computed, applied, 400.0)
    lengths = size.computed * computed, size.applied * applied
    if mode == "auto":
        assert size.common
        assert 18.0 <= max(lengths) <= 240.0 * (1 + 1e-9)
        if max(computed, applied) < 5 * min(computed, applied):
            assert min(lengths) >= 9.0
    else:
        assert all(18.0 <= length <= 240.0 * (1 + 1e-9) for length in lengths)


def test_a_factor_that_still_does_is_kept():
    first = choose("auto", 1.0, 1.0, 400.0)
    assert first.computed != 1.0
    assert choose("auto", 1.4, 1.2, 400.0, first) == first
    assert choose("auto", np.nan, 0.0, 400.0, first) == first


def test_round_factors_and_their_texts():
    assert [round_factor(f) for f in (1.0, 1.99, 7.0, 0.03, 99.0)] == [1.0, 1.0, 5.0, 0.02, 50.0]
    assert [factor_text(f) for f in (20.0, 0.05, 1e6, 2e-7)] == ["×20", "×0.05", "×1e6", "×2e-7"]


# pictures


def test_a_picture_is_not_transposed_and_cells_are_centred_on_their_points():
    xs, ys = np.arange(4.0), np.arange(2.0)
    z = xs[None, :] + 10 * ys[:, None]
    picture = make_picture(whole_plane(), xs, ys, z, "linear")
    assert picture.z[1, 2] == 12.0
    assert picture.rectangle == (-0.5, -0.5, 4.0, 2.0)
    with pytest.raises(ValueError, match="2 rows and 4 columns"):
        make_picture(whole_plane(), xs, ys, z.T, "linear")


@pytest.mark.parametrize("kind", KINDS)
def test_contour_lines_run_where_the_loss_is_the_level(kind):
    xs, ys = np.linspace(-2, 2, 201), np.linspace(-1, 3, 161)
    z = xs[None, :] ** 2 + 3 * (ys[:, None] - 1) ** 2 + 0.5
    scale = fit_scale(kind, z)
    lines = contour_lines(xs, ys, z, scale, 7)
    levels = scale.levels(7)
    whole = lines[np.isfinite(lines).all(axis=1)]
    losses = whole[:, 0] ** 2 + 3 * (whole[:, 1] - 1) ** 2 + 0.5
    nearest = np.abs(losses[:, None] - levels).min(axis=1)
    assert nearest.max() < 0.02 * np.ptp(z) / 7 + 0.005
    # each level has its line
    assert {int(np.abs(loss - levels).argmin()) for loss in losses} == set(range(7))


def test_contours_leave_out_what_is_not_finite():
    xs = ys = np.linspace(-1, 1, 41)
    with np.errstate(all="ignore"):
        z = np.log(xs[None, :] + 0 * ys[:, None])
    picture = make_picture(whole_plane(), xs, ys, z, "linear")
    assert not picture.whole
    assert np.nanmin(picture.contours[:, 0]) >= 0.0
    blank = make_picture(whole_plane(), xs, ys, np.full((41, 41), np.nan), "log10")
    assert blank.scale is None and len(blank.contours) == 0 and (blank.indices >= scales.COLORS).all()


def test_recolouring_keeps_the_losses():
    xs = ys = np.linspace(0, 1, 9)
    picture = make_picture(whole_plane(), xs, ys, 1 + xs[None, :] * ys[:, None], "linear")
    other = recolored(picture, "rank")
    assert other.z is picture.z and other.scale.kind == "rank"


# regions


def test_the_first_picture_of_a_network_is_not_flat():
    """The corner pixels of the digits are dark in every picture: their weights change no loss."""
    digits = problem("digits_mlp")
    weights = np.asarray(digits.initial_weights(0))
    choice = first_choice(digits, weights)

    def spread(first, second):
        moved = []
        for a, b in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
            there = weights.copy()
            there[[first, second]] += a, b
            moved.append(digits.value_and_gradient(there, 0, 0)[0])
        return np.ptp(moved)

    assert spread(0, 1) == 0.0 and spread(choice.first, choice.second) > 1e-3
    assert choice.kind == "weights" and choice.first < choice.second
    for name in ("rosenbrock", "mlp", "linear_regression"):
        other = problem(name)
        assert first_choice(other, np.asarray(other.initial_weights(0))) == CutChoice()


def test_home_is_the_domain_and_grows_to_a_start_outside_it():
    objective = problem("rosenbrock")
    choice = CutChoice()
    assert home_region(choice, objective, np.array([0.0]), np.array([1.0])) == Region(-2, 2, -1, 3)
    wider = home_region(choice, objective, np.array([-3.0]), np.array([0.0]))
    assert wider.left < -3.0 and wider[1:] == (2, -1, 3)
    assert home_region(CutChoice("weights", 1, 0), objective, np.array([0.0]), np.array([0.0])) == Region(-1, 3, -2, 2)
    # a run that flew away does not blow the picture up
    assert home_region(choice, objective, np.array([1e30]), np.array([np.nan])) == Region(-2, 2, -1, 3)


def test_region_stretches_towards_a_point():
    region = Region(0.0, 10.0, 0.0, 10.0)
    assert region.including(5.0, 5.0) == region
    assert region.including(12.0, -2.0, 0.5) == Region(0.0, 18.0, -8.0, 10.0)
    assert region.holds(1.0, 9.0) and not region.holds(1.0, 9.0, margin=0.2)


# landscape


@pytest.fixture
def terrain():
    xs, ys = np.linspace(0, 4, 33), np.linspace(-1, 1, 17)
    return Terrain(make_picture(whole_plane(), xs, ys, xs[None, :] + 10 * ys[:, None], "linear"))


def test_heights_follow_the_scale_and_mesh_is_not_transposed(terrain):
    x, y, z = terrain.mesh()
    assert z.shape == (len(x), len(y)) == (33, 17)
    assert (x[0], x[-1], y[0], y[-1]) == (-1, 1, -1, 1)
    low, high = -10.0, 14.0
    np.testing.assert_allclose(z[8, 12], HEIGHT * ((1 + 10 * 0.5) - low) / (high - low))
    np.testing.assert_allclose(terrain.heights(1.03, 0.52), HEIGHT * ((1.03 + 5.2) - low) / (high - low))
    assert np.isnan(terrain.heights(4.5, 0.0))
    assert terrain.plane_point(*terrain.flat(1.0, 0.5)) == pytest.approx((1.0, 0.5))


def test_arrows_lie_on_the_ground_and_end_at_their_tip(terrain):
    parts = terrain.arrow([1.0, 0.0], [3.0, 0.5])
    tip = terrain.on_ground(3.0, 0.5)
    assert len(parts) % 2 == 0
    np.testing.assert_allclose(parts[0], terrain.on_ground(1.0, 0.0))
    assert (np.abs(parts - tip).max(axis=1) < 1e-12).sum() == 3
    a, b = terrain.plane_point(parts[:, 0], parts[:, 1])
    np.testing.assert_allclose(parts, terrain.on_ground(a, b), atol=1e-9)
    assert len(terrain.arrow([10.0, 10.0], [11.0, 10.0])) == 0


def test_clear_colours_where_the_loss_is_not_finite():
    xs = ys = np.linspace(0, 1, 9)
    z = np.ones((9, 9)) * xs
    z[2, 5] = np.inf
    table = np.full((256, 4), 255, dtype=np.uint8)
    colors = Terrain(make_picture(whole_plane(), xs, ys, z, "linear")).colors(table)
    assert colors[5, 2, 3] == 0.0 and colors[2, 5, 3] == 1.0


def test_segments_break_at_gaps():
    points = np.array([[0.0, 0], [1, 0], [np.nan, np.nan], [2, 0], [3, 0]])
    np.testing.assert_array_equal(segments(points), [[0, 0], [1, 0], [2, 0], [3, 0]])


# beyond all numbers


def test_arrows_and_paths_of_a_run_that_flew_away_are_cut_off_in_silence(qapp):
    """Warnings are errors in tests; what can be drawn is drawn."""
    far = np.array([-1e308, 1e308])
    arrows = StepArrows(np.zeros(2), far, np.array([1.0, 2.0]), np.zeros((0, 2)), (), (), (), 0.0, 0.0)
    computed, applied = arrows.tips(Magnification(5.0, 5.0))
    assert np.isinf(computed).all() and applied.tolist() == [5.0, 10.0]
    curve = SceneCurve([0.0, 40.0, 1e308], [10.0, 10.0, 1e308], QPen(QColor("black")))
    curve.setTransform(QTransform.fromScale(2.0, 1.0))
    scene = QGraphicsScene(0.0, 0.0, 100.0, 20.0)
    scene.addItem(curve)
    image = QImage(100, 20, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    scene.render(painter)
    painter.end()
    assert image.pixelColor(70, 10) != QColor("white") and image.pixelColor(90, 5) == QColor("white")
