"""Reads CSV and TSV files as people have them; every error gives file, line, column and how to mend it."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.problems import cells
from core.problems.table import Column, Table, TableCancelled, TableError
from core.problems.text_files import KeptOpen, open_file, text_encoding, unpacked

__all__ = ["Column", "Progress", "Table", "TableCancelled", "TableError", "read_table"]

SAMPLE_ROWS = 1000
CHUNK_ROWS = 20_000
MAX_COLUMNS = 20_000
MAX_CELL = 1 << 20

_NO_CHARACTER = re.compile("[\udc80-\udcff]")

Progress = Callable[[float], "bool | None"]


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    text_columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> Table:
    """The table in a text file, plain or gzipped; what is not given is found out from the first rows.

    ``text_columns`` are read as categories even if they look like numbers. ``progress`` is called now and then with
    the part done; when it returns False, TableCancelled is raised. Raises TableError.
    """
    path = Path(path)
    name = path.name
    raw = open_file(path, name)
    with raw:
        binary, length = unpacked(raw, name)
        encoding = text_encoding(binary, name)
        while True:
            binary.seek(0)
            # the reader closes neither file: what is not UTF-8 far below the first part is read once more
            wrapped = io.BufferedReader(cast("Any", KeptOpen(binary)))
            errors = "surrogateescape" if encoding == "cp1252" else "strict"
            text = io.TextIOWrapper(wrapped, encoding=encoding, errors=errors, newline="")
            reader = _Reader(text, raw, length, name, encoding, progress)
            try:
                return reader.read(delimiter, decimal, header, text_columns)
            except UnicodeDecodeError as error:
                if encoding == "utf-8":
                    encoding = "cp1252"
                    continue
                reason = f"the text is not {encoding} (byte {error.object[error.start]:#04x}); save it as UTF-8"
                raise TableError(reason, name, reader.line + 1, 1) from None
            except (zlib.error, gzip.BadGzipFile, EOFError) as error:
                reason = f"the gzip file is damaged or cut off ({error}); fetch it again"
                raise TableError(reason, name, reader.line + 1, 1) from None


class _Reader:
    """One pass through the text: first a sample decides what the columns are, then chunks are converted."""

    def __init__(
        self, text: IO[str], raw: IO[bytes], length: int, name: str, encoding: str, progress: Progress | None
    ) -> None:
        self.text, self.raw, self.length, self.name = text, raw, max(1, length), name
        self.encoding, self.progress = encoding, progress
        self.skipped = 0
        self.delimiter = ","
        self.rows: Any = None
        """Python's csv reader, which counts the lines."""
        self.recent: list[str] = []
        """The lines of the row at hand, for the place of a mistake in it."""
        self.notes: list[str] = []

    @property
    def line(self) -> int:
        """Lines read so far."""
        return self.skipped + (self.rows.line_num if self.rows is not None else 0)

    def read(
        self, delimiter: str | None, decimal: str | None, header: bool | None, text_columns: Sequence[str]
    ) -> Table:
        self.delimiter = delimiter = self._prologue(delimiter)
        records = self._records(delimiter)
        sample = list(itertools.islice(records, SAMPLE_ROWS))
        if not sample:
            raise TableError("there are no rows of data", self.name)
        rows = [cells_ for _, cells_ in sample]
        decimal = decimal or cells.find_decimal(rows, delimiter)
        header = cells.has_header(rows, decimal) if header is None else header
        width = self._width(sample, header)
        # R writes no name over the row names, so its header is one cell short at the front
        titles = (["", *rows[0]] if len(rows[0]) < width else rows[0]) if header else None
        names = cells.column_names(titles, width)
        unknown = [name for name in text_columns if name not in names]
        if unknown:
            raise TableError(f"there is no column {unknown[0]!r}; it has: {', '.join(names)}", self.name)
        first, body = (sample[0], sample[1:]) if header else (None, sample)
        if not body:
            raise TableError("there is a header but no row of data below it", self.name, first[0] if first else 0)
        kinds = [
            name in text_columns or self._is_text([row[i] for _, row in body if i < len(row)], decimal)
            for i, name in enumerate(names)
        ]
        store = _Store(self.name, names, kinds, decimal)
        chunk = body
        while chunk:
            store.add(chunk, width)
            self._report()
            chunk = list(itertools.islice(records, CHUNK_ROWS))
        if self.encoding == "cp1252":
            self.notes.append("not UTF-8: read as Windows-1252")
        spelling = cells.Spelling(delimiter, decimal, bool(header))
        return Table(self.name, store.columns(), store.line_numbers(), spelling, self.encoding, tuple(self.notes))

    def _prologue(self, delimiter: str | None) -> str:
        """Skip blank and comment lines and Excel's 'sep=' line; find the delimiter from the lines that follow."""
        lines: list[str] = []
        kept = 0
        for line in self.text:
            if not lines:
                stripped = line.strip()
                if not stripped or stripped.startswith("#"):
                    self.skipped += 1
                    continue
                if stripped.lower().startswith("sep=") and len(stripped) <= 5:
                    delimiter = delimiter or line.strip("\r\n")[4:5] or "\t"
                    self.skipped += 1
                    continue
            lines.append(line)
            kept += len(line)
            if len(lines) >= 200 or kept > 1 << 18:
                break
        if not lines:
            raise TableError("there are no rows of data", self.name)
        self.waiting = lines
        stripped_lines = [line.rstrip("\r\n") for line in lines if line.strip()]
        return delimiter or cells.find_delimiter(stripped_lines)

    def _source(self) -> Iterator[str]:
        number, patched, remember = self.skipped, self.encoding == "cp1252", self.recent.append
        for lines in (self.waiting, self.text):
            for line in lines:
                number += 1
                if "\x00" in line:
                    place = line[: line.index("\x00")].count(self.delimiter) + 1
                    reason = "there are zero bytes: this is not a text file; save the table as CSV"
                    raise TableError(reason, self.name, number, place)
                wrong = _NO_CHARACTER.search(line) if patched else None
                if wrong is not None:
                    place = line[: wrong.start()].count(self.delimiter) + 1
                    reason = f"the byte {ord(wrong[0]) & 0xFF:#04x} is no text; save the table as UTF-8"
                    raise TableError(reason, self.name, number, place)
                if line.endswith("\r"):  # old Macintosh line ends, which the csv module would refuse
                    line = line[:-1] + "\n"
                remember(line)
                yield line

    def _records(self, delimiter: str) -> Iterator[tuple[int, list[str]]]:
        """(line where it begins, cells) of every row that is not blank."""
        if delimiter == " ":
            for number, line in enumerate(self._source(), self.skipped + 1):
                if line.strip():
                    yield number, line.split()
            return
        csv.field_size_limit(MAX_CELL)
        forget = self.recent.clear
        self.rows = reader = csv.reader(self._source(), delimiter=delimiter, skipinitialspace=True, strict=True)
        while True:
            begin = self.skipped + reader.line_num + 1
            forget()
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._csv_error(error, begin) from None
            if row and any(cell.strip() for cell in row):
                yield begin, row

    def _csv_error(self, error: csv.Error, begin: int) -> TableError:
        message = str(error)
        if "field larger" in message:
            reason = f"the cell is longer than {MAX_CELL:,} characters; is a quotation mark never closed?"
        elif "unexpected end" in message:
            reason = "a quotation mark is opened in this row and never closed; close it or take it out"
        elif "expected after" in message:
            reason = 'text follows a closing quotation mark; write a mark inside a cell twice ("")'
        else:
            reason = f"the row cannot be split into cells ({message})"
        line, column = cells.place_of_quote("".join(self.recent), self.delimiter)
        return TableError(reason, self.name, begin + line, column)

    def _width(self, sample: Sequence[tuple[int, list[str]]], header: bool) -> int:
        rows = [row for _, row in sample]
        width = len(rows[0])
        if header and len(rows) > 1 and all(len(row) == width + 1 for row in rows[1:]):
            if all(not row[-1].strip() for row in rows[1:]):
                return width  # every row ends in a delimiter
            return width + 1
        while width > 1 and all(len(row) < width or not row[width - 1].strip() for row in rows):
            width -= 1
        if width > MAX_COLUMNS:
            raise TableError(f"the file has {width} columns; at most {MAX_COLUMNS} are read", self.name)
        return width

    def _is_text(self, column: Sequence[str], decimal: str) -> bool:
        present = [cell for cell in column if not cells.is_missing(cell)]
        numbers = sum(cells.number(cell, decimal) is not None for cell in present)
        return 2 * numbers <= len(present) and bool(present)

    def _report(self) -> None:
        if self.progress is not None and self.progress(min(1.0, self.raw.tell() / self.length)) is False:
            raise TableCancelled


class _Store:
    """Columns as they grow, chunk by chunk."""

    def __init__(self, file: str, names: Sequence[str], text: Sequence[bool], decimal: str) -> None:
        self.file, self.names, self.text, self.decimal = file, names, text, decimal
        self.parts: list[list[NDArray[Any]]] = [[] for _ in names]
        self.codes: list[dict[str, int]] = [{} for _ in names]
        self.lines: list[int] = []

    def add(self, chunk: Sequence[tuple[int, list[str]]], width: int) -> None:
        for line, row in chunk:
            if len(row) > width and not any(cell.strip() for cell in row[width:]):
                del row[width:]  # a delimiter at the end of the row
            if len(row) != width:
                raise TableError(
                    f"this row has {len(row)} cell{'s' * (len(row) != 1)}, the others have {width}; "
                    "add or remove a delimiter, or put text that contains it in quotation marks",
                    self.file, line, min(len(row), width) + 1,
                )  # fmt: skip
        numbers = [line for line, _ in chunk]
        for index, column in enumerate(zip(*(row for _, row in chunk), strict=True)):
            make = self._categories if self.text[index] else self._numbers
            self.parts[index].append(make(index, column, numbers))
        self.lines.extend(numbers)

    def _numbers(self, index: int, column: Sequence[str], lines: Sequence[int]) -> NDArray[np.float64]:
        if self.decimal == ".":
            try:
                values = np.array(column, dtype=np.float64)
                if np.isfinite(values).all():
                    return values
            except ValueError:
                pass  # some cell is spelled differently: looked at one by one below
        values = np.empty(len(column))
        for place, cell in enumerate(column):
            value = cells.number(cell, self.decimal)
            if value is None:
                if not cells.is_missing(cell):
                    raise self._not_a_number(cell, index, lines[place])
                value = float("nan")
            elif not np.isfinite(value):
                raise TableError(
                    f"{cell.strip()!r} in {self.names[index]!r} is too large for 64-bit floating point",
                    self.file, lines[place], index + 1,
                )  # fmt: skip
            values[place] = value
        return values

    def _not_a_number(self, cell: str, index: int, line: int) -> TableError:
        shown = cell.strip() if len(cell) <= 40 else cell.strip()[:40] + "..."
        return TableError(
            f"{shown!r} is not a number, but the column {self.names[index]!r} holds numbers; correct the cell, "
            "empty it if the value is missing, or read the column as text",
            self.file, line, index + 1,
        )  # fmt: skip

    def _categories(self, index: int, column: Sequence[str], lines: Sequence[int]) -> NDArray[np.int64]:
        codes = self.codes[index]
        found = np.empty(len(column), dtype=np.int64)
        for place, cell in enumerate(column):
            text = cell.strip()
            found[place] = -1 if cells.is_missing(text) else codes.setdefault(text, len(codes))
        return found

    def columns(self) -> tuple[Column, ...]:
        """The finished columns, categories in alphabetical order."""
        result = []
        for name, parts, codes in zip(self.names, self.parts, self.codes, strict=True):
            values = np.concatenate(parts)
            if values.dtype.kind == "i" and codes:
                order = sorted(codes, key=_category_order)
                rank = np.empty(len(codes) + 1, dtype=np.int64)
                rank[[codes[text] for text in order]] = np.arange(len(codes))
                rank[-1] = -1  # a missing cell is -1 and stays so
                values = rank[values]
                result.append(Column(name, values, tuple(order)))
            else:
                result.append(Column(name, values))
        return tuple(result)

    def line_numbers(self) -> NDArray[np.int64]:
        """The line in the file where each row begins."""
        return np.array(self.lines, dtype=np.int64)


def _category_order(text: str) -> tuple[bool, float, str]:
    value = cells.number(text)
    return value is None, value or 0.0, text
