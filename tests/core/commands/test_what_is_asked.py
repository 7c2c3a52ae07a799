"""Words on the command line: names with slips, formulas that begin with a sign, terminals that lack a letter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.commands.sources import RequestError, check_steps, problem_asked_for
from main import main

ROOT = Path(__file__).parents[3]
SGD = "torch.optim.SGD(params, lr=0.1)"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("rosenbrock", "rosenbrock"),
        ("Rosenbrock ", "rosenbrock"),
        ("three hump camel", "three_hump_camel"),
        ("logistic-regression", "logistic_regression"),
    ],
)
def test_capitals_blanks_and_hyphens_do_no_harm(text, name):
    assert problem_asked_for(text).name == name


@pytest.mark.parametrize("text", ["x", "α", "w0", "x²", "x-y", "alpha*x", "sin(x)", "|x|", "lambda: x", "a-b", "[x]"])
def test_formulas_are_told_from_names(text):
    settings = problem_asked_for(text)
    assert (settings.name, settings.expression) == ("expression", text)


@pytest.mark.parametrize(
    ("text", "near"), [("rosenbrok", "rosenbrock"), ("rosenbrock2", "rosenbrock"), ("logistic-regresion", "logistic_")]
)
def test_a_name_with_a_slip_is_not_taken_for_a_formula(text, near):
    with pytest.raises(RequestError, match=f"did you mean '{near}"):
        problem_asked_for(text)


def test_a_formula_may_begin_with_a_minus_sign(capsys):
    # -x² at 3 has the slope -6: a step of +0.6
    assert main(["explain", "--problem", "-x**2", "--start", "3", "--optimizer", SGD, "--json"]) == 0
    assert '"gradient": [\n        -6.0\n      ]' in capsys.readouterr().out


def test_steps_that_would_never_end_are_refused(capsys):
    for command in (["run"], ["export", "-o", "t.csv"]):
        assert main([*command, "--steps", str(10**12)]) == 2
        assert "at most 20000000 steps" in capsys.readouterr().err
    assert main(["explain", "--step", str(10**12)]) == 2
    with pytest.raises(RequestError, match="at least one"):
        check_steps(0)


@pytest.mark.parametrize(
    ("given", "near"), [(["rnu", "e.json"], "run"), (["problem"], "problems"), (["exlpain", "--step", "3"], "explain")]
)
def test_a_command_with_a_slip_is_named(given, near, capsys):
    assert main(given) == 2
    assert f"did you mean '{near}'?" in capsys.readouterr().err


def run_program(*arguments, **settings):
    return subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *arguments], env=dict(os.environ, PYTHONIOENCODING="ascii"), **settings
    )


def test_a_terminal_without_the_letters_shows_their_codes():
    done = run_program("problems", capture_output=True)
    assert done.returncode == 0 and not done.stderr
    assert rb"Rosenbrock's valley: (1 - x)\xb2 + 100 (y - x\xb2)\xb2" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_the_output_is_told_without_an_empty_name():
    with open("/dev/full", "wb") as full:
        done = run_program("optimizers", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.decode().strip() == "stepscope: No space left on device"


@pytest.mark.skipif(os.name == "nt", reason="descriptors are closed by a Unix shell")
def test_a_closed_output_is_no_error():
    command = f'exec "{sys.executable}" "{ROOT / "main.py"}" optimizers >&-'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_script_leaves_the_trace_of_the_same_name_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ["--problem", "digits_mlp", "--optimizer", SGD]
    assert main(["run", *asked, "--steps", "1", "--out", "run.npz"]) == 0
    before = Path("run.npz").read_bytes()
    assert main(["script", *asked, "--framework", "numpy", "--steps", "1", "-o", "run.py"]) == 0
    assert capsys.readouterr().out.endswith("written to run.py and run_data.npz\n")
    assert Path("run.npz").read_bytes() == before
    done = subprocess.run([sys.executable, "run.py"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("0 ")


def test_a_named_problem_takes_settings_in_brackets():
    settings = problem_asked_for("quadratic(condition=300.0, rotation=30)")
    assert (settings.name, settings.values, settings.options) == ("quadratic", {"condition": 300.0, "rotation": 30}, {})
    text = "mlp(layers=[2], norm='batch', data='moons(rows=20, seed=1)', batch_size=0)"
    settings = problem_asked_for(text)
    assert (settings.name, settings.data) == ("mlp", "moons(rows=20, seed=1)")
    assert settings.values == {"batch_size": 0} and settings.options == {"layers": [2], "norm": "batch"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mlp(layers=[a])", "write a number, text or list"),
        ("mlp([8], norm='batch')", "settings are named"),
        ("mlp(layers=[2], nrm='batch')", "no parameter 'nrm'"),
        ("mlp(layers=)", "write NAME(setting=value"),
    ],
)
def test_settings_that_are_none_say_so(text, said, capsys):
    assert main(["explain", "--problem", text, "--optimizer", SGD]) == 2
    assert said in capsys.readouterr().err


def test_the_type_of_the_computation_is_an_option(capsys):
    lines = "torch.optim.Adam(params, lr=1e-3)"
    given = ["explain", "--problem", "0*x", "--start", "1", "--optimizer", lines, "--storage", "float16"]
    assert main([*given, "--arithmetic", "float16"]) == 0
    assert "nan" in capsys.readouterr().out, "eps=1e-8 is 0 in float16, and 0/0 is nan"
    assert main([*given, "--arithmetic", "float32"]) == 0
    assert "Nothing moved" in capsys.readouterr().out


def test_explain_says_what_only_the_problem_can_tell(capsys):
    assert main(["explain", "--problem", "sqrt(x**2 + y**2)", "--start", "0,0", "--optimizer", SGD]) == 0
    out = capsys.readouterr().out
    assert "there is no step to take here" in out and "the slope of sqrt(0) is inf" in out
    assert "lower the learning rate" not in out
    assert main(["explain", "--problem", "x**2", "--start", "5", "--optimizer", "torch.optim.SGD(p, lr=1.1)"]) == 0
    out = capsys.readouterr().out
    assert "lies after 0.4545 of it: the loss rises from 25 to 36" in out
    assert "mean curvature along it, 2, is 2.2" in out
    clip = "torch.nn.utils.clip_grad_norm_(p, 1.0); torch.optim.Adam(p, lr=0.001)"
    assert main(["explain", "--problem", "300*x + 400*y", "--start", "0,0", "--optimizer", clip]) == 0
    assert "Without clip by global norm this step would have been the same" in capsys.readouterr().out


def test_explain_warns_of_a_problem_that_learns_nothing(capsys):
    text = "mlp(layers=[2], norm='batch', data='moons(rows=20, seed=1)', batch_size=1)"
    assert main(["explain", "--problem", text, "--optimizer", SGD]) == 0
    assert "note: every batch has a single row" in capsys.readouterr().out
