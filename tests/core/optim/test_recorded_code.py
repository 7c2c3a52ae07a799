"""TensorFlow and JAX code as people write it takes the steps that the frameworks took (recorded tables in data/)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import ParseError, parse_optimizer

DATA = Path(__file__).parent / "data"
TENSORFLOW: dict[str, Any] = json.loads((DATA / "tensorflow_code.json").read_text(encoding="utf-8"))
JAX: dict[str, Any] = json.loads((DATA / "jax_code.json").read_text(encoding="utf-8"))


def check(text: str, start: list[Any], gradients: list[Any], weights: list[Any], within: float) -> None:
    names = ("dense/kernel", "dense/bias")
    variables = [Variable(np.array(value), name=name) for value, name in zip(start, names, strict=True)]
    optimizer = parse_optimizer(text)
    for k, (given, expected) in enumerate(zip(gradients, weights, strict=False)):
        optimizer.apply_gradients([(np.array(g), v) for g, v in zip(given, variables, strict=True)])
        for variable, value in zip(variables, expected, strict=True):
            np.testing.assert_allclose(variable.numpy(), value, rtol=within, atol=within, err_msg=f"step {k + 1}")


@pytest.mark.parametrize("case", TENSORFLOW["cases"], ids=lambda case: case["name"])
def test_tensorflow_code(case: dict[str, Any]) -> None:
    check(case["text"], case["start"], TENSORFLOW["gradients"][case["gradients"]], case["weights"], 1e-5)


@pytest.mark.parametrize("case", JAX["cases"], ids=lambda case: case["name"])
def test_jax_code(case: dict[str, Any]) -> None:
    check(case["text"], JAX["start"], JAX["gradients"], case["weights"], 1e-7)


TAPE = """
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    {}
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
UPDATE = """
tx = optax.sgd(0.1)
grads = jax.grad(loss)(params)
{}
updates, opt_state = tx.update(grads, opt_state, params)
params = optax.apply_updates(params, updates)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TAPE.format("grads = process(grads)"), "what process does to the gradients is not in the text"),
        (TAPE.format("grads = agc(model.trainable_variables, grads)"), "what agc does to the gradients"),
        (TAPE.format("grads = [g + tf.random.normal(g.shape) for g in grads]"), "has no row"),
        (TAPE.format("grads = [g / tf.norm(g) for g in grads]"), "short ones are lengthened"),
        (TAPE.format("grads = [g for g in grads if mine(g)]"), "only some of the gradients"),
        (TAPE.format("if step > 100:\n        grads = [tf.clip_by_norm(g, 1.0) for g in grads]"), "only in some steps"),
        (TAPE.format("for i, g in enumerate(grads):\n        grads[i] = g * 0.5"), "one by one"),
        (UPDATE.format("grads['w'] = jnp.clip(grads['w'], -1, 1)"), "one by one"),
        (UPDATE.format("grads = process(grads)"), "what process does to the gradients is not in the text"),
        (UPDATE.format("grads = jax.tree.map(jnp.nan_to_num, grads)"), "write a lambda"),
        (UPDATE.format("grads = jax.lax.psum(grads, 'batch')"), "how many there are is not in the text"),
        (UPDATE.format("grads = jax.tree.map(lambda a, g: a + g, total, grads)"), "optax.MultiSteps"),
        (
            UPDATE.format(
                "norm = optax.global_norm(grads)\n"
                "grads = jax.tree.map(lambda g: jnp.clip(g, -1, 1), grads)\n"
                "grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1 / norm), grads)"
            ),
            "not those whose norm was taken",
        ),
        ("tfa.optimizers.SWA(tf.keras.optimizers.SGD(0.1))", "tfa.optimizers.SWA"),
        ("tfa.optimizers.Yogi(0.01)", "starts from other numbers"),
        ("tfa.optimizers.RectifiedAdam(0.01, total_steps=10)", "warm-up"),
        ("tf.contrib.opt.NadamOptimizer(0.01)", "AdamWOptimizer"),
        ("optimizer = flax.optim.Adam(0.1)", "flax"),
        ("keras.optimizers.SGD(learning_rate=tf.Variable(0.1) * 2)", "cannot be worked out"),
        (
            "lr = tf.placeholder(tf.float32)\ntf.train.AdamOptimizer(lr).minimize(loss)",
            "says what is fed into it",
        ),
        (
            "lr = tf.Variable(0.1, trainable=False)\nopt = tf.train.AdamOptimizer(lr)\ntf.assign(lr, 0.01)",
            "a variable that is assigned to here",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        parse_optimizer(text)


def test_fed_rates_are_those_of_the_loop() -> None:
    text = (
        "lr = tf.placeholder(tf.float32, [])\n"
        "train = tf.train.GradientDescentOptimizer(lr).minimize(loss)\n"
        "for i in range(100):\n"
        "    rate = 0.1 * 0.5 ** (i // 3)\n"
        "    sess.run(train, feed_dict={x: batch, lr: rate})\n"
    )
    rate = parse_optimizer(text).chain.rate
    assert rate is not None
    assert [rate.rate(k) for k in range(7)] == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025])


CALLBACK = """
class Warmup(keras.callbacks.Callback):
    def __init__(self, peak, steps):
        super().__init__()
        self.peak, self.steps = peak, steps
        self.taken = 0
    def {}(self, number, logs=None):
        self.taken += 1
        {}
model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')
model.fit(x, y, callbacks=[Warmup(0.4, 4)])
"""


@pytest.mark.parametrize(
    ("method", "line", "expected"),
    [
        (
            "on_train_batch_begin",
            "self.model.optimizer.learning_rate.assign(self.peak * min(1.0, self.taken / self.steps))",
            [0.1, 0.2, 0.3, 0.4, 0.4],
        ),
        (
            "on_batch_end",
            "K.set_value(self.model.optimizer.lr, K.get_value(self.model.optimizer.lr) * 0.5)",
            [0.1, 0.05, 0.025, 0.0125],
        ),
        ("on_epoch_begin", "self.model.optimizer.learning_rate = 0.1 / (1 + number)", [0.1, 0.05, 0.1 / 3]),
    ],
)
def test_a_callback_of_one_s_own_sets_the_rate(method: str, line: str, expected: list[float]) -> None:
    optimizer = parse_optimizer(CALLBACK.format(method, line))
    rate = optimizer.chain.rate
    assert rate is not None
    assert [rate.rate(k) for k in range(len(expected))] == pytest.approx(expected)
    assert bool(optimizer.remarks) is method.startswith("on_epoch")


def test_updates_by_hand_keep_what_is_done_to_the_gradients() -> None:
    clipped = "grads = jax.tree.map(lambda g: jnp.clip(g, -1, 1), jax.grad(loss)(params))\n"
    update = "params = jax.tree.map(lambda p, g: p - 0.1 * g, params, {})"
    assert parse_optimizer(clipped + update.format("grads")).chain.row_names[1:3] == ("clip_by_value", "learning_rate")
    with pytest.raises(ParseError, match="cannot be told"):
        parse_optimizer(clipped + "v = jax.tree.map(lambda v, g: 0.9 * v + g, v, grads)\n" + update.format("v"))


def test_penalties_of_layers_need_their_place_in_a_tape_s_loss() -> None:
    layer = "model = keras.Sequential([keras.layers.Dense(1, kernel_regularizer='l2')])\n"
    with_them = parse_optimizer(layer + TAPE.format("pass").replace("model(x))", "model(x)) + sum(model.losses)"))
    without = parse_optimizer(layer + TAPE.format("pass"))
    assert "l2" in with_them.chain.row_names and "l2" not in without.chain.row_names
    assert without.remarks and "model.losses" in without.remarks[0]


@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [("", 1, [0.1, 0.1, 0.05, 0.05]), (", steps_per_epoch=3", 3, [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05])],
)
def test_a_callback_sets_the_rate_once_an_epoch(name: str, steps: int, expected: list[float]) -> None:
    text = (
        "def schedule(epoch):\n"
        "    lr = 0.1\n"
        "    if epoch > 1:\n"
        "        lr *= 0.5\n"
        "    print('rate', lr)\n"
        "    return lr\n"
        "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')\n"
        f"model.fit(x, y{name}, callbacks=[keras.callbacks.LearningRateScheduler(schedule)])\n"
    )
    optimizer = parse_optimizer(text)
    rate = optimizer.chain.rate
    assert rate is not None
    assert [rate.rate(k) for k in range(len(expected))] == pytest.approx(expected)
    assert bool(optimizer.remarks) is (steps == 1)


MADE = (
    "def make_optimizer(name, rate, decay=0.1):\n"
    "    if name == 'adam':\n"
    "        return {adam}\n"
    "    return {sgd}\n"
    "{made} = make_optimizer('adam', 0.01)\n"
)


@pytest.mark.parametrize(
    ("adam", "sgd", "plain"),
    [
        (
            "optax.chain(optax.clip(1.0), optax.adamw(rate, weight_decay=decay))",
            "optax.sgd(rate)",
            "optax.chain(optax.clip(1.0), optax.adamw(0.01, weight_decay=0.1))",
        ),
        (
            "keras.optimizers.AdamW(rate, weight_decay=decay)",
            "keras.optimizers.SGD(rate)",
            "keras.optimizers.AdamW(0.01, weight_decay=0.1)",
        ),
        ("tf.train.AdamOptimizer(rate)", "tf.train.GradientDescentOptimizer(rate)", "tf.train.AdamOptimizer(0.01)"),
    ],
)
def test_functions_that_make_optimizers_are_followed(adam: str, sgd: str, plain: str) -> None:
    optimizer = parse_optimizer(MADE.format(adam=adam, sgd=sgd, made="opt"))
    assert optimizer.settings() == parse_optimizer(plain).settings()


def test_lists_of_transformations_grow_by_append() -> None:
    text = "parts = []\nparts.append(optax.clip(1.0))\nparts.append(optax.adam(0.01))\ntx = optax.chain(*parts)"
    assert (
        parse_optimizer(text).settings() == parse_optimizer("optax.chain(optax.clip(1.0), optax.adam(0.01))").settings()
    )


def test_a_function_mapped_over_gradients_is_read() -> None:
    text = TAPE.format("grads = list(map(lambda g: tf.clip_by_norm(g, 0.5), grads))")
    assert "clip_by_norm" in parse_optimizer(text).chain.row_names


def test_bounds_of_weights_are_no_clips_of_gradients() -> None:
    text = (
        "optimizer = tf.keras.optimizers.RMSprop(5e-5)\n"
        "optimizer.apply_gradients(zip(grads, critic.trainable_variables))\n"
        "for w in critic.trainable_variables:\n"
        "    w.assign(tf.clip_by_value(w, -0.01, 0.01))\n"
    )
    names = parse_optimizer(text).chain.row_names
    assert "clip_weights" in names and "clip_by_value" not in names
