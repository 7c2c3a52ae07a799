"""Ten thousand steps leave the process's memory where it was."""

import gc
import resource
from typing import Any

import numpy as np

from core.autodiff import GradientTape, Variable


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_ten_thousand_steps_of_a_recurrent_network() -> None:
    rng = np.random.default_rng(0)
    wx, wh, b = Variable(rng.normal(size=(2, 4))), Variable(rng.normal(size=(4, 4)) * 0.3), Variable(np.zeros(4))
    x = rng.normal(size=(3, 3, 2))

    def step() -> Any:
        with GradientTape() as tape:
            h = np.tanh(x[0] @ wx + b)
            for t in range(1, 3):
                h = np.tanh(x[t] @ wx + h @ wh + b)
            loss = np.mean(h * h)
        gradients = tape.gradient(loss, [wx, wh, b])
        for v, g in zip((wx, wh, b), gradients, strict=True):
            v.assign_sub(1e-3 * g)

    for _ in range(500):
        step()
    gc.collect()
    gc.disable()
    try:
        before = _resident_bytes()
        for _ in range(10_000):
            step()
        grown = _resident_bytes() - before
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert grown < 2_000_000
