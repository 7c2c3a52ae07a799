"""The history of a run: append-only columns, written by one thread and read by others without locks.

Vectors live in chunks that forks share; single numbers in growing arrays. A row is written completely before
``count`` is raised, and nothing below ``count`` ever changes, so a reader that takes ``count`` first sees whole rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Layout
from core.optim.ledger import StepLedger

Float64 = NDArray[np.float64]
CHUNK_BYTES = 1 << 20
SCALARS = ("loss", "learning_rate", "base_learning_rate", "skipped")


class Schema:
    """The ledger rows of a stretch of the run: unique names, causes and labels, in chain order."""

    __slots__ = ("causes", "labels", "names")

    def __init__(self, names: Sequence[str], causes: Sequence[str], labels: Sequence[str]) -> None:
        self.names = tuple(names)
        self.causes = tuple(causes)
        self.labels = tuple(labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and (self.names, self.causes) == (other.names, other.causes)

    def __hash__(self) -> int:
        return hash((self.names, self.causes))


class Chunk:
    """Vectors of up to ``capacity`` steps from step ``start`` on, all with the same ledger rows."""

    __slots__ = ("applied", "capacity", "gradient", "rows", "schema", "start", "used", "weights")

    def __init__(self, start: int, capacity: int, size: int, schema: Schema) -> None:
        self.start = start
        self.capacity = capacity
        self.used = 0
        self.schema = schema
        self.weights = np.empty((capacity, size))
        self.gradient = np.empty((capacity, size))
        self.applied = np.empty((capacity, size))
        self.rows = np.empty((capacity, len(schema.names), size))


class Column:
    """A growing array of one number a step."""

    __slots__ = ("_data", "fill")

    def __init__(self, fill: float = np.nan) -> None:
        self.fill = fill
        self._data: Float64 = np.full(1024, fill)

    def put(self, index: int, value: float) -> None:
        """Set the value of step ``index``; steps never set keep the fill value."""
        if index >= len(self._data):
            grown = np.full(max(2 * len(self._data), index + 1), self.fill)
            grown[: len(self._data)] = self._data
            self._data = grown
        self._data[index] = value

    def view(self, stop: int) -> Float64:
        """The first ``stop`` values, without copying (a column never set that far is filled up in a copy)."""
        data = self._data
        if len(data) >= stop:
            return data[:stop]
        filled = np.full(stop, self.fill)
        filled[: len(data)] = data
        return filled

    @classmethod
    def of(cls, values: Any) -> Column:
        """A column holding ``values``."""
        column = cls()
        column._data = np.array(values, dtype=np.float64)
        return column

    def copy(self, stop: int) -> Column:
        """An independent column with the first ``stop`` values."""
        other = Column(self.fill)
        other._data = np.full(max(1024, 2 * stop), self.fill)
        values = self.view(stop)
        other._data[: len(values)] = values
        return other


class History:
    """All steps of one run. ``count`` steps are readable; row k holds the state before step k, its gradient,
    what step k applied, and one contribution a ledger row.

    ``history["loss"]`` gives a column (count,); names: SCALARS, every figure the transforms noted ('clip_factor'),
    'step', and 'w.NAME[i]', 'g.NAME[i]', 'applied.NAME[i]', 'ROW.NAME[i]' for the components.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.size = layout.size
        self.count = 0
        self._chunks: list[Chunk] = []
        self._scalars: dict[str, Column] = {name: Column() for name in SCALARS}
        self._figures: dict[str, Column] = {}
        self._derived: dict[Any, tuple[Column, list[int]]] = {}

    # writing --------------------------------------------------------------------------------------------------

    def append(self, weights: Any, gradient: Any, loss: float, ledger: StepLedger) -> None:
        """Add one step; the row becomes readable when it is complete."""
        block = ledger.blocks[0]
        index = self.count
        chunk = self._chunk_for(block.chain, index)
        k = chunk.used
        chunk.weights[k] = weights
        chunk.gradient[k] = gradient
        chunk.applied[k] = block.applied
        block.contributions(out=chunk.rows[k])
        scalars = self._scalars
        scalars["loss"].put(index, loss)
        scalars["learning_rate"].put(index, ledger.learning_rate)
        scalars["base_learning_rate"].put(index, ledger.base_learning_rate)
        scalars["skipped"].put(index, 1.0 if ledger.skipped else 0.0)
        for name, value in ledger.figures.items():
            column = self._figures.get(name)
            if column is None:
                column = self._figures[name] = Column()
            column.put(index, value)
        chunk.used = k + 1
        self.count = index + 1

    def _chunk_for(self, chain: Any, index: int) -> Chunk:
        last = self._chunks[-1] if self._chunks else None
        if (
            last is not None
            and last.schema.names == chain.row_names
            and last.used < last.capacity
            and index == last.start + last.used
        ):
            return last
        schema = Schema(
            chain.row_names,
            [transform.cause for transform in chain],
            [transform.label for transform in chain],
        )
        row_bytes = 8 * self.size * (3 + len(schema.names))
        chunk = Chunk(index, max(16, min(4096, CHUNK_BYTES // row_bytes)), self.size, schema)
        self._chunks = [*self._chunks, chunk]
        return chunk

    def fork(self, step: int) -> History:
        """A history with the first ``step`` rows: vectors are shared, not copied; both go on independently."""
        other = History(self.layout)
        step = min(step, self.count)
        for chunk in self._chunks:
            if chunk.start >= step:
                break
            other._chunks.append(_shared(chunk, min(chunk.used, step - chunk.start)))
        other._scalars = {name: column.copy(step) for name, column in self._scalars.items()}
        other._figures = {name: column.copy(step) for name, column in self._figures.items()}
        other.count = step
        return other

    def load(
        self, start: int, weights: Float64, gradient: Float64, applied: Float64, rows: Float64, schema: Schema
    ) -> None:
        """Put the vectors of recorded steps from ``start`` on in place: (steps, size), rows (steps, rows, size)."""
        steps = len(weights)
        chunk = Chunk(start, 0, self.size, schema)
        chunk.capacity = chunk.used = steps
        chunk.weights, chunk.gradient, chunk.applied, chunk.rows = weights, gradient, applied, rows
        self._chunks = [*self._chunks, chunk]

    def load_scalars(self, scalars: dict[str, Float64], figures: dict[str, Float64], count: int) -> None:
        """Put the columns of recorded steps in place and make the ``count`` rows readable."""
        for table, given in ((self._scalars, scalars), (self._figures, figures)):
            for name, values in given.items():
                table[name] = Column.of(values)
        self.count = count

    # reading --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.count

    @property
    def schemas(self) -> list[tuple[int, Schema]]:
        """(first step, rows) of each stretch with the same ledger rows."""
        result: list[tuple[int, Schema]] = []
        for chunk in self._chunks:
            if not result or result[-1][1] != chunk.schema:
                result.append((chunk.start, chunk.schema))
        return result

    @property
    def row_names(self) -> tuple[str, ...]:
        """Every ledger row that occurs in the run, in order of first appearance."""
        names: dict[str, None] = {}
        for _, schema in self.schemas:
            names.update(dict.fromkeys(schema.names))
        return tuple(names)

    @property
    def figure_names(self) -> tuple[str, ...]:
        """Names of the numbers that transforms noted."""
        return tuple(self._figures)

    def schema(self, step: int) -> Schema:
        """The ledger rows of one step."""
        return self._chunk(step).schema

    def weights(self, step: int) -> Float64:
        """Weights before step ``step``, (size,), a view."""
        chunk = self._chunk(step)
        return chunk.weights[step - chunk.start]

    def gradient(self, step: int) -> Float64:
        """The gradient handed to step ``step``, (size,), a view."""
        chunk = self._chunk(step)
        return chunk.gradient[step - chunk.start]

    def applied(self, step: int) -> Float64:
        """What step ``step`` changed, (size,), a view."""
        chunk = self._chunk(step)
        return chunk.applied[step - chunk.start]

    def expected(self, step: int) -> Float64:
        """-lr * g of step ``step``, (size,)."""
        result: Float64 = self.gradient(step) * -self._scalars["base_learning_rate"].view(step + 1)[step]
        return result

    def rows(self, step: int) -> Float64:
        """Contributions of step ``step``, (rows, size), a view, in the order of ``schema(step)``."""
        chunk = self._chunk(step)
        return chunk.rows[step - chunk.start]

    def figures(self, step: int) -> dict[str, float]:
        """The numbers transforms noted in one step."""
        found = {name: float(column.view(step + 1)[step]) for name, column in self._figures.items()}
        return {name: value for name, value in found.items() if value == value}

    def scalar(self, name: str) -> Float64:
        """A column of one number a step, (count,), without copying."""
        count = self.count
        column = self._scalars.get(name) or self._figures.get(name)
        if column is None:
            raise KeyError(f"no column {name!r}; there are: {', '.join((*SCALARS, *self._figures))}")
        return column.view(count)

    def path(self, start: int = 0, stop: int | None = None, every: int = 1) -> Float64:
        """Weights before the steps start, start + every, ... below ``stop``, (steps, size)."""
        return self._gather("weights", start, self.count if stop is None else min(stop, self.count), every)

    def vectors(self, kind: str, start: int = 0, stop: int | None = None, every: int = 1) -> Float64:
        """'weights', 'gradient', 'applied' or a ledger row's name as (steps, size)."""
        return self._gather(kind, start, self.count if stop is None else min(stop, self.count), every)

    def derived(self, key: Any, compute: Callable[[Chunk, int, int], Float64]) -> Float64:
        """A column worked out from the vectors, (count,), computed once for each new row and kept.

        ``compute(chunk, a, b)`` gives the values of the chunk's rows a..b-1. Call it from one thread only.
        """
        count = self.count
        column, done = self._derived.setdefault(key, (Column(), [0]))
        for chunk in self._chunks:
            first = max(done[0], chunk.start)
            last = min(chunk.start + chunk.used, count)
            if first < last:
                values = compute(chunk, first - chunk.start, last - chunk.start)
                column.put(last - 1, 0.0)
                column.view(last)[first:last] = values
                done[0] = last
        return column.view(count)

    def __getitem__(self, name: str) -> Float64:
        if name == "step":
            return np.arange(self.count, dtype=np.float64)
        if name in self._scalars or name in self._figures:
            return self.scalar(name)
        kind, _, component = name.partition(".")
        names = self.layout.component_names()
        if component not in names:
            raise KeyError(f"no column {name!r}; ask for loss, learning_rate, w.NAME[i], applied.NAME[i], ROW.NAME[i]")
        kind = {"w": "weights", "g": "gradient"}.get(kind, kind)
        return self.vectors(kind)[:, names.index(component)]

    def column_names(self) -> list[str]:
        """The columns of an exported table, in order (design: step, loss, learning_rate, then the components)."""
        names = ["step", "loss", "learning_rate"]
        for component in self.layout.component_names():
            names += [f"w.{component}", f"g.{component}", f"applied.{component}"]
            names += [f"{row}.{component}" for row in self.row_names]
        return names

    def _chunk(self, step: int) -> Chunk:
        if not 0 <= step < self.count:
            raise IndexError(f"step {step} is not in the history: it holds steps 0 to {self.count - 1}")
        low, high = 0, len(self._chunks) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._chunks[middle].start <= step:
                low = middle
            else:
                high = middle - 1
        return self._chunks[low]

    def _gather(self, kind: str, start: int, stop: int, every: int) -> Float64:
        pieces: list[Float64] = []
        for chunk in self._chunks:
            first = max(start, chunk.start)
            first += -(first - start) % every
            last = min(chunk.start + chunk.used, stop)
            if first < last:
                pieces.append(_vectors(chunk, kind)[first - chunk.start : last - chunk.start : every])
        if not pieces:
            return np.empty((0, self.size))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _vectors(chunk: Chunk, kind: str) -> Float64:
    if kind in ("weights", "gradient", "applied"):
        result: Float64 = getattr(chunk, kind)
        return result
    if kind in chunk.schema.names:
        return chunk.rows[:, chunk.schema.names.index(kind)]
    return np.zeros_like(chunk.weights)


def _shared(chunk: Chunk, used: int) -> Chunk:
    """A closed chunk over the same memory: it can be read up to ``used`` and never grows."""
    other = object.__new__(Chunk)
    other.start, other.capacity, other.used, other.schema = chunk.start, used, used, chunk.schema
    other.weights, other.gradient = chunk.weights, chunk.gradient
    other.applied, other.rows = chunk.applied, chunk.rows
    return other
