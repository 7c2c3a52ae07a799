"""What the cells of a text table mean: the delimiter, the header, numbers in local spelling, missing values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

DELIMITERS = ("\t", ";", "|", ",", " ")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "--", ".", "missing"})
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
# thousands never begin with a zero: 0,018 is a fraction
_THOUSANDS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_THOUSANDS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}([. ]\d{3})+(,\d+)?")


@dataclass(frozen=True)
class Spelling:
    """How a file is written: ``delimiter``, ``decimal`` sign ('.' or ','), and whether line 1 names the columns."""

    delimiter: str
    decimal: str
    header: bool


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in MISSING


def number(cell: str, decimal: str = ".") -> float | None:
    """The number a cell holds, or None; thousands signs are understood when the rest fits."""
    text = cell.strip().replace("−", "-")
    if decimal == ",":
        if _COMMA.fullmatch(text):
            return float(text.replace(",", "."))
        if _THOUSANDS_COMMA.fullmatch(text):
            return float(text.replace(".", "").replace(" ", "").replace(",", "."))
        if _POINT.fullmatch(text):
            return float(text)
        return None
    if _POINT.fullmatch(text):
        return float(text)
    if _THOUSANDS_POINT.fullmatch(text):
        return float(text.replace(",", ""))
    return None


def find_delimiter(lines: Sequence[str]) -> str:
    """The sign that splits ``lines`` into the same number of cells, at least two; ',' when there is none.

    Signs that hardly ever stand inside cells come first: in '1,5;2,5' both split every line alike.
    """
    best, best_agreement = ",", 0.0
    for delimiter in DELIMITERS:
        counts = Counter(_count_outside_quotes(line, delimiter) for line in lines)
        counts.pop(0, None)
        if not counts:
            continue
        agreement = max(counts.values()) / len(lines)
        if delimiter == " ":  # ordinary text has spaces too
            agreement -= 0.3
        if agreement > best_agreement + 0.05:
            best, best_agreement = delimiter, agreement
    return best


def _count_outside_quotes(line: str, sign: str) -> int:
    if sign == " ":
        return len(line.split()) - 1
    if '"' not in line:
        return line.count(sign)
    return sum(part.count(sign) for index, part in enumerate(line.split('"')) if index % 2 == 0)


def find_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """',' when cells are written 1,5 (not possible without quotes where the comma splits cells).

    1,463 may be either. Where semicolons split the cells it is a fraction, unless another cell says otherwise: people
    split with semicolons because the comma is their decimal sign.
    """
    commas = points = either = thousands = 0
    for row in rows:
        for cell in row:
            text = cell.strip().replace("−", "-")
            fraction, grouped = (pattern.fullmatch(text) is not None for pattern in (_COMMA, _THOUSANDS_POINT))
            commas += "," in text and fraction and not grouped
            either += "," in text and fraction and grouped
            thousands += grouped and not fraction
            points += "." in text and _POINT.fullmatch(text) is not None
    if commas == points == thousands == 0 and delimiter == ";":
        return "," if either else "."
    return "," if commas > points and (delimiter != "," or points == 0) else "."


def has_header(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first row names the columns: it holds text and not one number."""
    first = [cell for cell in rows[0] if not is_missing(cell)]
    if not first or any(number(cell, decimal) is not None for cell in first):
        return False
    below = [cell for row in rows[1:] for cell in row]
    if any(number(cell, decimal) is not None for cell in below):
        return True
    # text everywhere: a header does not repeat, and its words do not turn up among the values
    return len(set(first)) == len(first) and not set(first) & set(below)


def column_names(first: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names for ``count`` columns; empty ones are numbered, repeated ones get a number."""
    names: list[str] = []
    for index in range(count):
        name = first[index].strip() if first is not None and index < len(first) else ""
        name = name or f"column {index + 1}"
        base, number_of = name, 2
        while name in names:
            name = f"{base}_{number_of}"
            number_of += 1
        names.append(name)
    return tuple(names)


def place_of_quote(text: str, delimiter: str) -> tuple[int, int]:
    """Where the quotation marks of a row go wrong: (line within it, from 0; column, from 1).

    That is the cell whose mark is never closed, or has text behind the closing one.
    """
    line, column, place = 0, 1, 0
    while place < len(text):
        while place < len(text) and text[place] == " ":
            place += 1
        if text[place : place + 1] == '"':
            opened = line
            place += 1
            while True:
                end = text.find('"', place)
                if end < 0:
                    return opened, column
                line += text.count("\n", place, end)
                place = end + 1
                if text[place : place + 1] != '"':
                    break
                place += 1
            if text[place : place + 1] not in (delimiter, "\n", "\r", ""):
                return line, column
        end = text.find(delimiter, place)
        if end < 0:
            break
        place, column = end + 1, column + 1
    return line, column
