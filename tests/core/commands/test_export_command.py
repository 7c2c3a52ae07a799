"""'export': tables and surfaces that other programs read back exactly."""

import json

import numpy as np

from core.simulation import Experiment, Simulation
from main import main

LINES = ["--problem", "rosenbrock", "--start=-1.2,1", "--optimizer", "torch.optim.SGD(params, lr=1e-3)"]


def history(steps):
    simulation = Simulation(Experiment(optimizer=LINES[-1], start=[-1.2, 1.0]))
    simulation.advance(steps)
    return simulation.history


def test_tables_read_back_equal_the_history(tmp_path, capsys):
    right = history(20)
    for ending in ("csv", "npz", "jsonl", "parquet"):
        out = tmp_path / f"run.{ending}"
        assert main(["export", "-o", str(out), "--steps", "20", "--header", *LINES]) == 0
        assert "20 steps" in capsys.readouterr().out
    import pandas

    tables = [
        pandas.read_csv(tmp_path / "run.csv", comment="#", dtype=str).astype(float),
        pandas.read_parquet(tmp_path / "run.parquet"),
        pandas.DataFrame([json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]),
        dict(np.load(tmp_path / "run.npz")),
    ]
    for table in tables:
        np.testing.assert_array_equal(np.asarray(table["loss"]), right.scalar("loss")[:20])
        names = right.layout.component_names()
        for i, name in enumerate(names):
            np.testing.assert_array_equal(np.asarray(table[f"w.{name}"]), right.vectors("weights", 0, 20)[:, i])


def test_a_surface_holds_the_losses_at_its_points(tmp_path):
    out = tmp_path / "surface.npz"
    assert main(["export", "--surface", "-o", str(out), "--steps", "5", "--points", "9", *LINES]) == 0
    data = np.load(out)
    x, y = np.meshgrid(data["x"], data["y"])
    np.testing.assert_allclose(data["loss"], (1 - x) ** 2 + 100 * (y - x**2) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(data["path"], history(5).vectors("weights", 0, 5))


def test_wrong_endings_and_sizes_are_the_requests_fault(tmp_path, capsys):
    assert main(["export", "-o", str(tmp_path / "run.xls"), *LINES]) == 2
    assert ".parquet" in capsys.readouterr().err
    assert main(["export", "--surface", "-o", str(tmp_path / "run.npz"), "--points", "1", *LINES]) == 2
    assert "2 to 2000" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
