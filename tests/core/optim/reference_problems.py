"""The problems of the recorded trajectories, with gradients written by hand, and the run that compares every record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.optim import Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.ledger import StepLedger
from tests.core.optim import fused_problems
from tests.reference_data import assert_close, load, numbers

LossAndGradient = Callable[[Array, int], tuple[float, Array]]


@dataclass(frozen=True)
class Problem:
    """``at(weights, k)`` is (loss, gradient) of step k + 1 at the flat weights; ``layout`` divides them."""

    layout: Layout
    at: LossAndGradient


def _quadratic(w: Array, k: int) -> tuple[float, Array]:
    x, y = w
    return 0.5 * (x**2 + 25 * y**2), np.array([x, 25 * y])


def _rosenbrock(w: Array, k: int) -> tuple[float, Array]:
    """In the order in which PyTorch and TensorFlow differentiate it: their recorded gradients have these bits."""
    x, y = w
    along = y - x**2
    slope = 200 * along
    return (1 - x) ** 2 + 100 * along**2, np.array([-2 * (1 - x) - slope * (2 * x), slope])


def _beale(w: Array, k: int) -> tuple[float, Array]:
    """In the order of operations of reverse differentiation: L-BFGS magnifies every bit of it."""
    x, y = w
    y2, y3 = y * y, y * y * y
    a, b, c = 1.5 - x + x * y, 2.25 - x + x * y2, 2.625 - x + x * y3
    da, db, dc = 2 * a, 2 * b, 2 * c
    dx = dc * y3 - dc + db * y2 - db + da * y - da
    dy = dc * x * (3 * y2) + db * x * (2 * y) + da * x
    return a**2 + b**2 + c**2, np.array([dx, dy])


def _logistic(data: dict[str, Any]) -> LossAndGradient:
    rows, labels = numbers(data["X"]), numbers(data["y"])
    batches = data.get("batches") or [list(range(len(labels)))]

    def at(w: Array, k: int) -> tuple[float, Array]:
        batch = batches[k % len(batches)]
        x, y = rows[batch], labels[batch]
        z = x @ w[:-1] + w[-1]
        loss = float(np.mean(np.logaddexp(0.0, z) - y * z))
        off = (1.0 / (1.0 + np.exp(-z)) - y) / len(batch)
        return loss, np.append(x.T @ off, off.sum())

    return at


def _matrix(data: dict[str, Any]) -> LossAndGradient:
    a, b = numbers(data["A"]), numbers(data["B"])

    def at(w: Array, k: int) -> tuple[float, Array]:
        left = a @ w.reshape(a.shape[1], b.shape[1]) - b
        return 0.5 * float(np.sum(left**2)), (a.T @ left).reshape(-1)

    return at


def problem_of(file: str, name: str) -> Problem:
    """The problem ``name`` as the reference file describes it."""
    described = load(file)["problems"][name]
    variables = described["variables"]
    layout = Layout([v["name"] for v in variables], [tuple(v["shape"]) for v in variables])
    plain = {"quadratic": _quadratic, "rosenbrock": _rosenbrock, "beale": _beale}
    if file.startswith("optax"):
        plain |= {"rosenbrock": fused_problems.rosenbrock, "beale": fused_problems.beale}
    if name in plain:
        return Problem(layout, plain[name])
    data = described["data"]
    return Problem(layout, _matrix(data) if name == "matrix" else _logistic(data))


def assert_closes(ledger: StepLedger, label: str) -> None:
    """Expected plus rows is the applied change, within 8 units in the last place of the largest |d_k|."""
    for block in ledger.blocks:
        prefixes, rows = block.prefixes, block.contributions()
        for i in range(block.layout.size):
            column = prefixes[:, i]
            if not np.isfinite(column).all():
                continue
            total = math.fsum([column[0], *rows[:, i]])
            bound = 8 * np.spacing(np.abs(column).max())
            assert abs(total - column[-1]) <= bound, f"{label}: component {i} is off by {total - column[-1]:g}"


def run_case(
    case: dict[str, Any],
    optimizer: Optimizer,
    problem: Problem,
    check: Callable[[dict[str, Any], Optimizer, Array, str], None] | None = None,
    tol: float | None = None,
    weights_only: bool = False,
) -> None:
    """Take the case's steps; compare weights, loss, gradient and rate at every record, and close every ledger.

    ``check(record, optimizer, weights, label)`` sees what else a record holds (averages). ``tol`` takes the place
    of the recorded tolerances; records without one are not compared. ``weights_only`` leaves out loss and gradient,
    for runs whose tolerance is that of the weights and where the problem is so steep that it is none for them.
    """
    records = {record["k"]: record for record in case["record"]}
    poison = {int(step): float(value) for step, value in (case.get("poison") or {}).items()}
    weights = numbers(case["start"])
    for k in range(case["steps"] + 1):
        loss, gradient = problem.at(weights, k)
        record = records.get(k)
        label = f"{case['id']} after {k} steps"
        rate: float | None = None
        if record is not None and record["tol"] is not None:
            allowed = record["tol"] if tol is None else tol
            assert_close(weights, record["weights"], allowed, label)
            if not weights_only:
                assert_close(gradient, record["gradient"], allowed, f"{label}: gradient")
                assert_close(loss, record["loss"], allowed, f"{label}: loss")
            if check is not None:
                check(record, optimizer, weights, label)
            rate = record.get("lr")
        if k == case["steps"]:
            break
        if k + 1 in poison:
            gradient = gradient.copy()
            gradient[0] = poison[k + 1]

        def evaluate(at: Array, step: int = k) -> tuple[float, Array]:
            return problem.at(at, step)

        ledger, weights = optimizer.step_flat(weights, gradient, problem.layout, loss=loss, evaluate=evaluate)
        assert_closes(ledger, label)
        if rate is not None:
            assert_close(ledger.learning_rate, rate, allowed, f"{label}: learning rate")


def arguments(values: dict[str, Any]) -> str:
    """Recorded settings as the keyword arguments of a call."""
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


def assert_reads_back(optimizer: Optimizer, dialect: str) -> None:
    """The code written for the optimizer builds the same one, which writes the same code."""
    text = emit_optimizer(optimizer, dialect)
    again = parse_optimizer(text)
    assert again.settings() == optimizer.settings(), text
    assert emit_optimizer(again, dialect) == text
