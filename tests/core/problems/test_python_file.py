"""Functions from a user's Python file: never run unasked, mistakes told with their line."""

import numpy as np
import pytest

from core.problems.objective import ProblemError
from core.problems.python_file import NotAllowed, from_python_file


def write(folder, text):
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_runs_unless_it_is_allowed(tmp_path):
    mark = tmp_path / "ran"
    path = write(tmp_path, f"open({str(mark)!r}, 'w').close()\ndef loss(x, y): return x*y\n")
    with pytest.raises(NotAllowed, match="only if you trust it"):
        from_python_file(path)
    assert not mark.exists()
    from_python_file(path, allowed=True)
    assert mark.exists()


def test_coordinates_sliders_and_derivatives(tmp_path):
    path = write(
        tmp_path,
        "import numpy as np\n"
        "title = 'Waves'\n"
        "start = [0.5, 2]\n"
        "bounds = [(-1, 1), (0, 4)]\n"
        "def loss(x, y, height=3.0, k=2):\n"
        "    'A wavy bowl.'\n"
        "    bowl = x**2 + y**2\n"
        "    return bowl + height * np.sin(k * x)\n",
    )
    made = from_python_file(path, allowed=True)
    assert (made.title, made.description, made.component_names) == ("Waves", "A wavy bowl.", ("x", "y"))
    assert dict(made.values) == {"height": 3.0, "k": 2.0, "noise": 0.0}
    assert made.bounds == ((-1, 1), (0, 4))
    value, gradient = made.value_and_gradient(made.start)
    np.testing.assert_allclose(value, 0.25 + 4 + 3 * np.sin(1.0))
    np.testing.assert_allclose(gradient, [1 + 6 * np.cos(1.0), 4.0])
    np.testing.assert_allclose(made.with_values(height=0).gradient([[1.0, 1.0]]), [[2.0, 2.0]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def loss(x, y)\n    return x\n", "mine.py, line 1: expected ':'"),
        ("import numpy as np\n1/0\n", "line 2: ZeroDivisionError"),
        ("def loss(x):\n    a = 1\n    return x + unknown\n", "line 3: NameError"),
        ("def los(x): return x\n", "no function called loss"),
        ("def loss(): return 1\n", "at least one argument"),
        ("def loss(*x): return x\n", "must name its arguments"),
        ("def loss(x, a='b'): return x\n", "default of 'a' must be a number"),
        ("start = [1, 2, 3]\ndef loss(x, y): return x*y\n", "start must be 2 numbers"),
        ("bounds = (0, 1)\ndef loss(x, y): return x*y\n", "bounds must be"),
        ("def loss(x, y):\n    if x > 0:\n        return x\n    return y\n", "line 2: TraceError"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, words):
    with pytest.raises(ProblemError, match=words.replace(".", r"\.").replace("*", r"\*")):
        from_python_file(write(tmp_path, text), allowed=True)
    with pytest.raises(ProblemError, match="cannot be read"):
        from_python_file(tmp_path / "none.py", allowed=True)
