"""PyTorch's scheduler objects at work on one parameter group: what each constructor and each step() leave behind."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from core.declare import SettingError
from core.optim.schedules.base import Schedule

LONGEST = 10_000_000
_LOCK = Lock()


class Group:
    """``param_group``: the rate and momentum as they are, the initial rate, and what schedulers share through it."""

    __slots__ = ("initial", "lr", "momentum", "shared")

    def __init__(self, lr: float) -> None:
        self.lr = lr
        self.initial: float | None = None
        self.momentum: float | None = None
        self.shared: dict[str, float] = {}


class Chainable(Schedule):
    """A PyTorch schedule, which can act on a rate that other schedules have changed before it.

    ``begin`` is what its construction does to the current rate, ``follow`` what its k-th step() does, ``again`` the
    rate that SequentialLR sets when its turn comes. All three may read and write the ``group``.
    """

    counts_calls: bool = False
    """True when k is the number of its own steps rather than its epoch (they part only inside SequentialLR)."""

    def construct(self, group: Group) -> None:
        """What the constructor does to the group before it takes down the initial rate."""

    def base_of(self, initial: float) -> float:
        """The base rate it takes down, given the group's initial rate."""
        return initial

    def begin(self, lr: float, base: float, group: Group) -> float:
        """The rate after this schedule has been set up on an optimizer whose rate is ``lr``."""
        return lr

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        """The rate for step k (counted from 0) when step k - 1 had the rate ``lr``."""
        raise NotImplementedError(f"{type(self).__name__} has to implement follow")

    def again(self, lr: float, base: float, group: Group) -> float:
        """The rate at epoch 0, set in the middle of a run: PyTorch takes the closed form where there is one."""
        return self.rate(base, 0)

    def check_later(self) -> None:
        """SettingError when PyTorch fails as soon as SequentialLR comes to it in the middle of a run."""

    def shared_momentum(self, k: int, group: Group) -> float | None:
        """The momentum it writes into the group together with the rate of its epoch k."""
        return self.momentum(k)


class Container(Chainable):
    """A schedule made of others: its rates depend on one another, so they are worked out in order and kept."""

    in_turn: bool = False
    """True when the parts act one after the other (``milestones``), else all of them at each step."""
    milestones: list[float]

    def prepare(self) -> None:
        inside = list(_inside(self.parts))
        self._watched = [(part, parameter.key) for part in inside for parameter in part.parameters]
        self.moves_momentum = any(part.moves_momentum for part in inside)
        self._played: tuple[Any, Iterator[tuple[float, float | None]], list[tuple[float, float | None]]] | None = None

    def check_later(self) -> None:
        raise SettingError(
            f"SequentialLR: only the first part can be a {self.name} itself; PyTorch raises NotImplementedError when "
            "the turn of a later one comes"
        )

    def _at(self, base: float, k: int) -> tuple[float, float | None]:
        key = (base, [getattr(leaf, name) for leaf, name in self._watched])
        with _LOCK:
            if self._played is None or self._played[0] != key:
                kept = (base, [list(value) if isinstance(value, list) else value for value in key[1]])
                self._played = (kept, self.played(base), [])
            _, more, known = self._played
            k = min(k, LONGEST)
            while len(known) <= k:
                known.append(next(more))
            return known[k]

    def played(self, base: float) -> Iterator[tuple[float, float | None]]:
        """(rate, momentum or None) of step 0, 1, 2, ... on an optimizer made with the rate ``base``."""
        return play(self, base)

    def rate(self, base: float, k: int) -> float:
        return self._at(base, k)[0]

    def momentum(self, k: int) -> float | None:
        # the momentum does not depend on the base rate: ask at the one that is at work
        base = self._played[0][0] if self._played is not None else 1.0
        return self._at(base, k)[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> Container:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in vars(self).items():
            if name not in ("_played", "_watched"):
                setattr(twin, name, copy.deepcopy(value, memo))
        twin.prepare()
        return twin


def _inside(parts: Sequence[Schedule]) -> Iterator[Schedule]:
    for part in parts:
        yield part
        yield from _inside(part.parts)


class _Leaf:
    """A scheduler object that holds no others: its epoch, how often it was stepped, its base rate."""

    def __init__(self, schedule: Chainable, group: Group) -> None:
        self.schedule, self.group = schedule, group
        schedule.construct(group)
        if group.initial is None:
            group.initial = group.lr
        self.base = schedule.base_of(group.initial)
        self.epoch = -1
        self.initial_step()

    def undo(self) -> None:
        self.epoch -= 1

    def initial_step(self) -> None:
        self.epoch += 1
        self.calls = 0
        self._write(self.schedule.begin(self.group.lr, self.base, self.group))

    def step(self) -> None:
        self.epoch += 1
        self.calls += 1
        k = self.calls if self.schedule.counts_calls else self.epoch
        self._write(self.schedule.follow(self.group.lr, self.base, k, self.group))

    def restart(self) -> None:
        self.epoch = 0
        self._write(self.schedule.again(self.group.lr, self.base, self.group))

    def _write(self, lr: float) -> None:
        self.group.lr = lr
        found = self.schedule.shared_momentum(max(self.epoch, 0), self.group)
        if found is not None:
            self.group.momentum = found


class _Together:
    """A ChainedScheduler object."""

    def __init__(self, schedule: Container, group: Group) -> None:
        self.parts = [built(part, group) for part in schedule.parts]

    def undo(self) -> None:
        for part in self.parts:
            part.undo()

    def initial_step(self) -> None:
        self.step()

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def restart(self) -> None:
        raise AssertionError("SequentialLR has checked that it comes first")


class _InTurn(_Together):
    """A SequentialLR object."""

    def __init__(self, schedule: Container, group: Group) -> None:
        super().__init__(schedule, group)
        self.milestones = schedule.milestones
        self.epoch = 0
        assert group.initial is not None
        group.lr = group.initial
        self.undo()
        self.parts[bisect_right(self.milestones, 0)].initial_step()

    def step(self) -> None:
        self.epoch += 1
        i = bisect_right(self.milestones, self.epoch)
        if i > 0 and self.milestones[i - 1] == self.epoch:
            self.parts[i].restart()
        else:
            self.parts[i].step()


def built(schedule: Schedule, group: Group) -> _Leaf | _Together:
    """The scheduler object of ``schedule`` on this group."""
    if isinstance(schedule, Container):
        return _InTurn(schedule, group) if schedule.in_turn else _Together(schedule, group)
    assert isinstance(schedule, Chainable)
    return _Leaf(schedule, group)


def play(schedule: Chainable, base: float) -> Iterator[tuple[float, float | None]]:
    """(rate, momentum or None) of step 0, 1, 2, ... on an optimizer made with the rate ``base``."""
    group = Group(base)
    made = built(schedule, group)
    while True:
        yield group.lr, group.momentum
        made.step()
