"""The chain: transforms in order, run over one or several blocks of variables in lockstep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from core.declare import SettingError
from core.optim.layout import Array, Layout
from core.optim.transform import MOVED, PerVariable, State, StepContext, Transform
from core.optim.transforms.master import MasterWeights
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store


class RowTable:
    """A table of all prefixes of a step with the views that turn it into rows, made once and used at every step."""

    __slots__ = ("_factor", "_rate", "_scaled", "flat", "lower", "table", "upper")

    def __init__(self, rows: int, size: int, scaled: int) -> None:
        self.table = np.empty((rows, size))
        self.flat = self.table.reshape(-1)
        self.upper, self.lower = self.table[1:], self.table[:-1]
        self._scaled = self.table[:scaled]
        self._rate, self._factor = math.nan, np.array(math.nan)

    def scale(self, rate: float) -> None:
        """The prefixes before the learning rate times -rate."""
        if rate != self._rate:
            self._rate, self._factor = rate, np.array(-rate)
        np.multiply(self._scaled, self._factor, self._scaled)


class Chain:
    """An ordered list of transforms with unique row names; the last one is always the store (rounding).

    ``rate_index`` is the position of the learning-rate transform, or -1 when the chain has none (then the
    update is added as it is, as an optax chain without a scale would). ``master_index`` is that of the master
    weights, or -1. ``rate`` and ``store`` are those transforms themselves (``rate`` None without one), ``acting``
    all but the store, ``sharing`` those with a memory of their own for all variables, ``repeated`` the positions of
    those that there are several of (see ``own_figures``).
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not transforms:
            raise SettingError("a chain needs at least one transform; LearningRate(learning_rate=0.1) is plain SGD")
        stores = [transform for transform in transforms if isinstance(transform, Store)]
        if len(stores) > 1 or (stores and transforms[-1] is not stores[0]):
            raise SettingError("'store' casts the finished step: a chain has one, and it is last")
        self.transforms: tuple[Transform, ...] = tuple(transforms) if stores else (*transforms, Store())
        self.rate_index = self._only(LearningRate, "a chain has one learning rate; use 'scale' for further factors")
        self.master_index = self._only(MasterWeights, "a chain has one set of master weights")
        self.acting = self.transforms[:-1]
        last = self.transforms[-1]
        assert isinstance(last, Store)
        self.store: Store = last
        found = self.transforms[self.rate_index] if self.rate_index >= 0 else None
        self.rate: LearningRate | None = found if isinstance(found, LearningRate) else None
        self.sharing = tuple(transform for transform in self.transforms if transform.shares)
        names = [transform.name for transform in self.transforms]
        self.row_names = _unique(names)
        self.repeated = frozenset(k for k, name in enumerate(names) if names.count(name) > 1)
        self._tables: dict[int, RowTable] = {}

    def row_table(self, size: int) -> RowTable:
        """Working memory for the rows of a step with ``size`` components, the same at each step (one thread)."""
        table = self._tables.get(size)
        if table is None:
            table = self._tables[size] = RowTable(len(self.transforms) + 1, size, self.rate_index + 1)
        return table

    def _only(self, kind: type[Transform], message: str) -> int:
        found = [i for i, transform in enumerate(self.transforms) if isinstance(transform, kind)]
        if len(found) > 1:
            raise SettingError(message)
        return found[0] if found else -1

    def keep_master(self, states: Sequence[State], finished: Array, stored: Array) -> None:
        """Let the master weights remember the finished step before and after rounding."""
        master = self.transforms[self.master_index]
        assert isinstance(master, MasterWeights)
        master.keep(states[self.master_index], finished, stored)

    def init(self, weights: Array, layout: Layout) -> list[State]:
        """One state a transform, for the flat ``weights``."""
        return [transform.init(weights, layout) for transform in self.transforms]

    def stored_as(self, storage: str, master: bool | None = None) -> Chain:
        """The same transforms (not copies) with the weights stored in another type, with or without master weights."""
        front: list[Transform] = list(self.acting)
        if master is not None:
            front = [transform for transform in front if not isinstance(transform, MasterWeights)]
            front = [MasterWeights(), *front] if master else front
        return Chain([*front, Store(storage=storage)])

    def settings(self) -> list[dict[str, Any]]:
        """Every transform's settings as plain data, in order."""
        return [
            transform.settings() if transform.enabled else {**transform.settings(), "enabled": False}
            for transform in self.transforms
        ]

    def __iter__(self) -> Iterator[Transform]:
        return iter(self.transforms)

    def __len__(self) -> int:
        return len(self.transforms)

    def set_rates(self, context: StepContext, memories: Mapping[Transform, State]) -> None:
        """The learning rate of the step, and the momentum where a schedule moves it; a chain without one adds u."""
        rate = self.rate
        if rate is None:
            context.rate = context.base_rate = -1.0
            return
        context.base_rate = rate.learning_rate
        schedule = rate.schedule
        if schedule is None and type(rate) is LearningRate:
            context.rate = rate.learning_rate
            return
        context.rate = rate.rate(context.step, memories.get(rate))
        if schedule is not None and schedule.moves_momentum:
            context.momentum = schedule.momentum(context.step)
            if context.momentum is not None:
                context.figures[MOVED] = context.momentum
        if schedule is not None and schedule.watches and context.loss is None:
            raise SettingError(
                f"{schedule.name} watches the loss: take the step with minimize(loss), "
                "or report it with apply_gradients(pairs, loss=value)"
            )

    def index(self, row_name: str) -> int:
        """Position of the transform with this row name; a clear error when there is none."""
        try:
            return self.row_names.index(row_name)
        except ValueError:
            raise SettingError(f"no transform {row_name!r} in the chain; it has: {', '.join(self.row_names)}") from None


class Track:
    """What one run of a chain over one block left behind: the update vector and weights after each transform."""

    __slots__ = ("context", "updates", "weights")

    def __init__(self, context: StepContext) -> None:
        self.context = context
        self.updates: list[Array] = []
        self.weights: list[Array] = []


def run(
    chains: Sequence[Chain], states: Sequence[list[State]], contexts: Sequence[StepContext], without: int = -1
) -> list[Track]:
    """Run every transform but the store, in order, over all blocks in lockstep.

    ``chains[b]`` is the chain of block b (all have the same rows), ``states[b]`` the list of its states, whose
    entries are replaced. A transform that sets ``ctx.halted`` ends the step of its block: later transforms neither
    act nor advance. The transform at position ``without`` is left out.
    """
    if len(contexts) == 1:
        return [run_single(chains[0], states[0], contexts[0], without)]
    tracks = [Track(context) for context in contexts]
    current: list[Array] = [context.gradient for context in contexts]
    for k in range(len(chains[0].acting)):
        acting = [chain.transforms[k] for chain in chains]
        live = [b for b, context in enumerate(contexts) if not context.halted and acting[b].enabled and k != without]
        shared = None
        if live and acting[live[0]].couples:
            shared = acting[live[0]].combine([current[b] for b in live], [contexts[b].layout for b in live])
        for b in live:
            contexts[b].combined = shared
            if k in chains[b].repeated:
                current[b] = _noting(chains[b], k, current[b], states[b][k], contexts[b])
            else:
                current[b] = acting[b].update(current[b], states[b][k], contexts[b])
        for b, track in enumerate(tracks):
            track.updates.append(current[b])
            track.weights.append(contexts[b].weights)
    return tracks


def run_single(chain: Chain, states: list[State], context: StepContext, without: int = -1) -> Track:
    """The same for one block, the common case, with as little overhead as possible."""
    track = Track(context)
    updates, weights = track.updates, track.weights
    left_out = chain.transforms[without] if without >= 0 else None
    u = context.gradient
    if chain.repeated:
        return _run_repeated(chain, states, context, without)
    for transform, state in zip(chain.acting, states, strict=False):
        if transform.enabled and not context.halted and transform is not left_out:
            if transform.couples:
                context.combined = transform.combine((u,), (context.layout,))
            u = transform.update(u, state, context)
        updates.append(u)
        weights.append(context.weights)
    return track


def _run_repeated(chain: Chain, states: list[State], context: StepContext, without: int) -> Track:
    """The same where several rows are of one kind: each notes its figures under its own name as well."""
    track = Track(context)
    u = context.gradient
    for k, (transform, state) in enumerate(zip(chain.acting, states, strict=False)):
        if transform.enabled and not context.halted and k != without:
            if transform.couples:
                context.combined = transform.combine((u,), (context.layout,))
            u = _noting(chain, k, u, state, context) if k in chain.repeated else transform.update(u, state, context)
        track.updates.append(u)
        track.weights.append(context.weights)
    return track


class _Noted(dict[str, float]):
    """Figures that remember which of them were written."""

    def __init__(self, figures: Mapping[str, float]) -> None:
        super().__init__(figures)
        self.written: dict[str, None] = {}

    def __setitem__(self, key: str, value: float) -> None:
        self.written[key] = None
        super().__setitem__(key, value)


def _noting(chain: Chain, k: int, u: Array, state: State, context: StepContext) -> Array:
    """Row k's update; what it notes stands under its own name too ('clip_by_norm_2.clip_factor')."""
    figures = context.figures
    context.figures = noted = _Noted(figures)
    try:
        return chain.acting[k].update(u, state, context)
    finally:
        figures.update(noted)
        figures.update({f"{chain.row_names[k]}.{key}": noted[key] for key in noted.written})
        context.figures = figures


def own_figures(row_name: str, figures: Mapping[str, float]) -> dict[str, float]:
    """The figures of a step as a row noted them: of several rows of one kind each has its own."""
    mark = f"{row_name}."
    return {**figures, **{key.removeprefix(mark): value for key, value in figures.items() if key.startswith(mark)}}


def split_state(state: State, old: Layout, parts: Sequence[int]) -> State:
    """The part of ``state`` that belongs to the variables ``parts`` of ``old`` (used when variables part ways)."""
    picked = np.concatenate([np.arange(old.slices[i].start, old.slices[i].stop) for i in parts])
    return {key: _split_value(value, old, parts, picked) for key, value in state.items()}


def _split_value(value: Any, old: Layout, parts: Sequence[int], picked: Array) -> Any:
    if isinstance(value, PerVariable):
        return PerVariable(value[i] for i in parts)
    if isinstance(value, np.ndarray) and value.shape == (old.size,):
        return value[picked]
    if type(value) is tuple:  # pairs of vectors that LBFGS has kept
        return tuple(_split_value(item, old, parts, picked) for item in value)
    return value


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names, a repeated one with _2, _3 ... behind it."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(result)
