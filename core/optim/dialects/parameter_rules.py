"""Which parameters a piece of code picks: ``[p for n, p in model.named_parameters() if p.dim() >= 2]`` as a rule."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.optim.dialects.turns import COMPARED
from core.optim.dialects.values import Call, Loop, Name, Opaque, Operation, Program, Statement, describe
from core.optim.mask import COMPARISONS
from core.optim.variable_rules import ALL, Test, joined, negated

PARAMETERS = ("parameters", "named_parameters")
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
THROUGH = ("list", "tuple", "iter", "sorted", "dict", "filter", "set")
DEEPEST = 12


class Unread(Exception):
    """The code picks parameters in a way that no rule here says; its text."""


def rule_of(value: Any) -> Test | None:
    """The rule of ``value``, parameters in any of the ways code writes them; None where it is no choice of some.

    Raises Unread for a choice that cannot be read.
    """
    kinds = ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
    if isinstance(value, Opaque) and isinstance(value.node, kinds):
        return _comprehension(value.node, value.names, 0)
    if isinstance(value, Call) and value.receiver is None and value.name in THROUGH and value.args:
        inside = rule_of(value.args[-1])
        if value.name != "filter" or not isinstance(value.args[0], Opaque):
            return inside
        function = value.args[0].node
        if not isinstance(function, ast.Lambda):
            raise Unread(value.text)
        own = condition(function.body, None, function.args.args[0].arg, value.args[0].names)
        return joined("and", [own, inside or ALL])
    return None


def rule_of_list(items: Any, program: Program) -> Test | None:
    """The rule of a list that ``append`` fills in a loop over parameters; None where nothing is appended."""
    tests: list[Test] = []
    for statement in program.statements:
        call = statement.value
        if not (isinstance(call, Call) and call.receiver is items and call.path in (("append",), ("extend",))):
            continue
        if call.path == ("extend",) or len(statement.loops) != 1 or not statement.loops[0].over_parameters:
            raise Unread(call.text)
        tests.append(reached(statement, describe(call.args[0]), program.names))
    return joined("or", tests) if tests else None


def reached(statement: Statement, parameter: str, names: Mapping[str, Any]) -> Test:
    """For which ``parameter`` of the loop around it a statement is reached."""
    return joined("and", [condition_value(value, parameter, names) for value in statement.conditions])


def condition_value(value: Any, parameter: str, names: Mapping[str, Any]) -> Test:
    """The rule of a condition as the reader of programs has it."""
    if isinstance(value, bool):
        return ALL if value else negated(ALL)
    if isinstance(value, Operation) and value.operator == "not" and not value.text:
        return negated(condition_value(value.left, parameter, names))
    if isinstance(value, Opaque):
        return condition(value.node, None, parameter, value.names)
    try:
        node = ast.parse(describe(value), mode="eval").body
    except SyntaxError:
        raise Unread(describe(value)) from None
    return condition(node, None, parameter, names)


def walked_path(loop: Loop) -> str:
    """What a loop over parameters walks: 'model.features' of ``model.features.parameters()``."""
    return parameters_of(loop.walked)


def parameters_of(value: Any) -> str:
    """The module or name whose parameters ``value`` stands for: 'model', 'model.fc.weight', 'params'."""
    while isinstance(value, Call) and value.receiver is None and value.name in (*THROUGH, "enumerate") and value.args:
        value = value.args[-1 if value.name == "filter" else 0]
    if isinstance(value, Opaque) and isinstance(value.node, ast.ListComp | ast.GeneratorExp):
        return _walked(ast.unparse(value.node.generators[0].iter))
    return _walked(describe(value))


def _walked(text: str) -> str:
    head = text.split("(")[0]
    return head.rsplit(".", 1)[0] if head.rsplit(".", 1)[-1] in PARAMETERS and "." in head else head


def _comprehension(node: Any, names: Mapping[str, Any], depth: int) -> Test:
    if len(node.generators) != 1 or depth > DEEPEST:
        raise Unread(ast.unparse(node))
    generator = node.generators[0]
    target = generator.target
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if len(parts) > 2 or not all(isinstance(part, ast.Name) for part in parts):
        raise Unread(ast.unparse(node))
    name, parameter = ast.unparse(parts[0]) if len(parts) == 2 else None, ast.unparse(parts[-1])
    kept = node.value if isinstance(node, ast.DictComp) else node.elt
    kept = kept.elts[-1] if isinstance(kept, ast.Tuple) and kept.elts else kept
    if not isinstance(kept, ast.Name) or kept.id != parameter:
        raise Unread(ast.unparse(node))
    own = [condition(test, name, parameter, names) for test in generator.ifs]
    return joined("and", [*own, _source(generator.iter, names, depth)])


def _source(node: ast.expr, names: Mapping[str, Any], depth: int) -> Test:
    """The rule of what a comprehension walks over: all parameters, or a choice of them made above."""
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        last = function.split(".")[-1]
        if last in PARAMETERS:
            return ALL
        if last in ("items", "values") and isinstance(node.func, ast.Attribute):
            return _source(node.func.value, names, depth)
        if function in THROUGH and node.args:
            return _source(node.args[-1], names, depth)
    if isinstance(node, ast.Name):
        known = names.get(node.id)
        if known is None or isinstance(known, Name):
            return ALL
        if isinstance(known, Opaque) and isinstance(known.node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return _comprehension(known.node, known.names, depth + 1)
        if isinstance(known, Call):
            return rule_of(known) or ALL
    raise Unread(ast.unparse(node))


def condition(node: ast.AST, name: str | None, parameter: str, names: Mapping[str, Any]) -> Test:
    """The rule of a test on the ``parameter`` called ``name`` (None: whatever name the code has for it)."""

    def again(part: ast.AST) -> Test:
        return condition(part, name, parameter, names)

    text = ast.unparse(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ALL if node.value else negated(ALL)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(again(node.operand))
    if isinstance(node, ast.BoolOp):
        return joined("and" if isinstance(node.op, ast.And) else "or", [again(part) for part in node.values])
    if text in (f"{parameter}.requires_grad", f"{parameter}.is_leaf", f"{parameter}.requires_grad is True"):
        return ALL  # what is frozen is said by the lines that freeze it
    if text == f"{parameter}.grad is not None":
        return ALL
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        found = _compared(node, name, parameter, names)
        if found is not None:
            return found
    if isinstance(node, ast.Call):
        found = _called(node, name, names, again)
        if found is not None:
            return found
    raise Unread(text)


def _compared(node: ast.Compare, name: str | None, parameter: str, names: Mapping[str, Any]) -> Test | None:
    left, right, operation = node.left, node.comparators[0], node.ops[0]
    axes = [f"{parameter}{end}" for end in (".dim()", ".ndim", ".ndimension()")]
    axes += [f"len({parameter}{end})" for end in (".shape", ".size()", ".data.shape", ".data.size()")]
    symbol = COMPARED.get(type(operation))
    if symbol in COMPARISONS:
        if ast.unparse(right) in axes:
            left, right, symbol = right, left, FLIPPED[symbol]
        number = right.value if isinstance(right, ast.Constant) else None
        if ast.unparse(left) in axes and isinstance(number, int):
            return "ndim", symbol, number
        word = _word(right, names)
        if symbol in ("==", "!=") and _is_name(left, name, names) and word is not None:
            return ("named", word) if symbol == "==" else negated(("named", word))
    if isinstance(operation, ast.In | ast.NotIn):
        word, several = _word(left, names), _words(right, names)
        found: Test | None = None
        if word is not None and _is_name(right, name, names):
            found = ("holds", word)
        elif several is not None and _is_name(left, name, names):
            found = joined("or", [("named", one) for one in several])
        if found is not None:
            return found if isinstance(operation, ast.In) else negated(found)
    return None


def _called(node: ast.Call, name: str | None, names: Mapping[str, Any], again: Any) -> Test | None:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("startswith", "endswith") and len(node.args) == 1:
        words = _words(node.args[0], names)
        if words is None or not _is_name(function.value, name, names):
            return None
        return joined("or", [("starts" if function.attr == "startswith" else "ends", word) for word in words])
    if isinstance(function, ast.Name) and function.id in ("any", "all") and len(node.args) == 1:
        inner = node.args[0]
        if isinstance(inner, ast.GeneratorExp | ast.ListComp) and len(inner.generators) == 1:
            generator = inner.generators[0]
            words = _words(generator.iter, names)
            if words is None or generator.ifs or not isinstance(generator.target, ast.Name):
                return None
            kind = "or" if function.id == "any" else "and"
            return joined(kind, [again(_filled(inner.elt, generator.target.id, word)) for word in words])
    return None


def _is_name(node: ast.AST, name: str | None, names: Mapping[str, Any]) -> bool:
    """True for the parameter's name; ``.lower()`` and the like around it are left out of account."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "strip"):
        node = node.func.value
    if not isinstance(node, ast.Name):
        return False
    return node.id == name if name is not None else not isinstance(names.get(node.id), str | list | tuple | float | int)


def _word(node: ast.AST, names: Mapping[str, Any]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    known = names.get(node.id) if isinstance(node, ast.Name) else None
    return known if isinstance(known, str) else None


def _words(node: ast.AST, names: Mapping[str, Any]) -> list[str] | None:
    single = _word(node, names)
    if single is not None:
        return [single]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        found = [_word(part, names) for part in node.elts]
        return [word for word in found if word is not None] if None not in found else None
    known: Sequence[Any] | Any = names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, list | tuple) and known and all(isinstance(word, str) for word in known):
        return list(known)
    if isinstance(known, Opaque) and isinstance(known.node, ast.Set):
        return _words(known.node, known.names)
    return None


def _filled(node: ast.expr, variable: str, word: str) -> ast.expr:
    class Fill(ast.NodeTransformer):
        def visit_Name(self, found: ast.Name) -> ast.expr:
            return ast.copy_location(ast.Constant(word), found) if found.id == variable else found

    filled = Fill().visit(copy.deepcopy(node))
    assert isinstance(filled, ast.expr)
    return filled


def unread_message(error: Unread) -> str:
    """What to say where a choice of parameters cannot be read."""
    return (
        f"which parameters are meant cannot be read from '{error}'; tell them apart by p.dim() >= 2, by words in their "
        "names ('bias' in name, name.endswith('weight')), or name them as the problem does: [W1, W2]"
    )


def listed(value: Any) -> Iterator[str]:
    """The names of parameters written out one by one, and of modules whose parameters are all meant."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from listed(item)
    elif isinstance(value, Operation) and value.operator == "+":  # list(a.parameters()) + list(b.parameters())
        yield from listed(value.left)
        yield from listed(value.right)
    elif isinstance(value, Call) and value.name == "chain":
        yield from listed(value.args)
    elif isinstance(value, Call | Opaque):
        yield parameters_of(value)
    elif value is not None and hasattr(value, "text"):
        yield value.text
