"""Parameter groups of pasted PyTorch code: told apart by name or order, stepped each on its own, written back."""

from __future__ import annotations

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import NotRepresentable, Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Layout
from tests.core.optim.torch_lines import GROUPS


def _by_groups(text: str, names: list[str]) -> tuple[Optimizer, list[Variable]]:
    return parse_optimizer(text), [Variable(1.0, name=name) for name in names]


def test_groups_have_their_own_rate_and_decay_by_name() -> None:
    optimizer, (head, base) = _by_groups(GROUPS, ["head.weight", "base.weight"])
    ledger = optimizer.apply_gradients([(1.0, head), (1.0, base)])
    assert float(base.numpy()) == pytest.approx(1.0 - 0.1)
    assert float(head.numpy()) == pytest.approx(1.0 - 1.5)
    assert float(ledger[head].expected) == -1.0
    decay = next(row for row in ledger[head].rows if row.name == "l2")
    assert float(decay.contribution) == -0.5
    assert float(next(row for row in ledger[base].rows if row.name == "l2").contribution) == 0.0


def test_groups_go_by_order_when_names_say_nothing() -> None:
    optimizer, (first, second) = _by_groups(GROUPS, ["a", "b"])
    optimizer.apply_gradients([(1.0, first), (1.0, second)])
    assert (float(first.numpy()), float(second.numpy())) == pytest.approx((0.9, -0.5))


def test_groups_that_cannot_be_told_apart_are_an_error() -> None:
    optimizer, (a, b, c) = _by_groups(GROUPS, ["a", "b", "c"])
    with pytest.raises(SettingError, match="parameter group 'a' belongs to"):
        optimizer.apply_gradients([(1.0, a), (1.0, b), (1.0, c)])


def test_groups_clip_together_and_step_flat_agrees() -> None:
    text = "clip_grad_norm_(p, 1.0)\n" + GROUPS.strip()
    optimizer, (base, head) = _by_groups(text, ["base", "head"])
    flat = parse_optimizer(text)
    layout, w = Layout(["head", "base"], [(), ()]), np.array([1.0, 1.0])
    for k in range(3):
        ledger = optimizer.apply_gradients([(3.0 + k, base), (4.0, head)])
        joined, w = flat.step_flat(w, np.array([4.0, 3.0 + k]), layout)
        assert w.tolist() == [float(head.numpy()), float(base.numpy())]
        for variable, name in ((head, "head"), (base, "base")):
            for ours, theirs in zip(ledger[variable].rows, joined[name].rows, strict=True):
                assert ours.name == theirs.name
                np.testing.assert_array_equal(ours.contribution, theirs.contribution)
        assert np.abs(joined.blocks[0].residual).max() <= 1e-15


def test_a_group_added_later_and_lists_of_rates() -> None:
    text = (
        "o = torch.optim.SGD(base, lr=0.1)\no.add_param_group({'params': head, 'lr': 1.0})\n"
        "OneCycleLR(o, max_lr=[0.5, 5.0], total_steps=11, cycle_momentum=False, pct_start=0.5)"
    )
    optimizer, (base, head) = _by_groups(text, ["base", "head"])
    before = [float(v.numpy()) for v in (base, head)]
    optimizer.apply_gradients([(1.0, base), (1.0, head)])
    moved = [a - float(v.numpy()) for a, v in zip(before, (base, head), strict=True)]
    assert moved == pytest.approx([0.5 / 25, 5.0 / 25], rel=1e-12)


def test_groups_with_rates_of_their_own_under_one_cycle_are_written_back() -> None:
    text = (
        "o = torch.optim.SGD([{'params': base}, {'params': head, 'lr': 1.0}], 0.1)\n"
        "OneCycleLR(o, max_lr=[0.5, 5.0], total_steps=11)"
    )
    optimizer = parse_optimizer(text)
    again = emit_optimizer(optimizer)
    assert "max_lr=[0.5, 5.0]" in again
    assert parse_optimizer(again).settings() == optimizer.settings()
    rate = optimizer.groups[1].chain.rate
    assert rate is not None
    assert rate.schedule is not None
    rate.schedule.set("total_steps", 20)
    with pytest.raises(NotRepresentable, match="one total_steps for all"):
        emit_optimizer(optimizer)


def test_groups_are_written_back() -> None:
    optimizer = parse_optimizer(GROUPS)
    text = emit_optimizer(optimizer)
    again = parse_optimizer(text)
    assert again.settings() == optimizer.settings(), text
    assert [group.names for group in again.groups] == [("model.base",), ("model.head",)]
