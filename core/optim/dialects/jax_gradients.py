"""From ``optimizer.update(grads, state)`` back to ``jax.grad``: what JAX code does to gradients and loss in between."""

from __future__ import annotations

import ast
from typing import Any

from core.optim.dialects.syntax import expression_of
from core.optim.dialects.tf_gradients import Lost, Path, Walk, finished
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Program

MAKERS = ("grad", "value_and_grad", "filter_grad", "filter_value_and_grad")
MAPS = ("map", "tree_map", "tree_multimap")
MEANS = ("pmean",)


def read_path(program: Program, optimizer: Call) -> Path:
    """The rows between the gradient of the problem and ``optimizer``; none where the text does not show the way."""
    updates = [call for call in program.calls() if call.path[-1:] == ("update",) and call.args]
    own = [call for call in updates if call.receiver is optimizer] or [
        call for call in updates if call.receiver is None and "opt" in call.dotted.lower()
    ]
    if not own:
        return Path()
    path = Path()
    try:
        _Walk(path).value(own[-1].args[0], 0)
    except Lost:
        return Path()
    return finished(path, _returned(path.loss))


class _Walk(Walk):
    """The same way back, with JAX' own words."""

    def call(self, call: Call, depth: int) -> None:
        name = call.path[-1]
        if name == "__call__" and isinstance(call.receiver, Call) and call.receiver.path[-1] in MAKERS:
            self.path.loss = call.receiver.args[0] if call.receiver.args else None
        elif name in MAPS and len(call.args) == 2 and isinstance(call.args[0], Opaque):
            function = call.args[0]
            if not isinstance(function.node, ast.Lambda) or len(function.node.args.args) != 1:
                raise Lost
            self.element(function.node.body, function.node.args.args[0].arg, function.names, function.place)
            self.value(call.args[1], depth + 1)
        elif name in MEANS and call.args:
            self.value(call.args[0], depth + 1)
        else:
            raise Lost

    def value(self, value: Any, depth: int) -> None:
        if isinstance(value, Name) and depth:
            return  # an argument of the function the text shows: the gradient as it comes
        super().value(value.owner if isinstance(value, Attribute) else value, depth + 1)


def _returned(loss: Any) -> Any:
    """The loss a function of the text returns is read where it is one expression; else it is the problem's."""
    return expression_of(loss) if isinstance(loss, Opaque) else None
