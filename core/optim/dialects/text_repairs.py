"""Lines of pasted text that are no Python but do nothing to a training: magics, Python 2 prints, prose, odd quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u2026": "...",
        "\u00d7": "*",
        "\u22c5": "*",
    }
)
"""Characters that word processors and web pages put in place of those of a keyboard."""
PRINT = re.compile(r"\bprint\b(?!\s*\().*$")
EXCEPT = re.compile(r"except\s+([\w.]+|\([^)]*\))\s*,\s*(\w+)\s*:")
RAISE = re.compile(r"\braise\s+([\w.]+)\s*,.*$")
NOISE = re.compile(
    r"\s*(print|(?:self\.)?log(?:ger|ging)?\.\w+|pbar\.\w+|tqdm\.\w+|progress\w*\.\w+|wandb\.\w+|writer\.\w+)\s*\(.*\)\s*;?\s*$"
)
SENTENCE = re.compile(r"[A-Za-z][A-Za-z'\u2019\-]*(?:[ ,;:.!?]+[A-Za-z0-9'\u2019\"\-/]+)*[ ]*[.:?!,]*")
KEYWORDS = {"for", "while", "if", "elif", "with", "def", "class", "import", "from", "return", "del", "global", "assert"}
BLOCK = re.compile(r"expected an indented block after .* on line (\d+)")
MAGIC = re.compile(r"[\w.]+\?{1,2}$|[\w, ]+=\s*[!%]\w")
PASS = "pass"


def repaired(lines: Sequence[str], error: SyntaxError) -> list[str] | None:
    """The lines with the one that ``error`` names mended or left out; None where that would change what is meant."""
    row = min((error.lineno or 1) - 1, len(lines) - 1)
    line = lines[row]
    bare, indent = line.strip(), line[: len(line) - len(line.lstrip())]
    message = error.msg or ""
    block = BLOCK.match(message)
    if block is not None:
        return _with_body(lines, int(block.group(1)) - 1, row)
    if message == "unexpected indent":
        return _first_line_outdented(lines, row)
    if "does not match any outer" in message:
        return _first_line_outdented(lines, row)
    if "EOF" in message or "end of file" in message or "line continuation" in message:
        return _without_continuation(lines)
    new: str | None = None
    if message.startswith("invalid") and "character" in message and not line.isascii():
        new = _plain(line)
    elif (
        bare.startswith(("!", "%", "?")) or re.fullmatch(r"[\w.]+\?{1,2}", bare) or re.match(r"[\w, ]+=\s*[!%]\w", bare)
    ):
        new = indent + PASS
    elif "print" in message and PRINT.search(line) and not bare.endswith("\\"):
        new = PRINT.sub(PASS, line)
    elif EXCEPT.search(line):
        new = EXCEPT.sub(r"except \1 as \2:", line)
    elif RAISE.search(line):
        new = RAISE.sub(r"raise \1", line)
    elif re.search(r"\basync\s*=", line):  # .cuda(async=True) before Python 3.7
        new = re.sub(r"\basync\s*=", "non_blocking=", line)
    elif NOISE.match(line):
        new = indent + PASS
    elif _is_prose(line):
        new = ""
    elif not line.isascii():
        new = _plain(line)
    if new is None or new == line:
        return None
    return [*lines[:row], new, *lines[row + 1 :]]


def _plain(line: str) -> str:
    """The line in characters of a keyboard."""
    return "".join(_half_width(letter) for letter in line.translate(LOOKALIKES))


def _half_width(letter: str) -> str:
    """'(' for the broad bracket of Chinese and Japanese keyboards."""
    if "\uff01" <= letter <= "\uff5e" or letter in "\u3001\u3002":
        return {"\u3001": ",", "\u3002": "."}.get(letter) or unicodedata.normalize("NFKC", letter)
    return letter


def _with_body(lines: Sequence[str], header: int, row: int) -> list[str] | None:
    """A body that is nothing but comments, or cut off at the end of the text, does nothing."""
    end = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].strip()), header)
    for i in range(header + 1, min(row + 1, len(lines))):
        inside = lines[i].lstrip()
        if inside.startswith("#"):
            indent = max(len(lines[i]) - len(inside), len(lines[header]) - len(lines[header].lstrip()) + 1)
            return [*lines[:i], " " * indent + PASS, *lines[i + 1 :]]
    if row >= end and lines[end].rstrip().endswith(":"):
        return [*lines[:end], lines[end].rstrip() + " " + PASS, *lines[end + 1 :]]
    return None


def _first_line_outdented(lines: Sequence[str], row: int) -> list[str] | None:
    """The first line without its indentation, as when the selection began behind it; the others move to it."""
    used = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    if len(used) < 2 or lines[used[0]][:1] == " ":
        return None
    depth = min(len(lines[i]) - len(lines[i].lstrip()) for i in used[1:])
    if not depth:
        return None
    return [line if i <= used[0] else line[depth:] if not line[:depth].strip() else "" for i, line in enumerate(lines)]


def _without_continuation(lines: Sequence[str]) -> list[str] | None:
    end = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].strip()), 0)
    line = lines[end].rstrip()
    return [*lines[:end], line[:-1], *lines[end + 1 :]] if line.endswith("\\") else None


def _is_prose(line: str) -> bool:
    """True for a sentence: words and the signs between them, nothing that code is made of."""
    outside = re.sub(r"(?<= )\([A-Za-z0-9 .,'\u2019-]*\)", "", line.rstrip())
    if line[:1] in " #" or not outside or not SENTENCE.fullmatch(outside.rstrip()):
        return False
    words = re.findall(r"[A-Za-z']+", outside)
    if words[0] in KEYWORDS:
        return False
    if outside != line.rstrip():  # brackets with words in them
        return len(words) >= 4 and words[0][:1].isupper()
    ends = outside[-1] in ".:?!,"
    return len(words) >= 3 or (ends and words[0][:1].isupper())
