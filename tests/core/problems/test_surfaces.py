"""Surfaces: equal to evaluating every point, coarse to fine, within a budget, cancelled, remembered, honest."""

import time

import numpy as np
import pytest

from core.problems import expression, lines, planes, problem
from core.problems.objective import Objective
from core.problems.surfaces import SurfaceCache, SurfaceEvaluator, line_values
from tests.reference_data import public_cases

WINDOW = ((-2.0, 2.0), (-1.0, 3.0))


@pytest.mark.parametrize("resolution", [(51, 51), (33, 17), (2, 2), (5, 40), (8, 8)])
def test_the_finished_grid_is_the_function(resolution):
    made = problem("rosenbrock")
    surface = SurfaceEvaluator(made, planes.whole_plane(), WINDOW, resolution).finish()
    a, b = np.linspace(-2, 2, resolution[0]), np.linspace(-1, 3, resolution[1])
    np.testing.assert_array_equal(surface.a, a)
    np.testing.assert_array_equal(surface.values, (1 - a) ** 2 + 100 * (b[:, None] - a**2) ** 2)
    assert surface.complete
    assert not surface.unpainted.any()


def test_coarse_to_fine_and_a_first_picture_after_a_sixteenth():
    made = problem("himmelblau")
    job = SurfaceEvaluator(made, planes.whole_plane(), ((-5, 5), (-5, 5)), (51, 51))
    sizes, firsts = [], []
    while not job.advance(0.0):
        if job.surface is not None and (not sizes or job.surface.values.shape != sizes[-1]):
            sizes.append(job.surface.values.shape)
            firsts.append(job.fraction)
            np.testing.assert_array_equal(job.surface.a[[0, -1]], [-5, 5])
            expected = made.value(np.stack(np.meshgrid(job.surface.a, job.surface.b), axis=-1))
            np.testing.assert_array_equal(job.surface.values, expected)
            assert not job.surface.complete
    assert firsts[0] <= 1 / 16
    assert sizes == sorted(sizes)
    assert job.surface.values.shape == (51, 51)
    assert job.fraction == 1.0


class Slow(Objective):
    """A bowl that takes a millisecond a point and counts them."""

    name = "slow"
    title = formula = "bowl"
    component_names = ("x", "y")

    def __init__(self):
        self.variables = problem("sphere").variables
        self.points = 0

    def initial_weights(self, seed=0):
        return np.zeros(2)

    def value(self, points, step=None, seed=0):
        count = int(np.prod(np.shape(points)[:-1]))
        self.points += count
        time.sleep(0.001 * count)
        return np.sum(np.square(points), axis=-1)

    def value_and_gradient(self, weights, step=0, seed=0):
        raise NotImplementedError

    gradient = hessian = with_values = value_and_gradient


def test_slices_keep_to_their_budget_and_no_point_is_evaluated_twice():
    slow = Slow()
    job = SurfaceEvaluator(slow, planes.whole_plane(), WINDOW, (17, 17))
    most = 0
    done = False
    while not done:
        before = slow.points
        done = job.advance(0.01)
        most = max(most, slow.points - before)
    # a point takes a millisecond, so ten fit into the budget; the first group is a guess of sixteen
    assert most <= 24
    assert slow.points == 17 * 17


def test_cancelling_stops_and_keeps_what_is_there():
    slow = Slow()
    job = SurfaceEvaluator(slow, planes.whole_plane(), WINDOW, (33, 33))
    while job.surface is None:
        job.advance(0.001)
    job.cancel()
    seen = slow.points
    assert job.advance(1.0)
    assert slow.points == seen
    assert not job.surface.complete


def test_finished_surfaces_are_remembered_until_something_changes():
    cache = SurfaceCache()
    slow = Slow()
    first = SurfaceEvaluator(slow, planes.whole_plane(), WINDOW, (9, 9), cache=cache).finish()
    again = SurfaceEvaluator(slow, planes.whole_plane(), WINDOW, (9, 9), cache=cache)
    assert again.done
    assert again.surface is first
    assert slow.points == 81
    SurfaceEvaluator(slow, planes.whole_plane(), ((0, 1), (0, 1)), (9, 9), cache=cache).finish()
    assert slow.points == 162
    soft, steep = problem("quadratic", condition=2), problem("quadratic", condition=3)
    one, two = (
        SurfaceEvaluator(each, planes.whole_plane(), WINDOW, (9, 9), cache=cache).finish() for each in (soft, steep)
    )
    assert not np.array_equal(one.values, two.values)
    small = SurfaceCache(most_bytes=3000)
    for extent in range(1, 9):
        SurfaceEvaluator(soft, planes.whole_plane(), ((0, extent), (0, 1)), (9, 9), cache=small).finish()
    assert 1 <= len(small) <= 4


def test_batches_have_surfaces_of_their_own():
    made = problem("logistic_regression")
    w = made.start + 0.1
    plane = planes.two_weights(w, 0, 7)
    cache = SurfaceCache()
    grids = [
        SurfaceEvaluator(made, plane, ((-1, 1), (-1, 1)), (5, 5), step=step, cache=cache).finish().values
        for step in (None, 0, 1)
    ]
    assert not np.array_equal(grids[0], grids[1])
    assert not np.array_equal(grids[1], grids[2])
    np.testing.assert_allclose(grids[1][2, 3], made.value_and_gradient(plane.lift(0.5, 0.0), 0, 0)[0])


def test_outside_and_not_finite_are_marked():
    made = problem("mccormick")  # its domain is -1.5..4 by -3..4
    surface = SurfaceEvaluator(made, planes.whole_plane(), ((-2.5, 5), (-3, 4)), (16, 8)).finish()
    np.testing.assert_array_equal(surface.outside[0], (surface.a < -1.5) | (surface.a > 4))
    assert not surface.unpainted.any()
    holes = SurfaceEvaluator(
        expression("log(x) + y", bounds=((-9, 9), (-9, 9))), planes.whole_plane(), ((-1, 1), (-1, 1)), (9, 3)
    ).finish()
    np.testing.assert_array_equal(holes.unpainted[0], holes.a <= 0)
    assert not holes.outside.any()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "batch", "activation": "relu"},
        {"norm": "layer", "activation": "gelu", "l2": 0.1},
        {"layers": []},
        {"data": "iris", "layers": [5], "activation": "softplus"},
        {"data": "sine", "activation": "sin", "dropout": 0.3},
    ],
    ids=str,
)
def test_network_planes_equal_point_by_point_losses(settings):
    made = problem("mlp", **{"layers": [7, 4], **settings})
    rng = np.random.default_rng(0)
    plane = planes.Plane(made.initial_weights(1), rng.normal(size=made.size), rng.normal(size=made.size))
    a, b = np.linspace(-0.3, 0.3, 6), np.linspace(-0.2, 0.4, 5)[:, None]
    for step in (None, 3):
        fast = made.values_on(plane, a, b, step, 1)
        slow = made.value(plane.lift(a, b), step, 1)
        np.testing.assert_allclose(fast, slow, rtol=1e-9)
    single = made.value_and_gradient(plane.lift(0.3, 0.4), 3, 1)[0]
    np.testing.assert_allclose(fast[-1, -1], single, rtol=1e-9)
    coarse = made.values_on(plane, a, b, dtype=np.float32)
    assert coarse.dtype == np.float32
    np.testing.assert_allclose(coarse, made.value(plane.lift(a, b)), rtol=2e-4)


def test_a_path_on_a_principal_plane_agrees_up_to_its_distance():
    made = problem("mlp", data="moons", layers=[8], batch_size=0)
    w = made.initial_weights(0)
    path = [w]
    for step in range(60):
        w = w - 0.3 * made.value_and_gradient(w, step)[1]
        path.append(w)
    path = np.array(path)
    plane = planes.principal(path)
    a, b = plane.project(path)
    window = planes.window((a, b))
    surface = SurfaceEvaluator(made, plane, window, (129, 129)).finish()
    on_surface, true = surface.at(a, b), made.value(path)
    distances = plane.distance(path)
    # the largest slope met between the point and its shadow bounds the difference; 1e-3 is for interpolation
    shadows = plane.lift(a, b)
    for index in range(len(path)):
        between = shadows[index] + np.linspace(0, 1, 9)[:, None] * (path[index] - shadows[index])
        slope = np.linalg.norm(made.gradient(between), axis=1).max()
        assert abs(on_surface[index] - true[index]) <= 1.2 * slope * distances[index] + 1e-3
    assert abs(on_surface[-1] - true[-1]) < 1e-3
    assert sum(plane.explained) > 0.9


def test_several_threads_give_the_same_surface():
    made = problem("mlp", layers=[5])
    plane = planes.two_weights(made.initial_weights(0), 0, 3)
    one, two = (SurfaceEvaluator(made, plane, WINDOW, (33, 33)).finish(threads).values for threads in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_lines():
    right = public_cases()["LAND-06"]["right_values"]
    made = expression("2*w**2")
    w = np.array([1.0])
    cut = lines.line(w, -made.gradient(w))
    np.testing.assert_allclose(line_values(made, cut, right["alpha"]), right["loss_along"], atol=1e-15)


def test_bad_windows_are_refused():
    made = problem("sphere")
    for window in (((1, 1), (0, 1)), ((0, np.inf), (0, 1)), ((0, 1), (1, 0))):
        with pytest.raises(ValueError, match="not a rectangle"):
            SurfaceEvaluator(made, planes.whole_plane(), window)
    with pytest.raises(ValueError, match="at least 2 by 2"):
        SurfaceEvaluator(made, planes.whole_plane(), WINDOW, (1, 5))
    with pytest.raises(ValueError, match="for 2 weights, the problem has 31"):
        SurfaceEvaluator(problem("logistic_regression"), planes.whole_plane(), WINDOW)
