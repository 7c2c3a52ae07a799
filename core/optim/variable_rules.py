"""Variables picked as code picks parameters: by words in their names, by what they lie in, by their number of axes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.declare import SettingError
from core.optim.mask import COMPARISONS, Mask

Test = tuple[Any, ...]
"""('all',), ('ndim', '>=', 2), ('holds' | 'starts' | 'ends' | 'named', word), ('in', path), ('role', 'weight'),
('not', test), ('and', test, ...), ('or', test, ...): plain data, so that it can be compared and saved."""
ALL: Test = ("all",)
NONE: Test = ("not", ALL)
ROLES = (
    ("weight", re.compile(r"([WVUwvu][a-z]?\d*|.*(weight|kernel)s?\d*)$")),
    ("bias", re.compile(r"([bc]\d*|.*bias(es)?\d*)$")),
    ("norm.weight", re.compile(r"(gamma|scale)\d*$")),
    ("norm.bias", re.compile(r"(beta|offset)\d*$")),
)
"""What a layer calls a variable whose name ends so."""


def role_of(name: str) -> str:
    """'weight', 'bias', 'norm.weight', 'norm.bias', or '' for a variable that belongs to no layer ('p', 'x')."""
    last = name.replace("/", ".").split(".")[-1]
    return next((role for role, pattern in ROLES if pattern.match(last)), "")


def lies_in(listed: str, variable: str) -> bool:
    """True when ``listed`` names the variable, or something it lies in: 'model.head' for 'head.weight'."""
    parts = variable.replace("/", ".").split(".")
    wanted = listed.split(".")
    return any(parts[: len(wanted) - start] == wanted[start:] for start in range(len(wanted)))


def negated(test: Test) -> Test:
    """The opposite."""
    return test[1] if test[0] == "not" else ("not", test)


def joined(kind: str, tests: Sequence[Test]) -> Test:
    """'and' or 'or' of the tests, without those that decide nothing."""
    idle, decides = (ALL, NONE) if kind == "and" else (NONE, ALL)
    found = list(dict.fromkeys(test for test in tests if test != idle))
    if decides in found:
        return decides
    return idle if not found else found[0] if len(found) == 1 else (kind, *found)


def holds(test: Test, name: str, shape: tuple[int, ...]) -> bool:
    """Whether the variable passes ``test``. Layers' words count as part of a name: 'bias' is in 'b1'."""
    kind, *rest = test
    if kind == "all":
        return True
    if kind == "not":
        return not holds(rest[0], name, shape)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, name, shape) for part in rest)
    if kind == "ndim":
        return COMPARISONS[rest[0]](len(shape), rest[1])
    return _named(kind, rest[0], name)


def _named(kind: str, word: str, name: str) -> bool:
    role = role_of(name)
    if kind == "role":
        return role == word
    if kind == "in":
        return lies_in(word, name)
    spelled = f"{name}.{role}" if role else name
    if kind == "starts":
        return name.startswith(word)
    if kind == "ends":
        return name.endswith(word) or spelled.endswith(word)
    return word in (name, spelled) if kind == "named" else word in spelled


def words_of(test: Test) -> Iterator[Test]:
    """The parts of ``test`` that ask for names."""
    for part in test[1:] if test[0] in ("not", "and", "or") else ():
        yield from words_of(part)
    if test[0] in ("holds", "starts", "ends", "named", "in", "role"):
        yield test


def _settled(test: Test, name: str, shape: tuple[int, ...]) -> bool | None:
    """What ``test`` says whatever the variable is called; None where that depends on its name."""
    kind, *rest = test
    if kind == "not":
        inside = _settled(rest[0], name, shape)
        return None if inside is None else not inside
    if kind in ("and", "or"):
        found = [_settled(part, name, shape) for part in rest]
        decides = kind == "or"
        return decides if decides in found else None if None in found else not decides
    return holds(test, name, shape) if kind in ("all", "ndim") else None


def in_words(test: Test) -> str:
    """The test as a reader would say it."""
    kind, *rest = test
    if kind == "all":
        return "all variables"
    if kind == "not":
        return "no variable" if rest[0] == ALL else f"not ({in_words(rest[0])})"
    if kind in ("and", "or"):
        return f" {kind} ".join(f"({in_words(part)})" if part[0] in ("and", "or") else in_words(part) for part in rest)
    if kind == "ndim":
        return f"ndim {rest[0]} {rest[1]}"
    said = {"holds": "{0!r} in the name", "starts": "name begins with {0!r}", "ends": "name ends with {0!r}"}
    return {**said, "named": "{0!r}", "in": "{0}", "role": "{0} of a layer"}[kind].format(rest[0])


@dataclass(frozen=True, slots=True)
class Rule(Mask):
    """The variables that pass ``test``; ``written`` is where and how the code says so, for messages."""

    test: Test = ALL
    written: str = ""

    def picks(self, name: str, shape: tuple[int, ...]) -> bool:
        return holds(self.test, name, shape)

    def check(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        """SettingError when the test asks for names or layers that none of these variables has to do with."""
        variables = list(zip(names, shapes, strict=True))
        words = list(words_of(self.test))
        met = [any(holds(part, *variable) for variable in variables) for part in words]
        layers = [part for part, found in zip(words, met, strict=True) if part[0] == "in" and not found]
        named = any(met) or any(map(role_of, names))
        if not layers and (named or all(_settled(self.test, *one) is not None for one in variables)):
            return
        have = ", ".join(names)
        where = f"{self.written}: " if self.written else ""
        raise SettingError(
            f"{where}none of this problem's variables is meant ({in_words(self.test)}); they are called {have}. Name "
            "one of these there, choose a problem with weights and biases (logistic regression, an MLP), or leave the "
            "line out: all variables are then alike"
        )

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"variables: {in_words(self.test)}" if self.test not in (ALL, NONE) else in_words(self.test)

    def settings(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"rule": self.test}
