"""Which variables something is for: all, those with some number of axes, or those named."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.declare import SettingError
from core.optim.layout import Layout

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Mask:
    """Picks variables: by ``ndim`` ('>', 1), by ``names`` (('w', True), ...), or everything (``default``).

    A name stands for the variable called so, for one whose path ends in it ('layer/w'), and for all below it.
    """

    ndim: tuple[str, int] | None = None
    names: tuple[tuple[str, bool], ...] = ()
    default: bool = True

    def picks(self, name: str, shape: tuple[int, ...]) -> bool:
        """True when the variable is meant; SettingError when a mask by names does not know it."""
        if self.ndim is not None:
            return COMPARISONS[self.ndim[0]](len(shape), self.ndim[1])
        if not self.names:
            return self.default
        path = _path(name)
        for known, picked in self.names:
            parts = _path(known)
            if path[: len(parts)] == parts or path[-len(parts) :] == parts or parts[-len(path) :] == path:
                return picked
        have = ", ".join(known for known, _ in self.names)
        raise SettingError(f"the mask says nothing about the variable {name!r}; it names {have}")

    def check(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        """SettingError when it cannot be said which of all these variables are meant."""
        for name, shape in zip(names, shapes, strict=True):
            self.picks(name, shape)

    def indices(self, layout: Layout) -> tuple[int, ...]:
        """Positions of the picked variables."""
        return tuple(
            i
            for i, (name, shape) in enumerate(zip(layout.names, layout.shapes, strict=True))
            if self.picks(name, shape)
        )

    @property
    def text(self) -> str:
        """The mask in words."""
        if self.ndim is not None:
            return f"variables with ndim {self.ndim[0]} {self.ndim[1]}"
        if self.names:
            return "variables " + (", ".join(name for name, picked in self.names if picked) or "none")
        return "all variables" if self.default else "no variable"

    def settings(self) -> dict[str, Any]:
        """The mask as plain data."""
        return {"ndim": self.ndim, "names": self.names, "default": self.default}


def both(inner: Mask, outer: Mask) -> Mask:
    """The variables both masks pick, as far as one mask can say it."""
    if outer == Mask() or inner == outer:
        return inner
    if inner == Mask():
        return outer
    if inner.names and outer.names:
        picked = dict(outer.names)
        return Mask(names=tuple((name, yes and picked.get(name, False)) for name, yes in inner.names))
    raise SettingError(f"a mask for {inner.text} inside one for {outer.text} is not supported; write one mask for both")


def _path(name: str) -> list[str]:
    return name.replace(".", "/").strip("/").split("/")
