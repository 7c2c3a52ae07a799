"""Lines beside an optimizer's own that change its steps and have no row: refused, so that none is left out silently."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from core.optim.dialects.torch_events import BESIDE, COPIES
from core.optim.dialects.values import Call, Loop, Program, Statement, describe, walk

TAKES_PARAMETERS = ("parameters", "named_parameters")
WEIGHTS = (".weight", ".bias", ".data")
TURNING = ("backward", "step")
IN_PLACE = ("mul_", "div_", "add_", "sub_")


def check_beside(program: Program, optimizer: Call, known: Collection[str]) -> None:
    """A ParseError for the first such line; ``known`` are the names of calls that the dialect reads."""
    turn = next((s.loops for s in program.statements if _is_step(s)), ())
    for statement in program.statements:
        if statement.value is optimizer and any(loop in turn for loop in _turns(statement)):
            if _turns(statement) == tuple(loop for loop in turn if not loop.over_parameters):
                raise optimizer.error(
                    "the optimizer is made anew in each turn of this loop, so that its averages and its count start "
                    "again with every step; make it before the loop"
                )
            continue
        for call in walk(statement.value) if isinstance(statement.value, Call) else ():
            _check_call(call, known, statement)
        if statement.loops and statement.changes in ("*", "/") and any(map(_is_weight, statement.targets)):
            raise statement.place.error(
                "the weights are changed here by hand, beside the optimizer, and that change has no row"
            )


def made_anew(program: Program, optimizer: Call) -> list[str]:
    """A remark for an optimizer that a loop around that of the steps makes again in each of its turns."""
    turn = next((_turns(s) for s in program.statements if _is_step(s)), ())
    made = next((_turns(s) for s in program.statements if s.value is optimizer), ())
    outer = bool(made) and len(made) < len(turn) and made == turn[: len(made)]
    if not outer or any(isinstance(loop.walked, list | tuple) for loop in made):
        return []
    return [
        f"the optimizer is made anew in each turn of the outer loop (line {optimizer.line}): its averages and its "
        "count start again there; here they go on"
    ]


def _check_call(call: Call, known: Collection[str], statement: Statement) -> None:
    if call.path[-2:] == ("state", "clear"):
        raise call.error(
            "the optimizer's averages are thrown away here; fork the run at that step with an optimizer of its own "
            "instead"
        )
    if call.name in IN_PLACE and len(call.path) == 2 and statement.loops and statement.loops[-1].over_parameters:
        walked = describe(statement.loops[-1].walked)
        if not COPIES.search(call.path[0]) and not COPIES.search(walked):
            raise call.error(BESIDE)
    if call.name == "renorm_" and _is_weight(".".join(call.path[:-1])):
        raise call.error("the weights are rescaled here, beside the optimizer, and that change has no row")
    if "clip" in call.name.lower() and call.name not in known and any(map(_all_parameters, call.args)):
        raise call.error(f"{call.dotted} is not known: what it does to the steps would be missing")


def _is_step(statement: Statement) -> bool:
    value = statement.value
    return isinstance(value, Call) and value.path[-1] in TURNING and bool(statement.loops)


def _turns(statement: Statement) -> tuple[Loop, ...]:
    return tuple(loop for loop in statement.loops if not loop.over_parameters)


def _is_weight(text: str) -> bool:
    return text.endswith(WEIGHTS) and "grad" not in text


def _all_parameters(value: Any) -> bool:
    return (isinstance(value, Call) and value.path[-1] in TAKES_PARAMETERS) or "parameters()" in describe(value)
