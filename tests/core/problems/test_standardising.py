"""Mean and deviation of features at the ends of the number range."""

import numpy as np
import pytest

from core.problems import ProblemError, problem

ROWS = np.array([1.0, 2.0, 4.0, 7.0])


def made(tmp_path, factor):
    path = tmp_path / "t.csv"
    lines = [f"{float(value * factor)!r},{float(k)!r}" for k, value in enumerate(ROWS)]
    path.write_text("a,y\n" + "\n".join(lines) + "\n")
    return problem("linear_regression", data=str(path), test_fraction=0.0)


@pytest.mark.parametrize("exponent", [-1000, -600, 0, 600, 1000])
def test_a_unit_that_is_a_power_of_two_changes_no_digit(tmp_path, exponent):
    model = made(tmp_path, 2.0**exponent)
    # the same standardised column whatever the unit: by the formula, on the plain rows
    wanted = (ROWS - ROWS.mean()) / ROWS.std()
    np.testing.assert_array_equal(model.samples.train_x[:, 0], wanted)


def test_what_is_too_large_is_refused_with_its_column(tmp_path):
    with pytest.raises(ProblemError, match=r"'a' holds 7e\+307, too large .* another unit"):
        made(tmp_path, 1e307)
