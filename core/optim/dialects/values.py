"""What pasted code is read into: numbers and text as they are, and small records for everything else."""

from __future__ import annotations

import ast
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.declare import SettingError


class ParseError(SettingError):
    """Code that cannot be understood; ``line`` and ``column`` count from 1 (0: no particular place)."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class NotRepresentable(SettingError):
    """An optimizer that a dialect cannot express; the message gives the exact reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the pasted text: ``line`` and ``column`` from 1, and that line itself."""

    line: int
    column: int
    quote: str = ""

    def error(self, message: str) -> ParseError:
        """A ParseError that names this place and quotes its line."""
        text = f"line {self.line}, column {self.column}: {message}"
        if self.quote:
            text += f"\n    {self.quote}"
        return ParseError(text, self.line, self.column)


NOWHERE = Place(0, 0)


class Part:
    """A piece of pasted code; printed in the words of the code, since pieces may hold one another many times over."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {describe(self)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Part):
    """A name (dotted or not) that the text does not assign: 'params', 'model.weight'."""

    text: str
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Part):
    """``path(*args, **kwargs)``; compare with ``is``: one Call is one object of the program.

    A method call on something known (``optimizer.step()``) has that thing as ``receiver`` and the rest of the
    dotted name as ``path``. ``text`` is the call as written.
    """

    path: tuple[str, ...]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    place: Place = NOWHERE
    text: str = ""
    receiver: Any = None
    arg_places: tuple[Place, ...] = ()
    kwarg_places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of the path: 'SGD'."""
        return self.path[-1]

    @property
    def dotted(self) -> str:
        """The path as written: 'torch.optim.SGD'."""
        return ".".join(self.path)

    @property
    def line(self) -> int:
        return self.place.line

    @property
    def column(self) -> int:
        return self.place.column

    def error(self, message: str) -> ParseError:
        """A ParseError at this call."""
        return self.place.error(message)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operation(Part):
    """An operation with a part that is not a number: ``loss / 4`` is Operation('/', Name('loss'), 4)."""

    operator: str
    left: Any
    right: Any
    place: Place = NOWHERE
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attribute(Part):
    """An attribute of something known: ``optimizer.param_groups``, ``group['lr']`` ('[lr]')."""

    owner: Any
    name: str
    place: Place = NOWHERE
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opaque(Part):
    """Anything else (a lambda, a comprehension): its text, its syntax tree and the names known at that point."""

    text: str
    node: ast.AST
    names: Mapping[str, Any] = field(default_factory=dict)
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Record(Part):
    """An object that holds settings (a namespace, a dataclass): ``fields`` by name, changed by assignments."""

    fields: dict[str, Any]
    text: str = ""
    place: Place = NOWHERE


WALKERS = ("enumerate", "zip", "list", "tqdm", "filter")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loop(Part):
    """A ``for`` or ``while``: what it walks over, how often it turns (None: the text does not tell), its counters.

    ``counters`` holds, for each name that counts turns (``i`` of enumerate or range, ``step`` of ``step += 1``), its
    value in the first turn and what each turn adds; ``carried`` the other numbers that one turn leaves to the next
    (``lr *= 0.1`` under an ``if``), with their values in front of the loop; ``assigned`` are all names set inside,
    ``names`` those of the loop's head.
    """

    walked: Any
    turns: int | None = None
    counters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    carried: dict[str, Any] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()

    @property
    def over_parameters(self) -> bool:
        """True for a loop over parameters or parameter groups, which is no turn of the training."""
        walked = self.walked
        while isinstance(walked, Call) and walked.name in WALKERS and walked.args:
            walked = walked.args[-1 if walked.name == "filter" else 0]
        if isinstance(walked, Call):
            return walked.path[-1] in ("parameters", "named_parameters")
        if isinstance(walked, list | tuple):
            return bool(walked) and all(isinstance(item, Name | Attribute) for item in walked)
        return "param" in describe(walked)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Statement(Part):
    """One statement: its value, the names it assigns, and the conditions (values) it stands under.

    ``stores`` holds the targets that are not plain names (``group['lr'] = 0.1``), ``loops`` the loops around it,
    outermost first, ``function`` the function it is written in ('' outside), ``changes`` the sign of ``+=`` and the
    like, ``bound`` what the arguments of that function stand for where it is called.
    """

    value: Any
    targets: tuple[str, ...]
    place: Place
    conditions: tuple[Any, ...] = ()
    stores: tuple[Any, ...] = ()
    loops: tuple[Loop, ...] = ()
    function: str = ""
    changes: str = ""
    bound: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program(Part):
    """The statements of a pasted text, in order, and what its names stand for at the end."""

    text: str
    statements: tuple[Statement, ...]
    names: Mapping[str, Any]
    classes: Mapping[str, tuple[Place, tuple[str, ...]]] = field(default_factory=dict)
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    """``classes`` of the text with their places and bases, ``imports`` by the name they have here, and ``assumed``:
    names whose value is a default that whoever runs the code may have replaced, with where it stands."""

    found: tuple[Call, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        seen: set[int] = set()
        calls = tuple(call for statement in self.statements for call in _walk(statement.value, seen))
        object.__setattr__(self, "found", calls)

    def calls(self) -> Iterator[Call]:
        """Every distinct call, inner ones before the call they are an argument of, in order of appearance."""
        return iter(self.found)


def walk(value: Any) -> Iterator[Call]:
    """The distinct calls inside ``value``, inner ones first."""
    return _walk(value, set())


def _walk(value: Any, seen: set[int]) -> Iterator[Call]:
    """Post-order and without recursion: names may stand for the same thing many times over."""
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        item, done = stack.pop()
        if done:
            yield item
            continue
        parts = _parts(item)
        if parts is None or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Call):
            stack.append((item, True))
        stack.extend((part, False) for part in reversed(parts))


def _parts(value: Any) -> list[Any] | None:
    if isinstance(value, Call):
        return [value.receiver, *value.args, *value.kwargs.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, Operation):
        return [value.left, value.right]
    if isinstance(value, Attribute):
        return [value.owner]
    if isinstance(value, Record):
        return list(value.fields.values())
    return None


def place_of(value: Any, otherwise: Place = NOWHERE) -> Place:
    """Where ``value`` stands, as far as it knows."""
    found = getattr(value, "place", None)
    return found if isinstance(found, Place) else otherwise


def describe(value: Any) -> str:
    """``value`` in the words of the code, for messages."""
    words: list[str] = []
    _say(value, words, 6)
    return "".join(words)


def _say(value: Any, words: list[str], deepest: int) -> None:
    """Add ``value`` to the words, not all of it where it is long: what names stand for may hold a thing many times."""
    text = getattr(value, "text", None)
    if isinstance(text, str) and text:
        words.append(text)
    elif deepest == 0 or len(words) > 40:
        words.append("...")
    elif isinstance(value, Operation):
        if value.right is None:
            words.append(f"{value.operator} ")
        _say(value.left, words, deepest - 1)
        if value.right is not None:
            words.append(f" {value.operator} ")
            _say(value.right, words, deepest - 1)
    elif isinstance(value, Attribute):
        _say(value.owner, words, deepest - 1)
        words.append(value.name if value.name.startswith("[") else f".{value.name}")
    elif isinstance(value, Call | list | tuple):
        parts = value.args if isinstance(value, Call) else value
        words.append(f"{value.dotted}(" if isinstance(value, Call) else "[" if isinstance(value, list) else "(")
        for i, part in enumerate(parts[:6]):
            words.append(", " if i else "")
            _say(part, words, deepest - 1)
        words.append(", ..." if len(parts) > 6 else "")
        words.append("]" if isinstance(value, list) else ")")
    elif isinstance(value, dict):
        words.append(f"{{{', '.join(reprlib.repr(key) for key in list(value)[:6])}: ...}}")
    elif isinstance(value, Record | Opaque | Loop | Statement | Program):
        words.append("...")
    else:
        words.append(reprlib.repr(value))
