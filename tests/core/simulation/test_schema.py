"""The published schema is the one the program checks by."""

import json
from pathlib import Path

from core.simulation import Experiment
from core.simulation.schema import schema_text

DOCS = Path(__file__).parents[3] / "docs"


def test_the_published_schema_is_current():
    """Make it anew with: python -m core.simulation.schema > docs/experiment.schema.json"""
    assert (DOCS / "experiment.schema.json").read_text(encoding="utf-8") == schema_text()


def test_every_field_of_a_file_stands_in_the_schema():
    schema = json.loads(schema_text())
    fields = schema["$defs"]["Experiment"]["properties"]
    assert set(json.loads(Experiment(seed=1).to_bytes())) <= set(fields)
    assert schema["$defs"]["Experiment"]["additionalProperties"] is False
