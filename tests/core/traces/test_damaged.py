"""Traces that are damaged, shortened or edited: refused with the column that is wrong, never half read."""

import json

import numpy as np
import pytest

from core.simulation import Event, Experiment, Simulation
from core.traces import TraceError, read_trace, write_trace


@pytest.fixture
def trace(tmp_path):
    simulation = Simulation(Experiment())
    simulation.advance(6)
    path = tmp_path / "t.npz"
    write_trace(simulation.history, path, simulation.experiment)
    return path


def changed(path, **columns):
    data = dict(np.load(path)) | columns
    np.savez(path, **data)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("loss", np.ones(3), r"column 'loss' has the shape \(3,\), the run has 6 steps"),
        ("loss", np.ones((6, 3)), "column 'loss' has the shape"),
        ("w.p[0]", np.ones(7), r"column 'w.p\[0\]' has the shape"),
        ("g.p[1]", np.array(["x"] * 6), r"column 'g.p\[1\]' holds no numbers"),
        ("step", np.ones(6), "column 'step' does not count 0, 1, ... 5"),
        ("step", np.arange(3), "column 'loss' has the shape"),
    ],
)
def test_a_column_that_does_not_fit_is_named(trace, name, values, words):
    changed(trace, **{name: values})
    with pytest.raises(TraceError, match=words):
        read_trace(trace)


@pytest.mark.parametrize("stretches", [[], [[1, ["a"], ["b"], ["c"]]]])
def test_stretches_cover_the_run(trace, stretches):
    meta = json.loads(str(np.load(trace)["meta"])) | {"stretches": stretches}
    changed(trace, meta=np.array(json.dumps(meta)))
    with pytest.raises(TraceError, match="the stretches of rows begin at"):
        read_trace(trace)


def test_text_nested_too_deeply_is_refused(trace):
    changed(trace, meta=np.array("[" * 50_000))
    with pytest.raises(TraceError, match="cannot be read as a trace"):
        read_trace(trace)


def test_any_byte_may_be_wrong(trace):
    whole = trace.read_bytes()
    history, _ = read_trace(trace)
    right = history.vectors("weights", 0, 6)
    for position in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        trace.write_bytes(bytes(damaged))
        try:
            found, _ = read_trace(trace)
        except TraceError:
            continue
        # a byte that nobody reads: a date, a name kept twice
        np.testing.assert_array_equal(found.vectors("weights", 0, 6), right)


def test_infinite_settings_come_back_with_the_trace(tmp_path):
    lines = "torch.nn.utils.clip_grad_norm_(params, 4.0)\ntorch.optim.SGD(params, lr=1e-3)"
    event = Event(step=1, target="clip_by_global_norm", key="max_norm", value=float("inf"))
    simulation = Simulation(Experiment(optimizer=lines, events=[event]))
    simulation.advance(3)
    write_trace(simulation.history, tmp_path / "t.npz", simulation.experiment)
    _, experiment = read_trace(tmp_path / "t.npz")
    assert experiment == simulation.experiment


def test_what_is_read_is_what_numpy_reads(trace):
    history, _ = read_trace(trace)
    with np.load(trace) as data:
        for name, kind, index in (
            ("w.p[1]", "weights", 1),
            ("g.p[0]", "gradient", 0),
            ("rounding.p[1]", "rounding", 1),
        ):
            np.testing.assert_array_equal(history.vectors(kind, 0, 6)[:, index], data[name])
        np.testing.assert_array_equal(history.scalar("loss")[:6], data["loss"])


def test_columns_of_another_type_and_python_objects(trace):
    whole = np.load(trace)["loss"]
    changed(trace, loss=whole.astype(np.float32))
    history, _ = read_trace(trace)
    np.testing.assert_array_equal(history.scalar("loss")[:6], whole.astype(np.float32))
    np.savez(trace, allow_pickle=True, meta=np.array([{}], dtype=object))
    with pytest.raises(TraceError, match="Object arrays cannot be loaded"):
        read_trace(trace)
