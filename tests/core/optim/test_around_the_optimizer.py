"""What stands around an optimizer's line and changes its steps: wrappers, losses with penalties, callbacks, scales.

Right values: Keras 3.15 on TensorFlow 2.21 and PyTorch 2.13 on the same lines, or the formula beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import ParseError, emit_optimizer, parse_optimizer
from core.simulation import Experiment, ProblemSettings, Simulation


def moved(lines: str, gradient: list[float], start: list[float]) -> list[float]:
    optimizer, w = parse_optimizer(lines), Variable(np.array(start), name="w")
    ledger = optimizer.apply_gradients([(np.array(gradient) * (optimizer.loss_scale or 1.0), w)])
    found: list[float] = np.asarray(ledger[w].applied).tolist()
    return found


@pytest.mark.parametrize(
    "lines",
    [
        "opt = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(0.1), 0.5)",
        "opt = tf.train.GradientDescentOptimizer(0.1)\nopt = tf.contrib.opt.MovingAverageOptimizer(opt)",
        "opt = tf.keras.optimizers.SGD(0.1)\nopt = tfa.optimizers.SWA(opt, start_averaging=0)",
        "model.compile(optimizer=tfa.optimizers.SWA(tf.keras.optimizers.SGD(0.1)), loss='mse')",
        "opt = GradientAccumulator(tf.keras.optimizers.SGD(0.1), accum_steps=4)",
        "tx = my_wrapper(optax.sgd(0.1))",
        "tx = optax.sgd(0.1)\ntx = my_wrapper(tx)",
        "tx = optax.contrib.something(optax.sgd(0.1))",
        "optimizer = LARC(torch.optim.SGD(model.parameters(), lr=0.1))",
        "base = torch.optim.SGD(model.parameters(), lr=0.1)\noptimizer = Lookahead(base, k=5, alpha=0.5)",
    ],
)
def test_a_wrapper_that_is_not_known_is_refused_not_left_out(lines: str) -> None:
    with pytest.raises(ParseError, match=r"what it does to the steps would be missing|wraps another optimizer"):
        parse_optimizer(lines)


@pytest.mark.parametrize(
    "lines",
    [
        "opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=2)",
        "opt = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))",
        "opt = tf.keras.optimizers.SGD(0.1)\nopt = hvd.DistributedOptimizer(opt)",
    ],
)
def test_wrappers_for_several_workers_say_what_to_do(lines: str) -> None:
    with pytest.raises(ParseError, match="leave it out"):
        parse_optimizer(lines)


@pytest.mark.parametrize(
    "lines",
    [
        "tx = optax.sgd(0.1)\nstate = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)",
        "optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)",
        "tx = optax.sgd(0.1)\nupdate = jax.jit(tx.update)\nopt_state = tx.init(params)",
        "opt = tf.keras.optimizers.SGD(0.1)\ncheckpoint = tf.train.Checkpoint(optimizer=opt, model=model)",
        "opt = tf.keras.optimizers.SGD(0.1)\nmodel.compile(optimizer=opt, loss='mse')",
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nprint(optimizer)\ntrain(model, optimizer, loader)",
        "optimizer = torch.optim.SGD(p, lr=0.1)\nmodel, optimizer = accelerator.prepare(model, optimizer)",
    ],
)
def test_what_only_holds_an_optimizer_does_no_harm(lines: str) -> None:
    np.testing.assert_allclose(moved(lines, [1.0], [1.0]), [-0.1], rtol=1e-12)


TAPE = """
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = {}
    grads = tape.gradient(loss, model.trainable_variables)
    {}
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
PENALTY = "0.1 * tf.add_n([tf.nn.l2_loss(v) for v in model.trainable_variables])"


def test_a_penalty_in_the_loss_is_clipped_with_it() -> None:
    lines = TAPE.format(f"loss_fn(y, model(x)) + {PENALTY}", "grads = [tf.clip_by_norm(g, 1.0) for g in grads]")
    # (0.3, 0.4) + 0.1 * (100, 0), cut to norm 1
    right = -0.1 * np.array([10.3, 0.4]) / np.hypot(10.3, 0.4)
    np.testing.assert_allclose(moved(lines, [0.3, 0.4], [100.0, 0.0]), right, rtol=1e-9)
    recorded = [-0.09992467900396207, -0.003880570058406327]  # the rate passes through float32 there
    np.testing.assert_allclose(right, recorded, rtol=3e-8)


@pytest.mark.parametrize(
    ("lines", "factor"),
    [
        (TAPE.format(f"2.0 * (loss_fn(y, model(x)) + {PENALTY})", "pass"), 2.0),
        (
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in loader:\n    opt.zero_grad()\n"
            "    loss = criterion(model(x), y)\n    reg = sum(p.pow(2).sum() for p in model.parameters())\n"
            "    loss = (loss + 0.05 * reg) / 4\n    loss.backward()\n    opt.step()",
            0.25,
        ),
    ],
)
def test_a_factor_around_loss_and_penalty_multiplies_both(lines: str, factor: float) -> None:
    # gradient factor * ((0.3, 0.4) + 0.1 * (100, 0)); Keras moved by -2.06 and -0.08 on the first
    right = -0.1 * factor * np.array([10.3, 0.4])
    np.testing.assert_allclose(moved(lines, [0.3, 0.4], [100.0, 0.0]), right, rtol=1e-9)


def test_clips_before_and_behind_the_division_by_the_loss_scale() -> None:
    start = (
        "optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))\n"
        "with tf.GradientTape() as tape:\n    loss = loss_fn(y, model(x))\n    scaled = optimizer.{}(loss)\n"
        "grads = tape.gradient(scaled, model.trainable_variables)\n"
    )
    clip = "grads, _ = tf.clip_by_global_norm(grads, 1.0)\n"
    end = "optimizer.apply_gradients(zip(grads, model.trainable_variables))"
    unscale = "grads = optimizer.get_unscaled_gradients(grads)\n"
    behind = start.format("get_scaled_loss") + unscale + clip + end
    np.testing.assert_allclose(moved(behind, [3.0, 4.0], [0.0, 0.0]), [-0.06, -0.08], rtol=1e-9)
    before = start.format("scale_loss") + clip + end
    right = np.array([-0.06, -0.08]) / 32768.0
    np.testing.assert_allclose(moved(before, [3.0, 4.0], [0.0, 0.0]), right, rtol=1e-9)


def test_loss_weights_scale_the_one_loss_there_is() -> None:
    compiled = "model.compile(tf.keras.optimizers.SGD(0.1), loss='mse', loss_weights={})"
    # w * 1 -> 0 from w = 1: the gradient of the squared error is 2; Keras went to 0.6 with weight 2
    for given, factor in (("[2.0]", 2.0), ("0.5", 0.5), ("{'out': 3.0}", 3.0)):
        np.testing.assert_allclose(moved(compiled.format(given), [2.0], [1.0]), [-0.1 * factor * 2.0], rtol=1e-12)
    with pytest.raises(ParseError, match="give one number"):
        parse_optimizer(compiled.format("[0.5, 0.5]"))


def test_an_optimizer_named_by_a_text_in_the_first_place() -> None:
    np.testing.assert_allclose(moved("model.compile('sgd', 'mse')", [1.0], [0.0]), [-0.01], rtol=1e-12)


def test_a_setting_put_into_the_state_by_hand_is_refused() -> None:
    made = "tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)\nopt_state = tx.init(params)\n"
    with pytest.raises(ParseError, match="changed here by hand") as told:
        parse_optimizer(made + "opt_state.hyperparams['learning_rate'] = 0.5")
    assert told.value.line == 3


@pytest.mark.parametrize("name", ["mylib.optim.Unheard", "Ranger"])
def test_an_unknown_optimizer_is_named_not_its_argument(name: str) -> None:
    with pytest.raises(ParseError, match=f"line 1, column 13: {name} is not"):
        parse_optimizer(f"optimizer = {name}(model.parameters(), lr=1e-3)")


def falling(callback: str, losses: str, steps: int) -> list[float]:
    lines = f"model.compile(keras.optimizers.SGD(0.1), loss='mse')\nmodel.fit(x, y, callbacks=[{callback}])"
    simulation = Simulation(
        Experiment(problem=ProblemSettings(name="expression", expression=losses), optimizer=lines, start=[1.0])
    )
    simulation.advance(steps)
    found: list[float] = simulation.history.scalar("learning_rate")[:steps].tolist()
    return found


def test_keras_lowers_the_rate_when_patience_is_reached() -> None:
    # Keras' own callback, given the loss 1 eight times, set 0.1 0.1 0.1 0.01 0.01 0.001 0.001 0.0001
    right = [0.1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0001]
    plateau = "keras.callbacks.ReduceLROnPlateau(monitor='loss', patience=2, factor=0.1)"
    np.testing.assert_allclose(falling(plateau, "0*x + 1", 8), right, rtol=1e-12)
    floor = "ReduceLROnPlateau(patience=2, factor=0.1, min_lr=0.005, cooldown=1)"
    # by its lines: a drop, one step of cooldown that does not count, two bad ones, a drop to the floor
    np.testing.assert_allclose(falling(floor, "0*x + 1", 8), [0.1] * 3 + [0.01] * 2 + [0.005] * 3, rtol=1e-12)


def test_a_fall_of_the_loss_below_min_delta_is_none() -> None:
    # losses fall by 0.1 a step: enough beside min_delta 0.05, not beside 1
    for delta, right in ((0.05, [0.1] * 5), (1.0, [0.1, 0.1, 0.1, 0.05, 0.05])):
        plateau = f"ReduceLROnPlateau(patience=2, factor=0.5, min_delta={delta})"
        found = falling(plateau, "x", 5)
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("scheduler.step(loss)\n    loss.backward()\n    opt.step()", "comes before optimizer.step()"),
        (
            "loss.backward()\n    opt.step()\n    scheduler.step(loss)\n    scheduler.step(loss)",
            "not stepped once a step",
        ),
    ],
)
def test_a_plateau_that_is_stepped_elsewhere_is_refused(step: str, words: str) -> None:
    made: Any = (
        "opt = torch.optim.SGD(params, lr=0.1)\nscheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)\n"
        f"for x, y in loader:\n    opt.zero_grad()\n    loss = criterion(model(x), y)\n    {step}"
    )
    with pytest.raises(ParseError) as told:
        parse_optimizer(made)
    assert words in str(told.value)


MADE = "opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)\n"
TURN = MADE + "for x, y in loader:\n    opt.zero_grad()\n    loss.backward()\n    {}"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("opt.step()\n    m.weight.data.renorm_(2, 0, 1.0)", "rescaled here, beside the optimizer"),
        ("opt.step()\n    with torch.no_grad():\n        m.weight /= m.weight.norm()", "beside the optimizer"),
        ("opt.step()\n    opt.state.clear()", "averages are thrown away"),
        ("timm.utils.adaptive_clip_grad(m.parameters(), 0.01)\n    opt.step()", "adaptive_clip_grad is not known"),
    ],
)
def test_lines_that_change_the_steps_and_have_no_row_are_refused(lines: str, words: str) -> None:
    with pytest.raises(ParseError) as told:
        parse_optimizer(TURN.format(lines))
    assert words in str(told.value)


def test_an_optimizer_made_in_the_loop_has_no_memory() -> None:
    inside = f"for x in loader:\n    {MADE}    loss.backward()\n    opt.step()"
    with pytest.raises(ParseError, match="made anew in each turn of this loop"):
        parse_optimizer(inside)
    outer = (
        "for epoch in range(9):\n    opt = torch.optim.Adam(m.parameters(), lr=0.1)\n    for x in loader:\n"
        "        opt.zero_grad()\n        loss.backward()\n        opt.step()"
    )
    assert any("start again there" in remark for remark in parse_optimizer(outer).remarks)
    trials = "for lr in [0.1, 0.01]:\n" + "\n".join("    " + line for line in TURN.format("opt.step()").split("\n"))
    assert parse_optimizer(trials).remarks == (), "trials of one after another"


# a kernel ((1, 0.2), (2, -0.1)), twice the gradient ((-3, 1), (-4, -2)), SGD 0.1: Keras 3.15, float64
CONSTRAINED = {
    "MaxNorm(2.0)": [
        [[0.9525662621821777, 0.09999992928937189], [1.7585838686440203, 0.09999992928937189]],
        [[1.003788489717382, -7.071060454649208e-08], [1.7298578980241957, 0.2999998292894052]],
    ],
    "keras.constraints.UnitNorm()": [
        [[0.47628313109108883, 0.707106281186901], [0.8792919343220101, 0.707106281186901]],
        [[0.5187682067024219, 0.5562016489445595], [0.8549148577843156, 0.8310472564667767]],
    ],
    "keras.constraints.MinMaxNorm(1.0, 2.0, rate=0.5)": [
        [[1.1262831072769321, 0.4035531052381364], [2.079291890357413, 0.4035531052381364]],
        [[1.2117939905761432, 0.3764345298431708], [2.106447870195476, 0.7484628734977605]],
    ],
    "'non_neg'": [[[1.3, 0.1], [2.4, 0.1]], [[1.6, 0.0], [2.8, 0.3]]],
}


@pytest.mark.parametrize("constraint", CONSTRAINED)
def test_constraints_act_behind_each_step(constraint: str) -> None:
    optimizer = parse_optimizer(
        f"model.add(Dense(2, kernel_constraint={constraint}))\n"
        "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')"
    )
    w, b = Variable(np.array([[1.0, 0.2], [2.0, -0.1]]), name="W1"), Variable(np.array([-3.0, 0.0]), name="b1")
    for right in CONSTRAINED[constraint]:
        gradient = np.array([[-3.0, 1.0], [-4.0, -2.0]])
        ledger = optimizer.apply_gradients([(gradient, w), (np.zeros(2), b)])
        np.testing.assert_allclose(w.numpy(), right, rtol=1e-9, atol=1e-15)
        assert np.abs(ledger[w].residual).max() <= 1e-15
    assert b.numpy().tolist() == [-3.0, 0.0], "biases are left alone"


def test_constraints_of_variables_and_unknown_ones() -> None:
    lines = (
        "w = tf.Variable(w0, constraint=lambda z: tf.clip_by_value(z, 0, 1))\n"
        "opt = tf.keras.optimizers.SGD(0.1)\nopt.minimize(loss, [w])"
    )
    np.testing.assert_allclose(moved(lines, [-30.0, 4.0], [0.5, 0.1]), [0.5, -0.1], rtol=1e-12)
    for unknown in ("MyConstraint()", "lambda w: w / tf.norm(w)"):
        with pytest.raises(ParseError, match="constraint"):
            parse_optimizer(f"Dense(1, kernel_constraint={unknown})\nkeras.optimizers.SGD(0.1)")


KERAS_LOOP = """
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    {}
"""


def test_weights_that_are_clipped_behind_the_step() -> None:
    lines = KERAS_LOOP.format("for v in model.trainable_variables:\n        v.assign(tf.clip_by_value(v, -1, 1))")
    np.testing.assert_allclose(moved(lines, [30.0], [1.0]), [-2.0], rtol=1e-12)
    jax = (
        "tx = optax.sgd(0.1)\nupdates, s = tx.update(grads, s, params)\n"
        "params = optax.apply_updates(params, updates)\n"
        "params = jax.tree.map(lambda p: jnp.clip(p, -1, 1), params)"
    )
    np.testing.assert_allclose(moved(jax, [30.0], [1.0]), [-2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (KERAS_LOOP.format("model.set_weights([w * 0.5 for w in model.get_weights()])"), "beside the optimizer"),
        (KERAS_LOOP.format("optimizer.apply_gradients(zip(grads, model.trainable_variables))"), "two steps"),
        ("for x in ds:\n    o = tf.keras.optimizers.SGD(0.1)\n    o.apply_gradients(zip(g, v))", "made anew"),
        (TURN.format("opt.step()\n    for p in m.parameters():\n        p.mul_(0.99)"), "beside the optimizer"),
        (
            "loss = loss + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))\n"
            "tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
            "write them out",
        ),
    ],
)
def test_weights_changed_and_steps_taken_in_other_ways_are_refused(lines: str, words: str) -> None:
    with pytest.raises(ParseError) as told:
        parse_optimizer(lines)
    assert words in str(told.value)


@pytest.mark.parametrize(
    "behind",
    [
        "target.set_weights([0.9 * t + 0.1 * w for t, w in zip(target.get_weights(), model.get_weights())])",
        "train_loss.update_state(loss)",
    ],
)
def test_copies_and_metrics_are_not_the_weights(behind: str) -> None:
    np.testing.assert_allclose(moved(KERAS_LOOP.format(behind), [1.0], [1.0]), [-0.1], rtol=1e-12)


def test_a_schedule_that_carries_the_minus_is_the_learning_rate() -> None:
    lines = (
        "optax.chain(optax.scale_by_adam(), "
        "optax.scale_by_schedule(lambda step: -0.1 * jnp.minimum(1.0, (step + 1) / 10)))"
    )
    optimizer, w = parse_optimizer(lines), Variable(1.0, name="w")
    for rate in (0.01, 0.02, 0.03):
        ledger = optimizer.apply_gradients([(1.0, w)])
        # Adam's corrected step on a constant gradient is its sign
        assert float(ledger[w].applied) == pytest.approx(-rate, rel=1e-6)
        assert float(ledger[w].expected) == pytest.approx(-0.1), "the base rate is the largest of the schedule"
        assert ledger.learning_rate == pytest.approx(rate)
    written = emit_optimizer(optimizer, "optax")
    assert emit_optimizer(parse_optimizer(written), "optax") == written
    assert optimizer.remarks == ()


def test_a_chain_without_a_minus_goes_uphill_and_says_so() -> None:
    lines = "optax.chain(optax.scale_by_adam(), optax.scale({}))"
    np.testing.assert_allclose(moved(lines.format(0.1), [1.0], [1.0]), [0.1], rtol=1e-6)
    assert any("uphill" in remark for remark in parse_optimizer(lines.format(0.1)).remarks)
    assert parse_optimizer(lines.format(-0.1)).remarks == ()
