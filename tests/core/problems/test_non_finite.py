"""Which operation made the first inf or nan of a loss or its gradient, in words."""

import numpy as np
import pytest

from core.problems import expression, problem
from core.problems.non_finite import explain
from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.story import story
from tests.reference_data import public_cases


def told(text, *weights):
    made = expression(text)
    with np.errstate(all="ignore"):
        loss, gradient = made.value_and_gradient(np.array(weights))
    return explain(made, weights, loss, gradient)


@pytest.mark.parametrize(
    ("text", "weights", "said"),
    [
        ("log(x)", (-1.0,), "The loss is nan although its gradient is finite: log(-1) is nan."),
        ("x + 0*log(y)", (1.0, -2.0), "The loss is nan although its gradient is finite: log(-2) is nan."),
        ("x**0.5 + y", (0.0, 1.0), "The gradient is not finite although the loss (1) is: the slope of sqrt(0) is inf."),
        ("1/x", (0.0,), "Neither the loss (inf) nor its gradient is finite: 1 / 0 is inf."),
        ("exp(x*y)", (100.0, 10.0), "Neither the loss (inf) nor its gradient is finite: exp(1000) is inf."),
    ],
)
def test_the_operation_is_named_with_its_operands(text, weights, said):
    assert told(text, *weights) == said


def test_case_ns_01_the_zero_norm_is_traced_to_the_root():
    entry = public_cases()["NS-01"]
    assert entry["right_values"]["composed_naive"] == ["nan"] * 3
    assert "the slope of sqrt(0) is inf" in told("sqrt(x**2 + y**2 + z**2)", 0.0, 0.0, 0.0)


def test_case_ns_03_branches_that_are_not_taken_do_no_harm():
    right = public_cases()["NS-03"]["right_values"]["true"]
    cases = (
        ("where(w > 0, 1/w, 2*w)", 0.0),
        ("where(a < 15, a, 10**exp(a))", 10.0),
        ("where(y > 0, sqrt(y), y)", -1.0),
    )
    for (text, place), slope in zip(cases, right, strict=True):
        made = expression(text)
        loss, gradient = made.value_and_gradient(np.array([place]))
        assert gradient[0] == slope and explain(made, [place], loss, gradient) == ""


def test_of_models_it_is_said_what_is_not_finite():
    made = problem("linear_regression")
    weights = made.start
    assert explain(made, weights, np.nan, np.zeros(made.size)) == "The loss is nan although its gradient is finite."
    assert explain(made, weights, 1.0, np.zeros(made.size)) == ""


def test_the_run_and_its_story_say_so():
    settings = ProblemSettings(expression="log(x)")
    run = Simulation(Experiment(problem=settings, optimizer="torch.optim.SGD(params, lr=0.75)", start=[1.0]))
    # 1 -> 0.25 -> -2.75: there the logarithm has a slope and no value
    run.advance(3)
    assert not run.trouble
    assert "the loss is nan here although its gradient is finite" in story(run.history, 2)
    assert "nan" not in story(run.history, 1)
    root = Simulation(Experiment(problem=ProblemSettings(expression="sqrt(x)"), start=[0.0]))
    root.advance(1)
    assert "the slope of sqrt(0) is inf" in root.trouble
    assert "The loss itself is finite (0)" in story(root.history, 0)
