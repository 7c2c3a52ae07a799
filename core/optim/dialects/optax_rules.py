"""Masks and labels of optax that ask for a variable's path or axes: ``tree_map_with_path``, ``flatten_dict``, ..."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from core.optim.dialects.element_edits import value_of
from core.optim.dialects.parameter_rules import Unread, condition
from core.optim.dialects.syntax import expression_of
from core.optim.dialects.values import Call, Name, Opaque, describe
from core.optim.mask import Mask
from core.optim.variable_rules import ALL, Rule, Test, joined, negated

MAPS = ("map", "tree_map")
PATH_MAPS = ("tree_map_with_path", "map_with_path", "path_aware_map")
WRAPS = ("freeze", "unfreeze", "unflatten_dict", "FrozenDict", "dict")
ROLES = {"kernel": "weight", "weight": "weight", "w": "weight", "bias": "bias", "b": "bias", "scale": "norm.weight"}
"""What the last part of a path says of a variable that has another name here."""


def rule_mask(value: Any) -> Mask | None:
    """The mask that a function of the parameters, or a tree made of them, stands for; None where it is neither."""
    found = _mapped(value)
    if found is None:
        return None
    body, path, leaf, names = found
    try:
        return Rule(test=_test(body, path, leaf, names), written=describe(value))
    except Unread:
        return None


def rule_labels(value: Any) -> list[tuple[str, Mask]] | None:
    """The labels of ``'a' if test else 'b'``, each with the mask of its variables."""
    found = _mapped(value)
    if found is None:
        return None
    body, path, leaf, names = found
    tests: dict[str, list[Test]] = {}
    left: Test = ALL
    try:
        while isinstance(body, ast.IfExp):
            test = _test(body.test, path, leaf, names)
            tests.setdefault(_label(body.body), []).append(joined("and", [left, test]))
            left = joined("and", [left, negated(test)])
            body = body.orelse
        tests.setdefault(_label(body), []).append(left)
    except Unread:
        return None
    written = describe(value)
    return [(label, Rule(test=joined("or", parts), written=written)) for label, parts in tests.items()]


def _label(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant):
        raise Unread(ast.unparse(node))
    return str(node.value)


Found = tuple[ast.expr, str, str, Mapping[str, Any]]


def _mapped(value: Any, tree: str = "") -> Found | None:
    """(what is asked of each variable, the name of its path, of the variable itself, the names known there)."""
    if isinstance(value, Opaque) and isinstance(value.node, ast.Lambda | ast.FunctionDef) and not tree:
        arguments = value.node.args.args
        return _mapped(expression_of(value), arguments[0].arg) if len(arguments) == 1 else None
    if isinstance(value, Opaque) and isinstance(value.node, ast.DictComp) and len(value.node.generators) == 1:
        generator = value.node.generators[0]
        parts = generator.target.elts if isinstance(generator.target, ast.Tuple) else [generator.target]
        names = [target.id for target in parts if isinstance(target, ast.Name)]
        if generator.ifs or len(names) != len(parts) or not isinstance(value.node.key, ast.Name):
            return None
        return value.node.value, names[0], names[1] if len(names) > 1 else "", value.names
    if not isinstance(value, Call) or not value.args:
        return None
    if value.path[-1] in WRAPS:
        return _mapped(value.args[0], tree or "tree")
    function = value.args[0]
    node = function.node if isinstance(function, Opaque) else None
    if len(value.args) != 2 or not isinstance(node, ast.Lambda | ast.FunctionDef) or not isinstance(function, Opaque):
        return None
    over = value.args[1]
    if not isinstance(over, Name) or (tree not in ("", "tree") and over.text != tree):
        return None  # only some of the parameters
    given = [argument.arg for argument in node.args.args]
    body = _returned(node)
    if body is None:
        return None
    if value.path[-1] in MAPS and len(given) == 1:
        return body, "", given[0], function.names
    if value.path[-1] in PATH_MAPS and len(given) == 2:
        return body, given[0], given[1], function.names
    return None


def _returned(node: ast.Lambda | ast.FunctionDef) -> ast.expr | None:
    """The one expression that the function returns."""
    if isinstance(node, ast.Lambda):
        return node.body
    only = node.body[0] if len(node.body) == 1 else None
    return only.value if isinstance(only, ast.Return) else None


def _test(node: ast.expr, path: str, leaf: str, names: Mapping[str, Any]) -> Test:
    """The rule of a test of a variable's path and axes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ALL if node.value else negated(ALL)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(_test(node.operand, path, leaf, names))
    if isinstance(node, ast.BoolOp):
        kind = "and" if isinstance(node.op, ast.And) else "or"
        return joined(kind, [_test(part, path, leaf, names) for part in node.values])
    if path:
        found = _of_path(node, path, names)
        if found is not None:
            return found
    return condition(node, None, leaf or "#", dict(names))


def _of_path(node: ast.expr, path: str, names: Mapping[str, Any]) -> Test | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node, path, names)
    if not isinstance(node, ast.Call):
        return None
    function = ast.unparse(node.func)
    if function == "any" and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
        generator = node.args[0].generators[0]
        part = ast.unparse(generator.target)
        if ast.unparse(generator.iter) == path and not generator.ifs:
            return _of_part(node.args[0].elt, part)
        words = _words(generator.iter, names)
        if words is not None and isinstance(generator.target, ast.Name):
            filled = [
                _Fill(generator.target.id, word).visit(ast.parse(ast.unparse(node.args[0].elt)).body[0])
                for word in words
            ]
            return joined("or", [_test(one.value, path, "", names) for one in filled])
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("endswith", "startswith") and len(node.args) == 1:
        words = _words(node.args[0], names)
        if words is not None and _is_whole(node.func.value, path):
            kind = "ends" if node.func.attr == "endswith" else "starts"
            return joined("or", [(kind, word) for word in words])
        if words is not None and _is_last(node.func.value, path):
            return joined("or", [("ends", word) for word in words]) if node.func.attr == "endswith" else None
    return None


def _compared(node: ast.Compare, path: str, names: Mapping[str, Any]) -> Test | None:
    left, right, op = node.left, node.comparators[0], node.ops[0]
    found: Test | None = None
    if isinstance(op, ast.Eq | ast.NotEq):
        word = _words(right, names)
        if word is not None and len(word) == 1 and _is_last(left, path):
            found = _last(word[0])
        return found if found is None or isinstance(op, ast.Eq) else negated(found)
    if not isinstance(op, ast.In | ast.NotIn):
        return None
    words, several = _words(left, names), _words(right, names)
    if words is not None and len(words) == 1:
        if _is_whole(right, path) or _is_last(right, path):
            found = joined("or", [("holds", words[0]), *_role(words[0])])
        elif ast.unparse(right) == path:
            found = joined("or", [("in", words[0]), _last(words[0])])
    elif several is not None and _is_last(left, path):
        found = joined("or", [_last(word) for word in several])
    return found if found is None or isinstance(op, ast.In) else negated(found)


def _of_part(node: ast.expr, part: str) -> Test | None:
    """``'bias' in str(p)``, ``p.key == 'bias'`` for one part of a path."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right, op = node.left, node.comparators[0], node.ops[0]
    spelled = (part, f"str({part})", f"{part}.key", f"{part}.name", f"str({part}.key)")
    if isinstance(op, ast.In) and isinstance(left, ast.Constant) and ast.unparse(right) in spelled:
        word = str(left.value)
        return joined("or", [("holds", word), *_role(word)])
    if isinstance(op, ast.Eq) and isinstance(right, ast.Constant) and ast.unparse(left) in spelled:
        return joined("or", [("in", str(right.value)), _last(str(right.value))])
    return None


def _last(word: str) -> Test:
    """The last part of the path is ``word``."""
    return joined("or", [("named", word), ("ends", f"/{word}"), ("ends", f".{word}"), *_role(word)])


def _role(word: str) -> list[Test]:
    return [("role", ROLES[word])] if word in ROLES and len(word) > 1 else []


def _is_last(node: ast.expr, path: str) -> bool:
    text = ast.unparse(node)
    last = f"{path}[-1]"
    return text in (last, f"{last}.key", f"{last}.name", f"str({last})", f"str({last}.key)", f"getattr({last}, 'key')")


def _is_whole(node: ast.expr, path: str) -> bool:
    text = ast.unparse(node)
    if text in (f"str({path})", f"'/'.join({path})", f"'.'.join({path})", f"jax.tree_util.keystr({path})"):
        return True
    return (
        isinstance(node, ast.Call)
        and text.split("(")[0].split(".")[-1] in ("keystr", "join")
        and path in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    )


def _words(node: ast.expr, names: Mapping[str, Any]) -> list[str] | None:
    value = value_of(node, names) if not isinstance(node, ast.Set) else [getattr(p, "value", None) for p in node.elts]
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return list(value)
    return None


class _Fill(ast.NodeTransformer):
    def __init__(self, name: str, word: str) -> None:
        self.name, self.word = name, word

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.word), node) if node.id == self.name else node
