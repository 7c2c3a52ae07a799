"""optax where gradients are not finite: what optax 0.2.8 itself gives for these lines."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import emit_optimizer, parse_optimizer
from core.optim.layout import Layout

NAN = float("nan")
RUNS = {
    "optax.chain(optax.set_to_zero(), optax.scale_by_learning_rate(0.1))": [1.0, 2.0, 3.0],
    "optax.chain(optax.scale(0.0), optax.scale_by_learning_rate(0.1))": [NAN, NAN, 3.0],
    "optax.chain(optax.masked(optax.set_to_zero(), {'a': True, 'b': False}), optax.sgd(0.1))": [1.0, 2.0, 2.9],
}
"""Weights [1, 2] of a and [3] of b after a step with the gradients [nan, inf] and [1]."""


@pytest.mark.parametrize("line", RUNS)
def test_what_is_set_to_zero_is_zero_whatever_came_in(line: str) -> None:
    optimizer = parse_optimizer(line)
    layout = Layout(["a", "b"], [(2,), (1,)])
    _, weights = optimizer.step_flat(np.array([1.0, 2.0, 3.0]), np.array([NAN, np.inf, 1.0]), layout)
    np.testing.assert_allclose(weights, RUNS[line], rtol=1e-15)


@pytest.mark.parametrize("line", RUNS)
def test_both_are_written_as_they_were_read(line: str) -> None:
    optimizer = parse_optimizer(line)
    assert parse_optimizer(emit_optimizer(optimizer, "optax"), "optax").settings() == optimizer.settings()
