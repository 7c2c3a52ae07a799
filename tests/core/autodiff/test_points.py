"""Many points by leading axes: each point's own value and gradient, and functions that mix points found out."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import at_points, compile_gradient, gradients_function, nn, value_and_gradients_function


def rosenbrock(p: Any) -> Any:
    return (1 - p[..., 0]) ** 2 + 100 * (p[..., 1] - p[..., 0] ** 2) ** 2


def network(w: Any, v: Any, x: Any, y: Any) -> Any:
    """w (..., 2, 4), v (..., 4): the loss of each of many networks on the same rows."""
    h = np.tanh(x @ w)
    return np.mean(np.square((h @ v[..., None])[..., 0] - y), axis=-1) + 0.1 * np.sum(w**2, axis=(-2, -1))


def test_a_grid() -> None:
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 5), np.linspace(-1, 3, 4)), axis=-1)
    values, (gradients,) = at_points(rosenbrock)(grid)
    compiled, (slopes,) = compile_gradient(rosenbrock, grid)(grid)
    np.testing.assert_array_equal(values.numpy(), compiled)
    np.testing.assert_array_equal(gradients.numpy(), slopes)
    x, y = grid[..., 0], grid[..., 1]
    np.testing.assert_allclose(values.numpy(), (1 - x) ** 2 + 100 * (y - x**2) ** 2, rtol=1e-14)
    expected = np.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], axis=-1)
    np.testing.assert_allclose(gradients.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_an_ensemble_of_networks() -> None:
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 4))
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    values, gradients = at_points(network, axes=[2, 1], params=[0, 1])(w, v, x, y)
    for k in range(3):
        value, slopes = value_and_gradients_function(network, params=[0, 1])(w[k], v[k], x, y)
        np.testing.assert_allclose(values.numpy()[k], value.numpy(), rtol=1e-13)
        for many, one in zip(gradients, slopes, strict=True):
            np.testing.assert_allclose(many.numpy()[k], one.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "mixing",
    [
        lambda p: np.sum((p - np.mean(p, axis=0)) ** 2, axis=-1),
        lambda p: np.sum(p**2, axis=-1) / np.max(p),
        lambda p: np.sum(nn.batch_norm(p) ** 3, axis=-1),
        lambda p: np.sum(np.sort(p, axis=0), axis=-1),
        lambda p: np.cumsum(np.sum(p, axis=-1)),
        lambda p: np.sum(p, axis=-1)[..., ::-1] if p.ndim > 1 else np.sum(p),
        lambda p: np.sum(p, axis=-1) + 0 * np.sum(p) + np.sum(p**2) * 1e-3,
    ],
)
def test_functions_that_mix_points(mixing: Any) -> None:
    points = np.random.default_rng(1).normal(size=(7, 2)) + 3
    with pytest.raises((ValueError, IndexError), match=r"the function mixes points|index"):
        at_points(mixing)(points)


@pytest.mark.parametrize("f", [lambda p: np.sum(p**2), lambda p: p**2, lambda p: np.sum(p**2, axis=0)])
def test_reductions_over_the_wrong_axes(f: Any) -> None:
    with pytest.raises(ValueError, match="reduce over the trailing"):
        at_points(f)(np.ones((4, 5, 2)))


def test_one_point_and_other_corners() -> None:
    value, (gradient,) = at_points(rosenbrock)(np.array([1.0, 1.0]))
    assert value.item() == 0 and gradient.tolist() == [0, 0]
    assert at_points(rosenbrock)(np.zeros((0, 2)))[0].shape == (0,)
    values, (gradient,) = at_points(np.square, axes=0)(np.array([1.0, 2.0]))
    assert values.tolist() == [1, 4] and gradient.tolist() == [2, 4]
    with pytest.raises(ValueError, match="different leading axes"):
        at_points(lambda a, b: np.sum(a, -1) + np.sum(b, -1))(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="axes has 1 numbers for 2"):
        at_points(lambda a, b: a, axes=[1])(np.ones((3, 2)), np.ones((3, 2)))
    low = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    f = lambda p: np.sum(np.exp(p) * 3, axis=-1)  # noqa: E731
    assert at_points(f)(low)[1][0].numpy().tobytes() == gradients_function(f)(low)[0].numpy().tobytes()
