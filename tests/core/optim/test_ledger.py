"""The ledger closes: for random chains of random transforms, types, shapes and hostile gradients; and its parts."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from core.autodiff import Variable
from core.declare import Parameter, SettingError
from core.optim import Chain, Optimizer, parse_optimizer
from core.optim.layout import Layout
from core.optim.ledger import BlockLedger
from core.optim.schedules import SCHEDULES
from core.optim.transform import Transform
from core.optim.transforms import TRANSFORMS
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import STORAGE_TYPES, Store

ALONE = {"rounding", "learning_rate", "master_weights"}
"""Placed by the test itself: a chain has one of each."""


def _buildable() -> list[type[Transform]]:
    """The transforms that need nothing but their declared values."""
    found = []
    for kind in TRANSFORMS.values():
        try:
            kind()
        except (TypeError, SettingError):
            continue
        found.append(kind)
    return [kind for kind in found if kind.name not in ALONE]


BUILDABLE = _buildable()
NUMBERS = st.one_of(
    st.floats(-10, 10),
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, -2.5e-308, 1.0]),
)
HOSTILE = st.one_of(NUMBERS, st.sampled_from([math.inf, -math.inf, math.nan]))


def value_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Values a slider for the parameter could be moved to."""
    if parameter.scale == "switch":
        return st.booleans()
    if parameter.scale == "choice":
        return st.sampled_from(parameter.choices)
    if parameter.scale == "list":
        return st.just(parameter.default)
    low, high = max(parameter.low, parameter.minimum), min(parameter.high, parameter.maximum)
    if parameter.scale == "integer":
        return st.integers(int(low), int(min(high, 8)) if high > low else int(low))
    return st.floats(low, high, exclude_min=parameter.open_minimum, exclude_max=parameter.open_maximum)


@st.composite
def transform(draw: Any) -> Transform:
    """Any transform with any settings it accepts."""
    kind = draw(st.sampled_from(BUILDABLE))
    values = {p.key: draw(value_of(p)) for p in kind.parameters if draw(st.booleans())}
    try:
        made = kind(**values)
    except SettingError:
        made = kind()
    made.enabled = draw(st.integers(0, 9)) > 0
    return made


@st.composite
def chains(draw: Any) -> Chain:
    rows = draw(st.lists(transform(), max_size=7))
    if draw(st.integers(0, 9)) > 0:
        place = draw(st.integers(0, len(rows)))
        rate = draw(st.floats(0.0, 2.0))
        kind = draw(st.sampled_from([None, "StepLR", "ExponentialLR", "CosineAnnealingLR", "LinearLR", "OneCycleLR"]))
        rows.insert(place, LearningRate(SCHEDULES[kind]() if kind else None, learning_rate=rate))
    if draw(st.booleans()):
        rows.insert(0, TRANSFORMS["master_weights"]())
    return Chain([*rows, Store(storage=draw(st.sampled_from(STORAGE_TYPES)))])


LAYOUTS = [
    Layout(["w"], [(1,)]),
    Layout(["w"], [(3,)]),
    Layout(["m", "b"], [(2, 2), ()]),
    Layout(["m", "v", "s"], [(2, 3), (2,), (1,)]),
]


def assert_block_closes(block: BlockLedger) -> None:
    """e + sum(c) = a within 8 units in the last place of the largest |d_k|, summed exactly."""
    prefixes, rows = block.prefixes, block.contributions()
    for i in range(block.layout.size):
        column = prefixes[:, i]
        if not np.isfinite(column).all() or not np.isfinite(rows[:, i]).all():
            continue
        bound = 8 * math.ulp(float(np.abs(column).max()))
        total = math.fsum([float(column[0]), *rows[:, i].tolist()])
        assert abs(total - float(block.applied[i])) <= bound
        assert abs(float(block.residual[i])) <= bound


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data())
def test_the_ledger_of_a_random_chain_closes(data: Any) -> None:
    chain = data.draw(chains())
    layout = data.draw(st.sampled_from(LAYOUTS))
    arithmetic = data.draw(st.sampled_from(["float64", "float64", "float32", "float16", "bfloat16", "variable"]))
    optimizer = Optimizer(chain, arithmetic=arithmetic)
    note(f"{chain.transforms} {[t.enabled for t in chain]}")
    size = layout.size
    weights = np.array(data.draw(st.lists(st.floats(-4, 4), min_size=size, max_size=size)))
    dtype = optimizer.chain.store.dtype or np.dtype(np.float64)
    stored = weights.astype(dtype)

    def evaluate(at: Any) -> tuple[float, Any]:
        wide = np.asarray(at, dtype=np.float64)
        return float(np.dot(wide, wide)) / 2, np.asarray(at)

    for _ in range(3):
        gradient = np.array(data.draw(st.lists(HOSTILE, min_size=size, max_size=size)))
        before = stored.copy()
        ledger, after = optimizer.step_flat(stored, gradient, layout, loss=1.0, evaluate=evaluate)
        block = ledger.blocks[0]
        assert after.dtype == dtype
        assert stored.tobytes() == before.tobytes()
        with np.errstate(all="ignore"):
            change = after.astype(np.float64) - before.astype(np.float64)
        if not ledger.blocks[0].context.halted:
            np.testing.assert_array_equal(block.applied, change)
        assert_block_closes(block)
        stored = after


def _random_value(parameter: Parameter, chance: random.Random) -> Any:
    if parameter.scale == "switch":
        return chance.random() < 0.5
    if parameter.scale == "choice":
        return chance.choice(parameter.choices)
    if parameter.scale == "list":
        return parameter.default
    low, high = max(parameter.low, parameter.minimum), min(parameter.high, parameter.maximum)
    if parameter.scale == "integer":
        return chance.randint(int(low), max(int(low), min(int(high), 8)))
    return low + (high - low) * chance.uniform(0.01, 0.99)


def _random_chain(chance: random.Random) -> Chain:
    rows: list[Transform] = []
    for kind in chance.choices(BUILDABLE, k=chance.randint(1, 7)):
        values = {p.key: _random_value(p, chance) for p in kind.parameters if chance.random() < 0.5}
        try:
            rows.append(kind(**values))
        except SettingError:
            rows.append(kind())
        rows[-1].enabled = chance.random() < 0.9
    rows.insert(chance.randint(0, len(rows)), LearningRate(learning_rate=chance.uniform(0.0, 1.0)))
    return Chain([*rows, Store(storage=chance.choice(STORAGE_TYPES))])


@settings(max_examples=2000, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**63))
def test_the_ledgers_of_two_thousand_random_chains_close(seed: int) -> None:
    chance = random.Random(seed)
    chain = _random_chain(chance)
    note(f"{chain.transforms}")
    optimizer = Optimizer(chain, arithmetic=chance.choice(["float64", "float64", "float32", "float16", "bfloat16"]))
    layout = chance.choice(LAYOUTS)
    weights = np.array([chance.gauss(0.0, 1.0) for _ in range(layout.size)])
    weights = weights.astype(optimizer.chain.store.dtype or np.float64)

    def evaluate(at: Any) -> tuple[float, Any]:
        return float(np.dot(at, at)) / 2, at

    for _ in range(2):
        scale = chance.choice([0.0, 1e-310, 1e-8, 1.0, 1.0, 1.0, 1e6, 1e200])
        gradient = np.array([chance.gauss(0.0, 1.0) * scale for _ in range(layout.size)])
        if chance.random() < 0.1:
            gradient[0] = chance.choice([math.inf, -math.inf, math.nan])
        ledger, weights = optimizer.step_flat(weights, gradient, layout, loss=1.0, evaluate=evaluate)
        assert_block_closes(ledger.blocks[0])


OPTIMIZERS = [
    "torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)",
    "torch.optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1)",
    "torch.optim.AdamW(p, lr=0.1)",
    "torch.optim.RMSprop(p, lr=0.1, momentum=0.9, centered=True)",
    "torch.optim.Adadelta(p)",
    "torch.optim.Adagrad(p, lr_decay=0.1)",
    "torch.optim.Adamax(p)",
    "torch.optim.NAdam(p)",
    "torch.optim.RAdam(p)",
    "torch.optim.ASGD(p, t0=1)",
    "torch.optim.Rprop(p)",
    "torch.optim.Adafactor(p)",
    "torch.optim.SparseAdam(p)",
    "torch.optim.LBFGS(p, max_iter=4)",
    "torch.optim.LBFGS(p, max_iter=4, line_search_fn='strong_wolfe')",
    "torch.optim.Muon(p)",
    "keras.optimizers.Adam(0.1)",
    "keras.optimizers.Ftrl(0.1)",
    "keras.optimizers.Lamb(0.1)",
    "tf.compat.v1.train.RMSPropOptimizer(0.1)",
    "optax.adan(0.1)",
    "optax.lion(0.1)",
]


@pytest.mark.parametrize("text", OPTIMIZERS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(gradients=st.lists(st.lists(HOSTILE, min_size=4, max_size=4), min_size=2, max_size=4))
def test_the_ledger_of_every_named_optimizer_closes(text: str, gradients: list[list[float]]) -> None:
    optimizer = parse_optimizer(text)
    layout = Layout(["m"], [(2, 2)])
    weights = np.array([0.5, -1.0, 0.0, 3.0])

    def evaluate(at: Any) -> tuple[float, Any]:
        return float(np.dot(at, at)) / 2, at

    for gradient in gradients:
        ledger, weights = optimizer.step_flat(weights, np.array(gradient), layout, loss=1.0, evaluate=evaluate)
        assert_block_closes(ledger.blocks[0])


def test_the_example_everyone_knows() -> None:
    """Gradient 5, clipped at 1, lr 0.1: expected -5 lr, clipping +4 lr, applied -1 lr, residual 0."""
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_value_(p, 1.0)\ntorch.optim.SGD(p, lr=0.1)")
    w = Variable(3.0, name="w")
    entry = optimizer.apply_gradients([(5.0, w)])[w]
    contributions = {row.name: float(row.contribution) for row in entry.rows}
    assert float(entry.expected) == -0.5
    assert contributions["clip_by_value"] == pytest.approx(0.4, rel=1e-15)
    assert float(entry.applied) == pytest.approx(-0.1, rel=1e-15)
    assert abs(float(entry.residual)) <= 8 * math.ulp(0.5)
    assert {row.cause for row in entry.rows} >= {"clipping", "learning rate", "rounding"}


def test_rows_unpack_and_have_the_variables_shape() -> None:
    w = Variable(np.ones((2, 3)), name="w")
    b = Variable(1.0, name="b")
    ledger = parse_optimizer("torch.optim.Adam(p, lr=0.1)").apply_gradients([(np.ones((2, 3)), w), (1.0, b)])
    for variable in (w, b):
        entry = ledger[variable]
        assert entry.expected.shape == entry.applied.shape == entry.residual.shape == tuple(variable.shape)
        for name, cause, contribution in entry.rows:
            assert isinstance(name, str)
            assert isinstance(cause, str)
            assert contribution.shape == tuple(variable.shape)
    assert list(ledger) == [w, b]
    assert ledger.row_names == tuple(row.name for row in ledger[w].rows)


def test_none_zero_and_frozen_are_told_apart() -> None:
    moved, zero, none = Variable(1.0, name="moved"), Variable(1.0, name="zero"), Variable(1.0, name="none")
    frozen = Variable(1.0, name="frozen", trainable=False)
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.5)")
    ledger = optimizer.apply_gradients([(1.0, moved), (0.0, zero), (None, none), (1.0, frozen)])
    assert [ledger[v].status for v in (moved, zero, none, frozen)] == [
        "stepped",
        "zero gradient",
        "no gradient",
        "frozen",
    ]
    assert float(zero.numpy()) == 1.0 - 0.1 * 0.5
    assert float(none.numpy()) == float(frozen.numpy()) == 1.0
    assert float(ledger[none].applied) == 0.0
    assert ledger[none].rows == []
    row = next(row for row in ledger[frozen].rows if row.cause == "frozen variables")
    assert float(row.contribution) == 0.1
    other = Variable(2.0, name="other")
    with pytest.raises(KeyError, match=r"'other'.*not given to this step"):
        ledger[other]


def test_a_variable_frozen_later_stops_and_goes_on_from_its_state() -> None:
    a, b = Variable(0.0, name="a"), Variable(0.0, name="b")
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=1.0, momentum=0.5)")
    optimizer.apply_gradients([(1.0, a), (1.0, b)])
    b.trainable = False
    ledger = optimizer.apply_gradients([(1.0, a), (1.0, b)])
    assert ledger[b].status == "frozen"
    assert (float(a.numpy()), float(b.numpy())) == (-2.5, -1.0)
    b.trainable = True
    optimizer.apply_gradients([(1.0, a), (1.0, b)])
    assert float(b.numpy()) == -1.0 - 1.5


def test_without_is_another_question_than_the_rows_contribution() -> None:
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_norm_(p, 1.0)\ntorch.optim.Adam(p, lr=0.1)")
    w = Variable([1.0, 1.0], name="w")
    optimizer.apply_gradients([([3.0, 4.0], w)])
    state = optimizer.snapshot()
    start = w.numpy().copy()
    ledger = optimizer.apply_gradients([([30.0, -40.0], w)])
    after = w.numpy().copy()
    other = ledger.without("clip_by_global_norm")
    optimizer.restore(state)
    w.assign(start)
    optimizer.enable("clip_by_global_norm", False)
    by_hand = optimizer.apply_gradients([([30.0, -40.0], w)])
    np.testing.assert_array_equal(other[w].applied, by_hand[w].applied)
    assert_block_closes(other.blocks[0])
    clip = next(row for row in ledger[w].rows if row.cause == "clipping").contribution
    assert not np.allclose(ledger[w].applied - other[w].applied, clip)
    np.testing.assert_array_equal(after - start, ledger[w].applied)


def test_without_keeps_the_run_as_it_is() -> None:
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1)")
    twin = parse_optimizer("torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1)")
    layout, w, v = Layout(["w"], [(2,)]), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    for k in range(4):
        g = np.array([k + 1.0, -1.0])
        ledger, w = optimizer.step_flat(w, g, layout)
        ledger.without("momentum")
        _, v = twin.step_flat(v, g, layout)
    np.testing.assert_array_equal(w, v)
    with pytest.raises(SettingError, match="no transform 'clip'"):
        ledger.without("clip")
    with pytest.raises(SettingError, match="storing"):
        ledger.without("rounding")


def test_without_the_learning_rate_means_without_its_schedule() -> None:
    text = "o = torch.optim.SGD(p, lr=0.1)\ntorch.optim.lr_scheduler.ExponentialLR(o, gamma=0.5)"
    optimizer = parse_optimizer(text)
    layout, w = Layout(["w"], [(1,)]), np.array([1.0])
    for _ in range(3):
        ledger, w = optimizer.step_flat(w, np.array([1.0]), layout)
    assert ledger[layout.names[0]].applied == pytest.approx(-0.025)
    assert ledger.without("learning_rate")["w"].applied == pytest.approx(-0.1)


def test_snapshot_and_restore_give_the_same_bits() -> None:
    text = "torch.optim.NAdam(p, lr=0.1)"
    optimizer = parse_optimizer(text)
    layout, w = Layout(["w"], [(2,)]), np.array([1.0, -2.0])
    for _ in range(3):
        _, w = optimizer.step_flat(w, w * 2, layout)
    kept, state = w, optimizer.snapshot()
    first = []
    for _ in range(4):
        _, w = optimizer.step_flat(w, w * 2, layout)
        first.append(w)
    for _ in range(2):
        optimizer.restore(state)
        w = kept
        for expected in first:
            _, w = optimizer.step_flat(w, w * 2, layout)
            np.testing.assert_array_equal(w, expected)


@pytest.mark.parametrize("rate", [-1.0, math.nan, True, "0.1", None])
def test_a_refused_learning_rate_changes_nothing(rate: Any) -> None:
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.1)")
    with pytest.raises(SettingError):
        optimizer.learning_rate = rate
    assert optimizer.learning_rate == 0.1


def test_the_learning_rate_is_live() -> None:
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.1)")
    w = Variable(0.0, name="w")
    optimizer.apply_gradients([(1.0, w)])
    optimizer.learning_rate = 0.5
    ledger = optimizer.apply_gradients([(1.0, w)])
    assert float(ledger[w].expected) == float(ledger[w].applied) == -0.5
    assert ledger.base_learning_rate == ledger.learning_rate == 0.5


def test_blocks_of_different_types_take_one_step_together() -> None:
    wide, narrow = Variable([3.0], name="wide"), Variable(np.array([4.0], dtype=np.float16), name="narrow")
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_norm_(p, 1.0)\ntorch.optim.SGD(p, lr=1.0)")
    ledger = optimizer.apply_gradients([([3.0], wide), (np.array([4.0], dtype=np.float16), narrow)])
    assert float(ledger[wide].applied[0]) == pytest.approx(-0.6, abs=1e-6)  # one norm over both
    assert narrow.dtype == np.float16
    assert float(narrow.numpy()[0]) == float(np.float16(4.0 - 4.0 / (5.0 + 1e-6)))
    for block in ledger.blocks:
        assert_block_closes(block)


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (lambda w: [(None, w)], ValueError, "no gradients for any variable"),
        (lambda w: [], ValueError, "no gradients for any variable"),
        (lambda w: [([1.0, 2.0, 3.0], w)], ValueError, "shape"),
        (lambda w: [(1.0, w), (1.0, w)], ValueError, "given twice"),
        (lambda w: [(1.0, 2.0)], TypeError, "has to be"),
        (lambda w: [w], TypeError, "has to be"),
        (lambda w: [("a", w)], TypeError, "real numbers"),
    ],
)
def test_pairs_that_cannot_be_used_change_nothing(pairs: Any, error: type[Exception], message: str) -> None:
    w = Variable(1.0, name="w")
    optimizer = parse_optimizer("torch.optim.Adam(p, lr=0.1)")
    with pytest.raises(error, match=message):
        optimizer.apply_gradients(pairs(w))
    assert float(w.numpy()) == 1.0
    assert optimizer.step_count == optimizer.call_count == 0
