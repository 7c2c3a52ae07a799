"""Learning rates that TF1 code feeds into a placeholder, or assigns to a variable, in ``session.run``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from core.optim.dialects.syntax import is_number
from core.optim.dialects.torch_events import Event, read_events
from core.optim.dialects.torch_loop import play
from core.optim.dialects.turns import evaluate
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Place, Program, Statement, walk
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.stepped import HandSetRate

PLACEHOLDERS = ("placeholder", "placeholder_with_default")
ASSIGNING = ("assign", "assign_add", "assign_sub", "load")


def fed_rate(program: Program, given: Any, place: Place) -> float | AbsoluteSchedule | None:
    """The rate fed into the placeholder ``given`` in each turn of the loop; None where it is no placeholder."""
    if not isinstance(given, Call) or given.receiver is not None:
        return None
    if given.name in ("Variable", "get_variable"):
        check_assigned(program, given)
        return None
    if given.name not in PLACEHOLDERS:
        return None
    events = read_events(program, _Feeds(given))
    lines = [event for event in events if event.kind == "rate"]
    if not lines:
        raise place.error(
            "the learning rate is a placeholder, and no session.run(..., feed_dict={...}) says what is fed into it; "
            "write a number, or paste the training loop as well"
        )
    fixed = {evaluate(event.what, {}) for event in lines}
    if len(fixed) == 1 and is_number(value := fixed.pop()):
        return float(value)
    first = next(play(events, float("nan")), None)
    if first is None or first.rate != first.rate:
        raise lines[0].statement.place.error("the rate fed here cannot be worked out; write it as a number")
    found = HandSetRate(
        lambda: (one.rate for one in play(events, first.rate)),
        first.rate,
        "; ".join(event.statement.place.quote for event in lines),
    )
    found.at(0)
    return found


def check_assigned(program: Program, variable: Call) -> None:
    """ParseError where the text assigns to the variable that holds the learning rate."""
    for call in program.calls():
        own = call.receiver is variable and call.path[-1] in ASSIGNING
        given = call.receiver is None and call.name in ASSIGNING and bool(call.args) and call.args[0] is variable
        if own or given:
            raise call.error(
                "the learning rate is a variable that is assigned to here; write the rate as a number, as one of "
                "tf.train's decays, or feed it into a placeholder in the loop"
            )


class _Feeds:
    """Events of a loop of ``session.run``: the rate that is fed, the step that is taken."""

    def __init__(self, placeholder: Call) -> None:
        self.placeholder = placeholder

    def of(self, statement: Statement) -> Iterator[Event]:
        call = _run(statement.value)
        if call is None:
            return
        given = call.kwargs.get("feed_dict", call.args[1] if len(call.args) > 1 else None)
        value = self.fed(given)
        if value is not None and _trains(call):
            yield Event("rate", statement, value)
            yield Event("step", statement, call)

    def fed(self, given: Any) -> Any:
        """What a feed_dict feeds into the placeholder."""
        node = given.node if isinstance(given, Opaque) else None
        if not isinstance(node, ast.Dict):
            return None
        for key, item in zip(node.keys, node.values, strict=True):
            if key is not None and given.names.get(ast.unparse(key)) is self.placeholder:
                return Opaque(ast.unparse(item), item, given.names, given.place)
        return None


def _run(value: Any) -> Call | None:
    """The call of ``session.run`` (or ``op.run``) in a statement's value."""
    if isinstance(value, Attribute):
        value = value.owner
    return value if isinstance(value, Call) and value.path[-1] == "run" else None


def _trains(call: Call) -> bool:
    """False for a run that only looks at losses: nothing in it is a train op the text makes."""
    asked = [call.receiver, *call.args[:1]]
    if any(isinstance(one, Name) for one in asked):
        return True
    names = [inner.path[-1] for one in asked for inner in walk(one)]
    return any(name in ("minimize", "apply_gradients", "group") for name in names)
