"""PyTorch's rules that no recorded file holds: L-BFGS with a line search, plateaus, frozen and narrow blocks."""

from __future__ import annotations

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.transforms.fused import fused
from core.optim.transforms.wolfe import CURVATURE, DECREASE, Point, strong_wolfe


def _rosenbrock(w: Array) -> tuple[float, Array]:
    x, y = w
    along = y - x * x
    return float((1 - x) ** 2 + 100 * along**2), np.array([-2 * (1 - x) - 400 * x * along, 200 * along])


def test_lbfgs_with_a_line_search_reaches_the_minimum() -> None:
    optimizer = parse_optimizer("torch.optim.LBFGS(p, max_iter=20, line_search_fn='strong_wolfe')")
    layout, w = Layout(["w"], [(2,)]), np.array([-1.2, 1.0])
    for _ in range(4):
        loss, gradient = _rosenbrock(w)
        ledger, w = optimizer.step_flat(w, gradient, layout, loss=loss, evaluate=_rosenbrock)
        assert ledger.figures["evaluations"] >= ledger.figures["inner_steps"]
    np.testing.assert_allclose(w, [1.0, 1.0], atol=1e-4)  # it stops when the loss changes by less than 1e-9
    row = next(row for row in ledger["w"].rows if row.name == "lbfgs")
    assert row.cause == "own rule"


def test_lbfgs_on_variables_needs_minimize() -> None:
    x, y = Variable(-1.2, name="x"), Variable(1.0, name="y")
    optimizer = parse_optimizer("torch.optim.LBFGS(p, max_iter=10, line_search_fn='strong_wolfe')")

    def loss() -> object:
        return (1 - x) ** 2 + 100 * (y - x * x) ** 2

    with pytest.raises(SettingError, match="minimize"):
        optimizer.apply_gradients(optimizer.compute_gradients(loss, [x, y]))
    for _ in range(8):
        ledger = optimizer.minimize(loss, [x, y])
    assert float(x.numpy()) == pytest.approx(1.0, abs=1e-4)
    assert float(y.numpy()) == pytest.approx(1.0, abs=1e-4)
    assert float(ledger[x].residual) == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_finds_the_strong_wolfe_conditions(seed: int) -> None:
    generator = np.random.default_rng(seed)
    start = generator.normal(size=2) * 2
    loss, gradient = _rosenbrock(start)
    direction = -gradient * generator.uniform(0.1, 3.0)
    slope = float(gradient @ direction)
    found, evaluations = strong_wolfe(
        _rosenbrock,
        lambda t: start + t * direction,
        float(generator.uniform(1e-4, 1.0)),
        direction,
        Point(0.0, loss, gradient, slope),
        60,
    )
    assert found.loss == pytest.approx(_rosenbrock(start + found.length * direction)[0])
    assert found.loss <= loss + DECREASE * found.length * slope
    assert abs(float(found.gradient @ direction)) <= -CURVATURE * slope
    assert evaluations <= 61


def test_fused_adds_with_one_rounding() -> None:
    from fractions import Fraction

    generator = np.random.default_rng(0)
    x, y = generator.normal(size=50), generator.normal(size=50)
    for a in (0.1, -3.7, 1e-9):
        exact = [float(Fraction(float(p)) + Fraction(a) * Fraction(float(q))) for p, q in zip(x, y, strict=True)]
        np.testing.assert_array_equal(fused(x, a, y), exact)
    with np.errstate(invalid="ignore"):
        assert fused(np.array([1.0]), 2.0, np.array([np.inf]))[0] == np.inf
    assert fused(np.ones(1, dtype=np.float32), 2.0, np.ones(1, dtype=np.float32)).dtype == np.float32


def test_a_plateau_lowers_the_step_itself() -> None:
    text = "o = torch.optim.SGD(p, lr=1.0)\nReduceLROnPlateau(o, factor=0.5, patience=0)"
    optimizer, layout, w = parse_optimizer(text), Layout(["w"], [(1,)]), np.zeros(1)
    moved = []
    for _ in range(4):
        ledger, w = optimizer.step_flat(w, np.ones(1), layout, loss=1.0)
        moved.append(float(ledger["w"].applied[0]))
    assert moved == [-1.0, -1.0, -0.5, -0.25]
    assert optimizer.loss_scale is None


def test_figures_are_those_of_a_block_that_moved() -> None:
    frozen, moved = Variable([1.0], name="frozen", trainable=False), Variable([1.0], name="moved")
    optimizer = parse_optimizer("clip_grad_norm_(p, 1.0)\ntorch.optim.SGD(p, lr=0.1)")
    ledger = optimizer.apply_gradients([([100.0], frozen), ([3.0], moved)])
    assert ledger.figures["gradient_norm"] == 3.0, "frozen variables are not part of the norm"


def test_the_share_of_lost_updates_is_over_all_narrow_variables() -> None:
    half = Variable(np.array([1.0, 2.0, 4.0], dtype=np.float16), name="half")
    brain = Variable(np.array([1.0]).astype("float32"), name="single")
    wide = Variable([1.0], name="wide")
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=1.0)")
    small = np.full(3, 3e-4)
    ledger = optimizer.apply_gradients([(small, half), ([3e-4], brain), ([3e-4], wide)])
    assert ledger.figures["unmoved_share"] == 2 / 4


def test_momentum_turned_down_to_zero_is_written_without_it() -> None:
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)")
    for row in ("momentum", "nesterov"):
        optimizer.transform(row).set("momentum", 0.0)
    assert emit_optimizer(optimizer) == "torch.optim.SGD(params, lr=0.1)"
