"""Loads the recorded results of other frameworks (tests/reference) and the public cases (tests/cases)."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).parent
REFERENCE = TESTS / "reference"


@functools.cache
def load(name: str) -> dict[str, Any]:
    """The reference file ``name`` (with or without .json) as a dictionary."""
    path = REFERENCE / (name if name.endswith(".json") else name + ".json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def cases(name: str, kind: str | None = None) -> list[dict[str, Any]]:
    """The cases of a reference file, only those of type ``kind`` when given."""
    return [case for case in load(name)["cases"] if kind is None or case["type"] == kind]


@functools.cache
def public_cases() -> dict[str, dict[str, Any]]:
    """The public cases by id (tests/cases/cases_open.json)."""
    rows = json.loads((TESTS / "cases" / "cases_open.json").read_text(encoding="utf-8"))
    return {row["id"]: row for row in rows}


def numbers(value: Any, dtype: str = "float64") -> np.ndarray:
    """``value`` (nested lists; 'NaN' and 'Infinity' written as text) as an array."""
    return np.array(_convert(value), dtype=dtype)


def _convert(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert(item) for item in value]
    return float(value) if isinstance(value, str) else value


def assert_close(actual: Any, expected: Any, tol: float, label: str = "") -> None:
    """The comparison the reference README prescribes: ``|a - b| <= tol * (1e-3 + |b|)``; 0 means equal bits."""
    a, b = np.asarray(actual, dtype=np.float64), numbers(expected)
    assert a.shape == b.shape, f"{label}: shape {a.shape} against {b.shape}"
    if tol == 0:
        np.testing.assert_array_equal(a, b, err_msg=label)
    else:
        np.testing.assert_allclose(a, b, rtol=tol, atol=1e-3 * tol, err_msg=label)
