"""Steps past the lowest point of their line, against parabolas, where everything is known."""

import pytest

from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.overshoot import overshoot


def run(formula: str, lines: str, start: list[float], steps: int = 1) -> Simulation:
    problem = ProblemSettings(name="expression", expression=formula)
    simulation = Simulation(Experiment(problem=problem, optimizer=lines, start=start))
    simulation.advance(steps)
    return simulation


@pytest.mark.parametrize("rate", [0.6, 1.0, 1.1, 3.0])
def test_a_parabola_has_its_lowest_point_after_one_over_rate_times_curvature(rate: float) -> None:
    # theta^2 at 5: curvature 2, theta -> (1 - 2 lr) theta
    found = overshoot(run("x**2", f"torch.optim.SGD(params, lr={rate})", [5.0]), 0)
    assert found is not None
    assert found.lowest == pytest.approx(1.0 / (2.0 * rate), rel=1e-9)
    assert found.curvature == pytest.approx(2.0, rel=1e-12)
    assert found.after == pytest.approx((5.0 * (1.0 - 2.0 * rate)) ** 2, rel=1e-12)
    text = found.sentence(rate)
    assert f"the learning rate times the mean curvature along it, 2, is {2 * rate:.4g}" in text
    assert ("the loss rises from 25" in text) == (rate > 1.0)
    assert ("the loss stays at 25" in text) == (rate == 1.0)


def test_the_curvature_is_the_one_along_the_step() -> None:
    # (x^2 + 300 y^2) / 2 from (1, 1) along (1, 300): g.H.g / g.g
    found = overshoot(run("(x**2 + 300*y**2)/2", "torch.optim.SGD(params, lr=0.01)", [1.0, 1.0]), 0)
    assert found is not None
    assert found.curvature == pytest.approx((1.0 + 300.0**3) / (1.0 + 300.0**2), rel=1e-12)


def test_the_lowest_point_of_a_kink_and_of_a_quartic() -> None:
    # |x| from 0.2 by -0.3: 0 is reached after two thirds
    found = overshoot(run("abs(x)", "torch.optim.SGD(params, lr=0.3)", [0.2]), 0)
    assert found is not None and found.lowest == pytest.approx(2.0 / 3.0, rel=1e-9)
    # x^4 at 1 by -0.5 * 4: 0 after a half, and the loss is 1 again
    found = overshoot(run("x**4", "torch.optim.SGD(params, lr=0.5)", [1.0]), 0)
    assert found is not None and found.lowest == pytest.approx(0.5, rel=1e-9)
    assert "the loss stays at 1" in found.sentence()


@pytest.mark.parametrize(
    ("formula", "lines", "start", "steps"),
    [
        ("x**2", "torch.optim.SGD(params, lr=0.4)", [5.0], 1),  # 0.8 of the way: not past it
        ("x**2", "torch.optim.SGD(params, lr=0.5)", [5.0], 2),  # hit exactly, then nothing moves
        ("x", "torch.optim.SGD(params, lr=9.0)", [5.0], 1),  # no lowest point
        ("x**2", "torch.optim.SGD(params, lr=0.1, momentum=0.9)", [5.0], 5),  # uphill already
        ("sqrt(x)", "torch.optim.SGD(params, lr=1.0)", [0.0], 1),  # no numbers
    ],
)
def test_where_there_is_nothing_to_say(formula: str, lines: str, start: list[float], steps: int) -> None:
    assert overshoot(run(formula, lines, start, steps), steps - 1) is None
