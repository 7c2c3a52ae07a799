"""Makes Qt's SVG files look right in programs that do not know strokes of constant width.

Curves are drawn in data coordinates with pens of constant width; Qt writes them as a stretched group with
vector-effect="non-scaling-stroke", which SVG 1.1 does not have: programs without it (rsvg-convert 2.54, for one)
stretch the stroke too. Here such groups are written in page coordinates instead.
"""

from __future__ import annotations

import re

_GROUP = re.compile(r'(<g\b[^>]*?)transform="matrix\(([^)]*)\)"([^>]*>)(.*?)</g>', re.DOTALL)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIR = re.compile(rf"({_NUMBER}),({_NUMBER})")
_SHAPE = re.compile(r'<(path|polyline|polygon)\b([^>]*?)\b(d|points)="([^"]*)"')
_ELEMENT = re.compile(r"<(?!/)(\w+)")
_EFFECT = ' vector-effect="non-scaling-stroke"'
_BAKEABLE = {"path", "polyline", "polygon"}


def without_stretched_strokes(text: str) -> str:
    """The SVG document ``text`` with every group of constant-width strokes in page coordinates."""
    return _GROUP.sub(_rewritten, text)


def _rewritten(match: re.Match[str]) -> str:
    before, numbers, after, inside = match.groups()
    if _EFFECT not in inside or not set(_ELEMENT.findall(inside)) <= _BAKEABLE:
        return match.group(0)
    matrix = [float(number) for number in numbers.split(",")]
    shapes = _SHAPE.sub(lambda shape: _moved(shape, matrix), inside).replace(_EFFECT, "")
    return f'{before}transform="matrix(1,0,0,1,0,0)"{after}{shapes}</g>'


def _moved(shape: re.Match[str], matrix: list[float]) -> str:
    a, b, c, d, e, f = matrix
    name, attributes, key, coordinates = shape.groups()

    def mapped(pair: re.Match[str]) -> str:
        x, y = float(pair[1]), float(pair[2])
        return f"{a * x + c * y + e:.4f},{b * x + d * y + f:.4f}"

    return f'<{name}{attributes}{key}="{_PAIR.sub(mapped, coordinates)}"'
