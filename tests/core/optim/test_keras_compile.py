"""Settings of an optimizer that are given to compile(): Keras 3.15 stops with a TypeError."""

from __future__ import annotations

import pytest

from core.optim import parse_optimizer
from core.optim.dialects import ParseError


@pytest.mark.parametrize("optimizer", ["'adam'", "keras.optimizers.Adam(0.01)"])
@pytest.mark.parametrize("setting", ["clipvalue=1.0", "learning_rate=0.1", "global_clipnorm=1.0"])
def test_compile_takes_no_settings_of_the_optimizer(optimizer: str, setting: str) -> None:
    key = setting.partition("=")[0]
    with pytest.raises(ParseError, match=rf"compile\(\) takes no '{key}'; give it to the optimizer") as told:
        parse_optimizer(f"model = build()\nmodel.compile(optimizer={optimizer}, loss='mse', {setting})")
    assert told.value.line == 2


def test_what_compile_takes_is_read() -> None:
    lines = "model.compile(optimizer='adam', loss='mse', metrics=['mae'], run_eagerly=True, jit_compile=False)"
    assert "second_moment" in parse_optimizer(lines).chain.row_names
