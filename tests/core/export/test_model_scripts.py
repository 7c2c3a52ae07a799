"""Scripts for models on data: they run beside their data and print the trajectory that Stepscope takes."""

import importlib.util
import re

import numpy as np
import pytest

from core.export.scripts import ScriptError, experiment_script, make_script
from core.simulation import Experiment, ProblemSettings
from core.simulation.experiment import Event
from main import main
from tests.core.export.model_cases import ALL, MODEL_CASES
from tests.core.export.test_scripts import NEEDS, STEPS, expected, run_script

PAIRS = [(name, framework) for name, (_, able) in MODEL_CASES.items() for framework in sorted(able)]


@pytest.mark.parametrize(("name", "framework"), PAIRS)
def test_the_script_of_a_model_prints_our_trajectory(name, framework, tmp_path, capsys):
    experiment, _ = MODEL_CASES[name]
    script = make_script(experiment, framework, STEPS, "beside.npz")
    compile(script.text, name, "exec")
    if framework == "numpy":  # in this process: a start of Python a case would be most of the time
        script.write(tmp_path / "script.py")
        with np.errstate():
            exec(compile(script.text, name, "exec"), {"__file__": str(tmp_path / "script.py")})
        printed = np.array([[float(word) for word in line.split()] for line in capsys.readouterr().out.splitlines()])
    else:
        missing = [module for module in NEEDS[framework] if importlib.util.find_spec(module) is None]
        if missing:
            pytest.skip(f"{missing[0]} is not installed here, so its script cannot run (extra 'bench')")
        script.write(tmp_path / "script.py")
        printed = run_script(tmp_path / "script.py")
    np.testing.assert_allclose(printed, expected(experiment), rtol=1e-10, atol=1e-10)


def test_every_framework_is_refused_or_tried():
    for name, (experiment, able) in MODEL_CASES.items():
        for framework in ALL - able:
            with pytest.raises(ScriptError):
                make_script(experiment, framework, 5)
                pytest.fail(f"{name}: {framework} can write this, and no case holds that it is right")


def _sgd(name, events=(), **values):
    return Experiment(
        problem=ProblemSettings(name=name, values=values),
        optimizer="torch.optim.SGD(params, lr=0.1)",
        events=list(events),
    )


def test_what_changes_the_model_itself_is_refused():
    with pytest.raises(ScriptError, match="step 3 the model or its data was changed"):
        make_script(_sgd("mlp", [Event(3, "problem", "activation", "relu")]), "numpy", 10)
    with pytest.raises(ScriptError, match="goes beside it"):
        experiment_script(_sgd("logistic_regression"), "numpy", 10)


@pytest.mark.parametrize(
    ("lines", "framework", "reason"),
    [
        ("torch.optim.Muon([W1, W2], lr=0.01)", "torch", "matrices only"),
        ("keras.optimizers.Adafactor(0.01)", "keras", "in float32"),
        ("optax.adamw(0.01, mask={'W1': True, 'b1': False, 'W2': True, 'b2': False})", "numpy", "some variables only"),
    ],
)
def test_what_a_framework_does_otherwise_with_several_variables_is_refused(lines, framework, reason):
    with pytest.raises(ScriptError, match=reason):
        make_script(_sgd("mlp", layers=[4]).replace(optimizer=lines), framework, 5)


def test_gradients_that_are_rounding_are_told_at_the_top():
    adam = "torch.optim.Adam(params, lr=0.01)"
    normed = _sgd("digits_mlp").replace(optimizer=adam)
    said = make_script(normed, "torch", 3).text
    assert re.search(r"the gradient of .*\bb1\b.* is zero but for rounding", said)
    assert "rounding" not in make_script(_sgd("digits_mlp"), "torch", 3).text
    assert "rounding" not in make_script(_sgd("mlp").replace(optimizer=adam), "torch", 3).text


def test_small_data_stands_in_the_script(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,y\n0,1\n1,3\n2,5\n3,7\n", encoding="utf-8")
    values = {"data": str(table), "test_fraction": 0.0, "standardise": False, "standardise_target": False}
    experiment = _sgd("linear_regression", **values, batch_size=0)
    script = make_script(experiment, "numpy", 3)
    assert not script.arrays
    path = tmp_path / "alone.py"
    script.write(path)
    printed = run_script(path)
    # squared error of w a + b at w = b = 0 over y = 1, 3, 5, 7: mean 21; slopes -2 mean(a y) = -17, -2 mean(y) = -8
    after = np.mean((1.7 * np.arange(4) + 0.8 - [1, 3, 5, 7]) ** 2)
    np.testing.assert_allclose(printed[:2], [[0, 21, 0, 0], [1, after, 1.7, 0.8]], rtol=1e-12)


def test_the_command_writes_the_data_beside_the_program(tmp_path, capsys):
    out = tmp_path / "run.py"
    lines = ["--problem", "softmax_regression", "--optimizer", "torch.optim.SGD(params, lr=0.1)"]
    assert main(["script", "--framework", "numpy", "--steps", "5", "-o", str(out), *lines]) == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix) == ["run.py", "run_data.npz"]
    assert run_script(out).shape == (5, 2 + 15)  # iris: four features and a bias, three classes
    # nothing of the start of cross entropy over three classes but its logarithm
    assert run_script(out)[0, 1] == pytest.approx(np.log(3), rel=1e-14)
    assert main(["script", "--framework", "numpy", *lines]) == 2
    assert "-o FILE.py" in capsys.readouterr().err
    assert main(["script", "--framework", "numpy", "-o", str(tmp_path / "run.txt"), *lines]) == 2
