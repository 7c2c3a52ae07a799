"""Looking at any step of a long run: the time it takes, and the memory a run is held in.

A run of 100,000 steps on two weights, and one of 5,000 steps of a network on handwritten digits with a budget of
32 MB for recorded vectors: milliseconds to have a step's weights, gradient and ledger rows, and the growth of the
process over budget. python benchmarks/time_travel.py [--quick]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from core.simulation import Experiment, ProblemSettings, Simulation


def resident_megabytes() -> float:
    """Memory of this process (Linux; elsewhere nan)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * 4096 / 2**20


def look(simulation: Simulation, steps: np.ndarray) -> np.ndarray:
    """Milliseconds to read everything of each of ``steps``."""
    times = []
    for step in steps:
        begin = time.perf_counter()
        for kind in ("weights", "gradient", "applied", "rows"):
            getattr(simulation.history, kind)(int(step))
        times.append((time.perf_counter() - begin) * 1e3)
    return np.array(times)


def say(name: str, times: np.ndarray) -> None:
    median, p95, worst = np.median(times), np.percentile(times, 95), times.max()
    print(f"{name:46} median {median:8.3f} ms  p95 {p95:8.3f} ms  worst {worst:8.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    arguments = parser.parse_args()
    part = 10 if arguments.quick else 1
    generator = np.random.default_rng(0)
    lines = "torch.nn.utils.clip_grad_norm_(params, 4.0)\ntorch.optim.Adam(params, lr=0.01)"
    run = Simulation(Experiment(problem=ProblemSettings(name="rosenbrock"), optimizer=lines))
    begin = time.perf_counter()
    run.advance(100_000 // part)
    took = time.perf_counter() - begin
    print(f"two weights: {run.step:,} steps at {run.step / took:,.0f} steps/s")
    say("  looking at any step", look(run, generator.integers(0, run.step, 500)))
    begin = time.perf_counter()
    run.seek(run.step // 2)
    print(f"  rewinding to the middle: {(time.perf_counter() - begin) * 1e3:.1f} ms")
    del run
    gc.collect()

    budget = 32 << 20
    problem = ProblemSettings(name="digits_mlp")
    warm = Simulation(Experiment(problem=problem, optimizer="torch.optim.Adam(params, lr=0.003)"), budget)
    warm.advance(50)
    before = resident_megabytes()
    network = Simulation(Experiment(problem=problem, optimizer="torch.optim.Adam(params, lr=0.003)"), budget)
    network.advance(5_000 // part)
    grown = resident_megabytes() - before
    print(f"digits network, {network.layout.size:,} weights, {network.step:,} steps, budget {budget >> 20} MB")
    print(f"  the process grew by {grown:.0f} MB (budget plus {grown - (budget >> 20):.0f} MB)")
    say("  looking at any step", look(network, generator.integers(0, network.step, 40)))


if __name__ == "__main__":
    main()
