"""What a PyTorch training loop does, in order: zero_grad, backward, clipping, changed gradients, steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.optim.dialects.binding import unwrap
from core.optim.dialects.gradient_edits import bounded_weights, edited_gradient, is_gradient
from core.optim.dialects.syntax import is_number
from core.optim.dialects.turns import names_in
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Program, Statement, describe, walk
from core.optim.variable_rules import Rule

OPTIMIZER_WORDS = ("opt", "sgd", "adam")
SCHEDULER_WORDS = ("sched", "warm", "anneal", "lr_", "plateau")
HELPERS = ("Accelerator", "Fabric", "initialize")
"""What has a backward(loss) of its own."""
DEEPEST = 8
CHANGES = ("mul_", "add_", "sub_", "div_", "addcmul_", "addcdiv_")
COPIES = re.compile(r"ema|avg|average|target|shadow|teacher|slow|swa|momentum|running|buffer", re.I)
"""What copies of the weights are called, which are not the weights themselves."""
BESIDE = (
    "the weights are changed here by hand, beside the optimizer, and that change has no row; for a decay write "
    "weight_decay into torch.optim.AdamW or SGD"
)


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One thing a training loop does. ``kind``: zero, backward, clip, edit, unscale, step, update, schedule, rate, set.

    ``what`` is the loss of a backward, the Transform of an edit, the call of a clip, (name, value) of a number that the
    loop hands on (set); ``scaled`` says that a scaler stands around it, ``part`` which parameters a clip is given
    (None: all).
    """

    kind: str
    statement: Statement
    what: Any = None
    scaled: bool = False
    part: Rule | None = None

    @property
    def turns(self) -> tuple[Any, ...]:
        """The loops around it that are turns of the training."""
        return tuple(loop for loop in self.statement.loops if not loop.over_parameters)


class Recogniser(Protocol):
    """Says which events a statement is."""

    def of(self, statement: Statement) -> Iterator[Event]: ...


def read_events(program: Program, known: Recogniser) -> list[Event]:
    """The events of the program in order."""
    found: list[Event] = []
    for statement in read_statements(program):
        for target in statement.targets:
            if any(target in loop.carried for loop in statement.loops):
                found.append(Event("set", statement, (target, statement.value)))
        found += known.of(statement)
    return relevant(found)


def relevant(events: list[Event]) -> list[Event]:
    """The events without those that set a number which nothing else depends on."""
    wanted: set[str] = set()
    for event in events:
        if event.kind != "set":
            wanted.update(*map(names_in, event.statement.conditions), *(names_in(v) for _, v in event.statement.bound))
            wanted.update(names_in(event.what if event.kind == "rate" else ()))
            wanted.update(names_in(event.what.args if event.kind == "schedule" else ()))
    sets = [event for event in events if event.kind == "set"]
    size = -1
    while size < len(wanted):
        size = len(wanted)
        for event in sets:
            if event.what[0] in wanted:
                wanted.update(names_in(event.what[1]), *map(names_in, event.statement.conditions))
    return [event for event in events if event.kind != "set" or event.what[0] in wanted]


def read_statements(program: Program) -> Iterator[Statement]:
    """The statements of the program in order, functions of the text put in where they are called."""
    called = {call.receiver.text for call in program.calls() if _is_function(call.receiver)}
    called |= {value.text for call in program.calls() for value in call.args if _is_function(value)}
    inside: dict[str, list[Statement]] = {}
    outside: list[Statement] = []
    for statement in program.statements:
        if statement.function in called:
            inside.setdefault(statement.function, []).append(statement)
        else:
            outside.append(statement)
    return _spliced(outside, inside, 0) if inside else iter(outside)


def _spliced(statements: list[Statement], inside: dict[str, list[Statement]], depth: int) -> Iterator[Statement]:
    for statement in statements:
        for function, call in _functions_called(statement):
            if depth < DEEPEST:
                bound = (*statement.bound, *_bound(function, call))
                for part in _spliced(inside.get(function.text, []), inside, depth + 1):
                    conditions = (*statement.conditions, *part.conditions)
                    loops = (*statement.loops, *part.loops)
                    yield replace(part, loops=loops, conditions=conditions, bound=(*bound, *part.bound))
        yield statement


def _is_function(value: Any) -> bool:
    return isinstance(value, Opaque) and value.text.isidentifier()


def _functions_called(statement: Statement) -> Iterator[tuple[Opaque, Call]]:
    """The functions of the text that a statement calls, or hands on (``optimizer.step(closure)``)."""
    value = statement.value
    for call in walk(value) if isinstance(value, Call) else ():
        if _is_function(call.receiver) and call.path == ("__call__",):
            yield call.receiver, call
        for argument in call.args:
            if _is_function(argument) and call.path[-1:] == ("step",):
                yield argument, Call(("__call__",))


def _bound(function: Opaque, call: Call) -> Iterator[tuple[str, Any]]:
    """What the arguments of ``function`` stand for in ``call``."""
    node = function.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    defaults = node.args.defaults
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        if isinstance(default, ast.Constant):
            yield name, default.value
    yield from zip(names, call.args, strict=False)
    yield from call.kwargs.items()


class Events:
    """Recognises events among statements; ``optimizers``, ``schedulers``, ``scalers``, ``clips`` are known names."""

    def __init__(
        self,
        optimizers: Collection[str],
        schedulers: Collection[str],
        scalers: Collection[str],
        clips: Collection[str],
    ) -> None:
        self.optimizers = optimizers
        self.schedulers = schedulers
        self.scalers = scalers
        self.clips = clips

    def of(self, statement: Statement) -> Iterator[Event]:
        """The events of one statement, mostly none or one."""
        value = statement.value
        for target in (*statement.targets, *statement.stores):
            if _is_rate(target):
                yield Event("rate", statement, value)
                return
            text = target if isinstance(target, str) else describe(target)
            if self.optimizers and _changes_weights(text, statement):
                raise statement.place.error(BESIDE)
            changed = isinstance(value, Operation | Call) and text.rsplit(".", 1)[0] in describe(value)
            if self.optimizers and changed and _is_weight(text):
                raise statement.place.error(BESIDE)
            if is_gradient(target):
                if value is None or value == 0:
                    yield Event("zero", statement, value is None)
                else:
                    yield Event("edit", statement, edited_gradient(statement))
                return
        if isinstance(value, Call):
            yield from self.of_call(value, statement)

    def of_call(self, call: Call, statement: Statement) -> Iterator[Event]:
        name = call.path[-1]
        if name in self.clips:
            yield Event("clip", statement, call)
        elif name == "zero_grad":
            yield Event("zero", statement, call.kwargs.get("set_to_none", call.args[0] if call.args else True) is True)
        elif name == "backward":
            yield self.backward(call, statement)
        elif name == "unscale_":
            yield Event("unscale", statement)
        elif name == "update" and self.kind_of(call) == "scaler":
            yield Event("update", statement)
        elif name == "update" and "param_groups" in _owner_text(call):
            given = {**(call.args[0] if call.args and isinstance(call.args[0], dict) else {}), **call.kwargs}
            if set(given) != {"lr"}:
                raise call.error("settings of the optimizer are changed here by hand; write them into its constructor")
            yield Event("rate", statement, given["lr"])
        elif name == "step":
            yield from self.step(call, statement)
        elif is_gradient(_owner(call)):
            if name == "zero_":
                yield Event("zero", statement, False)
            elif name.endswith("_") and name not in ("detach_", "requires_grad_", "record_stream_"):
                yield Event("edit", statement, edited_gradient(statement))
        elif self.optimizers and name in CHANGES and _is_weight(_owner_text(call)):
            raise call.error(BESIDE)
        elif name in ("clamp_", "clip_") and statement.loops:
            yield Event("weights", statement, bounded_weights(call))

    def backward(self, call: Call, statement: Statement) -> Event:
        loss: Any = call.receiver if call.receiver is not None else Name(".".join(call.path[:-1]) or "loss", call.place)
        if loss is call.receiver and len(call.path) > 1:
            loss = Attribute(loss, ".".join(call.path[:-1]))
        given = call.args[0] if call.args else call.kwargs.get("gradient", call.kwargs.get("loss"))
        helper = isinstance(loss, Name) or (isinstance(loss, Call) and loss.name in HELPERS)
        if given is not None and helper and not is_number(unwrap(given)) and "ones" not in describe(given):
            loss = given  # accelerator.backward(loss), fabric.backward(loss)
        elif given is not None:
            loss = self.weighted(loss, unwrap(given), call)
        if isinstance(loss, Call) and loss.path[-1:] == ("scale",) and loss.args:
            return Event("backward", statement, loss.args[0], True)
        return Event("backward", statement, loss)

    def weighted(self, loss: Any, weight: Any, call: Call) -> Any:
        """``loss.backward(torch.tensor(2.0))``: the loss times 2; ones leave the sum of a vector as it is."""
        if isinstance(weight, Call) and weight.name in ("ones_like", "ones"):
            return loss
        if not is_number(weight):
            raise call.error(
                f"backward({describe(weight)}) weighs the components of the loss; the problem chosen stands for the "
                "sum with these weights: write loss.backward()"
            )
        return Operation("*", loss, weight, call.place, call.text)

    def step(self, call: Call, statement: Statement) -> Iterator[Event]:
        kind = self.kind_of(call)
        if kind == "scaler":
            yield Event("step", statement, call, True)
        elif kind == "scheduler":
            yield Event("schedule", statement, call)
        elif kind == "optimizer":
            yield Event("step", statement, call)

    def kind_of(self, call: Call) -> str:
        """'optimizer', 'scheduler', 'scaler' or '': what the method of ``call`` belongs to."""
        owner = call.receiver
        if isinstance(owner, Call) and len(call.path) == 1:
            for kind, names in (
                ("optimizer", self.optimizers),
                ("scheduler", self.schedulers),
                ("scaler", self.scalers),
            ):
                if owner.name in names:
                    return kind
        said = ".".join(call.path[:-1]) if owner is None else describe(owner)
        word = said.lower().split("(")[0].split(".")[-1]
        if "scaler" in word:
            return "scaler"
        if any(part in word for part in SCHEDULER_WORDS):
            return "scheduler"
        return "optimizer" if any(part in word for part in OPTIMIZER_WORDS) else ""


def _owner(call: Call) -> Any:
    """The thing a method is called on: what is before the last dot."""
    if call.receiver is None:
        return ".".join(call.path[:-1])
    if len(call.path) == 1:
        return call.receiver
    return Attribute(call.receiver, ".".join(call.path[:-1]))


def _owner_text(call: Call) -> str:
    owner = _owner(call)
    if isinstance(owner, str):
        return owner
    if isinstance(owner, Attribute) and not owner.text:
        return f"{describe(owner.owner)}.{owner.name}"
    return describe(owner)


def _changes_weights(text: str, statement: Statement) -> bool:
    """True for ``p /= p.norm()`` in a loop over the parameters ``p``; copies of the weights may change."""
    loop = statement.loops[-1] if statement.loops else None
    if loop is None or not statement.changes or text not in loop.names or not loop.over_parameters:
        return False
    walked = loop.walked.args if isinstance(loop.walked, Call) and loop.walked.name == "zip" else (loop.walked,)
    sources = dict(zip(loop.names, walked, strict=False)) if len(walked) == len(loop.names) else {}
    return not COPIES.search(text) and not COPIES.search(describe(sources.get(text, loop.walked)))


def _is_weight(text: str) -> bool:
    """True for ``p.data`` that is neither a copy of the weights nor a gradient."""
    return text.endswith(".data") and not text.endswith(".grad.data") and COPIES.search(text) is None


GROUP = re.compile(r"group|^p?g\d?$|^pg_?\w*$|^grp", re.I)
"""What a parameter group is called where the loop over them is not shown."""


def _is_rate(target: Any) -> bool:
    """``group['lr']``, ``optimizer.param_groups[0]['lr']``; not ``log['lr']`` or ``optimizer.defaults['lr']``."""
    if not isinstance(target, Attribute) or target.name != "[lr]":
        return False
    owner = target.owner
    while isinstance(owner, Attribute):
        if "param_groups" in owner.name:
            return True
        owner = owner.owner
    return isinstance(owner, Name) and GROUP.search(owner.text.split(".")[-1]) is not None


def rate_factor(value: Any) -> tuple[str, Any] | None:
    """('*' or '/', number) for ``group['lr'] *= 0.5`` and ``group['lr'] = group['lr'] * 0.5``, None otherwise."""
    if isinstance(value, Operation) and value.operator in ("*", "/"):
        if _is_rate(value.left):
            return value.operator, value.right
        if value.operator == "*" and _is_rate(value.right):
            return "*", value.left
    return None
