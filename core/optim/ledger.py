"""The ledger of one step: expected, one contribution a transform, applied; and the proof that they add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Array, Layout

if TYPE_CHECKING:
    from core.optim.chain import Chain, Track

Float64 = NDArray[np.float64]


class Row(NamedTuple):
    """One cause of one step: unpacks as (transform name, cause, contribution array)."""

    name: str
    cause: str
    contribution: Float64


class BlockLedger:
    """The ledger of the variables of one block, as flat float64 vectors; rows are worked out when asked for."""

    __slots__ = ("_prefixes", "applied", "base_rate", "chain", "gradient", "layout", "skipped", "start", "track")

    def __init__(self, chain: Chain, track: Track, base_rate: float, applied: Float64, skipped: bool) -> None:
        self.chain = chain
        self.track = track
        self.layout: Layout = track.context.layout
        self.base_rate = base_rate
        self.gradient = track.context.gradient
        self.start = track.context.start
        self.applied = applied
        self.skipped = skipped
        self._prefixes: Float64 | None = None

    @property
    def expected(self) -> Float64:
        """-lr * g, (size,): what a person who looks at the computed gradient expects."""
        return self.prefixes[0]

    @property
    def prefixes(self) -> Float64:
        """d_0 .. d_n and then the applied change, (rows + 1, size): the step if the chain stopped there."""
        if self._prefixes is None:
            self._prefixes = self._compute_prefixes()
        return self._prefixes

    def _compute_prefixes(self) -> Float64:
        track, chain = self.track, self.chain
        updates = track.updates
        count = len(updates) + 2
        table = np.empty((count, self.layout.size))
        table[0] = self.gradient
        for k, u in enumerate(updates):
            table[k + 1] = u
        before = chain.rate_index + 1 if chain.rate_index >= 0 else 0
        if before:
            table[:before] *= -self.base_rate
        start = self.start
        for k, weights in enumerate(track.weights):
            if weights is not start:
                table[k + 1] += _difference(weights, start)
        table[-1] = self.applied
        return table

    def contributions(self, out: Float64 | None = None) -> Float64:
        """c_1 .. c_n with the rounding row last, (rows, size)."""
        table = self.prefixes
        with np.errstate(invalid="ignore"):
            return np.subtract(table[1:], table[:-1], out=out)

    @property
    def residual(self) -> Float64:
        """applied - (expected + sum of rows), (size,); a few units in the last place of the largest |d_k|.

        Where a prefix is not finite (a gradient of inf that a guard then stopped) its rows cannot be added up in
        numbers; there the residual compares the finished step with what was applied.
        """
        table = self.prefixes
        rows = self.contributions()
        with np.errstate(invalid="ignore", over="ignore"):
            total = table[0].copy()
            for row in rows:
                total += row
            result: Float64 = self.applied - total
        broken = ~np.isfinite(table[:-1]).all(axis=0)
        if broken.any():
            result = np.where(broken & np.isfinite(self.applied), 0.0, result)
        return result


class Entry:
    """The ledger of one variable, every array in the variable's shape and float64."""

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


class StepLedger:
    """What one step did: ``ledger[variable]`` is an Entry; ``blocks`` are the flat ledgers behind it.

    ``step`` counts from 0; ``learning_rate`` is lr_t, ``base_learning_rate`` what the user set; ``skipped`` tells
    that a guard stopped the step; ``figures`` holds the numbers the transforms noted, by row name.
    """

    __slots__ = ("_places", "base_learning_rate", "blocks", "learning_rate", "loss", "skipped", "step")

    def __init__(
        self,
        step: int,
        learning_rate: float,
        base_learning_rate: float,
        blocks: Sequence[BlockLedger],
        places: dict[Any, tuple[int, int]],
        skipped: bool,
        loss: float | None = None,
    ) -> None:
        self.step = step
        self.learning_rate = learning_rate
        self.base_learning_rate = base_learning_rate
        self.blocks = tuple(blocks)
        self.skipped = skipped
        self.loss = loss
        self._places = places

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, in order."""
        return self.blocks[0].chain.row_names

    @property
    def figures(self) -> dict[str, float]:
        """Numbers the transforms noted in this step ('clip_factor', 'lr_t', ...), of the first block."""
        return self.blocks[0].track.context.figures

    def __getitem__(self, variable: Any) -> Entry:
        try:
            block, index = self._places[variable]
        except KeyError:
            names = ", ".join(str(getattr(known, "name", known)) for known in self._places)
            raise KeyError(
                f"no entry for {getattr(variable, 'name', variable)!r}: it took no part in this step "
                f"(its gradient was None, or it was not given). In the step: {names}"
            ) from None
        return Entry(self.blocks[block], index)

    def __contains__(self, variable: Any) -> bool:
        return variable in self._places

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _difference(after: Array, before: Array) -> Float64:
    """after - before in float64, whatever type they are stored in."""
    if after.dtype == np.float64:
        return after - before
    result: Float64 = after.astype(np.float64) - before.astype(np.float64)
    return result
