"""A GradScaler whose step is not called: torch 2.13 raises AssertionError at its update(), and steps without it."""

from __future__ import annotations

import pytest

from core.optim import parse_optimizer
from core.optim.dialects.values import ParseError

LINES = """opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0{settings})
for _ in range(10):
    opt.zero_grad()
    scaler.scale((w * w).sum()).backward()
    opt.step()
    {end}
"""


def test_update_without_an_unscaled_gradient_is_refused() -> None:
    with pytest.raises(ParseError, match=r"line 7.*call scaler\.step\(optimizer\)"):
        parse_optimizer(LINES.format(settings="", end="scaler.update()"))


@pytest.mark.parametrize(("settings", "end"), [("", "pass"), (", enabled=False", "scaler.update()")])
def test_what_pytorch_does_not_stop_at_is_read(settings: str, end: str) -> None:
    rows = [row.name for row in parse_optimizer(LINES.format(settings=settings, end=end)).chain]
    assert ("scale" in rows) == (settings == "")
