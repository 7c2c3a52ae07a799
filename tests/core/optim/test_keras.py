"""Keras 3: every recorded trajectory, from a line of Keras code; and the code written back."""

from __future__ import annotations

from typing import Any

import pytest

from core.optim import Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array
from tests.core.optim.reference_problems import problem_of, run_case
from tests.reference_data import assert_close, cases

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


def written(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


def line_of(case: dict[str, Any]) -> str:
    """The line of Keras code that the case was recorded with."""
    settings = dict(case["optimizer"])
    name = settings.pop("name")
    for source in (case["clip"],):
        settings.update({key: value for key, value in (source or {}).items() if key != "kind"})
    if not settings.get("use_ema"):
        settings.pop("ema_momentum", None)
    text = written(settings)
    if case["schedule"]:
        schedule = dict(case["schedule"])
        text = f"learning_rate=keras.optimizers.schedules.{schedule.pop('name')}({written(schedule)}), {text}"
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
    again = parse_optimizer(emit_optimizer(optimizer, "keras"))
    assert again.settings() == optimizer.settings()
    assert emit_optimizer(again, "keras") == emit_optimizer(optimizer, "keras")
