"""The rows of a step are the same bits whichever way they are worked out: kept, through a table, or piece by piece."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.layout import Layout
from core.optim.ledger import PIECE, STREAMED

LINES = (
    "torch.nn.utils.clip_grad_norm_(params, 1.0)\ntorch.optim.Adam(params, lr=0.01)",
    "torch.optim.AdamW(params, lr=0.01, weight_decay=0.1, amsgrad=True)",
    "torch.optim.SGD(params, lr=0.1)",
    "keras.optimizers.Ftrl(learning_rate=0.1, l1_regularization_strength=0.01)",
    "optax.chain(optax.clip(0.5), optax.trace(0.9))",
)


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("storage", ["float64", "float32"])
@pytest.mark.parametrize("size", [3, STREAMED, STREAMED + 1, PIECE, PIECE + 1, 2 * PIECE + 7])
def test_rows_do_not_depend_on_the_way_they_are_worked_out(lines: str, storage: str, size: int) -> None:
    generator = np.random.default_rng(size)
    optimizer, layout = parse_optimizer(lines), Layout(["w"], [(size,)])
    weights = generator.normal(size=size).astype(storage)
    for _ in range(3):
        ledger, weights = optimizer.step_flat(weights, generator.normal(size=size).astype(storage), layout)
    block = ledger.blocks[0]
    rows = np.full((len(optimizer.chain), size), np.nan)
    block.contributions(out=rows)
    prefixes = block.prefixes
    np.testing.assert_array_equal(rows, prefixes[1:] - prefixes[:-1])
    closed = prefixes[0] + rows.sum(axis=0)
    scale = np.abs(prefixes).max(axis=0)
    assert (np.abs(closed - block.applied) <= 4 * len(rows) * np.finfo(np.float64).eps * scale).all()
