"""Lines through the weights: coordinates, distances, and what cannot be a line."""

import numpy as np
import pytest

from core.problems.lines import along, line, one_weight, random_line
from core.problems.objective import VariableSpec
from core.problems.planes import PlaneError

RNG = np.random.default_rng(5)


def test_one_weight_keeps_its_own_value_as_coordinate():
    w = RNG.normal(size=6)
    cut = one_weight(w, 4, list("abcdef"))
    assert cut.label == "e" and cut.project(w) == w[4] and cut.distance(w) == 0.0
    moved = cut.lift(7.5)
    assert moved[4] == 7.5
    np.testing.assert_array_equal(np.delete(moved, 4), np.delete(w, 4))
    with pytest.raises(PlaneError, match="no weight number 6"):
        one_weight(w, 6)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_along_measures_distances_whatever_the_vector_s_size(size):
    w, v = RNG.normal(size=9), RNG.normal(size=9)
    cut = along(w, size * v, "v")
    assert np.linalg.norm(cut.direction) == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(cut.direction, v / np.linalg.norm(v), rtol=1e-13)
    assert cut.project(w) == 0.0
    # Pythagoras: what is not along the line is across it
    other = RNG.normal(size=9)
    t = cut.project(w + other)
    assert t**2 + cut.distance(w + other) ** 2 == pytest.approx(other @ other)
    assert cut.project_vector(other) == pytest.approx(t)


def test_random_lines_repeat_by_seed_and_have_the_length_of_the_weights():
    variables = (VariableSpec("W", (4, 3)), VariableSpec("b", (3,), "bias"))
    w = RNG.normal(size=15)
    first, again, other = (random_line(w, variables, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.direction, again.direction)
    assert not np.array_equal(first.direction, other.direction)
    norms = [np.linalg.norm(vector[:12].reshape(4, 3), axis=0) for vector in (first.direction, w)]
    np.testing.assert_allclose(*norms)
    assert not first.direction[12:].any()


def test_what_is_no_line_is_said():
    with pytest.raises(PlaneError, match="is zero"):
        along(np.ones(3), np.zeros(3), "g")
    with pytest.raises(PlaneError, match="not finite"):
        along(np.ones(3), np.array([1.0, np.nan, 0.0]), "g")
    with pytest.raises(PlaneError, match="weights here are not finite"):
        line([np.inf, 0.0], [1.0, 0.0])
    with pytest.raises(PlaneError, match="all weights are zero"):
        random_line(np.zeros(6), (VariableSpec("W", (2, 3)),))
