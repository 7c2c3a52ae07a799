"""What the order of a PyTorch loop's lines means for the rate: where schedulers are stepped, rates set by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from core.optim.dialects.torch_events import Event
from core.optim.dialects.torch_loop import Taken, is_excerpt, play, scheduler_of, shows_a_loop
from core.optim.dialects.torch_reading import LoopReading
from core.optim.dialects.values import Call, Program, describe
from core.optim.schedules import Schedule
from core.optim.schedules.stepped import EpochSchedule, HandSetRate, SteppedSchedule
from core.optim.schedules.torch_cycles import CosineAnnealingWarmRestarts
from core.optim.schedules.torch_rig import Chainable
from core.optim.schedules.torch_turns import Action, AlternatingSchedule


def as_stepped(schedule: Schedule | None, reading: LoopReading, events: Sequence[Event]) -> Schedule | None:
    """The schedule as the loop steps it: where scheduler.step() stands and how often it is called."""
    calls = [event for event in events if event.kind == "schedule"]
    if schedule is None:
        return None
    if not calls and is_excerpt(events):
        return schedule
    if not calls:
        reading.remarks.append("scheduler.step() is never called: the rate stays where it starts")
        return None if schedule.watches else SteppedSchedule(schedule, 0, 0)
    if schedule.watches:
        return _watching(schedule, calls, reading)
    if isinstance(schedule, AlternatingSchedule):
        return schedule
    by_epochs = _by_epochs(schedule, calls, reading, events)
    if by_epochs is not None:
        return by_epochs
    _check_arguments(calls)
    counts = [_count(one, calls[-1]) for one in reading.taken]
    every = _every(counts)
    first, stride = counts[0], (counts[every] - counts[0] if every < len(counts) else 1)
    if any(count != first + (k // every) * stride for k, count in enumerate(counts)):
        later = {b - a for a, b in pairwise(counts[len(counts) // 2 :])}
        if len(later) > 1:
            raise calls[-1].statement.place.error(
                "how often the scheduler is stepped changes from step to step; call scheduler.step() once a step"
            )
        return SteppedSchedule(schedule, first, later.pop(), 1, counts)  # irregular at first: if epoch >= 3: step
    if first == 0 and stride == 1 and every == 1:
        return schedule
    wrapped = SteppedSchedule(schedule, first, stride, every)
    line = calls[0].statement.place.line
    if first and stride == every == 1:
        skipped = "the first value of the schedule is" if first == 1 else f"the first {first} values are"
        reading.remarks.append(f"scheduler.step() comes before optimizer.step() (line {line}): {skipped} skipped")
    elif first or stride != 1:
        reading.remarks.append(f"the scheduler is {wrapped.words}: line {line}")
    return wrapped


def _watching(schedule: Schedule, calls: Sequence[Event], reading: LoopReading) -> Schedule:
    """ReduceLROnPlateau, which is given the loss of each step behind that step here, and nowhere else."""
    counts = [_count(one, calls[-1]) for one in reading.taken]
    if counts != list(range(len(counts))):
        if counts[:1] == [1]:
            raise calls[0].statement.place.error(
                "scheduler.step(loss) comes before optimizer.step(): the rate would fall a step earlier than here, "
                "where each loss is reported behind its step; put it behind optimizer.step()"
            )
        raise calls[-1].statement.place.error(
            f"{schedule.name} is not stepped once a step here, which is not reproduced; "
            "call scheduler.step(loss) once behind each optimizer.step()"
        )
    return schedule


def as_configured(schedule: Schedule | None, program: Program) -> Schedule | None:
    """The schedule at the beat that Lightning's ``configure_optimizers`` asks for: ``{'frequency': 3}``."""
    for statement in program.statements:
        stack = [statement.value]
        while stack and schedule is not None:
            item = stack.pop()
            if isinstance(item, list | tuple):
                stack += item
            elif isinstance(item, dict):
                stack += item.values()
                every = item.get("frequency", 1)
                if "scheduler" in item and isinstance(every, int) and every > 1 and not schedule.watches:
                    return SteppedSchedule(schedule, 0, 1, every)
    return schedule


def by_turns(built: Sequence[Schedule], made: Sequence[Call], events: Sequence[Event]) -> Schedule | None:
    """The schedules as the loop steps them by turns, rates set by hand among them; None where that is not so."""
    steps = [event for event in events if event.kind == "schedule"]
    lines = [event for event in events if event.kind == "rate"]
    order = {id(call): i for i, call in enumerate(made)}
    if len(made) == 1:
        order |= {scheduler_of(event): 0 for event in steps}
    if not steps or not shows_a_loop(events) or any(scheduler_of(event) not in order for event in steps):
        return None
    together = len({tuple(map(id, event.statement.conditions)) for event in steps}) < 2
    if (together and not lines) or any(not event.turns for event in lines):
        return None
    if len(made) == 1 and not lines:
        return None
    parts = [part for part in built if isinstance(part, Chainable)]
    if len(parts) < len(built):
        return None

    def turns() -> Iterator[Sequence[Action]]:
        for one in play(events, 1.0):
            yield [order[what] if sign == "step" else (sign, what) for sign, what in one.actions]

    text = "; ".join(event.statement.place.quote for event in (*steps, *lines))
    found = AlternatingSchedule(parts, turns, text)
    found.rate(1.0, 0)
    return found


def _by_epochs(
    schedule: Schedule, calls: Sequence[Event], reading: LoopReading, events: Sequence[Event]
) -> Schedule | None:
    """Warm restarts stepped with ``epoch + i / iters``, where the text tells what that comes to."""
    if not isinstance(schedule, CosineAnnealingWarmRestarts) or not all(event.what.args for event in calls):
        return None
    if any(one.epoch != one.epoch for one in reading.taken):
        return None
    text = "; ".join(event.statement.place.quote for event in calls)
    epochs: Callable[[], Any] = lambda: (one.epoch for one in play(events, 1.0))  # noqa: E731
    return EpochSchedule(schedule, epochs, text)


def _check_arguments(calls: Sequence[Event]) -> None:
    for event in calls:
        call: Call = event.what
        if call.args and not (isinstance(call.args[0], int | float) or hasattr(call.args[0], "text") is False):
            text = str(getattr(call.args[0], "text", ""))
            if any(sign in text for sign in "+-*/"):
                raise call.error(
                    f"scheduler.step({text}) goes by fractions of an epoch, and the lines do not tell how many batches "
                    "an epoch has (iters = 100); only CosineAnnealingWarmRestarts is read so"
                )


def _count(one: Taken, event: Event) -> int:
    counts = set(one.scheduled.values()) or {0}
    if len(counts) > 1:
        raise event.statement.place.error(
            "several schedulers are stepped at different times here; step them together, or write SequentialLR"
        )
    return counts.pop()


def _every(counts: Sequence[int]) -> int:
    """After how many steps the count first changes (1 when it never does)."""
    return next((k for k, count in enumerate(counts) if count != counts[0]), 1)


def check_groups_set(events: Sequence[Event], groups: Sequence[Any]) -> None:
    """ParseError where a line sets the rate of one parameter group among several."""
    for event in events if len(groups) > 1 else ():
        targets = (*event.statement.targets, *event.statement.stores)
        texts = [target if isinstance(target, str) else describe(target) for target in targets]
        one = any(re.search(r"param_groups\[-?\d+\]", text) for text in [*texts, event.statement.place.quote])
        if event.kind == "rate" and one:
            raise event.statement.place.error(
                "the rate of one parameter group is set by hand here; write it into that group, or use LambdaLR with a "
                "function for each group"
            )


def hand_set(
    reading: LoopReading, events: Sequence[Event], schedule: Schedule | None, base: float
) -> tuple[Schedule | None, float]:
    """(schedule, base rate) where lines of the loop set the rate themselves."""
    lines = [event for event in events if event.kind == "rate"]
    if not lines or isinstance(schedule, AlternatingSchedule):
        return schedule, base
    if schedule is not None:
        raise lines[0].statement.place.error("the rate is set here by hand while a scheduler sets it too; use one")
    if not any(event.turns for event in lines) and not any(event.statement.function for event in lines):
        return None, reading.taken[0].rate
    text = "; ".join(event.statement.place.quote for event in lines)
    rates: Callable[[], Any] = lambda: (one.rate for one in play(events, base))  # noqa: E731
    found = HandSetRate(rates, base, text)
    found.at(0)
    return found, base
