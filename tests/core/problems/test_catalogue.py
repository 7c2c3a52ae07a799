"""Every problem of the table: made, stepped, described; and the rule that problems know nothing of optimizers."""

import ast
from pathlib import Path

import numpy as np
import pytest

import core.problems
from core.problems import problem, problem_names
from core.problems.catalogue import ENTRIES


@pytest.mark.parametrize("name", problem_names())
def test_every_problem_takes_steps_of_descent(name):
    made = problem(name)
    entry = ENTRIES[name]
    assert entry.title
    assert entry.description
    w = made.initial_weights(0)
    assert w.dtype == np.float64
    assert w.shape == (made.size,) == (sum(v.size for v in made.variables),)
    assert len(made.component_names) == made.size
    np.testing.assert_array_equal(made.start, w)
    kept = w.copy()
    value, gradient = made.value_and_gradient(w, 0, 0)
    np.testing.assert_array_equal(w, kept)
    assert gradient.shape == w.shape
    # a small enough step against the gradient lowers the loss of the same batch
    length = np.linalg.norm(gradient)
    if length > 0:
        lower = made.value(w - 1e-6 * gradient / length, 0, 0)
        assert lower < value
    for parameter in made.parameters:
        assert parameter.key in made.values
        assert parameter.tooltip
    again = made.with_values()
    np.testing.assert_array_equal(again.value_and_gradient(w, 0, 0)[1], gradient)
    assert name.split("_")[0] in repr(made) or made.name in repr(made)


def test_the_recorded_trajectories_starts():
    np.testing.assert_array_equal(problem("quadratic").start, [2, 1])
    np.testing.assert_array_equal(problem("rosenbrock").start, [-1.2, 1])
    np.testing.assert_array_equal(problem("beale").start, [1, 1])


def test_problems_import_only_the_autodiff_and_declarations():
    folder = Path(core.problems.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.split(".")[0] in ("core", "gui", "PySide6", "pyqtgraph"):
                    assert name.startswith(("core.autodiff", "core.problems", "core.declare")), f"{path.name}: {name}"
