"""PyTorch at the edges: rates of zero, moving momenta, gradients beyond the numbers; against runs of PyTorch itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.pairs import SparseRows
from core.optim.transforms.orthogonalise import newton_schulz

DATA = json.loads((Path(__file__).parent / "data" / "torch_more.json").read_text(encoding="utf-8"))


def numbers(values: list[Any]) -> Array:
    return np.array([float(value) for value in values])


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["id"])
def test_weights_are_those_of_pytorch(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["lines"])
    layout = Layout([f"v{i}" for i in range(len(case["shapes"]))], [tuple(shape) for shape in case["shapes"]])
    weights = numbers(case["start"])
    for k, (gradient, expected) in enumerate(zip(case["gradients"], case["weights"], strict=True)):
        _, weights = optimizer.step_flat(weights, numbers(gradient), layout)
        np.testing.assert_allclose(weights, numbers(expected), rtol=1e-10, atol=1e-12, err_msg=f"step {k}")


def test_rows_of_sparse_gradients_with_a_second_moment_without_memory() -> None:
    case = DATA["sparse"]
    shape = tuple(case["shape"])
    optimizer, w = parse_optimizer(case["lines"]), Variable(numbers(case["start"]).reshape(shape), name="w")
    for rows, values, expected in zip(case["rows"], case["values"], case["weights"], strict=True):
        optimizer.apply_gradients([(SparseRows(rows, values, shape), w)])
        np.testing.assert_allclose(w.numpy().reshape(-1), numbers(expected), rtol=1e-10)


CENTRED = {
    10: [-0.5732953039786115, 0.07329569590300691, -0.8232958027915755],
    30: [-1117.5354075694129, 1117.4439139326805, -1118.3054288570336],
    52: [-1134838.3607415857, 1419179.4397327788, -1725122.357730307],
    60: [-2759676.7979439422, float("nan"), float("nan")],
}
"""Weights after so many steps with one and the same gradient, by torch 2.13.0 on a processor with fused products."""


def test_centred_rmsprop_breaks_down_on_a_constant_gradient_as_in_pytorch() -> None:
    """The variance v - a² falls to what rounding leaves, and then below 0."""
    optimizer = parse_optimizer("torch.optim.RMSprop(params, lr=0.01, alpha=0.5, centered=True)")
    layout, weights = Layout(["w"], [(3,)]), np.array([0.5, -1.0, 0.25])
    for step in range(1, 61):
        _, weights = optimizer.step_flat(weights, np.array([0.3, -0.7, 1.1]), layout)
        if step in CENTRED:
            np.testing.assert_allclose(weights, CENTRED[step], rtol=1e-10, err_msg=f"step {step}")


@pytest.mark.parametrize(("matrix", "expected"), DATA["orthogonal"], ids=lambda part: f"{len(part)}x{len(part[0])}")
def test_muon_orthogonalises_to_the_last_bit_of_bfloat16(matrix: list[Any], expected: list[Any]) -> None:
    """Five steps of torch.optim.Muon's iteration: products summed in float32, rounded once with what they join."""
    found = newton_schulz(np.array(matrix), [[3.4445, -4.775, 2.0315]] * 5, 1e-7, "floored", "bfloat16")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", DATA["lbfgs"], ids=lambda case: case["lines"])
def test_lbfgs_stops_and_searches_where_pytorch_does(case: dict[str, Any]) -> None:
    def evaluate(w: Array) -> tuple[float, Array]:
        return float((w**4).sum() + 0.1 * (w * w).sum()), 4.0 * w**3 + 0.2 * w

    optimizer, layout, weights = parse_optimizer(case["lines"]), Layout(["w"], [(3,)]), numbers(case["start"])
    for expected in case["weights"]:
        loss, gradient = evaluate(weights)
        _, weights = optimizer.step_flat(weights, gradient, layout, loss=loss, evaluate=evaluate)
        np.testing.assert_allclose(weights, numbers(expected), rtol=1e-7, atol=1e-10)
