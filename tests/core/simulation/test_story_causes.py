"""Which cause the story names where several acted: the one without which there would have been no step, or no rest."""

import pytest

from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.story import story


def told(formula: str, lines: str, start: list[float], step: int = 0, storage: str = "float64") -> str:
    problem = ProblemSettings(name="expression", expression=formula)
    simulation = Simulation(Experiment(problem=problem, optimizer=lines, start=start, storage=storage))
    simulation.advance(step + 1)
    return story(simulation.history, step, storage=storage)


def test_a_penalty_that_adam_makes_larger_is_still_the_cause() -> None:
    # lr * 0.1 * 2 = 0.02 out of nothing, which Adam's first step makes lr
    text = told("0*x", "torch.optim.Adam(params, lr=0.1, weight_decay=0.1)", [2.0])
    assert "That is L2 added to gradient: it made a step of length 0.02 where there was none" in text
    assert "After it, second-moment scaling and bias correction 2 made the step 5 times as long." in text


def test_memory_of_adam_and_what_its_scaling_does_to_it() -> None:
    # m = 0.09, corrected 0.09/0.19: 0.04737 of lr 0.1; over sqrt(0.000999/0.001999) = 0.7069 it is 0.0670
    text = told("where(x > 0.95, x, 0*x)", "torch.optim.Adam(params, lr=0.1)", [1.0], 1)
    assert "That is first moment and bias correction 1: together they made a step of length 0.04737" in text
    assert "made the step 1.41 times as long" in text


def test_a_step_that_lookahead_takes_back_is_not_lost_by_rounding() -> None:
    # 1 -> 0.9 -> 0.8, slow weights 1 + (0.8 - 1)/2 = 0.9
    text = told("x", "optax.lookahead(optax.sgd(0.1), 2, 0.5)", [1.0], 1)
    assert "nothing moved" in text and "Lookahead took all of it away." in text
    assert "ounding" not in text


@pytest.mark.parametrize(("start", "storage"), [(1e17, "float64"), (1e4, "float16")])
def test_an_update_below_half_a_gap_is_lost_by_rounding(start: float, storage: str) -> None:
    text = told("x", "torch.optim.SGD(params, lr=1.0)", [start], 0, storage)
    assert "swallowed the whole update of 1" in text


def test_steps_that_differ_in_later_digits_are_told_with_these() -> None:
    # ASGD's decay: 0.1 * (1 + 1e-4 * 1)
    text = told("x", "torch.optim.ASGD(params, lr=0.1)", [1.0])
    assert "-lr*g is -0.1, but the applied step is -0.10001." in text


def test_decay_with_the_wrong_sign_does_not_pull() -> None:
    text = told("x", "optax.chain(optax.adam(0.1), optax.add_decayed_weights(0.1))", [2.0])
    assert "it pushes the weights away from zero" in text
    text = told("x", "optax.adamw(0.1, weight_decay=0.1)", [2.0])
    assert "it pulls the weights towards zero" in text
