"""Between a declared parameter's value and a slider's position, and between its value and text."""

from __future__ import annotations

import math
from typing import Any

from core.declare import Parameter

POSITIONS = 1000


def positions_of(parameter: Parameter) -> int:
    """How many steps the slider of a parameter has."""
    if parameter.scale == "integer" and 0 < parameter.high - parameter.low <= POSITIONS:
        return int(parameter.high - parameter.low)
    return POSITIONS


def to_position(parameter: Parameter, value: float | None) -> int:
    """The slider position nearest to ``value``; the ends for values beyond, the left end for None and nan."""
    steps = positions_of(parameter)
    if value is None or math.isnan(value):
        return 0
    low, high = _ends(parameter)
    if value <= low:
        return 0
    if value >= high:
        return steps
    if _logarithmic(parameter):
        return round(steps * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)))
    return round(steps * (value - low) / (high - low))


def from_position(parameter: Parameter, position: int) -> float | int:
    """The value of a slider position, with no more digits than the positions tell apart."""
    steps = positions_of(parameter)
    low, high = _ends(parameter)
    share = min(max(position / steps, 0.0), 1.0)
    if share in (0.0, 1.0):
        value = high if share else low
    elif _logarithmic(parameter):
        value = float(f"{low * (high / low) ** share:.3g}")
    else:
        resolution = (high - low) / steps
        digits = max(-math.floor(math.log10(resolution)), 0) if resolution > 0.0 else 0
        value = round(low + share * (high - low), digits)
    return round(value) if parameter.scale == "integer" else float(value)


def _logarithmic(parameter: Parameter) -> bool:
    wide = parameter.scale == "integer" and parameter.low > 0 and parameter.high / parameter.low > POSITIONS
    return parameter.scale == "log" or wide


def _ends(parameter: Parameter) -> tuple[float, float]:
    low, high = float(parameter.low), float(parameter.high)
    if parameter.scale == "log" and low <= 0.0:
        low = high * 1e-6
    return low, (high if high > low else low + 1.0)


def value_text(value: Any, digits: int = 6) -> str:
    """A value as it stands in an entry field; ``digits`` = 17 shows it exactly."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(value_text(item, digits) for item in value)
    if isinstance(value, float):
        return repr(value) if digits >= 17 else f"{value:.{digits}g}"
    return str(value)


def read_value(parameter: Parameter, text: str) -> Any:
    """What a person typed, as Python data (not yet checked against the declaration).

    Numbers, '1e-3', 'inf', '1_000' and '2/3' are understood; '' and 'none' are None; lists have commas.
    """
    cleaned = text.strip()
    if parameter.scale == "list":
        return [_number(piece) for piece in cleaned.strip("[]()").split(",") if piece.strip()]
    if cleaned.lower() in ("", "none"):
        return None
    return _number(cleaned)


def _number(text: str) -> float | int | str:
    text = text.strip().replace("−", "-").replace("∞", "inf")
    above, slash, below = text.partition("/")
    try:
        if slash and float(below):
            return float(above) / float(below)
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            # the declaration's check says what is wrong with it
            return text
