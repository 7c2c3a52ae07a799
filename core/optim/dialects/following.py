"""Follows calls into the functions and classes of pasted code: their bodies are read where they are called."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from core.optim.dialects.definitions import DEEPEST, SHARED, Class, Function, FunctionNode, field_default
from core.optim.dialects.known_values import is_number
from core.optim.dialects.settled import NO_IDEA, Settled
from core.optim.dialects.values import Call, Loop, Name, Opaque, Record, Statement

Conditions = tuple[Any, ...]
FOLLOWED = re.compile(
    r"\b(torch|keras|optax|tf|tensorflow)\b|\.backward\(|zero_grad|param_groups|lr_scheduler|configure_optimizers|\.compile\("
)
"""Texts whose functions are followed; updates by hand without a framework are read as a whole."""
MOST_STATEMENTS = 4_000
"""Beyond that many statements functions are no longer read where they are called."""


class Follower(Settled):
    """What a reader of statements needs to know about functions, classes and what loops hand on."""

    def __init__(self, text: str, cuts: Sequence[int] = ()) -> None:
        super().__init__(text, cuts)
        self.statements: list[Statement] = []
        self.loops: tuple[Loop, ...] = ()
        self.conditions: Conditions = ()
        self.inside_of = ""
        self.owner = ""
        self.assumed: dict[str, str] = {}
        self.follows = FOLLOWED.search(text) is not None
        self.functions: dict[str, Function] = {}
        self.unread: list[Function] = []
        self.returns: list[list[tuple[Any, Conditions, tuple[Loop, ...]]]] = []
        self.globals: dict[str, Any] | None = None
        self.given: set[str] = set()
        self.hoisted: tuple[Function, ...] = ()
        self.floor = 0
        self.levels: dict[str, int] = {}
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
            self.names.setdefault(node.name, Opaque(node.name, formula_node(node), self.snapshot(), self.place(node)))

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

    def parsed(self, call: Call) -> Any:
        found = super().parsed(call)
        if found is not call:
            known = self.arguments
            for name, line in known.lines.items():
                if name in known.known:
                    self.assumed[f".{name}"] = f"{known.known[name]!r}, the default in line {line}"
        return found

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
        kept = Opaque(function.node.name, formula_node(function.node), self.snapshot(), self.place(function.node))
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
        function.done = True
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
                    self.assumed[name] = f"{self.names[name]!r}, the default of {where} in line {function.node.lineno}"
        self.names.update(bound)
        self.open_state(function)
        floor, self.floor = self.floor, len(self.loops)
        self.owner, self.given = function.owner, hidden
        function.reading = True
        outside, self.unread = self.unread, []
        self.returns.append([])
        self.hoist(function.node.body)
        self.body(function.node.body, conditions)
        self.rest(self.unread)
        self.unread = outside
        returned = self.returns.pop()
        function.reading = False
        local = self.names
        if own is not None:
            own.own.update({n.removeprefix("self."): v for n, v in local.items() if n.startswith("self.")})
        self.names, self.owner, self.given, self.floor = outer, owner, given, floor
        shared = {name for part in ast.walk(function.node) if isinstance(part, ast.Global) for name in part.names}
        self.names.update({name: value for name, value in local.items() if name in shared})
        if len(self.returns) == 0:
            self.globals = None
        kept = {n: v for n, v in local.items() if "." in n and not (function.owner and n.startswith("self."))}
        self.names.update(kept)
        return returned

    def rest(self, functions: Sequence[Function]) -> None:
        """Read the functions that nothing calls: what they set up counts as well."""
        ordered = sorted(functions, key=lambda one: one.node.name != "__init__" and bool(one.owner))
        for function in ordered:
            if function.done:
                continue
            function.done = True
            outer, self.loops, around, self.inside_of = self.loops, (), self.inside_of, function.node.name
            self.read(function, {}, function.conditions, assume=True)
            self.loops, self.inside_of = outer, around

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any] | None:
        """``[StepLR(o, 3) for o in optimizers]`` over objects of the text, written out; None for any other."""
        generator = node.generators[0]
        if len(node.generators) != 1 or generator.ifs or not isinstance(generator.target, ast.Name) or not self.follows:
            return None
        walked = self.value(generator.iter)
        if not isinstance(walked, list | tuple) or not self.are_objects(walked):
            return None
        outer = self.names
        found: list[Any] = []
        for item in walked:
            self.names = {**outer, generator.target.id: item}
            found.append(self.value(node.elt))
        self.names = outer
        return found

    # what loops hand on from turn to turn ----------------------------------------------------------------------------

    def start_of(self, text: str) -> Any:
        """The number that a name, an attribute or an item of a dict stands for in front of a loop."""
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            return None
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value)
            fields: Any = owner.fields if isinstance(owner, Record) else owner
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return fields.get(key) if isinstance(fields, dict) and isinstance(key, str | int) else None
        return self.value(node)

    def hide(self, text: str) -> None:
        """Leave a name open: its value is worked out turn by turn."""
        node = ast.parse(text, mode="eval").body
        unsaid = Name(text, self.at(0, 0))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner = self.value(node.value)
            held: dict[Any, Any] = owner.fields if isinstance(owner, Record) else owner
            held[node.slice.value] = unsaid
        elif text in self.names:
            del self.names[text]
        else:
            self.keep_attribute(tuple(text.split(".")), unsaid)

    def is_carried(self, target: ast.expr) -> bool:
        """True for a name that one of the loops around hands on; those of a function are its own."""
        if not self.loops or not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            return False
        text = ast.unparse(target)
        own = self.loops if text.startswith("self.") else self.loops[self.floor :]
        return any(text in loop.carried for loop in own)

    def keep_attribute(self, dotted: tuple[str, ...], value: Any) -> bool:
        """``args.lr = 0.1``: an object of the text changes; False where there is none of this name."""
        if ".".join(dotted) in self.names:
            return False
        found = self.inside((*dotted[:-1], "")) if len(dotted) > 2 else None
        owner = found[0] if found is not None and found[1] == ("",) else self.names.get(".".join(dotted[:-1]))
        if isinstance(owner, Record):
            owner.fields[dotted[-1]] = value
            return True
        made = self.classes.get(owner.path[0]) if isinstance(owner, Call) and len(owner.path) == 1 else None
        if made is not None and isinstance(owner, Call) and owner.receiver is None:
            made.own[dotted[-1]] = value
            return True
        return False

    def open_state(self, function: Function) -> None:
        """Inside a loop, what a method leaves in its object is there in the next turn."""
        if not self.loops:
            return
        own = self.classes.get(function.owner)
        for part in ast.walk(function.node):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                text = ast.unparse(part)
                start = self.names.get(text)
                if text.startswith("self.") and (is_number(start) or isinstance(start, bool)):
                    self.loops[0].carried[text] = start
                    del self.names[text]
                    if own is not None:
                        own.own[text.removeprefix("self.")] = Name(text)


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
