"""The examples in docs/autodiff.md run, and its table of kinks and ties says what the code does."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import gradients_function, nn

TEXT = (Path(__file__).parents[3] / "docs" / "autodiff.md").read_text(encoding="utf-8")
INF = np.inf


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 10
    for block in blocks:
        exec(compile(block, "docs/autodiff.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "converted to plain numpy by float() (docs/autodiff.md, line 2)" in printed
    assert "the gradient of sqrt(0.) = 0. at docs/autodiff.md, line 3 turns 1. into inf" in printed
    assert "def program(x0)" in printed


KINKS: dict[str, tuple[Any, list[Any], list[Any]]] = {  # row of the table: function, arguments, gradients
    "`relu(x)` at 0": (nn.relu, [0.0], [0]),
    "`maximum(x, 0)` at 0, a constant bound": (lambda x: np.maximum(x, 0), [0.0], [1]),
    "`maximum(x, y)`, `minimum` at x = y, both differentiated": (np.maximum, [2.0, 2.0], [0.5, 0.5]),
    "`fmax(x, y)`, `fmin` at x = y": (np.fmin, [2.0, 2.0], [0.5, 0.5]),
    "`clip(x, a, b)` on a bound": (lambda x: np.clip(x, -1, 1), [1.0], [1]),
    "`clip(x, a, b)` on a bound that is differentiated too": (lambda x, a: np.clip(x, a, 9), [1.0, 1.0], [0.5, 0.5]),
    "`max(x)`, `min(x)` with n equal maxima": (np.max, [[1.0, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    "`sort` of equal entries": (lambda x: np.sort(x) * np.array([1.0, 2.0, 3.0]), [[2.0, 1.0, 2.0]], [[2, 1, 3]]),
    "`abs(x)` at 0": (np.abs, [0.0], [0]),
    "`sign`, `floor`, `ceil`, `round`": (lambda x: np.sign(x) + np.floor(x) + np.ceil(x) + np.round(x), [1.0], [0]),
    "`leaky_relu` at 0": (lambda x: nn.leaky_relu(x, 0.2), [0.0], [0.2]),
    "`elu(x)` at 0": (nn.elu, [0.0], [1]),
    "`huber` at `±delta`": (lambda x: nn.huber(x, 0.0, 1.5), [1.5], [1.5]),
    "hinge `maximum(0, 1 - x)` at 1": (lambda x: np.maximum(0, 1 - x), [1.0], [-1]),
    "`norm(x)` at 0, `norm(x, p)` at 0": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, 3), [[0.0, 0.0]], [[0, 0]]),
    "`norm(x, 1)` where an entry is 0": (lambda x: np.linalg.norm(x, 1), [[0.0, 2.0]], [[0, 1]]),
    "`norm(x, inf)` at 0": (lambda x: np.linalg.norm(x, np.inf), [[0.0, 0.0]], [[0, 0]]),
    "`std(x)` of equal entries": (np.std, [[3.0, 3.0]], [[0, 0]]),
    "`sqrt(x)`, `cbrt(x)`, `x**0.5` at 0": (lambda x: np.sqrt(x) + np.cbrt(x) + x**0.5, [0.0], [INF]),
    "`hypot(x, y)` at the origin": (np.hypot, [0.0, 0.0], [0, 0]),
    "`arctan2(y, x)` at the origin": (np.arctan2, [0.0, 0.0], [0, 0]),
    "`x**0` at 0": (lambda x: x**0, [0.0], [0]),
    "`0**y` with respect to y, `y >= 0`": (lambda y: np.power(0.0, y), [0.0], [0]),
    "`logaddexp(x, y)` at two equal infinities": (np.logaddexp, [-INF, -INF], [0.5, 0.5]),
    "`logsumexp(x)` of n entries −inf": (nn.logsumexp, [[-INF, -INF]], [[0.5, 0.5]]),
    "`silu(x)`, `gelu(x)` at inf and −inf": (lambda x: nn.silu(x) + nn.gelu(x), [[INF, -INF]], [[2, 0]]),
    "`remainder(x, y)` for y, at x = 1, y = 0.1": (lambda y: np.remainder(1.0, y), [0.1], [-9]),
    "`nansum(x**2)` where an entry is nan": (lambda x: np.nansum(x**2), [[np.nan, 2.0]], [[0, 4]]),
    "`prod` with zeros": (np.prod, [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
    "`cumprod` behind a zero": (np.cumprod, [[0.0, 2.0, 3.0]], [[9, 0, 0]]),
    "`det` of a singular matrix": (np.linalg.det, [[[1.0, 2.0], [2.0, 4.0]]], [[[4, -2], [-2, 1]]]),
    "`sqrt(relu(x))`, `sqrt(maximum(x, 0))` for x < 0": (
        lambda x: np.sqrt(nn.relu(x)) + np.sqrt(np.maximum(x, 0)),
        [-1.0],
        [0],
    ),
    "`where(x > 0, f(x), ...)`, f infinite in the branch not taken": (
        lambda w: np.where(w > 0, 1 / w + np.log(w) + np.sqrt(w), 2 * w) + np.maximum(1 / w, 1e300),
        [-0.0],
        [2],
    ),
}


def test_the_table_is_tested_row_by_row() -> None:
    table = TEXT.split("## Kinks and ties")[1].split("**The branch")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    assert rows[2:] == list(KINKS)


@pytest.mark.parametrize("row", KINKS)
def test_conventions_at_kinks_and_ties(row: str) -> None:
    f, arguments, expected = KINKS[row]
    found = gradients_function(f)(*(np.array(a) for a in arguments))
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-14)
