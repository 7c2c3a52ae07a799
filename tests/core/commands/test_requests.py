"""What is asked for on the command line: empty values, files that are there, output for programs, exit codes, bars."""

import io
import json
import sys

import numpy as np
import pytest

from core.commands.compare import _same
from core.commands.progress import advance_to
from core.optim.transforms import TRANSFORMS
from core.problems import problem, problem_names
from core.simulation import Experiment, Simulation
from main import main

SGD = "torch.optim.SGD(params, lr=1e-3)"
WILD = "torch.optim.SGD(params, lr=1e308)"


def data_of(capsys):
    """The one JSON document that was printed, read strictly: 'NaN' is none."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(capsys.readouterr().out, parse_constant=refuse)


@pytest.mark.parametrize("option", ["--problem", "--optimizer", "--start"])
@pytest.mark.parametrize("value", ["", "  "])
@pytest.mark.parametrize("command", [["run"], ["explain"], ["new", "-o", "e.json"]])
def test_an_empty_value_is_a_mistake_not_the_default(command, option, value, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*command, f"{option}={value}"]) == 2
    out, err = capsys.readouterr()
    assert f"{option} is empty" in err and "or leave it out" in err and not out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "-o", ""], "--out is empty"),
        (["new", "-o", "."], "this is a folder"),
        (["explain", ""], "the name of the file is empty"),
        (["explain", "--start", "1,,2"], "--start"),
        (["explain", "--start", "1,2,"], "--start"),
    ],
)
def test_other_requests_that_are_wrong(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_new_does_not_write_over_a_file_unless_forced(tmp_path, capsys):
    path = tmp_path / "e.json"
    assert main(["new", "-o", str(path), "--seed", "1"]) == 0
    assert main(["new", "-o", str(path), "--seed", "2"]) == 2
    assert "--force" in capsys.readouterr().err and Experiment.load(path).seed == 1
    assert main(["new", "-o", str(path), "--seed", "2", "--force", "--json"]) == 0
    assert data_of(capsys) == {"out": str(path)} and Experiment.load(path).seed == 2


def test_options_do_not_change_a_trace(tmp_path, capsys):
    trace = str(tmp_path / "t.npz")
    assert main(["run", "--steps", "5", "--optimizer", SGD, "--out", trace]) == 0
    assert main(["explain", trace, "--optimizer", WILD]) == 2
    assert "--optimizer changes an experiment" in capsys.readouterr().err
    assert main(["compare", trace, trace, "--seed", "3"]) == 2
    assert main(["compare", trace, trace, "--steps", "5"]) == 0


def test_a_step_behind_a_divergence_is_work_that_failed(capsys):
    assert main(["explain", "--optimizer", WILD, "--step", "50"]) == 1
    assert "step 50 is never reached: The run diverged" in capsys.readouterr().err
    assert main(["explain", "--optimizer", WILD, "--step", "-1"]) == 2


def test_the_lists_for_programs_hold_what_the_declarations_say(capsys):
    assert main(["problems", "--json"]) == 0
    found = {entry["name"]: entry for entry in data_of(capsys)}
    assert list(found) == list(problem_names())
    for name, entry in found.items():
        it = problem(name)
        assert (entry["title"], entry["weights"]) == (it.title, it.size)
        assert [parameter["key"] for parameter in entry["parameters"]] == [p.key for p in it.parameters]
    assert main(["optimizers", "--json"]) == 0
    data = data_of(capsys)
    assert [entry["name"] for entry in data["transforms"]] == list(TRANSFORMS)
    clip = next(entry for entry in data["transforms"] if entry["name"] == "clip_by_global_norm")
    assert clip["cause"] == "clipping" and clip["parameters"][0]["minimum"] == 0.0
    for line in data["examples"]:
        assert main(["run", "--steps", "1", "--optimizer", line, "--json"]) == 0


def test_json_of_runs_that_left_the_range_of_numbers_is_json(tmp_path, capsys):
    path = str(tmp_path / "e.json")
    assert main(["new", "-o", path, "--optimizer", WILD]) == 0
    capsys.readouterr()
    assert main(["run", path, "--steps", "9", "--json"]) == 1
    assert data_of(capsys)["trouble"]
    assert main(["compare", path, "torch.optim.SGD(params, lr=1e300)", "--json"]) == 0
    assert data_of(capsys)["step"] == 0
    assert main(["explain", path, "--json"]) == 0
    data_of(capsys)


def test_compare_can_tell_by_its_exit_code(tmp_path, capsys):
    path = str(tmp_path / "e.json")
    assert main(["new", "-o", path, "--optimizer", SGD]) == 0
    assert main(["compare", path, path, "--exit-code"]) == 0
    assert main(["compare", path, "torch.optim.SGD(params, lr=2e-3)", "--exit-code"]) == 1
    assert main(["compare", path, "torch.optim.SGD(params, lr=2e-3)"]) == 0


def test_runs_that_part_late_are_compared_block_by_block(tmp_path, capsys, monkeypatch):
    from core.simulation import Event

    # 14 numbers are 7 steps of 2 weights
    monkeypatch.setattr("core.commands.compare.BLOCK_NUMBERS", 14)
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    Experiment(optimizer=SGD).save(first)
    Experiment(optimizer=SGD, events=[Event(33, "learning_rate", "learning_rate", 2e-3)]).save(second)
    assert main(["compare", str(first), str(second), "--steps", "40", "--json"]) == 0
    found = data_of(capsys)
    a, b = Simulation(Experiment.load(first)), Simulation(Experiment.load(second))
    a.advance(40)
    b.advance(40)
    assert found["step"] == 33
    assert found["applied"] == np.linalg.norm(b.history.applied(33) - a.history.applied(33))
    assert found["weights_at_end"] == pytest.approx(np.linalg.norm(b.weights - a.weights), rel=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-13], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-11], False),
        ([0.0, 0.0], [0.0, 0.0], True),
        ([0.0, 0.0], [0.0, 5e-324], False),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([np.inf, 1.0], [-np.inf, 1.0], False),
        ([np.inf, 1.0], [1e300, 1.0], False),
        ([np.nan, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [0.5, 1.0], False),
        ([1e300, 0.0], [1.01e300, 0.0], False),
        ([1e300, 0.0], [1e300 * (1 + 1e-14), 0.0], True),
    ],
)
def test_steps_are_the_same_or_not_at_any_size(one, other, same):
    assert _same(np.array([one]), np.array([other]), 1e-12).tolist() == [same]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_long_work_shows_a_bar_on_a_terminal_and_nothing_elsewhere(monkeypatch):
    monkeypatch.setattr("core.commands.progress.QUIET", 0.0)
    monkeypatch.setattr("core.commands.progress.SLICE", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        simulation = Simulation(Experiment(optimizer=SGD))
        advance_to(simulation, 300, "first run")
        assert simulation.step == 300
        assert ("first run" in stream.getvalue()) is shown
    # what is there already is not run again, and trouble ends it
    advance_to(simulation, 100)
    assert simulation.step == 300
    diverging = Simulation(Experiment(optimizer=WILD))
    advance_to(diverging, 300)
    assert diverging.trouble and diverging.step < 300
