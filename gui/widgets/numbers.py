"""Numbers as they are read: a real minus sign, and exponents without leading zeros."""

from __future__ import annotations

import re

_EXPONENT = re.compile(r"e([+-])0*(\d+)")


def real_minus(text: str) -> str:
    """'−1e−5' for '-1e-05', as at every axis; the text of one number or of several."""
    return _EXPONENT.sub(lambda found: "e" + found[1].replace("+", "") + found[2], text).replace("-", "\u2212")


def shown_number(value: float, digits: int = 4, sign: str = "") -> str:
    """``value`` in so many digits; with ``sign`` '+' a plus is written too."""
    return real_minus(f"{value:{sign}.{digits}g}")
