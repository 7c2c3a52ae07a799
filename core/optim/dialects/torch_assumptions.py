"""What a reading takes for granted: conditions that the text does not decide, defaults that a caller may replace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from core.optim.dialects.torch_events import Event
from core.optim.dialects.turns import UNKNOWN, evaluate, left, names_in
from core.optim.dialects.values import Call, Operation, Program, Statement, describe

DECIDED = re.compile(
    r"isnan|isinf|isfinite|scale|sync_gradients|main_process|local_rank|\brank\b|len\(|norm|grad\b|resume|isfile|exists"
)
"""Conditions that are understood elsewhere, or that have nothing to do with a training on one machine."""
KINDS = ("backward", "clip", "rate", "schedule", "step")


def assumptions(program: Program, events: Sequence[Event], made: Sequence[Call]) -> list[str]:
    """Remarks on lines that are read as reached (or not) though the text does not say whether they are.

    ParseError where the rate depends on what is known only while the training runs; ``made`` are the optimizer, the
    schedulers and what else is set up.
    """
    found: dict[str, str] = {}
    for event in events:
        if event.kind not in KINDS:
            continue
        for condition in _undecided(event.statement):
            said = describe(condition.left if _is_other(condition) else condition)
            if event.kind in ("rate", "schedule") and _is_measured(condition, event.statement):
                raise event.statement.place.error(
                    f"whether this changes the rate depends on '{said}', which is known only while the training runs; "
                    "leave the line out and set the rate live at the step where it changes, or use ReduceLROnPlateau"
                )
            found.setdefault(said, _remark(event.statement, said, _is_other(condition)))
    for statement in program.statements:
        if any(statement.value is call for call in made):
            for condition in _undecided(statement):
                said = describe(condition.left if _is_other(condition) else condition)
                found.setdefault(said, _remark(statement, said, False))
    return [*found.values(), *_defaults(program, [*made, *(e.what for e in events if e.kind == "clip")])]


def check_alternatives(program: Program, schedulers: Sequence[Call]) -> None:
    """ParseError where an ``if`` that the text does not decide makes one scheduler or another."""
    for statement in program.statements:
        if any(statement.value is call for call in schedulers):
            for condition in _undecided(statement):
                said = describe(condition.left if _is_other(condition) else condition)
                raise statement.place.error(
                    f"which scheduler is made depends on '{said}', which the lines above do not say; leave the one "
                    "that holds for you"
                )


def _remark(statement: Statement, said: str, other: bool) -> str:
    place = statement.place
    if other:
        return (
            f"line {place.line} ({place.quote}) is left out: '{said}' is taken to hold, the lines above do not say so"
        )
    return f"line {place.line} ({place.quote}) is read as reached: the lines above do not say whether '{said}'"


def _is_other(condition: Any) -> bool:
    """True for the condition of an ``else``."""
    return isinstance(condition, Operation) and condition.operator == "not" and condition.text == ""


def _undecided(statement: Statement) -> Iterator[Any]:
    env: dict[str, Any] = {}
    for loop in statement.loops:
        env.update({name: start for name, (start, _) in loop.counters.items()})
        env.update(loop.carried)
    for name, value in statement.bound:
        env[name] = evaluate(value, env)
    for condition in statement.conditions:
        said = describe(condition.left if _is_other(condition) else condition)
        if left(condition) or "%" in said or DECIDED.search(said):
            continue
        if evaluate(condition, env) is UNKNOWN:
            yield condition


def _is_measured(condition: Any, statement: Statement) -> bool:
    """True where a condition uses what the loop itself works out: a loss, an accuracy."""
    used = {name.split(".")[0] for name in names_in(condition)}
    texts = set(re.findall(r"[A-Za-z_]\w*", describe(condition)))
    return any((used | texts) & loop.assigned for loop in statement.loops)


def _defaults(program: Program, calls: Sequence[Call]) -> list[str]:
    """A remark on the defaults of arguments that these calls use."""
    texts = " ".join(call.text for call in calls)
    found = []
    for name, where in program.assumed.items():
        pattern = rf"{re.escape(name)}\b" if name.startswith(".") else rf"(?<![\w.]){re.escape(name)}\b(?!\s*=[^=])"
        if re.search(pattern, texts):
            found.append(f"{name.lstrip('.')} is {where}")
    return [f"taken as they stand: {'; '.join(found)}"] if found else []
