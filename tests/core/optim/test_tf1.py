"""tf.compat.v1.train: every recorded trajectory and clip, from lines of TF1 code; and the code written back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.optim import Optimizer, parse_optimizer
from core.optim.layout import Layout
from tests.core.optim.reference_problems import arguments, assert_reads_back, problem_of, run_case
from tests.reference_data import assert_close, cases, numbers

FILES = [
    "tf1_adadelta",
    "tf1_adagrad",
    "tf1_adam",
    "tf1_clip",
    "tf1_ftrl",
    "tf1_gradient_descent",
    "tf1_momentum",
    "tf1_proximal_adagrad",
    "tf1_proximal_gradient_descent",
    "tf1_rmsprop",
    "tf1_scheduled",
]
CASES = [(file, case) for file in FILES for case in cases(file, "trajectory")]
LEAKS = cases("tf1_float32_leaks", "trajectory")
WIDE = "w = tf.Variable(start, dtype=tf.float64)\n"


def clip_statement(clip: dict[str, Any] | None) -> str:
    """The line that clips, as training loops have it."""
    if clip is None:
        return ""
    settings = {key: value for key, value in clip.items() if key != "kind"}
    if clip["kind"] == "clip_by_global_norm":
        return f"grads, norm = tf.clip_by_global_norm(grads, {arguments(settings)})\n"
    return f"grads = [tf.{clip['kind']}(g, {arguments(settings)}) for g in grads]\n"


def lines_of(case: dict[str, Any]) -> str:
    """The lines of TF1 code that the case was recorded with."""
    settings = dict(case["optimizer"])
    name = settings.pop("name")
    text = clip_statement(case["clip"])
    if case["schedule"]:
        schedule = dict(case["schedule"])
        kind = schedule.pop("name")
        step = "x=step" if kind == "piecewise_constant" else "global_step=step"
        text += f"lr = tf.compat.v1.train.{kind}({step}, {arguments(schedule)})\n"
        settings = {"learning_rate": None, **settings}
        return text + f"tf.compat.v1.train.{name}({arguments(settings)})".replace(
            "learning_rate=None", "learning_rate=lr"
        )
    return text + f"tf.compat.v1.train.{name}({arguments(settings)})"


@pytest.mark.parametrize(("file", "case"), CASES, ids=[case["id"] for _, case in CASES])
def test_trajectory_is_that_of_tensorflow(file: str, case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(lines_of(case))
    assert optimizer.dialect == "tf1"
    run_case(case, optimizer, problem_of(file, case["problem"]))


@pytest.mark.parametrize("case", [case for _, case in CASES] + LEAKS, ids=lambda case: case["id"])
def test_written_code_reads_back_as_the_same_optimizer(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(WIDE + lines_of(case) if "leaks" in case["id"] else lines_of(case))
    assert_reads_back(optimizer, "tf1")


@pytest.mark.parametrize("case", LEAKS, ids=lambda case: case["id"])
def test_plain_numbers_beside_float64_variables_go_through_float32(case: dict[str, Any]) -> None:
    """TensorFlow makes float32 constants of them; with such variables in the lines we do the same.

    The recorded tolerances are loose (1e-3 to 1e-5), meant for those who do not; what is reproduced agrees to 1e-10.
    """
    optimizer = parse_optimizer(WIDE + lines_of(case))
    run_case(case, optimizer, problem_of("tf1_float32_leaks", case["problem"]), tol=1e-10)


def clipped(clip: dict[str, Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """What one step of plain descent at rate 1 takes off the weights: the clipped gradients."""
    line = clip_statement(clip) + "tf.compat.v1.train.GradientDescentOptimizer(1.0)"
    optimizer: Optimizer = parse_optimizer(line)
    layout = Layout([f"v{i}" for i in range(len(arrays))], [array.shape for array in arrays])
    gradient = layout.join(arrays, np.float64)
    _, after = optimizer.step_flat(np.zeros(layout.size), gradient, layout)
    return layout.split(-after)


@pytest.mark.parametrize("case", cases("tf1_clip_functions"), ids=lambda case: case["id"])
def test_clipping_functions(case: dict[str, Any]) -> None:
    result = clipped(case["clip"], [numbers(array) for array in case["input"]])
    for ours, theirs in zip(result, case["output"], strict=True):
        assert_close(ours, theirs, case["tol"], case["id"])
