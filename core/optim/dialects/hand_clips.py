"""Clips written out by hand: ``coef = max_norm / (total_norm + 1e-6)``, applied where it is below 1."""

from __future__ import annotations

import ast
import re
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.syntax import is_number
from core.optim.dialects.values import Call, Name, Opaque, Operation, Statement, describe
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByGlobalNorm

G = r"\w+\.grad(?:\.data|\.detach\(\))*"
NORM = (
    rf"(?:{G}\.norm\((?:(?:p=)?2(?:\.0?)?)?\)|torch\.(?:linalg\.)?norm\({G}(?:,(?:p=|ord=)?2(?:\.0?)?)?\))"
    r"(?:\.item\(\))?"
)
SQUARE = (
    rf"\(?{NORM}\)?\*\*2(?:\.0?)?|{NORM}\.(?:pow\(2\)|square\(\))|\(?{G}\*\*2(?:\.0?)?\)?\.sum\(\)|{G}\.pow\(2\)\.sum\(\)"
    rf"|{G}\.square\(\)\.sum\(\)|torch\.sum\((?:{G}\*\*2(?:\.0?)?|{G}\.pow\(2\)|torch\.square\({G}\))\)"
)
NORMS = re.compile(NORM)
SQUARES = re.compile(rf"(?:{SQUARE})(?:\.item\(\))?")
EPSILON = 1e-6


def hand_clip(factor: Any, statement: Statement) -> Transform | None:
    """The clip by global norm that multiplying every gradient by ``factor`` amounts to; None for another factor.

    Raises ParseError for a factor that would also lengthen short gradients, or whose epsilon no framework has.
    """
    inside, bounded = _unbounded(factor)
    if not isinstance(inside, Operation) or inside.operator != "/":
        return None
    limit, below = unwrap(inside.left), inside.right
    added = 0.0
    if isinstance(below, Operation) and below.operator == "+" and is_number(unwrap(below.right)):
        below, added = below.left, float(unwrap(below.right))
    if not is_number(limit) or not _is_total(below):
        return None
    if not bounded and not any(_says_longer(condition, inside, below, limit) for condition in statement.conditions):
        raise statement.place.error(
            f"every gradient is scaled to the norm {limit:g} here, short ones are lengthened; for a clip put "
            "'if coef < 1:' in front, or write min(1.0, coef)"
        )
    if added not in (0.0, EPSILON):
        raise statement.place.error(f"clips divide by the norm, or by the norm + 1e-6 as PyTorch does; not + {added:g}")
    return ClipByGlobalNorm(max_norm=limit, convention="torch" if added else "optax")


def _unbounded(factor: Any) -> tuple[Any, bool]:
    """(what stands inside ``min(1.0, ...)`` or ``clamp(max=1.0)``, whether it did)."""
    if not isinstance(factor, Call):
        return factor, False
    name, args = factor.path[-1], [unwrap(value) for value in factor.args]
    if name == "min" and factor.receiver is None and len(args) == 2 and 1 in (args[0], args[1]):
        return (args[1] if args[0] == 1 else args[0]), True
    if name in ("clamp", "clamp_", "clip") and factor.kwargs.get("max") == 1:
        inside = factor.receiver if factor.receiver is not None else next(iter(args), None)
        return inside, True
    if name in ("item", "to", "detach") and factor.receiver is not None:
        return _unbounded(factor.receiver)
    return factor, False


def _says_longer(condition: Any, factor: Any, norm: Any, limit: float) -> bool:
    """True for ``coef < 1`` and ``total_norm > max_norm``."""
    if not isinstance(condition, Operation):
        return False
    left, right = condition.left, unwrap(condition.right)
    if condition.operator in ("<", "<="):
        return left is factor and right == 1
    return condition.operator in (">", ">=") and left is norm and right == limit


def _is_total(value: Any) -> bool:
    """True for the Euclidean norm over the gradients of all parameters."""
    if isinstance(value, Operation) and value.operator == "**" and unwrap(value.right) == 0.5:
        return _is_sum(value.left)
    if not isinstance(value, Call):
        return False
    name = value.path[-1]
    if name in ("item", "to", "detach", "float") and value.receiver is not None:
        return _is_total(value.receiver)
    if name == "sqrt":
        return _is_sum(value.receiver if value.receiver is not None else next(iter(value.args), None))
    if name in ("norm", "vector_norm") and value.args and (len(value.args) == 1 or unwrap(value.args[1]) == 2):
        return _all_are(value.args[0], NORMS)
    return name == "get_total_norm"


def _is_sum(value: Any) -> bool:
    """True for the sum of the squares of all gradients."""
    if isinstance(value, Operation) and value.operator == "+" and value.right is not None:
        return (_starts(value.left) or _is_sum(value.left)) and _is_square(value.right)
    if isinstance(value, Call) and value.path[-1] == "sum":
        return _all_are(value.args[0] if value.args else value.receiver, SQUARES)
    return False


def _starts(value: Any) -> bool:
    """True for the 0 a sum starts with."""
    if isinstance(value, Call):
        return value.name in ("tensor", "zeros") and (not value.args or unwrap(value.args[0]) in (0, 1))
    return is_number(value) and value == 0


def _is_square(value: Any) -> bool:
    value = _plain(value)
    if isinstance(value, Operation) and value.operator == "**" and unwrap(value.right) == 2:
        return NORMS.fullmatch(_bare(_plain(value.left))) is not None or SQUARES.fullmatch(_bare(value)) is not None
    if isinstance(value, Call) and value.path[-1] in ("pow", "square") and isinstance(value.receiver, Call):
        return NORMS.fullmatch(_bare(_plain(value.receiver))) is not None
    return SQUARES.fullmatch(_bare(value)) is not None


def _plain(value: Any) -> Any:
    """What ``.item()`` and the like are called on."""
    while isinstance(value, Call) and value.path in (("item",), ("detach",), ("float",)) and value.receiver is not None:
        value = value.receiver
    return value


def _all_are(value: Any, pattern: re.Pattern[str]) -> bool:
    """True for a comprehension over parameters (in a stack or a list) whose every element is like ``pattern``."""
    while isinstance(value, Call) and value.name in ("stack", "list", "tensor", "cat") and value.args:
        value = value.args[0]
    node = value.node if isinstance(value, Opaque) else None
    if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
        return False
    if "param" not in ast.unparse(node.generators[0].iter):
        return False
    return pattern.fullmatch(re.sub(r"\s+", "", ast.unparse(node.elt))) is not None


def _bare(value: Any) -> str:
    return "" if value is None or isinstance(value, Name) else re.sub(r"\s+", "", describe(value))
