"""Measures against the formulas they stand for, worked out step by step with math and fsum."""

import math

import numpy as np
import pytest

from core.optim import Chain, Optimizer
from core.optim.layout import Layout
from core.optim.transforms.adaptive import SecondMoment
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByValue
from core.optim.transforms.momentum import FirstMoment
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import DecoupledDecay
from core.optim.transforms.store import Store
from core.simulation import History, measures


def record(history, optimizer, weights, gradients, first_loss=1.0):
    """Take one step a gradient and append it; the weights reached."""
    for k, gradient in enumerate(gradients):
        ledger, stored = optimizer.step_flat(weights, np.asarray(gradient, dtype=np.float64), history.layout)
        with np.errstate(all="ignore"):
            history.append(weights, gradient, first_loss / (k + 1), ledger)
        weights = stored
    return weights


def mixed_run(size=5, steps=37, seed=3, storage="float32"):
    generator = np.random.default_rng(seed)
    layout = Layout(["w"], [(size,)])
    history = History(layout)
    chain = [
        ClipByValue(clip_value=0.8),
        ClipByGlobalNorm(max_norm=0.9),
        FirstMoment(beta1=0.8),
        SecondMoment(beta2=0.9, eps=1e-3),
        LearningRate(learning_rate=0.07),
        DecoupledDecay(weight_decay=0.2),
        Store(storage=storage),
    ]
    record(history, Optimizer(Chain(chain)), np.ones(size, storage), generator.normal(size=(steps, size)))
    return history


def length(vector):
    return math.sqrt(math.fsum(float(x) ** 2 for x in vector))


def test_lengths_and_ratio_step_by_step():
    history = mixed_run()
    expected, applied = measures.expected_norm(history), measures.applied_norm(history)
    for step in range(history.count):
        assert measures.gradient_norm(history)[step] == pytest.approx(length(history.gradient(step)), rel=1e-14)
        assert expected[step] == pytest.approx(0.07 * length(history.gradient(step)), rel=1e-14)
        assert applied[step] == pytest.approx(length(history.applied(step)), rel=1e-14)
        want = length(history.applied(step)) / (0.07 * length(history.gradient(step)))
        assert measures.ratio(history)[step] == pytest.approx(want, rel=1e-13)
        want = length(history.applied(step)) / length(history.weights(step))
        assert measures.update_to_weights(history)[step] == pytest.approx(want, rel=1e-13)


def test_angle_is_the_arc_cosine_of_the_cosine():
    history = mixed_run()
    for step in range(history.count):
        e, a = -0.07 * history.gradient(step), history.applied(step)
        cosine = math.fsum(e * a) / (length(e) * length(a))
        assert measures.angle(history)[step] == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-5)


def test_angle_keeps_its_digits_near_zero_and_near_a_half_turn():
    tiny = 1e-11
    first = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    second = np.array([[1.0, tiny], [-1.0, tiny], [0.0, 3.0], [2.0, 2.0]])
    angles = measures.row_angles(first, second)
    assert angles[0] == pytest.approx(math.degrees(tiny), rel=1e-9)
    assert 180.0 - angles[1] == pytest.approx(math.degrees(tiny), rel=1e-4)
    assert angles[2:] == pytest.approx([90.0, 45.0], rel=1e-15)


def test_angle_and_ratio_are_missing_where_a_vector_is_zero():
    history = History(Layout(["w"], [(2,)]))
    record(history, Optimizer(Chain([LearningRate(learning_rate=0.1)])), np.ones(2), [[0.0, 0.0], [1.0, 0.0]])
    assert math.isnan(measures.angle(history)[0]) and math.isnan(measures.ratio(history)[0])
    assert measures.angle(history)[1] == 0.0
    assert measures.ratio(history)[1] == pytest.approx(1.0, rel=1e-15)
    assert math.isnan(measures.effective_rate(history)[0])


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e150, 1e200])
def test_lengths_survive_squares_that_overflow_or_vanish(scale):
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [-5.0, 12.0]]) * scale
    assert measures.row_norms(rows) == pytest.approx(np.array([5.0, 0.0, 13.0]) * scale, rel=1e-14)
    assert measures.row_angles(rows[[0]], -rows[[0]]) == pytest.approx([180.0])


def test_lengths_of_rows_that_are_not_finite():
    lengths = measures.row_norms(np.array([[np.inf, 1.0], [np.nan, 1.0], [1e308, 1e308]]))
    assert lengths[0] == np.inf and math.isnan(lengths[1])
    assert lengths[2] == pytest.approx(math.hypot(1e308, 1e308))


def test_effective_rate_of_plain_descent_is_its_learning_rate():
    for scale in (1e-120, 1.0, 1e120):
        history = History(Layout(["w"], [(3,)]))
        gradient = np.random.default_rng(0).normal(size=(1, 3)) * scale
        record(history, Optimizer(Chain([LearningRate(learning_rate=0.25)])), np.zeros(3), gradient)
        assert measures.effective_rate(history)[0] == pytest.approx(0.25, rel=1e-14)
    wide = mixed_run()
    for step in range(wide.count):
        g, a = wide.gradient(step), wide.applied(step)
        want = -math.fsum(g * a) / math.fsum(g * g)
        assert measures.effective_rate(wide)[step] == pytest.approx(want, rel=1e-11)


def test_shares_are_sums_of_magnitudes_grouped_by_cause():
    history = mixed_run()
    found = measures.shares(history)
    assert list(found) == ["clipping", "momentum", "adaptive scaling", "learning rate", "weight decay", "rounding"]
    for step in range(history.count):
        rows = history.rows(step)
        amounts = dict.fromkeys(found, 0.0)
        for row, cause in zip(rows, history.schema(step).causes, strict=True):
            amounts[cause] += math.fsum(abs(float(x)) for x in row)
        total = math.fsum(amounts.values())
        for cause, amount in amounts.items():
            assert found[cause][step] == pytest.approx(amount / total, rel=1e-13, abs=1e-300)
        assert math.fsum(found[cause][step] for cause in found) == pytest.approx(1.0, rel=1e-14)
        by_row = measures.row_shares(history, step)
        assert by_row["clip_by_value"] + by_row["clip_by_global_norm"] == pytest.approx(found["clipping"][step])


def test_float64_rounding_of_plain_descent_is_no_cause():
    history = History(Layout(["w"], [(4,)]))
    gradients = np.random.default_rng(5).normal(size=(30, 4))
    record(history, Optimizer(Chain([LearningRate(learning_rate=0.1)])), np.full(4, 1 / 3), gradients)
    assert np.abs(history.vectors("rounding")).max() > 0.0
    assert not measures.share(history, "rounding").any()
    assert not any(measures.row_shares(history, 3).values())


def test_the_rounding_of_float16_is_a_cause():
    history = History(Layout(["w"], [(4,)]))
    gradients = np.random.default_rng(5).normal(size=(30, 4))
    chain = Chain([LearningRate(learning_rate=0.1), Store(storage="float16")])
    record(history, Optimizer(chain), np.full(4, 1 / 3, np.float16), gradients)
    assert measures.share(history, "rounding") == pytest.approx(np.ones(30))


def test_rows_that_are_not_finite_leave_gaps():
    history = History(Layout(["w"], [(2,)]))
    chain = Chain([FirstMoment(beta1=0.5), LearningRate(learning_rate=0.1)])
    record(history, Optimizer(chain), np.ones(2), [[1.0, 2.0], [np.inf, 1.0], [1.0, 1.0]])
    share = measures.share(history, "momentum")
    assert share[0] == pytest.approx(1.0)
    assert math.isnan(share[1])
    assert set(measures.shares(history)) == {"momentum", "learning rate", "rounding"}
    assert all(math.isnan(column[1]) for column in measures.shares(history).values())


def test_unmoved_against_and_residual():
    history = mixed_run(storage="float16")
    for step in range(history.count):
        applied, gradient = history.applied(step), history.gradient(step)
        assert measures.unmoved(history)[step] == sum(a == 0 for a in applied) / 5
        assert measures.against(history)[step] == sum(a * g > 0 for a, g in zip(applied, gradient, strict=True)) / 5
        largest = np.abs(history.rows(step)).max()
        assert measures.residual(history)[step] <= 8 * np.spacing(max(largest, np.abs(history.expected(step)).max()))
        want = max(abs(float(x)) for x in _ledger_residual(history, step))
        assert measures.residual(history)[step] == want


def _ledger_residual(history, step):
    total = history.expected(step)
    for row in history.rows(step):
        total = total + row
    return history.applied(step) - total


def test_columns_grow_with_the_run_and_old_values_stay():
    layout = Layout(["w"], [(3,)])
    history, optimizer = History(layout), Optimizer(Chain([FirstMoment(beta1=0.9), LearningRate(learning_rate=0.1)]))
    gradients = np.random.default_rng(1).normal(size=(12_000, 3))
    weights = record(history, optimizer, np.zeros(3), gradients[:5])
    early = {name: measures.column(history, name).copy() for name in measures.MEASURES}
    record(history, optimizer, weights, gradients[5:])
    assert len(history.schemas) == 1 and history.count == 12_000
    fresh = History(layout)
    record(fresh, Optimizer(Chain([FirstMoment(beta1=0.9), LearningRate(learning_rate=0.1)])), np.zeros(3), gradients)
    for name, before in early.items():
        values = measures.column(history, name)
        assert len(values) == 12_000
        np.testing.assert_array_equal(values[:5], before)
        np.testing.assert_array_equal(values, measures.column(fresh, name))


def test_rows_that_come_and_go_have_no_share_while_absent():
    history = History(Layout(["w"], [(2,)]))
    gradients = np.random.default_rng(2).normal(size=(8, 2))
    weights = record(history, Optimizer(Chain([LearningRate(learning_rate=0.1)])), np.ones(2), gradients[:4])
    clipped = Optimizer(Chain([ClipByValue(clip_value=1e-3), LearningRate(learning_rate=0.1)]))
    record(history, clipped, weights, gradients[4:])
    share = measures.share(history, "clipping")
    assert not share[:4].any()
    assert share[4:] == pytest.approx(np.ones(4))


def test_column_names_what_there_is():
    history = mixed_run()
    np.testing.assert_array_equal(measures.column(history, "loss"), history.scalar("loss"))
    assert (measures.column(history, "clip_factor") <= 1.0).all()
    with pytest.raises(KeyError, match=r"no column 'speed'.*gradient_norm"):
        measures.column(history, "speed")


def test_an_empty_run_has_empty_columns():
    history = History(Layout(["w"], [(2,)]))
    assert all(len(measures.column(history, name)) == 0 for name in measures.MEASURES)
    assert measures.shares(history) == {}


def test_a_fork_measures_its_own_steps():
    layout = Layout(["w"], [(3,)])
    generator = np.random.default_rng(4)
    history, optimizer = History(layout), Optimizer(Chain([LearningRate(learning_rate=0.1)]))
    weights = record(history, optimizer, np.zeros(3), generator.normal(size=(10, 3)))
    for name in measures.MEASURES:
        measures.column(history, name)
    # a budget of nothing: vectors are let go, and measures completed by the fork itself, as soon as a chunk is full
    history.budget = 0
    other = history.fork(4)
    optimizer.learning_rate = 0.3
    gradients = generator.normal(size=(30, 3))
    record(other, optimizer, weights, gradients)
    for k in range(30):
        assert measures.expected_norm(other)[4 + k] == pytest.approx(0.3 * length(gradients[k]), rel=1e-14)
        assert measures.ratio(other)[4 + k] == pytest.approx(1.0, rel=1e-12)
