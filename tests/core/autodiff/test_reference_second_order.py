"""Recorded Hessians, Hessian-vector products and Jacobians (tests/reference/autodiff_second_order.json)."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import hessian, hvp, jacobian, nn, value_and_gradients_function
from tests.reference_data import assert_close, cases, numbers


def rosenbrock(p: Any) -> Any:
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def tanh_net(inputs: dict[str, Any]) -> Any:
    x, t = numbers(inputs["X"]), numbers(inputs["t"])

    def loss(theta: Any) -> Any:
        w1, b1, w2, b2 = np.reshape(theta[:6], (3, 2)), theta[6:9], np.reshape(theta[9:12], (1, 3)), theta[12:]
        return np.mean((np.tanh(x @ w1.T + b1) @ w2.T + b2 - t) ** 2)

    return loss


@pytest.mark.parametrize("case", cases("autodiff_second_order", "hessian"), ids=lambda case: case["id"])
def test_hessian(case: dict[str, Any]) -> None:
    if "theta" in case["inputs"]:
        f, x = tanh_net(case["inputs"]), numbers(case["inputs"]["theta"])
    else:
        f, x = rosenbrock, numbers([case["inputs"]["x"], case["inputs"]["y"]])
    value, (gradient,) = value_and_gradients_function(f)(x)
    tol = case["tol"]
    assert_close(value, case["value"], tol)
    assert_close(gradient, case["gradient"], tol)
    assert_close(hessian(f)(x), case["hessian"], tol)
    vector = numbers(case["vector"])
    for product in (hvp(f)(x, vector), hvp(f, x, vector), hvp(f, x)(vector)):
        assert_close(product, case["hessian_vector_product"], tol)
    assert_close(hessian(f, x), case["hessian"], tol)


@pytest.mark.parametrize("case", cases("autodiff_second_order", "jacobian"), ids=lambda case: case["id"])
def test_jacobian(case: dict[str, Any]) -> None:
    if "A" in case["inputs"]:
        a = numbers(case["inputs"]["A"])

        def f(x: Any) -> Any:
            return nn.softmax(a @ x)
    else:

        def f(x: Any) -> Any:
            return np.stack([x[0] * x[1], np.sin(x[2]), x[0] ** 2 + x[2], np.exp(x[1] * x[2])])

    x = numbers(case["inputs"]["x"])
    assert_close(f(x), case["value"], case["tol"])
    assert_close(jacobian(f)(x), case["jacobian"], case["tol"])
