"""What weight updates written by hand do beyond a rate times the gradient: momentum, running means, decay.

``v = 0.9 * v + dw`` and ``w = 0.99 * w - 0.1 * dw`` are lines of optimizers of their own. They are refused by name, as
they would otherwise be read as plain gradient descent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from core.optim.dialects.values import Call, Place, Program, Statement

GRADIENT = re.compile(r"^(?:\w*grad(?:s|ient|ients)?|d_?[wbWxp]\w*|d_?theta|dl_?dw|g|nabla\w*)$", re.I)
"""What a gradient is called."""
ARRAYS = ("np", "numpy", "jnp", "jax.numpy", "onp")
RESHAPING = frozenset({"clip", "sign", "norm", "maximum", "minimum", "nan_to_num", "where", "tanh", "sqrt"})
"""Functions of arrays that make another step out of a gradient, another weight out of a weight."""
ADVICE = (
    "write the optimizer that does this, such as torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-4) or "
    "torch.optim.Adam(params, lr=0.001)"
)


def refuse_more(program: Program, updates: Sequence[Statement]) -> None:
    """ParseError where a line keeps part of an earlier value beside the gradient, or adds weights to the gradient."""
    weights = {name for statement in updates for name in statement.targets}
    if any(not isinstance(statement.value, Call) for statement in updates):
        _check_reworked(program, weights)
    for place, target, terms in _lines(program):
        kept = next((term for term in terms if _scaled(term, target)), None)
        others = [term for term in terms if term is not kept]
        if kept is not None and any(_of_gradient(term) for term in others) and not target.endswith(".grad"):
            raise place.error(
                f"{target} keeps {ast.unparse(kept)} and takes the gradient on top here, which is a momentum, a "
                f"running mean or a weight decay, and more than a rate times the gradient; {ADVICE}"
            )
        if any(_squared(term) for term in others) and not _named(target):
            raise place.error(
                f"{target} collects squares of the gradient here, which is more than a rate times the gradient; "
                "write the optimizer that does this, such as torch.optim.Adagrad(params, lr=0.01)"
            )
        penalised = _named(target) and len(terms) > 1 and any(_weight_times(term, weights) for term in others)
        own = any(ast.unparse(term) == target for term in terms) or any(_product(term) for term in terms)
        if (penalised and own) or any(_penalised(term, target) for term in others):
            raise place.error(
                "weights are added to the gradient here, which is a penalty on the weights; write it as an argument, "
                "such as torch.optim.SGD(params, lr=0.1, weight_decay=1e-4)"
            )


def _check_reworked(program: Program, weights: set[str]) -> None:
    """ParseError where a line makes another gradient of the gradient (``dw = np.clip(dw, -5, 5)``), another weight of
    the weight.
    """
    for statement in program.statements:
        for target, value in _changes(statement):
            reshaped, itself = _reshapes(value), target in _names(value) or bool(statement.changes)
            inside = reshaped and not statement.targets and not statement.stores  # np.clip(d, -5, 5, out=d)
            if (_named(target) and itself and (reshaped or statement.conditions)) or (inside and target not in weights):
                raise statement.place.error(
                    f"{target} is clipped or scaled here by hand; write it in the words of a framework, such as "
                    "torch.nn.utils.clip_grad_norm_(params, 5) or torch.nn.utils.clip_grad_value_(params, 5) before a "
                    "step of torch.optim.SGD(params, lr=0.1)"
                )
            if target in weights and itself and reshaped and not _mentions(value):
                raise statement.place.error(
                    f"{target} is clipped or scaled here beside its update, which is more than plain descent"
                )


def _changes(statement: Statement) -> Iterator[tuple[str, ast.expr]]:
    """The names a line changes and the expressions they get; ``np.clip(dw, -5, 5, out=dw)`` changes one as well."""
    node = _node(statement)
    if isinstance(node, ast.AugAssign):
        yield ast.unparse(node.target), node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield ast.unparse(node.targets[0]), node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        for keyword in node.value.keywords:
            if keyword.arg == "out":
                yield ast.unparse(keyword.value), node.value


def _reshapes(value: ast.expr) -> bool:
    calls = (ast.unparse(part.func) for part in ast.walk(value) if isinstance(part, ast.Call))
    parts = (call.rpartition(".") for call in calls)
    return any(name in RESHAPING and root in (*ARRAYS, *(f"{one}.linalg" for one in ARRAYS)) for root, _, name in parts)


def _names(value: ast.expr) -> set[str]:
    return {ast.unparse(part) for part in ast.walk(value) if isinstance(part, ast.Name | ast.Attribute)}


def _node(statement: Statement) -> ast.stmt | None:
    try:
        return ast.parse(statement.place.quote.strip()).body[0]
    except (SyntaxError, IndexError):
        return None


def refuse_unread(program: Program) -> None:
    """ParseError where something is updated with a gradient in a way that was not understood."""
    for place, target, terms in _lines(program):
        itself = any(ast.unparse(term) == target for term in terms)
        if itself and not _named(target) and any(_mentions(term) for term in terms):
            raise place.error(
                f"{target} is changed here by hand, by something else than a rate times a gradient; {ADVICE}"
            )


def _lines(program: Program) -> Iterator[tuple[Place, str, list[ast.expr]]]:
    """The assignments of the text: where, to what, and the terms of the sum that is assigned."""
    for statement in program.statements:
        node = _node(statement)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            yield statement.place, ast.unparse(node.target), [_read(node.target), *_terms(node.value)]
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield statement.place, ast.unparse(node.targets[0]), list(_terms(node.value))


def _read(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _scaled(term: ast.expr, target: str) -> bool:
    """``0.9 * v`` in a line that sets ``v``."""
    factors = [ast.unparse(factor) for factor in _factors(term)]
    return len(factors) > 1 and target in factors


def _named(text: str) -> bool:
    return GRADIENT.match(text.split(".")[-1]) is not None


def _mentions(node: ast.AST) -> bool:
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
    return any(_named(ast.unparse(part)) for part in parts)


def _of_gradient(term: ast.expr) -> bool:
    """A gradient, times numbers: ``0.1 * dw``, ``(1 - beta) * p.grad``, ``g ** 2``."""
    return any(
        _named(ast.unparse(factor)) or _squared(factor) or (isinstance(factor, ast.Call) and _like_gradient(factor))
        for factor in _factors(term)
    )


def _like_gradient(call: ast.Call) -> bool:
    """``grad(w)`` and ``np.clip(dw, -1, 1)``, not ``np.linalg.norm(dw)``."""
    return _mentions(call) and "norm" not in ast.unparse(call.func)


def _squared(term: ast.expr) -> bool:
    for part in _factors(term):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow) and _named(ast.unparse(part.left)):
            return True
        if isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] == "square" and _mentions(part):
            return True
    factors = [ast.unparse(factor) for factor in _factors(term)]
    return any(_named(one) and factors.count(one) == 2 for one in factors)


def _weight_times(term: ast.expr, weights: set[str]) -> bool:
    """``reg * W``."""
    factors = list(_factors(term))
    plain = all(isinstance(factor, ast.Name | ast.Constant | ast.Attribute) for factor in factors)
    return plain and any(ast.unparse(factor) in weights for factor in factors)


def _product(term: ast.expr) -> bool:
    """A gradient worked out from data: ``X.T @ error``, ``np.dot(X.T, error)``."""
    for part in ast.walk(term):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
            return True
        if isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] in ("dot", "matmul", "einsum"):
            return True
    return False


def _penalised(term: ast.expr, target: str) -> bool:
    """``0.1 * (dw + 0.01 * w)`` in a line that changes ``w``."""
    for factor in _factors(term):
        parts = list(_terms(factor))
        if len(parts) > 1 and any(_of_gradient(part) for part in parts):
            return any(_scaled(part, target) for part in parts)
    return False
