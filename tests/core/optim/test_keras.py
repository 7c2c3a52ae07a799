"""Keras 3: every recorded trajectory, from a line of Keras code; and the code written back."""

from __future__ import annotations

from typing import Any

import pytest

from core.optim import Optimizer, parse_optimizer
from core.optim.layout import Array
from tests.core.optim.reference_problems import arguments, assert_closes, assert_reads_back, problem_of, run_case
from tests.reference_data import assert_close, cases, numbers

FILES = [
    "keras_accumulation",
    "keras_adadelta",
    "keras_adafactor",
    "keras_adagrad",
    "keras_adam",
    "keras_adamax",
    "keras_adamw",
    "keras_clip",
    "keras_ema",
    "keras_ftrl",
    "keras_lamb",
    "keras_lion",
    "keras_muon",
    "keras_nadam",
    "keras_rmsprop",
    "keras_scheduled",
    "keras_sgd",
]
CASES = [(file, case) for file in FILES for case in cases(file, "trajectory")]
LEAKS = cases("keras_float32_leaks", "trajectory")
FLOAT64 = 'keras.config.set_floatx("float64")\n'


def line_of(case: dict[str, Any]) -> str:
    """The line of Keras code that the case was recorded with."""
    settings = dict(case["optimizer"])
    name = settings.pop("name")
    for source in (case["clip"],):
        settings.update({key: value for key, value in (source or {}).items() if key != "kind"})
    if not settings.get("use_ema"):
        settings.pop("ema_momentum", None)
    text = arguments(settings)
    if case["schedule"]:
        schedule = dict(case["schedule"])
        text = f"learning_rate=keras.optimizers.schedules.{schedule.pop('name')}({arguments(schedule)}), {text}"
    return f"keras.optimizers.{name}({text})"


def check_average(record: dict[str, Any], optimizer: Optimizer, weights: Array, label: str) -> None:
    if record.get("ema") is None or record["k"] == 0:
        return
    chain, snapshot = optimizer.chain, optimizer.snapshot()
    state = snapshot[3][0].states[chain.index("weight_average")]
    assert_close(state["average"], record["ema"], record["tol"], f"{label}: average")


@pytest.mark.parametrize(("file", "case"), CASES, ids=[case["id"] for _, case in CASES])
def test_trajectory_is_that_of_keras(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(line_of(case))
    assert optimizer.dialect == "keras"
    run_case(case, optimizer, problem_of(file, case["problem"]), check_average)


@pytest.mark.parametrize("case", [case for _, case in CASES] + LEAKS, ids=lambda case: case["id"])
def test_written_code_reads_back_as_the_same_optimizer(case: dict[str, Any]) -> None:
    line = FLOAT64 + line_of(case) if "leaks" in case["id"] else line_of(case)
    optimizer = parse_optimizer(line)
    assert_reads_back(optimizer, "keras")


@pytest.mark.parametrize("case", LEAKS, ids=lambda case: case["id"])
def test_plain_numbers_under_floatx_float64_go_through_float32(case: dict[str, Any]) -> None:
    """Keras on TensorFlow casts plain numbers to float32 on the way; with set_floatx in the lines we do the same.

    The recorded tolerances are loose (1e-3 to 1e-5), meant for those who do not; what is reproduced agrees to 1e-10.
    """
    optimizer = parse_optimizer(FLOAT64 + line_of(case))
    run_case(case, optimizer, problem_of("keras_float32_leaks", case["problem"]), tol=1e-10)


@pytest.mark.parametrize("case", cases("keras_nadam", "trajectory"), ids=lambda case: case["id"])
def test_nadam_with_its_constant_in_float32(case: dict[str, Any]) -> None:
    """Keras writes 0.96 in the code of Nadam, so TensorFlow rounds it whatever the caller does."""
    optimizer = parse_optimizer(line_of(case))
    optimizer.transform("scheduled_nesterov").set("cast", "float32 decay")
    run_case(case, optimizer, problem_of("keras_nadam", case["problem"]), tol=1e-9)


def test_loss_scale() -> None:
    (case,) = cases("keras_loss_scale")
    inner = arguments(case["optimizer"] | {"name": "sgd"})
    scaler = {key: value for key, value in case["grad_scaler"].items() if key != "name"}
    line = f"keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD({inner}), {arguments(scaler)})"
    optimizer = parse_optimizer(line)
    problem = problem_of("keras_adam", "quadratic")
    weights = numbers(case["start"])
    for row in case["rows"]:
        assert optimizer.loss_scale == row["scale_before"]
        _, gradient = problem.at(weights, 0)
        if str(row["step"]) in case["poison"]:
            gradient[0] = float(case["poison"][str(row["step"])])
        ledger, weights = optimizer.step_flat(weights, gradient, problem.layout)
        assert_closes(ledger, f"step {row['step']}")
        assert_close(ledger.blocks[0].gradient, row["scaled_gradient"], case["tol"])
        assert ledger.skipped is row["skipped"]
        assert_close(weights, row["weights_after"], case["tol"])
        assert optimizer.loss_scale == row["scale_after"]
    assert_reads_back(optimizer, "keras")
