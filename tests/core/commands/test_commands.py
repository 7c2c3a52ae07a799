"""The command line: what it prints, what it writes, and its exit codes."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from core.traces import read_trace
from main import main

CLIP = "torch.nn.utils.clip_grad_value_(params, clip_value=1.0)\ntorch.optim.SGD(params, lr=0.1)"


def test_explain_the_known_example(capsys):
    assert main(["explain", "--problem", "5*x", "--start", "0", "--optimizer", CLIP, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (entry,) = data["variables"].values()
    rows = {row["name"]: row["contribution"] for row in entry["rows"]}
    assert entry["expected"] == [-0.5]
    assert rows["clip_by_value"] == [0.4]
    assert entry["applied"] == [-0.1]
    assert abs(entry["residual"][0]) <= 8 * np.spacing(0.5)


def test_explain_for_people_names_every_cause(capsys):
    assert main(["explain", "--problem", "5*x", "--start", "0", "--optimizer", CLIP]) == 0
    text = capsys.readouterr().out
    lines = {line[:18].strip(): line.split()[-1] for line in text.splitlines() if line.strip()}
    found = {name: lines[name] for name in ("expected  -lr*g", "clip by value", "learning rate", "applied", "residual")}
    assert list(found.values()) == ["-0.5", "0.4", "0", "-0.1", "0"]


def test_run_writes_what_explain_and_numpy_read(tmp_path, capsys):
    out = tmp_path / "trace.npz"
    arguments = ["--problem", "rosenbrock", "--start", "-1.2,1", "--optimizer", "torch.optim.SGD(params, lr=1e-3)"]
    assert main(["run", "--steps", "30", "--out", str(out), *arguments]) == 0
    assert "30 steps" in capsys.readouterr().out
    history, experiment = read_trace(out)
    assert experiment.start == [-1.2, 1.0] and history.count == 30
    # Rosenbrock's gradient at (-1.2, 1) by its formula: (-2(1-x) - 400x(y-x²), 200(y-x²))
    np.testing.assert_allclose(history.gradient(0), [-2 * 2.2 + 480 * (1 - 1.44), 200 * (1 - 1.44)], rtol=1e-12)
    assert main(["explain", str(out), "--step", "29", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["variables"]["p"]["applied"] == history.applied(29).tolist()


def test_csv_has_the_documented_columns(tmp_path):
    out = tmp_path / "trace.csv"
    assert main(["run", "--steps", "3", "--out", str(out), "--optimizer", CLIP]) == 0
    with out.open(newline="") as file:
        header = next(csv.reader(file))
    assert header[:6] == ["step", "loss", "learning_rate", "w.p[0]", "g.p[0]", "applied.p[0]"]
    assert "clip_by_value.p[0]" in header and "rounding.p[1]" in header


def test_new_writes_a_file_that_runs(tmp_path, capsys):
    path = tmp_path / "experiment.json"
    assert main(["new", "-o", str(path), "--problem", "beale", "--seed", "4"]) == 0
    assert main(["run", str(path), "--steps", "5", "--json"]) == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert data["steps"] == 5 and data["trouble"] == ""


def test_lists(capsys):
    assert main(["problems"]) == 0
    assert "rosenbrock" in capsys.readouterr().out
    assert main(["optimizers"]) == 0
    assert "clip_by_global_norm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere.json"], ["nowhere.json", "no such file"]),
        (["run", "--problem", "rosenbrok"], ["rosenbrok", "rosenbrock"]),
        (["run", "--optimizer", "torch.optim.Adan(params)"], ["Adan"]),
        (["run", "--steps", "0"], ["at least one"]),
        (["run", "--out", "trace.txt"], [".npz or .csv"]),
        (["run", "--start", "1;x"], ["--start"]),
        (["explain", "--start", "nan,1"], ["start", "nan is not a finite number"]),
        (["explain", "--problem", "5*x", "--start", "0,1"], ["has 1 weight, 2 starting values were"]),
        (["explain", "--step", "-1"], ["count from 0"]),
        (["explain", "nowhere.npz"], ["nowhere.npz"]),
    ],
)
def test_wrong_requests_exit_with_2_and_say_why(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    for word in words:
        assert word in said
    assert not list(tmp_path.iterdir())


def test_a_word_that_is_no_command_is_a_wrong_request_without_a_display_too(capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["frobnicate"]) == 2
    assert "frobnicate" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_told_by_the_name_that_was_given(tmp_path, capsys):
    out = tmp_path / "nowhere" / "trace.csv"
    assert main(["run", "--steps", "2", "--out", str(out)]) == 1
    assert f"{out}: No such file or directory" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_explain_of_a_step_out_of_the_range_of_numbers_gives_no_warning(capsys):
    request = ["explain", "--problem", "5*x", "--start", "0", "--optimizer", "torch.optim.SGD(params, lr=1e308)"]
    assert main(request) == 0
    assert "the run has diverged" in capsys.readouterr().out


def test_divergence_exits_with_1_and_keeps_the_trace(tmp_path, capsys):
    out = tmp_path / "trace.csv"
    code = main(["run", "--optimizer", "torch.optim.SGD(params, lr=1e308)", "--steps", "20", "--out", str(out)])
    assert code == 1
    assert "diverged at step" in capsys.readouterr().err
    assert out.exists()


def test_compare_names_the_step_and_the_row_that_parts_two_runs(tmp_path, capsys):
    # MOM-01: with lr inside the velocity (Keras) and outside (PyTorch) a constant rate gives the same steps; the
    # first step after a change of the rate parts them
    first = tmp_path / "a.json"
    lines = (
        "opt = torch.optim.SGD(p, lr=0.1, momentum=0.9)\ntorch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.1)"
    )
    decay = "tf.keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.1, staircase=True)"
    other = f"tf.keras.optimizers.SGD({decay}, momentum=0.9)"
    assert main(["new", "-o", str(first), "--problem", "slope", "--optimizer", lines]) == 0
    capsys.readouterr()
    assert main(["compare", str(first), other, "--steps", "10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["step"] == 3 and found["cause"] != "gradient"


def test_compare_of_a_run_with_itself_finds_nothing(tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["new", "-o", str(path)]) == 0
    assert main(["run", str(path), "--steps", "20", "--out", str(tmp_path / "a.npz")]) == 0
    capsys.readouterr()
    assert main(["compare", str(path), str(tmp_path / "a.npz"), "--steps", "20"]) == 0
    assert "do not part" in capsys.readouterr().out


def test_compare_without_clipping_names_the_clip(tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["new", "-o", str(path), "--problem", "rosenbrock", "--optimizer", CLIP]) == 0
    capsys.readouterr()
    assert main(["compare", str(path), "torch.optim.SGD(params, lr=0.1)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["step"], found["cause"]) == (0, "clip_by_value")


def test_a_reader_that_has_enough_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "main", "problems"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(timeout=60) == 0
    process.stderr.close()
