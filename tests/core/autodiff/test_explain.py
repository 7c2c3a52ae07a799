"""Every None has its reason, every nan its first operation."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Tensor,
    Variable,
    custom_gradient,
    gradients_function,
    stop_gradient,
    trace_nonfinite,
    why_none,
)

HERE = "test_explain.py, line"


def reason(compute: Any, source: Any, watch: bool = False, **options: Any) -> str:
    with GradientTape(**options) as tape:
        if watch:
            tape.watch(source)
        target = compute(source)
    assert tape.gradient(target, source) is None
    text = tape.why_none(source)
    assert "\n" not in text
    return text


def test_not_watched() -> None:
    assert "not watched" in reason(lambda x: x * 2, Tensor(1.0))


def test_not_trainable() -> None:
    assert "not trainable" in reason(lambda x: x * 2, Variable(1.0, trainable=False))


def test_watch_accessed_variables_off() -> None:
    assert "watch_accessed_variables=False" in reason(lambda x: x * 2, Variable(1.0), watch_accessed_variables=False)


def test_integer_type() -> None:
    text = reason(lambda x: x * 2, Variable(3))
    assert "integer" in text and "int64" in text


def test_not_connected() -> None:
    y = Variable(2.0)
    assert "not connected" in reason(lambda x: (x * 3, y * y)[1], Variable(1.0))


def test_computed_outside() -> None:
    v = Variable(1.0, name="weight")
    before = np.exp(v) + 1
    text = reason(lambda _: before * 2, v)
    assert "outside the tape" in text and "'weight'" in text
    other = Variable(3.0)
    assert "outside the tape" in reason(lambda _: before * other, v)


def test_assigned_inside() -> None:
    x1 = Variable(0.0, name="total")
    text = reason(lambda x0: (x1.assign_add(x0), x1**2)[1], Variable(3.0))
    assert "assigned to the variable 'total'" in text and HERE in text


def test_function_without_gradient() -> None:
    text = reason(lambda x: np.argmax(x) * 2.0, Variable([1.0, 3.0]))
    assert "argmax" in text and HERE in text
    assert "greater" in reason(lambda x: np.where(x > 0, 1.0, 2.0), Variable(1.0))
    assert "stop_gradient" in reason(lambda x: stop_gradient(x) * 2, Variable(1.0))


@pytest.mark.parametrize(
    ("compute", "how"),
    [
        (lambda x: Tensor(x.numpy() * 2.0), "numpy()"),
        (lambda x: Tensor(float(x)), "float()"),
        (lambda x: Tensor(np.asarray(x) + 1), "array"),
        (lambda x: Tensor(x.item()), "item()"),
    ],
)
def test_converted_to_plain_numpy(compute: Any, how: str) -> None:
    for source in (Variable(2.0), Tensor(2.0)):
        text = reason(compute, source, watch=True)
        assert "plain numpy" in text and how in text and HERE in text
        assert f"line {compute.__code__.co_firstlineno}" in text or "line" in text


def test_plain_target() -> None:
    assert "no tensor" in reason(lambda x: 3.0, Variable(2.0), watch=True)


def test_stop_recording() -> None:
    x = Variable(2.0)
    with GradientTape() as tape, tape.stop_recording():
        y = x * x
    assert tape.gradient(y, x) is None
    assert "stop_recording" in tape.why_none(x)


def test_custom_gradient_that_gives_none() -> None:
    @custom_gradient
    def no_slope(x: Any) -> Any:
        return x * 2, lambda g: None

    assert "no_slope" in reason(no_slope, Variable(1.0))


def test_why_none_of_a_function() -> None:
    reasons = why_none(lambda a, n, b: a * n + np.sign(b).numpy(), 2.0, np.array([1, 2]), 3.0)
    assert reasons[0] is None
    assert reasons[1] is not None and "integer" in reasons[1]
    assert reasons[2] is not None and "plain numpy" in reasons[2]
    assert why_none(lambda a, n: a * n, 2.0, np.array([1]), params=["a"]) == [None]


def test_why_none_of_variables() -> None:
    used, unused, stopped = Variable(1.0), Variable(2.0), Variable(3.0)
    reasons = why_none(lambda x: used * x + stop_gradient(stopped), 2.0, variables=[used, unused, stopped])
    assert reasons[0] is None
    assert reasons[1] is not None and "was not used" in reasons[1]
    assert reasons[2] is not None and "stop_gradient" in reasons[2]


def test_why_none_needs_a_none() -> None:
    x = Variable(1.0)
    with GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x).item() == 2
    with pytest.raises(ValueError, match="has a gradient"):
        tape.why_none(x)


def test_zeros_have_a_reason_too() -> None:
    x, y = Variable(1.0), Variable(1.0)
    with GradientTape() as tape:
        z = x * x
    assert tape.gradient(z, y, unconnected_gradients="zero").item() == 0
    assert "not used while" in tape.why_none(y)


# ---- nan and inf ------------------------------------------------------------------------------------------


def test_nan_of_the_composed_norm_comes_from_the_root() -> None:
    found = trace_nonfinite(lambda x: np.sqrt(np.sum(x**2)), np.zeros(3))
    assert found is not None
    assert (found.phase, found.operation) == ("backward", "sqrt")
    assert found.inputs[0] == 0 and found.result == np.inf and found.upstream == 1
    assert HERE in found.place and "sqrt" in str(found)


def test_inf_of_the_forward_pass() -> None:
    found = trace_nonfinite(lambda x: np.sum(x * np.log(x)), np.array([1.0, 0.0]))
    assert found is not None
    assert (found.phase, found.operation) == ("forward", "log")
    np.testing.assert_array_equal(found.inputs[0], [1.0, 0.0])
    assert HERE in str(found)


def test_overflow_far_from_the_end() -> None:
    v = Variable([800.0, 1.0], name="weights")
    found = trace_nonfinite(lambda: np.log(np.sum(np.exp(v) * 2)))
    assert found is not None
    assert (found.phase, found.operation) == ("forward", "exp")


def test_nan_in_an_argument() -> None:
    found = trace_nonfinite(lambda x: x * x, np.array([1.0, np.nan]))
    assert found is not None and found.phase == "argument" and "argument 0" in str(found)


def test_non_finite_value_with_finite_gradient() -> None:
    found = trace_nonfinite(lambda x: x + np.array(1e308) * 10 * stop_gradient(x), 2.0)
    assert found is not None and found.phase in ("forward", "argument")


def test_finite_everywhere() -> None:
    assert trace_nonfinite(lambda x: np.sum(x**2), np.ones(3)) is None


def test_a_branch_not_taken_is_not_reported() -> None:
    f = lambda x: np.where(x > 0, np.log(x), x)  # noqa: E731
    assert gradients_function(f)(0.0)[0].item() == 1
    assert trace_nonfinite(f, 0.0) is None
