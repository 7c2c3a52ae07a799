"""The ledger of one step: expected, one contribution a transform, applied; and the proof that they add up."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Array, Layout
from core.optim.ledger_words import entry_text, ledger_text, name_of
from core.optim.quiet import hush, quiet, unhush

if TYPE_CHECKING:
    from core.optim.chain import Chain, Track
    from core.optim.transform import State, StepContext

Float64 = NDArray[np.float64]
STREAMED = 4096
"""Vectors longer than this have their rows worked out one by one, without a table of all prefixes."""
PIECE = 16384
"""So many components of such a vector at a time: what is worked on then stays in the processor's cache."""


class Row(NamedTuple):
    """One cause of one step: unpacks as (transform name, cause, contribution array)."""

    name: str
    cause: str
    contribution: Float64


class BlockLedger:
    """The ledger of the variables of one block, as flat float64 vectors; rows are worked out when asked for.

    ``states`` are the chain's states as they were before the step (for counterfactuals).
    """

    __slots__ = ("_prefixes", "applied", "chain", "states", "track")

    def __init__(self, chain: Chain, track: Track, applied: Float64, states: Sequence[State]) -> None:
        self.chain = chain
        self.track = track
        self.applied = applied
        self.states = states
        self._prefixes: Float64 | None = None

    @property
    def context(self) -> StepContext:
        """What the transforms saw of the step."""
        return self.track.context

    @property
    def layout(self) -> Layout:
        """Names, shapes and slices of the variables."""
        return self.track.context.layout

    @property
    def base_rate(self) -> float:
        """The learning rate the user set for these variables."""
        return self.track.context.base_rate

    @property
    def gradient(self) -> Array:
        """The gradient as it was handed in, (size,), in the arithmetic's type."""
        return self.track.context.gradient

    @property
    def start(self) -> Array:
        """The weights before the step, (size,), in the arithmetic's type."""
        return self.track.context.start

    @property
    def skipped(self) -> bool:
        """True when a guard refused the step."""
        return self.track.context.skipped

    @property
    def expected(self) -> Float64:
        """-lr * g, (size,): what a person who looks at the computed gradient expects."""
        result: Float64 = self.prefixes[0]
        return result

    @property
    def prefixes(self) -> Float64:
        """d_0 .. d_n and then the applied change, (rows + 1, size): the step if the chain stopped there."""
        if self._prefixes is None:
            with quiet():
                self._prefixes = self._compute_prefixes()
        return self._prefixes

    def _compute_prefixes(self) -> Float64:
        track = self.track
        context, updates = track.context, track.updates
        start = context.start
        size, rows = len(start), len(updates) + 2
        flat = np.concatenate((context.gradient, *updates, self.applied), dtype=np.float64, casting="unsafe")
        table: Float64 = flat.reshape(rows, size)
        before = self.chain.rate_index + 1
        if before:
            flat[: before * size] *= -context.base_rate
        if context.weights is not start:
            self._add_shifts(table)
        return table

    def contributions(self, out: Float64 | None = None) -> Float64:
        """c_1 .. c_n with the rounding row last, (rows, size).

        With ``out`` nothing is kept, and the chain's working memory is used: from one thread at a time.
        """
        token = hush()
        try:
            if out is not None and self._prefixes is None and type(self) is BlockLedger:
                if len(self.applied) > STREAMED:
                    self._stream(out)
                else:
                    self._tabulate(out)
                return out
            table = self._prefixes
            if table is None:
                table = self._prefixes = self._compute_prefixes()
            return np.subtract(table[1:], table[:-1], out=out)
        finally:
            unhush(token)

    def _tabulate(self, out: Float64) -> None:
        """The contributions by way of the chain's own table."""
        track, chain = self.track, self.chain
        context = track.context
        rows = chain.row_table(len(self.applied))
        np.concatenate((context.gradient, *track.updates, self.applied), out=rows.flat, casting="unsafe")
        if chain.rate_index >= 0:
            rows.scale(context.base_rate)
        if context.weights is not context.start:
            self._add_shifts(rows.table)
        np.subtract(rows.upper, rows.lower, out)

    def _add_shifts(self, table: Float64) -> None:
        start = self.track.context.start
        for k, weights in enumerate(self.track.weights):
            if weights is not start:
                table[k + 1] += _difference(weights, start)

    def _stream(self, out: Float64) -> None:
        """The contributions piece by piece, without a table of all prefixes (large vectors: memory is what costs)."""
        size = len(self.applied)
        buffers = np.empty((2, min(PIECE, size)))
        for begin in range(0, size, PIECE):
            piece = slice(begin, min(begin + PIECE, size))
            self._stream_piece(piece, buffers[:, : piece.stop - begin], out[:, piece])

    def _stream_piece(self, piece: slice, buffers: Float64, out: Float64) -> None:
        context, rate_index = self.track.context, self.chain.rate_index
        start, factor = context.start, -context.base_rate
        spare, other = buffers
        previous: Array = _times(context.gradient[piece], factor, other)
        last_u, last_w = context.gradient, start
        last = len(self.track.updates)
        for k, (u, w) in enumerate(zip(self.track.updates, self.track.weights, strict=True)):
            if u is last_u and w is last_w and k != rate_index:
                out[k] = 0.0
                continue
            if k < rate_index:
                now: Array = _times(u[piece], factor, spare)
            else:
                now = u[piece] if u.dtype == np.float64 else u[piece].astype(np.float64)
            if w is not start:
                now = np.add(now, _difference(w[piece], start[piece]), out=spare)
            np.subtract(now, previous, out=out[k])
            last_u, last_w, previous = u, w, now
            spare, other = other, spare
        np.subtract(self.applied[piece], previous, out=out[last])

    @property
    def residual(self) -> Float64:
        """applied - (expected + sum of rows), (size,); a few units in the last place of the largest |d_k|.

        Where a prefix is not finite (a gradient of inf that a guard then stopped) its rows cannot be added up in
        numbers; there the residual is 0 when what was applied is finite, else nan.
        """
        table = self.prefixes
        rows = self.contributions()
        good = np.isfinite(table).all(axis=0) & np.isfinite(rows).all(axis=0)
        result: Float64 = np.where(np.isfinite(self.applied), 0.0, np.nan)
        terms = np.concatenate((table[-1:], -table[:1], -rows))[:, good]
        result[good] = exact_sums(terms)
        return result


def exact_sums(terms: Float64) -> Float64:
    """The column sums of ``terms`` (n, size), rounded once: exact for few columns, twice-working-precision for many."""
    if terms.shape[1] <= 256:
        return np.array([math.fsum(column) for column in terms.T.tolist()], dtype=np.float64)
    total = np.zeros(terms.shape[1])
    lost = np.zeros(terms.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for row in terms:
            new = total + row
            part = new - total
            lost += (total - (new - part)) + (row - part)
            total = new
        result: Float64 = total + lost
    return result


class Entry:
    """The ledger of one variable, every array in the variable's shape and float64.

    ``status`` says how the variable took part: 'stepped', 'zero gradient' (it took part, with a gradient of exact
    zeros), 'frozen', 'skipped' (a guard refused the step), 'waiting' (gradients are being collected), 'no gradient'
    (its gradient was None: neither momentum nor decay moved it).
    """

    __slots__ = ("_block", "_slice", "name", "shape")

    def __init__(self, block: BlockLedger, index: int) -> None:
        self._block = block
        self._slice = block.layout.slices[index]
        self.name = block.layout.names[index]
        self.shape = block.layout.shapes[index]

    @property
    def expected(self) -> Float64:
        """-lr * g."""
        return self._block.expected[self._slice].reshape(self.shape)

    @property
    def applied(self) -> Float64:
        """The stored weights after the step minus those before it."""
        return self._block.applied[self._slice].reshape(self.shape)

    @property
    def rows(self) -> list[Row]:
        """One row a transform, in the order of the chain, rounding last."""
        chain = self._block.chain
        table = self._block.contributions()
        return [
            Row(name, transform.cause, table[k, self._slice].reshape(self.shape))
            for k, (name, transform) in enumerate(zip(chain.row_names, chain, strict=True))
        ]

    @property
    def residual(self) -> Float64:
        """applied - (expected + rows): zero up to a few units in the last place."""
        return self._block.residual[self._slice].reshape(self.shape)

    @property
    def status(self) -> str:
        """How the variable took part."""
        context = self._block.context
        if context.frozen and context.halted:  # in a chain without a row that freezes it, it moves
            return "frozen"
        if context.skipped:
            return "skipped"
        if context.halted:
            return "waiting"
        return "stepped" if context.gradient[self._slice].any() else "zero gradient"

    def __repr__(self) -> str:
        return entry_text(self)


class AbsentEntry:
    """The entry of a variable whose gradient was None: every number is 0 and there are no rows."""

    __slots__ = ("name", "shape")
    status = "no gradient"

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name = name
        self.shape = shape

    @property
    def expected(self) -> Float64:
        """Zeros."""
        return np.zeros(self.shape)

    applied = residual = expected

    @property
    def rows(self) -> list[Row]:
        """None at all."""
        return []

    def __repr__(self) -> str:
        return f"Entry of {self.name!r}, shape {self.shape}: {self.status}"


class StepLedger:
    """What one step did: ``ledger[variable]`` or ``ledger["name"]`` is an Entry; ``blocks`` are the ledgers behind it.

    ``step`` counts the calls from 0; ``learning_rate`` is lr_t, ``base_learning_rate`` what the user set (of the
    first group); ``skipped`` tells that a guard stopped the step; ``absent`` are the variables whose gradient was
    None. ``figures`` holds the numbers the transforms noted ('clip_factor', 'lr_t', 'unmoved_share').
    """

    __slots__ = ("absent", "blocks", "loss", "places", "step")

    def __init__(
        self,
        step: int,
        blocks: Sequence[BlockLedger],
        places: dict[Any, tuple[int, int]],
        loss: float | None = None,
        absent: Sequence[Any] = (),
    ) -> None:
        self.step = step
        self.blocks = blocks
        self.loss = loss
        self.absent = absent
        self.places = places

    @property
    def learning_rate(self) -> float:
        """lr_t, the rate of this step."""
        return self.blocks[0].track.context.rate

    @property
    def base_learning_rate(self) -> float:
        """The rate the user set."""
        return self.blocks[0].track.context.base_rate

    @property
    def skipped(self) -> bool:
        """True when a guard refused the step."""
        return any(block.track.context.skipped for block in self.blocks)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, in order."""
        return self.blocks[0].chain.row_names

    @property
    def figures(self) -> dict[str, float]:
        """Numbers the transforms noted in this step, of the first block that is not frozen."""
        for block in self.blocks:
            if not block.track.context.frozen:
                return block.track.context.figures
        return self.blocks[0].track.context.figures

    def without(self, row_name: str) -> StepLedger:
        """The counterfactual: this step again from the same state, with the transform of one row left out.

        Ask before settings are changed; nothing of the run itself moves. A different question from the row's
        contribution, with a different number: what follows in the chain acts on other input.
        """
        from core.optim.counterfactual import rerun  # the chain imports the ledger

        return rerun(self, row_name)

    def __getitem__(self, variable: Any) -> Entry | AbsentEntry:
        place = self.places.get(variable) if isinstance(variable, Hashable) else None
        if place is not None:
            return Entry(self.blocks[place[0]], place[1])
        found = [known for known in (*self.places, *self.absent) if known is variable]
        if isinstance(variable, str):
            found = [known for known in (*self.places, *self.absent) if name_of(known) == variable]
        if len(found) > 1:
            raise KeyError(f"{len(found)} variables of this step are called {variable!r}: give the variable itself")
        if found and found[0] in self.places:
            return self[found[0]]
        if found:
            return AbsentEntry(name_of(found[0]), tuple(found[0].shape))
        names = ", ".join(name_of(known) for known in (*self.places, *self.absent))
        raise KeyError(f"no entry for {name_of(variable)!r}: it was not given to this step. In the step: {names}")

    def __contains__(self, variable: Any) -> bool:
        return variable in self.places or variable in [name_of(known) for known in self.places]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return ledger_text(self)


def _times(u: Array, factor: float, out: Float64) -> Float64:
    """u * factor in float64, whatever type u has."""
    if u.dtype == np.float64:
        return np.multiply(u, factor, out=out)
    out[:] = u
    out *= factor
    return out


def _difference(after: Array, before: Array) -> Float64:
    """after - before in float64, whatever type they are stored in."""
    if after.dtype == np.float64:
        return after - before
    result: Float64 = after.astype(np.float64) - before.astype(np.float64)
    return result
