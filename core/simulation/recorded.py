"""The ledger of a step read back from the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.ledger import Row
from core.simulation.history import History

Float64 = NDArray[np.float64]


class RecordedEntry:
    """One variable of a recorded ledger, arrays in the variable's shape (float64)."""

    def __init__(self, history: History, step: int, index: int) -> None:
        layout = history.layout
        part, shape = layout.slices[index], layout.shapes[index]
        schema = history.schema(step)
        table = history.rows(step)
        self.name = layout.names[index]
        self.shape = shape
        self.expected: Float64 = history.expected(step)[part].reshape(shape)
        self.applied: Float64 = history.applied(step)[part].reshape(shape)
        self.rows = [
            Row(name, cause, table[k, part].reshape(shape))
            for k, (name, cause) in enumerate(zip(schema.names, schema.causes, strict=True))
        ]

    @property
    def residual(self) -> Float64:
        """applied - (expected + rows), summed in the order of the chain."""
        total = self.expected.copy()
        with np.errstate(invalid="ignore", over="ignore"):
            for row in self.rows:
                total = total + row.contribution
            result: Float64 = self.applied - total
        broken = ~np.isfinite(total)
        return np.where(broken & np.isfinite(self.applied), 0.0, result)


class RecordedLedger:
    """The ledger of step ``step`` of a run; ``ledger['p']`` (or the variable itself) is an entry."""

    def __init__(self, history: History, step: int) -> None:
        history.weights(step)
        self.history = history
        self.step = step
        self.learning_rate = float(history.scalar("learning_rate")[step])
        self.base_learning_rate = float(history.scalar("base_learning_rate")[step])
        self.skipped = bool(history.scalar("skipped")[step])
        self.loss = float(history.scalar("loss")[step])
        self.figures = history.figures(step)
        self.row_names = history.schema(step).names

    def __getitem__(self, variable: Any) -> RecordedEntry:
        name = variable if isinstance(variable, str) else getattr(variable, "name", variable)
        names = self.history.layout.names
        if name not in names:
            raise KeyError(f"no variable {name!r} in this run; it has: {', '.join(names)}")
        return RecordedEntry(self.history, self.step, names.index(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.history.layout.names)

    def __len__(self) -> int:
        return len(self.history.layout.names)
