"""Kinds of optax arguments that are more than numbers: masks, labels, number types, random keys."""

from __future__ import annotations

import ast
from typing import Any

from core.optim.dialects.binding import integer, number
from core.optim.dialects.optax_rules import rule_labels, rule_mask
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.values import Call, Name, NotRepresentable, Opaque, Place, describe
from core.optim.mask import COMPARISONS, Mask
from core.optim.variable_rules import Rule, negated

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
ADVICE = (
    "cannot be worked out without running it; write it as a dict of the variables, {'w': True, 'b': False}, "
    "or as lambda params: jax.tree.map(lambda x: x.ndim > 1, params)"
)


def mask(value: Any, place: Place) -> Mask | None:
    """A mask: None (no mask), True or False, a dict of names, or a function that asks for the number of axes."""
    if value is None:
        return None
    if isinstance(value, bool):
        return Mask(default=value)
    if isinstance(value, dict):
        return Mask(names=tuple((name, _truth(item, place)) for name, item in flatten(value).items()))
    if isinstance(value, Opaque):
        test = _test(value)
        if test is not None:
            return Mask(ndim=test)
        if isinstance(value.node, ast.Lambda) and isinstance(value.node.body, ast.Dict):
            return mask(expression_of(value), place)
    found = rule_mask(value)
    if found is not None:
        return found
    raise place.error(f"the mask {describe(value)} {ADVICE}")


def flatten(tree: dict[Any, Any], above: str = "") -> dict[str, Any]:
    """A nested dict as one of paths: {'dense': {'kernel': True}} is {'dense/kernel': True}."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{above}{key}"
        if isinstance(value, dict):
            found.update(flatten(value, f"{path}/"))
        else:
            found[path] = value
    return found


def _truth(value: Any, place: Place) -> bool:
    if isinstance(value, bool):
        return value
    raise place.error(f"a mask says True or False for every variable, not {describe(value)}")


def labels(value: Any, place: Place) -> list[tuple[str, Mask]]:
    """``param_labels`` as the mask of each label."""
    if isinstance(value, str):
        return [(value, Mask())]
    if isinstance(value, dict):
        paths = flatten(value)
        if all(isinstance(label, str | int) for label in paths.values()):
            order = dict.fromkeys(str(label) for label in paths.values())
            return [
                (one, Mask(names=tuple((name, str(label) == one) for name, label in paths.items()))) for one in order
            ]
    if isinstance(value, Opaque):
        found = _labelled(value)
        if found is not None:
            return found
        if isinstance(value.node, ast.Lambda) and isinstance(value.node.body, ast.Dict):
            return labels(expression_of(value), place)
    found = rule_labels(value)
    if found is not None:
        return found
    raise place.error(
        f"the labels {describe(value)} cannot be worked out without running them; write a dict "
        "{'w': 'decay', 'b': 'plain'}, or lambda params: jax.tree.map(lambda x: 'a' if x.ndim > 1 else 'b', params)"
    )


def _inner_lambda(value: Opaque) -> ast.Lambda | None:
    """The lambda that is mapped over the variables inside ``lambda params: tree_map(lambda x: ..., params)``."""
    body = value.node.body if isinstance(value.node, ast.Lambda) else None
    if not isinstance(body, ast.Call) or ast.unparse(body.func).split(".")[-1] not in ("map", "tree_map"):
        return None
    arguments = [argument.arg for argument in value.node.args.args]  # type: ignore[attr-defined]
    mapped, over = (*body.args, None, None)[:2]
    if isinstance(mapped, ast.Lambda) and len(mapped.args.args) == 1 and isinstance(over, ast.Name):
        return mapped if [over.id] == arguments else None  # all parameters, not only some of them
    return None


def _test(value: Opaque) -> tuple[str, int] | None:
    inner = _inner_lambda(value)
    return None if inner is None else _comparison(inner.body, inner.args.args[0].arg)


def _comparison(node: ast.expr, name: str) -> tuple[str, int] | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inside = _comparison(node.operand, name)
        return None if inside is None else (OPPOSITE[inside[0]], inside[1])
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in SYMBOLS:
        return None
    symbol = SYMBOLS[type(node.ops[0])]
    left, right = node.left, node.comparators[0]
    if _is_ndim(left, name) and isinstance(right, ast.Constant) and is_number(right.value):
        return symbol, int(right.value)  # type: ignore[arg-type]
    if _is_ndim(right, name) and isinstance(left, ast.Constant) and is_number(left.value):
        return FLIPPED[symbol], int(left.value)  # type: ignore[arg-type]
    return None


def _is_ndim(node: ast.expr, name: str) -> bool:
    return ast.unparse(node) in (f"{name}.ndim", f"len({name}.shape)", f"jnp.ndim({name})", f"np.ndim({name})")


def _labelled(value: Opaque) -> list[tuple[str, Mask]] | None:
    inner = _inner_lambda(value)
    if inner is None or not isinstance(inner.body, ast.IfExp):
        return None
    test = _comparison(inner.body.test, inner.args.args[0].arg)
    first, second = inner.body.body, inner.body.orelse
    if test is None or not isinstance(first, ast.Constant) or not isinstance(second, ast.Constant):
        return None
    return [(str(first.value), Mask(ndim=test)), (str(second.value), opposite(Mask(ndim=test)))]


def opposite(one: Mask) -> Mask:
    """The mask that picks the other variables."""
    if one.ndim is not None:
        return Mask(ndim=(OPPOSITE[one.ndim[0]], one.ndim[1]))
    if isinstance(one, Rule):
        return Rule(test=negated(one.test), written=one.written)
    if one.names:
        return Mask(names=tuple((name, not picked) for name, picked in one.names))
    return Mask(default=not one.default)


def write_mask(one: Mask) -> str:
    """The mask as code."""
    if type(one) is not Mask:
        raise NotRepresentable(f"optax asks for a tree of True and False, which {one.text} cannot be written as here")
    if one.ndim is not None:
        assert one.ndim[0] in COMPARISONS
        return f"lambda params: jax.tree.map(lambda x: x.ndim {one.ndim[0]} {one.ndim[1]}, params)"
    return repr(dict(one.names)) if one.names else repr(one.default)


def accumulator(value: Any, place: Place) -> str:
    """A number type for a state: 'variable' for the variable's own, or 'float32'."""
    name = value.text if isinstance(value, Name) else value
    if name is None:
        return "variable"
    if isinstance(name, str):
        name = name.rsplit(".", 1)[-1]
        if name in ("float32", "float64"):
            return "float32" if name == "float32" else "variable"
    raise place.error(f"the type {describe(value)} is not one this state can be kept in; it can be jnp.float32 or None")


def own_type(value: Any, place: Place) -> None:
    """A state type that has to be the variable's own."""
    if accumulator(value, place) != "variable":
        raise place.error(
            f"{describe(value)}: this state is always kept in the type of the arithmetic; leave the argument out"
        )


def curvature(value: Any, place: Place) -> str:
    """Sophia's ``hessian_diagonal_fn``: optax's estimator by its name, or a function that gives the diagonal."""
    if isinstance(value, Call) and value.name == "hutchinson_estimator_diag_hessian":
        if value.args or value.kwargs:
            raise place.error("the estimator's own random seed is not supported; leave it out for key 0")
        return "hutchinson"
    return "diagonal"


def own_axes(value: Any, place: Place) -> None:
    """Muon's own division of a weight's axes, which is not supported."""
    if value is not None:
        raise place.error("weight dimension numbers are not supported: matrices go through Muon, the rest through Adam")


def key(value: Any, place: Place) -> int:
    """A random key as the number it was made from: jax.random.key(3), jax.random.PRNGKey(3), 3 or None."""
    if value is None:
        return 0
    if isinstance(value, Call) and value.name in ("key", "PRNGKey") and value.args:
        return integer(value.args[0], place, "the random key")
    return integer(value, place, "the random key")


def coefficients(value: Any, place: Place) -> list[float]:
    """Newton-Schulz coefficients: a triple, a list of triples, or the name of a known set, as one flat list."""
    if isinstance(value, str):
        if value not in COEFFICIENT_SETS:
            raise place.error(f"ns_coeffs {value!r} is not known; there are: {', '.join(COEFFICIENT_SETS)}")
        return list(COEFFICIENT_SETS[value])
    if isinstance(value, list | tuple) and value:
        rows = [list(value)] if is_number(value[0]) else [list(row) for row in value if isinstance(row, list | tuple)]
        if all(len(row) == 3 for row in rows):
            return [float(number(item, place, "ns_coeffs")) for row in rows for item in row]
    raise place.error("ns_coeffs is three numbers, or a list of such triples")


COEFFICIENT_SETS: dict[str, tuple[float, ...]] = {
    "standard": (3.4445, -4.775, 2.0315),
    "dion": (
        *(4.0848, -6.8946, 2.927),
        *(3.9505, -6.3029, 2.6377),
        *(3.7418, -5.5913, 2.3037),
        *(2.8769, -3.1427, 1.2046),
        *(2.8366, -3.0525, 1.2012),
    ),
}
"""optax's named sets, one triple for every iteration or one for each of five."""


def write_coefficients(flat: list[float]) -> str:
    """The flat list as code."""
    rows = [tuple(flat[i : i + 3]) for i in range(0, len(flat), 3)]
    return repr(rows[0]) if len(rows) == 1 else repr(tuple(rows))
