"""Objects of pasted code that hold settings: where their attributes are found, and which calls make them."""

from __future__ import annotations

from typing import Any

from core.optim.dialects.definitions import Class
from core.optim.dialects.settings_of_text import PARSED, PARSERS, Arguments, loaded, settings_record
from core.optim.dialects.values import Call, Name, Place, Record

MOST_NAMES = 1_000
TEXT_METHODS = ("lower", "upper", "strip", "casefold", "title", "capitalize")


class Objects:
    """What names stand for, and the classes and arguments of the text."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.classes: dict[str, Class] = {}
        self.arguments = Arguments()

    def snapshot(self) -> dict[str, Any]:
        """What names stand for here; in texts with more names than anyone writes, the names as they are in the end."""
        return dict(self.names) if len(self.names) < MOST_NAMES else self.names

    def inside(self, dotted: tuple[str, ...]) -> tuple[Any, tuple[str, ...]] | None:
        """(what the first parts of a dotted name stand for, the parts behind) where these are objects of the text."""
        for length in range(len(dotted), 0, -1):
            known = self.names.get(".".join(dotted[:length]))
            if known is not None or length == 1:
                break
        value, rest = known, dotted[length:]
        if value is None and dotted[0] in self.classes and dotted[0] not in self.names:
            value, rest = Record(self.classes[dotted[0]].fields), dotted[1:]
        if isinstance(value, Name) and value.text in self.classes:
            value = Record(self.classes[value.text].fields)
        begun = False
        while rest:
            fields = self.fields_of(value)
            name = next((".".join(rest[:k]) for k in range(len(rest), 0, -1) if ".".join(rest[:k]) in fields), "")
            if not name:
                break
            value, rest, begun = fields[name], rest[name.count(".") + 1 :], True
        made = isinstance(value, Call) and value.receiver is None and value.name[:1].isupper() and dotted[0] == "self"
        held = len(dotted) > len(rest) > 0 and (made or isinstance(value, Record))
        return (value, rest) if begun or held else None

    def fields_of(self, value: Any) -> dict[str, Any]:
        """What the attributes of an object of the text stand for."""
        if isinstance(value, Record):
            return value.fields
        made = self.classes.get(value.path[0]) if isinstance(value, Call) and len(value.path) == 1 else None
        return {**made.fields, **made.own} if made is not None and value.receiver is None else {}

    def settings_of(self, call: Call) -> Any:
        """The settings that a call makes or gives, where it is such a one; else the call itself."""
        if call.receiver is None:
            own = self.classes.get(call.path[0]) if len(call.path) == 1 else None
            if own is not None and own.is_data:
                return own.made(call)
            if call.name == "getattr" and len(call.args) > 1 and isinstance(call.args[1], str):
                return self.attribute(call)
            if call.name in ("vars", "asdict") and len(call.args) == 1 and isinstance(call.args[0], Record):
                return dict(call.args[0].fields)
            if call.name == "instantiate" and call.args:
                return _instantiated(call)
            if call.name in PARSED and "parser" in call.dotted.lower():
                return self.parsed(call)
            if call.name == "add_argument" and len(call.path) > 1:
                self.arguments.declare(call)
            made = settings_record(call)
            return made if made is not None else _or(loaded(call), call)
        if isinstance(call.receiver, str) and call.path[0] in TEXT_METHODS and len(call.path) == 1 and not call.args:
            return getattr(call.receiver, call.path[0])()
        if isinstance(call.receiver, dict | Record):
            return _of_dict(call)
        owner = call.receiver
        while isinstance(owner, Call) and owner.receiver is not None:
            owner = owner.receiver  # parser.add_argument_group('training')
        if isinstance(owner, Call) and owner.name in PARSERS:
            if call.name == "add_argument":
                self.arguments.declare(call)
            elif call.name == "set_defaults":
                self.arguments.defaults(call)
            elif call.name in PARSED:
                return self.parsed(call)
        return call

    def parsed(self, call: Call) -> Any:
        found = self.arguments.parsed(call)
        if found is None:
            return call
        return (found, []) if call.name == "parse_known_args" else found

    def attribute(self, call: Call) -> Any:
        """``getattr(torch.optim, 'SGD')``, ``getattr(args, 'lr', 0.1)``."""
        owner, name = call.args[0], call.args[1]
        fields = self.fields_of(owner)
        if name in fields:
            return fields[name]
        if isinstance(owner, Record):
            return call.args[2] if len(call.args) > 2 else call
        return Name(f"{owner.text}.{name}", call.place) if isinstance(owner, Name) else call


HOLDERS = ("partial", "LazyCall", "L")


def prepared(call: Call) -> tuple[tuple[str, ...], list[Any], dict[str, Any]] | None:
    """(path, arguments, named arguments) that ``partial(function, ...)`` keeps for a later call."""
    if call.receiver is not None or call.name not in HOLDERS or not call.args or not isinstance(call.args[0], Name):
        return None
    return tuple(call.args[0].text.split(".")), list(call.args[1:]), dict(call.kwargs)


def keeper_place(held: dict[str, Any], place: Place) -> Place:
    """Where the arguments that a partial keeps are told to stand."""
    return next((found for value in held.values() if isinstance(found := getattr(value, "place", None), Place)), place)


def _instantiated(call: Call) -> Any:
    """``hydra.utils.instantiate({'_target_': 'torch.optim.Adam', 'lr': 0.1}, params=...)``."""
    given = call.args[0].fields if isinstance(call.args[0], Record) else call.args[0]
    target = given.get("_target_") if isinstance(given, dict) else None
    if not isinstance(target, str):
        return call
    held = {str(key): value for key, value in given.items() if key not in ("_target_", "_partial_", "_convert_")}
    path = tuple(target.split("."))
    if given.get("_partial_") is True:
        return Call(
            ("partial",), (Name(target, call.place), *call.args[1:]), {**held, **call.kwargs}, call.place, call.text
        )
    return Call(path, call.args[1:], {**held, **call.kwargs}, call.place, call.text, None, (), call.kwarg_places)


def _of_dict(call: Call) -> Any:
    """What ``get``, ``pop`` and the like of a dict of the text give."""
    fields: dict[Any, Any] = call.receiver.fields if isinstance(call.receiver, Record) else call.receiver
    key = call.args[0] if call.args else None
    if call.path == ("get",) and isinstance(key, str | int):
        return fields.get(key, call.args[1] if len(call.args) > 1 else call.kwargs.get("default"))
    if call.path in (("pop",), ("setdefault",)) and isinstance(key, str | int):
        default = call.args[1] if len(call.args) > 1 else None
        if call.path == ("setdefault",):
            return fields.setdefault(key, default)
        return fields.pop(key, default)
    if call.path == ("update",):
        given = key.fields if isinstance(key, Record) else key
        fields.update({**(given if isinstance(given, dict) else {}), **call.kwargs})
    if call.path in (("copy",), ("to_dict",)) and not call.args:
        return dict(fields)
    return call


def _or(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value
