"""Transforms inside others: for some variables only, renewed now and then, or at work only in some steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from core.optim.layout import Array, Layout
from core.optim.mask import Mask
from core.optim.transform import PerVariable, State, StepContext, Transform

COUNT = "#count"


class Nested(Transform):
    """A transform around another one, whose declaration, values and row it takes over.

    The state is the inner one's with entries of its own beside it (their keys begin with '#').
    """

    inner: Transform

    def __init__(self, inner: Transform) -> None:
        self.inner = inner
        self.name = inner.name
        self.label = inner.label
        self.cause = inner.cause
        self.formula = inner.formula
        self.source = inner.source
        self.parameters = inner.parameters
        self.group = inner.group
        self.couples = inner.couples
        self.prepare()

    def __getattr__(self, key: str) -> Any:
        if key == "inner" or key.startswith("__"):
            raise AttributeError(key)
        return getattr(self.inner, key)

    def set(self, key: str, value: Any) -> None:
        self.inner.set(key, value)
        self.prepare()

    def values(self) -> dict[str, Any]:
        return self.inner.values()

    def settings(self) -> dict[str, Any]:
        inside = self.inner.settings()
        return {"name": inside["name"], "within": type(self).__name__, **self.condition(), "inner": inside}

    def condition(self) -> dict[str, Any]:
        """What distinguishes this wrapping from another, as plain data."""
        return {}

    def idle(self) -> bool:
        return not self.enabled or self.inner.idle()

    def init(self, weights: Array, layout: Layout) -> State:
        return self.inner.init(weights, layout)

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return self.inner.combine(updates, layouts)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return self.inner.update(u, state, ctx)

    def explain(self, figures: dict[str, float]) -> str:
        return self.inner.explain(figures)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"


class Masked(Nested):
    """The inner transform for the variables the mask picks, as if there were no others (optax.masked)."""

    def __init__(self, inner: Transform, mask: Mask) -> None:
        self.mask = mask
        self._scratch = f"within {mask!r}"
        self._seen: tuple[Layout, _View | None] | None = None
        super().__init__(inner)

    def _view(self, layout: Layout) -> _View | None:
        """The way between all variables and the picked ones (remembered for the last layout)."""
        if self._seen is None or self._seen[0] is not layout:
            picked = self.mask.indices(layout)
            self._seen = (layout, _View(layout, picked) if picked else None)
        return self._seen[1]

    def condition(self) -> dict[str, Any]:
        return {"mask": self.mask.settings()}

    def init(self, weights: Array, layout: Layout) -> State:
        view = self._view(layout)
        if view is None:
            return {}
        return {key: view.spread(value) for key, value in self.inner.init(view.take(weights), view.layout).items()}

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        parts, inside = [], []
        for u, layout in zip(updates, layouts, strict=True):
            view = _View(layout, self.mask.indices(layout))
            if view.picked:
                parts.append(view.take(u))
                inside.append(view.layout)
        return self.inner.combine(parts, inside) if parts else None

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        view = self._view(ctx.layout)
        if view is None:
            return u
        layout, start, weights = ctx.layout, ctx.start, ctx.weights
        outer = ctx.scratch
        inner_state = {key: view.gather(value) for key, value in state.items()}
        ctx.layout, ctx.start, ctx.weights = view.layout, view.take(start), view.take(weights)
        entering = ctx.weights
        ctx.scratch = outer.setdefault(self._scratch, {})
        try:
            inside = self.inner.update(view.take(u), inner_state, ctx)
            left = ctx.weights
        finally:
            ctx.layout, ctx.start, ctx.weights, ctx.scratch = layout, start, weights, outer
        if left is not entering:
            ctx.weights = view.put(weights, left)
        for key, value in inner_state.items():
            state[key] = view.spread(value)
        return view.put(u, inside)

    def explain(self, figures: dict[str, float]) -> str:
        return f"{self.inner.explain(figures)}   for {self.mask.text}"


class Counted(Nested):
    """The inner transform, whose t counts the steps in which it was at work."""

    def init(self, weights: Array, layout: Layout) -> State:
        return {**self.inner.init(weights, layout), COUNT: 0}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        count, ctx.count = ctx.count, state[COUNT]
        try:
            result = self.inner.update(u, state, ctx)
        finally:
            ctx.count = count
        state[COUNT] += 1
        return result


class Renewed(Counted):
    """The inner transform, its state back at the start after every ``period`` steps (lookahead's reset_state)."""

    def __init__(self, inner: Transform, period: int) -> None:
        self.period = period
        super().__init__(inner)

    def condition(self) -> dict[str, Any]:
        return {"period": self.period}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = super().update(u, state, ctx)
        if state[COUNT] == self.period:
            state.clear()
            state.update(self.init(ctx.start, ctx.layout))
        return result


class Sometimes(Counted):
    """The inner transform in the steps in which ``ctx.scratch[flag]`` is true; in the others u passes unchanged."""

    def __init__(self, inner: Transform, flag: str) -> None:
        self.flag = flag
        super().__init__(inner)

    def condition(self) -> dict[str, Any]:
        return {"flag": self.flag}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return super().update(u, state, ctx) if ctx.scratch.get(self.flag, True) else u


def innermost(transform: Transform) -> Transform:
    """The transform at the heart of any wrapping."""
    while isinstance(transform, Nested):
        transform = transform.inner
    return transform


def masks_of(transform: Transform) -> Iterator[Mask]:
    """Whatever tells variables apart in a transform and in those inside it."""
    while True:
        mask = transform.__dict__.get("mask")
        if isinstance(mask, Mask):
            yield mask
        if not isinstance(transform, Nested):
            return
        transform = transform.inner


class _View:
    """Some of the variables of a layout as a layout of their own, and the way between the two vectors."""

    def __init__(self, layout: Layout, picked: Sequence[int]) -> None:
        self.outer = layout
        self.picked = picked
        self.layout = layout.subset(picked)
        parts = [np.arange(layout.slices[i].start, layout.slices[i].stop) for i in picked]
        self.index = np.concatenate(parts) if parts else np.arange(0)

    def take(self, flat: Array) -> Array:
        return flat[self.index]

    def put(self, flat: Array, part: Array) -> Array:
        result = flat.copy()
        result[self.index] = part
        return result

    def spread(self, value: Any) -> Any:
        """A value of the inner state in the shape of all variables, so that it can be divided like any other."""
        if isinstance(value, PerVariable):
            full = PerVariable([None] * len(self.outer.names))
            for i, item in zip(self.picked, value, strict=True):
                full[i] = item
            return full
        if isinstance(value, np.ndarray) and value.shape == (self.layout.size,):
            full_array = np.zeros(self.outer.size, dtype=value.dtype)
            full_array[self.index] = value
            return full_array
        return value

    def gather(self, value: Any) -> Any:
        """The inverse of ``spread``."""
        if isinstance(value, PerVariable):
            return PerVariable(value[i] for i in self.picked)
        if isinstance(value, np.ndarray) and value.shape == (self.outer.size,):
            return value[self.index]
        return value
