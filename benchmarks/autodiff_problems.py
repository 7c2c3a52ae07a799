"""The four problems of the autodiff benchmark: as one loss for any numpy-like module, and by hand in numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = Path(__file__).resolve().parent.parent / "resources" / "data" / "digits.csv.gz"
Arrays = list[Any]


@dataclass(frozen=True)
class Problem:
    """``loss(np, parameters, data)`` runs with numpy, jax.numpy, autograd.numpy or torch as ``np``."""

    name: str
    parameters: Arrays
    data: Arrays
    loss: Callable[..., Any]
    by_hand: Callable[..., Any]  # (*parameters, *data) -> (value, gradients)

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(p.size for p in self.parameters)


def rosenbrock_loss(np: Any, parameters: Any, data: Any) -> Any:
    (p,) = parameters
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def rosenbrock_by_hand(p: Any) -> Any:
    x, y = p
    a, b = 1 - x, y - x * x
    return a * a + 100 * (b * b), [np.array([-400 * x * b - 2 * a, 200 * b])]


def tanh_loss(np: Any, parameters: Any, data: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    x, y = data
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    return np.mean((h2 @ w3 + b3 - y) ** 2)


def tanh_by_hand(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    r = h2 @ w3 + b3 - y
    value = np.mean(r * r)
    r *= 2 / r.size
    d2 = (r @ w3.T) * (1 - h2 * h2)
    d1 = (d2 @ w2.T) * (1 - h1 * h1)
    return value, [x.T @ d1, d1.sum(axis=0), h1.T @ d2, d2.sum(axis=0), h2.T @ r, r.sum(axis=0)]


def softmax_loss(np: Any, parameters: Any, data: Any) -> Any:
    w1, b1, w2, b2 = parameters
    x, one_hot = data
    z = np.tanh(x @ w1 + b1) @ w2 + b2
    log_sum = np.log(np.sum(np.exp(z), 1))
    return np.mean(log_sum - np.sum(z * one_hot, 1))


def softmax_by_hand(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, one_hot: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    z = h @ w2 + b2
    e = np.exp(z)
    s = e.sum(axis=1)
    value = np.mean(np.log(s) - (z * one_hot).sum(axis=1))
    e /= s[:, None]
    e -= one_hot
    e /= len(x)
    d = (e @ w2.T) * (1 - h * h)
    return value, [x.T @ d, d.sum(axis=0), h.T @ e, e.sum(axis=0)]


STEPS = 20


def elman_loss(np: Any, parameters: Any, data: Any) -> Any:
    wx, wh, b, wo, bo = parameters
    x, y = data
    h = np.tanh(x[0] @ wx + b)
    for t in range(1, STEPS):
        h = np.tanh(x[t] @ wx + h @ wh + b)
    return np.mean((h @ wo + bo - y) ** 2)


def elman_by_hand(wx: Any, wh: Any, b: Any, wo: Any, bo: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x[0] @ wx + b)
    states = [h]
    for t in range(1, STEPS):
        h = np.tanh(x[t] @ wx + h @ wh + b)
        states.append(h)
    r = h @ wo + bo - y
    value = np.mean(r * r)
    r *= 2 / r.size
    g_wo, g_bo = h.T @ r, r.sum(axis=0)
    g_wx, g_wh, g_b = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    d = r @ wo.T
    for t in range(STEPS - 1, -1, -1):
        d *= 1 - states[t] * states[t]
        g_wx += x[t].T @ d
        g_b += d.sum(axis=0)
        if t:
            g_wh += states[t - 1].T @ d
            d = d @ wh.T
    return value, [g_wx, g_wh, g_b, g_wo, g_bo]


def problems() -> list[Problem]:
    """The problems with fixed random parameters."""
    rng = np.random.default_rng(0)

    def dense(*sizes: int) -> Arrays:
        out = []
        for n, m in itertools.pairwise(sizes):
            out += [rng.normal(size=(n, m)) / np.sqrt(n), rng.normal(size=m) * 0.1]
        return out

    points = rng.normal(size=(256, 2))
    table = np.loadtxt(DIGITS, delimiter=",", skiprows=1)[:256]
    one_hot = np.eye(10)[table[:, -1].astype(int)]
    wx, _, wh, b, wo, bo = dense(8, 32) + dense(32, 32) + dense(32, 1)
    sequence = rng.normal(size=(STEPS, 32, 8))
    return [
        Problem("Rosenbrock", [np.array([-1.2, 1.0])], [], rosenbrock_loss, rosenbrock_by_hand),
        Problem(
            "MLP 2-16-16-1 tanh, 256 points",
            dense(2, 16, 16, 1),
            [points, np.sin(points[:, :1] * points[:, 1:])],
            tanh_loss,
            tanh_by_hand,
        ),
        Problem(
            "MLP 64-128-10 softmax, 256 digits",
            dense(64, 128, 10),
            [table[:, :-1] / 16, one_hot],
            softmax_loss,
            softmax_by_hand,
        ),
        Problem(
            f"Elman RNN 8-32-1, {STEPS} steps, batch 32",
            [wx, wh, b, wo, bo],
            [sequence, np.sin(sequence.sum(axis=(0, 2)))[:, None]],
            elman_loss,
            elman_by_hand,
        ),
    ]
