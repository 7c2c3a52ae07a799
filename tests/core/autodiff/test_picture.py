"""The picture of a computation: values and adjoints against derivatives written out by hand."""

import numpy as np
import pytest

from core.autodiff import nn
from core.autodiff.picture import picture_of


def by_text(picture):
    return {node.text: node for node in picture.nodes}


def test_values_and_adjoints_of_a_formula():
    # f = (1 - x)² + 100 (y - x²)² at (-1.2, 1): ∂f/∂x = -2(1-x) - 400 x (y-x²), ∂f/∂y = 200 (y-x²)
    picture = picture_of(lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2, -1.2, 1.0, names=["x", "y"])
    nodes = by_text(picture)
    assert nodes["x"].adjoint == pytest.approx(-2 * 2.2 + 480 * (1 - 1.44))
    assert nodes["y"].adjoint == pytest.approx(200 * (1 - 1.44))
    assert picture.nodes[-1].value == pytest.approx(2.2**2 + 100 * 0.44**2)
    assert picture.nodes[-1].adjoint == 1.0
    assert not picture.cut


def test_operands_come_before_and_levels_rise():
    picture = picture_of(lambda x: np.sin(x) * np.exp(x) + x, 0.3, names=["x"])
    for node in picture.nodes:
        assert all(i < node.number for i in node.operands)
        assert all(picture.nodes[i].level < node.level for i in node.operands)
    assert [node.label for node in picture.operations] == ["sin", "exp", "·", "+"]
    middle = picture.operations[2]
    assert middle.value == pytest.approx(np.sin(0.3) * np.exp(0.3)) and middle.adjoint == 1.0
    assert picture.operations[0].adjoint == pytest.approx(np.exp(0.3))


def test_what_the_result_does_not_need_is_left_out():
    def f(x):
        _ = np.cos(x) * 5
        return x * 2

    assert [node.label for node in picture_of(f, 1.0).operations] == ["·"]


def test_a_small_model_with_data_as_constants():
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0])
    w, b = np.array([0.1, -0.2]), 0.05
    picture = picture_of(
        lambda w, b, x, y: nn.softplus(x @ w + b).mean() - ((x @ w + b) * y).mean(),
        w, b, x, y, names=["w", "b", "X", "y"], differentiate=2,
    )  # fmt: skip
    s = 1 / (1 + np.exp(-(x @ w + b)))
    nodes = by_text(picture)
    np.testing.assert_allclose(nodes["w"].adjoint, x.T @ (s - y) / 2, rtol=1e-12)
    np.testing.assert_allclose(nodes["b"].adjoint, (s - y).mean(), rtol=1e-12)
    assert any(node.kind == "constant" and node.label == "X" for node in picture.nodes)


def test_a_result_that_is_no_scalar_is_refused():
    with pytest.raises(ValueError, match="scalar"):
        picture_of(lambda x: x * 2, np.ones(3))
    with pytest.raises(ValueError, match="scalar"):
        picture_of(lambda x: 3.0, 1.0)


def test_operations_are_written_as_in_the_code():
    """Texts by hand; the adjoints of x[:2] * x[1:] summed, at (1, 2, 3), are (2, 1 + 3, 2)."""
    picture = picture_of(lambda x: np.sum(x[:2] * x[1:]), np.array([1.0, 2.0, 3.0]), names=["x"])
    assert [node.text for node in picture.operations] == ["t1 = x[:2]", "t2 = x[1:]", "t3 = t1 · t2", "t4 = sum(t3)"]
    np.testing.assert_array_equal(picture.nodes[0].adjoint, [2, 4, 2])
    picture = picture_of(lambda x: (x.reshape(3, 1) ** 3)[..., 0][-1], np.array([1.0, 2.0, 3.0]), names=["x"])
    assert [node.text for node in picture.operations] == [
        "t1 = reshape(x, (3, 1))",
        "t2 = t1 ^ 3",
        "t3 = t2[..., 0]",
        "t4 = t3[-1]",
    ]
    np.testing.assert_array_equal(picture.nodes[0].adjoint, [0, 0, 27])


def test_the_input_itself_has_slope_one():
    (node,) = picture_of(lambda x: x, 3.0, names=["x"]).nodes
    assert (node.text, node.value, node.adjoint) == ("x", 3, 1)
