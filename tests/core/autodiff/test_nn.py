"""Building blocks of networks: stable for large inputs, losses against formulas, dropout, options."""

import math
from typing import Any

import numpy as np
import pytest

from core.autodiff import gradients_function, nn, value_and_gradients_function

LARGE = [-1e300, -1e5, -800.0, -30.0, 0.0, 30.0, 800.0, 1e5, 1e300]
FUNCTIONS: dict[str, tuple[Any, Any, Any]] = {  # function, value and slope far left and far right
    "relu": (nn.relu, (lambda x: 0, lambda x: 0), (lambda x: x, lambda x: 1)),
    "leaky_relu": (nn.leaky_relu, (lambda x: 0.01 * x, lambda x: 0.01), (lambda x: x, lambda x: 1)),
    "elu": (nn.elu, (lambda x: -1, lambda x: 0), (lambda x: x, lambda x: 1)),
    "gelu": (nn.gelu, (lambda x: 0, lambda x: 0), (lambda x: x, lambda x: 1)),
    "gelu tanh": (lambda x: nn.gelu(x, True), (lambda x: 0, lambda x: 0), (lambda x: x, lambda x: 1)),
    "silu": (nn.silu, (lambda x: 0, lambda x: 0), (lambda x: x, lambda x: 1)),
    "sigmoid": (nn.sigmoid, (lambda x: 0, lambda x: 0), (lambda x: 1, lambda x: 0)),
    "softplus": (nn.softplus, (lambda x: 0, lambda x: 0), (lambda x: x, lambda x: 1)),
    "erf": (nn.erf, (lambda x: -1, lambda x: 0), (lambda x: 1, lambda x: 0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [x for x in LARGE if x])
def test_far_out(name: str, x: float) -> None:
    f, left, right = FUNCTIONS[name]
    value, slope = right if x > 0 else left
    found, (gradient,) = value_and_gradients_function(f)(x)
    assert found.item() == pytest.approx(value(x), rel=1e-12, abs=1e-10)
    assert gradient.item() == pytest.approx(slope(x), rel=1e-10, abs=1e-9)
    plain = f(np.array([x, x]))
    assert isinstance(plain, np.ndarray) and plain.tolist() == [found.item()] * 2


def test_small_values_against_the_formulas() -> None:
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(nn.sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-14)
    np.testing.assert_allclose(nn.softplus(x), np.log(1 + np.exp(x)), rtol=1e-13)
    np.testing.assert_allclose(nn.silu(x), x / (1 + np.exp(-x)), rtol=1e-14)
    np.testing.assert_allclose(nn.elu(x, 0.7), np.where(x > 0, x, 0.7 * (np.exp(x) - 1)), rtol=1e-13)
    np.testing.assert_allclose(nn.gelu(x), [0.5 * a * (1 + math.erf(a / math.sqrt(2))) for a in x], rtol=1e-14)
    np.testing.assert_allclose(nn.gelu(x, True), nn.gelu(x), atol=5e-4)
    np.testing.assert_allclose(nn.softmax(x), np.exp(x) / np.exp(x).sum(), rtol=1e-14)
    np.testing.assert_allclose(nn.log_softmax(x), np.log(np.exp(x) / np.exp(x).sum()), rtol=1e-13)
    np.testing.assert_allclose(nn.logsumexp(x), np.log(np.exp(x).sum()), rtol=1e-14)


def test_softmax_of_huge_logits() -> None:
    z = np.array([1e4, 0.0, -1e4])
    value, (gradient,) = value_and_gradients_function(lambda z: np.sum(nn.softmax(z) * np.array([1.0, 2.0, 3.0])))(z)
    assert value.item() == 1 and gradient.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(nn.log_softmax(z), [0, -1e4, -2e4])
    assert nn.logsumexp(np.array([-1e4, -1e4])) == pytest.approx(-1e4 + math.log(2), rel=1e-15)
    with np.errstate(divide="ignore"):
        assert nn.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    rows = nn.softmax(np.arange(6.0).reshape(2, 3), axis=0)
    np.testing.assert_allclose(rows.sum(axis=0), 1, rtol=1e-15)


def test_integers_and_lists_are_taken_as_floats() -> None:
    assert nn.relu([-1, 2]).tolist() == [0, 2]
    assert nn.sigmoid(np.array([0])).dtype == np.float64
    assert nn.relu(np.array([1.0], dtype=np.float32)).dtype == np.float32
    assert nn.softmax(np.array([1.0, 2.0], dtype=np.float32)).dtype == np.float32


# ---- losses -----------------------------------------------------------------------------------------------


def test_mean_squared_error() -> None:
    p, t = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.0, 1.0])
    assert nn.mean_squared_error(p, t) == pytest.approx(10 / 3)
    assert nn.mean_squared_error(p, t, "sum") == 10
    assert nn.mean_squared_error(p, t, reduction="none").tolist() == [1, 0, 9]
    np.testing.assert_allclose(gradients_function(nn.mean_squared_error, [0])(p, t)[0], [2 / 3, 0, 2], rtol=1e-15)


def test_huber() -> None:
    r = np.array([-3.0, -1.5, -0.5, 0.0, 1.0, 1.5, 40.0])
    expected = [1.5 * (abs(a) - 0.75) if abs(a) > 1.5 else a * a / 2 for a in r]
    np.testing.assert_allclose(nn.huber(r, 0.0, 1.5, "none"), expected, rtol=1e-15)
    slopes = gradients_function(lambda r: nn.huber(r, 0.0, 1.5, "sum"))(r)[0]
    np.testing.assert_array_equal(slopes, np.clip(r, -1.5, 1.5))


def test_softmax_cross_entropy() -> None:
    z = np.array([[1.0, 2.0, 0.5], [1000.0, 0.0, -1000.0]])
    labels = np.array([2, 1])
    one_hot = np.eye(3)[labels]
    p = np.exp(z[0]) / np.exp(z[0]).sum()
    expected = [-np.log(p[2]), 1000.0]
    for given in (labels, one_hot, labels.tolist()):
        np.testing.assert_allclose(nn.softmax_cross_entropy(z, given, reduction="none"), expected, rtol=1e-14)
        gradient = gradients_function(lambda z, g=given: nn.softmax_cross_entropy(z, g))(z)[0]
        np.testing.assert_allclose(gradient, (np.stack([p, [1.0, 0, 0]]) - one_hot) / 2, rtol=1e-13, atol=1e-16)
    assert nn.softmax_cross_entropy(z.T, labels, axis=0, reduction="sum") == pytest.approx(sum(expected))
    with pytest.raises(ValueError, match="labels of shape"):
        nn.softmax_cross_entropy(z, np.ones((2, 2)))


@pytest.mark.parametrize("y", [0.0, 1.0, 0.3])
def test_sigmoid_cross_entropy(y: float) -> None:
    for z in (-1e5, -40.0, -2.0, 0.0, 1.0, 40.0, 1e5):
        value, (gradient,) = value_and_gradients_function(nn.sigmoid_cross_entropy, [0])(z, y)
        expected = y * np.logaddexp(0, -z) + (1 - y) * np.logaddexp(0, z)
        assert value.item() == pytest.approx(expected, rel=1e-13, abs=1e-300)
        slope = (1 - y) / (1 + np.exp(-min(max(z, -700), 700))) - y / (1 + np.exp(min(max(z, -700), 700)))
        assert gradient.item() == pytest.approx(slope, rel=1e-12, abs=1e-300)


def test_unknown_reduction() -> None:
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        nn.mean_squared_error(1.0, 2.0, reduction="average")


# ---- dropout ----------------------------------------------------------------------------------------------


def test_dropout() -> None:
    x = np.ones(100_000)
    out = nn.dropout(x, 0.25, seed=7)
    assert set(np.unique(out)) == {0.0, 1 / 0.75}
    assert np.mean(out == 0) == pytest.approx(0.25, abs=0.01)
    np.testing.assert_array_equal(out, nn.dropout(x, 0.25, seed=7))
    assert (out != nn.dropout(x, 0.25, seed=8)).any()
    np.testing.assert_array_equal(gradients_function(lambda x: np.sum(nn.dropout(x, 0.25, seed=7)))(x)[0], out)
    assert nn.dropout(x, 0.25, seed=7, training=False) is x
    with pytest.raises(ValueError, match="rate"):
        nn.dropout(x, 1.0, seed=0)


def test_layer_norm_and_batch_norm_normalise() -> None:
    x = np.random.default_rng(0).normal(3, 2, (50, 4))
    y = nn.batch_norm(x, epsilon=0.0)
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(y.std(axis=0), 1, rtol=1e-13)
    z = nn.layer_norm(x, np.full(4, 2.0), np.ones(4), epsilon=0.0)
    np.testing.assert_allclose(z.mean(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(z.std(axis=1), 2, rtol=1e-12)
    frozen = nn.batch_norm(x, moving_mean=np.full(4, 3.0), moving_variance=np.full(4, 4.0), training=False, epsilon=0.0)
    np.testing.assert_allclose(frozen, (x - 3) / 2, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda z: nn.softmax_cross_entropy(z, [0, 1, 2, 3, 4]), "from 0 to 3, 4 was given"),
        (lambda z: nn.softmax_cross_entropy(z, [0, 1, 2, 3, -1]), "from 0 to 3, -1 was given"),
        (lambda z: nn.softmax_cross_entropy(z, [[0, 1, 2], [1, 1, 1]]), r"shape \(2, 3\) .* for each example"),
        (lambda z: nn.huber(z, z, -1.0), "delta must be positive"),
    ],
)
def test_wrong_labels_and_settings_are_named(call: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call(np.ones((5, 4)))


def test_normalisation_in_half_precision_does_not_overflow() -> None:
    x = np.array([300.0, -300.0, 0.0, 5e4], dtype=np.float16)  # squares above 65504 are infinite in float16
    weight = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float16)
    for normal in (nn.layer_norm, nn.batch_norm):
        value, (gradient,) = value_and_gradients_function(lambda x, f=normal: np.sum(f(x) * weight))(x)
        exact, (slope,) = value_and_gradients_function(lambda x, f=normal: np.sum(f(x) * weight))(x.astype(float))
        assert value.dtype == gradient.dtype == np.float16
        np.testing.assert_allclose(float(value), float(exact), rtol=2e-3)
        np.testing.assert_allclose(np.asarray(gradient, float), np.asarray(slope), rtol=2e-2, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [40.0, 1e4, 6e4, np.inf])
def test_activations_far_out_are_their_limits(dtype: Any, size: float) -> None:
    x = np.array([size, -size], dtype=dtype)
    big = x[0]
    for f, limits, slopes in (
        (nn.relu, [big, 0], [1, 0]), (nn.elu, [big, -1], [1, 0]), (nn.gelu, [big, 0], [1, 0]),
        (lambda x: nn.gelu(x, True), [big, 0], [1, 0]), (nn.silu, [big, 0], [1, 0]), (nn.sigmoid, [1, 0], [0, 0]),
        (nn.softplus, [big, 0], [1, 0]), (nn.erf, [1, -1], [0, 0]),
        (lambda x: nn.sigmoid_cross_entropy(x, dtype(0), "none"), [big, 0], [1, 0]),
        (lambda x: nn.sigmoid_cross_entropy(x, dtype(1), "none"), [0, big], [0, -1]),
    ):  # fmt: skip
        value, (gradient,) = value_and_gradients_function(f)(x)
        assert value.dtype == gradient.dtype == dtype
        np.testing.assert_allclose(np.asarray(value, float), np.array(limits, float), atol=1e-15)
        np.testing.assert_allclose(np.asarray(gradient, float), np.array(slopes, float), atol=1e-15)
        total = gradients_function(lambda x, f=f: np.sum(gradients_function(f)(x)[0]))(x)[0]
        assert total is None or np.all(np.abs(np.asarray(total, float)) < 1e-15)


def test_tails_keep_their_digits() -> None:
    # gelu(-10) = -10 * Phi(-10), Phi(-10) = 7.619853024160527e-24; d elu(x) = exp(x)
    np.testing.assert_allclose(nn.gelu(np.array(-10.0)), -7.619853024160527e-23, rtol=1e-12)
    np.testing.assert_allclose(gradients_function(nn.elu)(-30.0)[0], np.exp(-30.0), rtol=1e-14)
