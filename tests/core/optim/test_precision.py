"""Number types: storage and arithmetic apart, every operation rounded, lost updates, master weights, loss scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import Optimizer, parse_optimizer
from core.optim.dtypes import FLOATS, for_arithmetic, resolve_dtype
from core.optim.layout import Array, Layout
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.transforms.momentum import Momentum
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store
from tests.reference_data import cases, load, numbers

GradientAt = Callable[[Array], Array]


def _quadratic(dtype: Any) -> GradientAt:
    def gradient(w: Array) -> Array:
        return np.array([w[0], dtype.type(25) * w[1]], dtype=dtype)

    return gradient


def _logistic(dtype: Any, data: dict[str, Any]) -> GradientAt:
    """Row by row, left to right, each operation rounded: the order the record names."""
    rows, labels = numbers(data["X"]).astype(dtype), numbers(data["y"]).astype(dtype)

    def gradient(w: Array) -> Array:
        sums = [dtype.type(0) for _ in w]
        for x, y in zip(rows, labels, strict=True):
            z = x[0] * w[0]
            for j in range(1, len(x)):
                z = dtype.type(z + dtype.type(x[j] * w[j]))
            z = dtype.type(z + w[-1])
            error = dtype.type(dtype.type(1.0 / (1.0 + math.exp(-float(z)))) - y)
            for j in range(len(x)):
                sums[j] = dtype.type(sums[j] + dtype.type(error * x[j]))
            sums[-1] = dtype.type(sums[-1] + error)
        return np.array([dtype.type(s / dtype.type(len(labels))) for s in sums], dtype=dtype)

    return gradient


@pytest.mark.parametrize("case", cases("precision_sgd"), ids=lambda case: case["id"])
def test_low_precision_trajectory_bit_for_bit(case: dict[str, Any]) -> None:
    """Storage in the named type, arithmetic in ``compute_dtype``: equal bits at every record, and the same losses."""
    settings = case["optimizer"]
    text = ", ".join(f"{key}={value!r}" for key, value in settings.items() if key != "name")
    optimizer = parse_optimizer(f"torch.optim.SGD(params, {text})")
    optimizer.store_as(case["dtype"])
    optimizer.arithmetic = case["compute_dtype"]
    stored_type, work = resolve_dtype(case["dtype"]), resolve_dtype(case["compute_dtype"])
    if case["problem"] == "logreg":
        gradient_at = _logistic(work, load("keras_adadelta")["problems"]["logreg"]["data"])
    else:
        gradient_at = _quadratic(work)
    records = {record["k"]: record for record in case["record"]}
    weights = numbers(case["start"]).astype(stored_type)
    layout = Layout(["w"], [(len(weights),)])
    lost = np.zeros(len(weights), dtype=int)
    first: list[int | None] = [None] * len(weights)
    for k in range(case["steps"] + 1):
        gradient = gradient_at(weights.astype(work))
        if k in records:
            np.testing.assert_array_equal(weights.astype(float), numbers(records[k]["weights"]), err_msg=f"step {k}")
            np.testing.assert_array_equal(gradient.astype(float), numbers(records[k]["gradient"]), err_msg=f"step {k}")
        if k == case["steps"]:
            break
        ledger, weights = optimizer.step_flat(weights, gradient, layout)
        assert weights.dtype == stored_type
        still = (ledger.blocks[0].track.updates[-1] != 0) & (ledger.blocks[0].applied == 0)
        lost += np.asarray(still)
        for i in np.flatnonzero(still):
            first[i] = k + 1 if first[i] is None else first[i]
        assert ledger.figures["unmoved_share"] == np.count_nonzero(still) / len(weights)
    if "lost_updates" in case:
        assert first == case["lost_updates"]["first_lost_step"]
        assert lost.tolist() == case["lost_updates"]["lost_steps"]


def _plain(storage: str, master: bool = False) -> Optimizer:
    optimizer = parse_optimizer("torch.optim.SGD(params, lr=1.0)")
    optimizer.store_as(storage, master=master)
    return optimizer


@pytest.mark.parametrize("case", cases("precision_lost_updates"), ids=lambda case: case["id"])
def test_updates_around_half_a_spacing(case: dict[str, Any]) -> None:
    layout, dtype = Layout(["w"], [(1,)]), resolve_dtype(case["dtype"])
    for row in case["rows"]:
        gradient = np.array([row["update"]])
        optimizer, weights = _plain(case["dtype"]), np.array([case["w"]]).astype(dtype)
        for step in range(100):
            ledger, weights = optimizer.step_flat(weights, gradient, layout)
            if step == 0:
                assert float(weights[0]) == row["result"], row["case"]
                assert ledger.figures["unmoved_share"] == float(row["lost"])
                rounding = ledger["w"].rows[-1]
                assert rounding.cause == "rounding"
                assert float(rounding.contribution[0]) == (row["result"] - case["w"]) + row["update"]
        assert float(weights[0]) == row["after_100_updates"], row["case"]


@pytest.mark.parametrize("case", cases("precision_lost_updates"), ids=lambda case: case["id"])
def test_master_weights_remember_what_rounding_took(case: dict[str, Any]) -> None:
    layout, dtype = Layout(["w"], [(1,)]), resolve_dtype(case["dtype"])
    for row in case["rows"]:
        optimizer, weights = _plain(case["dtype"], master=True), np.array([case["w"]]).astype(dtype)
        for _ in range(100):
            ledger, weights = optimizer.step_flat(weights, np.array([row["update"]]), layout)
            assert abs(float(ledger["w"].residual[0])) <= 8 * math.ulp(abs(row["update"]) + case["w"])
        assert float(weights[0]) == row["after_100_updates_exact_rounded"], row["case"]


def test_master_weights_carry_stands_in_the_ledger() -> None:
    """float16, w = 1, steps of a quarter spacing: the first three are lost, the fourth is paid from what was kept."""
    optimizer, layout = _plain("float16", master=True), Layout(["w"], [(1,)])
    weights, quarter = np.array([1.0], dtype=np.float16), 2.0**-13
    moves, carried = [], []
    for _ in range(4):
        ledger, weights = optimizer.step_flat(weights, np.array([quarter]), layout)
        rows = {row.name: float(row.contribution[0]) for row in ledger["w"].rows}
        carried.append(rows["master_weights"] / quarter)
        moves.append(float(ledger["w"].applied[0]) / quarter)
    assert carried == [0.0, -1.0, -2.0, 1.0]
    assert moves == [0.0, 0.0, -4.0, 0.0]


def test_weights_changed_from_outside_replace_the_master_copy() -> None:
    optimizer, layout = _plain("float16", master=True), Layout(["w"], [(2,)])
    _, weights = optimizer.step_flat(np.ones(2, dtype=np.float16), np.full(2, 2.0**-13), layout)
    weights = np.array([weights[0], 5.0], dtype=np.float16)
    _, weights = optimizer.step_flat(weights, np.array([2.0**-13, 1.0]), layout)
    assert weights.tolist() == [1.0, 4.0]
    with pytest.raises(SettingError, match="before the first step"):
        optimizer.store_as("float16", master=False)


@pytest.mark.parametrize("case", cases("precision_rounding"), ids=lambda case: case["id"])
def test_rounding_of_single_values(case: dict[str, Any]) -> None:
    """A step of length zero stores the value: nearest, ties to even."""
    layout = Layout(["w"], [(1,)])
    for row in case["rows"]:
        value, expected = float(row["value"]), float(row["rounded"])
        optimizer = Optimizer([LearningRate(learning_rate=1.0), Store(storage=case["dtype"])])
        _, stored = optimizer.step_flat(np.array([value]), np.zeros(1), layout)
        np.testing.assert_array_equal(stored.astype(float), [expected])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_every_operation_rounds_to_the_arithmetic_type(name: str) -> None:
    """Momentum, computed by hand with one rounding an operation, constants rounded first."""
    dtype = resolve_dtype(name)
    one = dtype.type
    optimizer = Optimizer([Momentum(momentum=0.9), LearningRate(learning_rate=0.1)], arithmetic=name)
    layout = Layout(["w"], [(1,)])
    weights, w, b = np.array([1.0], dtype=dtype), one(1.0), None
    for g in (0.3, -0.7, 1.3, 0.01):
        g_rounded = one(g)
        b = g_rounded if b is None else one(one(b * one(0.9)) + g_rounded)
        w = one(w + one(b * one(-0.1)))
        ledger, weights = optimizer.step_flat(weights, np.array([g]), layout)
        assert weights[0] == w
        assert weights.dtype == dtype
        assert np.asarray(ledger.blocks[0].track.updates[-1]).dtype == dtype


def test_python_numbers_do_not_widen_bfloat16() -> None:
    b = for_arithmetic(np.array([1.0, 3.0]), FLOATS["bfloat16"])
    for value in (
        b * 0.9,
        1.0 / b,
        np.clip(b, -2.0, 2.0),
        np.maximum(b, 0.5),
        np.where(b > 1, b, np.zeros_like(b)),
        -b,
    ):
        assert value.dtype == FLOATS["bfloat16"]
    assert (b * 0.9)[0] == ml_dtypes.bfloat16(0.9)


def _scaler(**settings: Any) -> list[Any]:
    return [LossScale(**settings), FiniteGuard()]


def test_compute_gradients_scales_and_apply_gradients_unscales() -> None:
    w = Variable([2.0, 1.0], name="w")
    optimizer = parse_optimizer("s = torch.amp.GradScaler('cpu', init_scale=1024.0)\ntorch.optim.SGD(p, lr=0.5)")
    assert optimizer.loss_scale == 1024.0
    pairs = optimizer.compute_gradients(lambda: (w * w).sum(), [w])
    np.testing.assert_array_equal(pairs[0][0], [4096.0, 2048.0])
    ledger = optimizer.apply_gradients(pairs)
    np.testing.assert_array_equal(w.numpy(), [0.0, 0.0])
    unscale = next(row for row in ledger[w].rows if row.cause == "loss scaling")
    np.testing.assert_array_equal(unscale.contribution, [0.5 * (4096.0 - 4.0), 0.5 * (2048.0 - 2.0)])


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_refused_step_advances_nothing(bad: float) -> None:
    text = (
        "scaler = torch.amp.GradScaler('cpu', init_scale=8.0)\n"
        "o = torch.optim.Adam(p, lr=0.1)\ntorch.optim.lr_scheduler.ExponentialLR(o, gamma=0.5)"
    )
    optimizer, twin = parse_optimizer(text), parse_optimizer(text)
    w, v, other = Variable([1.0, 2.0], name="w"), Variable([1.0, 2.0], name="v"), Variable(3.0, name="other")
    optimizer.apply_gradients([([8.0, 8.0], w), (8.0, other)])
    twin.apply_gradients([([8.0, 8.0], v), (8.0, Variable(3.0, name="o"))])
    before = w.numpy().copy(), other.numpy().copy(), optimizer.step_count
    ledger = optimizer.apply_gradients([([bad, 1.0], w), (1.0, other)])
    assert ledger.skipped
    assert [ledger[x].status for x in (w, other)] == ["skipped", "skipped"]
    np.testing.assert_array_equal(w.numpy(), before[0])
    np.testing.assert_array_equal(other.numpy(), before[1])
    np.testing.assert_array_equal(ledger[w].applied, [0.0, 0.0])
    assert optimizer.step_count == before[2]
    assert optimizer.loss_scale == 4.0
    after = optimizer.apply_gradients([([4.0, 8.0], w), (4.0, other)])
    unscaled = twin.apply_gradients([([8.0, 16.0], v), (8.0, Variable(3.0, name="o"))])
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert after.learning_rate == unscaled.learning_rate == 0.05


def test_static_loss_scale_stays() -> None:
    optimizer = Optimizer([*_scaler(initial_scale=16.0, dynamic=False), LearningRate(learning_rate=1.0)])
    layout, w = Layout(["w"], [(1,)]), np.array([1.0])
    for gradient in (1.0, math.inf, 1.0):
        _, w = optimizer.step_flat(w, np.array([gradient]), layout)
        assert optimizer.loss_scale == 16.0
    assert w[0] == -1.0


def test_unknown_number_types_are_refused() -> None:
    for name in ("float8", "double", 3, None):
        with pytest.raises(SettingError, match="number type"):
            resolve_dtype(name)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="must be one of"):
        Store(storage="float8")
