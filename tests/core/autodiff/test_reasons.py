"""The reason for a None is the one that holds, and names the right line, in the shapes that people's code has."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, custom_gradient, nn, stop_gradient, why_none

W = Variable(3.0, name="w")


def reason(compute: Callable[[Any], Any], source: Any = None) -> str:
    x = Variable([1.0, 2.0], name="x") if source is None else source
    with GradientTape() as tape:
        target = compute(x)
    assert tape.gradient(target, x) is None
    return tape.why_none(x)


def line_of(marker: str) -> str:
    """'test_reasons.py, line n' of the line in this file that ends with ``# marker``."""
    lines = inspect.getsource(inspect.getmodule(line_of)).split("\n")  # type: ignore[arg-type]
    (number,) = [k for k, line in enumerate(lines, 1) if line.endswith(f"# {marker}")]
    return f"test_reasons.py, line {number})"


class Layer:
    def __init__(self) -> None:
        self.memory = Variable(2.0, name="memory")

    def assigns(self, x: Any) -> Any:
        self.memory.assign(np.sum(x))  # method
        return self.memory * self.memory

    def helps(self, v: Any) -> Any:
        return np.argmax(v)  # helper


def through_a_helper(x: Any) -> Any:
    doubled = x * 2
    return W * Layer().helps(doubled)


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += float(x[0])  # loop
    return W * total


def over_several_lines(x: Any) -> Any:
    return W * np.argmax(  # lines
        x
    )


def through_many_steps(x: Any) -> Any:
    a = np.floor(x * 1)
    above = a > 1  # steps
    chosen = np.where(above, 1.0, 0.0)
    return np.sum(chosen) * W


def by_a_decision(x: Any) -> Any:
    if np.sum(x) > 0:  # decision
        return W * W
    return W


def inside_another_tape(x: Any) -> Any:
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * x)
    return np.sum(tape.gradient(y, x).numpy()) * W  # inner


@pytest.mark.parametrize(
    ("compute", "what", "marker"),
    [
        (Layer().assigns, "assigned to the variable 'memory'", "method"),
        (through_a_helper, "passes through argmax", "helper"),
        (in_a_loop, "converted to plain numpy by float()", "loop"),
        (over_several_lines, "passes through argmax", "lines"),
        (through_many_steps, "passes through greater", "steps"),
        (by_a_decision, "only takes part in a decision", "decision"),
        (inside_another_tape, "converted to plain numpy by numpy()", "inner"),
        (lambda x: sum(W * float(v) for v in x), "converted to plain numpy by float()", "generator"),  # generator
        (lambda x: W * sum([v.item() for v in x]), "converted to plain numpy by item()", "list"),  # list
        (lambda x: W * float(f"{x[0]:.3f}"), "converted to plain numpy by text", "format"),  # format
        (lambda x: W * np.sum(x.astype(int)), "passes through astype", "cast"),  # cast
        (lambda x: np.where(x > 1, W, 2 * W), "passes through greater", "where"),  # where
        (lambda x: W * np.argmax(x).item(), "passes through argmax", "both"),  # both
        (lambda x: W * nn.dropout(np.ones(2), 0.5, x[0]), "passes through dropout_mask", "seed"),  # seed
        (lambda x: W * stop_gradient(x * x)[0], "passes through stop_gradient", "stop"),  # stop
        (lambda x: W * np.isnan(x).sum(), "passes through isnan", "isnan"),  # isnan
    ],
)
def test_what_and_where(compute: Callable[[Any], Any], what: str, marker: str) -> None:
    text = reason(compute)
    assert what in text and line_of(marker) in text
    assert text.count("(") - text.count("()") == text.count(")") - text.count("()")


def test_code_without_a_file() -> None:
    space: dict[str, Any] = {"np": np, "w": W}
    exec("def f(x):\n    a = x * 2\n    c = float(np.sign(a)[0])\n    return w * c\n", space)
    assert "float() (<string>, line 3)" in reason(space["f"])
    exec(compile("def g(x):\n    return w * (x > 0)\n", "<cell 3>", "exec"), space)
    assert "greater (<cell 3>, line 2)" in reason(space["g"])


def test_both_reasons_at_once() -> None:
    text = reason(lambda x: W * np.argmax(x) + W * float(x[1]))
    assert "passes through argmax" in text and "plain numpy by float()" in text
    text = reason(lambda x: W * np.argsort(x).numpy()[0])
    assert text.index("passes through argsort") < text.index("plain numpy by numpy()")


def test_what_lies_not_on_the_way_is_not_blamed() -> None:
    nothing = "nothing that the target was computed from depends on it"
    assert nothing in reason(lambda x: (np.all(x > 0), W * W)[1])
    assert nothing in reason(lambda x: (Layer().memory.assign(np.sum(x)), W * W)[1])
    assert nothing in reason(lambda x: (np.argmax(x) * 2.0, stop_gradient(x), W * W)[2])
    text = reason(lambda x: (np.argmax(x), W * float(x[0]))[1])
    assert "argmax" not in text and "float()" in text


def test_an_operation_behind_the_one_that_blocks_is_not_blamed() -> None:
    @custom_gradient
    def no_slope(x: Any) -> Any:
        return x * 2, lambda upstream: None

    text = reason(lambda x: np.sum(no_slope(np.exp(x)) * 3))
    assert "arguments that no_slope gives no gradient for" in text


def test_outside_only_where_it_matters() -> None:
    v = Variable(2.0, name="v")
    before = np.exp(v)
    assert "'v' only through something computed outside" in reason(lambda _: W * before, v)
    assert "'v' only through something computed outside" in reason(lambda _: W * np.sin(before * 2), v)
    assert "was not used" in reason(lambda _: (before * 1.0, W * W)[1], v)
    fixed = Variable(2.0, name="fixed", trainable=False)
    assert "not trainable" in reason(lambda f: W * f, fixed)


def test_watched_or_reset_in_between() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor(1.0)
    with GradientTape() as tape:
        target = np.sum(x * x)
        tape.watch(x)
        np.sum(x)
    assert tape.gradient(target, x) is None
    assert "before tape.watch was called does not count" in tape.why_none(x)
    with GradientTape() as tape:
        tape.watch(x)
        tape.watch(y)
        target = np.sum(x)
    assert tape.gradient(target, y) is None
    assert "before tape.watch" not in tape.why_none(y)
    with GradientTape() as tape:
        target = W * W
        tape.reset()
    assert tape.gradient(target, W) is None
    assert "before tape.reset() is forgotten" in tape.why_none(W)


def test_reasons_of_a_persistent_tape_belong_to_their_target() -> None:
    x = Variable([1.0, 2.0], name="x")
    with GradientTape(persistent=True) as tape:
        index = W * np.argmax(x)
        number = W * float(x[0])
        mine = np.sum(x * x)
    assert tape.gradient(index, x) is None and "argmax" in tape.why_none(x)
    assert tape.gradient(number, x) is None and "argmax" not in tape.why_none(x)
    assert tape.gradient(mine, x).tolist() == [2, 4]


def test_why_none_says_nothing_about_watch() -> None:
    assert "tape.watch" not in str(why_none(lambda a: 3.0, 1.0))
