"""optax code as people write it: names, imports, wrappers, what is refused and how the message helps."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.declare import SettingError
from core.optim import NotRepresentable, Optimizer, ParseError, emit_optimizer, parse_optimizer
from core.optim.layout import Layout


def rows(lines: str) -> list[str]:
    """Row names without the mask of frozen variables and the rounding."""
    return list(parse_optimizer(lines).chain.row_names[1:-1])


ADAM = ["first_moment", "bias_correction_1", "second_moment", "bias_correction_2", "learning_rate"]


@pytest.mark.parametrize(
    "lines",
    [
        "optax.adam(1e-3)",
        "import optax\noptimizer = optax.adam(learning_rate=1e-3)\nopt_state = optimizer.init(params)",
        "from optax import adam\ntx = adam(1e-3)",
        "import optax as ox\ntx = ox.adam(1e-3)",
        "lr = 1e-3\ntx = optax.chain(optax.adam(lr))",
        "optax.chain(optax.scale_by_adam(), optax.scale(-1e-3))",
        "optax.named_chain(('a', optax.scale_by_adam()), ('b', optax.scale_by_learning_rate(1e-3)))",
        "optax.with_extra_args_support(optax.adam(1e-3))",
        "optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)",
        "state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))",
        "unused = optax.sgd(0.1)\ntx = optax.adam(1e-3)\nstate = tx.init(params)\n"
        "updates, state = tx.update(grads, state, params)\nparams = optax.apply_updates(params, updates)",
        "tx = optax.adam(1e-3)\nstate = tx.init(params)\nother = optax.sgd(0.1)",
        "optax.chain(optax.identity(), optax.chain(optax.scale_by_adam(), optax.chain(optax.scale(-1e-3))))",
    ],
)
def test_many_ways_to_write_adam(lines: str) -> None:
    first = parse_optimizer(lines)
    assert first.dialect == "optax"
    assert first.settings() == parse_optimizer("optax.adam(learning_rate=0.001)").settings()
    assert emit_optimizer(first, "optax") == "optax.adam(learning_rate=0.001)"


def test_rows_are_as_fine_as_the_formula() -> None:
    assert rows("optax.adam(1e-3)") == ADAM
    assert rows("optax.lamb(1e-3, weight_decay=0.1)") == [*ADAM[:-1], "added_decay", "trust_ratio", "learning_rate"]
    assert rows("optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9, nesterov=True))") == [
        "clip_by_global_norm",
        "momentum",
        "nesterov",
        "learning_rate",
    ]
    assert rows("optax.rmsprop(0.1, momentum=0.9)") == ["second_moment", "learning_rate", "momentum"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "optax.chain(optax.clip(1.0), optax.adamw(1e-3))",
            "optax.chain(optax.clip(max_delta=1.0), optax.adamw(learning_rate=0.001))",
        ),
        ("optax.adam(1e-3, nesterov=True)", "optax.nadam(learning_rate=0.001)"),
        ("optax.chain(optax.trace(0.9), optax.scale(-0.1))", "optax.sgd(learning_rate=0.1, momentum=0.9)"),
        ("optax.contrib.muon(0.01)", "optax.contrib.muon(learning_rate=0.01)"),
        (
            "optax.lookahead(optax.sgd(0.1), 5, 0.5)",
            "optax.lookahead(optax.sgd(learning_rate=0.1), sync_period=5, slow_step_size=0.5)",
        ),
    ],
)
def test_written_with_the_short_name(lines: str, text: str) -> None:
    assert emit_optimizer(parse_optimizer(lines), "optax") == text


@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        ("optax.adm(1e-3)", (1, 1), ["optax.adm", "adam"]),
        ("optax.chain(optax.clip(1.0),\n    optax.adam(1e-3, beta1=0.9))", (2, 22), ["beta1", "b1"]),
        ("optax.adam()", (1, 1), ["learning_rate"]),
        ("optax.adam('fast')", (1, 12), ["number", "'fast'"]),
        ("optax.adam(lr)", (1, 12), ["'lr'", "no line above"]),
        ("optax.adam(optax.cosine_decay(0.1, 100))", (1, 12), ["cosine_decay_schedule"]),
        ("optax.cosine_decay_schedule(0.1, 100)", (0, 0), []),
        ("optax.chain(optax.adam(1e-3), [optax.clip(1.0)])", (1, 31), ["optax.chain"]),
        ("optax.chain()", (1, 1), ["empty"]),
        ("optax.lbfgs()", (1, 1), ["line search"]),
        ("optax.adam(1e-3, mu_dtype=jnp.bfloat16)", (1, 27), ["type"]),
        ("optax.masked(optax.adam(1e-3), decay_mask)", (1, 32), ["mask", "dict"]),
        ("optax.partition({'a': optax.adam(1e-3)}, {'w': 'b'})", (1, 1), ["'b'", "a"]),
        ("optax.MultiSteps(optax.adam(1e-3), every_k_schedule=lambda s: s + 1)", (1, 53), ["whole number"]),
        ("optax.chain(optax.scale_by_adam(), optax.apply_if_finite(optax.sgd(0.1), 2))", (1, 1), ["wrap"]),
        ("optax.chain(optax.lookahead(optax.sgd(0.1), 5, 0.5), optax.clip(1.0))", (1, 1), ["last"]),
        ("optax.warmup_cosine_decay_schedule(0.0, 0.1, 100, 50)\noptax.sgd(0.1)", None, []),
        ("optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, 100, 50))", (1, 11), ["decay_steps", "warmup_steps"]),
        ("optax.sgd(optax.piecewise_constant_schedule(0.1, {10: -0.5}))", (1, 11), ["0 or more"]),
        ("optax.masked(optax.apply_if_finite(optax.sgd(0.1), 2), {'w': True})", (1, 1), ["around the mask"]),
        ("optax.sgd(lambda step: model(step))", (1, 11), ["no line above says what model is"]),
    ],
)
def test_what_is_wrong_and_where(lines: str, place: tuple[int, int] | None, words: list[str]) -> None:
    if place is None:
        assert isinstance(parse_optimizer(lines), Optimizer)
        return
    with pytest.raises(ParseError) as caught:
        parse_optimizer(lines)
    if place != (0, 0):
        assert (caught.value.line, caught.value.column) == place, str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("mask", "picked"),
    [
        ("{'w': True, 'b': False}", [True, False]),
        ("{'dense': {'w': True, 'b': False}}", [True, False]),
        ("lambda params: jax.tree.map(lambda x: x.ndim > 1, params)", [True, False]),
        ("lambda params: jax.tree_util.tree_map(lambda p: not p.ndim <= 1, params)", [True, False]),
        ("lambda params: jax.tree.map(lambda x: 1 < len(x.shape), params)", [True, False]),
        ("True", [True, True]),
        ("False", [False, False]),
    ],
)
def test_masks(mask: str, picked: list[bool]) -> None:
    """Decay moves only the variables the mask picks: the gradient is zero."""
    layout = Layout(["w", "b"], [(2, 2), (2,)])
    optimizer = parse_optimizer(f"optax.chain(optax.sgd(1.0), optax.add_decayed_weights(-0.5, mask={mask}))")
    weights = np.ones(6)
    _, after = optimizer.step_flat(weights, np.zeros(6), layout)
    assert [not np.array_equal(part, np.ones(part.shape)) for part in layout.split(after)] == picked
    assert parse_optimizer(emit_optimizer(optimizer, "optax")).settings() == optimizer.settings()


def test_a_mask_that_does_not_know_a_variable_says_so() -> None:
    optimizer = parse_optimizer("optax.adamw(0.1, mask={'kernel': True})")
    with pytest.raises(ValueError, match=r"says nothing about the variable 'w'.*kernel"):
        optimizer.step_flat(np.ones(1), np.ones(1), Layout(["w"], [(1,)]))


def test_a_mask_function_defined_above_is_read() -> None:
    lines = (
        "def decay_mask(params):\n    return jax.tree.map(lambda x: x.ndim != 1, params)\n"
        "tx = optax.adamw(1e-3, weight_decay=0.1, mask=decay_mask)"
    )
    assert (
        parse_optimizer(lines).settings()
        == parse_optimizer(
            "optax.adamw(1e-3, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim != 1, p))"
        ).settings()
    )


@pytest.mark.parametrize("lines", ["optax.polyak_sgd()", "optax.contrib.sophia(0.1)"])
def test_a_gradient_alone_is_not_enough_for_some(lines: str) -> None:
    with pytest.raises(ValueError, match="minimize"):
        parse_optimizer(lines).step_flat(np.ones(2), np.ones(2), Layout(["w"], [(2,)]))


def test_sam_in_one_step_needs_the_loss() -> None:
    lines = "optax.contrib.sam(optax.sgd(0.1), optax.sgd(0.05), opaque_mode=True)"
    with pytest.raises(ValueError, match="minimize"):
        parse_optimizer(lines).step_flat(np.ones(2), np.ones(2), Layout(["w"], [(2,)]))


def test_multi_steps_moves_nothing_and_advances_no_schedule_while_it_collects() -> None:
    lines = (
        "optax.MultiSteps(optax.sgd(optax.linear_schedule(0.4, 0.0, 4)), every_k_schedule=2).gradient_transformation()"
    )
    optimizer = parse_optimizer(lines)
    layout = Layout(["w"], [(1,)])
    weights, path = np.zeros(1), []
    for g in (1.0, 3.0, 2.0, 4.0):
        ledger, weights = optimizer.step_flat(weights, np.array([g]), layout)
        path.append((float(weights[0]), ledger.learning_rate))
    assert [place for place, _ in path] == pytest.approx([0.0, -0.8, -0.8, -1.7])
    assert [rate for _, rate in path] == pytest.approx([0.4, 0.4, 0.3, 0.3])


def test_apply_if_finite_lets_the_third_bad_step_through() -> None:
    """max_consecutive_errors=2: two refused, the third applied (optax's own rule)."""
    optimizer = parse_optimizer("optax.apply_if_finite(optax.sgd(0.1), max_consecutive_errors=2)")
    layout = Layout(["w"], [(1,)])
    weights = np.ones(1)
    skipped = []
    for _ in range(3):
        ledger, weights = optimizer.step_flat(weights, np.array([np.inf]), layout)
        skipped.append(ledger.skipped)
    assert skipped == [True, True, False]
    assert weights[0] == -np.inf


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("torch.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.1)", "dampening"),
        ("torch.nn.utils.clip_grad_norm_(params, 1.0)\ntorch.optim.SGD(params, lr=0.1)", "1e-6"),
        ("torch.optim.Adam(params, amsgrad=True)", "maximum"),
        ("torch.optim.SGD(params, lr=0.1)\ntorch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30)", "schedule"),
        ("torch.optim.Adagrad(params)", "under the root"),
    ],
)
def test_why_another_framework_s_line_has_no_optax_form(lines: str, reason: str) -> None:
    with pytest.raises(NotRepresentable, match=reason):
        emit_optimizer(parse_optimizer(lines), "optax")


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("torch.optim.Adam(params, lr=0.01)", "optax.adam(learning_rate=0.01)"),
        ("torch.optim.AdamW(params, lr=0.01, weight_decay=0.1)", "optax.adamw(learning_rate=0.01, weight_decay=0.1)"),
        (
            "torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.01)",
            "optax.chain(optax.add_decayed_weights(weight_decay=0.01), optax.sgd(learning_rate=0.1, momentum=0.9))",
        ),
        ("torch.nn.utils.clip_grad_value_(params, 0.5)\ntorch.optim.SGD(params, lr=0.1)", None),
        (
            "tf.compat.v1.train.AdagradOptimizer(0.1)",
            "optax.adagrad(learning_rate=0.1, eps=0.0)",
        ),
    ],
)
def test_another_framework_s_line_in_optax(lines: str, text: str | None) -> None:
    found = emit_optimizer(parse_optimizer(lines), "optax")
    assert found == (text or "optax.chain(optax.clip(max_delta=0.5), optax.sgd(learning_rate=0.1))")


PIECES = (
    "0.1",
    "-1",
    "None",
    "True",
    "'a'",
    "lambda x: x",
    "optax.sgd(0.1)",
    "{}",
    "[]",
    "1e400",
    "{'w': 1}",
    "x",
    "(",
)
WHOLE = (
    "optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, b1=0.9, weight_decay=0.1, mask={'w': True}))",
    "optax.partition({'a': optax.adam(0.01), 'f': optax.set_to_zero()}, {'b': 'a', 's': 'f'})",
    "optax.MultiSteps(optax.sgd(optax.join_schedules([optax.linear_schedule(0.0, 0.1, 10)], [])), 4)",
    "optax.contrib.sam(optax.sgd(0.05), optax.chain(optax.contrib.normalize(), optax.sgd(0.02)), sync_period=3)",
    "optax.lookahead(optax.rmsprop(0.1, momentum=0.9, centered=True), sync_period=5, slow_step_size=0.5)",
)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_code_gives_an_optimizer_or_a_message(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        text = chance.choice(WHOLE)
        place = chance.randrange(len(text))
        if chance.random() < 0.5:
            text = text[:place] + chance.choice(PIECES) + text[place:]
        else:
            text = text[:place] + text[place + chance.randrange(1, 12) :]
        try:
            found = parse_optimizer(text, "optax")
        except SettingError as error:
            assert str(error)
            continue
        try:
            written = emit_optimizer(found, "optax")
        except NotRepresentable:
            continue
        assert parse_optimizer(written, "optax").settings() == found.settings(), text


@pytest.mark.parametrize(
    "lines",
    [
        "optax.chain(optax.clip(0.3), optax.contrib.muon(0.01, beta=0.8, weight_decay=0.1))",
        "optax.chain(optax.add_decayed_weights(0.01), optax.contrib.muon(0.01))",
        "optax.chain(optax.contrib.muon(0.01), optax.scale(0.5))",
        "optax.MultiSteps(optax.chain(optax.clip(0.3), optax.contrib.muon(0.01)), 4)",
    ],
)
def test_an_optimizer_that_only_exists_whole_keeps_its_neighbours(lines: str) -> None:
    optimizer = parse_optimizer(lines)
    assert parse_optimizer(emit_optimizer(optimizer, "optax")).settings() == optimizer.settings()
