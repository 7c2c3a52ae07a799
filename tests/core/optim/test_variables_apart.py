"""Variables that go separate ways: None under LBFGS, types of their own, no numbers at all, frozen in bare chains."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import Optimizer, parse_optimizer
from core.optim.transforms.rate import LearningRate
from tests.core.optim.test_ledger import OPTIMIZERS, assert_block_closes

LBFGS_RUN = [
    ([0.5424904213241348, -0.3897323418800547], 1.551136497169141),
    ([0.25023638971836043, -0.21957499311506795], 0.511262377574097),
    ([0.1829614473440736, -0.14314528818528335], 0.49840190619106434),
    ([0.022117901032744802, 0.030164511655213604], 0.18181796746013676),
]
"""x and y after each step by torch 2.13.0; in the third step the loss does not use y, so its gradient is None."""


def test_none_counts_as_zero_in_lbfgs_and_its_history_still_moves_the_variable() -> None:
    optimizer = parse_optimizer("torch.optim.LBFGS(params, lr=0.5, max_iter=3, history_size=4)")
    x, y = Variable(np.array([1.0, -0.5]), name="x"), Variable(2.0, name="y")

    def loss(both: bool) -> Any:
        found = (x**4).sum() + 0.3 * (x * x).sum() * (1.0 if both else 0.5)
        return found + y * y * 0.7 + x[0] * y * 0.2 if both else found

    for step, (first, second) in enumerate(LBFGS_RUN):
        ledger = optimizer.minimize(lambda both=step != 2: loss(both), [x, y])
        np.testing.assert_allclose(x.numpy(), first, rtol=1e-9)
        np.testing.assert_allclose(y.numpy(), second, rtol=1e-9)
        assert ledger[y].status == ("zero gradient" if step == 2 else "stepped")
        assert_block_closes(ledger.blocks[0])


def test_the_history_of_lbfgs_is_divided_with_its_variables() -> None:
    optimizer = parse_optimizer("torch.optim.LBFGS(params, lr=0.1, max_iter=1)")
    a, b = Variable(np.ones(3), name="a"), Variable(np.ones(2), name="b")
    for _ in range(3):
        optimizer.minimize(lambda: (a**4).sum() + (b**2).sum(), [a, b])
    b.trainable = False
    before = a.numpy().copy()
    ledger = optimizer.minimize(lambda: (a**4).sum(), [a])
    assert ledger[a].rows[-2].contribution.shape == (3,) and not np.array_equal(a.numpy(), before)


def test_a_variable_keeps_its_type_and_the_ledger_measures_what_it_holds() -> None:
    """1 - 0.001 in float32 is 1 again in bfloat16, whose numbers are 2^-8 apart below 1."""
    w = Variable(1.0, name="w", dtype="bfloat16")
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.001)")
    optimizer.store_as("float32")
    ledger = optimizer.apply_gradients([(1.0, w)])
    assert float(w.numpy()) == 1.0 and float(ledger[w].applied) == 0.0
    assert float(ledger[w].rows[-1].contribution) == 0.001
    assert ledger.figures["unmoved_share"] == 1.0


def test_a_decay_too_small_for_the_type_counts_as_lost() -> None:
    """1 - 1e-4 in float16 is 1 again (half a unit below 1 is 2^-12): two of the three weights do not move."""
    w = Variable(np.array([1.0, 0.0, 2.0], dtype=np.float16), name="w")
    optimizer = parse_optimizer("torch.optim.AdamW(p, lr=0.01, weight_decay=0.01)")
    ledger = optimizer.apply_gradients([(np.zeros(3), w)])
    assert ledger.figures["unmoved_share"] == 2 / 3


@pytest.mark.parametrize(
    "text",
    [
        *(text for text in OPTIMIZERS if "LBFGS" not in text),
        "keras.optimizers.Adafactor(0.1)",
        "keras.optimizers.Muon(0.1)",
        "optax.adafactor(0.1, min_dim_size_to_factor=1)",
        "optax.sm3(0.1)",
        "optax.novograd(0.1)",
        "optax.lars(0.1)",
        "optax.chain(optax.centralize(), optax.adaptive_grad_clip(0.1), optax.lamb(0.1))",
    ],
)
def test_variables_without_numbers_take_part_without_a_word(text: str) -> None:
    nothing, w = Variable(np.zeros((2, 0)), name="nothing"), Variable(np.ones((2, 2)), name="w")
    alone, alone_w = parse_optimizer(text), Variable(np.ones((2, 2)), name="w")
    optimizer = parse_optimizer(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            ledger = optimizer.apply_gradients([(np.zeros((2, 0)), nothing), (np.full((2, 2), 0.5), w)])
            alone.apply_gradients([(np.full((2, 2), 0.5), alone_w)])
    assert ledger[nothing].applied.shape == (2, 0)
    np.testing.assert_array_equal(w.numpy(), alone_w.numpy())


def test_a_variable_that_no_row_freezes_is_not_called_frozen() -> None:
    w = Variable(1.0, name="w", trainable=False)
    ledger = Optimizer([LearningRate(learning_rate=0.1)]).apply_gradients([(1.0, w)])
    assert ledger[w].status == "stepped" and float(ledger[w].applied) == pytest.approx(-0.1, rel=1e-15)
    held = parse_optimizer("torch.optim.SGD(p, lr=0.1)").apply_gradients([(1.0, w)])
    assert held[w].status == "frozen" and float(held[w].applied) == 0.0
