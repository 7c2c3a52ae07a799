"""Refuses Qt bindings that are known to break this program, with the mend (measured; see docs/architecture.md)."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

LOWEST = (6, 8, 3)
FIRST_BAD = (6, 11)
BROKEN = {
    (6, 9, 1): "its view boxes lose their children",
    (6, 9, 2): "it crashes in mixed item classes",
}
MEND = 'pip install "PySide6-Essentials>=6.8.3,<6.11,!=6.9.1,!=6.9.2" "pyqtgraph>=0.14,<0.15"'


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def problem_with(pyside: str, pyqtgraph: str, python: tuple[int, int]) -> str:
    """'' when the pair works, else one sentence saying what is wrong and how to mend it."""
    qt = _numbers(pyside)
    reason = ""
    if qt[:3] in BROKEN:
        reason = BROKEN[qt[:3]]
    elif qt < LOWEST:
        reason = "it is older than 6.8.3"
    elif qt[:2] >= (6, 12) and python < (3, 12):
        reason = "it loses references to None on Python 3.11 and aborts"
    elif qt[:2] >= FIRST_BAD:
        reason = "pyqtgraph 0.14 does not work with it"
    if reason:
        return f"PySide6 {pyside} cannot be used: {reason}. Mend: {MEND}"
    if not (0, 14) <= _numbers(pyqtgraph)[:2] < (0, 15):
        return f"pyqtgraph {pyqtgraph} cannot be used: 0.14 is needed. Mend: {MEND}"
    return ""


def check_binding() -> str:
    """The sentence for the installed packages ('' when all is well)."""
    try:
        pair = version("PySide6-Essentials"), version("pyqtgraph")
    except PackageNotFoundError as error:
        return f"{error.name} is not installed. Mend: {MEND}"
    return problem_with(*pair, sys.version_info[:2])
