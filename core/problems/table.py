"""A table in memory: named columns of numbers or text, with the lines of the file they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.problems import cells
from core.problems.objective import ProblemError


class TableError(ProblemError):
    """A file that cannot be read as a table; ``line`` and ``column`` count from 1, 0 when there is no one place."""

    def __init__(self, message: str, file: str, line: int = 0, column: int = 0) -> None:
        self.reason, self.file, self.line, self.column = message, file, line, column
        place = f", line {line}" if line else ""
        place += f", column {column}" if column else ""
        super().__init__(f"{file}{place}: {message}")


class TableCancelled(Exception):
    """Reading was stopped because ``progress`` returned False."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers (missing ones nan), or indices into ``categories`` (missing ones -1)."""

    name: str
    values: NDArray[Any]
    categories: tuple[str, ...] = ()

    @property
    def is_category(self) -> bool:
        """Whether the cells are text."""
        return self.values.dtype.kind == "i"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.values < 0 if self.is_category else np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class Table:
    """A whole file: ``columns`` of one length, the file's ``lines`` each row came from, and how it was written."""

    name: str
    columns: tuple[Column, ...]
    lines: NDArray[np.int64]
    spelling: cells.Spelling
    encoding: str = "utf-8"
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of that name; TableError lists what there is."""
        for column in self.columns:
            if column.name == name:
                return column
        raise TableError(f"there is no column {name!r}; it has: {', '.join(self.names)}", self.name)

    def preview(self, count: int = 20) -> list[list[str]]:
        """The first rows as text, for a table on the screen; missing cells are ''."""
        rows = []
        for index in range(min(count, len(self))):
            row = []
            for column in self.columns:
                value = column.values[index]
                if column.missing[index]:
                    row.append("")
                else:
                    row.append(column.categories[value] if column.is_category else f"{value:.10g}")
            rows.append(row)
        return rows
