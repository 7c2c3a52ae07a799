"""The four ways return what TensorFlow's eager mode returned, on derivatives known by formula."""

import pytest

from core.problems import expression, problem
from core.problems.four_ways import four_ways


def test_all_four_agree_with_the_formula():
    # Rosenbrock at (-1.2, 1): value 24.2, gradient (-215.6, -88)
    ways = {way.name: way for way in four_ways(problem("rosenbrock"), [-1.2, 1.0])}
    assert ways["GradientTape"].result == "[-215.6, -88]"
    assert ways["gradients_function"].result == "[-215.6, -88]"
    pairs = ways["implicit_gradients"].result
    assert set(pairs.strip("[]").replace("), (", ")|(").split("|")) == {"(-215.6, x)", "(-88, y)"}
    assert ways["implicit_value_and_gradients"].result == f"(24.2, {pairs})"


def test_a_frozen_variable_drops_out_of_the_implicit_list_and_its_none_is_explained():
    ways = {way.name: way for way in four_ways(problem("rosenbrock"), [-1.2, 1.0], frozenset({"y"}))}
    implicit = ways["implicit_gradients"].result.splitlines()
    assert implicit == ["[(-215.6, x)]", "y is not in the list: it is not trainable"]
    assert ways["gradients_function"].result == "[-215.6, -88]"
    tape = ways["GradientTape"].result.splitlines()
    assert tape[0] == "[-215.6, None]" and tape[1].startswith("None for y:") and "trainable" in tape[1]


def test_without_a_trainable_variable_the_implicit_ways_say_so():
    ways = {way.name: way for way in four_ways(problem("rosenbrock"), [0.0, 0.0], frozenset({"x", "y"}))}
    assert ways["implicit_gradients"].result.startswith("ValueError:")
    assert "trainable" in ways["implicit_value_and_gradients"].result


@pytest.mark.parametrize("way", range(4))
def test_own_expressions_work_too(way):
    found = four_ways(expression("3*x + y**2"), [2.0, 5.0])[way]
    assert "3" in found.result and "10" in found.result
