"""Public questions of puzzled people (tests/core/data/questions.json), tried as calls, pasted lines and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core import autodiff
from core.autodiff import Variable, gradients_function, nn
from core.autodiff.tensor import Tensor
from core.optim import parse_optimizer
from core.problems import expression
from core.problems.planes import through_three
from core.simulation import Experiment, ProblemSettings, Simulation
from main import main

QUESTIONS = json.loads((Path(__file__).parent / "data" / "questions.json").read_text(encoding="utf-8"))["questions"]
REL = 1e-9
"""Where the right value comes from a framework that works some numbers out in float32, the question says so."""
NAMES = {
    **{name: getattr(autodiff, name) for name in dir(autodiff) if not name.startswith("_")},
    "np": np,
    "nn": nn,
    "Tensor": Tensor,
    "expression": expression,
    "through_three": through_three,
}


def of_kind(kind: str) -> Any:
    chosen = [question for question in QUESTIONS if question["kind"] == kind]
    return pytest.mark.parametrize("question", chosen, ids=[question["id"] for question in chosen])


def close(found: Any, right: Any, question: dict[str, Any]) -> None:
    given = question["given"]
    wanted = np.asarray(right, dtype=np.float64)
    rel, absolute = given.get("rel", REL), given.get("abs", 1e-15)
    np.testing.assert_allclose(np.asarray(found, dtype=np.float64), wanted, rtol=rel, atol=absolute)


@of_kind("steps")
def test_pasted_lines_with_these_gradients(question: dict[str, Any]) -> None:
    given = question["given"]
    optimizer = parse_optimizer(given["lines"])
    w, other = Variable(np.array(given["start"]), name="w"), Variable(0.0, name="other")
    applied = []
    for gradient in given["gradients"]:
        scale = optimizer.loss_scale if given.get("scaled") else None
        pairs: list[Any] = [(None if gradient is None else np.array(gradient) * (scale or 1.0), w)]
        ledger = optimizer.apply_gradients(pairs + ([(1.0, other)] if given.get("beside") else []))
        entry = ledger[w]
        applied.append(np.asarray(entry.applied).tolist())
        bound = 64 * np.spacing(np.abs(entry.expected).max() + 1.0)
        assert np.abs(entry.residual).max() <= bound, "the rows add up to the step"
    close(applied, question["right"]["applied"], question)
    for words in question.get("notes", ()):
        assert any(words in remark for remark in optimizer.remarks), optimizer.remarks


@of_kind("rates")
def test_rates_of_a_schedule(question: dict[str, Any]) -> None:
    row = parse_optimizer(question["given"]["lines"]).chain.rate
    assert row is not None
    close([row.rate(k) for k in question["given"]["at"]], question["right"]["rates"], question)


@of_kind("run")
def test_runs_and_what_explain_says_of_them(question: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    given, right = question["given"], question["right"]
    storage = given.get("storage", "float64")
    problem = ProblemSettings(name="expression", expression=given["problem"])
    simulation = Simulation(
        Experiment(problem=problem, optimizer=given["lines"], start=given["start"], storage=storage)
    )
    steps = [int(step) for part in ("applied", "weights") for step in right.get(part, {})]
    simulation.advance(max([*steps, len(right.get("rates", ())) - 1]) + 1)
    history = simulation.history
    for step, wanted in right.get("applied", {}).items():
        close(history.applied(int(step)), wanted, question)
    for step, wanted in right.get("weights", {}).items():
        close(history.weights(int(step)), wanted, question)
    if "rates" in right:
        close(history.scalar("learning_rate")[: len(right["rates"])], right["rates"], question)
    start = ",".join(map(str, given["start"]))
    asked = ["explain", "--problem", given["problem"], "--optimizer", given["lines"], "--start", start]
    assert main([*asked, "--storage", storage, "--step", str(given["step"])]) == 0
    said = capsys.readouterr().out
    for words in question.get("says", ()):
        assert words in said


@of_kind("gradient")
def test_gradients_of_functions(question: dict[str, Any]) -> None:
    function = eval(question["given"]["function"], dict(NAMES))
    close(gradients_function(function)(np.array(question["given"]["at"]))[0], question["right"]["gradient"], question)


@of_kind("code")
def test_calls_of_the_library(question: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    names = dict(NAMES)
    exec(question["given"]["code"], names)
    for found, wanted in zip(names["found"], question["right"]["found"], strict=True):
        if isinstance(wanted, str) and wanted != "nan":
            assert wanted in found
        elif wanted is None or isinstance(wanted, bool):
            assert found is None if wanted is None else bool(found) is wanted
        else:
            assert found is not None
            close(found, wanted, question)


def test_each_question_has_its_address_and_says_where_its_values_come_from() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) >= 60
    for question in QUESTIONS:
        assert question["url"].startswith("https://") and question["title"]
        assert question["derivation"] and question["puzzle"] and question["right"]
