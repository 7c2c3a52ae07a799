"""Models on data: gradients, batches, many weights at once, dtypes, and optima as found by scipy."""

import ml_dtypes
import numpy as np
import pytest
from scipy import optimize

from core.problems import ProblemError, problem
from core.problems.batches import Batches
from core.problems.dataset import Dataset
from tests import reference_data as reference


def numeric_gradient(value, w, h=1e-6):
    steps = h * np.eye(w.size)
    return (value(w + steps) - value(w - steps)) / (2 * h)


def test_breast_cancer_has_thirty_weights_and_a_bias():
    made = problem("logistic_regression")
    assert [(v.name, v.shape, v.role) for v in made.variables] == [("w", (30,), "weight"), ("b", (), "bias")]
    assert made.component_names[0] == "mean_radius"
    assert made.component_names[-1] == "bias"
    x = made.samples.train_x
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(x.std(axis=0), 1)
    assert len(made.samples.train_y) + len(made.samples.test_y) == 569
    np.testing.assert_allclose(made.value(made.start), np.log(2))


def test_logistic_regression_equals_the_recorded_trajectory():
    case = next(c for c in reference.cases("torch_sgd") if c["id"] == "torch/sgd/plain/logreg")
    data = reference.load("torch_sgd")["problems"]["logreg"]["data"]
    made = problem("logistic_regression", data=own_data(data), batch_size=0, test_fraction=0, standardise=False)
    w = np.array(case["start"])
    records = {record["k"]: record for record in case["record"]}
    for k in range(case["steps"] + 1):
        loss, gradient = made.value_and_gradient(w, step=k)
        if k in records:
            for key, found in (("loss", loss), ("gradient", gradient), ("weights", w)):
                reference.assert_close(found, records[k][key], records[k]["tol"], f"{key} at {k}")
        w = w - case["optimizer"]["lr"] * gradient


def own_data(data):
    return Dataset("six rows", np.array(data["X"]), np.array(data["y"]), ("a", "b", "c"), "y", ("no", "yes"))


def test_plain_descent_on_mini_batches_reaches_a_loss_below_a_tenth():
    made = problem("logistic_regression", batch_size=32)
    w = made.start
    for step in range(1500):
        w -= 0.1 * made.value_and_gradient(w, step, 0)[1]
    assert made.value(w) < 0.1
    metrics = made.metrics(w)
    assert metrics["train accuracy"] > 0.97
    assert metrics["test accuracy"] > 0.93
    np.testing.assert_allclose(metrics["train loss"], made.value(w))


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_logistic_derivatives(l2):
    made = problem("logistic_regression", batch_size=0, l2=l2)
    w = np.random.default_rng(0).normal(size=31) * 0.1
    loss, gradient = made.value_and_gradient(w)
    np.testing.assert_allclose(loss, made.value(w), rtol=1e-13)
    np.testing.assert_allclose(gradient, numeric_gradient(made.value, w), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(gradient, made.gradient(np.stack([w, w]))[1], rtol=1e-13)
    x = np.column_stack([made.samples.train_x, np.ones(len(made.samples.train_y))])
    p = 1 / (1 + np.exp(-x @ w))
    expected = (x.T * (p * (1 - p))) @ x / len(x) + l2 * np.diag([1.0] * 30 + [0.0])
    np.testing.assert_allclose(made.hessian(w), expected, atol=1e-12)


def test_logistic_optimum_equals_scipys():
    made = problem("logistic_regression", batch_size=0, l2=0.01, test_fraction=0)
    w = made.start
    for _ in range(12):  # Newton's method with the program's own derivatives
        w = w - np.linalg.solve(made.hessian(w), made.gradient(w))
    x, y = made.samples.train_x, made.samples.train_y

    def loss(v):
        z = x @ v[:30] + v[30]
        return np.mean(np.logaddexp(0, z) - y * z) + 0.005 * np.sum(v[:30] ** 2)

    best = optimize.minimize(loss, np.zeros(31), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(made.value(w), best.fun, atol=1e-6)
    assert np.max(np.abs(made.gradient(w))) < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_logistic_in_low_precision(dtype):
    made = problem("logistic_regression")
    w = (np.random.default_rng(2).normal(size=31) * 0.1).astype(dtype)
    loss, gradient = made.value_and_gradient(w, 5, 1)
    exact_loss, exact = made.value_and_gradient(w.astype(np.float64), 5, 1)
    assert gradient.dtype == np.dtype(dtype)
    eps = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(loss, exact_loss, rtol=20 * eps)
    np.testing.assert_allclose(gradient.astype(float), exact, atol=30 * eps)


def test_two_classes_are_needed():
    with pytest.raises(ProblemError, match=r"iris has 3 classes.*softmax_regression"):
        problem("logistic_regression", data="iris")
    with pytest.raises(ProblemError, match="not a class"):
        problem("logistic_regression", data="diabetes")


def test_batches_without_replacement_see_every_row_once_an_epoch():
    batches = Batches(103, 10)
    assert batches.per_epoch == 11
    first = np.concatenate([batches.rows(step, 7) for step in range(11)])
    np.testing.assert_array_equal(np.sort(first), np.arange(103))
    second = np.concatenate([batches.rows(step, 7) for step in range(11, 22)])
    np.testing.assert_array_equal(np.sort(second), np.arange(103))
    assert not np.array_equal(first, second)
    # any order of asking gives the same rows
    np.testing.assert_array_equal(batches.rows(3, 7), first[30:40])
    assert not np.array_equal(Batches(103, 10).rows(3, 8), first[30:40])
    np.testing.assert_array_equal(Batches(103, 10).rows(3, 7), first[30:40])


def test_batches_with_replacement_and_whole():
    batches = Batches(50, 8, replacement=True)
    np.testing.assert_array_equal(batches.rows(4, 1), Batches(50, 8, True).rows(4, 1))
    drawn = np.concatenate([batches.rows(step, 0) for step in range(500)])
    assert drawn.min() == 0
    assert drawn.max() == 49
    assert any(len(set(batches.rows(step, 0))) < 8 for step in range(100))
    assert Batches(50, 0).rows(0, 0) is None
    assert Batches(50, 50).rows(0, 0) is None


def test_the_mean_over_an_epoch_is_the_whole_gradient():
    made = problem("logistic_regression", batch_size=65)  # 455 training rows are 7 such batches
    assert len(made.samples.train_y) == 455
    w = np.random.default_rng(0).normal(size=31)
    parts = [made.value_and_gradient(w, step, 3)[1] for step in range(7)]
    np.testing.assert_allclose(np.mean(parts, axis=0), made.gradient(w), atol=1e-12)
    np.testing.assert_allclose([made.value(w, step=2, seed=3)], [made.value_and_gradient(w, 2, 3)[0]], rtol=1e-12)
