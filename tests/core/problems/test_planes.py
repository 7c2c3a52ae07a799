"""Planes and lines: what lies in them, coordinates there and back, variance explained, filter normalisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.problems import directions, lines, planes
from core.problems.objective import VariableSpec
from tests.reference_data import public_cases

finite = st.floats(-1e3, 1e3, allow_subnormal=False)


def vectors(size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(finite, min_size=size, max_size=size).map(np.array)


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(vectors(n), vectors(n), vectors(n))))
def test_expected_and_applied_lie_in_their_plane(triple):
    origin, expected, applied = triple
    plane = planes.expected_and_applied(origin, expected, applied)
    np.testing.assert_allclose([plane.u @ plane.u, plane.v @ plane.v, plane.u @ plane.v], [1, 1, 0], atol=1e-14)
    for vector in (expected, applied):
        a, b = plane.project_vector(vector)
        # sums of magnitudes bound the norms, and unlike them do not vanish for components below 1e-162
        length, reach = np.abs(vector).sum(), np.abs(origin).sum()
        np.testing.assert_allclose(a * plane.u + b * plane.v, vector, rtol=0, atol=1e-14 * length)
        far = plane.distance(origin + vector)
        assert far <= 1e-15 * (reach + length) * 4


@pytest.mark.parametrize("factor", [1.0, -2.5, 1e-200, 0.0])
def test_parallel_and_tiny_vectors_lie_in_it_too(factor):
    rng = np.random.default_rng(1)
    e = rng.normal(size=31)
    plane = planes.expected_and_applied(np.zeros(31), e, factor * e)
    assert plane.distance(e) <= 1e-15 * 31
    assert plane.distance(factor * e) <= 1e-15 * 31
    assert abs(plane.u @ plane.v) < 1e-15
    backwards = planes.expected_and_applied(np.zeros(31), factor * e, e)
    assert backwards.distance(e) <= 1e-15 * 31


def test_zero_steps_still_give_a_plane():
    plane = planes.expected_and_applied(np.ones(4), np.zeros(4), np.zeros(4))
    assert plane.distance(np.ones(4)) == 0
    np.testing.assert_allclose(plane.u @ plane.u, 1)


def test_a_step_that_is_not_finite_is_refused():
    with pytest.raises(planes.PlaneError, match="not finite"):
        planes.expected_and_applied(np.ones(3), np.array([1.0, np.inf, 0]), np.ones(3))


def test_two_weights_keep_their_own_values_as_coordinates():
    origin = np.arange(5.0)
    plane = planes.two_weights(origin, 1, 3, labels=list("abcde"))
    assert plane.labels == ("b", "d")
    a, b = plane.project(origin)
    assert (a, b) == (1.0, 3.0)
    np.testing.assert_array_equal(plane.lift(1.0, 3.0), origin)
    np.testing.assert_array_equal(plane.lift(-2.0, 7.0), [0, -2, 2, 7, 4])
    with pytest.raises(planes.PlaneError, match="no weight number 5"):
        planes.two_weights(origin, 1, 5)
    with pytest.raises(planes.PlaneError, match="different"):
        planes.two_weights(origin, 2, 2)


@given(st.integers(2, 6).flatmap(lambda n: st.tuples(vectors(n), vectors(n), vectors(n))), finite, finite)
def test_lift_and_project_are_inverse_on_oblique_axes(triple, a, b):
    origin, u, v = (np.round(vector, 2) for vector in triple)
    sines = np.linalg.svd(np.stack([u, v]) / [[max(np.linalg.norm(u), 1e-9)], [max(np.linalg.norm(v), 1e-9)]])[1]
    if sines[1] < 1e-2:
        return
    plane = planes.Plane(origin, u, v)
    back = np.array(plane.project(plane.lift(a, b)))
    scale = np.linalg.norm(plane.lift(a, b) - origin) + np.linalg.norm(origin)
    np.testing.assert_allclose(back, [a, b], atol=1e-9 * (1 + scale / min(np.linalg.norm(u), np.linalg.norm(v))))


def test_distance_is_pythagoras():
    plane = planes.whole_plane()
    lifted = planes.Plane(np.zeros(3), [1, 0, 0], [0, 2.0, 0])
    assert plane.distance([3.0, 4.0]) == 0
    np.testing.assert_allclose(lifted.distance([[5.0, 6, 7], [0, 0, -2]]), [7, 2])
    np.testing.assert_allclose(lifted.project([5.0, 6.0, 7.0]), (5, 3))


@pytest.mark.parametrize(("rows", "size"), [(40, 6), (6, 40), (3, 2), (2, 5)])
def test_principal_plane_against_the_singular_value_decomposition(rows, size):
    rng = np.random.default_rng(rows)
    trajectory = np.cumsum(rng.normal(size=(rows, size)) * np.linspace(1, 3, size), axis=0)
    plane = planes.principal(trajectory)
    differences = trajectory - trajectory[-1]
    _, singular, right = np.linalg.svd(differences, full_matrices=False)
    total = np.sum(singular**2)
    np.testing.assert_allclose(plane.explained[0], singular[0] ** 2 / total, rtol=1e-10)
    np.testing.assert_allclose(abs(plane.u @ right[0]), 1, rtol=1e-8)
    assert plane.distance(trajectory[-1]) == 0
    residual = np.sum(plane.distance(trajectory) ** 2) / total
    np.testing.assert_allclose(residual, 1 - sum(plane.explained), atol=1e-10)


def test_principal_plane_of_a_straight_run_explains_everything():
    trajectory = np.outer(np.linspace(0, 1, 9), [1.0, 2.0, 3.0])
    plane = planes.principal(trajectory)
    np.testing.assert_allclose(plane.explained, (1.0, 0.0), atol=1e-12)
    assert plane.distance(trajectory).max() < 1e-12
    with pytest.raises(planes.PlaneError, match="not moved"):
        planes.principal(np.ones((4, 3)))


def test_three_points_lie_in_their_plane():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(3, 50))
    plane = planes.through_three(*points)
    assert plane.distance(points).max() < 1e-13
    np.testing.assert_allclose(plane.project(points[0]), (0, 0), atol=1e-14)
    with pytest.raises(planes.PlaneError, match="same"):
        planes.through_three(points[0], points[0], points[0])


def test_filter_normalisation_scales_each_filter_once():
    right = public_cases()["LAND-02"]["right_values"]
    variables = [VariableSpec("W", (2, 2), "weight", 0), VariableSpec("b", (2,), "bias")]
    weights = np.array([3, 4, 0, 0.5, 3, 4])
    direction = np.array([1.0, 0, 2, 0, 1, 1])
    whole = directions.filter_normalised(direction, weights, variables, "whole")
    np.testing.assert_allclose(whole[:4].reshape(2, 2), right["direction_rows"])
    np.testing.assert_allclose(whole[4:], right["bias_direction_scaled_once"], rtol=1e-9)
    ignored = directions.filter_normalised(direction, weights, variables)
    np.testing.assert_allclose(ignored[4:], right["bias_direction_biasbn_ignored"])
    # once is enough: normalising again changes nothing
    np.testing.assert_allclose(directions.filter_normalised(whole, weights, variables, "whole"), whole)


def test_filter_normalisation_makes_rescaled_networks_alike():
    right = public_cases()["LAND-04"]["right_values"]
    variables = [VariableSpec("w1", (1, 1)), VariableSpec("w2", (1, 1))]

    def f(w):
        return (w[1] * max(w[0], 0.0) - 1) ** 2

    for start, raw in (((1.0, 1.0), "raw_(1,1)"), ((10.0, 0.1), "raw_(10,0.1)")):
        w = np.array(start)
        np.testing.assert_allclose(f(lines.line(w, [1.0, 1.0]).lift(0.5)), right[raw])
        along = directions.filter_normalised([1.0, 1.0], w, variables)
        np.testing.assert_allclose(f(lines.line(w, along).lift(0.5)), right["normalised_both"][0])


def test_random_planes_repeat_by_seed():
    variables = [VariableSpec("W", (3, 4)), VariableSpec("b", (4,), "bias")]
    weights = np.random.default_rng(0).normal(size=16)
    first, again, other = (directions.random_plane(weights, variables, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.u, again.u)
    assert not np.array_equal(first.u, other.u)
    columns = np.linalg.norm(first.u[:12].reshape(3, 4), axis=0)
    np.testing.assert_allclose(columns, np.linalg.norm(weights[:12].reshape(3, 4), axis=0))
    assert not first.u[12:].any()
    with pytest.raises(planes.PlaneError, match="zero"):
        directions.random_plane(np.zeros(16), variables)


def test_line_coordinates():
    cut = lines.line([1.0, 1.0, 0.0], [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(cut.lift([0.0, 1.5]), [[1, 1, 0], [1, 4, 0]])
    np.testing.assert_allclose(cut.project([[9.0, 4.0, 7.0]]), [1.5])
    np.testing.assert_allclose(cut.distance([[1.0, 4.0, 7.0]]), [7.0])


def test_window_holds_the_path_and_ignores_what_is_not_finite():
    (alow, ahigh), (blow, bhigh) = planes.window(([0.0, 4.0, np.nan], [1.0, 1.0, np.inf]))
    assert alow < 0 < 4 < ahigh
    assert blow < 1 < bhigh
    assert (bhigh - blow) >= 0.099 * (ahigh - alow)
