"""Whole training loops as people paste them: each step against what PyTorch and Keras did on the same lines."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import parse_optimizer
from core.optim.dialects import NotRepresentable, ParseError, emit_optimizer

CASES = json.loads((Path(__file__).parent / "data" / "training_loops.json").read_text(encoding="utf-8"))["cases"]
TOLERANCES = {"torch": {"rtol": 1e-9, "atol": 1e-12}, "keras": {"rtol": 3e-6, "atol": 1e-6}}
"""PyTorch ran in float64, Keras in float32."""


@pytest.mark.parametrize("case", CASES, ids=[case["name"].replace(" ", "_") for case in CASES])
def test_every_step_is_the_one_the_framework_took(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["text"])
    w = Variable(np.array(case["start"]), name="w")
    found = []
    for k in range(len(case["weights"])):
        gradient = np.array([float(g) for g in case["gradients"][k % len(case["gradients"])]])
        ledger = optimizer.apply_gradients([(gradient * (optimizer.loss_scale or 1.0), w)])
        found.append(w.numpy().tolist())
        entry = ledger[w]
        if np.isfinite(found[-1]).all() and np.isfinite(gradient).all():
            total = entry.expected + sum(row.contribution for row in entry.rows)
            bound = 64 * np.spacing(max(np.abs(entry.expected).max(), 1.0))
            assert np.abs(total - entry.applied).max() <= bound, "the rows add up to the step"
    right = np.array([[float(x) for x in weights] for weights in case["weights"]])
    np.testing.assert_allclose(found, right, equal_nan=True, **TOLERANCES[case["framework"]])


def taken(text: str, case: dict[str, Any], dialect: str = "") -> Any:
    optimizer, w = parse_optimizer(text, dialect), Variable(np.array(case["start"]), name="w")
    for k in range(4):
        gradient = np.array([float(g) for g in case["gradients"][k % len(case["gradients"])]])
        optimizer.apply_gradients([(gradient * (optimizer.loss_scale or 1.0), w)])
    return w.numpy()


@pytest.mark.parametrize("dialect", ["torch", "keras", "optax"])
def test_what_is_written_in_another_framework_takes_the_same_steps(dialect: str) -> None:
    written = 0
    for case in CASES[::3]:
        try:
            text = emit_optimizer(parse_optimizer(case["text"]), dialect)
        except NotRepresentable:
            continue
        written += 1
        np.testing.assert_allclose(taken(text, case, dialect), taken(case["text"], case), rtol=1e-6, equal_nan=True)
    assert written > 10


LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for i, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    STEP
"""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("optimizer.step()\n    optimizer.step()", "called twice"),
        (
            "if i >= 2:\n        for p in model.parameters():\n            p.grad.zero_()\n    optimizer.step()",
            "from step 2",
        ),
        ("p.grad.add_(torch.randn(2))\n    optimizer.step()", "no row"),
        ("if False:\n        optimizer.step()\n    if i < 0:\n        optimizer.step()", "never reached"),
        ("for g in optimizer.param_groups:\n        g['lr'] = f(i)\n    optimizer.step()", "cannot be worked out"),
        (
            "n = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5\n    for p in model.parameters():\n"
            "        p.grad.mul_(1.0 / (n + 1e-6))\n    optimizer.step()",
            "short ones are lengthened",
        ),
        (
            "n = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5\n    if n > 1.0:\n"
            "        for p in model.parameters():\n            p.grad.mul_(1.0 / (n + 1e-3))\n    optimizer.step()",
            "1e-6 as PyTorch",
        ),
        (
            "n = sum(p.grad.abs() for p in model.parameters())\n    for p in model.parameters():\n"
            "        p.grad.detach().mul_(min(1.0, 1.0 / n))\n    optimizer.step()",
            "no row",
        ),
    ],
)
def test_what_cannot_be_reproduced_is_refused_with_its_place(lines: str, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        parse_optimizer(LOOP.replace("STEP", lines))
    assert caught.value.line > 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LOOP.replace("STEP", "optimizer.step()\n    clip_grad_norm_(model.parameters(), 1.0)"), "changes nothing"),
        (LOOP.replace("STEP", "optimizer.zero_grad()\n    optimizer.step()"), "thrown away"),
        (LOOP.replace("    optimizer.zero_grad()\n", "").replace("STEP", "optimizer.step()"), "no zero_grad"),
        (
            LOOP.replace("\nfor", "\ns = StepLR(optimizer, 5)\nfor", 1).replace("STEP", "optimizer.step()"),
            "never called",
        ),
        (
            "step = tf.Variable(0)\nrate = tf.train.exponential_decay(0.1, step, 10, 0.5)\n"
            "tf.train.GradientDescentOptimizer(rate).minimize(loss)",
            "not given the global_step",
        ),
    ],
)
def test_remarks_say_what_a_reader_should_know(text: str, words: str) -> None:
    assert any(words in remark for remark in parse_optimizer(text).remarks)


def test_a_clip_that_comes_too_late_is_there_but_off() -> None:
    text = LOOP.replace("STEP", "optimizer.step()\n    clip_grad_norm_(model.parameters(), 1.0)")
    assert not parse_optimizer(text).transform("clip_by_global_norm").enabled
    text = LOOP.replace("STEP", "clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()")
    assert parse_optimizer(text).transform("clip_by_global_norm").enabled
    assert parse_optimizer(text).remarks == ()


def deltas(text: str, gradients: list[float], start: float = 0.0) -> list[float]:
    optimizer, w = parse_optimizer(text), Variable(start, name="w")
    return [float(optimizer.apply_gradients([(g, w)])[w].applied) for g in gradients]


@pytest.mark.parametrize(
    "text",
    [
        "learning_rate = 0.1\nw.assign_sub(learning_rate * dw)",
        "with torch.no_grad():\n    w -= 0.1 * w.grad",
        "lr = 0.1\nfor f in net.parameters():\n    f.data.sub_(f.grad.data * lr)",
        "for p in model.parameters():\n    p.data.add_(p.grad.data, alpha=-0.1)",
        "grads = jax.grad(loss)(params)\nparams = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)",
        "step_size = 0.1\n"
        "params = [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]",
        "lr = 0.1\nfor i in range(9):\n    dw = X.T @ (X @ w - y)\n    w = w - lr * dw",
    ],
)
def test_updates_written_by_hand_are_gradient_descent(text: str) -> None:
    assert deltas(text, [2.0, -1.0], 1.0) == pytest.approx([-0.2, 0.1])


def test_rates_that_keras_code_works_out_itself() -> None:
    """LearningRateScheduler of the Keras documentation; the decay argument of Keras 2 (keras-team/keras#2808)."""
    text = (
        "def scheduler(epoch, lr):\n    if epoch < 3:\n        return lr\n    else:\n"
        "        return lr * tf.math.exp(-0.1)\n"
        "callback = tf.keras.callbacks.LearningRateScheduler(scheduler)\n"
        "model.compile(tf.keras.optimizers.SGD(0.1), loss='mse')\n"
    )
    falling = [-0.1, -0.1, -0.1, -0.1 * np.exp(-0.1), -0.1 * np.exp(-0.2)]
    assert deltas(text, [1.0] * 5) == pytest.approx(falling)
    compiled = "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')\n"
    for line in (
        "model.optimizer.learning_rate = 0.01",
        "model.optimizer.learning_rate.assign(0.01)",
        "K.set_value(model.optimizer.lr, 0.01)",
    ):
        assert deltas(compiled + line, [1.0]) == pytest.approx([-0.01])
    legacy = "sgd = SGD(lr=0.1, decay=1e-2, momentum=0.0, nesterov=False)\nmodel.compile(optimizer=sgd)"
    assert deltas(legacy, [1.0] * 3) == pytest.approx([-0.1, -0.1 / 1.01, -0.1 / 1.02])


def test_penalties_inside_a_loss_function_and_in_jax() -> None:
    torch = (
        "def compute_loss(model, x, y):\n    out = model(x)\n    loss = F.mse_loss(out, y)\n"
        "    l2 = sum(p.pow(2.0).sum() for p in model.parameters())\n    return loss + 0.05 * l2\n"
        + LOOP.replace("criterion(model(x), y)", "compute_loss(model, x, y)").replace(", momentum=0.9", "")
    ).replace("STEP", "optimizer.step()")
    jax = (
        "def loss_fn(params, x):\n    l2 = sum(jnp.sum(jnp.square(p)) for p in jax.tree.leaves(params))\n"
        "    return jnp.mean(x) + 0.05 * l2\nopt = optax.sgd(0.1)\ngrads = jax.grad(loss_fn)(params, x)\n"
        "updates, state = opt.update(grads, state)\n"
    )
    tf1 = (
        "loss = tf.reduce_mean(e) + 0.1 * tf.nn.l2_loss(weights)\ntf.train.GradientDescentOptimizer(0.1).minimize(loss)"
    )
    for text in (torch, jax, tf1):  # g + 2 * 0.05 * w, or g + 0.1 * w with the half of l2_loss
        assert deltas(text, [1.0], 3.0) == pytest.approx([-0.1 * (1.0 + 0.1 * 3.0)])


@pytest.mark.parametrize(
    ("lines", "applied"),
    [  # a weight of 3, a gradient of 1 and lr 0.1: what belongs to the loss itself changes nothing
        ("loss = 0.5 * ((model(x) - y) ** 2).mean()", -0.1),
        ("loss = (w ** 2).sum()", -0.1),
        ("loss = 2 * w", -0.1),
        ("loss = torch.mean((model(x) - y) ** 2) * 0.5", -0.1),
        ("loss = ((model(x) - y) ** 2).mean()\n    loss = loss / 4", -0.025),
        ("loss = 4 * criterion(model(x), y)", -0.4),
        ("loss = 0.5 * F.mse_loss(model(x), y) + 0.1 * w.abs().sum()", -0.1 * (0.5 + 0.1)),
        ("loss = nll + 0.1 * torch.norm(w) ** 2", -0.1 * (1 + 0.2 * 3)),
    ],
)
def test_a_factor_of_a_loss_is_not_the_half_inside_its_definition(lines: str, applied: float) -> None:
    text = LOOP.replace("loss = criterion(model(x), y)", lines).replace("STEP", "optimizer.step()")
    assert deltas(text, [1.0], 3.0) == pytest.approx([applied])


def test_penalties_that_spare_the_biases() -> None:
    penalty = "sum(p.pow(2).sum() for n, p in model.named_parameters() if 'bias' not in n)"
    text = LOOP.replace("criterion(model(x), y)", f"criterion(model(x), y) + 0.5 * {penalty}")
    optimizer = parse_optimizer(text.replace("STEP", "optimizer.step()"))
    weight, bias = Variable(3.0, name="weight"), Variable(3.0, name="bias")
    ledger = optimizer.apply_gradients([(1.0, weight), (1.0, bias)])
    assert [ledger[weight].applied, ledger[bias].applied] == pytest.approx([-0.4, -0.1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model.half()\ntorch.optim.SGD(model.parameters(), lr=0.1)", "float16"),
        ("model.to(torch.bfloat16)\ntorch.optim.SGD(model.parameters(), lr=0.1)", "bfloat16"),
        ("for p in m.parameters():\n    p.requires_grad = False\ntorch.optim.SGD(q, lr=0.1)", "freezes"),
    ],
)
def test_lines_beside_the_optimizer_get_a_remark(text: str, words: str) -> None:
    assert any(words in remark for remark in parse_optimizer(text).remarks)


NANO = """
learning_rate = 6e-4
warmup, decay, min_lr = 10, 100, 6e-5
def get_lr(it):
    \"\"\"Warm-up, then cosine.\"\"\"
    if it < warmup:
        return learning_rate * (it + 1) / (warmup + 1)
    if it > decay:
        return min_lr
    ratio = (it - warmup) / (decay - warmup)
    assert 0 <= ratio <= 1
    coeff = 0.5 * (1.0 + math.cos(math.pi * ratio))
    return min_lr + coeff * (learning_rate - min_lr)
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
step = 0
while True:
    lr = get_lr(step) if use_decay else learning_rate
    for group in optimizer.param_groups:
        group['lr'] = lr
    for micro in range(2):
        logits, loss = model(x, y)
        loss = loss / 2
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    step += 1
"""


def test_a_warm_up_written_as_a_function_with_micro_batches() -> None:
    """The way of github.com/karpathy/nanoGPT: half of two gradients of 1 each, and get_lr of the step."""
    found = deltas(NANO.replace("use_decay", "True"), [1.0] * 24)
    assert found[::2] == [0.0] * 12
    warm = [6e-4 * (k + 1) / 11 for k in range(10)]
    falling = [6e-5 + 0.5 * (1 + np.cos(np.pi * (k - 10) / 90)) * (6e-4 - 6e-5) for k in (10, 11)]
    assert found[1::2] == pytest.approx([-rate for rate in (*warm, *falling)])


def test_rates_that_fall_in_updates_written_by_hand() -> None:
    """The demonstration of github.com/karpathy/micrograd."""
    text = (
        "for k in range(100):\n    total_loss, acc = loss()\n    model.zero_grad()\n    total_loss.backward()\n"
        "    learning_rate = 1.0 - 0.9*k/100\n    for p in model.parameters():\n"
        "        p.data -= learning_rate * p.grad"
    )
    assert deltas(text, [1.0] * 3) == pytest.approx([-1.0, -0.991, -0.982])
    text = "for k in range(9):\n    p.grad = 0\n    loss.backward()\n    p.data += -0.05 * p.grad"
    assert deltas(text, [2.0, 2.0]) == pytest.approx([-0.1, -0.1])


def test_clips_in_functions_and_in_lists_changed_in_place() -> None:
    """More answers of stackoverflow.com/questions/36498127 and 40540303."""
    function = (
        "def clip_if(grad):\n    if grad is None:\n        return grad\n    return tf.clip_by_value(grad, -1, 1)\n"
        "optimizer = tf.train.GradientDescentOptimizer(0.1)\ngvs = optimizer.compute_gradients(cost)\n"
        "capped = [(clip_if(grad), var) for grad, var in gvs]\noptimizer.apply_gradients(capped)"
    )
    place = (
        "opt = tf.train.GradientDescentOptimizer(0.1)\ngradients = opt.compute_gradients(loss)\n"
        "for i, (grad, var) in enumerate(gradients):\n    if grad is not None:\n"
        "        gradients[i] = (tf.clip_by_norm(grad, 1), var)\nopt.apply_gradients(gradients)"
    )
    for text in (function, place):
        assert deltas(text, [5.0, 0.5]) == pytest.approx([-0.1, -0.05])
    unused = "grads = tape.gradient(loss, ws)\nclipped = [tf.clip_by_norm(g, 1.0) for g in grads]\n"
    unused += "tf.keras.optimizers.SGD(0.1).apply_gradients(zip(grads, ws))"
    assert deltas(unused, [5.0]) == pytest.approx([-0.5])


def test_weights_changed_beside_the_optimizer_are_refused() -> None:
    with pytest.raises(ParseError, match="beside the optimizer"):
        parse_optimizer(LOOP.replace("STEP", "optimizer.step()\n    p.data.mul_(0.99)"))
    parse_optimizer(LOOP.replace("STEP", "optimizer.step()\n    ema_p.data.mul_(0.99).add_(p.data, alpha=0.01)"))


def test_sums_of_any_length_and_lone_signs_are_read() -> None:
    text = LOOP.replace("criterion(model(x), y)", "+criterion(model(x), y)").replace("STEP", "optimizer.step()")
    assert deltas(text, [1.0]) == pytest.approx([-0.1])
    long = LOOP.replace("criterion(model(x), y)", " + ".join(["loss_a"] * 5000)).replace("STEP", "optimizer.step()")
    with contextlib.suppress(ParseError):
        parse_optimizer(long)


def test_torn_loops_are_read_or_refused_but_never_break() -> None:
    random = np.random.default_rng(5)
    for case in CASES[::3]:
        lines = case["text"].splitlines()
        keep = random.random(len(lines)) > 0.2
        torn = "\n".join(line for line, kept in zip(lines, keep, strict=True) if kept)
        with contextlib.suppress(SettingError):
            parse_optimizer(torn)


def test_the_recipe_that_clips_in_tensorflow_one() -> None:
    """The answer everybody copies (stackoverflow.com/questions/36498127), in both of its forms."""
    pairs = (
        "optimizer = tf.train.GradientDescentOptimizer(0.1)\ngvs = optimizer.compute_gradients(cost)\n"
        "capped = [(tf.clip_by_value(grad, -1., 1.), var) for grad, var in gvs]\noptimizer.apply_gradients(capped)"
    )
    unzipped = (
        "optimizer = tf.train.GradientDescentOptimizer(0.1)\n"
        "gradients, variables = zip(*optimizer.compute_gradients(loss))\n"
        "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"
        "optimize = optimizer.apply_gradients(zip(gradients, variables))"
    )
    for text in (pairs, unzipped):
        assert deltas(text, [5.0, 0.5]) == pytest.approx([-0.1, -0.05])


def test_trainers_clip_and_accumulate_around_the_step() -> None:
    lightning = (
        "opt = torch.optim.SGD(self.parameters(), lr=0.1)\n"
        "trainer = pl.Trainer(gradient_clip_val=0.5, accumulate_grad_batches=2)"
    )
    assert deltas(lightning, [1.0, 3.0]) == pytest.approx([0.0, -0.1 * 0.5], rel=1e-5)
    with pytest.raises(ParseError, match=r"torch.optim.AdamW\(params, lr=2e-05"):
        parse_optimizer("args = TrainingArguments('out', learning_rate=2e-5)")


def test_steps_refused_by_the_scaler_move_the_schedule_where_the_loop_says_so() -> None:
    """github.com/huggingface/transformers/issues/11106: scheduler.step() runs on while the scaler skips steps."""
    text = (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)\nscaler = torch.amp.GradScaler()\n"
        "for x, y in loader:\n    optimizer.zero_grad()\n    scaler.scale(criterion(model(x), y)).backward()\n"
        "    scaler.step(optimizer)\n    scaler.update()\n    ADVANCE"
    )
    careful = "if scaler.get_scale() >= before:\n        scheduler.step()"
    for line, applied in (("scheduler.step()", -0.05), (careful, -0.2)):
        optimizer, w = parse_optimizer(text.replace("ADVANCE", line)), Variable(1.0, name="w")
        for gradient in (np.inf, np.inf):
            optimizer.apply_gradients([(gradient, w)])
        ledger = optimizer.apply_gradients([(2.0 * (optimizer.loss_scale or 1.0), w)])
        assert ledger[w].applied == pytest.approx(applied)


def test_fractions_of_an_epoch_need_its_length() -> None:
    text = "s = CosineAnnealingWarmRestarts(optimizer, 2)\niters = 4\nfor epoch in range(9):\n  for"
    text = LOOP.replace("for", text, 1).replace("    ", "    " * 2).replace("STEP", "optimizer.step()\n        STEP")
    taken = parse_optimizer(text.replace("STEP", "s.step(epoch + i / iters)")).chain.rate
    # the step before the first s.step() and the one after s.step(0): both at the start; then a quarter of an epoch
    quarter = 0.1 * (1 + np.cos(np.pi * 0.25 / 2)) / 2
    assert taken is not None and [taken.rate(k) for k in range(3)] == pytest.approx([0.1, 0.1, quarter])
    with pytest.raises(ParseError, match="how many batches"):
        parse_optimizer(text.replace("STEP", "s.step(epoch + i / length)"))
    with pytest.raises(ParseError, match="how many batches"):
        other = text.replace("CosineAnnealingWarmRestarts(optimizer, 2)", "StepLR(optimizer, 2)")
        parse_optimizer(other.replace("STEP", "s.step(epoch + i / iters)"))


SUMS = """
sums = [tf.zeros_like(v) for v in model.trainable_variables]
for step, (x, y) in enumerate(dataset):
    grads = tape.gradient(loss, model.trainable_variables)
    sums = [a + g for a, g in zip(sums, grads)]
    if (step + 1) % 2 == 0:
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
"""


def test_sums_that_never_start_over_grow() -> None:
    """Without the zeros each step is lr times the sum of all gradients so far: 0.1 · 2, then 0.1 · 4."""
    assert deltas(f"optimizer = tf.keras.optimizers.SGD(0.1){SUMS}", [1.0] * 4) == pytest.approx([0, -0.2, 0, -0.4])


def test_sums_applied_at_uneven_times_are_refused() -> None:
    text = SUMS.replace("(step + 1) % 2 == 0", "step % 5 in (1, 3)")
    with pytest.raises(ParseError, match="uneven times"):
        parse_optimizer(f"optimizer = tf.keras.optimizers.SGD(0.1){text}")


def test_a_clip_that_a_counter_switches_on_is_told_and_never_written_as_one_that_always_acts() -> None:
    text = LOOP.replace("STEP", "if i > 30000:\n        clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()")
    optimizer = parse_optimizer(text)
    assert optimizer.transform("timed_clip_by_global_norm").enabled
    assert "none of the first" in optimizer.remarks[0]
    for dialect in ("torch", "keras", "tf1", "optax"):
        with pytest.raises(NotRepresentable):
            emit_optimizer(optimizer, dialect)


def test_collecting_more_batches_later_says_where_to_change_it_live() -> None:
    """i = 0 .. 99 give 50 steps of 2 batches each, then i = 103 is the next that 4 divides."""
    text = (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor i, x in enumerate(batches):\n"
        "    loss = f(x)\n    loss.backward()\n    n = 2 if i < 100 else 4\n    if (i + 1) % n == 0:\n"
        "        optimizer.step()\n        optimizer.zero_grad()"
    )
    with pytest.raises(ParseError, match=r"from step 50 on 4 batches.*when 100 batches are taken"):
        parse_optimizer(text)
