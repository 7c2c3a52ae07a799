"""Batch normalisation: recorded statistics, the public cases, and the split of the gradient."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Variable, compile_gradient, gradients_function, nn, value_and_gradients_function
from tests.reference_data import assert_close, cases, numbers, public_cases


def test_moving_statistics() -> None:
    (case,) = cases("autodiff_batch_norm_statistics")
    torch_mean, torch_var = np.zeros(3), np.ones(3)
    keras_mean, keras_var = np.zeros(3), np.ones(3)
    for step in case["steps"]:
        x = numbers(step["x"])
        assert_close(nn.batch_norm(x), step["output_eps_1e-5"], 1e-10)
        torch_mean, torch_var = nn.moving_statistics(torch_mean, torch_var, x)
        keras_mean, keras_var = nn.moving_statistics(keras_mean, keras_var, x, momentum=0.01, unbiased=False)
        assert_close(torch_mean, step["torch_running_mean"], 1e-10)
        assert_close(torch_var, step["torch_running_var"], 1e-10)
        assert_close(keras_mean, step["keras_moving_mean"], 1e-10)
        assert_close(keras_var, step["keras_moving_variance"], 1e-10)


def test_bn_01_sum_of_the_output_has_no_gradient() -> None:
    right = public_cases()["BN-01"]["right_values"]
    x, gamma, beta = Variable([[1.0], [2.0], [4.0]]), Variable([1.0]), Variable([0.0])
    with GradientTape() as tape:
        y = nn.batch_norm(x, gamma, beta, epsilon=0.0)
        loss = np.sum(y)
    dx, dgamma, dbeta = tape.gradient(loss, [x, gamma, beta])
    np.testing.assert_allclose(y.numpy().ravel(), right["y"], rtol=1e-6)
    np.testing.assert_allclose(loss, right["loss"], atol=1e-12)
    np.testing.assert_allclose(dx.numpy().ravel(), right["grad_x"], atol=1e-12)
    np.testing.assert_allclose(dbeta, [right["grad_beta"]], rtol=1e-12)
    np.testing.assert_allclose(dgamma, [right["grad_gamma"]], atol=1e-12)
    shift = gradients_function(lambda s: np.sum(nn.batch_norm(np.array([[1.0], [2.0], [4.0]]) + s, epsilon=0.0)))(3.0)
    np.testing.assert_allclose(shift[0], right["grad_of_constant_shift_before_bn"], atol=1e-12)


def test_bn_03_one_sample() -> None:
    right = public_cases()["BN-03"]["right_values"]
    x, gamma, beta = Variable([[5.0]]), Variable([2.0]), Variable([0.5])
    with GradientTape() as tape:
        y = nn.batch_norm(x, gamma, beta)
        loss = np.sum((y - 1) ** 2)
    dx, dgamma, dbeta = tape.gradient(loss, [x, gamma, beta])
    assert y.item() == right["y"]
    assert dx.item() == right["grad_x"]
    assert dgamma.item() == right["grad_gamma"]
    assert dbeta.item() == right["grad_beta"]


def test_bn_05_no_division_by_the_batch() -> None:
    right = public_cases()["BN-05"]["right_values"]
    x = np.array([[1.0], [2.0], [4.0]])

    def output(gamma: Any, beta: Any) -> Any:
        return nn.batch_norm(x, gamma, beta, epsilon=0.0)

    one, zero = np.array([1.0]), np.array([0.0])
    both = gradients_function(output)
    assert both(one, zero, dy=np.ones((3, 1)))[1].item() == right["d_beta_sum_loss"]
    np.testing.assert_allclose(both(one, zero, dy=np.full((3, 1), 1 / 3))[1], [right["d_beta_mean_loss"]], rtol=1e-12)
    np.testing.assert_allclose(
        both(one, zero, dy=np.array([[1.0], [0], [0]]))[0], [right["d_gamma_[1,0,0]"]], rtol=1e-6
    )


def _loss(x: Any, gamma: Any, beta: Any) -> Any:
    return np.sum(np.tanh(nn.batch_norm(x @ np.array([[1.0, -0.5], [0.3, 2.0]]), gamma, beta)) ** 2)


ARGUMENTS = (np.array([[0.1, 0.7], [-0.4, 1.2], [0.9, -1.1], [0.3, 0.2]]), np.array([1.2, 0.8]), np.array([0.1, -0.3]))


def test_the_split_adds_up_and_holds_the_statistics() -> None:
    split = nn.split_gradient(_loss)(*ARGUMENTS)
    value, full = value_and_gradients_function(_loss)(*ARGUMENTS)
    assert split.value.item() == value.item()
    for held, through, whole in zip(split.held, split.through, full, strict=True):
        np.testing.assert_allclose(held + through, whole, rtol=1e-14, atol=1e-16)
    # with the statistics as plain numbers the gradient is that of a fixed affine map
    x, gamma, beta = ARGUMENTS
    h = x @ np.array([[1.0, -0.5], [0.3, 2.0]])
    mean, root = h.mean(axis=0), np.sqrt(h.var(axis=0) + 1e-5)
    fixed = gradients_function(
        lambda x: np.sum(np.tanh((x @ np.array([[1.0, -0.5], [0.3, 2.0]]) - mean) / root * gamma + beta) ** 2)
    )(x)[0]
    np.testing.assert_allclose(split.held[0], fixed, rtol=1e-12)
    assert np.abs(split.through[0]).max() > 0.01
    np.testing.assert_allclose(split.through[1], 0, atol=1e-15)  # gamma and beta act after the statistics


def test_compiled_with_statistics_held() -> None:
    program = compile_gradient(nn.hold_statistics(_loss), *ARGUMENTS)
    _, gradients = program(*ARGUMENTS)
    for a, b in zip(gradients, nn.split_gradient(_loss)(*ARGUMENTS).held, strict=True):
        assert a.tobytes() == b.numpy().tobytes()


def test_holding_ends_with_the_block_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), nn.statistics_held_constant():
        raise ZeroDivisionError
    whole = value_and_gradients_function(_loss)(*ARGUMENTS)[1][0]
    np.testing.assert_array_equal(nn.split_gradient(_loss)(*ARGUMENTS).full[0], whole)


def test_inference_needs_statistics() -> None:
    with pytest.raises(ValueError, match="moving_mean"):
        nn.batch_norm(np.ones((3, 2)), training=False)
