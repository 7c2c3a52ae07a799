"""Microseconds per step of Adam behind a gradient clip, with the full ledger, against PyTorch, optax and numpy by hand.

Run ``python benchmarks/optimizers.py``. The rivals are the optional extra ``bench``; what is not installed is left
out and said so. All compute in float64. Ours takes the step and works out every ledger row; 'numpy by hand' writes
the same rows with nothing around them; PyTorch eager clips and steps, without any rows; optax is jitted and its new
weights read back to numpy. Every result is checked against the one written by hand before anything is timed. The
ways are timed in turns, so that a busy machine hits all alike; the figure is the fastest turn.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.optim import parse_optimizer
from core.optim.layout import Layout

LR, BETA1, BETA2, EPS, LIMIT = 1e-3, 0.9, 0.999, 1e-8, 1.0
LINES = f"torch.nn.utils.clip_grad_norm_(params, {LIMIT})\ntorch.optim.Adam(params, lr={LR})"
Step = Callable[[], Any]


def ours(weights: Any, gradient: Any) -> Step:
    optimizer, layout = parse_optimizer(LINES), Layout(["w"], [(len(weights),)])
    rows = np.empty((len(optimizer.chain), len(weights)))
    state = [weights]

    def step() -> Any:
        ledger, state[0] = optimizer.step_flat(state[0], gradient, layout)
        ledger.blocks[0].contributions(out=rows)
        return state[0]

    return step


def by_hand(weights: Any, gradient: Any) -> Step:
    """The same arithmetic and the same rows: clip, first moment, its correction, second moment, its correction,
    learning rate, rounding."""
    rows = np.empty((7, len(weights)))
    zeros = np.zeros_like(weights)
    state: list[Any] = [weights, zeros, zeros, 0]

    def step() -> Any:
        w, m, v, t = state
        t += 1
        with np.errstate(all="ignore"):
            norm = math.sqrt(float(np.dot(gradient, gradient)))
            factor = min(1.0, LIMIT / (norm + 1e-6))
            d = gradient * -LR
            u = gradient if factor == 1.0 else gradient * factor
            now = u * -LR
            np.subtract(now, d, out=rows[0])
            d = now
            m = m * BETA1 + u * (1.0 - BETA1)
            now = m * -LR
            np.subtract(now, d, out=rows[1])
            d = now
            hat = m / (1.0 - BETA1**t)
            now = hat * -LR
            np.subtract(now, d, out=rows[2])
            d = now
            v = v * BETA2 + u * u * (1.0 - BETA2)
            root = np.sqrt(v)
            now = hat / (root + EPS) * -LR
            np.subtract(now, d, out=rows[3])
            d = now
            direction = hat / (root / math.sqrt(1.0 - BETA2**t) + EPS)
            now = direction * -LR
            np.subtract(now, d, out=rows[4])
            d = now
            u = direction * -LR
            np.subtract(u, d, out=rows[5])
            new = w + u
            np.subtract(new - w, u, out=rows[6])
        state[:] = new, m, v, t
        return new

    return step


def torch_eager(weights: Any, gradient: Any) -> Step:
    import torch

    parameter = torch.tensor(weights, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], lr=LR, betas=(BETA1, BETA2), eps=EPS)
    given = torch.tensor(gradient)

    def step() -> Any:
        parameter.grad = given.clone()
        torch.nn.utils.clip_grad_norm_([parameter], LIMIT)
        optimizer.step()
        return parameter.detach().numpy()

    return step


def optax_jit(weights: Any, gradient: Any) -> Step:
    import jax

    jax.config.update("jax_enable_x64", True)
    import optax

    chain = optax.chain(optax.clip_by_global_norm(LIMIT), optax.adam(LR, b1=BETA1, b2=BETA2, eps=EPS))

    @jax.jit
    def update(w: Any, g: Any, state: Any) -> Any:
        u, state = chain.update(g, state, w)
        return optax.apply_updates(w, u), state

    kept = [weights, chain.init(weights)]

    def step() -> Any:
        kept[0], kept[1] = update(kept[0], gradient, kept[1])
        return np.asarray(kept[0])

    return step


WAYS: dict[str, Callable[[Any, Any], Step]] = {
    "ours, full ledger": ours,
    "numpy by hand": by_hand,
    "PyTorch eager": torch_eager,
    "optax jitted": optax_jit,
}
TOLERANCE = {"optax jitted": 1e-5}
"""optax clips without PyTorch's 1e-6 and keeps its counts in float32."""


def measure(size: int, turns: int, seconds: float) -> dict[str, float]:
    """Microseconds per step by way, the fastest of ``turns`` turns of about ``seconds`` each."""
    generator = np.random.default_rng(0)
    weights, gradient = generator.normal(size=size), generator.normal(size=size)
    expected = by_hand(weights, gradient)
    for _ in range(3):
        wanted = np.array(expected())
    steps: dict[str, Step] = {}
    for name, make in WAYS.items():
        try:
            step = make(weights.copy(), gradient)
        except ImportError as error:
            print(f"  {name}: left out, {error.name} is not installed", file=sys.stderr)
            continue
        for _ in range(3):
            found = np.array(step())
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE.get(name, 1e-12), atol=1e-12, err_msg=name)
        steps[name] = step
    best = dict.fromkeys(steps, math.inf)
    for _ in range(turns):
        for name, step in steps.items():
            best[name] = min(best[name], _once(step, seconds))
    return {name: value * 1e6 for name, value in best.items()}


def _once(step: Step, seconds: float) -> float:
    began, count = time.perf_counter(), 0
    while True:
        for _ in range(10):
            step()
        count += 10
        spent = time.perf_counter() - began
        if spent >= seconds:
            return spent / count


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[2, 1_000, 100_000])
    arguments.add_argument("--turns", type=int, default=15)
    arguments.add_argument("--seconds", type=float, default=0.05, help="length of a turn")
    arguments.add_argument("--json", type=Path, help="write the figures there as well")
    given = arguments.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for size in given.sizes:
        found = figures[str(size)] = measure(size, given.turns, given.seconds)
        mine = found["ours, full ledger"]
        print(f"{size} parameters")
        for name, value in found.items():
            print(f"  {name:<18} {value:10.1f} µs   ours takes {mine / value:6.2f} times as long")
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
