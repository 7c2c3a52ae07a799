"""Experiment files: what is wrong is said with its place; saving is atomic."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.simulation import Event, Experiment, ExperimentError, ProblemSettings


def test_what_is_saved_is_what_is_loaded(tmp_path):
    experiment = Experiment(
        problem=ProblemSettings(name="quadratic", values={"condition": 30.0}),
        optimizer="torch.optim.SGD(params, lr=0.1)",
        start=[1.0, 0.1 + 0.2],
        seed=3,
        storage="float16",
        events=[Event(4, "learning_rate", "learning_rate", 0.05, 0.1)],
        comment="a ravine",
    )
    experiment.save(tmp_path / "e.json")
    assert Experiment.load(tmp_path / "e.json") == experiment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"seed": "three"}', ["at seed", "int", "str"]),
        ('{"sead": 3}', ["sead"]),
        ('{"problem": {"name": 5}}', ["at problem.name", "str"]),
        ('{"storage": "float8"}', ["at storage", "float8"]),
        ('{"events": [{"step": 1, "target": "a", "key": "b"}]}', ["events[0]", "value"]),
        ('{"seed": 3', ["not a JSON document"]),
        ("[1, 2]", ["JSON object"]),
        ('{"version": 99}', ["version 99", "newer"]),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, words):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ExperimentError) as caught:
        Experiment.load(path)
    for word in ["bad.json", *words]:
        assert word in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ExperimentError, match=r"gone\.json.*no such file"):
        Experiment.load(tmp_path / "gone.json")


def test_a_read_only_folder_keeps_the_old_file(tmp_path):
    path = tmp_path / "e.json"
    Experiment(seed=1).save(path)
    blocked = tmp_path / "nowhere" / "e.json"
    with pytest.raises(OSError):
        Experiment(seed=2).save(blocked)
    assert Experiment.load(path).seed == 1
    assert [p.name for p in tmp_path.iterdir()] == ["e.json"]


KILLED = """
import os, random, signal, sys, time
from core.simulation import Experiment
path, rounds = sys.argv[1], int(sys.argv[2])
text = "x" * 20000
random.seed(0)
for round_number in range(rounds):
    child = os.fork()
    if child == 0:
        seed = 0
        while True:
            seed += 1
            Experiment(seed=seed, comment=text).save(path)
    time.sleep(random.uniform(0.0005, 0.006))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert Experiment.load(path).comment == text, round_number
print("whole", rounds)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork and SIGKILL are POSIX")
def test_killed_200_times_while_saving_the_file_is_whole(tmp_path):
    path = tmp_path / "e.json"
    Experiment(seed=0, comment="x" * 20000).save(path)
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), "200"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "whole 200", done.stderr
