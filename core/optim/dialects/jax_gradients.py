"""From ``optimizer.update(grads, state)`` back to ``jax.grad``: what JAX code does to gradients and loss in between."""

from __future__ import annotations

import ast
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.element_edits import Elements
from core.optim.dialects.gradient_stores import check_conditions, check_stores
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.tf_gradients import DEEPEST, MAKERS, Lost, Path, Walk, finished, gradients_in
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Program, Statement, describe, walk
from core.optim.transform import Transform
from core.optim.transforms.scaling import Sign

MAPS = ("map", "tree_map", "tree_multimap")
ALONE = ("pmean", "unfreeze", "freeze", "block_until_ready", "FrozenDict", "stop_gradient", "filter")
"""What leaves the gradients as they are: means over devices, where there is one, and changes of the container."""
UPDATES = ("update", "apply_gradients", "apply_gradient")


def read_path(program: Program, optimizer: Call) -> Path:
    """The rows between the gradient of the problem and ``optimizer``; none where the text does not show the way."""
    found = _updating(program, optimizer)
    if found is None:
        return Path()
    check_stores(program, lambda value: False)
    check_conditions(program, gradients_in)
    path = Path()
    try:
        _Walk(path, None, program).value(found, 0)
    except Lost:
        return Path()
    return finished(path, _returned(path.loss))


def read_hand_written(program: Program, update: Statement) -> list[Transform] | None:
    """The rows between the gradient and an update by hand (``w.assign_sub(lr * g)``, ``tree.map(lambda p, g: ...)``);
    None where the text does not show the way.
    """
    gradient = _taken(update)
    if gradient is None:
        return None
    path = Path()
    in_jax = isinstance(update.value, Call) and update.value.path[-1] in MAPS
    try:
        (_Walk if in_jax else Walk)(path, None, program).value(gradient, 0)
    except Lost:
        return None
    found = finished(path, _returned(path.loss) if in_jax else path.loss)
    return [*found.penalties, *found.rows]


def _taken(update: Statement) -> Any:
    """The gradients that an update by hand takes away from the weights."""
    value = update.value
    if not isinstance(value, Call):
        return None
    if value.path[-1] in MAPS:
        return value.args[2] if len(value.args) == 3 else None
    if value.path[-1] != "assign_sub" or not value.args:
        return None
    taken = value.args[-1]
    if isinstance(taken, Operation) and taken.operator == "*":
        taken = taken.right if is_number(unwrap(taken.left)) else taken.left
    walked = update.loops[-1].walked if update.loops else None
    if isinstance(taken, Name) and isinstance(walked, Call) and walked.name == "zip":
        others = [one for one in walked.args if not _are_weights(one) and "variables" not in describe(one)]
        return others[0] if len(others) == 1 else None
    return taken


def read_behind(program: Program, optimizer: Call) -> list[Transform]:
    """The rows of what lines do to the updates before ``optax.apply_updates(params, updates)``."""
    updates = [call for call in program.calls() if call.path[-1:] == ("update",) and call.receiver is optimizer]
    applied = [call for call in program.calls() if call.path[-1] == "apply_updates" and len(call.args) > 1]
    if not updates or not applied:
        return []
    path = Path()
    behind = _Behind(path, updates, program)
    try:
        behind.value(applied[-1].args[1], 0)
    except Lost:
        return []
    path.rows.reverse()
    return path.rows


def _updating(program: Program, optimizer: Call) -> Any:
    """The gradients that the optimizer is given: by its own update, by a TrainState's or an nnx.Optimizer's."""
    calls = [call for call in program.calls() if call.path[-1] in UPDATES]
    for call in reversed(calls):
        given = next((value for key, value in call.kwargs.items() if key in ("grads", "grad", "updates")), None)
        own = call.receiver is optimizer or (
            isinstance(call.receiver, Call) and any(inner is optimizer for inner in walk(call.receiver))
        )
        own = own or (call.receiver is None and "opt" in call.dotted.lower())
        if call.path[-1] != "update":
            if given is None and call.args:
                given = call.args[0]
            if given is not None:
                return given
        elif own and given is not None:
            return given
        elif own and call.args:
            holder = isinstance(call.receiver, Call) and call.receiver is not optimizer and len(call.args) == 2
            return call.args[1 if holder and call.receiver.name in ("Optimizer", "ModelAndOptimizer") else 0]
    return None


class _Walk(Walk):
    """The same way back, with JAX' own words."""

    def call(self, call: Call, depth: int) -> None:
        name = call.path[-1]
        maker = call.receiver if name == "__call__" else None
        if isinstance(maker, Call) and maker.path[-1] in MAKERS:
            self.path.loss = maker.args[0] if maker.args else None
        elif self.returned(call) is not None:
            self.value(self.returned(call), depth + 1)
        elif name in MAPS and len(call.args) >= 2:
            self.mapped(call, depth)
        elif name in ALONE and call.args:
            self.value(call.args[0], depth + 1)
        elif name == "psum":
            raise call.error("psum adds up the gradients of all devices, and how many there are is not in the text")
        else:
            self.unknown(call)

    def mapped(self, call: Call, depth: int) -> None:
        """``jax.tree.map(function, gradients, ...)``."""
        function = call.args[0]
        node = function.node if isinstance(function, Opaque) else None
        if isinstance(function, Name) and function.text.split(".")[-1] == "sign" and len(call.args) == 2:
            self.path.rows.append(Sign())
            self.value(call.args[1], depth + 1)
            return
        if not isinstance(node, ast.Lambda | ast.FunctionDef):
            raise call.error(
                f"what {call.text} does to the gradients cannot be read; write a lambda: "
                "jax.tree.map(lambda g: jnp.clip(g, -1.0, 1.0), grads)"
            )
        assert isinstance(function, Opaque)
        names = [argument.arg for argument in node.args.args]
        inside = expression_of(function)
        if inside is None or len(names) != len(call.args) - 1:
            raise function.place.error(f"what {function.text} does to the gradients is more than one expression")
        if _adds(inside, names) and not any(_are_weights(value) for value in call.args[1:]):
            raise call.error(
                "gradients are added up here; optax.MultiSteps(optimizer, every_k_schedule=n) does it, with their mean"
            )
        gradient, others = self.which(call, names)
        Elements(self.path.rows, call.place, call.args[1 + names.index(gradient)]).read(inside, gradient, others)
        self.value(call.args[1 + names.index(gradient)], depth + 1)

    def which(self, call: Call, names: list[str]) -> tuple[str, str]:
        """(the argument that is the gradient, the one that is the variable, or '')."""
        given = dict(zip(names, call.args[1:], strict=True))
        weights = [name for name, value in given.items() if _are_weights(value)]
        kept = [name for name in names if name not in weights]
        if len(kept) != 1:
            raise call.error(f"which of {', '.join(names)} is the gradient here cannot be told")
        return kept[0], weights[0] if weights else ""

    def value(self, value: Any, depth: int) -> None:
        if isinstance(value, Name) and depth:
            return  # an argument of the function the text shows: the gradient as it comes
        if isinstance(value, Opaque) and isinstance(value.node, ast.IfExp):
            raise value.place.error(f"the gradients depend on a condition here: {value.text}; leave what holds for you")
        super().value(value, depth + 1)


class _Behind(_Walk):
    """From ``apply_updates`` back to ``optimizer.update``."""

    def __init__(self, path: Path, updates: list[Call], program: Program) -> None:
        super().__init__(path, None, program)
        self.updates = updates

    def value(self, value: Any, depth: int) -> None:
        owner = value.owner if isinstance(value, Attribute) else value
        if any(owner is call for call in self.updates) or depth > DEEPEST:
            return
        if isinstance(value, Name):
            raise Lost
        super().value(value, depth)


def _adds(value: Any, names: list[str]) -> bool:
    """True for ``lambda a, g: a + g`` and ``lambda a, g: a + g / n``."""
    if len(names) != 2 or not isinstance(value, Operation) or value.operator != "+":
        return False
    right = value.right
    if isinstance(right, Operation) and right.operator in ("/", "*"):
        right = right.left if isinstance(right.left, Name) else right.right
    sides = [value.left, right]
    return all(isinstance(side, Name) for side in sides) and {side.text for side in sides} == set(names)


def _are_weights(value: Any) -> bool:
    text = getattr(value, "text", "")
    return isinstance(value, Name | Attribute) and any(word in text.lower() for word in ("param", "model", "weight"))


def _returned(loss: Any) -> Any:
    """The loss a function of the text returns is read where it is one expression; else it is the problem's."""
    return expression_of(loss) if isinstance(loss, Opaque) else None
