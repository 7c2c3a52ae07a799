"""Schedulers in pasted PyTorch lines: the rates they give, on top of each other, by turns, and what they need."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import ParseError, emit_optimizer, parse_optimizer
from core.optim.layout import Layout
from tests.core.optim.torch_lines import rates

LAYOUT = Layout(["w"], [(1,)])


def test_functions_are_read_as_arithmetic() -> None:
    text = (
        "import math\nWARM, TOTAL = 4, 10\n"
        "def rule(step):\n    '''warm up, then cosine'''\n"
        "    return step / WARM if step < WARM else 0.5 * (1 + math.cos(math.pi * (step - WARM) / (TOTAL - WARM)))\n"
        "o = SGD(p, lr=2.0)\ns = LambdaLR(o, lr_lambda=rule)"
    )
    expected = [2.0 * (k / 4 if k < 4 else 0.5 * (1 + math.cos(math.pi * (k - 4) / 6))) for k in range(10)]
    assert rates(text, 10) == pytest.approx(expected, rel=1e-15)
    again = emit_optimizer(parse_optimizer(text))
    assert rates(again, 10) == rates(text, 10)
    assert rates("o = SGD(p, lr=1.0)\nMultiplicativeLR(o, lambda e: 0.5)", 4) == [1.0, 0.5, 0.25, 0.125]


def test_a_function_that_cannot_be_worked_out_says_where() -> None:
    optimizer = parse_optimizer("o = SGD(p, lr=1.0)\nLambdaLR(o, lambda k: 1 / (k - 2))")
    w = np.zeros(1)
    for _ in range(2):
        _, w = optimizer.step_flat(w, np.ones(1), LAYOUT)
    with pytest.raises(SettingError, match="k = 2"):
        optimizer.step_flat(w, np.ones(1), LAYOUT)


def test_several_schedulers_act_on_top_of_each_other() -> None:
    """ChainedScheduler and two schedulers stepped by hand are the same thing; factors multiply."""
    together = "o = SGD(p, lr=1.0)\nChainedScheduler([ConstantLR(o, factor=0.1, total_iters=2), ExponentialLR(o, 0.9)])"
    by_hand = "o = SGD(p, lr=1.0)\na = ConstantLR(o, factor=0.1, total_iters=2)\nb = ExponentialLR(o, 0.9)"
    expected = [0.1, 0.09, 0.81, 0.729]
    assert rates(together, 4) == pytest.approx(expected, rel=1e-14)
    assert rates(by_hand, 4) == pytest.approx(expected, rel=1e-14)
    assert parse_optimizer(by_hand).settings() == parse_optimizer(together).settings()


def test_warm_up_then_step_decay_has_no_seam() -> None:
    """LR-09: five warm-up epochs, then a tenth each epoch, no repeated and no skipped plateau."""
    text = (
        "o = SGD(p, lr=0.1)\nwarm = LinearLR(o, start_factor=0.2, total_iters=4)\n"
        "SequentialLR(o, schedulers=[warm, StepLR(o, step_size=1, gamma=0.1)], milestones=[4])"
    )
    expected = [0.02, 0.04, 0.06, 0.08, 0.1, 0.01, 0.001, 1e-4, 1e-5]
    assert rates(text, 9) == pytest.approx(expected, rel=1e-12)


def test_one_cycle_moves_the_momentum_even_from_zero() -> None:
    """As in PyTorch: SGD without momentum under OneCycleLR gets one, since cycle_momentum is on by default."""
    text = "o = SGD(p, lr=0.1)\nOneCycleLR(o, max_lr=0.1, total_steps=10)"
    optimizer = parse_optimizer(text)
    assert "momentum" in optimizer.chain.row_names
    ledger, _ = optimizer.step_flat(np.zeros(1), np.ones(1), LAYOUT)
    assert ledger.blocks[0].context.momentum == 0.95
    assert parse_optimizer(emit_optimizer(optimizer)).settings() == optimizer.settings()
    without = text.replace("total_steps=10", "total_steps=10, cycle_momentum=False")
    assert "momentum" not in parse_optimizer(without).chain.row_names


def test_a_watching_schedule_needs_the_loss_and_survives_going_back() -> None:
    text = "o = SGD(p, lr=1.0)\nReduceLROnPlateau(o, factor=0.5, patience=1)"
    losses = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert rates(text, 6, losses) == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
    optimizer, w = parse_optimizer(text), np.zeros(1)
    with pytest.raises(SettingError, match="watches the loss"):
        optimizer.step_flat(w, np.ones(1), LAYOUT)
    for _ in range(2):
        _, w = optimizer.step_flat(w, np.ones(1), LAYOUT, loss=1.0)
    state = optimizer.snapshot()
    for _ in range(2):
        found = []
        for _ in range(3):
            ledger, w = optimizer.step_flat(w, np.ones(1), LAYOUT, loss=1.0)
            found.append(ledger.learning_rate)
        assert found == [1.0, 0.5, 0.5]
        optimizer.restore(state)
    variable = Variable(0.0, name="v")
    optimizer = parse_optimizer(text)
    for _ in range(3):
        optimizer.apply_gradients([(1.0, variable)], loss=1.0)
    assert optimizer.minimize(lambda: variable * 0.0 + 1.0, [variable]).learning_rate == 0.5


def test_the_warm_ups_of_transformers_are_lambda_schedules() -> None:
    """The documented shapes, at the seam and at both ends."""
    head = "o = torch.optim.SGD(p, lr=1.0)\n"
    linear = rates(head + "get_linear_schedule_with_warmup(o, num_warmup_steps=4, num_training_steps=8)", 10)
    assert linear == [0.0, 0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    cosine = rates(head + "from transformers import get_cosine_schedule_with_warmup as w\nw(o, 2, 6)", 8)
    assert cosine == pytest.approx(
        [0.0, 0.5, 1.0, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125), 0.0, 0.5 - math.sqrt(0.125)]
    )
    constant = rates(head + "transformers.get_constant_schedule_with_warmup(o, 2)", 4)
    assert constant == [0.0, 0.5, 1.0, 1.0]
    root = rates(head + "get_inverse_sqrt_schedule(o, num_warmup_steps=4)", 17)
    assert (root[2], root[4], root[16]) == (0.5, 1.0, 0.5)
    restarts = rates(head + "get_cosine_with_hard_restarts_schedule_with_warmup(o, 0, 4, num_cycles=2)", 5)
    assert restarts == pytest.approx([1.0, 0.5, 1.0, 0.5, 0.0])
    with pytest.raises(ParseError, match="needs num_training_steps"):
        parse_optimizer(head + "get_linear_schedule_with_warmup(o, 4)")


def test_schedulers_that_take_turns_by_a_condition_are_refused() -> None:
    text = (
        "o = torch.optim.SGD(p, lr=0.1)\na = ExponentialLR(o, 0.9)\nb = torch.optim.swa_utils.SWALR(o, swa_lr=0.05)\n"
        "for epoch in range(10):\n    if epoch > 5:\n        b.step()\n    else:\n        a.step()\n"
    )
    with pytest.raises(ParseError, match="SequentialLR"):
        parse_optimizer(text)
    together = text.replace(
        "    if epoch > 5:\n        b.step()\n    else:\n        a.step()\n", "    a.step()\n    b.step()\n"
    )
    assert parse_optimizer(together).chain.rate is not None
