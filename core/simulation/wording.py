"""Words and numbers for sentences: rounding for readers, and marked pieces that become plain or coloured text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable

Translate = Callable[[str], str]
EXPECTED = "-lr*g"
# A marked piece: \x01 kind \x02 text \x03. Kinds: strong, computed, applied, warning, cause:NAME.
_MARK = re.compile("\x01([^\x02]*)\x02([^\x03]*)\x03")
_MINUS = re.compile(r"(?<![\w.)])-(?=[\d(]|inf)")


REASONS = {
    "loss scaling": "the loss was scaled, so that small gradients survive, and is scaled back here",
    "accumulation": "it gathers the gradients of several steps into one",
    "regularisation": "the penalty on the weights adds a gradient of its own",
    "centralisation": "it takes the mean out of each gradient",
    "momentum": "it mixes in earlier gradients",
    "bias correction": "it makes up for averages that started at zero",
    "adaptive scaling": "it scales each weight by how large its gradients have been",
    "trust ratio": "it ties the step of each variable to the length of its weights",
    "sign": "it keeps only the sign of each component",
    "orthogonalisation": "it makes the update of each matrix orthogonal",
    "weight decay": "it pulls the weights towards zero",
    "averaging": "it moves towards an average of weights",
    "noise": "it adds random numbers",
    "frozen variables": "these weights are not trained",
}
"""Why a cause does what it does, one clause each."""
OWN_REASONS = {
    "maximise": "it climbs instead of descending, with the sign turned round",
    "belief_moment": "it scales each weight by how far its gradients stray from their average",
    "norm_scaling": "it scales each variable by how long its gradients have been",
    "ftrl_step": "it works the weights out anew, from sums of gradients that start at zero",
    "lbfgs": "direction and length come from the last gradients and steps",
    "rprop": "of the gradient only the sign counts; the length grows while it stays, and shrinks when it turns",
    "clip_weights": "it holds the weights within bounds",
    "norm_bounds": "a constraint holds the length of the weights",
    "rectification": "it scales the adaptive step down, or leaves it out, until enough gradients have been seen",
}
"""The same for transforms whose cause says too little of them, by their names."""


def mark(kind: str, text: str) -> str:
    """A piece of a sentence that stands out: 'strong', 'computed', 'applied', 'warning' or 'cause:NAME'."""
    return f"\x01{kind}\x02{text}\x03"


def capital(text: str) -> str:
    """The first letter of a marked or plain text in upper case."""
    start = text.index("\x02") + 1 if text.startswith("\x01") else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def plain(text: str) -> str:
    """Without marks."""
    return _MARK.sub(r"\2", text)


def rich(text: str, color_of: Callable[[str], str]) -> str:
    """As HTML; ``color_of`` gives a colour for 'computed', 'applied', 'warning' and each cause."""

    def piece(match: re.Match[str]) -> str:
        kind, inside = match.group(1), match.group(2)
        if kind == "strong":
            return f"<b>{inside}</b>"
        return f'<b style="color:{color_of(kind.removeprefix("cause:"))}">{inside}</b>'

    escaped = html.escape(text, quote=False).replace(EXPECTED, "\u2212lr\u00b7g")
    return _MARK.sub(piece, _MINUS.sub("\u2212", escaped))


def number(value: float) -> str:
    """A number for a sentence: up to four digits, no trailing zeros."""
    if value == 0.0:
        return "0"
    return f"{value:.4g}"


def factor(value: float) -> str:
    """A ratio for a sentence: '0.122', '1/340', '3.5', '12,000'."""
    if value == 0.0 or not math.isfinite(value):
        return number(value)
    if value >= 1000.0:
        return f"{value:,.0f}" if value < 1e7 else f"{value:.1e}"
    if value < 0.05:
        return f"1/{1.0 / value:,.0f}" if value > 1e-7 else f"{value:.1e}"
    return f"{value:.3g}"


def degrees(value: float) -> str:
    """An angle for a sentence, whole degrees where that is enough."""
    return f"{value:.1f}" if value < 9.95 or value > 170.0 else f"{value:.0f}"
