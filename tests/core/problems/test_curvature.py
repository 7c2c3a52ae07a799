"""Curvature against numpy's dense eigenvalues, known Hessians, and the logistic loss's closed form."""

import numpy as np
import pytest

from core.problems import problem
from core.problems.curvature import Spectrum, lanczos, newton_step, spectrum, stability_limit


def test_all_eigenvalues_of_a_known_quadratic():
    # 0.5 (x² + κ y²) has the Hessian diag(1, κ) everywhere
    found = spectrum(problem("quadratic", condition=25.0), np.array([2.0, 1.0]))
    assert found.complete
    np.testing.assert_allclose(found.values, [25.0, 1.0], rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.vectors), [[0, 1], [1, 0]], atol=1e-12)
    assert found.sharpness == pytest.approx(25.0)


def test_rosenbrock_at_its_minimum():
    # the Hessian at (1, 1) is [[802, -400], [-400, 200]]
    right = np.linalg.eigvalsh([[802.0, -400.0], [-400.0, 200.0]])[::-1]
    np.testing.assert_allclose(spectrum(problem("rosenbrock"), np.ones(2)).values, right, rtol=1e-10)


@pytest.mark.parametrize("size", [60, 300])
def test_lanczos_finds_the_extreme_eigenvalues(size):
    generator = np.random.default_rng(size)
    frame, _ = np.linalg.qr(generator.standard_normal((size, size)))
    values = np.concatenate([[-3.0, -2.5, 40.0, 55.0, 90.0], generator.uniform(-1, 1, size - 5)])
    matrix = (frame * values) @ frame.T
    found = lanczos(lambda v: matrix @ v, size, count=3)
    right = np.sort(values)[::-1]
    np.testing.assert_allclose(found.values[:3], right[:3], rtol=1e-8)
    np.testing.assert_allclose(found.values[-2:], right[-2:], rtol=1e-6)
    for value, vector in zip(found.values[:3], found.vectors[:3], strict=True):
        np.testing.assert_allclose(matrix @ vector, value * vector, atol=1e-5)


def test_lanczos_with_a_repeated_eigenvalue_and_an_invariant_start():
    found = lanczos(lambda v: 2.0 * v, 80, count=2)
    np.testing.assert_allclose(found.values, 2.0)
    assert not found.complete


def test_hessian_vector_products_are_the_hessian():
    objective = problem("logistic_regression")
    point = np.random.default_rng(0).standard_normal(objective.size) * 0.1
    vector = np.random.default_rng(1).standard_normal(objective.size)
    np.testing.assert_allclose(
        objective.hessian_vector(point, vector), objective.hessian(point) @ vector, rtol=1e-9, atol=1e-12
    )


def test_logistic_hessian_is_its_closed_form():
    # Xᵀ diag(s(1-s)) X / n with the column of ones for the bias, plus λ on the weights
    objective = problem("logistic_regression")
    x, _ = objective.rows("train", np.float64)
    design = np.column_stack([x, np.ones(len(x))])
    s = 1 / (1 + np.exp(-(design @ np.zeros(design.shape[1]))))
    right = (design.T * (s * (1 - s))) @ design / len(x)
    penalty = np.diag([objective.values["l2"]] * (design.shape[1] - 1) + [0.0])
    values = spectrum(objective, np.zeros(objective.size)).values
    np.testing.assert_allclose(values, np.linalg.eigvalsh(right + penalty)[::-1], rtol=1e-8, atol=1e-12)


def test_newton_reaches_the_minimum_of_a_quadratic_in_one_step():
    objective = problem("quadratic", condition=40.0)
    point = np.array([3.0, -2.0])
    step = newton_step(spectrum(objective, point), objective.gradient(point))
    np.testing.assert_allclose(point + step, 0.0, atol=1e-12)


def test_where_there_is_no_quadratic_minimum_it_is_said():
    flat = Spectrum(np.array([1.0, 0.0]), np.eye(2), True)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        newton_step(flat, np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="too large"):
        newton_step(Spectrum(np.ones(2), np.eye(2), False), np.ones(2))


def test_the_stability_limit_is_two_over_lr():
    # gradient descent on curvature h multiplies the error by 1 - lr h: stable while lr h < 2
    assert stability_limit(0.1) == 20.0
    assert abs(1 - 0.1 * 20.0) == 1.0
    assert stability_limit(0.0) == np.inf
