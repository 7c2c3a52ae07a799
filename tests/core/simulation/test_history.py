"""Histories and trace files: rows are whole, columns are right, files give back every bit."""

import csv

import numpy as np
import pytest

from core.simulation import Experiment, ProblemSettings, Simulation
from core.traces import TraceError, read_trace, write_trace


@pytest.fixture
def simulation():
    experiment = Experiment(
        problem=ProblemSettings(name="rosenbrock"),
        optimizer="torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.06)",
    )
    run = Simulation(experiment)
    run.advance(120)
    return run


def test_columns_are_the_vectors(simulation):
    history = simulation.history
    np.testing.assert_array_equal(history["w.p[1]"], history.path()[:, 1])
    np.testing.assert_array_equal(history["g.p[0]"], [history.gradient(k)[0] for k in range(120)])
    assert history.column_names()[:6] == ["step", "loss", "learning_rate", "w.p[0]", "g.p[0]", "applied.p[0]"]
    with pytest.raises(KeyError, match="no column"):
        history["nonsense"]
    with pytest.raises(IndexError, match="steps 0 to 119"):
        history.weights(120)


def test_row_k_holds_the_state_before_step_k(simulation):
    history = simulation.history
    for step in (0, 7, 119):
        loss, gradient = simulation.objective.value_and_gradient(history.weights(step).copy(), step, 0)
        assert history["loss"][step] == loss
        np.testing.assert_array_equal(history.gradient(step), gradient)


def test_csv_gives_back_every_bit(simulation, tmp_path):
    write_trace(simulation.history, tmp_path / "trace.csv")
    with (tmp_path / "trace.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][: len(simulation.history.column_names())] == simulation.history.column_names()
    for position, name in enumerate(simulation.history.column_names()):
        read = np.array([float(row[position]) for row in rows[1:]])
        np.testing.assert_array_equal(read, simulation.history[name], err_msg=name)


def test_npz_gives_back_the_run(simulation, tmp_path):
    path = tmp_path / "trace.npz"
    write_trace(simulation.history, path, simulation.experiment)
    history, experiment = read_trace(path)
    assert experiment == simulation.experiment
    assert history.count == 120 and history.row_names == simulation.history.row_names
    for name in simulation.history.column_names():
        np.testing.assert_array_equal(history[name], simulation.history[name], err_msg=name)
    for step in (0, 60, 119):
        np.testing.assert_array_equal(history.rows(step), simulation.history.rows(step))
        np.testing.assert_array_equal(history.expected(step), simulation.history.expected(step))
        assert history.figures(step) == simulation.history.figures(step)
    with np.load(path, allow_pickle=False) as data:
        np.testing.assert_array_equal(data["applied.p[0]"], simulation.history["applied.p[0]"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"step,loss\n1,2\n"])
def test_broken_traces_are_refused_with_their_name(tmp_path, content):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"broken\.npz"):
        read_trace(path)


def test_foreign_npz_and_wrong_endings_are_refused(simulation, tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(TraceError, match="not a trace written by Stepscope"):
        read_trace(tmp_path / "other.npz")
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "gone.npz")
    with pytest.raises(TraceError, match=r"\.npz or \.csv"):
        write_trace(simulation.history, tmp_path / "trace.txt")
    assert not (tmp_path / "trace.txt").exists()


def test_derived_columns_are_computed_once_a_row(simulation):
    history = simulation.history
    seen = []

    def norms(history, chunk, a, b):
        seen.append(b - a)
        return np.linalg.norm(chunk.applied[a:b], axis=1)

    np.testing.assert_array_equal(history.derived("norm", norms), np.linalg.norm(history.vectors("applied"), axis=1))
    history.derived("norm", norms)
    assert sum(seen) == 120
    simulation.advance(9)
    assert len(history.derived("norm", norms)) == 129 and sum(seen) == 129
