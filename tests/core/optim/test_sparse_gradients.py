"""Gradients of embeddings: what TensorFlow 2.21, Keras 3.15 and PyTorch 2.13 make of three steps with them."""

from types import SimpleNamespace

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import SparseRows, parse_optimizer

# three rows at 1; row 0 is used in the first step, row 1 in the next two, each with gradient 1 (float64, recorded)
RECORDED = [
    ("tf.compat.v1.train.GradientDescentOptimizer(0.1)", [0.9, 0.8, 1.0]),
    ("tf.compat.v1.train.AdagradOptimizer(0.1)", [0.90465374, 0.83564718, 1.0]),
    ("tf.compat.v1.train.AdamOptimizer(0.1)", [0.78119913, 0.83974095, 1.0]),
    ("keras.optimizers.SGD(0.1, momentum=0.9)", [0.72900001, 0.71, 1.0]),
    ("keras.optimizers.AdamW(0.1, weight_decay=0.1)", [0.75415966, 0.81078468, 0.970299]),
    ("torch.optim.SGD(p, lr=0.1, momentum=0.9)", [0.729, 0.71, 1.0]),
    ("torch.optim.Adagrad(p, lr=0.1)", [0.9, 0.82928932, 1.0]),
    ("torch.optim.SparseAdam(p, lr=0.1)", [0.90000003, 0.8397401, 1.0]),
]


@pytest.mark.parametrize(("line", "weights"), RECORDED, ids=[line.split("(")[0] for line, _ in RECORDED])
def test_rows_that_were_not_looked_up_do_what_they_do_in_the_framework(line: str, weights: list[float]) -> None:
    optimizer, table = parse_optimizer(line), Variable(np.ones((3, 1)), name="table")
    for row in (0, 1, 1):
        optimizer.apply_gradients([(SparseRows([row], [[1.0]], (3, 1)), table)])
    # Keras and TF1 work out the powers of beta in float32
    np.testing.assert_allclose(table.numpy().ravel(), weights, rtol=5e-6)


@pytest.mark.parametrize(
    "line",
    ["MomentumOptimizer(0.1, 0.9)", "RMSPropOptimizer(0.1)", "FtrlOptimizer(0.1)", "AdadeltaOptimizer(1.0)"],
)
def test_where_tf1_leaves_unused_rows_alone_it_is_refused_before_anything_moves(line: str) -> None:
    # TF 2.21 gives Momentum's rows 0.9, 0.71, 1.0 there; zeros in the gradient would give 0.729, 0.71, 1.0
    optimizer, table = parse_optimizer(f"tf.compat.v1.train.{line}"), Variable(np.ones((3, 1)), name="table")
    with pytest.raises(SettingError, match="leaves rows without a gradient alone"):
        optimizer.apply_gradients([(SparseRows([0], [[1.0]], (3, 1)), table)])
    assert table.numpy().ravel().tolist() == [1.0, 1.0, 1.0]


def test_anything_with_indices_and_values_will_do() -> None:
    slices = SimpleNamespace(indices=np.array([2, 2]), values=np.array([[1.0], [2.0]]))
    table = Variable(np.zeros((3, 1)), name="table")
    parse_optimizer("torch.optim.SGD(p, lr=0.1)").apply_gradients([(slices, table)])
    np.testing.assert_allclose(table.numpy().ravel(), [0.0, 0.0, -0.3])
