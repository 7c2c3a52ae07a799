"""Lines that freeze parameters, and clips of some of them, as rules about the problem's variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.optim.dialects.parameter_rules import (
    Unread,
    condition_value,
    listed,
    parameters_of,
    reached,
    unread_message,
    walked_path,
)
from core.optim.dialects.torch_events import Event, read_statements
from core.optim.dialects.torch_parts import parameter_rule
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Program, Statement, describe
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenMask, FrozenPart
from core.optim.variable_rules import ALL, NONE, Rule, Test, joined, negated

VARIABLES = re.compile(r"([A-Za-z]{1,2}\d*|(weight|bias|kernel|gamma|beta|theta)s?\d*)$")
"""What single variables are called; other bare names in front of requires_grad are models of their own."""


@dataclass(frozen=True)
class Freezing:
    """One line that freezes (or, with ``trains``, trains again) the parameters of ``path`` that pass ``test``.

    ``module`` says that the code walks the parameters of ``path``, which is then no parameter itself.
    """

    path: str
    test: Test
    trains: bool
    statement: Statement
    module: bool = False


def frozen_row(program: Program, optimizer: Call, subset: Rule | None = None) -> tuple[Transform, list[str]]:
    """(the row of the frozen variables, remarks): what the lines leave frozen of what the optimizer was given.

    ``subset`` are the parameters it was given where these are picked by a rule; the others stay as they are.
    """
    trained = _path_given(optimizer)
    frozen: Test = NONE
    lines: list[int] = []
    remarks: list[str] = []
    for freezing in _freezings(program):
        line = freezing.statement.place.line
        where = _within(freezing, trained)
        if where is None:
            if not freezing.trains and not remarks:
                remarks.append(
                    f"line {line} freezes {freezing.path}, which is no part of what this optimizer trains ({trained})"
                )
            continue
        test = joined("and", [where, freezing.test])
        if freezing.trains:
            frozen = joined("and", [frozen, negated(test)])
        else:
            frozen = joined("or", [frozen, test])
            lines.append(line)
            last = freezing.statement
    if frozen == ALL:
        raise last.place.error(
            "every parameter is frozen here, and PyTorch has nothing to differentiate then; leave this line out, and "
            "the problem stands for the parameters that are trained"
        )
    if subset is not None:
        frozen = joined("or", [frozen, negated(subset.test)])
        lines.append(optimizer.place.line)
    return _row(frozen, lines), remarks


def frozen_layers(program: Program) -> Transform:
    """The row for ``layer.trainable = False`` (Keras)."""
    frozen: Test = NONE
    lines: list[int] = []
    for statement in read_statements(program):
        for target in (*statement.targets, *statement.stores):
            text = target if isinstance(target, str) else describe(target)
            if not text.endswith(".trainable") or not isinstance(statement.value, bool):
                continue
            if statement.conditions:
                raise statement.place.error(
                    "which layers are frozen depends on conditions here; name the variables as the problem does: "
                    "W1.trainable = False"
                )
            walked = [describe(loop.walked) for loop in statement.loops]
            test: Test = ("in", walked[-1] if walked else text.removesuffix(".trainable"))
            if statement.value:
                frozen = joined("and", [frozen, negated(test)])
            else:
                frozen = joined("or", [frozen, test])
                lines.append(statement.place.line)
    return _row(frozen, lines)


def _row(frozen: Test, lines: Sequence[int]) -> Transform:
    if frozen == NONE:
        return FrozenMask()
    where = ", ".join(map(str, dict.fromkeys(lines)))
    return FrozenPart(Rule(test=frozen, written=f"line {where} freezes"))


def subset_of(program: Program, optimizer: Call) -> Rule | None:
    """The rule by which the optimizer is given some of the parameters, None where it has all."""
    rule = parameter_rule(_given(optimizer), program, optimizer.place)
    return None if rule is None or rule.test == ALL else rule


def check_subset(rule: Rule | None, front: Sequence[Transform], optimizer: Call) -> None:
    """ParseError where a norm would count gradients of parameters that the optimizer was not given."""
    if rule is not None and any(row.couples for row in front):
        raise optimizer.error(
            "the optimizer is given some of the parameters, and the clip's norm may count the others; freeze these "
            "with requires_grad = False, so that both mean the same"
        )


def clip_of_part(program: Program, event: Event, optimizer: Call) -> Rule | None:
    """The rule for the parameters that a clip is given, None where they are those of the optimizer."""
    call: Call = event.what
    given = call.args[0] if call.args else call.kwargs.get("parameters")
    own = parameter_rule(given, program, call.place)
    test = ALL if own is None else own.test
    subset = subset_of(program, optimizer)
    if subset is not None and subset.test == test:
        return None  # the clip is given what the optimizer is given
    trained = _path_given(optimizer)
    walked = [loop for loop in event.statement.loops if loop.over_parameters]
    named: list[Test] = []
    for item in given if isinstance(given, list | tuple) and given else [given]:
        path = walked_path(walked[-1]) if walked else parameters_of(item)
        part = path.startswith((f"{trained}.", f"{trained}[")) or path.endswith((".weight", ".bias"))
        named.append(("in", path) if part and path != trained else ALL)
    test = joined("and", [joined("or", named), test])
    return None if test == ALL else Rule(test=test, written=f"line {call.place.line} clips")


def _given(optimizer: Call) -> Any:
    return optimizer.args[0] if optimizer.args else optimizer.kwargs.get("params")


def _path_given(optimizer: Call) -> str:
    """What the optimizer was given: 'model' for ``filter(..., model.parameters())``, 'params'; '' for several."""
    given = _given(optimizer)
    if isinstance(given, list | tuple):
        inside = [item.get("params") if isinstance(item, dict) else item for item in given]
        roots = {re.split(r"[.\[]", path)[0] for item in inside for path in listed(item)}
        return roots.pop() if len(roots) == 1 else ""
    return parameters_of(given) if isinstance(given, Call | Name | Attribute | Opaque) else ""


def _within(freezing: Freezing, trained: str) -> Test | None:
    """Which of the parameters of ``trained`` are meant; None where they have nothing to do with it."""
    path = freezing.path
    if trained == path or trained.startswith(f"{path}."):
        return ALL
    part = path.startswith((f"{trained}.", f"{trained}["))
    if part or ("." in path and trained in ("", "params", "parameters")):
        return "in", path
    return ("in", path) if not freezing.module and VARIABLES.match(path) else None


def _freezings(program: Program) -> Iterator[Freezing]:
    for statement in read_statements(program):
        yield from _of(statement, program)


def _of(statement: Statement, program: Program) -> Iterator[Freezing]:
    value = statement.value
    if isinstance(value, Call) and value.path[-1:] == ("requires_grad_",):
        wanted = value.args[0] if value.args else value.kwargs.get("requires_grad", True)
        before = ".".join(value.path[:-1])
        owner = before if value.receiver is None else describe(value.receiver) + (f".{before}" if before else "")
        if isinstance(wanted, bool):
            yield _freezing(owner, wanted, statement, program)
        return
    for target in (*statement.targets, *statement.stores):
        text = target if isinstance(target, str) else describe(target)
        if text.endswith(".requires_grad"):
            owner = text.removesuffix(".requires_grad")
            if isinstance(value, bool):
                yield _freezing(owner, value, statement, program)
                continue
            try:  # p.requires_grad = 'bias' in name
                chosen = condition_value(value, owner, program.names)
            except Unread as error:
                raise statement.place.error(unread_message(error)) from None
            first = _freezing(owner, False, statement, program)
            yield first
            yield replace(first, test=joined("and", [first.test, chosen]), trains=True)
        elif isinstance(value, Call) and "." in text and value.name[:1].isupper() and value.receiver is None:
            yield Freezing(text, ALL, True, statement)  # model.fc = nn.Linear(512, 10): fresh, and trainable


def _freezing(owner: str, trains: bool, statement: Statement, program: Program) -> Freezing:
    own = [loop for loop in statement.loops if loop.over_parameters]
    if len(own) != len(statement.loops):
        raise statement.place.error(
            f"this {'trains parameters again' if trains else 'freezes parameters'} while the training runs; write what "
            "is frozen above the loop, and switch the card 'frozen variables' off for the steps in which these are "
            "trained: each switch is recorded at its step"
        )
    bound = {name: describe(value) for name, value in statement.bound}
    try:
        test = reached(statement, owner, program.names)
    except Unread as error:
        raise statement.place.error(unread_message(error)) from None
    path = walked_path(own[-1]) if own else owner
    head, dot, rest = path.partition(".")
    return Freezing(bound.get(head, head) + dot + rest, test, trains, statement, bool(own))
