"""Transforms around transforms: their ledgers close, their snapshots replay, their blocks divide, causes switch off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.declare import SettingError
from core.optim import Optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.mask import Mask
from core.optim.transforms.momentum import Momentum
from core.optim.transforms.nested import Masked, Renewed, Sometimes, innermost
from core.optim.transforms.rate import LearningRate
from tests.core.optim.reference_problems import assert_closes

LAYOUT = Layout(["w", "b"], [(2, 3), (2,)])
LINES = [
    "optax.lookahead(optax.adam(0.1), 3, 0.5, reset_state=True)",
    "optax.contrib.schedule_free_adamw(0.1, weight_decay=0.01)",
    "optax.contrib.sam(optax.adam(0.1), optax.chain(optax.contrib.normalize(), optax.sgd(0.05, momentum=0.5)), 3)",
    "optax.contrib.sam(optax.adam(0.1), optax.sgd(0.05, momentum=0.5), opaque_mode=True, reset_state=False)",
    "optax.contrib.muon(0.1, adam_learning_rate=0.03)",
    "optax.contrib.sophia(0.1, update_interval=2)",
    "optax.masked(optax.adam(0.1), {'w': True, 'b': False})",
    "optax.partition({'a': optax.rmsprop(0.1, momentum=0.9), 'b': optax.sgd(0.1)}, {'w': 'a', 'b': 'b'})",
    "optax.MultiSteps(optax.adamw(0.1), 3)",
    "optax.apply_if_finite(optax.adam(0.1), 2)",
    "optax.adafactor(0.1, min_dim_size_to_factor=2, momentum=0.9, weight_decay_rate=0.01)",
    "optax.chain(optax.adaptive_grad_clip(0.1), optax.sm3(0.1))",
    "optax.novograd(0.1, weight_decay=0.01)",
    "optax.fromage(0.1)",
    "optax.polyak_sgd(0.5)",
]


class Bowl:
    """0.5 |w - 1|² + 0.25 |w - 1|⁴ component by component, with its curvature for Sophia."""

    def __call__(self, weights: Array) -> tuple[float, Array]:
        off = weights - 1.0
        with np.errstate(all="ignore"):
            return float(np.sum(0.5 * off**2 + 0.25 * off**4)), off + off**3

    def hessian_diagonal(self, weights: Array) -> Array:
        with np.errstate(all="ignore"):
            result: Array = 1.0 + 3.0 * (weights - 1.0) ** 2
        return result


def step(optimizer: Optimizer, weights: Array, k: int = 0, poison: bool = False) -> Array:
    bowl = Bowl()
    loss, gradient = bowl(weights)
    if poison:
        gradient[k % gradient.size] = (np.inf, np.nan)[k % 2]
    ledger, after = optimizer.step_flat(weights, gradient, LAYOUT, loss=loss, evaluate=bowl)
    assert_closes(ledger, f"step {k}")
    return after


def start() -> Array:
    return np.random.default_rng(5).normal(size=LAYOUT.size)


@pytest.mark.parametrize("line", LINES)
def test_a_snapshot_replays_the_same_bits(line: str) -> None:
    optimizer = parse_optimizer(line)
    weights = start()
    for k in range(4):
        weights = step(optimizer, weights, k)
    saved, at = optimizer.snapshot(), weights
    first = [weights := step(optimizer, weights, k) for k in range(4)]
    optimizer.restore(saved)
    weights = at
    again = [weights := step(optimizer, weights, k) for k in range(4)]
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("line", LINES)
def test_states_are_never_changed_in_place(line: str) -> None:
    optimizer = parse_optimizer(line)
    weights = start()
    for k in range(3):
        weights = step(optimizer, weights, k)
    states = [dict(state) for state in optimizer._blocks[0].states]
    copies = [
        {key: np.copy(value) for key, value in state.items() if isinstance(value, np.ndarray)} for state in states
    ]
    step(optimizer, weights, 3)
    for state, copied in zip(states, copies, strict=True):
        for key, value in copied.items():
            np.testing.assert_array_equal(state[key], value, err_msg=key)


@settings(max_examples=40, deadline=None)
@given(
    line=st.sampled_from(LINES),
    poisoned=st.sets(st.integers(0, 8)),
    off=st.integers(0, 20),
    scale=st.sampled_from([1.0, 1e-160, 1e6, 0.0]),
)
def test_ledgers_close_with_causes_off_and_gradients_that_are_not_finite(
    line: str, poisoned: set[int], off: int, scale: float
) -> None:
    optimizer = parse_optimizer(line)
    names = optimizer.chain.row_names
    if names[off % len(names)] not in ("learning_rate", "rounding"):
        optimizer.enable(names[off % len(names)], False)
    weights = start() * scale
    for k in range(9):
        weights = step(optimizer, weights, k, k in poisoned)
        if not np.isfinite(weights).all():
            break


def test_a_masked_clip_sees_only_its_variables() -> None:
    """The norm over b alone is 5, so b is divided by 5; w, which is larger, stays."""
    optimizer = parse_optimizer("optax.masked(optax.clip_by_global_norm(1.0), {'w': False, 'b': True})")
    gradient = np.array([100.0] * 6 + [3.0, 4.0])
    _, after = optimizer.step_flat(np.zeros(8), gradient, LAYOUT)
    np.testing.assert_allclose(after, [100.0] * 6 + [0.6, 0.8], rtol=1e-15)


def test_partition_gives_every_part_its_own_rate_and_memory() -> None:
    lines = "optax.partition({'a': optax.sgd(0.1, momentum=0.5), 'z': optax.set_to_zero()}, {'w': 'a', 'b': 'z'})"
    optimizer = parse_optimizer(lines)
    weights = np.zeros(8)
    for expected in (-0.1, -0.25, -0.425):
        _, weights = optimizer.step_flat(weights, np.ones(8), LAYOUT)
        np.testing.assert_allclose(weights, [expected] * 6 + [0.0] * 2, rtol=1e-15)


def test_renewed_forgets_after_its_period() -> None:
    """Momentum 1 that is renewed every two steps: 1, 2, then 1, 2 again."""
    optimizer = Optimizer([Renewed(Momentum(momentum=1.0), 2), LearningRate(learning_rate=1.0)])
    layout, weights, steps = Layout(["w"], [(1,)]), np.zeros(1), []
    for _ in range(4):
        _, after = optimizer.step_flat(weights, np.ones(1), layout)
        steps.append(float((weights - after)[0]))
        weights = after
    assert steps == [1.0, 2.0, 1.0, 2.0]


def test_a_wrapped_transform_shows_the_declaration_of_the_inner_one() -> None:
    inner = Momentum(momentum=0.9)
    wrapped = Masked(Sometimes(Renewed(inner, 3), "flag"), Mask())
    assert (wrapped.name, wrapped.label, wrapped.cause) == (inner.name, inner.label, inner.cause)
    assert wrapped.momentum == 0.9
    wrapped.set("momentum", 0.5)
    assert inner.momentum == 0.5 and wrapped.values() == inner.values()
    assert innermost(wrapped) is inner
    with pytest.raises(SettingError, match="no parameter 'beta'"):
        wrapped.set("beta", 0.5)
    assert Masked(inner, Mask(ndim=(">", 1))).settings() != Masked(inner, Mask()).settings()


@pytest.mark.parametrize(
    ("mask", "name", "shape", "picked"),
    [
        (Mask(ndim=(">", 1)), "w", (2, 2), True),
        (Mask(ndim=(">", 1)), "w", (2,), False),
        (Mask(names=(("dense/kernel", True), ("dense/bias", False))), "dense.bias", (2,), False),
        (Mask(names=(("dense/kernel", True),)), "kernel", (2,), True),
        (Mask(names=(("kernel", True),)), "dense/kernel", (2,), True),
        (Mask(names=(("dense", True),)), "dense/kernel", (2,), True),
        (Mask(default=False), "w", (), False),
    ],
)
def test_what_a_mask_picks(mask: Mask, name: str, shape: tuple[int, ...], picked: bool) -> None:
    assert mask.picks(name, shape) is picked


def test_sophia_by_differences_is_close_to_sophia_with_the_exact_curvature() -> None:
    exact = parse_optimizer("optax.contrib.sophia(0.1, update_interval=1)")
    other = parse_optimizer("optax.contrib.sophia(0.1, update_interval=1)")
    bowl = Bowl()
    a = b = start()
    for _ in range(5):
        a = step(exact, a)
        loss, gradient = bowl(b)
        _, b = other.step_flat(b, gradient, LAYOUT, loss=loss, evaluate=lambda at: bowl(at))
        np.testing.assert_allclose(b, a, rtol=1e-8)
