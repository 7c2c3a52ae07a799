"""Optimizers as recipes: a signature, the transforms it builds, and where each argument is read back from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.declare import SettingError
from core.optim.chain import Chain
from core.optim.dialects.binding import REQUIRED, Argument, Kind, bind
from core.optim.dialects.equivalence import ROUNDING, canonical, same, unlike
from core.optim.dialects.values import Call, NotRepresentable, ParseError
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenMask

ALWAYS = ("lr", "learning_rate")
"""Settings that are written even at their default: nobody should have to look them up."""
Build = Callable[[dict[str, Any]], list[Transform]]
CONDITIONS = "#conditions"
"""Key of a match's values under which it says when the code does the same; absent: always."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One argument of an optimizer's constructor.

    ``at`` says where its value is found in a chain: 'row.key', several separated by '|' (the first that is there
    counts), 'row' alone for 'True if there is such a row', or a tuple of these for a tuple of numbers. ``absent`` is
    the value when no such row is there (None: the default). It may also be a function of the rows by name. Settings
    without ``at`` change nothing here.
    """

    name: str
    default: Any = None
    at: str | tuple[str, ...] | Callable[[Mapping[str, Transform]], Any] = ""
    kind: Kind = "number"
    keyword_only: bool = False
    absent: Any = None

    def argument(self) -> Argument:
        """What ``bind`` wants to know."""
        return Argument(self.name, self.default, self.kind, self.keyword_only)

    def read(self, rows: Mapping[str, Transform]) -> Any:
        """The value in a chain with these rows."""
        absent = self.default if self.absent is None else self.absent
        if not self.at:
            return self.default
        if callable(self.at):
            return self.at(rows)
        if isinstance(self.at, tuple):
            defaults = absent if isinstance(absent, tuple | list) else [absent] * len(self.at)
            return tuple(_find(rows, at, default) for at, default in zip(self.at, defaults, strict=True))
        return _find(rows, self.at, absent)


def _find(rows: Mapping[str, Transform], at: str, absent: Any) -> Any:
    for place in at.split("|"):
        row, _, key = place.partition(".")
        found = rows.get(row)
        if found is not None:
            return getattr(found, key) if key else True
    return absent


@dataclass(frozen=True, slots=True)
class Recipe:
    """An optimizer of a framework: ``build(values)`` gives its transforms, in order, without mask and store.

    ``check`` raises SettingError for combinations the framework refuses. ``group`` labels the card in the pipeline.
    """

    name: str
    settings: tuple[Setting, ...]
    build: Build
    check: Callable[[dict[str, Any]], None] | None = None

    def bind(self, call: Call) -> dict[str, Any]:
        """The values of the constructor call, checked."""
        return bind(call, [setting.argument() for setting in self.settings])

    def transforms(self, values: dict[str, Any], place: Call | None = None) -> list[Transform]:
        """The transforms for these values; what is wrong with them becomes a ParseError at ``place``."""
        try:
            if self.check is not None:
                self.check(values)
            built = self.build(values)
        except ParseError:
            raise
        except SettingError as error:
            raise error if place is None else place.error(str(error)) from None
        for transform in built:
            transform.group = self.name
        return built

    def read(self, rows: Mapping[str, Transform]) -> dict[str, Any]:
        """The values that would build a chain with these rows, if any would."""
        return {setting.name: setting.read(rows) for setting in self.settings}

    def written(self, values: Mapping[str, Any], first: Sequence[str]) -> str:
        """The arguments as code: ``first`` as they are, then every setting that differs from its default."""
        parts = list(first)
        for setting in self.settings:
            value = values[setting.name]
            told = setting.default is REQUIRED or setting.name in ALWAYS or not same_value(value, setting.default)
            if setting.at and told:
                parts.append(f"{setting.name}={code(value)}")
        return ", ".join(parts)


def acting(chain: Chain) -> list[Transform]:
    """The transforms of the chain that do something and need a line of code: not the mask, not the store."""
    return [transform for transform in chain.acting if not isinstance(transform, FrozenMask) and not transform.idle()]


def match(
    recipes: Sequence[Recipe], transforms: Sequence[Transform], extra: Mapping[str, Any], dialect: str
) -> tuple[Recipe, dict[str, Any]]:
    """The recipe and values that build exactly these transforms; NotRepresentable says what comes nearest.

    ``extra`` are values the recipes want besides their settings. The chain a recipe builds is compared setting by
    setting, the recipe the rows are labelled with first; when none is equal, conventions that only change rounding
    are left out, and values[CONDITIONS] says under what condition the two do the same.
    """
    rows: dict[str, Transform] = {}
    for transform in transforms:
        rows.setdefault(transform.name, transform)
    groups = {transform.group for transform in transforms}
    candidates: list[tuple[Recipe, dict[str, Any], list[Transform]]] = []
    for recipe in sorted(recipes, key=lambda recipe: recipe.name not in groups):
        values = {**extra, **recipe.read(rows)}
        try:
            built = [transform for transform in recipe.transforms(values) if not transform.idle()]
        except SettingError:
            continue
        candidates.append((recipe, values, built))
    wanted = [transform.settings() for transform in transforms]
    found = [[transform.settings() for transform in built] for _, _, built in candidates]
    for (recipe, values, _), settings in zip(candidates, found, strict=True):
        if settings == wanted:
            return recipe, values
    for recipe, values, built in candidates:
        notes = same(built, transforms)
        if notes is not None:
            return recipe, {**values, CONDITIONS: sorted(notes - {ROUNDING})}
    nearest: tuple[float, str] = (-1.0, "")
    have = [item["name"] for item in wanted]
    items, _ = canonical(transforms)
    for (recipe, _, built), settings in zip(candidates, found, strict=True):
        likeness = difflib.SequenceMatcher(a=[item["name"] for item in settings], b=have).ratio()
        if likeness > nearest[0]:
            nearest = (likeness, unlike(recipe.name, built, transforms, items)[1])
    raise NotRepresentable(f"{dialect} has no optimizer that does exactly this; {nearest[1]}")


def same_value(a: Any, b: Any) -> bool:
    """Equal as a setting: 0 and 0.0 are, True and 1 are not, a list and a tuple of the same numbers are."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return bool(a == b)


def code(value: Any) -> str:
    """A value as Python code that reads back as the same value."""
    if isinstance(value, float):
        if value != value:
            return "float('nan')"
        if value in (float("inf"), float("-inf")):
            return "float('inf')" if value > 0 else "-float('inf')"
        return repr(value)
    if isinstance(value, tuple):
        inside = ", ".join(code(item) for item in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(code(item) for item in value)}]"
    return repr(value)
