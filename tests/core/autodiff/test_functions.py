"""gradients_function, value_and_gradients_function and the implicit pair."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    Tensor,
    Variable,
    gradients_function,
    implicit_gradients,
    implicit_value_and_gradients,
    value_and_gradients_function,
)


def weighted_sum_with(w1: Variable, w2: Variable) -> Any:
    return lambda x1, x2: w1 * x1 + w2 * x2


def test_the_known_example() -> None:
    w1, w2 = Variable(2.0, name="w1"), Variable(3.0, name="w2")
    f = weighted_sum_with(w1, w2)
    value, pairs = implicit_value_and_gradients(f)(5, 7)
    assert value.item() == 31
    assert [(g.item(), v) for g, v in pairs] == [(5, w1), (7, w2)]
    assert [(g.item(), v) for g, v in implicit_gradients(f)(5, 7)] == [(5, w1), (7, w2)]
    assert [g.item() for g in gradients_function(f)(5, 7)] == [2, 3]
    value, gradients = value_and_gradients_function(f)(5, 7)
    assert value.item() == 31 and [g.item() for g in gradients] == [2, 3]
    w1.trainable = False
    assert [(g.item(), v) for g, v in implicit_gradients(f)(5, 7)] == [(7, w2)]
    w1.trainable = True
    assert len(implicit_gradients(f)(5, 7)) == 2


def test_implicit_order_is_that_of_first_use() -> None:
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)
    pairs = implicit_gradients(lambda: c * a + b * c)()
    assert [v for _, v in pairs] == [c, a, b]
    assert [g.item() for g, _ in pairs] == [3, 3, 3]


def test_a_variable_read_but_not_used_gives_none() -> None:
    a, b = Variable(1.0), Variable(2.0)
    pairs = implicit_gradients(lambda: (a * 2, b * 3)[0])()
    assert pairs[0][0].item() == 2 and pairs[1] == (None, b)


def test_params_by_number_and_name() -> None:
    def f(x: Any, y: Any, z: Any = 1.0) -> Any:
        return x * y**2 * z

    assert [g.item() for g in gradients_function(f, params=[1])(2.0, 3.0)] == [12]
    assert [g.item() for g in gradients_function(f, params=["y", "x"])(2.0, 3.0)] == [12, 9]
    assert [g.item() for g in gradients_function(f, params=(0, 2))(2.0, 3.0, 4.0)] == [36, 18]


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ([0, "y"], TypeError, "all numbers or all names"),
        (["w"], ValueError, "no argument 'w'"),
        ([5], ValueError, "argument 5"),
        ("x", TypeError, "list"),
    ],
)
def test_wrong_params(params: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        gradients_function(lambda x, y: x * y, params=params)(1.0, 2.0)


def test_other_arguments_are_passed_as_they_are() -> None:
    seen: list[Any] = []

    def f(x: Any, how: str, option: Any) -> Any:
        seen.extend([how, option])
        return x * 2

    assert gradients_function(f, params=["x"])(1.0, "fast", None)[0].item() == 2
    assert seen == ["fast", None]
    with pytest.raises(TypeError, match="params="):
        gradients_function(f)(1.0, "fast", None)


def test_the_same_array_twice_counts_as_two_arguments() -> None:
    x = np.array([2.0, 3.0])
    t = Tensor(x)
    for given in (x, t):
        first, second = gradients_function(lambda a, b: np.sum(a * b**2))(given, given)
        np.testing.assert_array_equal(first, x**2)
        np.testing.assert_array_equal(second, 2 * x * x)


def test_dy() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(gradients_function(lambda x: x * x)(x, dy=np.array([1.0, -1.0]))[0], [2, -4])


def test_integers_give_none_and_numbers_count_as_floats() -> None:
    assert gradients_function(lambda x: x * 2.0)(np.array([1, 2]))[0] is None
    assert gradients_function(lambda x: x * 2.0)(3)[0].item() == 2


def test_arguments_that_are_collections() -> None:
    parameters = {"w": np.ones((2, 2)), "b": [np.zeros(2), np.array(1.0)]}
    f = lambda p: np.sum(p["w"] @ np.ones(2) * p["b"][1] + p["b"][0])  # noqa: E731
    (found,) = gradients_function(f)(parameters)
    np.testing.assert_array_equal(found["w"], np.ones((2, 2)))
    np.testing.assert_array_equal(found["b"][0], [1, 1])
    assert found["b"][1].item() == 4


def test_second_derivative_by_applying_twice() -> None:
    first = lambda x: gradients_function(lambda y: y**4)(x)[0]  # noqa: E731
    second = lambda x: gradients_function(first)(x)[0]  # noqa: E731
    third = lambda x: gradients_function(second)(x)[0]  # noqa: E731
    assert [f(2.0).item() for f in (first, second, third)] == [32, 48, 48]


def test_functions_that_return_nothing() -> None:
    v = Variable(1.0)
    with pytest.raises(ValueError, match="returned None"):
        gradients_function(lambda x: None)(1.0)
    with pytest.raises(ValueError, match="returned None"):
        implicit_gradients(lambda: (v * 2, None)[1])()


def test_a_constant_result() -> None:
    assert gradients_function(lambda x: 3.0)(1.0) == [None]
    with pytest.raises(ValueError, match="no trainable variable"):
        implicit_gradients(lambda: 3.0)()


def test_plain_variables() -> None:
    v = Variable([[1, 2], [3, 4]], name="w", dtype="float32", trainable=False)
    assert (v.name, v.trainable, v.dtype, v.shape) == ("w", False, np.float32, (2, 2))
    v.assign(np.ones((2, 2))).assign_add(2.0 * np.ones((2, 2))).assign_sub(np.full((2, 2), 0.5))
    np.testing.assert_array_equal(v.numpy(), np.full((2, 2), 2.5, np.float32))
    copy = v.numpy()
    copy[0, 0] = 99
    assert v.numpy()[0, 0] == 2.5
    with pytest.raises(ValueError, match="shape"):
        v.assign(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        v.value[0, 0] = 1
    same = {v: 1, Variable(v): 2}
    assert same[v] == 1 and v in same and v == v and v != Variable(v.numpy())
    assert [Variable(1.0), v].index(v) == 1
    half = Variable(0.1, dtype="bfloat16")
    half.assign_add(0.2)
    assert str(half.dtype) == "bfloat16" and abs(float(half.numpy()) - 0.3) < 2e-3


def test_assign_keeps_its_own_copy() -> None:
    v, new = Variable(np.zeros(2)), np.ones(2)
    v.assign(new)
    new[0] = 7
    assert v.numpy().tolist() == [1, 1]
    v.assign(Tensor([5.0, 6.0]))
    assert v.numpy().tolist() == [5, 6]
