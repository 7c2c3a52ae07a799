"""Clips that TensorFlow and JAX code writes out: every gradient times ``min(1, c / norm)``."""

from __future__ import annotations

import ast
import re
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.syntax import is_number
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Place
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm

EPSILON = 1e-6
MODULE = r"(?:\w+\.)*"
SQUARES = re.compile(
    rf"{MODULE}(?:reduce_)?sum\((?:{MODULE}square\((?P<a>\w+)\)|\(?(?P<b>\w+)\*\*2(?:\.0?)?\)?|(?P<c>\w+)\*(?P=c)"
    rf"|{MODULE}pow\(\w+,2(?:\.0?)?\)|{MODULE}abs\(\w+\)\*\*2)\)|{MODULE}vdot\((?P<d>\w+),(?P=d)\)"
    rf"|{MODULE}norm\(\w+\)\*\*2(?:\.0?)?|{MODULE}square\({MODULE}norm\(\w+\)\)|\(?\w+\*\*2(?:\.0?)?\)?\.sum\(\)"
)
NORMS = re.compile(rf"{MODULE}norm\(\w+\)")


def clip_of_scaled(operator: str, factor: Any, gradient: str, place: Place, source: Any = None) -> Transform | None:
    """The clip that ``gradient * factor`` or ``gradient / factor`` is; None where it is none.

    ``source`` is what the gradients are taken from. Raises ParseError where every gradient gets the same length, for
    the norm of other gradients than these, or for an epsilon that no clip has.
    """
    found = _least(factor) if operator == "*" else _most(factor)
    if found is None:
        _refuse_lengths(operator, factor, gradient, place)
        return None
    limit, norm, added = found
    kind = norm_kind(norm, gradient)
    if not kind or not is_number(limit):
        return None
    if added not in (0.0, EPSILON):
        raise place.error(f"clips divide by the norm, or by the norm + 1e-6 as PyTorch does; not + {added:g}")
    other = measured(norm) if kind == "all" else None
    if other is not None and source is not None and not _same(other, source):
        raise place.error("the gradients scaled here are not those whose norm was taken: clip before changing them")
    convention = "torch" if added else "optax"
    if kind == "one":
        return ClipByNorm(max_norm=float(limit), convention=convention)
    return ClipByGlobalNorm(max_norm=float(limit), convention=convention)


def norm_kind(value: Any, gradient: str) -> str:
    """'all' for the Euclidean norm over the gradients of all variables, 'one' for that of ``gradient``, else ''."""
    if isinstance(value, Operation) and value.operator == "**" and unwrap(value.right) == 0.5:
        return "all" if _sum_of_squares(value.left) else ""
    if not isinstance(value, Call):
        return ""
    name = value.path[-1]
    if name in ("global_norm", "tree_l2_norm", "tree_norm"):
        return "all"
    inside = value.args[0] if value.args else value.receiver
    if name in ("norm", "euclidean_norm") and len(value.args) <= 1 and not set(value.kwargs) - {"name", "ord"}:
        if isinstance(inside, Name) and inside.text == gradient:
            return "one"
        return "all" if _each(inside, NORMS) else ""
    if name != "sqrt":
        return ""
    if isinstance(inside, Call) and inside.path[-1] in ("reduce_sum", "sum") and inside.args:
        square = inside.args[0]
        if isinstance(square, Call) and square.path[-1] == "square" and square.args:
            square = Operation("**", square.args[0], 2)
        own = isinstance(square, Operation) and square.operator == "**" and unwrap(square.right) == 2
        if own and isinstance(square.left, Name) and square.left.text == gradient:
            return "one"
    return "all" if _sum_of_squares(inside) else ""


def measured(norm: Any) -> Any:
    """The gradients whose norm this is, None where the text does not tell."""
    stack = [norm]
    while stack:
        item = stack.pop()
        if isinstance(item, Opaque) and isinstance(item.node, ast.GeneratorExp | ast.ListComp):
            walked: ast.expr = item.node.generators[0].iter
            while isinstance(walked, ast.Call) and walked.args:
                walked = walked.args[0]
            return item.names.get(walked.id, Name(walked.id)) if isinstance(walked, ast.Name) else None
        if isinstance(item, Call) and item.path[-1] in ("global_norm", "tree_l2_norm", "tree_norm", "map", "tree_map"):
            return item.args[-1] if item.args else None
        if isinstance(item, Call):
            stack += [item.receiver, *item.args]
        elif isinstance(item, Operation):
            stack.append(item.left)
    return None


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, Name | Attribute) and isinstance(b, Name | Attribute) and a.text == b.text)


def _least(factor: Any) -> tuple[Any, Any, float] | None:
    """(c, norm, ε) of ``min(1, c / (norm + ε))`` and ``c / max(norm, c)``."""
    if isinstance(factor, Call) and factor.path[-1] in ("min", "minimum") and len(factor.args) == 2:
        args = [unwrap(value) for value in factor.args]
        inside = args[1] if args[0] == 1 else args[0] if args[1] == 1 else None
        return _quotient(inside)
    if isinstance(factor, Call) and factor.path[-1] in ("clip", "clip_by_value"):
        last = factor.kwargs.get("max", factor.kwargs.get("a_max", factor.args[-1] if factor.args else None))
        return _quotient(factor.args[0]) if unwrap(last) == 1 and factor.args else None
    if isinstance(factor, Call) and factor.path[-1] == "where" and len(factor.args) == 3:
        return _chosen(*factor.args)
    if isinstance(factor, Operation) and factor.operator == "/":
        limit, below = unwrap(factor.left), factor.right
        if isinstance(below, Call) and below.path[-1] in ("max", "maximum") and len(below.args) == 2:
            args = [unwrap(value) for value in below.args]
            if limit in (args[0], args[1]) and is_number(limit):
                return limit, args[1] if args[0] == limit else args[0], 0.0
    return None


def _most(factor: Any) -> tuple[Any, Any, float] | None:
    """(c, norm, ε) of ``max(1, norm / c)``, which gradients are divided by."""
    if isinstance(factor, Call) and factor.path[-1] in ("max", "maximum") and len(factor.args) == 2:
        args = [unwrap(value) for value in factor.args]
        inside = args[1] if args[0] == 1 else args[0] if args[1] == 1 else None
        if isinstance(inside, Operation) and inside.operator == "/":
            return unwrap(inside.right), inside.left, 0.0
    return None


def _chosen(test: Any, then: Any, other: Any) -> tuple[Any, Any, float] | None:
    """(c, norm, 0) of ``where(norm > c, c / norm, 1)``."""
    if not isinstance(test, Operation) or test.operator not in (">", ">=", "<", "<="):
        return None
    scaled, kept = (then, other) if test.operator in (">", ">=") else (other, then)
    found = _quotient(scaled)
    if found is None or unwrap(kept) != 1 or found[1] is not test.left or found[0] != unwrap(test.right):
        return None
    return found


def _quotient(value: Any) -> tuple[Any, Any, float] | None:
    if not isinstance(value, Operation) or value.operator != "/":
        return None
    limit, below, added = unwrap(value.left), value.right, 0.0
    if isinstance(below, Operation) and below.operator == "+" and is_number(unwrap(below.right)):
        below, added = below.left, float(unwrap(below.right))
    return limit, below, added


def _refuse_lengths(operator: str, factor: Any, gradient: str, place: Place) -> None:
    """A ParseError for gradients that are all brought to one length."""
    value = factor if operator == "*" else Operation("/", 1.0, factor)
    found = _quotient(value)
    if found is not None and is_number(found[0]) and norm_kind(found[1], gradient):
        raise place.error(
            f"every gradient is brought to the length {found[0]:g} here, short ones are lengthened; that has no row. "
            "For a clip write min(1, c / norm); optax.normalize_by_update_norm() does it for all variables together"
        )


def _sum_of_squares(value: Any) -> bool:
    """True for the sum over all gradients of their squares."""
    if isinstance(value, Call) and value.path[-1] in ("sum", "add_n", "reduce_sum", "tree_sum") and value.args:
        inside = value.args[0]
        if isinstance(inside, Call) and inside.path[-1] in ("stack", "array", "tree_leaves", "leaves") and inside.args:
            inside = inside.args[0]
        return _each(inside, SQUARES) or _mapped(inside)
    if isinstance(value, Call) and value.path[-1] in ("tree_reduce", "reduce"):
        return any(_mapped(argument) for argument in value.args)
    return False


def _mapped(value: Any) -> bool:
    """True for ``tree.map(lambda g: jnp.sum(g ** 2), grads)``."""
    if not isinstance(value, Call) or value.path[-1] not in ("map", "tree_map") or len(value.args) != 2:
        return False
    function = value.args[0]
    node = function.node if isinstance(function, Opaque) else None
    return isinstance(node, ast.Lambda) and SQUARES.fullmatch(_bare(ast.unparse(node.body))) is not None


def _each(value: Any, pattern: re.Pattern[str]) -> bool:
    """True for a comprehension over all gradients whose every element is like ``pattern``."""
    while isinstance(value, Call) and value.path[-1] in ("stack", "list", "array", "asarray") and value.args:
        value = value.args[0]
    node = value.node if isinstance(value, Opaque) else None
    if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
        return False
    generator = node.generators[0]
    tests = [ast.unparse(test) for test in generator.ifs]
    if any(not test.endswith("is not None") for test in tests) or not re.search(r"g", ast.unparse(generator.iter)):
        return False
    return pattern.fullmatch(_bare(ast.unparse(node.elt))) is not None


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)
