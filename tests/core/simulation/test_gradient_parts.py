"""With batch normalisation the parts above the gradient are the constant-statistics gradient and the rest."""

import numpy as np

from core.commands.explain import explain_data, explain_text
from core.commands.sources import Source
from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.gradient_parts import expected_parts, gradient_parts

BATCH_NORM = ProblemSettings(
    "mlp", data="moons(rows=60, seed=3)", options={"layers": [4], "norm": "batch"}, values={"batch_size": 20}
)


def run(problem, steps=6):
    simulation = Simulation(Experiment(problem=problem, optimizer="torch.optim.SGD(params, lr=0.1, momentum=0.5)"))
    simulation.advance(steps)
    return simulation


def held_loss(simulation, weights, step, mean, variance):
    """The network written out in NumPy with given statistics."""
    objective = simulation.objective
    x, y = objective.batch(step, 0, np.float64)
    w1, b1, gamma, beta, w2, b2 = objective.split(weights).values()
    h = np.tanh((x @ w1 + b1 - mean) / np.sqrt(variance + 1e-5) * gamma + beta)
    z = (h @ w2 + b2)[:, 0]
    return np.mean(np.logaddexp(0, z) - y * z)


def test_the_held_part_is_the_gradient_with_constant_statistics():
    simulation = run(BATCH_NORM)
    step = 4
    weights = simulation.history.weights(step)
    w1, b1, *_ = simulation.objective.split(weights).values()
    z = simulation.objective.batch(step, 0, np.float64)[0] @ w1 + b1
    held, through = gradient_parts(simulation, step).values()
    wanted = np.empty(len(weights))
    for k in range(len(weights)):
        shift = np.zeros(len(weights))
        shift[k] = 1e-5
        ends = [held_loss(simulation, weights + sign * shift, step, z.mean(0), z.var(0)) for sign in (1, -1)]
        wanted[k] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(held, wanted, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(held + through, simulation.history.gradient(step), rtol=1e-12, atol=1e-15)
    assert np.linalg.norm(through) > 1e-3


def test_times_the_rate_they_add_up_to_the_expected_step():
    simulation = run(BATCH_NORM)
    simulation.change("problem", "batch_size", 10)
    simulation.advance(3)
    for step in (2, 7):
        total = sum(expected_parts(simulation, step).values())
        np.testing.assert_allclose(total, simulation.history.expected(step), rtol=1e-12, atol=1e-15)


def test_explain_has_the_parts_above_the_expected_step():
    simulation = run(BATCH_NORM)
    source = Source(simulation.history, simulation.experiment, simulation)
    text = explain_text(source, 2)
    held, through = text.index("batch statistics held constant"), text.index("through the batch statistics")
    assert held < through < text.index("expected  -lr*g")
    parts = explain_data(source, 2)["gradient_parts"]
    assert np.allclose(np.sum(list(parts.values()), axis=0), simulation.history.gradient(2), rtol=1e-12)


def test_problems_without_parts_have_none():
    simulation = run(ProblemSettings())
    assert gradient_parts(simulation, 3) == {}
    source = Source(simulation.history, simulation.experiment, simulation)
    assert "gradient_parts" not in explain_data(source, 3)


def test_they_add_up_in_float32_and_with_a_scaled_loss():
    """The recorded gradient is that of the scaled loss; the scale doubles after every second step."""
    scaler = "scaler = torch.cuda.amp.GradScaler(init_scale=64.0, growth_interval=2)\ntorch.optim.SGD(p, lr=0.05)"
    plain = run(BATCH_NORM)
    for settings in ({"optimizer": scaler}, {"storage": "float32", "arithmetic": "float32"}):
        simulation = Simulation(plain.experiment.replace(**settings))
        simulation.advance(6)
        scales = []
        for step in range(6):
            held, through = gradient_parts(simulation, step).values()
            gradient = simulation.history.gradient(step)
            np.testing.assert_allclose(held + through, gradient, rtol=0, atol=2e-16 * np.abs(gradient).max())
            kind = np.dtype(simulation.experiment.arithmetic)
            parts = simulation.objective.gradient_parts(simulation.history.weights(step).astype(kind), step, 0)
            wanted = parts["through the batch statistics"]
            scale = np.linalg.norm(gradient) / np.linalg.norm(sum(parts.values()))
            scales.append(round(scale))
            tolerance = 1e-5 * scale * np.abs(wanted).max()
            np.testing.assert_allclose(through, scale * wanted, rtol=0, atol=tolerance)
        assert scales == ([64, 64, 128, 128, 256, 256] if "optimizer" in settings else [1] * 6)
