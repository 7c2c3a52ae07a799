"""What is said about data that does not fit: seeds, counts and classes."""

import pytest

from core.problems import ProblemError, problem


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("moons(seed=-1)", "moons: seed must be a whole number from 0 up, not -1"),
        ("moons(rows=1e9)", "moons: rows must be a whole number, not '1e9'"),
        ("moons(noise=much)", "moons: noise must be a number, not 'much'"),
    ],
)
def test_settings_of_made_up_sets(data, words):
    with pytest.raises(ProblemError, match=words):
        problem("logistic_regression", data=data)


def test_one_class_and_three(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,kind\n" + "".join(f"{k},same\n" for k in range(8)))
    with pytest.raises(ProblemError, match=r"in t\.csv all rows are of one class"):
        problem("logistic_regression", data=str(path))
    with pytest.raises(ProblemError, match="iris has 3 classes; use softmax_regression"):
        problem("logistic_regression", data="iris")
