"""Plays a PyTorch training loop: what the gradient holds at each optimizer.step(), and which rate is set by then."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.optim.dialects.loss_terms import loss_terms
from core.optim.dialects.syntax import is_number
from core.optim.dialects.torch_events import Event, rate_factor
from core.optim.dialects.turns import UNKNOWN, evaluate, holds, left, names_in, reaches
from core.optim.dialects.values import Call, Loop, Opaque, Operation

PLAYED_STEPS = 64
MOST_TURNS = 5_000
"""Turns without a step after which a loop counts as one that takes none."""


@dataclass(frozen=True, slots=True)
class Backward:
    """A mark in the gradient: the backward of this event for the batch with this number was added to it."""

    batch: int
    event: Event


@dataclass(frozen=True, slots=True)
class Taken:
    """One optimizer.step(): what the gradient then holds, how many batches and scheduler.step()s came before.

    ``content`` is None for gradients that are None, else the marks in order: a Backward, or an Event for what was
    done to the gradient since. ``rate`` is what lines that set the rate by hand have made of it, ``epoch`` the last
    argument of a scheduler.step(epoch) (nan: not to be worked out). ``actions`` are the scheduler.step() and the rates
    set since the step before, in order: ("step", which scheduler), ("=", rate), ("*", factor), ("/", divisor).
    """

    content: tuple[Backward | Event, ...] | None
    batches: int
    scheduled: Mapping[Any, int]
    event: Event
    rate: float = 1.0
    epoch: float = 0.0
    actions: tuple[tuple[str, Any], ...] = ()


def shows_a_loop(events: Sequence[Event]) -> bool:
    """True when the lines compute gradients and take steps, so that their order says what happens."""
    return {"backward", "step"} <= {event.kind for event in events}


def is_excerpt(events: Sequence[Event]) -> bool:
    """True for single lines out of a loop: what they do not show (zero_grad, scheduler.step) may stand elsewhere."""
    return not any(event.turns for event in events)


def play(events: Sequence[Event], base: float) -> Iterator[Taken]:
    """The steps of the loop, one after the other, as long as one asks; it ends where no more is taken."""
    return _Player(events, base).steps()


def scheduler_of(event: Event) -> Any:
    """What tells the scheduler of a scheduler.step() from others."""
    call: Call = event.what
    return id(call.receiver) if call.receiver is not None else ".".join(call.path[:-1])


def steps_an_epoch(events: Sequence[Event]) -> int | None:
    """How many batches the innermost loop with a step has in one turn of the loop around it, if the text tells."""
    found = [event.turns for event in events if event.kind == "step" and len(event.turns) > 1]
    return found[0][-1].turns if found else None


def epochs_remark(events: Sequence[Event]) -> list[str]:
    """A remark on lines that go by epochs, where nothing says how many steps an epoch has: each step is one then."""
    steps = [event for event in events if event.kind == "step"]
    depth = max((len(event.turns) for event in steps), default=0)
    if depth < 2 or any(len(event.turns) == depth and event.turns[-1].turns is not None for event in steps):
        return []
    lines = [
        event.statement.place.line
        for event in events
        if (event.kind in ("schedule", "rate") and 0 < len(event.turns) < depth)
        or (event.kind != "set" and _asks_for_epochs(event))
    ]
    if not lines:
        return []
    return [
        f"line {lines[0]} goes by epochs, and the lines do not tell how many steps an epoch has: each step counts as "
        "one here; give the loop over the batches a number (for i in range(100)) to change that"
    ]


class _Player:
    def __init__(self, events: Sequence[Event], base: float) -> None:
        self.events = list(events)
        self.gradient: list[Backward | Event] | None = None
        self.batches = 0
        self.seen: set[int] = set()
        self.turn: tuple[int, ...] = ()
        self.turned: tuple[int, ...] = ()
        self.scheduled: dict[Any, int] = {}
        self.base = self.rate = base
        self.epoch = 0.0
        self.actions: list[tuple[str, Any]] = []
        self.carried: dict[str, Any] = {}
        self.idle, self.taken = 0, False
        self.ordinals: dict[int, int] = {}
        acting = [event for event in events if event.kind == "step"]
        self.depth = max((len(event.turns) for event in acting), default=0)
        self.epochs = any(
            event.kind in ("schedule", "rate", "set") and 0 < len(event.turns) < self.depth for event in events
        )
        self.epochs = self.epochs or any(_asks_for_epochs(event) for event in events)
        self.open = _open_counters(events)
        self.forgets = is_excerpt(events) and not any(event.kind == "zero" for event in events)

    def steps(self) -> Iterator[Taken]:
        if not any(event.turns for event in self.events):  # the body of a loop without its head
            for turn in itertools.count():
                if self.idle > MOST_TURNS:
                    return
                self.idle += 1
                self.turn = (turn,)
                yield from self.block(self.events, 0, dict.fromkeys(self.open, turn))
        yield from self.block(self.events, 0, {})

    def block(self, events: Sequence[Event], depth: int, env: dict[str, Any]) -> Iterator[Taken]:
        """The events in order; those of a deeper loop as often as it turns."""
        i = 0
        while i < len(events) and self.idle <= MOST_TURNS:
            event = events[i]
            if len(event.turns) <= depth:
                taken = self.act(event, env)
                if taken is not None:
                    yield taken
                i += 1
                continue
            loop, end = event.turns[depth], i
            while end < len(events) and len(events[end].turns) > depth and events[end].turns[depth] is loop:
                end += 1
            yield from self.loop(loop, events[i:end], depth, env)
            i = end

    def loop(self, loop: Loop, events: Sequence[Event], depth: int, env: dict[str, Any]) -> Iterator[Taken]:
        self.carried.update(loop.carried)
        steps = any(event.kind == "step" for event in events)
        forever = steps and (depth == 0 or (depth == self.depth - 1 and not self.epochs and loop.turns is None))
        until_step = steps and not forever and loop.turns is None
        turns = itertools.count() if forever or until_step else range(loop.turns or _turns_told(events))
        for turn in turns:
            if self.idle > MOST_TURNS:
                return
            self.idle += 1
            ordinal = self.ordinals.get(id(loop), 0)
            self.ordinals[id(loop)] = ordinal + 1
            number = ordinal if until_step else turn
            inner = {**env}
            if depth == self.depth - 1:
                inner.update(dict.fromkeys(self.open, ordinal))
            inner.update({name: start + step * number for name, (start, step) in loop.counters.items()})
            taken = 0
            outer, self.turn = self.turn, (*self.turn, ordinal)
            for one in self.block(events, depth + 1, inner):
                taken += 1
                yield one
            self.turn = outer
            if until_step and taken:
                return

    def act(self, event: Event, env: dict[str, Any]) -> Taken | None:
        env = {**env, **self.carried}
        for name, value in event.statement.bound:
            env = {**env, name: evaluate(value, env)}
        if event.kind == "set":
            self.set_number(event, env)
            return None
        if not holds(event.statement.conditions, env):
            return None
        kind = event.kind
        if kind == "zero":
            self.gradient = None if event.what or self.gradient is None else []
        elif kind == "backward":
            if id(event) in self.seen or self.turn != self.turned or not self.batches:
                self.batches, self.seen, self.turned = self.batches + 1, set(), self.turn
            self.seen.add(id(event))
            self.gradient = [*(self.gradient or []), Backward(self.batches, event)]
        elif kind in ("clip", "edit", "unscale"):
            if self.gradient is not None:
                self.gradient.append(event)
        elif kind == "schedule":
            key = scheduler_of(event)
            self.actions.append(("step", key))
            self.scheduled[key] = self.scheduled.get(key, 0) + 1
            if event.what.args:
                epoch = evaluate(event.what.args[0], env)
                self.epoch = float(epoch) if is_number(epoch) else math.nan
        elif kind == "rate":
            self.set_rate(event, env)
        elif kind == "step":
            self.idle, self.taken = 0, True
            content = None if self.gradient is None else tuple(self.gradient)
            if self.forgets:
                self.gradient = None
            actions, self.actions = tuple(self.actions), []
            return Taken(content, self.batches, dict(self.scheduled), event, self.rate, self.epoch, actions)
        return None

    def set_number(self, event: Event, env: dict[str, Any]) -> None:
        """A number that the loop hands on changes; where it is unknown whether it does, it is unknown from here."""
        name, value = event.what
        if not reaches(event.statement.conditions, env):
            return
        sure = UNKNOWN not in [
            evaluate(condition, env) for condition in event.statement.conditions if not left(condition)
        ]
        self.carried[name] = evaluate(value, env) if sure else UNKNOWN

    def set_rate(self, event: Event, env: dict[str, Any]) -> None:
        factor = rate_factor(event.what)
        value = evaluate(event.what if factor is None else factor[1], env)
        self.actions.append(("=" if factor is None else factor[0], value if is_number(value) else math.nan))
        if not is_number(value) and self.taken:  # beyond the turns the formula is made for
            self.rate = math.nan
            return
        if not is_number(value):
            counters = ", ".join(sorted(set(env))) or "the number of the step"
            raise event.statement.place.error(
                f"the rate set here cannot be worked out; it may use numbers set above and {counters}. Write the value "
                "into the constructor, or use a scheduler (LambdaLR)"
            )
        if factor is None:
            self.rate = float(value)
        elif factor[0] == "*":
            self.rate *= value
        else:
            self.rate /= value


def _asks_for_epochs(event: Event) -> bool:
    """True where a condition names the counter of a loop around the innermost one."""
    outer = {name for loop in event.turns[:-1] for name in loop.counters}
    return any(outer & set(names_in(condition)) for condition in event.statement.conditions)


def _turns_told(events: Sequence[Event]) -> int:
    """How often a loop of unknown length inside a step turns: the number its losses are divided by."""
    for event in events:
        if event.kind == "backward":
            factor = loss_terms(event.what).factor
            parts = round(1.0 / factor) if factor else 0
            if parts >= 1 and abs(parts * factor - 1.0) < 1e-9:
                return parts
    return 1


def _open_counters(events: Sequence[Event]) -> set[str]:
    """Names that conditions count by (``step % 4``) and that no loop head and no line sets."""
    known = {name for event in events for loop in event.statement.loops for name in (*loop.counters, *loop.carried)}
    found: set[str] = set()
    for event in events:
        for condition in event.statement.conditions:
            stack = [condition]
            while stack:
                item = stack.pop()
                if isinstance(item, Operation):
                    if item.operator == "%":
                        found.update(name for name in names_in(item.left) if name not in known)
                    stack += [item.left, item.right]
                elif isinstance(item, Call):
                    stack += item.args
                elif isinstance(item, Opaque) and "%" in item.text:
                    found.update(name for name in names_in(item) if name not in known)
    return found
