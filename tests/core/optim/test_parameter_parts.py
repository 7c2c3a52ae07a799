"""Frozen parameters, groups told apart by names and shapes, and clips of some parameters: as PyTorch and Keras act."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import NotRepresentable, ParseError, emit_optimizer, parse_optimizer
from core.optim.layout import Layout
from core.optim.variable_rules import ALL, NONE, Rule, joined, negated, role_of

RECORDED = json.loads((Path(__file__).parent / "data" / "parameter_parts.json").read_text(encoding="utf-8"))
START = {name: np.array(value) for name, value in RECORDED["start"].items()}
GRADIENTS = [{name: np.array(value) for name, value in step.items()} for step in RECORDED["gradients"]]
LAYOUT = Layout(list(START), [value.shape for value in START.values()])


@pytest.mark.parametrize("case", RECORDED["cases"], ids=[case["name"].replace(" ", "_") for case in RECORDED["cases"]])
def test_every_step_is_the_one_pytorch_took(case: dict[str, Any]) -> None:
    """Both ways of taking a step: variable by variable, and on flat vectors, as a simulation does."""
    single, flat = parse_optimizer(case["text"]), parse_optimizer(case["text"])
    variables = {name: Variable(value.copy(), name=name) for name, value in START.items()}
    weights = LAYOUT.join(list(START.values()), np.float64)
    for gradients, right in zip(GRADIENTS, case["weights"], strict=True):
        ledger = single.apply_gradients([(gradients[name], variable) for name, variable in variables.items()])
        gradient = LAYOUT.join([gradients[name] for name in START], np.float64)
        whole, weights = flat.step_flat(weights, gradient, LAYOUT)
        for k, (name, variable) in enumerate(variables.items()):
            np.testing.assert_allclose(variable.numpy(), right[name], rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(weights[LAYOUT.slices[k]].reshape(LAYOUT.shapes[k]), variable.numpy())
            for entry in (ledger[variable], whole[name]):
                total = entry.expected + sum(row.contribution for row in entry.rows)
                np.testing.assert_allclose(total, entry.applied, rtol=0, atol=1e-14)


def test_frozen_variables_stay_apart_through_snapshots_and_switches() -> None:
    """Once the mask is switched off the variables are trained: the row is a cause like any other."""
    optimizer = parse_optimizer("model.b1.requires_grad_(False)\ntorch.optim.SGD(model.parameters(), lr=0.5)")
    weights, gradient = np.zeros(LAYOUT.size), np.ones(LAYOUT.size)
    part = LAYOUT.slices[LAYOUT.names.index("b1")]
    ledger, weights = optimizer.step_flat(weights, gradient, LAYOUT)
    assert ledger["b1"].rows[0].cause == "frozen variables"
    assert (ledger["b1"].rows[0].contribution == 0.5).all() and not weights[part].any()
    kept = optimizer.snapshot()
    optimizer.enable("frozen_part", False)
    _, freed = optimizer.step_flat(weights, gradient, LAYOUT)
    assert (freed[part] == -0.5).all()
    optimizer.enable("frozen_part", True)
    optimizer.restore(kept)
    _, again = optimizer.step_flat(weights, gradient, LAYOUT)
    assert not again[part].any() and (np.delete(again, np.arange(part.start, part.stop)) == -1.0).all()
    assert (ledger.without("frozen_part")["b1"].applied == -0.5).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("for p in model.features.parameters():\n    p.requires_grad = False\nSGD", "model.features"),
        ("for n, p in model.named_parameters():\n    if 'bias' in n:\n        p.requires_grad = False\nSGD", "'bias'"),
        ("model[0].requires_grad_(False)\nSGD", r"model\[0\]"),
        ("clip_grad_norm_(model.fc.weight, 1.0)\nSGD", "line 1 clips"),
        ("for p in model.parameters():\n    p.requires_grad = False\nmodel.fc = nn.Linear(3, 2)\nSGD", "model.fc"),
        ("base.trainable = False\nkeras.optimizers.SGD(0.1)", "line 1 freezes"),
        ("for layer in model.layers[:-1]:\n    layer.trainable = False\nkeras.optimizers.SGD(0.1)", "layers"),
        ("Dense(1, kernel_regularizer=l2(0.1))\nkeras.optimizers.SGD(0.1)", "kernel_regularizer"),
        ("Dense(4)\nDense(1, kernel_regularizer=l2(0.1))\nkeras.optimizers.SGD(0.1)", "2 layers"),
    ],
)
def test_what_no_variable_answers_is_refused_before_the_first_step(text: str, words: str) -> None:
    optimizer = parse_optimizer(text.replace("\nSGD", "\ntorch.optim.SGD(model.parameters(), lr=0.1)"))
    with pytest.raises(SettingError, match=words) as caught:
        optimizer.check_variables(["p"], [(2,)])
    assert "called p" in str(caught.value) or "are p." in str(caught.value)
    with pytest.raises(SettingError, match=words):
        optimizer.apply_gradients([(np.ones(2), Variable(np.ones(2), name="p"))])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("for p in model.parameters():\n    p.requires_grad = False", "every parameter is frozen"),
        (
            "for n, p in model.named_parameters():\n    if odd(n):\n        p.requires_grad = False",
            "cannot be",
        ),
        ("for p in model.parameters():\n    p.requires_grad = chosen[p]", "cannot be read"),
        ("for i in range(9):\n    if i == 5:\n        model.fc.requires_grad_(False)", "while the training runs"),
        ("clip_grad_norm_([p for p in model.parameters() if p in chosen], 1.0)", "cannot be read"),
    ],
)
def test_choices_that_cannot_be_read_are_refused_with_their_line(lines: str, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        parse_optimizer(f"{lines}\ntorch.optim.SGD(model.parameters(), lr=0.1)")
    assert caught.value.line


def test_a_norm_over_more_than_the_optimizer_has_is_refused() -> None:
    some = "torch.optim.SGD([p for n, p in model.named_parameters() if 'bias' not in n], lr=0.1)"
    with pytest.raises(ParseError, match="given some of the parameters"):
        parse_optimizer(f"clip_grad_norm_(model.parameters(), 1.0)\n{some}")


def test_shapes_settle_what_names_do_not() -> None:
    """A lone variable without a layer's name has one axis, which is enough for a rule that asks for axes as well."""
    Rule(test=("or", ("ndim", "==", 1), ("ends", ".bias"))).check(["p"], [(2,)])
    with pytest.raises(SettingError):
        Rule(test=("or", ("ndim", "==", 2), ("ends", ".bias"))).check(["p"], [(2,)])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Dense(3, kernel_regularizer=l2(0.05))\nDense(1, kernel_regularizer=l2(0.05))\n", {"W1": 0.1, "W2": 0.1}),
        ("Dense(3, kernel_regularizer='l2')\nDense(1)\n", {"W1": 0.02}),
        ("Dense(3, bias_regularizer=keras.regularizers.L2(0.5))\nDense(1)\n", {"b1": 1.0}),
        ("Dense(3, kernel_regularizer=l1_l2(l2=0.05))\nDense(1, kernel_regularizer=l2(0.1))\n", {"W1": 0.1, "W2": 0.2}),
    ],
)
def test_penalties_of_layers_act_on_their_variables(text: str, names: dict[str, float]) -> None:
    """keras.regularizers.L2(l) adds l·Σw² to the loss, whose gradient is 2·l·w."""
    optimizer = parse_optimizer(text + "keras.optimizers.SGD(1.0)")
    variables = {name: Variable(value.copy(), name=name) for name, value in START.items()}
    optimizer.apply_gradients([(np.zeros(value.shape), variables[name]) for name, value in START.items()])
    for name, value in START.items():
        right = value - names.get(name, 0.0) * value
        np.testing.assert_allclose(variables[name].numpy(), right, rtol=1e-6)


def test_what_layers_freeze_in_keras_stays() -> None:
    optimizer = parse_optimizer("W1.trainable = False\nb1.trainable = False\nkeras.optimizers.SGD(1.0, clipnorm=1.0)")
    variables = {name: Variable(value.copy(), name=name) for name, value in START.items()}
    optimizer.apply_gradients([(np.ones(value.shape), variables[name]) for name, value in START.items()])
    still = {name for name, value in START.items() if (variables[name].numpy() == value).all()}
    assert still == {"W1", "b1"}


def test_rules_are_not_written_as_lines_that_would_leave_them_out() -> None:
    for text in (case["text"] for case in RECORDED["cases"][:6]):
        for dialect in ("torch", "keras", "tf1", "optax"):
            with pytest.raises(NotRepresentable):
                emit_optimizer(parse_optimizer(text), dialect)


def test_words_of_layers_and_rules_joined() -> None:
    assert [role_of(name) for name in ("W1", "b", "gamma2", "beta1", "fc.kernel", "p", "x")] == [
        "weight",
        "bias",
        "norm.weight",
        "norm.bias",
        "weight",
        "",
        "",
    ]
    some = ("holds", "bias")
    assert joined("and", [ALL, some]) == some and joined("or", [ALL, some]) == ALL
    assert joined("and", [NONE, some]) == NONE and negated(negated(some)) == some


def test_without_a_cause_each_group_goes_through_its_own_chain_again() -> None:
    """Two groups with rates 0.5 and 0.25 and a clip of the norm √19 to 1, left out: -lr·1 in each."""
    groups = (
        "[{'params': [model.W1, model.b1]}, {'params': [model.gamma1, model.beta1, model.W2, model.b2], 'lr': 0.25}]"
    )
    text = f"clip_grad_norm_(model.parameters(), 1.0)\ntorch.optim.SGD({groups}, lr=0.5)"
    ledger, _ = parse_optimizer(text).step_flat(np.zeros(LAYOUT.size), np.ones(LAYOUT.size), LAYOUT)
    without = ledger.without("clip_by_global_norm")
    for name in LAYOUT.names:
        rate = 0.5 if name in ("W1", "b1") else 0.25
        np.testing.assert_allclose(ledger[name].applied, -rate / (np.sqrt(LAYOUT.size) + 1e-6))
        np.testing.assert_array_equal(without[name].applied, np.full_like(START[name], -rate))


def test_the_card_switched_while_it_runs_is_freezing_midway_in_pytorch() -> None:
    """As the message says: two steps trained, two frozen (grad None: the momentum waits), two trained again."""
    text = "model.b1.requires_grad_(False)\ntorch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)"
    optimizer, weights = parse_optimizer(text), np.zeros(LAYOUT.size)
    part, found = LAYOUT.slices[LAYOUT.names.index("b1")], []
    for trained in (True, True, False, False, True, True):
        optimizer.enable("frozen_part", not trained)
        _, weights = optimizer.step_flat(weights, np.ones(LAYOUT.size), LAYOUT)
        found.append(weights[part][0])
    # velocities 1, 1.5, then 1.75, 1.875
    np.testing.assert_array_equal(found, [-0.5, -1.25, -1.25, -1.25, -2.125, -3.0625])


@pytest.mark.parametrize("lines", ["Dense(3, kernel_regularizer='l2')", "Dense(2)\nDense(3, kernel_regularizer='l2')"])
def test_masks_by_rule_are_not_written_as_masks_of_everything(lines: str) -> None:
    with pytest.raises(NotRepresentable, match="tree of True and False"):
        emit_optimizer(parse_optimizer(f"{lines}\nkeras.optimizers.SGD(0.1)"), "optax")
