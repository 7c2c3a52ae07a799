"""Pieces of pasted code in words: those of the code, and few of them, however often names hold one another."""

from __future__ import annotations

import pytest

from core.optim import parse_optimizer
from core.optim.dialects.syntax import read_program
from core.optim.dialects.values import Attribute, Call, Name, Operation, ParseError, describe

DOUBLING = "x0 = model.weight\n" + "".join(f"x{i} = g(x{i - 1}, x{i - 1})\n" for i in range(1, 60))
LOOP = """optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if better(loss, x59):
        pass
    else:
        optimizer.param_groups[0]['lr'] *= 0.5
"""


def test_what_names_stand_for_is_not_written_out() -> None:
    program = read_program(DOUBLING)
    last = program.names["x59"]
    assert isinstance(last, Call)
    for value in (last, Operation("not", last, None), [last, last], {"a": last}, program.statements[-1]):
        assert len(describe(value)) < 500
        assert len(repr(value)) < 500


def test_pieces_without_a_text_are_written_as_code() -> None:
    loss, limit = Name("loss"), Name("limit")
    assert describe(Operation("<", loss, limit)) == "loss < limit"
    assert describe(Operation("not", Operation("<", loss, limit), None)) == "not loss < limit"
    assert describe(Attribute(Call(("f",), (loss, 2)), "mean")) == "f(loss, 2).mean"
    assert describe([loss, 1.5]) == "[loss, 1.5]"


def test_a_condition_that_holds_much_is_named_at_once() -> None:
    with pytest.raises(ParseError, match=r"depends on 'better\(loss, x59\)', which is known only while"):
        parse_optimizer(DOUBLING + LOOP)


def test_a_float32_in_the_text_is_the_float32() -> None:
    exactly = 13421773 / 2**27  # the float32 nearest to 0.1 (IEEE 754)
    for name in ("np.float32", "numpy.float32"):
        assert parse_optimizer(f"torch.optim.SGD(params, lr={name}(0.1))").learning_rate == exactly
    assert parse_optimizer("torch.optim.SGD(params, lr=np.float64(0.1))").learning_rate == 0.1
