"""Changes of gradients that a walk from the step back to the tape does not meet: one by one, or in some steps only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from core.optim.dialects.turns import UNKNOWN, evaluate, names_in
from core.optim.dialects.values import Attribute, Call, Opaque, Operation, Program, Statement, describe

GRADIENTS = re.compile(r"grad|^g$|^gs$|^gvs?$", re.I)
COUNTERS = re.compile(r"step|iter|epoch|batch|count|^[ijkt]$|^it$", re.I)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "%")


def check_stores(program: Program, known: Callable[[Any], bool]) -> None:
    """ParseError for ``grads[i] = g * 0.5`` and ``grads["w"] = ...``; what ``known`` takes is read otherwise."""
    for statement in program.statements:
        for target in statement.stores:
            if not isinstance(target, Attribute) or not target.name.startswith("["):
                continue
            name = describe(target).split("[")[0]
            if GRADIENTS.search(name.split(".")[-1]) and not known(statement.value):
                raise statement.place.error(
                    "gradients are changed one by one here; write them as one line over all of them: "
                    "[0.5 * g for g in grads], or jax.tree.map(lambda g: 0.5 * g, grads)"
                )


def check_conditions(program: Program, made_of_gradients: Callable[[Any], bool]) -> None:
    """ParseError where gradients are changed in some steps only: ``if step > 100: grads = clip(grads)``."""
    for statement in program.statements:
        named = any(GRADIENTS.search(name) for name in statement.targets)
        if not named or not isinstance(statement.value, Call | Opaque) or not made_of_gradients(statement.value):
            continue
        for condition in statement.conditions:
            if _counts(condition, statement):
                raise statement.place.error(
                    "the gradients are changed only in some steps here, as an 'if' above decides; that has no row. "
                    "Leave the line out, or the condition, whichever holds for the steps you look at"
                )


def _counts(condition: Any, statement: Statement) -> bool:
    """True for a condition that depends on which step it is."""
    if isinstance(condition, Operation) and condition.operator == "not":
        return _counts(condition.left, statement)
    if not isinstance(condition, Operation) or condition.operator not in COMPARISONS:
        return False
    if evaluate(condition, {}) is not UNKNOWN:
        return False
    counters = {name for loop in statement.loops for name in loop.counters}
    return any(name in counters or COUNTERS.search(name.split(".")[-1]) for name in names_in(condition))
