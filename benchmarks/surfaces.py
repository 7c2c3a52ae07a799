"""Seconds for a 51x51 loss surface of a network, ours against the loop that loss-landscape tools do in PyTorch.

Run ``python benchmarks/surfaces.py``. PyTorch is part of the optional extra ``bench``; without it only our own times
are shown. Both compute in the same precision on the same rows, and the two grids are compared before anything is
timed. The loop is the usual one: set every parameter to ``w + a d1 + b d2``, evaluate without gradients, read the
loss. Both may use two threads. They are timed in turns, so that a busy machine hits both alike; the table shows the
medians.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.problems import problem
from core.problems.dataset import Dataset
from core.problems.datasets import load_dataset
from core.problems.directions import random_plane
from core.problems.network import MLP
from core.problems.planes import Plane
from core.problems.surfaces import SurfaceEvaluator

POINTS = 51
THREADS = 2  # what PyTorch takes by itself on two cores
WINDOW = ((-1.0, 1.0), (-1.0, 1.0))
Grid = NDArray[Any]


def networks() -> dict[str, MLP]:
    """What is measured, by name."""
    digits = load_dataset("digits")
    some = Dataset("digits", digits.features[:256], digits.targets[:256], digits.feature_names, "digit", digits.classes)
    common: dict[str, Any] = {"test_fraction": 0, "batch_size": 0}
    return {
        "2-16-16-1 tanh, 256 points": problem("mlp", data="moons(rows=256)", layers=[16, 16], **common),
        "2-16-16-1 relu, 256 points": problem(
            "mlp", data="moons(rows=256)", layers=[16, 16], activation="relu", **common
        ),
        "64-32-10 relu, 256 digits": problem("mlp", data=some, layers=[32], activation="relu", **common),
        "64-32-10 batch norm, 256 digits": problem(
            "mlp", data=some, layers=[32], activation="relu", norm="batch", **common
        ),
    }  # type: ignore[dict-item]


def ours(made: MLP, plane: Plane, dtype: Any) -> Callable[[], Grid]:
    """The whole grid by the program's evaluator, level after level as it is shown."""
    return lambda: SurfaceEvaluator(made, plane, WINDOW, (POINTS, POINTS), dtype=dtype).finish(threads=THREADS).values


def first_picture(made: MLP, plane: Plane, dtype: Any) -> Callable[[], Grid]:
    """The first level only."""

    def run() -> Grid:
        job = SurfaceEvaluator(made, plane, WINDOW, (POINTS, POINTS), dtype=dtype)
        while job.surface is None:
            job.advance(0.001)
        assert job.fraction <= 1 / 16, job.fraction
        return job.surface.values

    return run


def torch_loop(made: MLP, plane: Plane, dtype: Any) -> Callable[[], Grid]:
    """One evaluation a point in PyTorch, without gradients."""
    import torch

    kind = torch.float32 if dtype == np.float32 else torch.float64
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[str(made.options["activation"])]
    widths = [int(width) for width in made.shape_text.split("-")]
    layers: list[torch.nn.Module] = []
    for fan_in, fan_out in itertools.pairwise(widths[:-1]):
        layers.append(torch.nn.Linear(fan_in, fan_out))
        if made.options["norm"] == "batch":
            layers.append(torch.nn.BatchNorm1d(fan_out, track_running_stats=False))
        layers.append(activation())
    model = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-2], widths[-1])).to(kind)
    x = torch.tensor(made.samples.train_x, dtype=kind)
    if made.samples.classes == 2:
        y = torch.tensor(made.samples.train_y, dtype=kind)[:, None]
        criterion: torch.nn.Module = torch.nn.BCEWithLogitsLoss()
    else:
        y = torch.tensor(made.samples.train_y, dtype=torch.long)
        criterion = torch.nn.CrossEntropyLoss()

    def pieces(flat: NDArray[np.float64]) -> list[Any]:
        # matrices lie the other way round in PyTorch
        return [torch.tensor(part.T.copy(), dtype=kind) for part in made.split(flat).values()]

    base, first, second = pieces(plane.origin), pieces(plane.u), pieces(plane.v)
    parameters = list(model.parameters())

    def run() -> Grid:
        grid = np.empty((POINTS, POINTS))
        axis = np.linspace(-1, 1, POINTS)
        for row, b in enumerate(axis):
            for column, a in enumerate(axis):
                for parameter, w, d1, d2 in zip(parameters, base, first, second, strict=True):
                    parameter.data = w + d1 * a + d2 * b
                with torch.no_grad():
                    grid[row, column] = criterion(model(x), y).item()
        return grid

    return run


def timed(calls: dict[str, Callable[[], Grid]], turns: int) -> dict[str, float]:
    """Median seconds of every call, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="how often everything is timed")
    turns = parser.parse_args().turns
    try:
        import torch

        torch.set_num_threads(THREADS)
        print(f"PyTorch {torch.__version__} ({torch.get_num_threads()} threads), numpy {np.__version__}")
    except ImportError:
        torch = None
        print("PyTorch is not installed (pip install '.[bench]'): only our own times")
    print(f"{'network':34} {'type':8} {'first':>9} {'ours':>9} {'PyTorch':>9} {'ratio':>7}")
    for name, made in networks().items():
        plane = random_plane(made.initial_weights(0), made.variables, 0, "raw")
        for dtype in (np.float32, np.float64):
            calls = {"first": first_picture(made, plane, dtype), "ours": ours(made, plane, dtype)}
            if torch is not None:
                calls["torch"] = torch_loop(made, plane, dtype)
                tolerance = 1e-5 if dtype == np.float32 else 1e-11
                np.testing.assert_allclose(calls["ours"](), calls["torch"](), rtol=tolerance, atol=tolerance)
            found = timed(calls, turns)
            rival = found.get("torch")
            ratio = f"{rival:9.3f} {rival / found['ours']:6.1f}x" if rival else f"{'':9} {'':7}"
            print(f"{name:34} {np.dtype(dtype).name:8} {found['first']:9.4f} {found['ours']:9.3f} {ratio}")


if __name__ == "__main__":
    main()
