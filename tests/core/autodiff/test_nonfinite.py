"""The first operation that makes a nan or inf, where by the formula it must be; found exactly when there is one."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Variable,
    compile_gradient,
    custom_gradient,
    gradients_function,
    nn,
    trace_nonfinite,
    value_and_gradients_function,
)

ZERO_ONE = np.array([0.0, 1.0])


def second_order(x: Any) -> Any:
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x**1.5)  # slope 1.5 sqrt(x), whose slope at 0 is infinite
    return np.sum(tape.gradient(y, x))


def squared_again_and_again(x: Any) -> Any:
    for _ in range(2000):
        x = x * x * 1.5
    return np.sum(x)


@pytest.mark.parametrize(
    ("f", "x", "operation", "phase"),
    [
        (lambda x: np.sum(np.sqrt(x)), ZERO_ONE, "sqrt", "backward"),
        (lambda x: np.sum(np.arccos(x)), np.array([1.0, 0.0]), "arccos", "backward"),
        (lambda x: np.sum(1 / x), ZERO_ONE, "divide", "forward"),
        (lambda x: np.sum(np.log(x)), ZERO_ONE, "log", "forward"),
        (lambda x: np.sum((x * 0) * np.exp(x * 1000)), ZERO_ONE, "exp", "forward"),
        (lambda x: np.sum(np.exp(x)), np.array([1.0, 20.0], np.float16), "exp", "forward"),
        (lambda x: np.sum(np.exp(x)), np.array([1.0, 200.0], ml_dtypes.bfloat16), "exp", "forward"),
        (lambda x: np.sum((x @ x) @ x), np.full((2, 2), 1e200), "matmul", "forward"),
        (lambda x: -np.log(np.exp(x) / np.sum(np.exp(x)))[0], np.array([1000.0, 1.0]), "exp", "forward"),
        (squared_again_and_again, np.array([1.0, 2.0]), "multiply", "forward"),
        (second_order, ZERO_ONE, "sqrt", "backward"),
        (lambda x: [np.sum(x), np.sum(np.sqrt(x))], ZERO_ONE, "sqrt", "backward"),
        (lambda x: np.sum(x * np.inf), ZERO_ONE, "a constant operand of multiply", "argument"),
        (lambda x: x[0] + np.log(np.array(0.0)), ZERO_ONE, "a constant operand of add", "argument"),
        (lambda x: np.sum(x * 1e308) + np.sum(x * 1e308), ZERO_ONE, "sum of gradients at argument 0", "backward"),
    ],
)
def test_operation_and_phase(f: Any, x: Any, operation: str, phase: str) -> None:
    found = trace_nonfinite(f, x)
    assert found is not None
    assert (found.operation, found.phase) == (operation, phase)
    assert not np.isfinite(np.asarray(found.result)).all()
    assert all(np.isfinite(np.asarray(v)).all() for v in found.inputs)
    if found.upstream is not None:
        assert np.isfinite(np.asarray(found.upstream)).all()
    if not operation.startswith("sum"):
        assert "test_nonfinite.py, line" in found.place


def test_gradients_that_add_up_to_too_much_on_the_way() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        return y * 1e308 + y * 1e308

    found = trace_nonfinite(f, 0.0)
    assert found is not None and found.operation.startswith("sum of gradients at multiply (")
    assert str(found).startswith("the gradients that arrive at multiply (") and "add up to inf" in str(found)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.where(x > 0, 1 / x, x)),
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)),
        lambda x: np.std(x * 0),
        lambda x: np.linalg.norm(x * 0),
        lambda x: np.sum(gradients_function(lambda z: np.linalg.norm(z))(x * 0)[0] ** 2),
        lambda x: np.sum(nn.gelu(x * 1e300)),
    ],
)
def test_nothing_to_report(f: Any) -> None:
    assert trace_nonfinite(f, ZERO_ONE) is None
    assert np.isfinite(gradients_function(f)(ZERO_ONE)[0].numpy()).all()


def test_a_compiled_program_is_looked_into() -> None:
    for program in (
        compile_gradient(lambda x, s: np.sum(np.sqrt(x)) * s["a"], ZERO_ONE, {"a": np.array(2.0)}, params=[0]),
        compile_gradient(lambda x, s: np.sum(np.sqrt(x)) * s, ZERO_ONE, np.array(2.0)),
    ):
        found = trace_nonfinite(program, ZERO_ONE, {"a": np.array(2.0)} if "call" in repr(program) else np.array(2.0))
        assert found is not None and (found.operation, found.phase) == ("sqrt", "backward")


def test_variables_and_rules_of_ones_own() -> None:
    v = Variable(ZERO_ONE, name="v")
    found = trace_nonfinite(lambda: np.sum(np.sqrt(v)))
    assert found is not None and found.operation == "sqrt"
    bad = Variable([np.nan], name="bad")
    assert str(trace_nonfinite(lambda: np.sum(bad * 2))) == "the variable 'bad' is not finite already: [nan]"
    endless = custom_gradient(lambda z: (z * 2, lambda upstream: upstream * np.inf))
    found = trace_nonfinite(lambda x: endless(x) * 3, 1.0)
    assert found is not None and found.phase == "backward" and found.upstream == 3


def test_a_function_without_a_result() -> None:
    with pytest.raises(ValueError, match="returned None"):
        trace_nonfinite(lambda x: None, 1.0)


_STEPS: list[Any] = [
    np.exp, np.log, np.sqrt, np.square, np.tanh, np.reciprocal, np.abs, np.cbrt, np.arcsin, nn.softplus, nn.relu,
    lambda x: np.where(x > 0, x, 1 / x), lambda x: x[::-1] * 2, lambda x: x - np.sum(x), lambda x: x / np.max(x),
    lambda x: x * 1e150, lambda x: np.cumprod(x), lambda x: x - x, lambda x: np.maximum(x, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_found_exactly_when_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(15):
        steps = [_STEPS[k] for k in rng.integers(0, len(_STEPS), size=5)]

        def f(x: Any, steps: Any = steps) -> Any:
            for step in steps:
                x = step(x)
            return np.sum(x)

        x = rng.choice([0.0, 1.0, -1.0, 0.5, 3.0, 700.0], size=3)
        value, (gradient,) = value_and_gradients_function(f)(x)
        finite = np.isfinite(value.numpy()) and (gradient is None or np.isfinite(gradient.numpy()).all())
        found = trace_nonfinite(f, x)
        assert (found is None) == finite
        if found is not None:
            assert not np.isfinite(np.asarray(found.result)).all()
            assert all(np.isfinite(np.asarray(v)).all() for v in found.inputs)
