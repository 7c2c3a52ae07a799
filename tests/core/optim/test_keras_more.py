"""Keras beyond the recorded files: ScheduleFreeAdamW and combinations, against runs of Keras itself (on JAX)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.optim import parse_optimizer
from tests.core.optim.reference_problems import assert_closes, assert_reads_back, problem_of
from tests.reference_data import assert_close, numbers

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "keras_more.json").read_text(encoding="utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_run_is_that_of_keras(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["lines"])
    problem = problem_of(case["file"], case["problem"])
    records = {record["k"]: record for record in case["record"]}
    weights = numbers(case["start"])
    for k in range(case["steps"]):
        _, gradient = problem.at(weights, k)
        ledger, weights = optimizer.step_flat(weights, gradient, problem.layout)
        assert_closes(ledger, case["id"])
        record = records.get(k + 1)
        if record is not None:
            assert_close(weights, record["weights"], 1e-10, f"{case['id']} after {k + 1} steps")
            if "ema" in record:
                row = optimizer.chain.index("weight_average")
                average = optimizer.snapshot()[3][0].states[row]["average"]
                assert_close(average, record["ema"], 1e-10, f"{case['id']}: average after {k + 1} steps")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_written_code_reads_back_as_the_same_optimizer(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["lines"])
    assert_reads_back(optimizer, "keras")
