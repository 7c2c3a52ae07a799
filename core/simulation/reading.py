"""Experiment files as people leave them: other encodings, slips of the keyboard, files of another kind.

Every message says where the slip is and how to mend it.
"""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_BYTE = re.compile(r" \(byte (\d+)\)")
_BARE_NUMBER = re.compile(rb"-?(nan|infinity|inf)\b", re.IGNORECASE)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_CHOICE = re.compile(r"Invalid enum value '(.*)'")


class DocumentError(ValueError):
    """Bytes that are no JSON document: the message says where and why."""


def document_of(content: bytes) -> Any:
    """What the JSON in ``content`` says. A byte order mark, as some editors write one, does no harm."""
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise DocumentError(
            "this is no experiment but a zip or .npz file; a trace is read by 'explain', 'render', 'export', "
            "'animate' and 'compare', and holds its experiment"
        )
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                content = content.decode(encoding).encode()
            except UnicodeDecodeError as error:
                raise DocumentError(f"the text is damaged: {error}") from None
            break
    if not content.strip():
        raise DocumentError("the file is empty")
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        raise DocumentError("this is not a JSON document: its brackets are nested too deeply") from None
    except msgspec.DecodeError as error:
        raise DocumentError(f"this is not a JSON document: {_placed(str(error), content)}") from None


def _placed(reason: str, content: bytes) -> str:
    """The reason with line and column instead of a count of bytes, and a hint where the slip is a usual one."""
    place = _BYTE.search(reason)
    if "truncated" in reason:
        return "it ends too early: a bracket or a quotation mark is not closed, or the file was cut off"
    if place is None:
        return reason
    before = content[: int(place[1])]
    line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
    hint = ""
    # the count is that of the first letter, or of the one behind it
    bare = _BARE_NUMBER.match(content, len(before)) or _BARE_NUMBER.match(content, max(len(before) - 1, 0))
    if bare is not None:
        hint = f"; JSON has no number {bare[0].decode()}: write it in quotation marks"
    elif before.rstrip().endswith(b",") and content[len(before) : len(before) + 1] in (b"}", b"]"):
        hint = "; there is a comma before the closing bracket"
    return f"line {line}, column {column}: {_BYTE.sub('', reason).removeprefix('JSON is malformed: ')}{hint}"


def readable(
    error: msgspec.ValidationError, fields: Mapping[str, Sequence[str]], choices: Mapping[str, Sequence[str]]
) -> str:
    """msgspec's message with the place in front: 'at seed: Expected `int`, got `str`'.

    ``fields`` are the names that are known at a place ('' is the top), ``choices`` the values.
    """
    reason, separator, place = str(error).partition(" - at `$")
    where = place.rstrip("`").lstrip(".") if separator else ""
    kind = re.sub(r"\[.*?\]", "", where)
    unknown, choice = _UNKNOWN.fullmatch(reason), _CHOICE.fullmatch(reason)
    if unknown and kind in fields:
        near = difflib.get_close_matches(unknown[1], fields[kind], n=1)
        reason = f"{unknown[1]!r} is not known here; " + (f"did you mean {near[0]!r}? " if near else "")
        reason += f"there are: {', '.join(fields[kind])}"
    elif choice and kind in choices:
        reason = f"{choice[1]!r} is none of {', '.join(choices[kind])}"
    return f"at {where or 'the top'}: {reason}"
