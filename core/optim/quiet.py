"""Numpy's warnings switched off for the length of a step: overflow and nan are results here, and are shown as such."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np


def _variable() -> Any:
    """The context variable behind ``np.errstate``, None where numpy keeps it elsewhere."""
    try:
        from numpy._core.umath import _extobj_contextvar
    except ImportError:
        return None
    return _extobj_contextvar


_VARIABLE = _variable()
with np.errstate(all="ignore"):
    _QUIET = _VARIABLE.get() if _VARIABLE is not None else None


class _Quiet:
    """``np.errstate(all="ignore")`` without building the state anew each time, which costs as much as a small step."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = hush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        unhush(self._token)


def quiet() -> Any:
    """A context in which floating-point errors are silent, for this thread only."""
    return _Quiet()


def hush() -> Any:
    """Silence floating-point errors until ``unhush`` is given back what this returns (for the hottest places)."""
    if _VARIABLE is not None:
        return _VARIABLE.set(_QUIET)
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def unhush(token: Any) -> None:
    """Undo ``hush``."""
    if _VARIABLE is not None:
        _VARIABLE.reset(token)
    else:
        token.__exit__(None, None, None)
