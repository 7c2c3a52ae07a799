"""The table of problems that come with the program, and how they are made from a name and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.problems.classics import CLASSICS
from core.problems.functions import FunctionObjective, FunctionSpec
from core.problems.objective import Objective, ProblemError
from core.problems.regressions import LogisticRegression
from core.problems.shapes import SHAPES


@dataclass(frozen=True)
class Entry:
    """One line of the table: how it is listed, and the maker of the objective from its settings."""

    name: str
    title: str
    kind: str  # 'function' or 'model'
    description: str
    make: Callable[[Mapping[str, Any]], Objective]


def _function(spec: FunctionSpec) -> Entry:
    return Entry(
        spec.name, spec.title, "function", spec.description, lambda given: FunctionObjective(spec, given)
    )


def _entries() -> dict[str, Entry]:
    entries = [_function(spec) for spec in (*SHAPES, *CLASSICS)]
    entries.append(
        Entry(
            "logistic_regression",
            LogisticRegression.title,
            "model",
            LogisticRegression.description,
            LogisticRegression,
        )
    )
    return {entry.name: entry for entry in entries}


ENTRIES: Mapping[str, Entry] = _entries()


def problem_names() -> list[str]:
    """Names that ``problem`` takes."""
    return list(ENTRIES)


def problem(name: str, **settings: Any) -> Objective:
    """The problem of that name; ``settings`` are its parameters and options.

    ProblemError when there is no such problem, SettingError when a setting cannot be used.
    """
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    if key not in ENTRIES:
        import difflib

        near = difflib.get_close_matches(key, ENTRIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(ENTRIES)}"
        raise ProblemError(f"no problem {name!r}; {hint}")
    return ENTRIES[key].make(settings)
