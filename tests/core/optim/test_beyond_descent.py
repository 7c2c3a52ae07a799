"""Updates written by hand that do more than a rate times the gradient are refused, plain ones are read."""

from __future__ import annotations

import pytest

from core.autodiff import Variable
from core.optim import ParseError, parse_optimizer

LOOP = "mu = 0.9\nreg = 0.01\nv = 0\nfor i in range(10):\n    "


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("dw = slope(w)\n    v = mu * v - 0.1 * dw\n    w = w + v", "v keeps mu * v and takes the gradient"),
        ("dw = slope(w)\n    v = mu * v + 0.1 * dw\n    w -= v", "v keeps mu * v and takes the gradient"),
        ("dw = slope(w)\n    v = 0.9 * v + dw\n    w -= 0.1 * v", "v keeps 0.9 * v and takes the gradient"),
        ("g = slope(w)\n    v = 0.999 * v + 0.001 * g**2\n    w = w - 0.1 * g / np.sqrt(v)", "v keeps 0.999 * v"),
        ("v[p] = 0.9 * v[p] + p.grad\n    p.data -= 0.1 * v[p]", "v[p] keeps 0.9 * v[p]"),
        ("cache += dx**2\n    x += -0.1 * dx / (np.sqrt(cache) + 1e-7)", "cache collects squares"),
        ("W = 0.99 * W - 0.1 * dW", "W keeps 0.99 * W and takes the gradient"),
        ("W = W * (1 - 0.1 * 0.01) - 0.1 * dW", "W keeps W * (1 - 0.1 * 0.01)"),
        ("dW = X.T @ (p - y)\n    dW += reg * W\n    W -= 0.1 * dW", "weights are added to the gradient"),
        ("dW = X.T @ (p - y) / n + 0.01 * W\n    W -= 0.1 * dW", "weights are added to the gradient"),
        ("w = w - 0.1 * (dw + 0.01 * w)", "weights are added to the gradient"),
        ("dw = slope(w)\n    np.clip(dw, -5, 5, out=dw)\n    w -= 0.1 * dw", "dw is clipped or scaled here by hand"),
        (
            "dw = slope(w)\n    for d in (dw, db):\n        np.clip(d, -5, 5, out=d)\n    w -= 0.1 * dw",
            "d is clipped or",
        ),
        ("dw = slope(w)\n    dw = np.clip(dw, -5, 5)\n    w -= 0.1 * dw", "dw is clipped or scaled here by hand"),
        ("dw = slope(w)\n    if size > 5:\n        dw *= 5 / size\n    w -= 0.1 * dw", "dw is clipped or scaled"),
        ("dw = slope(w)\n    dw = dw / jnp.linalg.norm(dw)\n    w = w - 0.1 * dw", "dw is clipped or scaled"),
        ("w -= 0.1 * np.clip(dw, -5, 5)", "by something else than a rate times a gradient"),
        ("w -= 0.1 * np.sign(dw)", "by something else than a rate times a gradient"),
        ("w -= 0.1 * dw / np.linalg.norm(dw)", "by something else than a rate times a gradient"),
    ],
)
def test_optimizers_written_by_hand_are_not_plain_descent(lines: str, words: str) -> None:
    with pytest.raises(ParseError) as told:
        parse_optimizer(LOOP + lines)
    assert words in str(told.value)
    assert "torch.optim." in str(told.value)


@pytest.mark.parametrize("line", ["w = np.clip(w, 0, 1)", "w = np.maximum(w, 0)", "w = w / np.linalg.norm(w)"])
def test_weights_reworked_beside_the_update_are_refused(line: str) -> None:
    with pytest.raises(ParseError, match="beside its update, which is more"):
        parse_optimizer(LOOP + "dw = slope(w)\n    w = w - 0.1 * dw\n    " + line)


@pytest.mark.parametrize(
    "lines",
    [
        "dw = 2 * x * (x * w - y)\n    w = w - 0.1 * dw",
        "dw = 2 * w + 3\n    w = w - 0.1 * dw",
        "db = p - y\n    w = w - 0.1 * db",
        "w -= 0.4 * w.grad / 4",
        "dw = 2 * x * (x * w - y)\n    dw /= len(x)\n    w = w - 0.1 * dw",
        "dw = np.maximum(x * w, 0) * x\n    w = w - 0.1 * dw",
        "dw = slope(w)\n    shown = 0.9 * shown + 0.1 * np.abs(error)\n    w -= 0.1 * dw",
        "dw = slope(w)\n    size = 0.9 * size + 0.1 * norm_of(dw)\n    w -= 0.1 * dw",
    ],
)
def test_plain_descent_stays_plain_descent(lines: str) -> None:
    optimizer, w = parse_optimizer(LOOP + lines), Variable(1.0, name="w")
    for _ in range(2):
        ledger = optimizer.apply_gradients([(2.0, w)])
        assert float(ledger[w].applied) == pytest.approx(-0.2, rel=1e-12)
