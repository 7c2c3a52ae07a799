"""Follows calls into the functions and classes of pasted code: their bodies are read where they are called."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from core.optim.dialects.definitions import DEEPEST, SHARED, Class, Function, FunctionNode, field_default
from core.optim.dialects.expressions import COMPARISONS, ExpressionReader, is_number
from core.optim.dialects.values import Call, Loop, Name, Opaque, Record, Statement

Conditions = tuple[Any, ...]
FOLLOWED = re.compile(r"\btorch\b|\.backward\(|zero_grad|param_groups|lr_scheduler|configure_optimizers")
"""Texts whose functions are followed: those of PyTorch; what the other frameworks run is read as a whole."""
MOST_STATEMENTS = 20_000
NO_IDEA = object()


class Follower(ExpressionReader):
    """What a reader of statements needs to know about functions, classes and conditions that are settled."""

    def __init__(self, text: str, cuts: Sequence[int] = ()) -> None:
        super().__init__(text, cuts)
        self.statements: list[Statement] = []
        self.loops: tuple[Loop, ...] = ()
        self.conditions: Conditions = ()
        self.inside_of = ""
        self.owner = ""
        self.changing: tuple[frozenset[str], ...] = ()
        self.assumed: dict[str, str] = {}
        self.follows = FOLLOWED.search(text) is not None
        self.functions: dict[str, Function] = {}
        self.unread: list[Function] = []
        self.returns: list[list[tuple[Any, Conditions, tuple[Loop, ...]]]] = []
        self.globals: dict[str, Any] | None = None
        self.given: set[str] = set()
        self.hoisted: tuple[Function, ...] = ()
        self.names["__name__"] = "__main__"

    def body(self, nodes: list[ast.stmt], conditions: Conditions) -> None:
        raise NotImplementedError

    # definitions ----------------------------------------------------------------------------------------------------

    def hoist(self, nodes: Sequence[ast.stmt]) -> None:
        """Make the functions of a body known before they are reached: others may call them further up."""
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in self.functions:
                self.define(node, ())
            elif isinstance(node, ast.ClassDef) and node.name not in self.classes:
                self.classes[node.name] = Class(node)
                self.describe_class(node)

    def define(self, node: FunctionNode, conditions: Conditions) -> None:
        known = self.functions.get(node.name)
        if known is None or known.node is not node:
            made = Function(node, "", conditions)
            self.functions[node.name] = made
            self.unread.append(made)
            self.names.setdefault(node.name, Opaque(node.name, formula_node(node), dict(self.names), self.place(node)))

    def describe_class(self, node: ast.ClassDef) -> Class:
        """The methods of a class, and the settings that stand in its body."""
        made = self.classes.setdefault(node.name, Class(node))
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                if part.name not in made.methods:
                    made.methods[part.name] = Function(part, node.name)
                    self.unread.append(made.methods[part.name])
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                given = field_default(part.value) if part.value is not None else None
                name = part.target.id
                made.fields[name] = (
                    Name(f"{node.name}.{name}", self.place(part)) if given is None else self.value(given)
                )
            elif isinstance(part, ast.Assign):
                value = self.value(field_default(part.value) or part.value)
                made.fields.update({one.id: value for one in part.targets if isinstance(one, ast.Name)})
            elif isinstance(part, ast.ClassDef):
                made.fields[part.name] = Record(self.describe_class(part).fields, part.name)
        return made

    # calls ----------------------------------------------------------------------------------------------------------

    def settings_of(self, call: Call) -> Any:
        found = super().settings_of(call)
        return self.followed(found) if found is call and self.follows else found

    def followed(self, call: Call) -> Any:
        """What a call of a function of the text gives; the statements of that function are read on the way."""
        if call.receiver is None and call.path == ("self", "save_hyperparameters"):
            held = {name: value for name, value in self.names.items() if "." not in name and name in self.given}
            self.names["self.hparams"] = Record(held, call.text, call.place)
            return call
        if call.receiver is None and call.path[0] in self.classes and len(call.path) == 1:
            function = self.classes[call.path[0]].methods.get("__init__")
            if function is not None:
                self.run(function, call)
            return call
        if call.path[-1] == "step":
            for given in call.args:
                if isinstance(given, Opaque) and given.text in self.functions:
                    self.run(self.functions[given.text], Call(("__call__",)))
            if call.args:
                return call
        function = self.function_of(call)
        if function is None:
            return call
        value = self.run(function, call)
        if value is not NO_IDEA:
            return value
        kept = Opaque(function.node.name, formula_node(function.node), dict(self.names), self.place(function.node))
        return Call(("__call__",), call.args, call.kwargs, call.place, call.text, kept)

    def function_of(self, call: Call) -> Function | None:
        """The function of the text that ``call`` means."""
        receiver, name = call.receiver, call.path[-1]
        if isinstance(receiver, Opaque):
            known = self.functions.get(receiver.text) if call.path == ("__call__",) else None
            return known if known is not None and receiver.text == known.node.name else None
        if name.startswith("__"):
            return None
        if isinstance(receiver, Call) and receiver.receiver is None and len(call.path) == 1:
            own = self.classes.get(receiver.path[0]) if len(receiver.path) == 1 else None
            if own is not None:
                return own.methods.get(name)
        if receiver is None and call.path[:-1] == ("self",):
            own = self.classes.get(self.owner)
            return own.methods.get(name) if own is not None else self.functions.get(name)
        if name in SHARED or (receiver is None and len(call.path) == 1):
            return None
        having = [made.methods[name] for made in self.classes.values() if name in made.methods]
        return having[0] if len(having) == 1 else None

    def run(self, function: Function, call: Call) -> Any:
        """Read the body of ``function`` as ``call`` runs it; its value, NO_IDEA where several are possible."""
        deep = len(self.returns) >= DEEPEST or len(self.statements) > MOST_STATEMENTS
        if (
            function.reading
            or deep
            or any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(function.node))
        ):
            return NO_IDEA
        if function in self.unread:
            self.unread.remove(function)
        bound = function.bound(call)
        conditions, inside = self.conditions, self.inside_of
        returned = self.read(function, bound, conditions, assume=False)
        self.conditions, self.inside_of = conditions, inside
        if len(returned) == 1:
            value, under, loops = returned[0]
            if len(under) == len(conditions) and loops == self.loops:
                return value
        return NO_IDEA

    def read(
        self, function: Function, bound: dict[str, Any], conditions: Conditions, assume: bool
    ) -> list[tuple[Any, Conditions, tuple[Loop, ...]]]:
        """Read a body with its arguments known as far as ``bound`` says; what it returns."""
        outer, owner, given = self.names, self.owner, self.given
        base = self.globals if self.globals is not None and (function.owner or function in self.hoisted) else self.names
        hidden = set(function.every_argument)
        self.names = {
            n: v for n, v in base.items() if n not in hidden and not (function.owner and n.startswith("self."))
        }
        if self.globals is None:
            self.globals = outer
        own = self.classes.get(function.owner)
        if own is not None:
            self.names.update({f"self.{name}": value for name, value in {**own.fields, **own.own}.items()})
        for name, default in (*function.defaults(), *_options(function.node)):
            if name not in bound:
                self.names[name] = self.value(default)
                if assume and (is_number(self.names[name]) or isinstance(self.names[name], tuple | list)):
                    where = f"{function.owner}.{function.node.name}" if function.owner else function.node.name
                    self.assumed[name] = f"the default of {where}, line {function.node.lineno}"
        self.names.update(bound)
        self.owner, self.given = function.owner, hidden
        function.reading = True
        before = list(self.unread)
        self.returns.append([])
        self.hoist(function.node.body)
        self.body(function.node.body, conditions)
        self.rest([one for one in self.unread if one not in before])
        returned = self.returns.pop()
        function.reading = False
        local = self.names
        if own is not None:
            own.own.update({n.removeprefix("self."): v for n, v in local.items() if n.startswith("self.")})
        self.names, self.owner, self.given = outer, owner, given
        if len(self.returns) == 0:
            self.globals = None
        kept = {n: v for n, v in local.items() if "." in n and not (function.owner and n.startswith("self."))}
        self.names.update(kept)
        return returned

    def rest(self, functions: Sequence[Function]) -> None:
        """Read the functions that nothing calls: what they set up counts as well."""
        ordered = sorted(functions, key=lambda one: one.node.name != "__init__" and bool(one.owner))
        for function in ordered:
            if function not in self.unread:
                continue
            self.unread.remove(function)
            outer, self.loops, around, self.inside_of = self.loops, (), self.inside_of, function.node.name
            self.read(function, {}, function.conditions, assume=True)
            self.loops, self.inside_of = outer, around

    # conditions that are settled --------------------------------------------------------------------------------------

    def decided(self, node: ast.expr) -> bool | None:
        """Whether a condition holds, where the lines above say so and no loop around changes what it is made of."""
        used = {ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)}
        if any(used & changed for changed in self.changing):
            return None
        found = self.certain(node)
        return None if found is NO_IDEA else bool(found)

    def certain(self, node: ast.expr) -> Any:
        """The value of a condition, NO_IDEA where it depends on what the text does not say."""
        if isinstance(node, ast.BoolOp):
            parts = [self.certain(part) for part in node.values]
            ends = isinstance(node.op, ast.Or)
            if any(part is not NO_IDEA and bool(part) is ends for part in parts):
                return ends
            return NO_IDEA if NO_IDEA in parts else not ends
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inside = self.certain(node.operand)
            return inside if inside is NO_IDEA else not inside
        if isinstance(node, ast.Compare):
            return self.certain_comparison(node)
        value = self.value(node)
        return value if _is_known(value) else NO_IDEA

    def certain_comparison(self, node: ast.Compare) -> Any:
        values = [self.value(part) for part in (node.left, *node.comparators)]
        for operation, left, right in zip(node.ops, values, values[1:], strict=False):
            if isinstance(operation, ast.Is | ast.IsNot):
                found = _is_same(left, right)
            elif isinstance(operation, ast.In | ast.NotIn):
                found = _is_in(left, right)
            else:
                found = _compared(COMPARISONS.get(type(operation), ""), left, right)
            if found is NO_IDEA:
                return NO_IDEA
            if isinstance(operation, ast.IsNot | ast.NotIn):
                found = not found
            if not found:
                return False
        return True


def formula_node(node: FunctionNode) -> ast.AST:
    """A function that does nothing but return an expression is as good as a lambda."""
    last = node.body[-1]
    returned = last.value if isinstance(last, ast.Return) else None
    plain = [part for part in node.body[:-1] if not isinstance(part, ast.Expr)]
    return ast.copy_location(ast.Lambda(args=node.args, body=returned), node) if returned and not plain else node


def _is_generator(node: FunctionNode) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))


def _options(node: FunctionNode) -> list[tuple[str, ast.expr]]:
    """The defaults that ``@click.option('--lr', default=0.1)`` gives to arguments."""
    found = []
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).split(".")[-1] in ("option", "argument"):
            names = [part.value for part in mark.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            name = next((n for n in names if not n.startswith("-")), next((n for n in names if n[:2] == "--"), ""))
            default = next((word.value for word in mark.keywords if word.arg == "default"), None)
            if name and default is not None:
                found.append((name.lstrip("-").replace("-", "_"), default))
    return found


def _is_known(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | list | tuple | dict)


def _is_same(left: Any, right: Any) -> Any:
    if right is not None and not isinstance(right, bool):
        return NO_IDEA
    if _is_known(left) or isinstance(left, Record):
        return left is right
    if right is None and isinstance(left, Call) and left.name[:1].isupper():
        return False
    return NO_IDEA


def _is_in(left: Any, right: Any) -> Any:
    inside = right.fields if isinstance(right, Record) else right
    if isinstance(left, str) and isinstance(inside, str):
        return left in inside
    if isinstance(left, str | int | float) and isinstance(inside, list | tuple | dict):
        items = list(inside)
        return left in items if all(_is_known(item) for item in items) or left in items else NO_IDEA
    return NO_IDEA


def _compared(symbol: str, left: Any, right: Any) -> Any:
    if not _is_known(left) or not _is_known(right) or not symbol:
        return NO_IDEA
    if symbol in ("==", "!="):
        return (left == right) is (symbol == "==")
    if not (is_number(left) and is_number(right)):
        return NO_IDEA
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[symbol]
