"""Networks and regressions: gradients, optima found by scipy, batch normalisation's parts, digits to 95 %."""

import ml_dtypes
import numpy as np
import pytest
from scipy import optimize, special

from core.autodiff import gradients_function, nn
from core.problems import ProblemError, SettingError, problem
from core.problems.layers import ACTIVATIONS, INITIALISERS, normalise
from core.problems.recurrent import sequences
from core.simulation import Experiment, ProblemSettings, Simulation
from tests.reference_data import public_cases

SMALL = {
    "linear_regression": {},
    "ridge_regression": {},
    "polynomial_regression": {"degree": 3},
    "softmax_regression": {"l2": 0.2},
    "mlp": {"layers": [4, 3], "l2": 0.1},
    "mlp batch": {"layers": [4, 3], "norm": "batch", "data": "iris", "activation": "sigmoid"},
    "mlp layer": {"layers": [4, 3], "norm": "layer", "data": "diabetes", "activation": "softplus"},
    "mlp dropout": {"layers": [4, 3], "dropout": 0.4, "activation": "elu"},
    "rnn": {"hidden": 3, "length": 5, "sequences": 30},
    "rnn echo": {"data": "echo", "hidden": 3, "length": 5, "delay": 2, "sequences": 30, "l2": 0.1},
}


@pytest.mark.parametrize("name", SMALL)
def test_gradients_on_a_batch_against_central_differences(name):
    made = problem(name.split()[0], batch_size=16, **SMALL[name])
    w = made.initial_weights(2) + 0.1 * np.random.default_rng(1).normal(size=made.size)
    h = 1e-5
    for step in (0, 1):
        loss, gradient = made.value_and_gradient(w, step, 5)
        np.testing.assert_allclose(loss, made.value(w, step, 5), rtol=1e-12)
        steps = h * np.eye(made.size)
        numeric = (made.value(w + steps, step, 5) - made.value(w - steps, step, 5)) / (2 * h)
        np.testing.assert_allclose(gradient, numeric, atol=2e-8 * max(1, np.abs(numeric).max()))


@pytest.mark.parametrize("name", SMALL)
def test_many_weights_at_once_equal_one_at_a_time(name):
    made = problem(name.split()[0], **SMALL[name])
    points = np.stack([made.initial_weights(seed) for seed in range(5)])
    points += 0.1 * np.random.default_rng(0).normal(size=points.shape)
    together = made.value(points)
    assert together.shape == (5,)
    np.testing.assert_allclose(together, [made.value(point) for point in points], rtol=1e-12)
    whole = problem(name.split()[0], **{**SMALL[name], "batch_size": 0, **({"dropout": 0.0} if "drop" in name else {})})
    np.testing.assert_allclose(together, [whole.value_and_gradient(point)[0] for point in points], rtol=1e-12)
    np.testing.assert_allclose(made.gradient(points)[3], whole.value_and_gradient(points[3])[1], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["softmax_regression", "mlp", "rnn"])
def test_hessians_against_differences_of_gradients(name):
    made = problem(name, batch_size=0, **SMALL[name])
    w = made.initial_weights(0) + 0.2 * np.random.default_rng(3).normal(size=made.size)
    h = 1e-5
    numeric = np.stack([(made.gradient(w + d) - made.gradient(w - d)) / (2 * h) for d in h * np.eye(made.size)])
    hessian = made.hessian(w)
    np.testing.assert_array_equal(hessian, hessian.T)
    np.testing.assert_allclose(hessian, numeric, atol=1e-7 * max(1, np.abs(numeric).max()))


def newton(made, w, count):
    for _ in range(count):
        w = w - np.linalg.solve(made.hessian(w), made.gradient(w))
    return w


def test_linear_and_ridge_optima_equal_the_normal_equations():
    for name, l2 in (("linear_regression", 0.0), ("ridge_regression", 0.1)):
        made = problem(name, test_fraction=0, l2=l2)
        x, y = made.samples.train_x, made.samples.train_y
        a = np.column_stack([x, np.ones(len(x))])
        penalty = 0.5 * l2 * len(x) * np.diag([1.0] * x.shape[1] + [0.0])
        exact = np.linalg.solve(a.T @ a + penalty, a.T @ y)
        found = newton(made, made.start, 1)
        np.testing.assert_allclose(found, exact, atol=1e-9)
        residual = np.mean((a @ exact - y) ** 2) + 0.5 * l2 * np.sum(exact[:-1] ** 2)
        np.testing.assert_allclose(made.value(found), residual, rtol=1e-10)


def test_diabetes_r_squared_is_the_one_everybody_finds():
    # least squares on all 442 rows explains 0.5177 of the variance (Efron et al. 2004 and every textbook since)
    made = problem("linear_regression", test_fraction=0)
    metrics = made.metrics(newton(made, made.start, 1))
    np.testing.assert_allclose(metrics["train R²"], 0.5177, atol=1e-4)


def test_softmax_optimum_equals_scipys():
    made = problem("softmax_regression", l2=0.02, test_fraction=0)
    x, y = made.samples.train_x, made.samples.train_y.astype(int)

    def loss(v):
        weights, bias = v[:12].reshape(4, 3), v[12:]
        logits = x @ weights + bias
        picked = logits[np.arange(len(y)), y]
        return np.mean(special.logsumexp(logits, axis=1) - picked) + 0.01 * np.sum(weights**2)

    best = optimize.minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-9})
    w = made.start
    for _ in range(10):  # all biases may move together: least squares picks one of the equal optima
        w = w - np.linalg.lstsq(made.hessian(w), made.gradient(w), rcond=1e-10)[0]
    np.testing.assert_allclose(made.value(w), best.fun, atol=1e-6)
    assert np.max(np.abs(made.gradient(w))) < 1e-9


def test_polynomials_fit_their_own_kind():
    made = problem("polynomial_regression", data="sine(noise=0, rows=60)", degree=7, test_fraction=0)
    w = newton(made, made.start, 2)
    xs = np.linspace(-0.95, 0.95, 11)[:, None]
    np.testing.assert_allclose(made.predict(w, xs), np.sin(np.pi * xs[:, 0]), atol=2e-3)
    assert made.component_names[:3] == ("x", "x^2", "x^3")
    pairs = problem("polynomial_regression", data="diabetes", degree=2, features=["age", "bmi"], target="progression")
    assert pairs.component_names == ("age", "bmi", "age^2", "age·bmi", "bmi^2", "bias")
    with pytest.raises(ProblemError, match="more than 500 terms"):
        problem("polynomial_regression", data="breast_cancer", target="mean_area", features=None, degree=9)


def test_predictions_are_probabilities_and_agree_with_the_metrics():
    made = problem("mlp", data="iris", layers=[6], norm="batch")
    w = made.initial_weights(0)
    for step in range(300):
        w = w - 0.3 * made.value_and_gradient(w, step)[1]
    dataset = made.samples.dataset
    p = made.predict(w, dataset.features)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    right = p.argmax(axis=1) == dataset.targets
    metrics = made.metrics(w)
    np.testing.assert_allclose(right.sum(), metrics["train accuracy"] * 120 + metrics["test accuracy"] * 30)
    assert right.mean() > 0.9
    # one row alone is predicted as in company: nothing depends on the batch
    np.testing.assert_allclose(made.predict(w, dataset.features[:1]), p[:1], rtol=1e-12)


def test_batch_norm_cases():
    case_1, case_3, case_5 = (public_cases()[f"BN-0{number}"]["right_values"] for number in (1, 3, 5))
    x = np.array([[1.0], [2.0], [4.0]])
    one, zero = np.ones(1), np.zeros(1)

    def layer(x, gamma, beta):
        return nn.batch_norm(x, gamma, beta, epsilon=0.0, axis=-2)

    np.testing.assert_allclose(np.asarray(layer(x, one, zero))[:, 0], case_1["y"], rtol=1e-9)
    gx, ggamma, gbeta = (np.asarray(g) for g in gradients_function(lambda *a: np.sum(layer(*a)))(x, one, zero))
    np.testing.assert_allclose(gx[:, 0], case_1["grad_x"], atol=1e-12)
    np.testing.assert_allclose([gbeta[0], ggamma[0]], [case_1["grad_beta"], case_1["grad_gamma"]], atol=1e-12)
    # a constant added before the layer has no effect, so a bias there gets no gradient
    (shift,) = gradients_function(lambda c: np.sum(layer(x + c, one, zero) * np.array([[1.0], [5.0], [-2.0]])))(0.0)
    np.testing.assert_allclose(float(shift), case_1["grad_of_constant_shift_before_bn"], atol=1e-12)
    (mean_beta,) = gradients_function(lambda b: np.mean(layer(x, one, b)))(zero)
    np.testing.assert_allclose(np.asarray(mean_beta), [case_5["d_beta_mean_loss"]])
    (first,) = gradients_function(lambda g: layer(x, g, zero)[0, 0])(one)
    np.testing.assert_allclose(np.asarray(first), [case_5["d_gamma_[1,0,0]"]], rtol=1e-8)
    # a batch of one row: the layer puts out beta, whatever the row is
    grads = gradients_function(lambda *a: np.sum((normalise(*a, "batch") - 1) ** 2))(
        np.array([[5.0]]), np.array([2.0]), np.array([0.5])
    )
    found = [float(np.asarray(g).reshape(())) for g in grads]
    np.testing.assert_allclose(found, [case_3["grad_x"], case_3["grad_gamma"], case_3["grad_beta"]], atol=1e-12)


def test_batch_norm_parts_add_up_and_the_held_part_is_what_it_says():
    made = problem("mlp", data="blobs", layers=[3], norm="batch", batch_size=8)
    w = made.initial_weights(0)
    _, gradient = made.value_and_gradient(w, 2, 1)
    parts = made.gradient_parts(w, 2, 1)
    held, through = parts.values()
    np.testing.assert_allclose(held + through, gradient, atol=1e-15)
    assert np.abs(through).max() > 1e-3
    # numerically: mean and variance of the batch fixed at their values for w
    x, y = made.batch(2, 1, w.dtype)
    z = x @ made.split(w)["W1"] + made.split(w)["b1"]
    mean, spread = z.mean(axis=0), np.sqrt(z.var(axis=0) + 1e-5)

    def fixed(v):
        p = made.split(v)
        h = np.tanh((x @ p["W1"] + p["b1"] - mean) / spread * p["gamma1"] + p["beta1"])
        return made.head.cost(h @ p["W2"] + p["b2"], y)

    numeric = [(fixed(w + d) - fixed(w - d)) / 2e-6 for d in 1e-6 * np.eye(made.size)]
    np.testing.assert_allclose(held, numeric, atol=1e-8)
    assert problem("mlp").gradient_parts(problem("mlp").start) == {}


def test_single_row_batches_with_batch_norm_are_warned_of():
    assert "single row" in problem("digits_mlp", batch_size=1).cautions[0]
    rest = problem("mlp", data="moons(rows=101)", test_fraction=0, batch_size=10, norm="batch")
    assert "last batch" in rest.cautions[0]
    assert problem("digits_mlp").cautions == ()
    assert problem("mlp", batch_size=1).cautions == ()


def test_digits_reach_95_percent_within_20_epochs_of_adam():
    settings = Experiment(
        problem=ProblemSettings("digits_mlp"), optimizer="torch.optim.Adam(params, lr=0.003)",
        storage="float32", arithmetic="float32",
    )  # fmt: skip
    run = Simulation(settings, budget=8 << 20)
    model = run.objective
    assert model.shape_text == "64-32-10" and model.options["norm"] == "batch"
    run.advance(20 * model.batches.per_epoch)
    assert not run.trouble
    assert model.metrics(run.weights)["test accuracy"] >= 0.95
    # the figure itself, counted by hand from the predictions for the rows set aside
    samples = model.samples
    table = model.dataset.features[samples.test_rows]
    probabilities = model.predict(run.weights, table)
    right = np.argmax(probabilities, axis=1) == model.dataset.targets[samples.test_rows]
    assert len(right) == round(0.2 * 1797) and right.mean() >= 0.95


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_in_place_equal_the_tracked_ones(name):
    z = np.linspace(-4, 4, 41)
    activation = ACTIVATIONS[name]
    within = activation.within(z.copy())
    np.testing.assert_allclose(within, np.asarray(activation.call(z)), rtol=1e-12, atol=1e-15)
    formulas = {
        "relu": np.maximum(z, 0), "leaky_relu": np.where(z > 0, z, 0.01 * z), "silu": z * special.expit(z),
        "elu": np.where(z > 0, z, np.expm1(z)), "sigmoid": special.expit(z), "softplus": np.logaddexp(z, 0),
        "gelu": 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
        "tanh": np.tanh(z), "sin": np.sin(z), "identity": z,
    }  # fmt: skip
    np.testing.assert_allclose(within, formulas[name], atol=1e-12)


@pytest.mark.parametrize("name", INITIALISERS)
def test_starting_weights_have_the_promised_size(name):
    drawn = INITIALISERS[name](np.random.default_rng(0), 300, 200, 1.5)
    variance = {
        "he_normal": 2 / 300, "he_uniform": 2 / 300, "glorot_normal": 1.5**2 * 2 / 500,
        "glorot_uniform": 1.5**2 * 2 / 500, "lecun_normal": 1 / 300, "torch_default": 1 / 900, "small": 1e-4,
        "large": 9 / 300, "zeros": 0.0,
    }[name]  # fmt: skip
    assert drawn.shape == (300, 200)
    np.testing.assert_allclose(drawn.var(), variance, rtol=0.05)


def test_starts_repeat_by_seed():
    for name in ("mlp", "digits_mlp", "rnn"):
        made = problem(name)
        np.testing.assert_array_equal(made.initial_weights(4), made.initial_weights(4))
        assert not np.array_equal(made.initial_weights(4), made.initial_weights(5))
    gamma = problem("digits_mlp").split(problem("digits_mlp").start)["gamma1"]
    np.testing.assert_array_equal(gamma, 1.0)


def test_dropout_drops_the_promised_part_and_only_in_steps():
    made = problem("mlp", layers=[64], dropout=0.25, batch_size=200)
    (mask,) = made.extras(7, 0, 200, np.float64)
    np.testing.assert_allclose(np.mean(mask == 0), 0.25, atol=0.02)
    np.testing.assert_allclose(np.unique(mask), [0, 1 / 0.75])
    w = made.initial_weights(0)
    assert made.value(w, 0) != made.value(w, 1)
    np.testing.assert_array_equal(made.value(w), problem("mlp", layers=[64]).value(w))


def test_sequences_hold_what_their_targets_say():
    data = sequences("adding", 50, 12, 0)
    steps = data.features.reshape(50, 12, 2)
    np.testing.assert_array_equal(steps[..., 1].sum(axis=1), 2)
    np.testing.assert_allclose((steps[..., 0] * steps[..., 1]).sum(axis=1), data.targets)
    echo = sequences("echo", 40, 9, 4)
    np.testing.assert_array_equal(echo.features[:, 9 - 1 - 4] > 0, echo.targets == 1)
    with pytest.raises(ProblemError, match="delay must be from 0 to 4"):
        problem("rnn", data="echo", length=5, delay=7)
    with pytest.raises(ProblemError, match="no task 'moons'; there are: adding, echo"):
        problem("rnn", data="moons")


def test_recurrent_gradients_explode_and_vanish_with_the_gain():
    norms = [
        np.linalg.norm(
            problem("rnn", activation="identity", gain=gain, length=40).split(
                problem("rnn", activation="identity", gain=gain, length=40).value_and_gradient(
                    problem("rnn", activation="identity", gain=gain, length=40).initial_weights(0)
                )[1]
            )["Wh"]
        )
        for gain in (0.5, 1.0, 1.5)
    ]
    assert norms[0] * 10 < norms[1] < norms[2] / 1e6


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["mlp", "mlp batch", "softmax_regression", "rnn", "mlp dropout"])
def test_networks_in_low_precision(name, dtype):
    made = problem(name.split()[0], **SMALL[name])
    w = made.initial_weights(1).astype(dtype)
    loss, gradient = made.value_and_gradient(w, 2, 0)
    exact_loss, exact = made.value_and_gradient(w.astype(np.float64), 2, 0)
    eps = float(ml_dtypes.finfo(dtype).eps)
    assert gradient.dtype == np.dtype(dtype)
    np.testing.assert_allclose(loss, exact_loss, rtol=50 * eps)
    np.testing.assert_allclose(gradient.astype(float), exact, atol=100 * eps * max(1.0, np.abs(exact).max()))
    assert made.value(w).dtype == np.dtype(dtype)


def test_settings_that_cannot_be_used():
    with pytest.raises(SettingError, match=r"layers are up to 20 whole numbers"):
        problem("mlp", layers=[3.5])
    with pytest.raises(SettingError, match="activation must be one of tanh, relu"):
        problem("mlp", activation="rellu")
    with pytest.raises(SettingError, match="no parameter 'layer'; it has: batch_size, l2, dropout, layers"):
        problem("mlp", layer=[3])
    with pytest.raises(SettingError, match="dropout must be less than 1"):
        problem("mlp", dropout=1.0)
    with pytest.raises(SettingError, match="at most 2000000"):
        problem("mlp", layers=[2000, 2000])
    with pytest.raises(ProblemError, match="use softmax_regression"):
        problem("logistic_regression", data="iris")
    with pytest.raises(ProblemError, match="use logistic_regression"):
        problem("softmax_regression", data="moons")
    with pytest.raises(ProblemError, match="is text"):
        problem("linear_regression", data="iris")
    with pytest.raises(ProblemError, match="leave none to train on"):
        problem("logistic_regression", data="moons(rows=2)", test_fraction=0.9)


def test_changed_values_make_a_changed_copy_with_the_same_rows():
    made = problem("mlp", data="moons(seed=3)")
    changed = made.with_values(l2=0.5, batch_size=10)
    assert (changed.values["l2"], made.values["l2"]) == (0.5, 0.0)
    assert changed.dataset is made.dataset
    assert made.with_values(data="circles").dataset is not made.dataset
    again = problem("mlp", **changed.settings)
    w = made.start
    np.testing.assert_array_equal(again.value_and_gradient(w, 3)[1], changed.value_and_gradient(w, 3)[1])
