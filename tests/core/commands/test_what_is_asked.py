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
