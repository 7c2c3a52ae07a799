"""Lists of live changes: one given another value, moved to another step, or taken out. None of them acts here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any

from core.declare import SettingError
from core.simulation.experiment import Event


def first_difference(new: Sequence[Event], old: Sequence[Event]) -> int | None:
    """The first step at which two lists, each in the order of steps, act differently; None: they do the same."""
    for mine, its in zip_longest(new, old):
        if mine is None or its is None or mine.acts != its.acts:
            return min(event.step for event in (mine, its) if event is not None)
    return None


def with_value(events: Sequence[Event], event: Event, value: Any) -> list[Event]:
    """``event`` with another value."""
    place = place_of(events, event)
    return [*events[:place], event.replace(value=value), *events[place + 1 :]]


def moved(events: Sequence[Event], chosen: Sequence[Event], by: int) -> list[Event]:
    """The ``chosen`` ones later by so many steps (earlier: below 0); SettingError where another one stands already.

    Among the changes of a step a moved one acts last.
    """
    rest = without(events, chosen)
    going = [event.replace(step=event.step + by) for event in chosen]
    taken = {event.acts[:3] for event in rest}
    for event in going:
        if event.step < 0:
            raise SettingError(f"step {event.step}: steps count from 0")
        if event.acts[:3] in taken:
            raise SettingError(
                f"step {event.step}: the same setting is changed there already; edit that one, or choose another step"
            )
    return sorted([*rest, *going], key=lambda event: event.step)


def without(events: Sequence[Event], chosen: Collection[Event]) -> list[Event]:
    """All but the ``chosen`` ones."""
    left = list(events)
    for event in chosen:
        del left[place_of(left, event)]
    return left


def place_of(events: Sequence[Event], event: Event) -> int:
    """Where ``event`` stands; SettingError when it is no longer there (it was changed meanwhile)."""
    for place, other in enumerate(events):
        if other.acts == event.acts:
            return place
    raise SettingError(f"the change at step {event.step} is not there any more; choose it again")
