"""Exported data, read back by pandas, numpy and pyarrow, equals the history exactly."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.export import write_surface, write_table
from core.simulation import Experiment, ProblemSettings, Simulation
from core.traces import TraceError


@pytest.fixture(scope="module")
def run():
    experiment = Experiment(
        problem=ProblemSettings(name="rosenbrock"), optimizer="torch.optim.Adam(params, lr=0.06)", comment='ünï, "q"'
    )
    simulation = Simulation(experiment)
    simulation.advance(60)
    return simulation


@pytest.fixture(scope="module")
def diverged():
    simulation = Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=1e300)"))
    simulation.advance(20)
    assert not np.isfinite(simulation.history["applied.p[0]"]).all() or simulation.trouble
    return simulation


def equal(history, read):
    for name in history.column_names():
        np.testing.assert_array_equal(np.asarray(read(name), dtype=np.float64), history[name], err_msg=name)


@pytest.mark.parametrize("which", ["run", "diverged"])
def test_csv_with_header_by_pandas(which, request, tmp_path):
    simulation = request.getfixturevalue(which)
    write_table(simulation.history, tmp_path / "t.csv", simulation.experiment, header=True)
    frame = pd.read_csv(tmp_path / "t.csv", comment="#")
    equal(simulation.history, lambda name: frame[name])
    assert len(frame) == simulation.history.count


@pytest.mark.parametrize("which", ["run", "diverged"])
def test_parquet_by_pyarrow(which, request, tmp_path):
    simulation = request.getfixturevalue(which)
    write_table(simulation.history, tmp_path / "t.parquet", simulation.experiment)
    table = pq.read_table(tmp_path / "t.parquet")
    equal(simulation.history, lambda name: table[name].to_numpy())
    stored = json.loads(table.schema.metadata[b"stepscope"])
    assert stored["optimizer"] == simulation.experiment.optimizer
    assert b"g in units of loss per weight" in table.schema.metadata[b"units"]


@pytest.mark.parametrize("which", ["run", "diverged"])
def test_json_lines(which, request, tmp_path):
    simulation = request.getfixturevalue(which)
    write_table(simulation.history, tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    equal(simulation.history, lambda name: [float(row[name]) for row in rows])


def test_npz_by_numpy(run, tmp_path):
    write_table(run.history, tmp_path / "t.npz", run.experiment)
    with np.load(tmp_path / "t.npz", allow_pickle=False) as data:
        equal(run.history, lambda name: data[name])


def test_a_model_with_several_variables_reads_back_from_every_format(tmp_path):
    problem = ProblemSettings(name="mlp", values={"layers": [3]})
    simulation = Simulation(Experiment(problem=problem, optimizer="torch.optim.AdamW(params, lr=0.01)"))
    simulation.advance(7)
    history, names = simulation.history, set(simulation.history.column_names())
    for ending in ("csv", "npz", "jsonl", "parquet"):
        write_table(history, tmp_path / f"t.{ending}", simulation.experiment)
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    with np.load(tmp_path / "t.npz", allow_pickle=False) as npz:
        tables = [
            pd.read_csv(tmp_path / "t.csv", dtype=str).astype(float),
            pd.DataFrame(rows),
            pd.read_parquet(tmp_path / "t.parquet"),
            {key: npz[key] for key in npz.files},
        ]
    for table in tables:
        assert names <= set(table)
        equal(history, lambda name, table=table: table[name])


def test_another_ending_is_refused(run, tmp_path):
    with pytest.raises(TraceError, match=r"\.parquet"):
        write_table(run.history, tmp_path / "t.xls")
    assert not list(tmp_path.iterdir())


def test_surface_files_hold_the_grid(tmp_path):
    xs, ys = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.1])
    losses = xs + 10 * ys[:, None]
    write_surface(tmp_path / "s.npz", xs, ys, losses, origin=np.zeros(2))
    with np.load(tmp_path / "s.npz") as data:
        np.testing.assert_array_equal(data["loss"], losses)
    write_surface(tmp_path / "s.vtk", xs, ys, losses)
    lines = (tmp_path / "s.vtk").read_text().splitlines()
    assert lines[3:5] == ["DATASET RECTILINEAR_GRID", "DIMENSIONS 4 2 1"]
    values = [float(v) for line in lines[lines.index("LOOKUP_TABLE default") + 1 :] for v in line.split()]
    np.testing.assert_array_equal(np.reshape(values, (2, 4)), losses)
    with pytest.raises(ValueError, match="shape"):
        write_surface(tmp_path / "x.npz", ys, xs, losses)
