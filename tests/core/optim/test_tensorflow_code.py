"""Reading and writing Keras and TF1 code: what training loops look like, what is refused, and other dialects' lines."""

from __future__ import annotations

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import NotRepresentable, Optimizer, ParseError, emit_optimizer, parse_optimizer
from core.optim.transforms.clip import ClipByNorm, ClipByValue
from tests.core.optim.reference_problems import assert_closes, problem_of


def rows(text: str) -> tuple[str, ...]:
    """The rows of the optimizer without mask and rounding."""
    return parse_optimizer(text).chain.row_names[1:-1]


ADAM = ("first_moment", "bias_correction_1", "second_moment", "bias_correction_2", "learning_rate")


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("tf.keras.optimizers.Adam(1e-3)", "keras", ADAM),
        ("from tensorflow.keras.optimizers import Adam\nopt = Adam(0.01)", "keras", ADAM),
        ("import keras\nopt = keras.optimizers.Adam()", "keras", ADAM),
        ("Adam(learning_rate=0.001)", "keras", ADAM),
        ("model.compile(optimizer='adam', loss='mse')", "keras", ADAM),
        ("tf.keras.optimizers.get('rmsprop')", "keras", ("second_moment", "learning_rate")),
        ("AdamOptimizer(0.01)", "tf1", ADAM),
        ("tf.train.AdamOptimizer(0.01)", "tf1", ADAM),
        ("import tensorflow.compat.v1 as tf\nopt = tf.train.AdamOptimizer(0.01)", "tf1", ADAM),
        (
            "grads = tape.gradient(loss, variables)\n"
            "grads, norm = tf.clip_by_global_norm(grads, 5.0)\n"
            "opt = tf.keras.optimizers.Adam(1e-3)\n"
            "opt.apply_gradients(zip(grads, variables))",
            "keras",
            ("clip_by_global_norm", *ADAM),
        ),
        (
            "optimizer = tf.train.GradientDescentOptimizer(0.1)\n"
            "gvs = optimizer.compute_gradients(loss)\n"
            "capped = [(tf.clip_by_value(grad, -1., 1.), var) for grad, var in gvs]\n"
            "train_op = optimizer.apply_gradients(capped)",
            "tf1",
            ("clip_by_value", "learning_rate"),
        ),
        (
            "probability = tf.clip_by_value(y_pred, 1e-7, 1 - 1e-7)\nopt = tf.keras.optimizers.SGD(0.1)",
            "keras",
            ("learning_rate",),
        ),
        (
            "opt = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)\n"
            "ema = tf.compat.v1.train.ExponentialMovingAverage(0.99)",
            "tf1",
            ("momentum", "learning_rate", "weight_average"),
        ),
        (
            'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'
            "model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss='mse')",
            "keras",
            ("loss_scale", "finite_guard", "learning_rate"),
        ),
        (
            "keras.regularizers.L1L2(l1=0.1, l2=0.01)\nkeras.optimizers.SGD(0.1)",
            "keras",
            ("l1", "l2", "learning_rate"),
        ),
    ],
)
def test_lines_of_training_loops(text: str, dialect: str, expected: tuple[str, ...]) -> None:
    optimizer = parse_optimizer(text)
    assert optimizer.dialect == dialect
    assert optimizer.chain.row_names[1:-1] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keras.optimizers.Adm(0.1)", "line 1, column 1.*did you mean Adam"),
        (
            "keras.optimizers.Adam(\n    0.1,\n    beta1=0.9)",
            "line 3, column 5.*no argument 'beta1'; did you mean 'beta_1'",
        ),
        ("keras.optimizers.Adam('0.1')", "line 1, column 23.*learning_rate must be a number"),
        ("keras.optimizers.SGD(0.1, clipnorm=1.0, clipvalue=1.0)", "only one of clipnorm, clipvalue"),
        ("keras.optimizers.SGD(0.1, momentum=1.5)", "momentum must be between 0 and 1"),
        ("keras.optimizers.SGD(0.1, gradient_accumulation_steps=1)", "must be at least 2"),
        ("keras.optimizers.SGD(0.1, decay=1e-6)", "Keras 3 ignores decay.*InverseTimeDecay"),
        ("keras.optimizers.SGD(learning_rate=lambda: next_rate())", "cannot be worked out"),
        ("keras.optimizers.SGD(keras.optimizers.schedules.CosinDecay(0.1, 10))", "did you mean CosineDecay"),
        ("keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 0))", "decay_steps must be greater than 0"),
        ("keras.optimizers.LossScaleOptimizer(inner)", "'inner = keras.optimizers.SGD\\(\\)' is missing"),
        (
            "keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2, gradient_accumulation_steps=2)",
            "Leave one",
        ),
        ("keras.optimizers.SGD(0.1, ema_momentum=2.0, use_ema=True)", "ema_momentum must be at most 1"),
        ("model.compile(optimizer='adm')", "did you mean 'adam'"),
        ("tf.compat.v1.train.AdamOptimiser(0.1)", "did you mean AdamOptimizer"),
        ("tf.compat.v1.train.MomentumOptimizer(0.1)", "needs momentum"),
        ("tf.compat.v1.train.AdagradOptimizer(0.1, 0.0)", "must be positive"),
        ("tf.clip_by_norm(1.0)\ntf.compat.v1.train.GradientDescentOptimizer(0.1)", "needs clip_norm"),
        (
            "tf.compat.v1.train.GradientDescentOptimizer(tf.compat.v1.train.exponentialdecay(0.1, s, 1, 2))",
            "did you mean",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError, match="(?s)" + message):
        parse_optimizer(text)


def test_old_decay_argument_is_inverse_time_decay() -> None:
    """LR-01: lr0 = 0.1, decay = 1e-6, the last of 3000 updates has 0.1 / 1.002999."""
    optimizer = parse_optimizer("tf.keras.optimizers.legacy.SGD(learning_rate=0.1, decay=1e-6)")
    rate = optimizer.chain.rate
    assert rate is not None
    assert rate.rate(0) == 0.1
    assert rate.rate(1000) == pytest.approx(0.0999000999, rel=1e-9)
    assert rate.rate(2999) == pytest.approx(0.1 / 1.002999, rel=1e-12)


def test_rate_set_after_construction() -> None:
    assert parse_optimizer("opt = keras.optimizers.SGD(0.1)\nopt.learning_rate = 0.05").learning_rate == 0.05
    assert parse_optimizer("opt = keras.optimizers.SGD(0.1)\nopt.learning_rate.assign(0.05)").learning_rate == 0.05


def test_clip_bounds_and_axes() -> None:
    text = "tf.clip_by_value(g, -0.5, 1.5)\ntf.clip_by_norm(g, 2.0, axes=[0])\n{}.GradientDescentOptimizer(0.1)"
    by_value, by_norm = parse_optimizer(text.format("tf.compat.v1.train")).chain.transforms[1:3]
    assert isinstance(by_value, ClipByValue) and (by_value.least, by_value.clip_value) == (-0.5, 1.5)
    assert isinstance(by_norm, ClipByNorm) and by_norm.over == (0,)


def test_clipnorm_is_for_each_variable_and_global_clipnorm_for_all() -> None:
    """CLIP-01: gradients [3, 4] and [0, 12], threshold 6.5, rate 1."""
    steps = {}
    for option in ("clipnorm", "global_clipnorm"):
        a, b = Variable(np.zeros(2), name="a"), Variable(np.zeros(2), name="b")
        optimizer = parse_optimizer(f"keras.optimizers.SGD(1.0, {option}=6.5)")
        optimizer.apply_gradients([(np.array([3.0, 4.0]), a), (np.array([0.0, 12.0]), b)])
        steps[option] = (a.numpy().tolist(), b.numpy().tolist())
    assert steps["clipnorm"] == ([-3.0, -4.0], [0.0, -6.5])
    assert steps["global_clipnorm"] == ([-1.5, -2.0], [0.0, -6.0])


def test_bias_correction_counts_the_updates_of_the_optimizer() -> None:
    """A variable that joins at step 3 is corrected with t = 3 in Keras: m/(1-b1^3), not m/(1-b1)."""
    a, b = Variable(np.zeros(1), name="a"), Variable(np.zeros(1), name="b")
    optimizer = parse_optimizer("keras.optimizers.Adam(0.1, epsilon=0.0)")
    one = np.ones(1)
    for _ in range(2):
        optimizer.apply_gradients([(one, a), (None, b)])
    optimizer.apply_gradients([(one, a), (one, b)])
    alpha = 0.1 * np.sqrt(1 - 0.999**3) / (1 - 0.9**3)
    np.testing.assert_allclose(b.numpy(), -alpha * 0.1 / np.sqrt(0.001), rtol=1e-12)


def test_schedule_counts_accumulated_gradients_and_bias_correction_updates() -> None:
    schedule = "keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.1, 0.01])"
    optimizer = parse_optimizer(f"keras.optimizers.Adam({schedule}, gradient_accumulation_steps=2, epsilon=0.0)")
    layout = problem_of("keras_adam", "quadratic").layout
    weights = np.zeros(2)
    rates = []
    for _ in range(6):
        ledger, weights = optimizer.step_flat(weights, np.ones(2), layout)
        rates.append(ledger.learning_rate)
    assert rates == [0.1, 0.1, 0.1, 0.1, 0.01, 0.01]
    assert optimizer.update_count == 3
    np.testing.assert_allclose(weights, -(0.1 + 0.1 + 0.01), rtol=1e-12)


def test_excluded_variables_do_not_decay() -> None:
    text = "opt = keras.optimizers.SGD(0.1, weight_decay=0.5)\nopt.exclude_from_weight_decay(var_names=['bias'])"
    kernel, bias = Variable(np.ones(1), name="dense/kernel"), Variable(np.ones(1), name="dense/bias")
    parse_optimizer(text).apply_gradients([(np.zeros(1), kernel), (np.zeros(1), bias)])
    assert kernel.numpy()[0] == pytest.approx(0.95) and bias.numpy()[0] == 1.0


def test_average_of_weights_of_tf1_starts_at_the_initial_ones() -> None:
    """shadow = decay * shadow + (1 - decay) * w; with num_updates decay = min(decay, (1 + t)/(10 + t))."""
    layout = problem_of("keras_adam", "quadratic").layout
    for extra, expected in (("", 0.9 * 1.0 + 0.1 * 0.5), (", num_updates=step", 2 / 11 * 1.0 + 9 / 11 * 0.5)):
        line = f"tf.train.GradientDescentOptimizer(0.5)\ntf.train.ExponentialMovingAverage(0.9{extra})"
        optimizer = parse_optimizer(line)
        optimizer.step_flat(np.ones(2), np.ones(2), layout)
        state = optimizer.snapshot()[3][0].states[optimizer.chain.index("weight_average")]
        np.testing.assert_allclose(state["average"], expected, rtol=1e-14)


def test_live_rate_is_written_into_the_schedule() -> None:
    optimizer = parse_optimizer("keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 10, 0.5))")
    optimizer.learning_rate = 0.2
    again = parse_optimizer(emit_optimizer(optimizer, "keras"))
    before, after = optimizer.chain.rate, again.chain.rate
    assert before is not None and after is not None
    assert [after.rate(k) for k in range(15)] == pytest.approx([before.rate(k) for k in range(15)], rel=1e-14)


# other dialects' lines --------------------------------------------------------------------------------------------

TRANSLATED = [
    ("torch.optim.SGD(params, lr=0.5)", ("keras", "tf1")),
    ("torch.optim.SGD(params, lr=0.5, momentum=0.9, nesterov=True)", ("keras", "tf1")),
    ("torch.optim.SGD(params, lr=0.5, weight_decay=0.1)", ("keras",)),
    ("torch.optim.Adam(params, lr=0.1, eps=0)", ("keras", "tf1")),
    ("torch.optim.AdamW(params, lr=0.1, eps=0)", ("keras",)),
    ("torch.optim.Adadelta(params, lr=2.0)", ("keras", "tf1")),
    ("torch.nn.utils.clip_grad_value_(params, 0.05)\ntorch.optim.SGD(params, lr=0.5)", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.StepLR(opt, 20, 0.5)", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.ExponentialLR(opt, 0.97)", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.MultiStepLR(opt, [10, 30])", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.LinearLR(opt, 0.1)", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.ConstantLR(opt, 0.5, 7)", ("keras", "tf1")),
    ("opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.PolynomialLR(opt, 40, 2.0)", ("keras", "tf1")),
    (
        "opt = torch.optim.SGD(params, lr=0.5)\ntorch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 20)",
        ("keras", "tf1"),
    ),
    ("optax.sgd(0.5, momentum=0.9)", ("keras", "tf1")),
    ("optax.lion(0.01, weight_decay=0.1)", ("keras",)),
    ("optax.adamw(0.1, eps=0.0)", ("keras",)),
    ("optax.adamax(0.1, eps=0.0)", ("keras",)),
    ("optax.rmsprop(0.01, momentum=0.9)", ("keras",)),
    ("optax.adagrad(0.5)", ("keras",)),
    ("optax.adadelta(1.0)", ("keras", "tf1")),
    ("optax.lamb(0.1)", ("keras",)),
    ("optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.5))", ("keras", "tf1")),
    ("optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.5, 10, 40, 0.05))", ("keras",)),
    ("optax.sgd(optax.piecewise_constant_schedule(0.5, {10: 0.5, 20: 0.1}))", ("keras", "tf1")),
    ("keras.optimizers.Adam(0.1)", ("tf1",)),
    ("keras.optimizers.Ftrl(0.5, l1_regularization_strength=0.02, beta=0.5)", ("tf1",)),
    ("tf.compat.v1.train.AdamOptimizer(0.1)", ("keras",)),
    ("tf.compat.v1.train.MomentumOptimizer(0.5, 0.9)", ("keras",)),
    ("tf.compat.v1.train.AdagradOptimizer(0.5)", ("keras",)),
]


@pytest.mark.parametrize(
    ("text", "dialect"), [(text, dialect) for text, dialects in TRANSLATED for dialect in dialects]
)
def test_translated_lines_do_the_same(text: str, dialect: str) -> None:
    original = parse_optimizer(text)
    other = parse_optimizer(emit_optimizer(original, dialect))
    assert other.dialect == dialect
    problem = problem_of("keras_adam", "logreg")
    ours, theirs = np.array([0.5, -0.25, 0.75, 0.1]), np.array([0.5, -0.25, 0.75, 0.1])
    for k in range(60):
        _, gradient = problem.at(ours, k)
        ledger, ours = original.step_flat(ours, gradient, problem.layout)
        _, gradient = problem.at(theirs, k)
        mirrored, theirs = other.step_flat(theirs, gradient, problem.layout)
        assert_closes(ledger, text)
        assert_closes(mirrored, text)
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "dialect", "reason"),
    [
        ("torch.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.1)", "keras", "dampening"),
        ("torch.optim.Adam(params, lr=0.1)", "keras", "ε stands before the bias correction"),
        ("torch.optim.RMSprop(params, lr=0.1)", "keras", "ε stands inside the root"),
        ("torch.optim.RMSprop(params, lr=0.1, eps=0)", "tf1", "starts from different numbers"),
        ("torch.optim.NAdam(params)", "keras", "momentum_decay"),
        ("torch.optim.RAdam(params)", "keras", "no 'rectification'"),
        ("torch.nn.utils.clip_grad_norm_(params, 1.0)\ntorch.optim.SGD(params, lr=0.1)", "keras", "1e-6"),
        ("torch.optim.AdamW(params, eps=0)", "tf1", "decoupled weight decay"),
        (
            "opt = torch.optim.SGD(params, lr=0.1)\ntorch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)",
            "keras",
            "no schedule like CosineAnnealingLR",
        ),
        (
            "opt = torch.optim.SGD(params, lr=0.1, momentum=0.9)\ntorch.optim.lr_scheduler.StepLR(opt, 10)",
            "keras",
            "'learning rate' stands before 'momentum'",
        ),
        ("keras.optimizers.SGD(0.1, weight_decay=0.1)", "tf1", "no 'decoupled weight decay'"),
        ("keras.optimizers.SGD(0.1, use_ema=True)", "tf1", "starts from the initial weights"),
        ("tf.train.ProximalGradientDescentOptimizer(0.1, 0.1)", "keras", "no 'L1 soft threshold'"),
        ("optax.lamb(0.1, weight_decay=0.1)", "keras", "weight decay"),
    ],
)
def test_what_tensorflow_cannot_say_has_its_reason(text: str, dialect: str, reason: str) -> None:
    with pytest.raises(NotRepresentable, match=reason):
        emit_optimizer(parse_optimizer(text), dialect)


def test_constant_rate_is_said_to_be_taken_for_granted() -> None:
    text = emit_optimizer(parse_optimizer("torch.optim.SGD(params, lr=0.1, momentum=0.9)"), "keras")
    assert text.startswith("# the same numbers only as long as the learning rate is constant\n")


def test_reading_back_keeps_the_order_of_statements() -> None:
    text = "tf.clip_by_value(g, -1.0, 1.0)\ntf.clip_by_norm(g, 0.5)\ntf.compat.v1.train.AdamOptimizer(0.1)"
    optimizer: Optimizer = parse_optimizer(text)
    again = parse_optimizer(emit_optimizer(optimizer, "tf1"))
    assert again.chain.row_names[:3] == ("frozen_mask", "clip_by_value", "clip_by_norm")
    assert again.settings() == optimizer.settings()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("keras.optimizers.Adam(0.1, epsilon=0.0)", "torch.optim.Adam(params, lr=0.1, eps=0.0)"),
        ("keras.optimizers.Nadam(0.1)", "torch.optim.NAdam(params, lr=0.1, eps=1e-07, momentum_decay=1.0)"),
        ("keras.optimizers.Adadelta(2.0)", "torch.optim.Adadelta(params, lr=2.0, rho=0.95, eps=1e-07)"),
        ("keras.optimizers.AdamW(0.1, epsilon=0.0)", "torch.optim.AdamW(params, lr=0.1, eps=0.0, weight_decay=0.004)"),
        ("tf.train.MomentumOptimizer(0.5, 0.9)", "torch.optim.SGD(params, lr=0.5, momentum=0.9)"),
        (
            "keras.optimizers.SGD(0.5, momentum=0.9)",
            "# the same numbers only as long as the learning rate is constant\n"
            "torch.optim.SGD(params, lr=0.5, momentum=0.9)",
        ),
        (
            "tf.train.AdagradOptimizer(0.5)",
            "torch.optim.Adagrad(params, lr=0.5, initial_accumulator_value=0.1, eps=0.0)",
        ),
    ],
)
def test_written_as_pytorch_it_does_the_same(text: str, code: str) -> None:
    original = parse_optimizer(text)
    assert emit_optimizer(original, "torch") == code
    other = parse_optimizer(code)
    problem = problem_of("keras_adam", "logreg")
    ours, theirs = np.array([0.5, -0.25, 0.75, 0.1]), np.array([0.5, -0.25, 0.75, 0.1])
    for k in range(60):
        _, ours = original.step_flat(ours, problem.at(ours, k)[1], problem.layout)
        _, theirs = other.step_flat(theirs, problem.at(theirs, k)[1], problem.layout)
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
