"""The published schema of experiment files (docs/experiment.schema.json is made from it)."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from core.simulation.experiment import VERSION, Experiment


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of version VERSION."""
    schema = msgspec.json.schema(Experiment)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Stepscope experiment, version {VERSION}",
        **schema,
    }


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(experiment_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
