"""The gradients the trajectories are compared with are those the frameworks computed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.optim.reference_problems import problem_of
from tests.reference_data import REFERENCE, assert_close, cases, numbers

KNOWN = {"quadratic", "rosenbrock", "beale", "logreg", "logreg_minibatch", "matrix"}


def _one_file_a_problem() -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for path in sorted(Path(REFERENCE).glob("*.json")):
        for name in json.loads(path.read_text(encoding="utf-8")).get("problems") or {}:
            if name in KNOWN:
                found.setdefault(name, path.stem)
    return [(file, name) for name, file in found.items()]


@pytest.mark.parametrize(("file", "name"), _one_file_a_problem())
def test_loss_and_gradient_are_the_recorded_ones(file: str, name: str) -> None:
    problem = problem_of(file, name)
    case: dict[str, Any] = next(case for case in cases(file, "trajectory") if case["problem"] == name)
    for record in case["record"]:
        loss, gradient = problem.at(numbers(record["weights"]), record["k"])
        assert_close(loss, record["loss"], 1e-12, name)
        assert_close(gradient, record["gradient"], 1e-10, name)
