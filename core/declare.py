"""Declared parameters: what a transform, schedule or problem can be set to, stated once for every user of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

SCALES = ("linear", "log", "integer", "switch", "choice", "list")


class SettingError(ValueError):
    """A setting that cannot be used: the message says which, why, and how to mend it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One adjustable value: its name in code (``key``), its symbol in formulas, and what a slider needs.

    ``low`` and ``high`` bound the slider only; ``minimum`` and ``maximum`` bound what is accepted at all
    (``open_minimum`` excludes the bound itself). ``scale`` is one of SCALES: 'switch' is a bool, 'choice' one
    of ``choices``, 'list' a list of numbers. ``optional`` allows None. ``rare`` ones are shown on demand.
    """

    key: str
    symbol: str
    default: Any
    low: float = 0.0
    high: float = 1.0
    scale: str = "linear"
    unit: str = ""
    tooltip: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf
    open_minimum: bool = False
    open_maximum: bool = False
    infinite: bool = False
    optional: bool = False
    rare: bool = False
    choices: tuple[str, ...] = field(default=())

    def check(self, value: Any, owner: str) -> Any:
        """``value`` as it will be stored; raises SettingError when it cannot be used."""
        if value is None:
            if self.optional:
                return None
            raise SettingError(f"{owner}: {self.key} needs a value, None was given")
        if self.scale == "switch":
            if isinstance(value, bool):
                return value
            raise SettingError(f"{owner}: {self.key} is a switch: give True or False, not {value!r}")
        if self.scale == "choice":
            if value in self.choices:
                return value
            raise SettingError(f"{owner}: {self.key} must be one of {', '.join(self.choices)}, not {value!r}")
        if self.scale == "list":
            if not isinstance(value, list | tuple):
                raise SettingError(f"{owner}: {self.key} is a list of numbers, not {value!r}")
            return [self._number(item, owner) for item in value]
        return self._number(value, owner)

    def _number(self, value: Any, owner: str) -> float | int:
        if isinstance(value, bool) or not _is_number(value):
            raise SettingError(
                f"{owner}: {self.key} must be a number, not {value!r} ({type(value).__name__}); "
                f"for example {self.default if self.default is not None else self.low!r}"
            )
        try:
            number: float | int = float(value)
        except OverflowError:
            raise SettingError(f"{owner}: {self.key} is a number beyond all bounds (above 1e308)") from None
        if math.isnan(number):
            raise SettingError(f"{owner}: {self.key} must be a number, nan was given")
        if math.isinf(number) and not self.infinite:
            raise SettingError(f"{owner}: {self.key} must be finite, {number} was given")
        if self.scale == "integer" and math.isfinite(number):
            if number != int(value):
                raise SettingError(f"{owner}: {self.key} must be a whole number, not {value!r}")
            number = int(value)
        low_bad = number <= self.minimum if self.open_minimum else number < self.minimum
        high_bad = number >= self.maximum if self.open_maximum else number > self.maximum
        if low_bad:
            word = "greater than" if self.open_minimum else "at least"
            raise SettingError(f"{owner}: {self.key} must be {word} {self.minimum:g}, {number:g} was given")
        if high_bad:
            word = "less than" if self.open_maximum else "at most"
            raise SettingError(f"{owner}: {self.key} must be {word} {self.maximum:g}, {number:g} was given")
        return number


def _is_number(value: Any) -> bool:
    if isinstance(value, int | float):
        return True
    return hasattr(value, "dtype") and getattr(value, "shape", None) == () and value.dtype.kind in "fiu"


class Declared:
    """Base of everything that declares its parameters: checks values on the way in, offers them as attributes.

    Subclasses set ``name`` (identifier), ``label`` (for people), ``formula``, ``source`` and ``parameters``.
    Values are read as attributes (fast, in hot loops) and changed by ``set`` only.
    """

    name: str = ""
    label: str = ""
    formula: str = ""
    source: str = ""
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, **values: Any) -> None:
        known = {parameter.key: parameter for parameter in self.parameters}
        unknown = [key for key in values if key not in known]
        if unknown:
            have = ", ".join(known) or "none"
            raise SettingError(f"{self.name}: no parameter {unknown[0]!r}; it has: {have}")
        for key, parameter in known.items():
            value = parameter.check(values[key], self.name) if key in values else parameter.default
            setattr(self, key, value)
        self.prepare()

    def prepare(self) -> None:
        """Called after any value has changed; subclasses derive constants here and check combinations."""

    def set(self, key: str, value: Any) -> None:
        """Change one value; on an unusable value raises SettingError and leaves the old one in place."""
        for parameter in self.parameters:
            if parameter.key == key:
                old = getattr(self, key)
                setattr(self, key, parameter.check(value, self.name))
                try:
                    self.prepare()
                except SettingError:
                    setattr(self, key, old)
                    self.prepare()
                    raise
                return
        have = ", ".join(parameter.key for parameter in self.parameters) or "none"
        raise SettingError(f"{self.name}: no parameter {key!r}; it has: {have}")

    def values(self) -> dict[str, Any]:
        """The current values by key (lists are copied)."""
        found = {parameter.key: getattr(self, parameter.key) for parameter in self.parameters}
        return {key: list(value) if isinstance(value, list) else value for key, value in found.items()}

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.values().items())
        return f"{type(self).__name__}({inside})"
