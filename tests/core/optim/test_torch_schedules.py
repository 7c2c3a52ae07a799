"""PyTorch's schedulers at their edges and on top of one another, against rates recorded from PyTorch itself."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from core.declare import SettingError
from core.optim import emit_optimizer, parse_optimizer

DATA = json.loads((Path(__file__).parent / "data" / "torch_schedules.json").read_text(encoding="utf-8"))
STEPS: list[int] = DATA["steps"]
CASES: list[dict[str, Any]] = DATA["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["lines"].split("scheduler = ")[1])
def test_rates_and_momenta_are_those_of_pytorch(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["lines"])
    rate = optimizer.chain.rate
    assert rate is not None and rate.schedule is not None
    own = 0.8 if "SGD" in case["lines"] else 0.9
    for k, lr, momentum in zip(STEPS, case["rates"], case["momenta"], strict=True):
        assert rate.rate(k) == pytest.approx(lr, rel=1e-10, abs=1e-16), k
        found = rate.schedule.momentum(k)
        assert (own if found is None else found) == pytest.approx(momentum, rel=1e-12), k


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["lines"].split("scheduler = ")[1])
def test_the_written_lines_mean_the_same_schedule(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["lines"])
    assert parse_optimizer(emit_optimizer(optimizer, "torch")).settings() == optimizer.settings()


@pytest.mark.parametrize("case", DATA["refused"], ids=lambda case: case["lines"].split("scheduler = ")[1])
def test_what_pytorch_fails_on_in_the_middle_of_a_run_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=case["message"]):
        parse_optimizer(case["lines"])


def test_live_changes_reach_the_parts_of_a_schedule() -> None:
    """0.1 · 0.9^k and then 0.1 · 0.5^k, when gamma of the part is changed; a copy made before keeps its own."""
    optimizer = parse_optimizer(
        "o = torch.optim.SGD(p, lr=0.1)\n"
        "s = torch.optim.lr_scheduler.SequentialLR(o, [torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.9), "
        "torch.optim.lr_scheduler.StepLR(o, step_size=9)], milestones=[6])"
    )
    rate = optimizer.chain.rate
    assert rate is not None and rate.schedule is not None
    assert rate.rate(4) == pytest.approx(0.1 * 0.9**4, rel=1e-14)
    before = copy.deepcopy(rate.schedule)
    rate.schedule.parts[0].set("gamma", 0.5)
    assert rate.rate(4) == pytest.approx(0.1 * 0.5**4, rel=1e-14)
    assert before.rate(0.1, 4) == pytest.approx(0.1 * 0.9**4, rel=1e-14)
    optimizer.learning_rate = 0.2
    assert rate.rate(3) == pytest.approx(0.2 * 0.5**3, rel=1e-14)
