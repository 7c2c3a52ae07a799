"""TensorFlow's tape semantics, value by value (tests/reference/autodiff_tape.json)."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, custom_gradient, hessian, nn, stop_gradient
from tests.reference_data import assert_close, cases

CASES = {case["id"].rpartition("/")[2]: case["expected"] for case in cases("autodiff_tape", "tape")}
TOL = 1e-12


def same(found: Any, expected: Any) -> None:
    if expected is None:
        assert found is None
    else:
        assert_close(found, expected, TOL)


def test_persistent() -> None:
    e = CASES["persistent"]
    x = Variable(3.0)
    with GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    same(tape.gradient(z, x), e["dz/dx"])
    same(tape.gradient(y, x), e["dy/dx"])
    same(tape.gradient(z, y), e["dz/dy"])
    same(tape.gradient([y, z], x), e["d[y,z]/dx (sum)"])


def test_nested_second() -> None:
    e = CASES["nested_second"]
    x = Variable(3.0)
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    same(first, e["dy/dx"])
    same(outer.gradient(first, x), e["d2y/dx2"])


def test_nested_third() -> None:
    e = CASES["nested_third"]
    x = Variable(3.0)
    with GradientTape() as t3:
        with GradientTape() as t2:
            with GradientTape() as t1:
                y = np.sin(x) * x**3
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    d3 = t3.gradient(d2, x)
    for found, name in ((y, "y"), (d1, "d1"), (d2, "d2"), (d3, "d3")):
        same(found, e[name])


@pytest.mark.parametrize("option", ["none", "zero"])
def test_unconnected(option: str) -> None:
    e = CASES["unconnected"]
    x, y = Variable(3.0), Variable(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(y)
        z = x**2
    same(tape.gradient(z, y, unconnected_gradients=option), e[option])
    for found, expected in zip(
        tape.gradient(z, [x, y], unconnected_gradients=option), e[f"list [x, y] {option}"], strict=True
    ):
        same(found, expected)


def test_watch_constant() -> None:
    e = CASES["watch_constant"]
    for watched in (False, True):
        x = Tensor([3.0, 2.0])
        with GradientTape() as tape:
            if watched:
                tape.watch(x)
            y = np.sum(x**2)
        same(tape.gradient(y, x), e["watched" if watched else "not watched"])


def test_watch_accessed_variables_false() -> None:
    e = CASES["watch_accessed_variables_false"]
    a, b = Variable(3.0), Variable(10.0)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = np.sin(a) + a * b + nn.softplus(b)
    da, db = tape.gradient(y, [a, b])
    same(da, e["da"])
    same(db, e["db"])
    assert tape.watched_variables() == (b,)


def test_stop_recording() -> None:
    e = CASES["stop_recording"]
    x = Variable(3.0)
    with GradientTape() as tape:
        y0 = x**2
        with tape.stop_recording():
            y1 = x**3
        z = y0 + y1
    same(z, e["z"])
    same(tape.gradient(z, x), e["dz/dx"])


def test_reset() -> None:
    x = Variable(3.0)
    with GradientTape() as tape:
        y = x**2
        tape.reset()
        z = x**3 + y
    same(tape.gradient(z, x), CASES["reset"]["dz/dx"])


def test_stop_gradient() -> None:
    x = Variable(3.0)
    with GradientTape() as tape:
        y = x**2 + stop_gradient(x**3) * x
    same(tape.gradient(y, x), CASES["stop_gradient"]["dy/dx"])


def test_non_persistent_second_call() -> None:
    assert CASES["non_persistent_second_call"]["raises"] == "RuntimeError"
    x = Variable(3.0)
    with GradientTape() as tape:
        y = x**2
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_two_targets() -> None:
    e = CASES["two_targets"]
    x = Variable(2.0)
    with GradientTape(persistent=True) as tape:
        y0 = x**2
        y1 = 1 / x
    same(tape.gradient(y0, x), e["dy0/dx"])
    same(tape.gradient(y1, x), e["dy1/dx"])
    same(tape.gradient({"y0": y0, "y1": y1}, x), e["gradient of {y0, y1} (sum)"])


def test_vector_target() -> None:
    x = Variable(2.0)
    with GradientTape() as tape:
        y = x * [3.0, 4.0]
    same(tape.gradient(y, x), CASES["vector_target"]["dy/dx"])


@pytest.mark.parametrize(
    "given",
    [np.array([1.0, -1.0, 0.5]), [1.0, -1.0, 0.5], [np.array([1.0, -1.0, 0.5])]],
    ids=["array", "numbers", "list of one"],
)
def test_output_gradients(given: Any) -> None:
    x = Variable([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        y = x**2
    same(tape.gradient(y, x, output_gradients=given), CASES["output_gradients"]["dx"])


def test_assignment_not_recorded() -> None:
    x0, x1 = Variable(3.0), Variable(0.0)
    with GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    same(tape.gradient(y, x0), CASES["assignment_not_recorded"]["dy/dx0"])


def test_python_control_flow() -> None:
    e = CASES["python_control_flow"]
    x = Variable(4.0)
    with GradientTape() as tape:
        y = x**2 if x > 3 else -x
        for _ in range(3):
            y = y * x
    same(y, e["y"])
    same(tape.gradient(y, x), e["dy/dx"])


def test_dictionary_sources() -> None:
    e = CASES["dictionary_sources"]
    w, b = Variable(e["w_value"]), Variable(e["b_value"])
    x = np.array([[1.0, 2.0, 3.0]])
    with GradientTape() as tape:
        loss = np.mean((x @ w + b) ** 2)
    gradients = tape.gradient(loss, {"w": w, "b": b})
    same(loss, e["loss"])
    same(gradients["w"], e["w"])
    same(gradients["b"], e["b"])


def test_jacobian() -> None:
    x = Variable([2.0, -1.0, 0.5])
    with GradientTape() as tape:
        y = np.stack([x[0] * x[1], np.sin(x[2]), x[0] ** 2 + x[2], np.exp(x[1] * x[2])])
    same(tape.jacobian(y, x), CASES["jacobian"]["jacobian"])


def test_batch_jacobian() -> None:
    e = CASES["batch_jacobian"]
    x = Variable(e["X"])
    with GradientTape() as tape:
        y = np.stack([x[:, 0] * x[:, 1], np.sin(x[:, 0])], axis=1)
    same(tape.batch_jacobian(y, x), e["batch_jacobian"])


def test_hessian_by_nested_jacobian() -> None:
    e = CASES["hessian_by_nested_jacobian"]
    w = np.array([[1.0, -2.0], [0.5, 3.0]])
    x = Variable([1.0, 2.0])
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = np.sum(np.tanh(w @ x) ** 2)
        gradient = inner.gradient(y, x)
    same(gradient, e["gradient"])
    same(outer.jacobian(gradient, x), e["hessian"])
    same(hessian(lambda x: np.sum(np.tanh(w @ x) ** 2), np.array([1.0, 2.0])), e["hessian"])


def test_gradient_penalty() -> None:
    e = CASES["gradient_penalty"]
    x = Variable([0.3, -0.7])
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = np.sum(x**4) + x[0] * x[1]
        penalty = np.sum(inner.gradient(y, x) ** 2)
    same(penalty, e["penalty"])
    same(outer.gradient(penalty, x), e["dpenalty/dx"])


def test_custom_gradient() -> None:
    e = CASES["custom_gradient"]

    @custom_gradient
    def log1pexp(z: Any) -> Any:
        exp = np.exp(z)
        return np.log(1 + exp), lambda upstream: upstream * (1 - 1 / (1 + exp))

    def naive(z: Any) -> Any:
        return np.log(1 + np.exp(z))

    for function, z, expected in (
        (log1pexp, 100.0, e["z=100"]),
        (naive, 100.0, e["naive z=100"]),
        (naive, 1000.0, e["naive z=1000"]),
    ):
        x = Variable(z)
        with GradientTape() as tape:
            y = function(x)
        same(tape.gradient(y, x), expected)


def test_clip_gradient_by_custom_gradient() -> None:
    @custom_gradient
    def clip_gradients(y: Any) -> Any:
        def backward(dy: Any) -> Any:
            return dy * np.minimum(1.0, 0.5 / np.linalg.norm(dy))

        return y, backward

    v = Variable(2.0)
    with GradientTape() as tape:
        output = clip_gradients(v * v)
    same(tape.gradient(output, v), CASES["clip_gradient_by_custom_gradient"]["dv"])


def test_every_case_is_here() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(CASES) <= tested
