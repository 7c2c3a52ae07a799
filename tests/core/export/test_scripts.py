"""Scripts for other frameworks: they run, and print the trajectory that Stepscope takes."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from core.export.scripts import ScriptError, experiment_script
from core.simulation import Experiment, ProblemSettings, Simulation
from main import main
from tests.core.export.script_cases import CASES, REFUSED

STEPS = 100
NEEDS = {"torch": ("torch",), "keras": ("keras",), "optax": ("optax", "jax"), "numpy": ("numpy",)}
PAIRS = [(name, framework) for name, (_, able) in CASES.items() for framework in sorted(able)]


def expected(experiment, steps=STEPS):
    simulation = Simulation(experiment)
    simulation.advance(steps)
    history = simulation.history
    return np.column_stack([np.arange(steps), history.scalar("loss")[:steps], history.vectors("weights", 0, steps)])


def run_script(path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if importlib.util.find_spec("tensorflow") is None and importlib.util.find_spec("jax") is not None:
        environment["KERAS_BACKEND"] = "jax"
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=240, env=environment, cwd=path.parent
    )
    assert done.returncode == 0, done.stderr
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.parametrize(("name", "framework"), PAIRS)
def test_the_script_prints_our_trajectory(name, framework, tmp_path):
    experiment, _ = CASES[name]
    text = experiment_script(experiment, framework, STEPS)
    compile(text, name, "exec")
    missing = [module for module in NEEDS[framework] if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed here, so its script cannot run (extra 'bench')")
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    np.testing.assert_allclose(run_script(path), expected(experiment), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "framework", "reason"), REFUSED)
def test_what_a_framework_cannot_do_is_refused_with_a_reason(name, framework, reason):
    experiment, _ = CASES[name]
    with pytest.raises(ScriptError, match=reason):
        experiment_script(experiment, framework, STEPS)


def test_every_function_problem_has_the_right_value_and_gradient_in_numpy():
    from core.problems import problem, problem_names
    from core.problems.functions import FunctionObjective

    seen = 0
    for name in problem_names():
        objective = problem(name)
        if not isinstance(objective, FunctionObjective):
            continue
        text = experiment_script(
            Experiment(problem=ProblemSettings(name=name), optimizer="torch.optim.SGD(params, lr=1e-3)"), "numpy", 1
        )
        space = {}
        exec(text.replace("print(", "(lambda *_: None)("), space)
        for point in np.random.default_rng(3).uniform(-2, 2, (5, 2)):
            loss, gradient = space["value_and_gradient"](point, 0)
            right_loss, right = objective.value_and_gradient(point)
            np.testing.assert_allclose(loss, right_loss, rtol=1e-13)
            np.testing.assert_allclose(gradient, right, rtol=1e-12, atol=1e-14)
            step = 1e-6
            slopes = [
                (objective.value(point + step * unit) - objective.value(point - step * unit)) / (2 * step)
                for unit in np.eye(2)
            ]
            np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-4 * (1 + abs(right_loss)))
        seen += 1
    assert seen > 15


def test_refusals_say_what_and_why():
    sgd = "torch.optim.SGD(params, lr=0.1)"
    with pytest.raises(ScriptError, match="stored in float16"):
        experiment_script(Experiment(optimizer=sgd, storage="float16"), "torch", 10)
    with pytest.raises(ScriptError, match="is not written out"):
        experiment_script(Experiment(optimizer="optax.lion(1e-2)"), "numpy", 10)
    with pytest.raises(ScriptError, match="at least one"):
        experiment_script(Experiment(), "numpy", 0)


def test_the_command_writes_a_program(tmp_path, capsys):
    out = tmp_path / "run.py"
    lines = ["--optimizer", "torch.optim.SGD(params, lr=1e-3)", "--start", "-1.2,1"]
    assert main(["script", "--framework", "numpy", "--steps", "5", "-o", str(out), *lines]) == 0
    printed = run_script(out)
    assert printed.shape == (5, 4)
    # the gradient of Rosenbrock's function at (-1.2, 1) is (-215.6, -88)
    np.testing.assert_allclose(printed[:2, 2:], [[-1.2, 1.0], [-1.2 + 0.2156, 1.0 + 0.088]], rtol=1e-12)
    assert main(["script", "--framework", "keras", "--optimizer", "torch.optim.Adam(params, amsgrad=True)"]) == 2
    assert "Keras has no optimizer" in capsys.readouterr().err
