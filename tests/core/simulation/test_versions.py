"""Files of every former version open and replay; files of versions to come, and unknown keys, are refused clearly."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.simulation import Experiment, ExperimentError, Simulation
from core.simulation.experiment import VERSION
from core.simulation.migrations import MIGRATIONS, VersionError, upgraded
from core.simulation.schema import experiment_schema

FOLDER = Path(__file__).parent / "versions"
# what the program that wrote each file came to: loss of steps 0, 50 and 99, the weights at the end
CAME_TO = {
    1: ([9.5625, 0.009860654008643714, 1.4162455637107774e-06], [-0.0011904477141797543, -0.0001267834159079939]),
}


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_file_of_every_version_opens_and_replays(version):
    path = FOLDER / f"version_{version}.json"
    assert json.loads(path.read_text())["version"] == version
    experiment = Experiment.load(path)
    simulation = Simulation(experiment)
    simulation.advance(experiment.recorded.steps)
    losses, weights = CAME_TO[version]
    # float32 weights: another processor may round a sum otherwise
    np.testing.assert_allclose(simulation.history["loss"][[0, 50, 99]], losses, rtol=1e-4)
    np.testing.assert_allclose(simulation.weights, weights, rtol=1e-4)


def test_there_is_a_migration_from_every_former_version():
    assert list(MIGRATIONS) == list(range(1, VERSION))


def test_migrations_run_one_after_the_other_and_leave_the_document_alone():
    def renamed(document):
        document = dict(document)
        document["title"] = document.pop("name")
        return document

    steps = {1: renamed, 2: lambda document: {**document, "title": document["title"].upper()}}
    old = {"version": 1, "name": "a"}
    assert upgraded(old, 3, steps) == {"version": 3, "title": "A"}
    assert upgraded({"version": 2, "title": "b"}, 3, steps) == {"version": 3, "title": "B"}
    assert upgraded({"title": "c"}, 3, steps) == {"title": "c"}
    assert old == {"version": 1, "name": "a"}
    with pytest.raises(VersionError, match=r"version 4 is newer than this program understands \(3\)"):
        upgraded({"version": 4}, 3, steps)


@pytest.mark.parametrize("version", ["1", 0, -1, True, 1.5, None, [1]])
def test_a_version_that_is_none_is_named(version):
    with pytest.raises(ExperimentError, match=r"my file: at version: a whole number from 1 to \d+ is needed"):
        Experiment.from_bytes(json.dumps({"version": version}).encode(), "my file")


def test_a_file_of_a_newer_program_says_what_to_do(tmp_path):
    path = tmp_path / "tomorrow.json"
    path.write_text(json.dumps({"version": VERSION + 1, "what_is_new": 1}))
    with pytest.raises(ExperimentError, match=rf"tomorrow\.json: version {VERSION + 1} is newer .* update Stepscope"):
        Experiment.load(path)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"sead": 1}, "sead"),
        ({"problem": {"nam": "x"}}, "at problem"),
        ({"events": [{"step": 1, "target": "a", "key": "b", "value": 1, "new": 2}]}, r"at events\[0\]"),
        ({"recorded": {"steps": 1, "digest": "", "numpy": "", "machine": "", "cpu": ""}}, "at recorded"),
    ],
)
def test_unknown_keys_are_refused(document, place):
    with pytest.raises(ExperimentError, match=place):
        Experiment.from_bytes(json.dumps(document).encode())


def test_the_schema_refuses_unknown_keys_everywhere_and_knows_those_of_every_version():
    definitions = experiment_schema()["$defs"]
    assert sorted(definitions) == ["Event", "Experiment", "ProblemSettings", "Recorded"]
    assert all(definition["additionalProperties"] is False for definition in definitions.values())
    for path in FOLDER.glob("version_*.json"):
        document = json.loads(path.read_text())
        assert set(document) <= set(definitions["Experiment"]["properties"])
        assert set(document["problem"]) <= set(definitions["ProblemSettings"]["properties"])
        for event in document["events"]:
            assert set(event) <= set(definitions["Event"]["properties"])


def test_a_comment_is_kept():
    text = json.dumps({"comment": "why I did this"}).encode()
    assert json.loads(Experiment.from_bytes(text).to_bytes())["comment"] == "why I did this"
