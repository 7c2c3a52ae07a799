"""PyTorch's recorded trajectories, schedules, clippings and scalers, reproduced from the pasted lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.optim import Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.transforms.orthogonalise import Orthogonalise
from tests.core.optim.reference_problems import assert_closes, assert_reads_back, problem_of, run_case
from tests.core.optim.torch_lines import arguments, lines, schedule_line
from tests.reference_data import assert_close, cases, numbers

FILES = (
    "torch_adadelta",
    "torch_adafactor",
    "torch_adagrad",
    "torch_adam",
    "torch_adamax",
    "torch_adamw",
    "torch_asgd",
    "torch_clip",
    "torch_lbfgs",
    "torch_muon",
    "torch_nadam",
    "torch_radam",
    "torch_rmsprop",
    "torch_rprop",
    "torch_scalar_state",
    "torch_sgd",
    "torch_sgd_scheduled",
)


def _cases(file: str, kind: str) -> list[Any]:
    return [pytest.param(file, case, id=case["id"]) for case in cases(file, kind)]


TRAJECTORIES = [param for file in FILES for param in _cases(file, "trajectory")]


def _state(optimizer: Optimizer, row: str, key: str) -> Any:
    block = optimizer.snapshot()[-2][0]
    return block.states[optimizer.chain.index(row)][key]


def _check_extras(record: dict[str, Any], optimizer: Optimizer, weights: Array, label: str) -> None:
    if "ax" in record and record["k"] > 0:
        assert_close(_state(optimizer, "iterate_average", "ax"), record["ax"], record["tol"], f"{label}: average")


@pytest.mark.parametrize(("file", "case"), TRAJECTORIES)
def test_trajectory(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(lines(case))
    if "float64" in case["id"]:
        for transform in optimizer.chain:  # the record's note: only the cast to bfloat16 was replaced
            if isinstance(transform, Orthogonalise):
                transform.set("work", "float64")
    run_case(case, optimizer, problem_of(file, case["problem"]), _check_extras)


@pytest.mark.parametrize(("file", "case"), TRAJECTORIES)
def test_parse_emit_parse_is_the_identity(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(lines(case))
    assert_reads_back(optimizer, "torch")


@pytest.mark.parametrize(("file", "case"), _cases("torch_schedules", "schedule"))
def test_schedule(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(_scheduled(case))
    got, momentum = [], []
    layout, w = Layout(["w"], [(1,)]), np.zeros(1)
    for _ in case["lr"]:
        ledger, w = optimizer.step_flat(w, np.ones(1), layout)
        got.append(ledger.learning_rate)
        momentum.append(ledger.blocks[0].context.momentum)
    assert_close(got, case["lr"], case["tol"], case["id"])
    if "momentum" in case:
        assert_close(momentum, case["momentum"], case["tol"], f"{case['id']}: momentum")


@pytest.mark.parametrize(("file", "case"), _cases("torch_schedules", "schedule_metric"))
def test_schedule_that_watches_the_loss(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(_scheduled(case))
    layout, w = Layout(["w"], [(1,)]), np.zeros(1)
    got = []
    for metric in [*case["metric"], 0.0]:
        ledger, w = optimizer.step_flat(w, np.ones(1), layout, loss=metric)
        got.append(ledger.learning_rate)
    assert_close(got, case["lr"], case["tol"], case["id"])


@pytest.mark.parametrize(
    ("file", "case"), _cases("torch_schedules", "schedule") + _cases("torch_schedules", "schedule_metric")
)
def test_schedule_parse_emit_parse(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(_scheduled(case))
    again = parse_optimizer(emit_optimizer(optimizer))
    assert again.settings() == optimizer.settings()


def _scheduled(case: dict[str, Any]) -> str:
    first = f"optimizer = torch.optim.SGD(params, lr={case['base_lr']!r}, momentum=0.9)"
    return f"{first}\nscheduler = {schedule_line(case['schedule'])}"


@pytest.mark.parametrize(("file", "case"), _cases("torch_clip_functions", "clip_function"))
def test_clip_function(file: str, case: dict[str, Any]) -> None:
    clip = case["clip"]
    text = arguments(clip, {"kind"})
    optimizer = parse_optimizer(f"torch.nn.utils.{clip['kind']}(params, {text})\ntorch.optim.SGD(params, lr=1.0)")
    arrays = [numbers(array) for array in case["input"]]
    layout = Layout([f"v{i}" for i in range(len(arrays))], [array.shape for array in arrays])
    ledger, _ = optimizer.step_flat(np.zeros(layout.size), layout.join(arrays, np.float64), layout)
    clipped = ledger.blocks[0].track.updates[optimizer.chain.index(optimizer.chain.row_names[1])]
    for got, expected in zip(layout.split(clipped), case["output"], strict=True):
        assert_close(got, expected, case["tol"], case["id"])
    if "total_norm" in case:
        assert_close(ledger.figures["gradient_norm"], case["total_norm"], case["tol"], case["id"])


@pytest.mark.parametrize(("file", "case"), _cases("torch_gradscaler", "gradscaler"))
def test_gradscaler(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(lines(case))
    problem = problem_of(file, case["problem"])
    poison = {int(step): float(value) for step, value in case["poison"].items()}
    weights = numbers(case["start"])
    for row in case["rows"]:
        scale = optimizer.loss_scale
        assert scale == row["scale_before"]
        loss, gradient = problem.at(weights, row["step"] - 1)
        if row["step"] in poison:
            gradient[0] = poison[row["step"]]
        count = optimizer.step_count
        ledger, weights = optimizer.step_flat(weights, gradient, problem.layout, loss=loss)
        assert_close(ledger.blocks[0].gradient, row["scaled_gradient"], case["tol"], "scaled gradient")
        assert ledger.skipped is row["skipped"]
        assert optimizer.step_count == count + (not row["skipped"])
        assert_close(weights, row["weights_after"], case["tol"], f"{case['id']} step {row['step']}")
        assert optimizer.loss_scale == row["scale_after"]
        assert_closes(ledger, case["id"])
