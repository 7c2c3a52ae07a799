"""The conventions at kinks, ties and infinities: value, gradient and second derivative, on the tape and compiled.

Expected values are the conventions of docs/autodiff.md, or limits that are written beside them. data/kinks.json holds
what PyTorch 2.13, JAX 0.10 and TensorFlow 2.21 gave for the same expressions, recorded from them in float64; where all
that gave a number agree, we must agree with them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import compile_gradient, gradients_function, nn, value_and_gradients_function

RECORDED = json.loads((Path(__file__).parent / "data" / "kinks.json").read_text())


def evaluate(case: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
    """Value, gradients, and row sums of second derivatives (of the sum of all gradients), as recorded."""
    inputs = [np.array(given, dtype=np.float64)[()] for given in case["inputs"]]
    code = compile(case["ours"], case["ours"], "eval")

    def f(*xs: Any) -> Any:
        return np.sum(eval(code, {"np": np, "nn": nn, **dict(zip("abd", xs, strict=False))}))

    def total(*xs: Any) -> Any:
        return sum(np.sum(g) for g in value_and_gradients_function(f)(*xs)[1] if g is not None)

    with np.errstate(all="ignore"):
        value, gradients = value_and_gradients_function(f)(*inputs)
        _, compiled = compile_gradient(f, *inputs)(*inputs)
        second = gradients_function(total)(*inputs)
    found = [np.zeros(np.shape(x)) if g is None else np.asarray(g) for g, x in zip(gradients, inputs, strict=True)]
    for g, c in zip(found, compiled, strict=True):
        np.testing.assert_array_equal(g, np.zeros(g.shape) if c is None else c)
    rows = [np.zeros(np.shape(x)) if h is None else np.asarray(h) for h, x in zip(second, inputs, strict=True)]
    return np.asarray(value), found, rows


def flat(parts: Any) -> Any:
    return np.concatenate([np.ravel(np.array(p, dtype=float)) for p in parts])


@pytest.mark.parametrize("name", RECORDED)
def test_as_the_frameworks_where_they_agree(name: str) -> None:
    case = RECORDED[name]
    value, gradients, second = evaluate(case)
    for what, mine in (("value", flat([value])), ("gradient", flat(gradients)), ("second", flat(second))):
        theirs = [flat(r[what] if what != "value" else [r[what]]) for r in case["recorded"].values()]
        usable = [t for t in theirs if not np.isnan(t).any()]
        agree = usable and all(np.allclose(t, usable[0], rtol=1e-6, atol=1e-9) for t in usable)
        if case["expected"].get(what) is not None:
            np.testing.assert_allclose(mine, flat([case["expected"][what]]), rtol=1e-9, atol=1e-12, err_msg=what)
        elif agree:
            np.testing.assert_allclose(mine, usable[0], rtol=1e-6, atol=1e-9, err_msg=what)
        else:
            assert not np.isnan(mine).any() or len(usable) == 0, what
