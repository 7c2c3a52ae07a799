"""optax: recorded clips and schedules, and what the frameworks' documentation says of single transformations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.optim import emit_optimizer, parse_optimizer
from core.optim.layout import Layout
from tests.core.optim.optax_lines import clip_line, schedule_line
from tests.reference_data import assert_close, cases, numbers

CLIPS = cases("optax_clip_functions")
SCHEDULES = cases("optax_schedules")


@pytest.mark.parametrize("case", CLIPS, ids=[case["id"] for case in CLIPS])
def test_clip_function(case: dict[str, Any]) -> None:
    """One step with the recorded input as gradient and no learning rate: what is added is what optax returned."""
    clip = dict(case["clip"])
    optimizer = parse_optimizer(clip_line(clip))
    inputs = [numbers(item) for item in case["input"]]
    outputs = [numbers(item) for item in case["output"]]
    layout = Layout([f"v{i}" for i in range(len(inputs))], [item.shape for item in inputs])
    parameters = [numbers(item) for item in case.get("params") or [np.zeros(item.shape).tolist() for item in inputs]]
    weights = layout.join(parameters, np.float64)
    ledger, _ = optimizer.step_flat(weights, layout.join(inputs, np.float64), layout)
    assert_close(ledger.blocks[0].track.updates[-1], layout.join(outputs, np.float64), case["tol"], case["id"])


@pytest.mark.parametrize("case", CLIPS, ids=[case["id"] for case in CLIPS])
def test_clip_is_written_as_it_was_read(case: dict[str, Any]) -> None:
    first = parse_optimizer(clip_line(case["clip"]))
    assert parse_optimizer(emit_optimizer(first, "optax")).settings() == first.settings()


@pytest.mark.parametrize("case", SCHEDULES, ids=[case["id"] for case in SCHEDULES])
def test_schedule(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(f"optax.sgd({schedule_line(case['schedule'])})")
    layout = Layout(["v"], [(1,)])
    weights = np.zeros(1)
    found = []
    for _ in case["lr"]:
        ledger, weights = optimizer.step_flat(weights, np.ones(1), layout)
        found.append(ledger.learning_rate)
    assert_close(found, case["lr"], case["tol"], case["id"])


@pytest.mark.parametrize("case", SCHEDULES, ids=[case["id"] for case in SCHEDULES])
def test_schedule_is_written_as_it_was_read(case: dict[str, Any]) -> None:
    first = parse_optimizer(f"schedule = {schedule_line(case['schedule'])}\ntx = optax.adam(schedule)")
    text = emit_optimizer(first, "optax")
    assert parse_optimizer(text).settings() == first.settings(), text


def one_step(lines: str, gradient: list[float], weights: list[float]) -> np.ndarray:
    """The change of one step."""
    layout = Layout(["v"], [(len(weights),)])
    before = np.array(weights)
    _, after = parse_optimizer(lines).step_flat(before, np.array(gradient), layout)
    return np.asarray(after - before)


@pytest.mark.parametrize(
    ("lines", "gradient", "weights", "expected"),
    [
        ("optax.sgd(0.1)", [2.0], [1.0], [-0.2]),
        ("optax.scale(0.5)", [2.0], [1.0], [1.0]),
        ("optax.scale(-0.5)", [2.0], [1.0], [-1.0]),
        ("optax.chain(optax.scale(-1.0), optax.scale(0.5))", [2.0], [1.0], [-1.0]),
        ("optax.chain(optax.scale_by_schedule(optax.constant_schedule(0.5)), optax.scale(-1.0))", [2.0], [1.0], [-1.0]),
        ("optax.chain(optax.scale_by_schedule(lambda c: -0.5 * (c + 1)))", [2.0], [1.0], [-1.0]),
        ("optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.1))", [1.0], [10.0], [-0.2]),
        ("optax.chain(optax.sgd(0.1), optax.add_decayed_weights(0.1))", [1.0], [10.0], [0.9]),
        ("optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative())", [20.0], [1.0], [-1.0]),
        ("optax.chain(optax.scale_by_param_block_norm(), optax.scale(-0.1))", [1.0, 0.0], [3.0, 4.0], [-0.5, 0.0]),
        ("optax.chain(optax.normalize_by_update_norm(eps=0.0), optax.sgd(1.0))", [3.0, 4.0], [0.0, 0.0], [-0.6, -0.8]),
        ("optax.chain(optax.contrib.normalize(), optax.sgd(1.0))", [3.0, 4.0], [0.0, 0.0], [-0.6, -0.8]),
        ("optax.set_to_zero()", [3.0], [1.0], [0.0]),
        ("optax.identity()", [3.0], [1.0], [3.0]),
        ("optax.optimistic_adam(0.1, eps=0.0, nesterov=False)", [2.0], [0.0], [-0.1]),
        ("optax.inject_hyperparams(optax.sgd)(learning_rate=0.5)", [2.0], [0.0], [-1.0]),
        ("optax.sign_sgd(optax.join_schedules([optax.constant_schedule(0.1)], []))", [-7.0], [0.0], [0.1]),
    ],
)
def test_one_step(lines: str, gradient: list[float], weights: list[float], expected: list[float]) -> None:
    assert one_step(lines, gradient, weights) == pytest.approx(expected, rel=1e-12)


def test_noise_falls_with_the_steps_and_depends_on_the_seed() -> None:
    """Variance eta / t^gamma (Neelakantan et al. 2015): over many components the mean square is close to it."""
    layout = Layout(["v"], [(40_000,)])
    optimizer = parse_optimizer("optax.chain(optax.add_noise(0.04, 0.55, 7), optax.sgd(1.0))")
    weights, zero = np.zeros(40_000), np.zeros(40_000)
    changes = []
    for t in range(1, 4):
        _, after = optimizer.step_flat(weights, zero, layout)
        changes.append(after - weights)
        weights = after
        assert np.mean(changes[-1] ** 2) == pytest.approx(0.04 / t**0.55, rel=0.03)
    assert abs(np.corrcoef(changes[0], changes[1])[0, 1]) < 0.03
    _, again = parse_optimizer("optax.noisy_sgd(1.0, eta=0.04, gamma=0.55, key=7)").step_flat(zero, zero, layout)
    np.testing.assert_array_equal(again, changes[0])


def test_sgdr_restarts_where_a_cycle_ends() -> None:
    lines = (
        "optax.sgd(optax.sgdr_schedule([dict(init_value=0.0, peak_value=0.1, warmup_steps=2, decay_steps=6), "
        "dict(init_value=0.0, peak_value=0.05, warmup_steps=2, decay_steps=6)]))"
    )
    optimizer = parse_optimizer(lines)
    schedule = optimizer.chain.rate.schedule  # type: ignore[union-attr]
    rates = [schedule.rate(0.1, k) for k in range(12)]  # type: ignore[union-attr]
    wave = [0.05 * (1 + math.cos(math.pi * k / 4)) for k in range(4)]
    expected = [0.0, 0.05, *wave, 0.0, 0.025, *[value / 2 for value in wave]]
    assert rates == pytest.approx(expected, abs=1e-15)
    assert parse_optimizer(emit_optimizer(optimizer, "optax")).settings() == optimizer.settings()


def test_a_live_change_of_the_rate_scales_the_schedule_and_is_written_exactly() -> None:
    optimizer = parse_optimizer("optax.sgd(optax.cosine_decay_schedule(0.1, 10))")
    optimizer.learning_rate = 0.3
    layout = Layout(["v"], [(1,)])
    ledger, _ = optimizer.step_flat(np.zeros(1), np.ones(1), layout)
    assert ledger.learning_rate == pytest.approx(0.3)
    again = parse_optimizer(emit_optimizer(optimizer, "optax"))
    for k in range(12):
        a, b = optimizer.chain.rate, again.chain.rate
        assert a is not None and b is not None
        assert a.rate(k) == b.rate(k)


def test_an_average_of_the_weights_is_kept_beside_the_optimizer() -> None:
    """incremental_update: step_size * new + (1 - step_size) * old, from the initial weights."""
    lines = (
        "tx = optax.sgd(0.5)\nupdates, state = tx.update(grads, state, params)\n"
        "params = optax.apply_updates(params, updates)\n"
        "ema_params = optax.incremental_update(params, ema_params, step_size=0.1)"
    )
    optimizer = parse_optimizer(lines)
    text = emit_optimizer(optimizer, "optax")
    assert text.splitlines() == [
        "optax.sgd(learning_rate=0.5)",
        "ema_params = optax.incremental_update(params, ema_params, step_size=0.1)",
    ]
    assert parse_optimizer(text).settings() == optimizer.settings()
    layout, weights, average = Layout(["v"], [(1,)]), np.array([1.0]), 1.0
    for g in (1.0, -3.0, 2.0):
        _, weights = optimizer.step_flat(weights, np.array([g]), layout)
        average = 0.1 * float(weights[0]) + 0.9 * average
    state = optimizer._blocks[0].states[optimizer.chain.index("weight_average")]
    assert state["average"][0] == pytest.approx(average, rel=1e-14)
