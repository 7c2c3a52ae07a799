"""The table of problems that come with the program, and how they are made from a name and settings."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.problems.classics import CLASSICS
from core.problems.functions import FunctionObjective, FunctionSpec
from core.problems.models import ModelObjective
from core.problems.network import MLP
from core.problems.objective import Objective, ProblemError
from core.problems.recurrent import ElmanRNN
from core.problems.regressions import (
    LinearRegression,
    LogisticRegression,
    PolynomialRegression,
    RidgeRegression,
    SoftmaxRegression,
)
from core.problems.shapes import SHAPES


@dataclass(frozen=True)
class Entry:
    """One line of the table: how it is listed, and the maker of the objective from its settings."""

    name: str
    title: str
    kind: str  # 'function' or 'model'
    description: str
    make: Callable[[Mapping[str, Any]], Objective]


MODELS: tuple[type[ModelObjective], ...] = (
    LogisticRegression,
    SoftmaxRegression,
    LinearRegression,
    RidgeRegression,
    PolynomialRegression,
    MLP,
    ElmanRNN,
)

# name, title, description, model, settings that differ from the model's own defaults
PRESETS: tuple[tuple[str, str, str, type[ModelObjective], dict[str, Any]], ...] = (
    (
        "digits_mlp", "Handwritten digits, network", "A 64-32-10 network with batch normalisation on 8x8 pixels.",
        MLP, {"data": "digits", "layers": [32], "activation": "relu", "init": "he_normal", "norm": "batch"},
    ),
    (
        "spirals_mlp", "Two spirals, network", "A small network that has to wind its boundary around.",
        MLP, {"data": "spirals", "layers": [16, 16]},
    ),
    (
        "rnn_adding", "Adding task, recurrent network", "Exploding gradients through 30 steps in time.",
        ElmanRNN, {"data": "adding", "length": 30, "gain": 1.3},
    ),
    (
        "rnn_echo", "Echo task, recurrent network", "Repeat what came 10 steps ago.",
        ElmanRNN, {"data": "echo", "length": 20, "delay": 10},
    ),
)  # fmt: skip


def _preset(name: str, title: str, description: str, model: type[ModelObjective], settings: dict[str, Any]) -> Entry:
    return Entry(name, title, "model", description, lambda given: model({**settings, **given}))


def _function(spec: FunctionSpec) -> Entry:
    return Entry(spec.name, spec.title, "function", spec.description, lambda given: FunctionObjective(spec, given))


def _entries() -> dict[str, Entry]:
    entries = [_function(spec) for spec in (*SHAPES, *CLASSICS)]
    entries += [Entry(model.name, model.title, "model", model.description, model) for model in MODELS]
    entries += [_preset(*preset) for preset in PRESETS]
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
        near = difflib.get_close_matches(key, ENTRIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(ENTRIES)}"
        raise ProblemError(f"no problem {name!r}; {hint}")
    return ENTRIES[key].make(settings)
