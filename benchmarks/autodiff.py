"""Microseconds per value-and-gradient, ours against PyTorch eager, JAX, HIPS autograd and numpy by hand.

Run ``python benchmarks/autodiff.py``. The rivals are the optional extra ``bench``; what is not installed is left
out and said so. All compute in float64 and return plain numpy results; every result is checked against the one
written by hand before anything is timed. The ways are timed in turns, so that a busy machine hits all alike; the
figure is the fastest turn. On a machine that does other work use ``--threads 1 --cpu``: waiting threads cost more
than they help, and the processor time of this process is not disturbed by others.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if "--threads" in sys.argv:  # must be known before the libraries are loaded
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = sys.argv[sys.argv.index("--threads") + 1]

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.autodiff_problems import Problem, problems
from core.autodiff import compile_gradient, value_and_gradients_function

Call = Callable[[], Any]


def by_hand(problem: Problem) -> Call:
    arguments = [*problem.parameters, *problem.data]
    return lambda: problem.by_hand(*arguments)


def _loss(problem: Problem) -> Callable[..., Any]:
    n = len(problem.parameters)
    return lambda *arrays: problem.loss(np, arrays[:n], arrays[n:])


def compiled(problem: Problem) -> Call:
    arguments = [*problem.parameters, *problem.data]
    run = compile_gradient(_loss(problem), *arguments, params=range(len(problem.parameters)))
    return lambda: run(*arguments)


def tape(problem: Problem) -> Call:
    arguments = [*problem.parameters, *problem.data]
    run = value_and_gradients_function(_loss(problem), params=range(len(problem.parameters)))
    return lambda: run(*arguments)


def torch_eager(problem: Problem) -> Call:
    import torch

    parameters = [torch.tensor(p, requires_grad=True) for p in problem.parameters]
    data = [torch.tensor(d) for d in problem.data]

    def run() -> Any:
        value = problem.loss(torch, parameters, data)
        gradients = torch.autograd.grad(value, parameters)
        return value.item(), [g.numpy() for g in gradients]

    return run


def jax_jit(problem: Problem) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    data = [jnp.asarray(d) for d in problem.data]
    run = jax.jit(jax.value_and_grad(lambda parameters, d: problem.loss(jnp, parameters, d)))

    def call() -> Any:
        value, gradients = run(problem.parameters, data)
        return float(value), [np.asarray(g) for g in gradients]

    return call


def hips_autograd(problem: Problem) -> Call:
    import autograd
    import autograd.numpy as anp

    run = autograd.value_and_grad(lambda parameters: problem.loss(anp, parameters, problem.data))
    return lambda: run(problem.parameters)


WAYS: dict[str, Callable[[Problem], Call]] = {
    "numpy by hand": by_hand,
    "Stepscope compiled": compiled,
    "Stepscope tape": tape,
    "PyTorch eager": torch_eager,
    "JAX jit": jax_jit,
    "HIPS autograd": hips_autograd,
}


def available() -> tuple[dict[str, Callable[[Problem], Call]], list[str]]:
    """The ways that can be run here, and the names of those that are not installed."""
    import importlib.util

    needs = {"PyTorch eager": "torch", "JAX jit": "jax", "HIPS autograd": "autograd"}
    missing = [name for name, module in needs.items() if importlib.util.find_spec(module) is None]
    return {name: way for name, way in WAYS.items() if name not in missing}, missing


def check(name: str, problem: Problem, result: Any, reference: Any) -> None:
    """Raise when a way computes something else than the version by hand."""
    np.testing.assert_allclose(np.asarray(result[0]), reference[0], rtol=1e-9, err_msg=name)
    for a, b in zip(result[1], reference[1], strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-10, err_msg=f"{name}: {problem.name}")


def measure(calls: dict[str, Call], rounds: int, seconds: float, clock: Callable[[], float]) -> dict[str, float]:
    """Microseconds per call: for each way the fastest of ``rounds`` turns."""
    numbers = {}
    for name, call in calls.items():
        call()
        start = clock()
        call()
        numbers[name] = max(1, int(seconds / max(clock() - start, 1e-7)))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            for _ in range(numbers[name]):
                call()
            taken[name].append((clock() - start) / numbers[name] * 1e6)
    return {name: min(values) for name, values in taken.items()}


def main() -> None:
    """Print one table a problem, and what the goals say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of one turn")
    parser.add_argument("--threads", type=int, help="threads of the numeric libraries (default: their own choice)")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of elapsed time")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    ways, missing = available()
    if missing:
        print(f"not installed, left out: {', '.join(missing)} (pip install stepscope[bench])")
    goals: list[str] = []
    for problem in problems():
        calls = {name: way(problem) for name, way in ways.items()}
        reference = problem.by_hand(*problem.parameters, *problem.data)
        for name, call in calls.items():
            check(name, problem, call(), reference)
        times = measure(calls, options.rounds, options.seconds, clock)
        ours, slow = times["Stepscope compiled"], times["Stepscope tape"]
        print(f"\n{problem.name} ({problem.size} parameters)")
        print(f"  {'':20s} {'microseconds':>12s} {'/ compiled':>11s} {'/ tape':>8s}")
        for name, value in times.items():
            print(f"  {name:20s} {value:12.2f} {value / ours:11.2f} {value / slow:8.2f}")
        goals += _goals(problem, times)
    print("\nGoals")
    print("\n".join(goals))


def _goals(problem: Problem, times: dict[str, float]) -> list[str]:
    """What was aimed at, what was measured."""
    small = problem.size == 2
    ours = times["Stepscope compiled"]
    rows = [("compiled / by hand at most", 2.0 if small else 1.15, ours / times["numpy by hand"], False)]
    if "PyTorch eager" in times:
        rows.append(("PyTorch eager / compiled at least", 10.0 if small else 1.0, times["PyTorch eager"] / ours, True))
    if "HIPS autograd" in times:
        rows.append(("HIPS autograd / tape at least", 2.0, times["HIPS autograd"] / times["Stepscope tape"], True))
    return [
        f"  {problem.name:40s} {text:34s} {goal:5.2f}: {found:7.2f}  "
        f"{'reached' if (found >= goal if more else found <= goal) else 'MISSED'}"
        for text, goal, found, more in rows
    ]


if __name__ == "__main__":
    main()
