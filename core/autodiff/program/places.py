"""One thing outside a function that it reads, and whether that has changed since it was looked at."""

from __future__ import annotations

import types
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can change between two calls.

    ``kind`` 'cell', 'entry', 'attribute': another object (``value`` until now) in the variable of a closure, under
    ``key`` in the dictionary of a module or object, or as attribute ``key``; 'items': those of a list, set or
    dictionary (``value`` is a copy); 'content': that of an array (``value`` is its shape, dtype and bytes).
    """

    kind: str
    container: Any
    key: Any
    value: Any
    name: str

    @property
    def identity(self) -> tuple[str, int, Any]:
        """Equal for the same place looked at twice."""
        return self.kind, id(self.container), self.key

    def test(self, container: str, value: str) -> str:
        """The expression that is true when it has changed; the names stand for container and value."""
        if self.kind == "items":
            return f"other_items({container}, {value})"
        if self.kind == "content":
            return f"content_of({container}) != {value}"
        now = {
            "cell": f"{container}.cell_contents",
            "entry": f"{container}.get({self.key!r})",
            "attribute": f"getattr({container}, {self.key!r}, None)",
        }[self.kind]
        return f"{now} is not {value} and other({now}, {value})"

    def changed(self) -> bool:
        """Whether it has changed."""
        return bool(eval(self.test("c", "v"), {**TESTS, "c": self.container, "v": self.value}))

    def put_back(self) -> None:
        """Undo what was done to it since."""
        if self.kind == "cell":
            self.container.cell_contents = self.value
        elif self.kind == "entry" and not isinstance(self.container, types.MappingProxyType):
            self.container[self.key] = self.value
        elif self.kind == "attribute":
            setattr(self.container, self.key, self.value)
        elif self.kind == "items" and isinstance(self.container, list):
            self.container[:] = self.value
        elif self.kind == "items" and isinstance(self.container, deque):
            self.container.clear()
            self.container.extend(self.value)
        elif self.kind == "items" and not isinstance(self.container, types.MappingProxyType):
            self.container.clear()
            self.container.update(self.value)
        elif self.kind == "content":
            shape, dtype, content = self.value
            self.container[...] = np.frombuffer(content, dtype).reshape(shape)


def items_of(container: Any) -> Any:
    """A copy of a list, set or dictionary, to compare with later."""
    return dict(container) if isinstance(container, (dict, types.MappingProxyType)) else list(container)


def content_of(array: Any) -> tuple[Any, Any, bytes]:
    """What tells two arrays apart, bit by bit."""
    return array.shape, array.dtype, array.tobytes()


def other(now: Any, before: Any) -> bool:
    """Whether two objects are different; the same number or text is not, type and sign of zero included."""
    return type(now) is not type(before) or not isinstance(now, _NUMBERS) or repr(now) != repr(before)


def other_items(now: Any, before: Any) -> bool:
    """Whether a list, set or dictionary holds something else than it held."""
    if len(now) != len(before):
        return True
    if isinstance(before, dict):
        for (key, value), (old_key, old) in zip(now.items(), before.items(), strict=True):
            if key != old_key or (value is not old and other(value, old)):
                return True
        return False
    return any(value is not old and other(value, old) for value, old in zip(now, before, strict=True))


TESTS = {"other": other, "other_items": other_items, "content_of": content_of}
