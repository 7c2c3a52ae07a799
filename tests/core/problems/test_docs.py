"""The examples in docs/problems.md run, and what it says of names and numbers is so."""

import re
from pathlib import Path
from typing import Any

from core.problems import problem, problem_names
from core.problems.curvature import DENSE_SIZE
from core.problems.functions import FunctionObjective
from core.problems.generated import generated_names
from core.problems.vocabulary import FUNCTIONS

TEXT = (Path(__file__).parents[3] / "docs" / "problems.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 10
    for block in blocks:
        exec(compile(block, "docs/problems.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "^" in printed and "broken.csv, line 3, column 3" in printed
    assert "The gradient is not finite although the loss (0) is: the slope of sqrt(0) is inf." in printed
    assert "*The gradient is not finite although the loss (0) is: the slope of sqrt(0) is inf.*" in TEXT


def test_names_and_numbers_are_those_of_the_code() -> None:
    functions = [name for name in problem_names() if isinstance(problem(name), FunctionObjective)]
    assert f"{len(functions)} functions of two numbers" in TEXT
    for name in re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", TEXT, re.MULTILINE):
        for one in filter(None, name):
            assert one in problem_names()
    listed = TEXT.split("Functions have their numpy names: `")[1].split("...`")[0].split()
    assert set(listed) <= set(FUNCTIONS)
    made_up = TEXT.split("made up by a seed are\n`")[1].split("`")[0].split()
    assert made_up == list(generated_names())
    assert f"up to {DENSE_SIZE} weights" in TEXT
    for name, formula in re.findall(r"^\| `(\w+)` \| (.*?) \| .* \|$", TEXT, re.MULTILINE):
        if name in functions:
            assert problem(name).formula == formula
