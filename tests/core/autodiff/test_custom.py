"""custom_gradient and stop_gradient."""

import gc
from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Variable,
    compile_gradient,
    custom_gradient,
    gradients_function,
    hessian,
    stop_gradient,
    value_and_gradients_function,
)


@custom_gradient
def product(x: Any, y: Any) -> Any:
    """x * y with a rule of its own, written so that it can be differentiated again."""
    return x * y, lambda g: (g * y, g * x)


@custom_gradient
def polar(r: Any, angle: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)

    def grad(gx: Any, gy: Any) -> Any:
        return gx * c + gy * s, r * (gy * c - gx * s)

    return [r * c, r * s], grad


def test_several_arguments_and_second_derivatives() -> None:
    found = gradients_function(lambda x, y: np.sum(product(x, y) ** 2))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.testing.assert_array_equal(found[0], [2 * 1 * 9, 2 * 2 * 16])
    np.testing.assert_array_equal(found[1], [2 * 1 * 3, 2 * 4 * 4])
    blocks = hessian(lambda x, y: product(x, y) * x, 3.0, 5.0)  # x**2 * y
    assert [[b.item() for b in row] for row in blocks] == [[10, 6], [6, 0]]


def test_intermediate_results_count_in_second_derivatives() -> None:
    @custom_gradient
    def exponential(x: Any) -> Any:
        e = np.exp(x)
        return e, lambda g: g * e

    assert hessian(lambda x: exponential(x) ** 2, 0.5).item() == pytest.approx(4 * np.exp(1.0), rel=1e-14)


def test_several_values() -> None:
    def loss(r: Any, angle: Any) -> Any:
        x, y = polar(r, angle)
        return np.sum(x**2 * 3 + y)

    def plain(r: Any, angle: Any) -> Any:
        return np.sum((r * np.cos(angle)) ** 2 * 3 + r * np.sin(angle))

    args = (np.array([1.0, 2.0]), np.array([0.3, -1.0]))
    for a, b in zip(gradients_function(loss)(*args), gradients_function(plain)(*args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    value, gradients = compile_gradient(loss, *args)(*args)
    expected_value, expected = value_and_gradients_function(loss)(*args)
    assert value == expected_value.item()
    for a, b in zip(gradients, expected, strict=True):
        assert a.tobytes() == b.numpy().tobytes()
    x, y = polar(1.0, 0.0)  # without tensors: plain numbers
    assert (x, y) == (1.0, 0.0)


def test_none_for_one_argument() -> None:
    @custom_gradient
    def scaled(x: Any, factor: Any) -> Any:
        return x * factor, lambda g: [g * factor, None]

    assert [g if g is None else g.item() for g in gradients_function(scaled)(2.0, 3.0)] == [3, None]


def test_upstream_is_a_tensor_also_without_outer_tapes() -> None:
    @custom_gradient
    def reversed_sign(x: Any) -> Any:
        return x, lambda g: Variable(-g.numpy(), trainable=False) * 1.0

    assert gradients_function(lambda x: reversed_sign(x) * 3)(1.0)[0].item() == -3


def test_the_value_may_share_memory_in_a_program() -> None:
    @custom_gradient
    def same(x: Any) -> Any:
        return x, lambda g: g * 2

    def f(a: Any) -> Any:
        e = np.exp(a)
        y = same(e)
        return np.sum((y + 1) * e * y)

    a = np.linspace(0, 1, 5)
    value, (g,) = compile_gradient(f, a + 1)(a)
    expected, (e,) = value_and_gradients_function(f)(a)
    assert value == expected.item() and g.tobytes() == e.numpy().tobytes()


def test_mistakes_are_explained() -> None:
    with pytest.raises(TypeError, match="must return"):
        custom_gradient(lambda x: x)(Variable(1.0))
    with pytest.raises(ValueError, match="2 gradients for 1 arguments"):
        gradients_function(custom_gradient(lambda x: (x, lambda g: [g, g])))(1.0)
    with pytest.raises(ValueError, match="shape"):
        gradients_function(custom_gradient(lambda x: (x * 2, lambda g: np.sum(g))))(np.ones(2))


def test_keyword_arguments_are_passed_on() -> None:
    @custom_gradient
    def power(x: Any, n: int = 2) -> Any:
        return x**n, lambda g: g * n * x ** (n - 1)

    assert gradients_function(lambda x: power(x, n=3))(2.0)[0].item() == 12


def test_stop_gradient_of_structures() -> None:
    a, b = stop_gradient((np.ones(2), 3.0))
    assert isinstance(a, np.ndarray) and b == 3
    x = Variable(2.0)
    with GradientTape() as tape:
        both = stop_gradient({"x": x, "y": x * x})
        y = both["x"] * x + both["y"]
    assert tape.gradient(y, x).item() == 2
    copy = stop_gradient(x)
    x.assign(5.0)
    assert copy.item() == 2


def test_no_cycles() -> None:
    gradients_function(lambda x, y: product(x, y) * x)(2.0, 3.0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            gradients_function(lambda x, y: product(x, y) * x)(2.0, 3.0)
            hessian(lambda x, y: product(x, y) * x, 3.0, 5.0)
        assert gc.collect() == 0
    finally:
        gc.enable()
