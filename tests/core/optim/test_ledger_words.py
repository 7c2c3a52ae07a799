"""What a console shows of ledgers and optimizers, and entries by name."""

from __future__ import annotations

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import Optimizer, StepLedger, parse_optimizer
from core.optim.layout import Layout


def step() -> tuple[Optimizer, StepLedger, list[Variable]]:
    """Gradient 5 clipped at 1 with lr 0.1: expected -0.5, clipping +0.4, applied -0.1."""
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_value_(p, 1.0)\ntorch.optim.SGD(p, lr=0.1)")
    variables = [Variable(0.0, name="w"), Variable(np.zeros((3, 2)), name="m"), Variable(1.0, name="unused")]
    pairs = [(5.0, variables[0]), (np.zeros((3, 2)), variables[1]), (None, variables[2])]
    return optimizer, optimizer.apply_gradients(pairs), variables


def test_entries_are_found_by_name() -> None:
    _, ledger, (w, m, unused) = step()
    assert float(ledger["w"].applied) == float(ledger[w].applied) == -0.1
    assert ledger["m"].shape == (3, 2) and ledger["unused"].status == ledger[unused].status == "no gradient"
    assert "w" in ledger and w in ledger and m in ledger and "z" not in ledger
    with pytest.raises(KeyError, match=r"'z'.*In the step: w, m, unused"):
        ledger["z"]
    with pytest.raises(KeyError, match="was not given to this step"):
        ledger[np.zeros(2)]


def test_two_variables_of_one_name_are_not_guessed() -> None:
    a, b = Variable(0.0, name="w"), Variable(0.0, name="w")
    ledger = parse_optimizer("torch.optim.SGD(p, lr=0.1)").apply_gradients([(1.0, a), (2.0, b)])
    assert float(ledger[b].applied) == -0.2
    with pytest.raises(KeyError, match="2 variables of this step are called 'w'"):
        ledger["w"]


def test_an_entry_shows_its_rows() -> None:
    _, ledger, _ = step()
    lines = repr(ledger["w"]).splitlines()
    assert lines[0] == "Entry of 'w', shape (): stepped"
    assert [line.split()[0] for line in lines[1:]] == ["expected", *ledger.row_names, "applied", "residual"]
    assert "clip_by_value" in lines[3] and "clipping" in lines[3] and lines[3].endswith("0.4")
    assert repr(ledger["unused"]) == "Entry of 'unused', shape (): no gradient"


def test_a_ledger_shows_its_step() -> None:
    _, ledger, _ = step()
    text = repr(ledger)
    assert text.startswith("StepLedger of step 0: lr_t = 0.1 of 0.1")
    assert "'w' () stepped: expected -0.5, applied -0.1" in text
    assert "'m' (3, 2) zero gradient" in text and "'unused' () no gradient" in text
    flat, _ = parse_optimizer("torch.optim.SGD(p, lr=0.1)").step_flat(np.zeros(2), np.ones(2), Layout(["p"], [(2,)]))
    assert "'p' (2,) stepped" in repr(flat)


def test_an_optimizer_shows_its_transforms() -> None:
    optimizer, _, _ = step()
    optimizer.enable("clip_by_value", False)
    text = repr(optimizer)
    assert text.startswith("Optimizer (torch), 1 steps taken:")
    assert "ClipByValue(clip_value=1.0, clip_min=None)  (switched off)" in text
