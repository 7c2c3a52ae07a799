"""The numbers shown beside a row's formula, put into that formula, give what the row did."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from core.optim import Optimizer, parse_optimizer
from core.optim.layout import Layout
from core.optim.ledger import StepLedger
from core.optim.transform import Transform
from core.optim.transforms.nested import innermost
from core.optim.worked import STATE, Worked, worked

LAYOUT = Layout(["W", "b"], [(2, 2), (2,)])
LINES = [
    "torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1)",
    "torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True)",
    "torch.optim.ASGD(p, lr=0.1, weight_decay=0.01)",
    "torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1)",
    "torch.optim.Adadelta(p, lr=0.5)",
    "torch.optim.RMSprop(p, centered=True, momentum=0.9)",
    "torch.optim.Adam(p, amsgrad=True)",
    "torch.optim.AdamW(p)",
    "torch.optim.Adamax(p)",
    "torch.optim.NAdam(p)",
    "torch.optim.RAdam(p)",
    "torch.optim.Muon(p)",
    "keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, clipnorm=1.0)",
    "keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2, global_clipnorm=1.0)",
    "keras.optimizers.RMSprop(0.1, momentum=0.9, centered=True)",
    "keras.optimizers.Adagrad(0.1)",
    "keras.optimizers.Adadelta(0.1)",
    "keras.optimizers.Adam(0.1, amsgrad=True, weight_decay=0.01)",
    "keras.optimizers.Adamax(0.1)",
    "keras.optimizers.Nadam(0.1)",
    "keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01)",
    "keras.optimizers.Lion(0.1)",
    "keras.optimizers.Lamb(0.1)",
    "keras.optimizers.ScheduleFreeAdamW(0.1)",
    "tf.compat.v1.train.RMSPropOptimizer(0.1, centered=True, momentum=0.9)",
    "tf.compat.v1.train.AdamOptimizer(0.1)",
    "tf.compat.v1.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01)",
    "optax.adabelief(0.1)",
    "optax.adan(0.1)",
    "optax.yogi(0.1)",
    "optax.lamb(0.1, weight_decay=0.1)",
    "optax.lars(0.1)",
    "optax.amsgrad(0.1)",
    "optax.nadamw(0.1)",
    "optax.rmsprop(0.1, momentum=0.9)",
    "optax.fromage(0.1)",
    "optax.sign_sgd(0.1)",
    "optax.optimistic_gradient_descent(0.1)",
    "optax.lookahead(optax.sgd(0.1), 3, 0.5)",
    "optax.chain(optax.centralize(), optax.clip(0.5), optax.ema(0.9), optax.sgd(0.1))",
    "torch.nn.utils.clip_grad_norm_(p, 1.0)\ntorch.nn.utils.clip_grad_value_(p, 0.5)\ntorch.optim.SGD(p, lr=0.1)",
    "o = torch.optim.SGD(p, lr=0.1)\ntorch.optim.lr_scheduler.StepLR(o, 2)",
]

WITHOUT_RULE = (LINES[-1], "optax.lookahead(optax.sgd(0.1), 3, 0.5)")
"""Nothing but a learning rate; rows that do nothing in these steps."""
Rule = Callable[[Transform, Worked], dict[str, float]]


def root(t: Transform, v: float) -> float:
    """The divisor: ε under the root or beside it."""
    eps, under = t.eps, getattr(t, "eps_root", 0.0)  # type: ignore[attr-defined]
    return math.sqrt(v + eps) if str(t.rule).startswith("inside") else math.sqrt(v + under) + eps  # type: ignore[attr-defined]


def came(it: Worked, symbol: str, else_: float = 0.0) -> float:
    before = it[symbol].before
    return else_ if before is None else before


def momentum(t, it):
    u, b = it["u"].before, it["b"].before
    return {"b": u if b is None else t.momentum * b + (1 - t.dampening) * u}


RULES: dict[str, Rule] = {
    "l2": lambda t, it: {"u": it["u"].before + t.weight_decay * it["w"].before},
    "maximise": lambda t, it: {"u": -it["u"].before},
    "momentum": momentum,
    "nesterov": lambda t, it: {"u": it["u′"].before + t.momentum * it["b"].before},
    "first_moment": lambda t, it: {"m": t.beta1 * it["m"].before + (1 - t.beta1) * it["u"].before},
    "bias_correction_1": lambda t, it: {"u": it["u"].before / (1 - t.beta1 ** it["t"].before)},
    "second_moment": lambda t, it: {
        "v": t.beta2 * it["v"].before + (1 - t.beta2) * it["g"].before ** 2,
        "u": it["u"].before / root(t, it["v"].after),
    },
    "second_maximum": lambda t, it: {
        "V": max(it["V"].before, it["v"].before),
        "u": it["m̂"].before / root(t, it["V"].after),
    },
    "centred_second_moment": lambda t, it: {
        "a": t.rho * it["a"].before + (1 - t.rho) * it["g"].before,
        "u": it["g"].before / root(t, it["v"].before - it["a"].after ** 2),
    },
    "sum_of_squares": lambda t, it: {
        "s": it["s"].before + it["u"].before ** 2,
        "u": it["u"].before / root(t, it["s"].after),
    },
    "rate_decay": lambda t, it: {"u": it["u"].before / (1 + (it["t"].before - 1) * t.lr_decay)},
    "accumulated_steps": lambda t, it: {
        "u": math.sqrt(it["D"].before + t.eps) / math.sqrt(it["v"].before + t.eps) * it["g"].before,
        "D": t.rho * it["D"].before + (1 - t.rho) * it["u"].after ** 2,
    },
    "infinity_moment": lambda t, it: {
        "n": max(t.beta2 * it["n"].before, abs(it["g"].before) + (t.eps if t.place == "maximum" else 0.0)),
        "u": it["u"].before / (it["n"].after + (t.eps if t.place == "divisor" else 0.0)),
    },
    "nesterov_moment": lambda t, it: {
        "u": t.beta1 * it["m"].before / (1 - t.beta1 ** (it["t"].before + 1))
        + (1 - t.beta1) * it["g"].before / (1 - t.beta1 ** it["t"].before)
    },
    "nesterov_blend": lambda t, it: {"u": (1 - t.momentum) * it["g"].before + t.momentum * it["m"].before},
    "decoupled_decay": lambda t, it: {"w": it["w"].before * (1 - it["lr_t"].before * t.weight_decay)},
    "added_decay": lambda t, it: {"u": it["u"].before + t.weight_decay * it["w"].before},
    "falling_decay": lambda t, it: {"w": it["w"].before * (1 - t.lambd * 0.1)},
    "falling_rate": lambda t, it: {"u": -came(it, "η_t", 0.1) * it["g"].before},
    "lion_moment": lambda t, it: {
        "u": t.beta1 * it["m"].before + (1 - t.beta1) * it["g"].before,
        "m": t.beta2 * it["m"].before + (1 - t.beta2) * it["g"].before,
    },
    "sign": lambda t, it: {"u": math.copysign(1.0, it["u"].before)},
    "trust_ratio": lambda t, it: {
        "u_v": it["u_v"].before * t.trust_coefficient * it["‖w_v‖"].before / (it["‖u_v‖"].before + t.eps)
    },
    "clip_by_norm": lambda t, it: {"u_v": it["u_v"].before * min(1.0, t.max_norm / it["‖u_v‖"].before)},
    "clip_by_value": lambda t, it: {"u": min(max(it["u"].before, -t.clip_value), t.clip_value)},
    "fromage_shrink": lambda t, it: {
        "u": it["u"].before / math.sqrt(1 + 0.1**2) + (1 / math.sqrt(1 + 0.1**2) - 1) * it["w"].before
    },
    "moving_average": lambda t, it: {
        "m": t.decay * it["m"].before + (1 - t.decay) * it["u"].before,
        "u": it["m"].after / (1 - t.decay ** it["t"].before if t.debias else 1.0),
    },
    "belief_moment": lambda t, it: {
        "v": t.beta2 * it["v"].before + (1 - t.beta2) * (it["g"].before - it["m"].before) ** 2 + t.eps_root,
        "u": it["u"].before / (math.sqrt(it["v"].after) + t.eps),
    },
    "yogi_moment": lambda t, it: {
        "v": it["v"].before
        - (1 - t.beta2) * math.copysign(1.0, it["v"].before - it["g"].before ** 2) * it["g"].before ** 2,
        "u": it["u"].before / (math.sqrt(it["v"].after) + t.eps),
    },
    "difference_moment": lambda t, it: {
        "n": t.beta2 * it["n"].before + (1 - t.beta2) * (it["g"].before - came(it, "g_old", it["g"].before)),
        "u": it["u"].before + (1 - t.beta2) * it["n"].after / (1 - t.beta2 ** it["t"].before),
    },
    "optimistic_gradient": lambda t, it: {
        "u": (t.alpha + t.beta) * it["u"].before - t.beta * came(it, "u_old", it["u"].before)
    },
    "proximal_l1": lambda t, it: {
        "w": math.copysign(
            max(abs(it["w"].before + it["u"].before) - it["lr_t"].before * t.l1, 0.0),
            it["w"].before + it["u"].before,
        )
    },
    "proximal_l2": lambda t, it: {"w": (it["w"].before + it["u"].before) / (1 + it["lr_t"].before * t.l2)},
    "ftrl_step": lambda t, it: {
        "n": it["n"].before + it["g"].before ** 2,
        "z": it["z"].before
        + it["g"].before
        - (math.sqrt(it["n"].after) - math.sqrt(it["n"].before)) / it["lr_t"].before * it["w"].before,
        "w": -it["z"].after * it["lr_t"].before / math.sqrt(it["n"].after),
    },
    "ftrl_l1": lambda t, it: {
        "w": (min(max(it["z"].before, -t.l1), t.l1) - it["z"].before) * it["lr_t"].before / it["n^q"].before
    },
    "iterate_average": lambda t, it: {"ā": it["w"].before + it["u"].before},
    "weight_average": lambda t, it: {
        "a": it["w"].before + it["u"].before
        if it["a"].before is None
        else t.ema_momentum * it["a"].before + (1 - t.ema_momentum) * (it["w"].before + it["u"].before)
    },
    "schedule_free_mean": lambda t, it: {"z": it["z"].before + it["u"].before},
}
"""The formulas of the papers and frameworks (docs/ledger.md, `source` of each transform), written out once more."""


def steps_of(lines: str, count: int) -> tuple[Optimizer, list[StepLedger]]:
    optimizer = parse_optimizer(lines)
    draw = np.random.default_rng(3)
    weights = np.array([1.0, 2.0, -1.0, 0.5, -0.7, 1.5])
    ledgers = []
    for _ in range(count):
        gradient = draw.normal(size=6) * 2.0
        ledger, weights = optimizer.step_flat(weights, gradient, LAYOUT, loss=1.0)
        ledgers.append(ledger)
    return optimizer, ledgers


@pytest.mark.parametrize("lines", LINES)
def test_the_numbers_give_what_the_row_did(lines: str) -> None:
    optimizer, ledgers = steps_of(lines, 7)
    checked = 0
    for ledger in (ledgers[0], ledgers[1], ledgers[6]):
        # the settings do not change, so each step can be explained afterwards
        block = ledger.blocks[0]
        for row in optimizer.chain.row_names:
            outer = optimizer.transform(row)
            transform = innermost(outer)
            for component in (1, 4):
                it = worked(ledger, row, component)
                assert it.contribution == block.contributions()[optimizer.chain.index(row), component]
                if not it.acted or outer is not transform:
                    continue
                rule = RULES.get(transform.name)
                for symbol, value in (rule(transform, it) if rule else {}).items():
                    assert it[symbol].after == pytest.approx(value, rel=1e-6, abs=1e-12), (row, symbol, it.text)
                    checked += 1
    assert checked or lines in WITHOUT_RULE


@pytest.mark.parametrize("lines", LINES)
def test_the_numbers_add_up_to_the_contribution(lines: str) -> None:
    """c = d after the row minus d before it: -lr (u_out - u_in) before the rate, u_out - u_in behind it, and what
    happened to the weights themselves."""
    optimizer, ledgers = steps_of(lines, 3)
    chain, block = optimizer.chain, ledgers[2].blocks[0]
    before = block.start
    for k, row in enumerate(chain.row_names[:-1]):
        it = worked(ledgers[2], row, 4)
        moved, before = block.track.weights[k][4] - before[4], block.track.weights[k]
        symbols = {number.symbol: number for number in it.numbers}
        u = symbols.get("u") or symbols.get("u_v")
        if u is None or k == chain.rate_index:
            continue
        factor = -block.base_rate if k < chain.rate_index else 1.0
        if "w" in symbols:
            assert symbols["w"].after - symbols["w"].before == moved
        assert it.contribution == pytest.approx(factor * (u.after - u.before) + moved, rel=1e-9, abs=1e-12), row


def test_every_state_has_a_letter_or_is_no_number_of_a_weight() -> None:
    """A transform with a new memory has to say what it is called in its formula."""
    unnamed = set()
    for lines in LINES:
        optimizer, ledgers = steps_of(lines, 2)
        for transform, state in zip(optimizer.chain, ledgers[1].blocks[0].states, strict=False):
            for key, value in state.items():
                if isinstance(value, np.ndarray) and value.shape == (6,) and (transform.name, key) not in STATE:
                    unnamed.add((transform.name, key))
    assert unnamed == set()


def test_a_repeated_row_shows_its_own_numbers() -> None:
    """Two clips: each with the norm that came to it (a figure is noted under one name only)."""
    clips = "optax.clip_by_global_norm(2.0), optax.clip_by_global_norm(1.0)"
    optimizer = parse_optimizer(f"optax.chain({clips}, optax.sgd(0.1))")
    ledger, _ = optimizer.step_flat(np.zeros(2), np.array([3.0, 4.0]), Layout(["w"], [(2,)]))
    first, second = (worked(ledger, row, 0) for row in ("clip_by_global_norm", "clip_by_global_norm_2"))
    assert "because ‖u‖ = 5 > 2" in first.formula and (first["u"].before, first["u"].after) == (3.0, pytest.approx(1.2))
    assert "because ‖u‖ = 2 > 1" in second.formula and second["u"].after == pytest.approx(0.6)


def test_the_first_step_has_no_buffer_yet() -> None:
    _, ledgers = steps_of("torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5)", 1)
    it = worked(ledgers[0], "momentum", 0)
    assert it["b"].before is None and it["b"].after == it["u"].before
    assert "b = none yet" in it.text


def test_rounding_shows_what_was_to_be_stored() -> None:
    optimizer = parse_optimizer("torch.optim.SGD(p, lr=0.001)")
    ledger, stored = optimizer.step_flat(np.array([1.0], dtype=np.float16), np.array([0.1]), Layout(["w"], [(1,)]))
    it = worked(ledger, "rounding", 0)
    assert it["u"].before == pytest.approx(-1e-4) and (it["w"].before, it["w"].after) == (1.0, 1.0)
    assert it.contribution == pytest.approx(1e-4)
    assert it["half the gap to the next number"].after == np.spacing(np.float16(1.0)) / 2
    assert stored[0] == np.float16(1.0)


def test_parameter_groups_show_their_own_settings_and_weights() -> None:
    lines = "torch.optim.SGD([{'params': [W], 'weight_decay': 0.1}, {'params': [b], 'weight_decay': 0.5}], lr=0.1)"
    _, ledgers = steps_of(lines, 1)
    one, other = worked(ledgers[0], "l2", 1), worked(ledgers[0], "l2", 5)
    assert "λ = 0.1" in one.formula and one["w"].before == 2.0
    assert "λ = 0.5" in other.formula and other["w"].before == 1.5
    assert other["u"].after == pytest.approx(other["u"].before + 0.5 * 1.5)


def test_a_group_without_decay_shows_none() -> None:
    lines = "torch.optim.SGD([{'params': [W], 'weight_decay': 0.1}, {'params': [b], 'weight_decay': 0.0}], lr=0.1)"
    _, ledgers = steps_of(lines, 1)
    it = worked(ledgers[0], "l2", 5)
    assert not it.acted and it.formula.endswith("(switched off)")
    assert worked(ledgers[0], "l2", 1).acted


ONE_CYCLE = "sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=20)"


@pytest.mark.parametrize(
    ("lines", "row", "symbol"),
    [
        ("opt = torch.optim.AdamW(params, lr=0.03, betas=(0.9, 0.98))", "first_moment", "β₁"),
        ("opt = torch.optim.AdamW(params, lr=0.03, betas=(0.9, 0.98))", "bias_correction_1", "β₁"),
        ("opt = torch.optim.NAdam(params, lr=0.03)", "scheduled_nesterov", "β₁"),
        ("opt = torch.optim.SGD(params, lr=0.1, momentum=0.5)", "momentum", "μ"),
        ("opt = torch.optim.SGD(params, lr=0.1, momentum=0.5, nesterov=True)", "nesterov", "μ"),
    ],
)
def test_a_momentum_that_a_schedule_moves_stands_in_the_formula(lines: str, row: str, symbol: str) -> None:
    """PyTorch's one cycle: the way up ends at step 0.3 T - 1 = 5, a half cosine from 0.95 to 0.85 until there."""
    _, ledgers = steps_of(f"{lines}\n{ONE_CYCLE}", 4)
    moved = 0.95 + (0.85 - 0.95) * (1.0 - math.cos(math.pi * 3 / 5)) / 2.0
    assert f"{symbol} = {moved:.6g}" in worked(ledgers[3], row, 0).formula


def test_a_rate_that_is_worked_out_is_named_once() -> None:
    _, ledgers = steps_of(
        "callback = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 * 0.5**epoch)\n"
        "model.compile(optimizer=keras.optimizers.SGD(0.1))\nmodel.fit(x, y, callbacks=[callback])",
        3,
    )
    assert worked(ledgers[2], "learning_rate", 0).formula.count("lr_t = ") == 1
