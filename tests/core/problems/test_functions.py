"""The table of functions against the recorded values (sympy, 40 digits), and the adjustable shapes against formulas."""

import ml_dtypes
import numpy as np
import pytest

from core.problems import ProblemError, SettingError, expression, problem, problem_names
from core.problems.catalogue import ENTRIES
from tests import reference_data as reference
from tests.reference_data import public_cases

CASES = {case["name"]: case for case in reference.cases("problems", "test_function")}
FUNCTIONS = [name for name, entry in ENTRIES.items() if entry.kind == "function"]


def close(actual, expected, tol, label):
    expected = np.asarray(expected, dtype=float)
    bound = tol * (1e-3 + np.max(np.abs(expected)))
    assert np.max(np.abs(np.asarray(actual) - expected)) <= bound, label


@pytest.mark.parametrize("name", CASES)
def test_values_gradients_and_hessians(name):
    case = CASES[name]
    made = problem(name)
    points = np.array([point["x"] for point in case["points"]])
    for key, call in (("f", made.value), ("gradient", made.gradient), ("hessian", made.hessian)):
        together = call(points)
        for index, point in enumerate(case["points"]):
            close(together[index], point[key], case["tol"], f"{name} {key} at {point['x']}")
            close(call(point["x"]), point[key], case["tol"], f"{name} {key} at {point['x']} alone")
    for point in case["points"]:
        value, gradient = made.value_and_gradient(np.array(point["x"]))
        close(value, point["f"], case["tol"], name)
        close(gradient, point["gradient"], case["tol"], name)


@pytest.mark.parametrize("name", CASES)
def test_minima_and_domains(name):
    case = CASES[name]
    made = problem(name)
    assert made.bounds == (tuple(case["domain"]["x"]), tuple(case["domain"]["y"]))
    assert len(made.minima) == len(case["minima"])
    for minimum, recorded in zip(made.minima, case["minima"], strict=True):
        x, f = minimum
        np.testing.assert_allclose(x, recorded["x"], atol=1e-12)
        np.testing.assert_array_equal(np.asarray(minimum), minimum["x"])
        assert f == minimum["f"] == minimum.f
        close(f, recorded["f"], 1e-12, name)
        # schwefel's last digits come from 418.9829 * 2 - ... cancelling
        close(made.value(minimum), recorded["f"], 1e-9, name)
        on_boundary = name == "eggholder"
        gradient = made.gradient(x)[1:] if on_boundary else made.gradient(x)
        assert np.max(np.abs(gradient)) < 1e-6, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_starts_inside_its_domain_with_a_finite_gradient(name):
    made = problem(name)
    start = made.start
    for value, (low, high) in zip(start, made.bounds, strict=True):
        assert low <= value <= high
    value, gradient = made.value_and_gradient(start)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient, made.gradient(start), rtol=1e-12)
    start[0] = 99.0
    assert made.start[0] != 99.0
    assert made.title
    assert made.formula
    assert made.description


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_against_central_differences(name):
    made = problem(name)
    rng = np.random.default_rng(1)
    (xlow, xhigh), (ylow, yhigh) = made.bounds
    points = rng.uniform([xlow, ylow], [xhigh, yhigh], (20, 2))
    h = 1e-5 * (xhigh - xlow)
    steps = h * np.eye(2)
    numeric = np.stack([(made.value(points + d) - made.value(points - d)) / (2 * h) for d in steps], axis=-1)
    np.testing.assert_allclose(made.gradient(points), numeric, rtol=1e-3, atol=1e-4 * np.abs(numeric).max())


def test_quadratic_is_the_reference_one():
    made = problem("quadratic")
    assert made.values["condition"] == 25
    np.testing.assert_array_equal(made.start, [2.0, 1.0])
    value, gradient = made.value_and_gradient(np.array([2.0, 1.0]))
    assert value == 14.5
    np.testing.assert_array_equal(gradient, [2.0, 25.0])
    np.testing.assert_array_equal(made.hessian([0.3, 0.2]), [[1, 0], [0, 25]])


@pytest.mark.parametrize(("condition", "rotation"), [(1.0, 0.0), (300.0, 30.0), (7.5, -75.0)])
def test_conditioning_and_rotation(condition, rotation):
    made = problem("quadratic", condition=condition, rotation=rotation)
    values, vectors = np.linalg.eigh(made.hessian([1.0, 1.0]))
    np.testing.assert_allclose(values, [1.0, condition], rtol=1e-12)
    if condition > 1:
        angle = np.radians(rotation)
        np.testing.assert_allclose(abs(vectors[:, 0] @ [np.cos(angle), np.sin(angle)]), 1.0)


def test_saddle_runs_away_from_the_ridge_only_when_off_it():
    right = public_cases()["DYN-01"]["right_values"]
    made = problem("saddle")
    for start, expected_y in (((1.0, 0.0), right["exact_ridge_y_all_optimisers"]), ((1.0, 1e-6), None)):
        w = np.array(start)
        for step in range(1, 100):
            w = w - 0.1 * made.value_and_gradient(w)[1]
            if step == 10:
                np.testing.assert_allclose(w[0], right["x_after_10"])
                if expected_y is None:
                    np.testing.assert_allclose(w[1], right["y_after_10_from_1e-6"], rtol=1e-9)
            if expected_y is None and abs(w[1]) >= 1:
                assert step == right["first_step_with_|y|>=1"]
                break
        if expected_y is not None:
            assert w[1] == expected_y


def test_fixed_rates_on_a_parabola():
    right = public_cases()["DYN-03"]["right_values"]
    made = expression("theta**2")
    for key, rate in (("lr_1.0", 1.0), ("lr_1.1", 1.1), ("lr_0.4", 0.4), ("lr_0.5", 0.5)):
        w, path = np.array([5.0]), [5.0]
        for _ in range(3):
            w = w - rate * made.value_and_gradient(w)[1]
            path.append(w[0])
        np.testing.assert_allclose(path, right[key], rtol=1e-6, atol=1e-12)


def test_parameters_of_the_shapes():
    np.testing.assert_allclose(problem("slope", slope_x=5, slope_y=0).gradient([[7.0, 1.0]]), [[5.0, 0.0]])
    np.testing.assert_allclose(problem("monkey_saddle").hessian([0.0, 0.0]), 0.0)
    np.testing.assert_allclose(problem("saddle", curvature=3).hessian([0.5, 0.5]), [[2, 0], [0, -6]])
    wall = problem("cliff", height=8, sharpness=40)  # h s / 4 at the wall, besides the bowl's 0.1 * (1 + 3)
    np.testing.assert_allclose(wall.gradient([1.0, 0.0]), [8 * 40 / 4 + 0.4, 0.0])
    np.testing.assert_allclose(problem("plateau", width=0.5).value([0.5, 0.0]), 1 - np.exp(-0.5))
    assert np.max(np.abs(problem("plateau", width=0.3).gradient([2.0, 2.0]))) < 1e-10
    np.testing.assert_allclose(problem("ravine", bend=1.1).value([0.4, 1.1 * np.sin(0.8)]), 0.08)
    for tilt in (0.0, 0.3, -1.2, 1.5):
        for minimum in problem("double_well", tilt=tilt).minima:
            made = problem("double_well", tilt=tilt)
            assert np.max(np.abs(made.gradient(minimum))) < 1e-9
            assert np.linalg.eigvalsh(made.hessian(minimum.x)).min() > 0


def test_noise_is_a_pure_function_of_seed_and_step():
    noisy = problem("rosenbrock", noise=0.5)
    w = noisy.start
    _, clean = problem("rosenbrock").value_and_gradient(w, 3, 1)
    first, again = (noisy.value_and_gradient(w, 3, 1)[1] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, noisy.value_and_gradient(w, 4, 1)[1])
    assert not np.array_equal(first, noisy.value_and_gradient(w, 3, 2)[1])
    deviations = np.array([noisy.value_and_gradient(w, step, 0)[1] - clean for step in range(2000)])
    np.testing.assert_allclose(deviations.std(axis=0), 0.5, rtol=0.1)
    np.testing.assert_allclose(deviations.mean(axis=0), 0, atol=0.05)
    np.testing.assert_array_equal(noisy.gradient(w), clean)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_computed_in_the_weights_own_type(dtype):
    made = problem("quadratic")
    value, gradient = made.value_and_gradient(np.array([1.75, 0.5], dtype=dtype))
    assert gradient.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(gradient.astype(float), [1.75, 12.5])
    assert isinstance(value, float)
    # 25 * 0.3 is rounded to the type, not computed in a wider one and kept there
    w = np.array([0.1, 0.3], dtype=dtype)
    exact = (25 * w[1].astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(made.value_and_gradient(w)[1][1].astype(float), exact.astype(float))


def test_results_are_fresh_and_inputs_unchanged():
    made = problem("beale")
    w = np.array([1.0, 1.5])
    _, first = made.value_and_gradient(w)
    kept = first.copy()
    _, second = made.value_and_gradient(w + 1)
    assert first is not second
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(w, [1.0, 1.5])


def test_shapes_of_points():
    made = problem("himmelblau")
    grid = np.zeros((5, 4, 2))
    assert made.value(grid).shape == (5, 4)
    assert made.gradient(grid).shape == (5, 4, 2)
    assert made.hessian(grid).shape == (5, 4, 2, 2)
    assert made.value([1, 2]).shape == ()
    with pytest.raises(ValueError, match=r"himmelblau: points need shape \(..., 2\) for x, y"):
        made.value(np.zeros(3))


def test_outside_its_domain_a_formula_gives_nan_quietly():
    made = expression("sqrt(x) + log(y)")
    values = made.value([[-1.0, 1.0], [4.0, 1.0]])
    assert np.isnan(values[0])
    assert values[1] == 2.0


def test_names_and_mistakes():
    names = problem_names()
    assert len(names) == len(set(names)) >= 31
    assert problem("Three-Hump Camel").name == "three_hump_camel"
    with pytest.raises(ProblemError, match="did you mean 'rosenbrock'"):
        problem("rosenbrok")
    with pytest.raises(ProblemError, match="there are: quadratic"):
        problem("zzz")
    with pytest.raises(SettingError, match="no parameter 'kondition'; it has: condition, rotation, noise"):
        problem("quadratic", kondition=3)
    with pytest.raises(SettingError, match="condition must be"):
        problem("quadratic", condition=-1)
    changed = problem("quadratic").with_values(condition=4)
    assert changed.values["condition"] == 4
    np.testing.assert_array_equal(changed.gradient([0.0, 1.0]), [0.0, 4.0])
