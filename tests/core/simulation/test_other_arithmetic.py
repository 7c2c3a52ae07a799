"""The other framework's step from the run's own weights and gradients, against formulas written out here."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.port import changes_that_count, port
from core.simulation import Experiment, Simulation
from core.simulation.other_arithmetic import OtherArithmetic


def recorded(lines: str, steps: int, **settings: object) -> Simulation:
    simulation = Simulation(Experiment(optimizer=lines, **settings))  # type: ignore[arg-type]
    simulation.advance(steps)
    return simulation


def compared(simulation: Simulation, lines: str) -> OtherArithmetic:
    other = OtherArithmetic(simulation, lines)
    assert other.advance(simulation.history.count)
    return other


def adam_step(gradients: np.ndarray, k: int, lr: float, eps: float, hat: bool) -> np.ndarray:
    """Kingma and Ba 2015, algorithm 1, or with ε hat (the end of their section 2) as Keras has it."""
    b1, b2 = 0.9, 0.999
    m = v = np.zeros(gradients.shape[1])
    for g in gradients[: k + 1]:
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    t = k + 1
    if hat:
        return -lr * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + eps)
    return -lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def test_adam_in_keras_uses_the_runs_weights_and_gradients() -> None:
    run = recorded("torch.optim.Adam(p, lr=0.05, eps=1e-3)", 40)
    other = compared(run, "keras.optimizers.Adam(0.05, epsilon=1e-3)")
    gradients = run.history.vectors("gradient", 0, 40)
    assert other.first_difference == 0
    for k in (0, 7, 39):
        pair = other.pair(k)
        np.testing.assert_array_equal(pair.left, run.history.applied(k))
        np.testing.assert_allclose(pair.left, adam_step(gradients, k, 0.05, 1e-3, False), rtol=1e-9)
        np.testing.assert_allclose(pair.right, adam_step(gradients, k, 0.05, 1e-3, True), rtol=1e-9)
        assert other.distances[k] == np.linalg.norm(pair.right - pair.left)
        total = sum(row.difference for row in pair.rows)
        np.testing.assert_allclose(total, pair.difference, atol=1e-13)
    first = other.pair(0).first()
    assert first is not None and first.left == "bias_correction_2"
    assert "corrected root" in first.words and "uncorrected root" in first.words


def test_epsilon_inside_or_outside_the_root() -> None:
    run = recorded("torch.optim.RMSprop(p, lr=0.01, alpha=0.9, eps=1e-2)", 12)
    other = compared(run, "keras.optimizers.RMSprop(0.01, rho=0.9, epsilon=1e-2)")
    v = np.zeros(2)
    for k in range(12):
        g = run.history.gradient(k)
        v = 0.9 * v + 0.1 * g * g
        pair = other.pair(k)
        np.testing.assert_allclose(pair.left, -0.01 * g / (np.sqrt(v) + 1e-2), rtol=1e-9)
        np.testing.assert_allclose(pair.right, -0.01 * g / np.sqrt(v + 1e-2), rtol=1e-9)
        largest = pair.largest()
        assert largest is not None and largest.cause == "adaptive scaling"
        assert "inside the root" in largest.words and "outside the root" in largest.words


def test_the_rate_inside_the_velocity_parts_where_the_rate_changes() -> None:
    lines = "opt = torch.optim.SGD(p, lr=0.001, momentum=0.9)\ntorch.optim.lr_scheduler.StepLR(opt, step_size=10)"
    run = recorded(lines, 14)
    found = port(parse_optimizer(lines), "keras")
    assert not found.exact and ("learning rate", "place", "behind", "before") in found.changed
    other = compared(run, found.lines)
    assert other.first_difference == 10
    velocity = np.zeros(2)
    for k in range(14):
        rate = 0.001 if k < 10 else 0.0001
        velocity = 0.9 * velocity - rate * run.history.gradient(k)
        np.testing.assert_allclose(other.pair(k).right, velocity, rtol=1e-9)
    rows = {row.cause: row for row in other.pair(10).rows}
    assert rows["momentum"].left == rows["momentum"].right == "momentum"
    assert "inside the velocity" in rows["momentum"].words and "outside the buffer" in rows["momentum"].words


@pytest.mark.parametrize(
    ("lines", "dialect"),
    [
        ("torch.optim.Adam(p, lr=0.05)", "optax"),
        ("torch.optim.SGD(p, lr=0.001, momentum=0.9, nesterov=True)", "tf1"),
        ("keras.optimizers.Adam(0.05)", "tf1"),
        ("torch.optim.Adadelta(p)", "keras"),
    ],
)
def test_exact_ports_take_the_same_steps(lines: str, dialect: str) -> None:
    found = port(parse_optimizer(lines), dialect)
    assert found.exact and not found.reason
    other = compared(recorded(lines, 30), found.lines)
    assert other.first_difference is None
    assert not other.pair(29).differs


def test_a_port_by_hand_keeps_the_numbers_and_says_what_it_cannot_keep() -> None:
    adam = parse_optimizer("torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6)")
    found = port(adam, "keras")
    assert found.lines == "keras.optimizers.Adam(learning_rate=0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-06)"
    assert "ε stands before the bias correction" in found.reason
    assert changes_that_count(found.changed) == [("bias correction 2", "order", "roots", "hat")]
    nothing = port(parse_optimizer("torch.optim.LBFGS(p)"), "keras")
    assert nothing.lines == "" and "L-BFGS" in nothing.reason


def test_live_changes_act_on_both_and_the_newest_lines_count() -> None:
    run = recorded("torch.optim.SGD(p, lr=0.001)", 5)
    run.change("optimizer", "lines", "torch.optim.SGD(p, lr=0.002, momentum=0.5)")
    run.advance(40)
    run.change("learning_rate", "learning_rate", 0.0005)
    run.advance(4)
    other = compared(run, "keras.optimizers.SGD(0.002, momentum=0.5)")
    assert other.start == 5 and other.reached == 49
    assert other.first_difference == 45
    velocity = np.zeros(2)
    for k in range(5, 49):
        velocity = 0.5 * velocity - (0.002 if k < 45 else 0.0005) * run.history.gradient(k)
        np.testing.assert_allclose(other.pair(k).right, velocity, rtol=1e-9)


def test_a_change_the_other_lines_do_not_have_ends_the_comparison() -> None:
    run = recorded("torch.nn.utils.clip_grad_norm_(p, max_norm=1.0)\ntorch.optim.SGD(p, lr=0.001)", 5)
    run.change("clip_by_global_norm", "max_norm", 2.0)
    run.advance(5)
    other = compared(run, "torch.optim.SGD(p, lr=0.001)")
    assert other.reached == 5 and "At step 5" in other.ended and "clip_by_global_norm" in other.ended
    row = next(row for row in other.pair(0).rows if row.cause == "clipping")
    assert row.right is None and row.words.startswith("only here")


def test_slices_lead_to_the_same_result_as_one_go() -> None:
    run = recorded("torch.optim.Adam(p, lr=0.05)", 50)
    other = OtherArithmetic(run, "keras.optimizers.Adam(0.05)")
    while not other.advance(50, 1e-9):
        pass
    other.advance(50)
    whole = compared(run, "keras.optimizers.Adam(0.05)")
    np.testing.assert_array_equal(other.distances, whole.distances)
    with pytest.raises(IndexError, match="has not been compared"):
        other.pair(50)


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        (
            "scaler = torch.cuda.amp.GradScaler(init_scale=65536.0)\ntorch.optim.Adam(p, lr=0.05)",
            {"arithmetic": "float16"},
        ),
        ("torch.optim.LBFGS(p, lr=0.1, max_iter=3)", {}),
        ("o = torch.optim.SGD(p, lr=0.001)\ntorch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=2)", {}),
        ("torch.optim.Adam(p, lr=0.05, amsgrad=True)", {"storage": "float32", "arithmetic": "float32"}),
    ],
)
def test_a_run_against_its_own_lines_is_the_same_to_the_last_bit(lines: str, settings: dict[str, str]) -> None:
    """Scaled losses, several evaluations a step, schedules that watch the loss, other number types."""
    run = recorded(lines, 15, **settings)
    other = compared(run, lines)
    assert other.first_difference is None and not other.distances.any()
    for k in (0, 6, 14):
        pair = other.pair(k)
        np.testing.assert_array_equal(pair.left, pair.right)
        assert not any(row.difference.any() or row.words for row in pair.rows)
