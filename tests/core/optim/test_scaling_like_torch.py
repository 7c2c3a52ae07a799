"""Loss scales and norms as the narrow numbers that PyTorch keeps them in: values of torch 2.13.0 itself."""

from __future__ import annotations

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import parse_optimizer

SCALES = [
    (
        "init_scale=1000.0, growth_factor=1.7, backoff_factor=0.3, growth_interval=2",
        "..x....x",
        [1000.0, 1700.0, 510.0, 510.0, 867.0, 867.0, 1473.9000244140625, 442.1700134277344],
    ),
    (
        "init_scale=1e38, growth_factor=2.0, backoff_factor=0.5, growth_interval=1",
        "..x..",
        [
            1.9999999360571385e38,
            1.9999999360571385e38,
            9.999999680285692e37,
            1.9999999360571385e38,
            1.9999999360571385e38,
        ],
    ),
]
"""Settings, the steps (x: an infinite gradient), the scale after each; it never grows to infinity."""


@pytest.mark.parametrize(("settings", "steps", "scales"), SCALES, ids=["factors", "largest"])
def test_the_scale_is_a_float32_number(settings: str, steps: str, scales: list[float]) -> None:
    optimizer = parse_optimizer(f"scaler = torch.amp.GradScaler({settings})\no = torch.optim.SGD(p, lr=1.0)")
    w = Variable(0.0, name="w")
    for step, scale in zip(steps, scales, strict=True):
        ledger = optimizer.apply_gradients([(np.inf if step == "x" else 0.0, w)])
        assert optimizer.loss_scale == scale and ledger.skipped == (step == "x")
    assert float(w.numpy()) == 0.0


def test_the_reciprocal_of_the_scale_is_a_float32_number() -> None:
    """1000 times the float32 number nearest to 1/1000 is not 1, also for float64 weights."""
    optimizer = parse_optimizer("scaler = torch.amp.GradScaler(init_scale=1000.0)\no = torch.optim.SGD(p, lr=1.0)")
    w = Variable(1.0, name="w")
    optimizer.apply_gradients([(1000.0, w)])
    assert float(w.numpy()) == -4.7497451305389404e-08


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e30), ("float16", 6e4)])
def test_a_norm_overflows_in_its_own_type(dtype: str, size: float) -> None:
    """clip_grad_norm_ then multiplies with 1/inf: the gradient is gone."""
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_norm_(p, 1.0)\no = torch.optim.SGD(p, lr=1.0)")
    optimizer.arithmetic = "variable"
    w = Variable(np.array([1.0, 2.0]), name="w", dtype=dtype)
    ledger = optimizer.apply_gradients([(np.array([size, -size]), w)])
    assert ledger.figures["gradient_norm"] == np.inf and w.numpy().tolist() == [1.0, 2.0]
