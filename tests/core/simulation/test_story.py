"""The story of a step: every fact it states is checked against numbers worked out here."""

import math
import re

import numpy as np
import pytest

from core.optim.transform import Transform
from core.simulation.story import sentences, story, story_html
from tests.gui.synthetic import Bowl, simulate

BIG = 1e308


def rate(value):
    return ("learning_rate", {"learning_rate": value})


def told(*transforms, step=None, storage="float64", **arguments):
    arguments.setdefault("steps", 1)
    history = simulate(*transforms, storage=storage, **arguments).history
    return story(history, history.count - 1 if step is None else step, storage=storage)


def test_the_example_everyone_knows():
    text = told(("clip_by_value", {"clip_value": 1.0}), rate(0.1), objective=Bowl({"w": ()}, start=5.0))
    assert text.startswith("Step 0: -lr*g is -0.5, but the applied step is -0.1.")
    assert "In learning rates: expected -5 lr, clip by value +4 lr, applied -1 lr." in text
    assert "All of the difference is the work of clip by value: it shortened the step to 0.2 of its length" in text


def test_clipping_by_norm_says_norm_and_limit():
    transforms = ("clip_by_global_norm", {"max_norm": 1.0, "convention": "optax"}), rate(0.1)
    text = told(*transforms, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]))
    assert "the applied step points where -lr*g points, and is 0.2 times as long." in text
    assert "All of the difference is the work of clip by global norm: a norm of 5 was over the limit of 1." in text


def test_plain_descent_is_said_to_be_exactly_that():
    # 1 - 0.5 * 1 and 2 - 0.5 * 2 are exact in binary
    text = told(rate(0.5), objective=Bowl({"w": (2,)}, start=[1.0, 2.0]))
    assert text == "Step 0: nothing happened on the way: the step is -lr*g exactly."


def test_rounding_of_the_last_digits_is_no_cause():
    text = told(rate(0.1), objective=Bowl({"w": (2,)}, start=[1.0, 0.3]))
    assert text == "Step 0: nothing happened on the way: the step is -lr*g up to the rounding of the last digits."


def test_a_turn_has_its_angle_length_and_cause():
    # gradient (1, 10), clipped by value to (1, 1): from atan(10) to 45 degrees, sqrt(2/101) of the length
    text = told(("clip_by_value", {"clip_value": 1.0}), rate(0.1), objective=Bowl({"w": (2,)}, start=[1.0, 10.0]))
    turn = math.degrees(math.atan(10.0)) - 45.0
    assert f"0.141 times as long as -lr*g, and turned by {turn:.0f} degrees" in text
    assert math.isclose(math.sqrt(2.0 / 101.0), 0.141, rel_tol=5e-3)
    # what the opening has told is not told again
    assert text.endswith("All of the difference is the work of clip by value: the gradient was over the limit.")


def test_momentum_against_the_gradient_is_uphill_and_counts_the_flips():
    # steep and over-stepping: after the first step the gradient has changed sign, momentum carries on
    bowl = Bowl({"w": (2,)}, curvature=1.0, start=[1.0, 1.0])
    text = told(("momentum", {"momentum": 0.9}), rate(1.2), objective=bowl, steps=2)
    # g0 = 1, w1 = -0.2, g1 = -0.2; buffer 0.9 - 0.2 = 0.7 where -0.2 was expected
    assert "3.5 times as long as -lr*g, and turned by 180.0 degrees" in text
    assert "It goes uphill, as far as this gradient can tell." in text
    assert "momentum: the earlier gradients it mixes in point the other way and outweigh this one." in text
    assert "Every weight moved against -lr*g, mostly because of momentum." in text


def test_sign_flips_are_laid_to_the_row_that_turned_the_sign():
    bowl = Bowl({"w": (3,)}, start=[1.0, 100.0, 100.0])
    transforms = ("momentum", {}), ("second_moment", {"beta2": 0.0, "eps": 1e-12}), rate(1.5)
    history = simulate(*transforms, objective=bowl, steps=2).history
    flipped = np.sign(history.expected(1)) * np.sign(history.applied(1)) < 0
    assert flipped.tolist() == [True, False, False]
    assert "1 of 3 weights moved against -lr*g, mostly because of momentum." in story(history, 1)


def test_adams_first_averages_cancel_and_the_second_act_together():
    adam = (
        ("first_moment", {"beta1": 0.9}),
        ("bias_correction_1", {"beta1": 0.9}),
        ("second_moment", {"beta2": 0.999, "eps": 1e-12}),
        ("bias_correction_2", {"beta2": 0.999, "eps": 1e-12}),
        rate(0.1),
    )
    # Adam's first step is lr * sign(g): here 1/50 of lr * g, whichever way the averages go about it
    text = told(*adam, objective=Bowl({"w": (2,)}, start=[50.0, 50.0]))
    assert "the applied step points where -lr*g points, and is 1/50 as long." in text
    assert "First moment and bias correction 1 cancel each other in this step." in text


def test_a_lost_update_is_counted():
    # float16 has steps of 2**-10 around 1: 1e-4 is lost, 0.5 is not
    bowl = Bowl({"w": (3,)}, curvature=[1e-3, 1e-3, 5.0], start=[1.0, 1.0, 1.0])
    text = told(rate(0.1), objective=bowl, storage="float16")
    assert "Rounding to float16 swallowed the updates of 2 of 3 weights (up to 0.0001)" in text


def test_a_step_lost_altogether():
    text = told(rate(0.1), objective=Bowl({"w": ()}, curvature=1e-3, start=1.0), storage="float16")
    assert "-lr*g has length 0.0001, yet nothing moved." in text
    assert "Rounding to float16 swallowed the whole update of 0.0001" in text


def test_zero_gradient_and_zero_rate():
    text = told(rate(0.1), objective=Bowl({"w": (3,)}, start=0.0))
    assert text == "Step 0: the gradient is zero here, so nothing is expected. Nothing moved."
    text = told(rate(0.0), objective=Bowl({"w": (3,)}, start=1.0))
    assert text == "Step 0: the learning rate is 0, so -lr*g is 0. Nothing moved."


def test_momentum_moves_on_where_the_gradient_is_zero():
    # from 1 with lr 1 the bowl's minimum is hit exactly; the buffer of 1 is multiplied by 0.5
    text = told(("momentum", {"momentum": 0.5}), rate(1.0), objective=Bowl({"w": (2,)}, start=[1.0, 0.0]), steps=2)
    assert "the gradient is zero here, so nothing is expected. Yet the weights moved by 0.5." in text
    assert "That is momentum: it made a step of length 0.5 where there was none" in text


def test_divergence_in_its_forms():
    text = told(rate(BIG), objective=Bowl({"w": (2,)}, start=[1.0, 10.0]))
    assert "the run has diverged: the gradient is finite, but times a learning rate of 1e+308 it is not" in text

    class Broken(Bowl):
        def value_and_gradient(self, weights, step=0, seed=0):
            return math.nan, np.array([1.0, np.nan, np.inf])

    class BrokenLater(Bowl):
        def value_and_gradient(self, weights, step=0, seed=0):
            if step < 2:
                return super().value_and_gradient(weights, step, seed)
            return math.nan, np.array([1.0, np.nan, np.inf])

    text = told(rate(0.1), objective=Broken({"w": (3,)}))
    assert (
        "there is no step to take here: 2 of 3 components of the gradient are inf or nan, and the loss is nan" in text
    )
    assert "diverged" not in text, "it has not gone anywhere yet"
    text = told(rate(0.1), objective=BrokenLater({"w": (3,)}), steps=3)
    assert "the run has diverged: 2 of 3 components of the gradient are inf or nan (loss nan)" in text
    assert "lower the learning rate" in text
    # float16 ends at 65504
    text = told(rate(1.0), objective=Bowl({"w": (2,)}, curvature=1e4, start=[10.0, 1.0]), storage="float16")
    assert "the gradient is finite, but the step left the range of numbers" in text
    assert "The first to go wrong was rounding." in text


def test_a_run_on_its_way_to_divergence_is_noticed():
    # w is multiplied by -1.5 each step, the loss by 2.25
    history = simulate(rate(2.5), objective=Bowl({"w": (2,)}, start=[1.0, 1.0]), steps=12).history
    assert "diverging" not in story(history, 7)
    text = story(history, 8)
    assert f"in the last 8 steps the loss has grown from 1 to {2.25**8:.4g}" in text


def test_a_bounce_below_the_start_is_not_called_divergence():
    losses = [24.0, *(1e-9 * 3.0**k for k in range(9))]

    class Bouncing(Bowl):
        def value_and_gradient(self, weights, step=0, seed=0):
            return losses[step], np.array([1.0, 1.0])

    text = story(simulate(rate(0.1), objective=Bouncing({"w": (2,)}), steps=10).history, 9)
    assert "diverging" not in text
    assert f"In each of the last 8 steps the loss has grown, from 1e-09 to {1e-9 * 3.0**8:.4g}; at the start" in text
    assert "at the start it was 24." in text


class Guard(Transform):
    name = "finite_guard"
    label = "guard"
    cause = "guard"

    def update(self, u, state, ctx):
        if np.isfinite(u).all():
            return u
        ctx.halted = ctx.skipped = True
        return np.zeros_like(u)


def test_a_skipped_step_says_so():
    class Broken(Bowl):
        def value_and_gradient(self, weights, step=0, seed=0):
            return math.inf, np.array([1.0, np.inf, 2.0])

    text = told(Guard(), rate(0.1), objective=Broken({"w": (3,)}))
    assert text == (
        "Step 0: this step was skipped. Guard stopped it: 1 of 3 components of the gradient are inf or nan. "
        "No weight changed, and neither averages nor the schedule moved on."
    )


def test_the_variable_with_most_of_the_difference_is_named():
    bowl = Bowl({"W": (2, 2), "b": (2,)}, start=[100.0, 100.0, 100.0, 100.0, 1.0, 1.0])
    text = told(("clip_by_value", {"clip_value": 1.0}), rate(0.1), objective=bowl)
    assert "Nearly all of the difference is in W." in text


def test_the_order_of_the_chain_is_kept_in_the_telling():
    # L2 doubles (lambda 1 on a bowl of curvature 1), then clipping at half of what it was
    transforms = ("l2", {"weight_decay": 1.0}), ("clip_by_value", {"clip_value": 0.5}), rate(0.1)
    text = told(*transforms, objective=Bowl({"w": (2,)}, start=[1.0, 1.0]))
    assert "Most of the difference is the work of clip by value: it shortened the step to 0.25 of its length" in text
    assert "Before it, L2 added to gradient made the step 2 times as long, its direction kept." in text


def test_a_tiny_step_behind_a_huge_gradient_keeps_its_length():
    # contributions alone would lose 0.1 behind 1e19
    transforms = ("clip_by_value", {"clip_value": 1.0}), rate(0.1), ("decoupled_decay", {"weight_decay": 0.5})
    text = told(*transforms, objective=Bowl({"w": (2,)}, curvature=1e20, start=[1.0, 1.0]))
    assert "clip by value: it shortened the step to 1.0e-20 of its length" in text or "1.0e-20 times as long" in text


def test_rich_text_escapes_and_colours():
    simulation = simulate(("clip_by_value", {"clip_value": 1.0}), rate(0.1), objective=Bowl({"<w>": ()}, start=5.0))
    simulation.advance(1)
    colors = {"clipping": "#009e73", "computed": "#3b8edb", "applied": "#e8710a"}
    text = story_html(simulation.history, 0, lambda kind: colors.get(kind, "#000000"))
    assert '<b style="color:#009e73">clip by value</b>' in text
    assert '<b style="color:#3b8edb">−lr·g</b> is <b>−0.5</b>' in text
    bare = re.sub(r"<[^>]*>", "", text).replace("−lr·g", "-lr*g").replace("−", "-")
    assert bare == story(simulation.history, 0)


def test_templates_pass_through_the_translation():
    history = simulate(rate(0.5), objective=Bowl({"w": (2,)}, start=[1.0, 2.0]), steps=1).history
    words = {"Step {0}:": "Schritt {0}:"}
    assert sentences(history, 0, translate=lambda text: words.get(text, text))[0] == "Schritt 0:"


@pytest.mark.parametrize("seed", range(5))
def test_stated_numbers_agree_with_the_history(seed):
    rng = np.random.default_rng(seed)
    bowl = Bowl({"W": (4, 3), "b": (3,)}, curvature=rng.uniform(0.1, 3.0, 15), start=rng.normal(size=15))
    history = simulate(
        ("l2", {"weight_decay": 0.1}), ("clip_by_value", {"clip_value": 0.7}), ("momentum", {}), rate(0.3),
        objective=bowl, steps=12,
    ).history  # fmt: skip
    for step in range(12):
        text = story(history, step)
        e, a = -0.3 * history.gradient(step), history.applied(step)
        found = re.search(r"is (\S+) times as long as -lr\*g, and turned by (\S+) degrees", text)
        if found is None:
            continue
        cosine = e @ a / np.linalg.norm(e) / np.linalg.norm(a)
        assert float(found[1]) == pytest.approx(np.linalg.norm(a) / np.linalg.norm(e), rel=6e-3)
        assert float(found[2]) == pytest.approx(np.degrees(np.arccos(cosine)), abs=0.51)
        flips = re.search(r"(\d+) of 15 weights moved against", text)
        assert int(flips[1] if flips else 0) == np.count_nonzero(e * a < 0)


def test_what_turns_a_clipped_step_is_told_though_it_is_small():
    # gradient (30, 40) clipped to norm 1: 0.98 of the difference; then to value 0.6: from (0.6, 0.8) to (0.6, 0.6)
    transforms = (
        ("clip_by_global_norm", {"max_norm": 1.0, "convention": "optax"}), ("clip_by_value", {"clip_value": 0.6}),
        ("learning_rate", {"learning_rate": 0.1}),
    )  # fmt: skip
    text = told(*transforms, objective=Bowl({"w": (2,)}, start=[30.0, 40.0]))
    turn = math.degrees(math.atan2(0.8, 0.6)) - 45.0
    assert "Most of the difference is the work of clip by global norm: it shortened the step to 1/50" in text
    assert f"After it, clip by value turned the step by {turn:.1f} degrees and shortened it to 0.849 of" in text
