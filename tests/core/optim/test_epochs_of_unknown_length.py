"""Lines that go by epochs: without a number of batches each step counts as an epoch, and is said to."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.layout import Layout

BODY = "        opt.zero_grad(); loss.backward(); opt.step()\n"
STEPPED = "opt = torch.optim.SGD(params, lr=0.1)\nsched = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)\n"
WATCHED = "opt = torch.optim.SGD(params, lr=0.1)\nsched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)\n"
PLAIN = "opt = torch.optim.SGD(params, lr=0.1)\n"
EPOCHS = "for epoch in range(10):\n"
BY_HAND = "    if epoch == 1:\n        for group in opt.param_groups: group['lr'] *= 0.1\n"


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (f"{STEPPED}{EPOCHS}    for x, y in loader:\n{BODY}    sched.step()", 6),
        (f"{STEPPED}{EPOCHS}    for i, (x, y) in enumerate(loader):\n{BODY}    sched.step()", 6),
        (f"{WATCHED}{EPOCHS}    for x, y in loader:\n{BODY}    sched.step(validation)", 6),
        (f"{PLAIN}{EPOCHS}{BY_HAND}    for x, y in loader:\n{BODY}", 4),
    ],
)
def test_a_step_that_counts_as_an_epoch_is_said_to(lines: str, line: int) -> None:
    said = [remark for remark in parse_optimizer(lines).remarks if "how many steps an epoch has" in remark]
    assert len(said) == 1
    assert said[0].startswith(f"line {line} goes by epochs")


@pytest.mark.parametrize(
    "lines",
    [
        f"{STEPPED}{EPOCHS}    for i in range(3):\n{BODY}    sched.step()",
        f"{STEPPED}{EPOCHS}    for x, y in loader:\n{BODY}        sched.step()",
        f"{STEPPED}for x, y in loader:\n{BODY}    sched.step()".replace(" " * 8, " " * 4),
        f"{PLAIN}{EPOCHS}    for x, y in loader:\n{BODY}",
    ],
)
def test_nothing_is_said_where_epochs_do_not_matter_or_have_a_length(lines: str) -> None:
    assert not [remark for remark in parse_optimizer(lines).remarks if "epoch has" in remark]


def test_the_number_that_is_asked_for_gives_the_epochs_their_length() -> None:
    """StepLR(2, 0.5), 3 batches an epoch: the rate halves behind 6 steps."""
    optimizer = parse_optimizer(f"{STEPPED}{EPOCHS}    for i in range(3):\n{BODY}    sched.step()")
    layout, weights, rates = Layout(["w"], [(1,)]), np.ones(1), []
    for _ in range(7):
        ledger, weights = optimizer.step_flat(weights, np.ones(1), layout)
        rates.append(ledger.learning_rate)
    assert rates == [0.1] * 6 + [0.05]
