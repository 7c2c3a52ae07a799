"""Functions and classes of pasted code: what their arguments stand for where they are called, and what they return."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.optim.dialects.values import Call, Name, Opaque, Record

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DATA = ("dataclass", "dataclasses.dataclass", "attr.s", "attrs.define", "define", "pydantic.dataclasses.dataclass")
DATA_BASES = ("NamedTuple", "BaseModel", "TypedDict", "PretrainedConfig", "BaseSettings")
SHARED = ("step", "zero_grad", "backward", "update", "parameters", "train", "eval", "to", "forward", "cuda", "items")
"""Methods that many things have: those of a class of the text are meant only where its own object is named."""
DEEPEST = 10


@dataclass(eq=False)
class Function:
    """A function of the text: its body is read where it is first called, or at the end of what it stands in."""

    node: FunctionNode
    owner: str = ""
    conditions: tuple[Any, ...] = ()
    read: dict[Any, Opaque] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    reading: bool = False
    done: bool = False

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments, ``self`` of a method left out."""
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        return names[1:] if self.owner and not _is_static(self.node) and names else names

    @property
    def every_argument(self) -> list[str]:
        """All names its body has for what it is given."""
        more = [part.arg for part in (self.node.args.vararg, self.node.args.kwarg) if part is not None]
        return [*self.arguments, *[argument.arg for argument in self.node.args.kwonlyargs], *more]

    def defaults(self) -> Iterator[tuple[str, ast.expr]]:
        """The arguments that need not be given, with what they are then."""
        names, given = self.arguments, self.node.args.defaults
        yield from zip(names[len(names) - len(given) :] if given else [], given, strict=False)
        for argument, default in zip(self.node.args.kwonlyargs, self.node.args.kw_defaults, strict=True):
            if default is not None:
                yield argument.arg, default

    def bound(self, call: Call) -> dict[str, Any]:
        """What its arguments stand for in ``call``, as far as the call says."""
        given = dict(zip(self.arguments, call.args, strict=False))
        named = [*self.arguments, *[argument.arg for argument in self.node.args.kwonlyargs]]
        given.update({name: value for name, value in call.kwargs.items() if name in named})
        if self.node.args.vararg is not None:
            given[self.node.args.vararg.arg] = call.args[len(self.arguments) :]
        if self.node.args.kwarg is not None and "**" not in call.kwargs:
            given[self.node.args.kwarg.arg] = {k: value for k, value in call.kwargs.items() if k not in named}
        return given


def _is_static(node: FunctionNode) -> bool:
    return any(ast.unparse(one) == "staticmethod" for one in node.decorator_list)


def key_of(bound: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells two calls of one function apart: the values they give it, by what they are or how they are written."""
    return tuple((name, _key(value)) for name, value in sorted(bound.items()))


def _key(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return type(value).__name__, value
    return value.text if isinstance(value, Name) else id(value)


@dataclass(eq=False)
class Class:
    """A class of the text: its settings, its methods, and what ``self.`` names stand for once it has been made."""

    node: ast.ClassDef
    fields: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Function] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)

    @property
    def bases(self) -> list[str]:
        return [ast.unparse(base) for base in self.node.bases]

    @property
    def is_data(self) -> bool:
        """True for a class that only holds settings: a dataclass, or one without methods."""
        marks = [ast.unparse(mark).split("(")[0] for mark in self.node.decorator_list]
        if any(mark in DATA for mark in marks) or any(base.split(".")[-1] in DATA_BASES for base in self.bases):
            return True
        return not self.methods and not self.bases

    def made(self, call: Call) -> Record:
        """The object that ``call`` makes of a class of settings."""
        names = [name for name in self.fields if not name.startswith("_")]
        given = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
        return Record({**self.fields, **given}, call.text, call.place)


def field_default(node: ast.expr) -> ast.expr | None:
    """The default inside ``field(default=...)`` and ``Field(0.1, ge=0)``; the node itself where it is no such call."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[-1] not in ("field", "Field", "ib"):
        return node
    for keyword in node.keywords:
        if keyword.arg == "default":
            return keyword.value
        if keyword.arg in ("default_factory", "factory"):
            made = keyword.value
            return made.body if isinstance(made, ast.Lambda) else ast.Call(made, [], [])
    return node.args[0] if node.args else None


def is_worth_returning(value: Any) -> bool:
    """True for an object that was made (an optimizer, settings), alone or among others."""
    if isinstance(value, Record):
        return True
    if isinstance(value, Call):
        return value.receiver is None and value.name[:1].isupper()
    if isinstance(value, Mapping):
        return any(is_worth_returning(item) for item in value.values())
    return isinstance(value, Sequence) and not isinstance(value, str) and any(is_worth_returning(v) for v in value)
