"""The public cases about tapes, kinks and reductions, with their right values (tests/cases/cases_open.json)."""

import logging
from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Tensor,
    Variable,
    gradients_function,
    implicit_gradients,
    implicit_value_and_gradients,
    jacobian,
    nn,
    trace_nonfinite,
)
from tests.reference_data import public_cases


def right(case: str) -> dict[str, Any]:
    values: dict[str, Any] = public_cases()[case]["right_values"]
    return values


def test_tape_01_integers_have_no_gradient(caplog: pytest.LogCaptureFixture) -> None:
    for x, expected in ((Variable(3), None), (Variable(3.0), right("TAPE-01")["float_gradient"])):
        with GradientTape() as tape, caplog.at_level(logging.WARNING):
            tape.watch(x)
            y = x * x
        found = tape.gradient(y, x)
        assert found is None if expected is None else found.item() == expected
    assert "int64" in caplog.text


def test_tape_02_constants_are_not_watched() -> None:
    values = right("TAPE-02")
    x = Tensor(0.0)
    with GradientTape() as tape:
        y = 2 * x + 3
    assert tape.gradient(y, x) is None
    with GradientTape() as tape:
        tape.watch(x)
        y = 2 * x + 3
    assert tape.gradient(y, x).item() == values["watched"]
    v = Variable(0.0)
    with GradientTape() as tape:
        y = 2 * v + 3
    assert tape.gradient(y, v).item() == values["variable"]


def test_tape_04_only_what_is_read_inside() -> None:
    values = right("TAPE-04")
    v = Variable(1.0)
    v1 = v + 1
    for entry in (implicit_value_and_gradients, implicit_gradients):
        with pytest.raises(ValueError, match="no trainable variable was read inside the function"):
            entry(lambda: 2 * v1)()
    value, [(gradient, variable)] = implicit_value_and_gradients(lambda: 2 * (v + 1))()
    assert value.item() == values["inside_value"]
    assert gradient.item() == values["inside_grad"]
    assert variable is v


@pytest.mark.parametrize("persistent", [False, True])
def test_tape_06_used_twice(persistent: bool) -> None:
    values = right("TAPE-06")
    x = Variable(2.0)
    with GradientTape(persistent=persistent) as tape:
        y1, y2 = x**2, x**3
    assert tape.gradient(y1, x).item() == values["first"]
    if persistent:
        assert tape.gradient(y2, x).item() == values["second_persistent"]
    else:
        with pytest.raises(RuntimeError):
            tape.gradient(y2, x)


def test_tape_08_gradients_of_vectors_are_summed() -> None:
    values = right("TAPE-08")
    found = gradients_function(lambda x: x * np.array([2.0, 3.0]))(np.array([1.0]))[0]
    np.testing.assert_array_equal(found, values["vector_target"])
    x = Variable(2.0)
    with GradientTape() as tape:
        targets = [x**2, x**3]
    assert tape.gradient(targets, x).item() == values["list_target"]
    np.testing.assert_array_equal(
        jacobian(lambda x: x * np.array([2.0, 3.0]))(np.array([1.0]))[:, 0], values["jacobian"]
    )


def test_tape_11_piecewise_linear() -> None:
    values = right("TAPE-11")
    for f, first, second in (
        (lambda x: nn.relu(3 * x), "f_prime", "f_second"),
        (lambda x: x**3, "g_prime", "g_second"),
    ):
        x = Variable(1.0)
        with GradientTape() as outer:
            with GradientTape() as inner:
                y = f(x)
            d1 = inner.gradient(y, x)
        assert d1.item() == values[first]
        assert outer.gradient(d1, x, unconnected_gradients="zero").item() == values[second]


def test_ns_01_norm_at_zero() -> None:
    values = right("NS-01")
    x = np.zeros(3)
    np.testing.assert_array_equal(gradients_function(np.linalg.norm)(x)[0], values["norm_op_recommended"])
    composed = gradients_function(lambda x: np.sqrt(np.sum(x**2)))(x)[0]
    assert np.isnan(composed.numpy()).all() and values["composed_naive"] == ["nan"] * 3
    assert gradients_function(np.sqrt)(0.0)[0].item() == float(values["sqrt_at_0"])
    found = trace_nonfinite(lambda x: np.sqrt(np.sum(x**2)), x)
    assert found is not None and (found.operation, found.phase) == ("sqrt", "backward")


def test_ns_03_the_branch_not_taken() -> None:
    expected = right("NS-03")["true"]
    functions = [
        (lambda w: np.where(w > 0, 1 / w, 2 * w), 0.0),
        (lambda a: np.where(a < 15, a, 10 ** np.exp(a)), 10.0),
        (lambda y: np.where(y > 0, np.sqrt(y), y), -1.0),
    ]
    assert [gradients_function(f)(x)[0].item() for f, x in functions] == expected
    # masked inside as well, as people write it elsewhere
    twice = [
        (lambda w: np.where(w > 0, 1 / np.where(w > 0, w, 1.0), 2 * w), 0.0),
        (lambda a: np.where(a < 15, a, 10 ** np.exp(np.where(a < 15, 0.0, a))), 10.0),
        (lambda y: np.where(y > 0, np.sqrt(np.where(y > 0, y, 1.0)), y), -1.0),
    ]
    assert [gradients_function(f)(x)[0].item() for f, x in twice] == right("NS-03")["double_where"]


def test_ns_04_abs_at_zero() -> None:
    values = right("NS-04")
    slope = gradients_function(np.abs)(0.0)[0].item()
    assert slope == values["tf_torch"]
    assert -1.0 * 0.1 * slope == values["delta_l1_recommended"]
    assert values["subdifferential"][0] <= slope <= values["subdifferential"][1]


def test_ns_06_ties_share() -> None:
    values = right("NS-06")
    x = np.array([1.0, 2.0, 2.0, 2.0])
    found = gradients_function(np.max)(x)[0].numpy()
    np.testing.assert_allclose(found, values["tf_jax_torch_amax"], rtol=1e-9)
    np.testing.assert_allclose(found.sum(), values["sum_must_be"], rtol=1e-15)
    np.testing.assert_allclose(-0.3 * found, [0.0, -0.1, -0.1, -0.1], rtol=1e-15)


def test_acc_01_mean_of_means() -> None:
    values = right("ACC-01")
    # losses with these gradients in w: micro-batch A of one token, B of three
    micro = [np.array([6.0]), np.array([2.0, 2.0, 2.0])]
    means = [gradients_function(lambda w, m=m: np.mean(w * m))(1.0)[0].item() for m in micro]
    sums = [gradients_function(lambda w, m=m: np.sum(w * m))(1.0)[0].item() for m in micro]
    assert sum(means) / 2 == values["mean_of_means"]
    assert sum(sums) / 4 == values["token_weighted"]


def test_acc_03_reductions() -> None:
    values = right("ACC-03")
    x = np.array([1.0, 2.0, 3.0, 4.0])

    def losses(w: Any, reduction: str) -> Any:
        return nn.mean_squared_error(w * x, 2 * x, reduction=reduction)

    np.testing.assert_allclose(jacobian(lambda w: losses(w, "none"))(1.0), values["per_sample_grads"])
    for reduction, factor, name in (("sum", 1, "sum"), ("mean", 1, "mean"), ("mean", 0.5, "half_mean")):
        gradient = gradients_function(lambda w, r=reduction, f=factor: f * losses(w, r))(1.0)[0].item()
        assert gradient == values[f"grad_{name}"]
        assert -0.01 * gradient == pytest.approx(values[f"delta_{name}"], rel=1e-12)
