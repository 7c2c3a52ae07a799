"""'explain' with every row's formula, numbers and convention; 'compare' of two lines."""

import json

import numpy as np
import pytest

from main import main

START = ["--problem", "rosenbrock", "--start", "-1.2,1"]


def test_explain_gives_formula_numbers_and_convention_of_each_row(capsys):
    """Adam's first step by Kingma and Ba 2015: m = 0.1 g, v = 0.001 g²; the gradient at (-1.2, 1) is (-215.6, -88)."""
    lines = "keras.optimizers.Adam(0.05)"
    assert main(["explain", *START, "--optimizer", lines]) == 0
    told = capsys.readouterr().out
    assert "m ← β₁ m + (1 − β₁) u,  u ← m   with β₁ = 0.9" in told
    assert "p[0]: u = -215.6 → -21.56, m = 0 → -21.56; contribution -9.702" in told
    assert "v = 0 → 46.4834" in told and "√v + ε" in told and "ε = 1e-07" in told
    assert "[ε hat: added to the uncorrected root" in told
    assert main(["explain", *START, "--optimizer", lines, "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["formulas"]}
    assert rows["first_moment"]["numbers"]["m"] == {"before": 0.0, "after": pytest.approx(-21.56)}
    assert rows["second_moment"]["numbers"]["v"]["after"] == pytest.approx(0.001 * 215.6**2)
    assert "frozen_mask" not in rows


def test_a_refused_step_is_explained_without_formulas_that_did_not_act(capsys):
    lines = "s = torch.cuda.amp.GradScaler(init_scale=1.0)\ntorch.optim.SGD(params, lr=0.1)"
    assert main(["explain", "--problem", "log(x) + y", "--start", "0,0", "--optimizer", lines]) == 0
    told = capsys.readouterr().out
    assert "SKIPPED" in told


def test_two_lines_are_compared_on_the_same_weights_and_gradients(capsys):
    """lr outside the velocity (PyTorch) or inside (Keras): equal while the rate is constant, by rounding at most."""
    torch = "opt = torch.optim.SGD(params, lr=0.0003, momentum=0.9); torch.optim.lr_scheduler.StepLR(opt, 30)"
    keras = (
        "s = keras.optimizers.schedules.ExponentialDecay(0.0003, decay_steps=30, decay_rate=0.1, staircase=True); "
        "keras.optimizers.SGD(s, momentum=0.9)"
    )
    assert main(["compare", torch, keras, *START, "--steps", "60", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["step"], found["cause"], found["same_gradients"]) == (30, "learning_rate", True)
    assert found["names"] == ["PyTorch", "Keras"]
    assert 0 < found["first_rounding"] < 30 and 0.0 < found["rounding"] < 1e-15
    assert "with PyTorch lr outside" in found["words"] and "with Keras lr inside" in found["words"]
    assert main(["compare", torch, keras, *START, "--steps", "60"]) == 0
    told = capsys.readouterr().out
    assert "part at step 30" in told and "Before that they differ by rounding alone" in told
    assert main(["compare", torch, keras, *START, "--steps", "20", "--exit-code"]) == 0
    assert "do not part within 20 steps: rounding sets them apart by at most" in capsys.readouterr().out


def test_the_difference_is_that_of_the_formulas(capsys):
    """ε outside the root (PyTorch) and inside (Keras): the first RMSprop step of both written out."""
    torch = "torch.optim.RMSprop(params, lr=0.01, alpha=0.9, eps=0.01)"
    keras = "keras.optimizers.RMSprop(0.01, rho=0.9, epsilon=0.01)"
    assert main(["compare", torch, keras, *START, "--steps", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    g = np.array([-215.6, -88.0])
    v = 0.1 * g * g
    apart = np.linalg.norm(0.01 * g / (np.sqrt(v) + 0.01) - 0.01 * g / np.sqrt(v + 0.01))
    assert found["step"] == 0 and found["applied"] == pytest.approx(apart, rel=1e-9)
    assert found["cause"] == "second_moment"


def test_lines_given_twice_are_refused(capsys):
    assert main(["compare", "torch.optim.SGD(p, lr=0.1)", "optax.sgd(0.1)", "--optimizer", "optax.adam(0.1)"]) == 2
    assert "once" in capsys.readouterr().err
    assert main(["compare", "torch.optim.SDG(p, lr=0.1)", "optax.sgd(0.1)"]) == 2
    assert "SGD" in capsys.readouterr().err


def test_runs_with_other_weights_say_so(tmp_path, capsys):
    first, second = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    assert main(["new", "-o", first, "--problem", "rosenbrock", "--start", "-1.2,1"]) == 0
    assert main(["new", "-o", second, "--problem", "rosenbrock", "--start", "-1.1,1"]) == 0
    capsys.readouterr()
    assert main(["compare", first, second, "--steps", "3"]) == 0
    assert "The weights differ already there" in capsys.readouterr().out
