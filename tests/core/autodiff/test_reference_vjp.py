"""Every recorded vector-Jacobian product of TensorFlow, PyTorch and JAX (tests/reference/autodiff_vjp.json)."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, compile_gradient, value_and_gradients_function
from tests.core.autodiff.reference_ops import OPERATIONS
from tests.reference_data import assert_close, cases, numbers

CASES = cases("autodiff_vjp", "vjp")
# where the frameworks differ, whose convention is ours (docs/autodiff.md, 'Kinks and ties')
OUR_CONVENTION = {
    "power/zero_base": "torch",
    "power/zero_base_scalar_0": "torch",
    "maximum/ties": "jax+torch",
    "minimum/ties": "jax+torch",
    "relu_as_maximum/at_zero": "tensorflow+torch",
    "abs/at_zero": "tensorflow+torch",
    "leaky_relu/at_zero": "tensorflow+torch",
    "clip/edges": "tensorflow+torch",
    "where_sqrt_trap": "tensorflow",
    "max/ties_axis1_max_dim": "jax+tensorflow",
    "std/zero_variance": "torch",
    "norm/l2_at_zero": "torch",
    "norm/l1": "tensorflow+torch",
    "cumprod/with_zero": "jax+torch",
    "sigmoid_cross_entropy": "tensorflow+torch",
    "hinge/tie": "torch",
}


def expected_gradients(case: dict[str, Any]) -> Any:
    if case["grads"] is not None:
        return case["grads"]
    return case["by_framework"][OUR_CONVENTION[case["id"].removeprefix("autodiff/vjp/")]]["grads"]


def inputs_of(case: dict[str, Any]) -> list[Any]:
    return [numbers(x) for x in case["inputs"]]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_value_and_gradient(case: dict[str, Any]) -> None:
    function = OPERATIONS[case["op"]](case["args"])
    sources = [Tensor(x) for x in inputs_of(case)]
    with GradientTape() as tape:
        tape.watch(sources)
        out = function(*sources)
    assert_close(out, case["output"], case["tol"], "value")
    gradients = tape.gradient(out, sources, output_gradients=numbers(case["upstream"]))
    for k, (found, expected) in enumerate(zip(gradients, expected_gradients(case), strict=True)):
        assert_close(found, expected, case["tol"], f"gradient {k}")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_compiled_program_gives_the_same_bits(case: dict[str, Any]) -> None:
    function = OPERATIONS[case["op"]](case["args"])
    upstream = numbers(case["upstream"])

    def weighted(*args: Any) -> Any:
        return np.sum(function(*args) * upstream)

    args = inputs_of(case)
    value, gradients = value_and_gradients_function(weighted)(*args)
    program = compile_gradient(weighted, *(x + 1.0 for x in args))  # traced at another point
    value_2, gradients_2 = program(*args)
    assert np.asarray(value).tobytes() == np.asarray(value_2).tobytes()
    for a, b in zip(gradients, gradients_2, strict=True):
        assert (a is None) == (b is None)
        assert a is None or np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_every_difference_between_frameworks_has_a_convention() -> None:
    differing = {case["id"].removeprefix("autodiff/vjp/") for case in CASES if case["grads"] is None}
    assert differing == set(OUR_CONVENTION)
