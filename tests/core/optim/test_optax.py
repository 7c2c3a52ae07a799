"""optax: every recorded trajectory from the line a person would paste, and that line through emit and back."""

from __future__ import annotations

from typing import Any

import pytest

from core.optim import Optimizer, parse_optimizer
from core.optim.layout import Array
from core.optim.transforms.lookahead import Lookahead
from core.optim.transforms.schedule_free import ScheduleFree
from tests.core.optim.optax_lines import case_line
from tests.core.optim.reference_problems import assert_reads_back, problem_of, run_case
from tests.reference_data import REFERENCE, assert_close, cases

FILES = sorted(path.stem for path in REFERENCE.glob("optax_*.json"))
TRAJECTORIES = [(file, case) for file in FILES for case in cases(file, "trajectory")]
IDS = [case["id"] for _, case in TRAJECTORIES]

STEEP = {"optax/clip/adam_block_rms/rosenbrock", "optax/adafactor/not_factored/matrix"}
"""Runs that amplify the last bit of XLA's fused sums a billionfold. Their tolerance (1e-4, 1e-5) fits the weights; on
this slope the same distance changes the gradient by more. Gradients at the recorded weights are tested elsewhere."""


def averages(record: dict[str, Any], optimizer: Optimizer, weights: Array, label: str) -> None:
    """The slow weights of lookahead and the averaged ones of schedule-free, where a record holds them."""
    for row, state in zip(optimizer.chain, optimizer._blocks[0].states if optimizer._blocks else (), strict=False):
        if isinstance(row, Lookahead) and "slow_weights" in record:
            assert_close(state["slow"], record["slow_weights"], record["tol"], f"{label}: slow weights")
        if isinstance(row, ScheduleFree) and "eval_weights" in record:
            found = row.average(weights, state["z"])
            assert_close(found, record["eval_weights"], record["tol"], f"{label}: averaged weights")


@pytest.mark.parametrize(("file", "case"), TRAJECTORIES, ids=IDS)
def test_trajectory(file: str, case: dict[str, Any]) -> None:
    run_case(
        case,
        parse_optimizer(case_line(case)),
        problem_of(file, case["problem"]),
        averages,
        weights_only=case["id"] in STEEP,
    )


@pytest.mark.parametrize("case", [case for _, case in TRAJECTORIES], ids=IDS)
def test_parse_emit_parse_is_the_identity(case: dict[str, Any]) -> None:
    first = parse_optimizer(case_line(case))
    assert_reads_back(first, "optax")
