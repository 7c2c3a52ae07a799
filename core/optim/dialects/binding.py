"""Arguments of a call bound to a declared signature and converted, with errors that name the place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from core.optim.dialects.syntax import is_number
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place, describe, place_of, walk


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
Kind = str | Callable[[Any, Place], Any]


class Argument(NamedTuple):
    """One argument of a signature.

    ``kind``: 'number', 'integer', 'boolean', 'text', 'numbers' (a list of numbers), 'integers', 'any' (as read),
    'skip' (parameters, gradients, the optimizer: accepted and ignored unless it is a number), 'step' (ignored,
    may be a number), 'unused' (accepted whatever it is: it changes nothing here), or a function
    ``(value, place) -> converted`` that raises ``place.error(...)``. A '?' behind a name of a kind allows None.
    """

    name: str
    default: Any = REQUIRED
    kind: Kind = "number"
    keyword_only: bool = False


Signature = Sequence[Argument | tuple[Any, ...]]


def bind(call: Call, signature: Signature, owner: str = "") -> dict[str, Any]:
    """The arguments of ``call`` by name, converted, defaults filled in; ParseError for anything that does not fit."""
    declared = [item if isinstance(item, Argument) else Argument(*item) for item in signature]
    by_name = {argument.name: argument for argument in declared}
    owner = owner or call.name
    values: dict[str, Any] = {}
    positional = [argument for argument in declared if not argument.keyword_only]
    for value in (*call.args, call.kwargs.get("**")):
        if isinstance(value, Operation) and value.operator == "unpack":
            sign, kind = ("**", "dict") if value is call.kwargs.get("**") else ("*", "list")
            raise value.place.error(f"{sign} needs a {kind} written out above, not {value.text}")
    if len(call.args) > len(positional):
        place = _place(call.arg_places, len(positional), call.place)
        raise place.error(f"{owner} takes {len(positional)} positional arguments, {len(call.args)} were given")
    for index, (argument, value) in enumerate(zip(positional, call.args, strict=False)):
        place = _place(call.arg_places, index, call.place)
        values[argument.name] = convert(argument, value, place, owner)
    for key, value in call.kwargs.items():
        place = call.kwarg_places.get(key, call.place)
        if key not in by_name:
            raise place.error(f"{owner} has no argument {key!r}{_advice(key, list(by_name))}")
        if key in values:
            raise place.error(f"{owner}: {key} is given twice")
        values[key] = convert(by_name[key], value, place, owner)
    for argument in declared:
        if argument.name not in values:
            if argument.default is REQUIRED:
                raise call.error(f"{owner} needs {argument.name}")
            values[argument.name] = argument.default
    return values


def given(call: Call, signature: Signature) -> set[str]:
    """Names of the arguments that ``call`` states itself."""
    declared = [item if isinstance(item, Argument) else Argument(*item) for item in signature]
    positional = [argument.name for argument in declared if not argument.keyword_only]
    return {*positional[: len(call.args)], *call.kwargs}


def convert(argument: Argument, value: Any, place: Place, owner: str) -> Any:
    """``value`` as the argument's kind wants it."""
    kind = argument.kind
    place = place_of(value, place)
    if callable(kind):
        return kind(value, place)
    what = f"{owner}: {argument.name}"
    if kind.endswith("?"):
        if value is None:
            return None
        kind = kind[:-1]
    if kind in ("any", "step", "unused"):
        return value
    if kind == "skip":
        if is_number(value) or isinstance(value, bool | str):
            raise place.error(
                f"{owner}: {argument.name} comes first here; write {value!r} with the name of its setting"
            )
        return value
    if kind == "number":
        return number(value, place, what)
    if kind == "integer":
        return integer(value, place, what)
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        if is_number(value) and value in (0, 1):
            return bool(value)
        unsaid = ", which the lines above do not decide" if isinstance(value, Name | Attribute | Operation) else ""
        raise place.error(f"{what} is True or False, not {_said(value)}{unsaid}")
    if kind == "text":
        if isinstance(value, str):
            return value
        raise place.error(f"{what} is text in quotes, not {_said(value)}")
    if kind in ("numbers", "integers"):
        if not isinstance(value, list | tuple):
            raise place.error(f"{what} is a list of numbers, not {_said(value)}")
        one = number if kind == "numbers" else integer
        return [one(item, place, f"{what}[{i}]") for i, item in enumerate(value)]
    raise ValueError(f"unknown kind {kind!r} of argument {argument.name!r}")


def number(value: Any, place: Place, what: str) -> float | int:
    """``value`` as a number; a constant tensor with one number in it counts."""
    value = unwrap(value)
    if is_number(value):
        return value
    if isinstance(value, Name):
        raise place.error(
            f"{what} is {value.text!r}, and no line above says what that is; write a number, "
            f"or put a line '{value.text} = 0.01' above"
        )
    counted = next((call for call in walk(value) if call.name == "len" and call.receiver is None and call.args), None)
    if counted is not None:
        what_of = describe(counted.args[0])
        raise place.error(
            f"{what} is {describe(value)}, and the lines do not say how many {what_of} has; write that number "
            f"instead of {describe(counted)}"
        )
    if isinstance(value, Attribute):
        raise place.error(
            f"{what} is {describe(value)}, and no line above says what that is; write a number, or put a line "
            f"'{describe(value)} = 0.01' above"
        )
    if isinstance(value, Operation) and value.operator == "if":
        choices = " or ".join(map(repr, value.right))
        raise place.error(f"{what} is {choices}, as an 'if' above decides; leave the line that holds for you")
    raise place.error(f"{what} must be a number, not {_said(value)}")


def integer(value: Any, place: Place, what: str) -> int:
    """``value`` as a whole number (10.0 is one)."""
    found = number(value, place, what)
    if isinstance(found, int) or (found == found and abs(found) != float("inf") and found == int(found)):
        return int(found)
    raise place.error(f"{what} must be a whole number, not {found!r}")


WRAPPERS = {"constant", "tensor", "asarray", "array", "Variable", "convert_to_tensor", "cast", "as_tensor"}


def unwrap(value: Any) -> Any:
    """The number inside ``tf.constant(0.1)``, ``torch.tensor(0.1)``, ``np.array(0.1)``; anything else unchanged."""
    if isinstance(value, Call) and value.receiver is None and value.name in WRAPPERS:
        inside = unwrap(value.args[0] if value.args else value.kwargs.get("value", value.kwargs.get("initial_value")))
        if is_number(inside):
            return inside
    return value


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like ``name`` (fewest letters changed, left out, added or swapped; or one that begins with
    it), or ''."""
    known = list(known)
    best, found = len(name) // 3 + 1, ""
    for candidate in known:
        distance = edits(name.lower(), candidate.lower(), best)
        closer = distance < best or (distance == best and found and len(candidate) == len(name) != len(found))
        if closer or (distance == best and not found):
            best, found = distance, candidate
    if not found and len(name) > 3:
        longer = [candidate for candidate in known if candidate.lower().startswith(name.lower())]
        found = min(longer, key=len, default="")
    return found


def edits(a: str, b: str, most: int) -> int:
    """How many letters to change, leave out, add or swap with their neighbour to make ``b`` of ``a``; more than
    ``most`` is not counted exactly."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before, row = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _advice(name: str, known: list[str]) -> str:
    guess = nearest(name, known)
    hint = f"; did you mean {guess!r}?" if guess else ";"
    return f"{hint} It takes: {', '.join(known)}" if known else " and takes none"


def _said(value: Any) -> str:
    if isinstance(value, Name | Call | Opaque | Attribute):
        return describe(value)
    return f"{describe(value)} ({type(value).__name__})"


def _place(places: Sequence[Place], index: int, otherwise: Place) -> Place:
    return places[index] if index < len(places) else otherwise
