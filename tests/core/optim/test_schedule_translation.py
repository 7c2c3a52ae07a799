"""Schedules written in another framework's code keep their rates."""

from __future__ import annotations

import pytest

from core.optim import NotRepresentable, Optimizer, emit_optimizer, parse_optimizer

K = "keras.optimizers.schedules."
T = "torch.optim.lr_scheduler."
KERAS = {
    "ExponentialDecay(0.1, 30, 0.5, staircase=True)": ("torch", "optax"),
    "ExponentialDecay(0.1, 30, 0.5)": ("torch", "optax"),
    "ExponentialDecay(0.1, 2.5, 0.9, staircase=True)": ("torch",),
    "PiecewiseConstantDecay([10, 20], [0.1, 0.01, 0.001])": ("torch", "optax"),
    "PiecewiseConstantDecay([10, 20], [0.1, 0.05, 0.001])": ("torch", "optax"),
    "CosineDecay(0.1, 30, 0.2)": ("torch", "optax"),
    "CosineDecay(0.01, 30, 0.2, warmup_target=0.1, warmup_steps=5)": ("torch", "optax"),
    "PolynomialDecay(0.1, 30)": ("torch", "optax"),
    "PolynomialDecay(0.1, 30, 0.0, 2.0)": ("torch", "optax"),
    "PolynomialDecay(0.1, 30, 0.01, 2.0)": ("torch", "optax"),
    "PolynomialDecay(0.01, 30, 0.1)": ("torch", "optax"),
    "InverseTimeDecay(0.1, 10, 0.5)": ("torch",),
    "InverseTimeDecay(0.1, 10, 0.5, staircase=True)": ("torch",),
    "CosineDecayRestarts(0.1, 10, t_mul=2.0, alpha=0.1)": ("torch",),
}
CASES = [
    *((f"keras.optimizers.SGD({K}{text})", dialect) for text, dialects in KERAS.items() for dialect in dialects),
    ("tf.train.GradientDescentOptimizer(tf.train.natural_exp_decay(0.1, step, 10, 0.5))", "torch"),
    ("tf.train.GradientDescentOptimizer(tf.train.natural_exp_decay(0.1, step, 10, 0.5, True))", "optax"),
    ("optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.5, 10, 40, 0.05))", "torch"),
    ("optax.sgd(optax.exponential_decay(0.1, 10, 0.5))", "torch"),
    (f"opt = torch.optim.SGD(p, lr=0.1)\n{T}StepLR(opt, 10)", "optax"),
    (f"opt = torch.optim.SGD(p, lr=0.1)\n{T}MultiStepLR(opt, [5, 9], 0.5)", "optax"),
    (f"opt = torch.optim.SGD(p, lr=0.1)\n{T}LinearLR(opt, 0.1)", "optax"),
]


def rates(optimizer: Optimizer) -> list[float]:
    row = optimizer.chain.rate
    assert row is not None
    return [row.rate(k) for k in range(150)]


@pytest.mark.parametrize(("text", "dialect"), CASES)
def test_rates_stay_the_same(text: str, dialect: str) -> None:
    optimizer = parse_optimizer(text)
    again = parse_optimizer(emit_optimizer(optimizer, dialect))
    assert again.dialect == dialect
    assert rates(again) == pytest.approx(rates(optimizer), rel=1e-9, abs=1e-15)


def test_a_live_rate_goes_along() -> None:
    optimizer = parse_optimizer(f"keras.optimizers.SGD({K}CosineDecay(0.1, 30, 0.2))")
    optimizer.learning_rate = 0.3
    for dialect in ("torch", "optax"):
        assert rates(parse_optimizer(emit_optimizer(optimizer, dialect))) == pytest.approx(rates(optimizer), rel=1e-9)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (f"keras.optimizers.SGD({K}CosineDecayRestarts(0.1, 10, m_mul=0.5))", "torch"),
        (f"keras.optimizers.SGD({K}PolynomialDecay(0.1, 10, cycle=True))", "optax"),
        ("tf.train.GradientDescentOptimizer(tf.train.linear_cosine_decay(0.1, step, 10))", "keras"),
    ],
)
def test_what_cannot_be_translated_is_refused(text: str, dialect: str) -> None:
    with pytest.raises(NotRepresentable):
        emit_optimizer(parse_optimizer(text), dialect)
