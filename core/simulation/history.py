"""The history of a run: append-only columns, written by one thread and read by others without locks.

Vectors live in chunks that forks share; single numbers in growing arrays. A row is written completely before
``count`` is raised, and nothing below ``count`` ever changes, so a reader that takes ``count`` first sees whole rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from core.optim.layout import Layout
from core.optim.ledger import StepLedger
from core.simulation.chunks import Chunk, Float64, Schema
from core.simulation.column import Column

CHUNK_BYTES = 1 << 20
RECALLED_CHUNKS = 8
SCALARS = ("loss", "learning_rate", "base_learning_rate", "skipped")


class History:
    """All steps of one run. ``count`` steps are readable; row k holds the state before step k, its gradient,
    what step k applied, and one contribution a ledger row.

    ``history["loss"]`` gives a column (count,); names: SCALARS, every figure the transforms noted ('clip_factor'),
    'step', and 'w.NAME[i]', 'g.NAME[i]', 'applied.NAME[i]', 'ROW.NAME[i]' for the components.
    """

    def __init__(self, layout: Layout, budget: int | None = None) -> None:
        self.layout = layout
        self.size = layout.size
        self.count = 0
        self.budget = budget
        self.recall: Callable[[int, int], History] | None = None
        """Works out rows start .. stop - 1 again, for vectors that were let go."""
        self._held = 0
        self._first_held = 0
        self._recalled: dict[int, Chunk] = {}
        # a measure may be worked out of other measures
        self._lock = threading.RLock()
        self._chunks: list[Chunk] = []
        self._scalars: dict[str, Column] = {name: Column() for name in SCALARS}
        self._figures: dict[str, Column] = {}
        self._derived: dict[Any, tuple[Column, list[int]]] = {}
        self._computes: dict[Any, Compute] = {}

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
        self._chunks.append(chunk)
        self._held += chunk.nbytes
        if self.budget is not None:
            self._let_go()
        return chunk

    def _let_go(self) -> None:
        """Free the vectors of the oldest chunks until the rest fits the budget; their measures are kept."""
        while self._held > (self.budget or 0) and self._first_held < len(self._chunks) - 1:
            chunk = self._chunks[self._first_held]
            for key, compute in list(self._computes.items()):
                self._complete(key, compute, chunk.start + chunk.used)
            self._held -= chunk.nbytes
            self._chunks[self._first_held] = chunk.husk()
            self._first_held += 1

    def start_at(self, step: int) -> None:
        """Let an empty history begin at ``step`` (a replayed stretch)."""
        self.count = step

    def fork(self, step: int) -> History:
        """A history with the first ``step`` rows: vectors are shared, not copied; both go on independently."""
        other = History(self.layout, self.budget)
        step = min(step, self.count)
        for chunk in self._chunks:
            if chunk.start >= step:
                break
            other._chunks.append(chunk.shared(min(chunk.used, step - chunk.start)))
        other._scalars = {name: column.copy(step) for name, column in self._scalars.items()}
        other._figures = {name: column.copy(step) for name, column in self._figures.items()}
        other._held = sum(chunk.nbytes for chunk in other._chunks if chunk.held)
        other._first_held = next((i for i, chunk in enumerate(other._chunks) if chunk.held), len(other._chunks))
        for key, (column, done) in list(self._derived.items()):
            other._derived[key] = (column.copy(min(step, done[0])), [min(step, done[0])])
        other._computes = dict(self._computes)
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
        self._chunks.append(chunk)

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

    @property
    def held_from(self) -> int:
        """The first step whose vectors are in memory; reading earlier ones works them out again, which takes time."""
        for chunk in self._chunks[self._first_held :]:
            return chunk.start
        return 0

    def schema(self, step: int) -> Schema:
        """The ledger rows of one step."""
        return self._chunk(step).schema

    def weights(self, step: int) -> Float64:
        """Weights before step ``step``, (size,), a view."""
        chunk = self._whole(self._chunk(step))
        return chunk.weights[step - chunk.start]

    def gradient(self, step: int) -> Float64:
        """The gradient handed to step ``step``, (size,), a view."""
        chunk = self._whole(self._chunk(step))
        return chunk.gradient[step - chunk.start]

    def applied(self, step: int) -> Float64:
        """What step ``step`` changed, (size,), a view."""
        chunk = self._whole(self._chunk(step))
        return chunk.applied[step - chunk.start]

    def expected(self, step: int) -> Float64:
        """-lr * g of step ``step``, (size,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            result: Float64 = self.gradient(step) * -self._scalars["base_learning_rate"].view(step + 1)[step]
        return result

    def rows(self, step: int) -> Float64:
        """Contributions of step ``step``, (rows, size), a view, in the order of ``schema(step)``."""
        chunk = self._whole(self._chunk(step))
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

    def derived(self, key: Any, compute: Compute) -> Float64:
        """A column worked out from the vectors, (count,), computed once for each new row and kept.

        ``compute(history, chunk, a, b)`` gives the values of the chunk's rows a..b-1; it takes the history as an
        argument because forks go on with the same function. Call it from one thread only.
        """
        count = self.count
        self._computes[key] = compute
        self._complete(key, compute, count)
        return self._derived[key][0].view(count)

    def _complete(self, key: Any, compute: Compute, stop: int) -> None:
        """Work a derived column out up to row ``stop``."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = (Column(), [0])
            column, done = self._derived[key]
            for position in range(self._position(done[0]), len(self._chunks)):
                chunk = self._chunks[position]
                first, last = max(done[0], chunk.start), min(chunk.start + chunk.used, stop)
                if first >= last:
                    continue
                values = compute(self, self._whole(chunk), first - chunk.start, last - chunk.start)
                column.put(last - 1, 0.0)
                column.view(last)[first:last] = values
                done[0] = last

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
        """The chunk of ``step`` (perhaps only its outline)."""
        if not 0 <= step < self.count:
            raise IndexError(f"step {step} is not in the history: it holds steps 0 to {self.count - 1}")
        return self._chunks[self._position(step)]

    def _position(self, step: int) -> int:
        """Index of the chunk that holds ``step``."""
        low, high = 0, max(len(self._chunks) - 1, 0)
        while low < high:
            middle = (low + high + 1) // 2
            if self._chunks[middle].start <= step:
                low = middle
            else:
                high = middle - 1
        return low

    def _whole(self, chunk: Chunk) -> Chunk:
        """The chunk with its vectors, worked out again (and kept for a while) when they were let go."""
        if chunk.held:
            return chunk
        found = self._recalled.get(chunk.start)
        if found is None:
            if self.recall is None:
                raise IndexError(f"the vectors of steps {chunk.start} to {chunk.start + chunk.used - 1} were let go")
            replay = self.recall(chunk.start, chunk.start + chunk.used)
            found = replay.one_chunk(chunk)
            self._recalled[chunk.start] = found
            while len(self._recalled) > RECALLED_CHUNKS:
                self._recalled.pop(next(iter(self._recalled)))
        return found

    def one_chunk(self, like: Chunk) -> Chunk:
        """The rows of ``like`` gathered from this (replayed) history into one chunk."""
        whole = Chunk(like.start, like.used, self.size, like.schema)
        for chunk in self._chunks:
            a, b = chunk.start - like.start, chunk.start - like.start + chunk.used
            for name in ("weights", "gradient", "applied", "rows"):
                getattr(whole, name)[a:b] = getattr(chunk, name)[: chunk.used]
        whole.used = like.used
        return whole

    def _gather(self, kind: str, start: int, stop: int, every: int) -> Float64:
        pieces: list[Float64] = []
        for chunk in self._chunks:
            first = max(start, chunk.start)
            first += -(first - start) % every
            last = min(chunk.start + chunk.used, stop)
            if first < last:
                pieces.append(self._whole(chunk).vectors(kind)[first - chunk.start : last - chunk.start : every])
        if not pieces:
            return np.empty((0, self.size))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


Compute = Callable[[History, Chunk, int, int], Float64]
