"""Loops that change after some steps: which lines act when, and how far a loop must be played to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from core.optim.dialects.torch_events import Event
from core.optim.dialects.torch_loop import Backward, Taken, play, steps_an_epoch
from core.optim.dialects.turns import names_in, numbers_in
from core.optim.schedules.stepped import Played
from core.optim.transform import Transform
from core.optim.transforms.timed import Timed

LONGEST = 20_000
"""Steps that a loop is played for at most before it is read."""
FAR = 5_000
"""Steps within which a clip or an edit that a counter switches is looked for; what comes later is found as it comes."""


def steps_to_play(events: Sequence[Event]) -> tuple[int, bool]:
    """(how many steps show what the loop does, whether clips and edits may be switched even later)."""
    fixed = [event for event in events if event.kind not in ("clip", "edit", "rate", "schedule", "set")]
    needed = _horizon(fixed, events)
    if needed > LONGEST:
        last = next(event for event in reversed(fixed) if _counts(event))
        raise last.statement.place.error(
            f"whether this changes the step after more than {LONGEST} steps cannot be seen; paste the lines of one "
            "phase"
        )
    later = _horizon([event for event in events if event.kind in ("clip", "edit")], events)
    return max(needed, min(later, FAR)), later > FAR


def _horizon(some: Sequence[Event], events: Sequence[Event]) -> int:
    """The step by which every condition on a counter has shown what it does."""
    every = steps_an_epoch(events) or 1
    found = 0.0
    for event in some:
        for condition in event.statement.conditions:
            if _counts(event):
                outer = {name for loop in event.turns[:-1] for name in (*loop.counters, *loop.carried)}
                factor = every if outer & set(names_in(condition)) else 1
                found = max([found, *(abs(number) * factor for number in numbers_in(condition))])
    return int(min(found, 1e12)) + 3


def timed_events(events: Sequence[Event], taken: Sequence[Taken], far: bool) -> list[Event]:
    """The clips and edits that counters switch on and off; ``far``: some conditions reach beyond what was played."""
    found = []
    for event in events:
        if event.kind not in ("clip", "edit") or not _counts(event):
            continue
        acting = {acts(one, event) for one in taken}
        if len(acting) > 1 or far:
            found.append(event)
    return found


def acts(one: Taken, event: Event) -> bool:
    """Whether the event acts on the finished gradient of a step."""
    return any(mark is event for mark in after_newest(one))


def after_newest(one: Taken) -> list[Any]:
    """What was done to the gradient since the newest batch."""
    content = one.content or ()
    newest = max((i for i, mark in enumerate(content) if isinstance(mark, Backward)), default=-1)
    return list(content[newest + 1 :])


def in_its_steps(rows: Sequence[Transform], event: Event, events: Sequence[Event]) -> list[Transform]:
    """The rows of a timed event, acting where the loop has it act."""

    def source() -> Iterator[float]:
        return (float(acts(one, event)) for one in play(events, 1.0))

    place = event.statement.place
    return [Timed(row, Played(source, f"line {place.line}"), place.quote) for row in rows]


def when(event: Event, taken: Sequence[Taken]) -> str:
    """A remark on the steps in which a timed event acts, counted from 0."""
    place = event.statement.place
    steps = [k for k, one in enumerate(taken) if acts(one, event)]
    changes = [k for k, (one, other) in enumerate(pairwise(taken), 1) if acts(one, event) is not acts(other, event)]
    if not steps:
        said = f"none of the first {len(taken)} steps"
    elif len(changes) == 1:
        said = f"steps {changes[0]} and later" if steps[0] else f"the steps before {changes[0]}"
    else:
        said = "steps " + ", ".join(map(str, steps[:4])) + " ..."
    return f"line {place.line} ({place.quote}) acts in {said}, as its condition says"


def check_batches(taken: Sequence[Taken]) -> None:
    """ParseError where the number of batches a step changes after some steps."""
    counts = [b.batches - a.batches for a, b in pairwise(taken)]
    for k, (one, other) in enumerate(pairwise(counts), 1):
        if one != other:
            raise taken[k + 1].event.statement.place.error(
                f"from step {k + 1} on {other} batches are collected for a step, before that {one}; paste the loop "
                f"with {one}, and when {taken[k].batches} batches are taken set n of the accumulation to {other}: the "
                "change is recorded there"
            )


def _counts(event: Event) -> bool:
    """True where a condition in front of the event names a counter of its loops."""
    counters = {name for loop in event.statement.loops for name in (*loop.counters, *loop.carried)}
    return any(counters & set(names_in(condition)) for condition in event.statement.conditions)
