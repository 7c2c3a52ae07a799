"""What layers of a Keras model say about their variables: penalties on kernels and biases, and what is not trained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.values import Call, Program, describe
from core.optim.transform import Transform
from core.optim.transforms.nested import Masked
from core.optim.transforms.regularise import L1, L2
from core.optim.variable_rules import Rule, role_of

REGULARIZERS: dict[str, tuple[Argument, ...]] = {
    **{name: (Argument("l1", 0.01),) for name in ("L1", "l1")},
    **{name: (Argument("l2", 0.01),) for name in ("L2", "l2")},
    **{name: (Argument("l1", 0.0), Argument("l2", 0.0)) for name in ("L1L2", "l1_l2")},
}
LAYERS = re.compile(r"(Dense|EinsumDense|(Separable|Depthwise)?Conv\d?D(Transpose)?|LSTM|GRU|SimpleRNN|Embedding)$")
"""Layers that have kernels."""
ROLES = {"kernel_regularizer": "weight", "bias_regularizer": "bias"}


@dataclass(frozen=True, slots=True)
class LayerRule(Rule):
    """The ``role`` of the layers at these ``places`` (from 1) of a model with ``layers`` of them: W1, W2 and so on."""

    role: str = "weight"
    places: tuple[int, ...] = ()
    layers: int = 0

    def picks(self, name: str, shape: tuple[int, ...]) -> bool:
        return role_of(name) == self.role and _place(name) in self.places

    def check(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        """SettingError when the problem has not just these layers."""
        found = [name for name in names if role_of(name) == self.role]
        if sorted(map(_place, found)) != list(range(1, self.layers + 1)):
            raise SettingError(
                f"{self.written}: the lines have {self.layers} layers, and not every one has this penalty; this "
                f"problem's variables are {', '.join(names)}. Choose a model with {self.layers} layers, or write "
                "keras.regularizers.L2(...) in a line of its own, which then acts on all variables"
            )

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"the {self.role} of layer {', '.join(map(str, self.places))}"

    def settings(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"layers": (self.role, self.places, self.layers)}


def _place(name: str) -> int:
    digits = re.search(r"\d+$", name)
    return int(digits.group()) if digits else 1


def layer_penalties(program: Program) -> list[Transform]:
    """The rows of kernel_regularizer and bias_regularizer, each for the variables of its layers only."""
    layers = [call for call in program.calls() if call.receiver is None and LAYERS.match(call.name)]
    rows: list[Transform] = []
    for argument, role in ROLES.items():
        found: dict[tuple[str, float], list[int]] = {}
        for k, call in enumerate(layers, 1):
            for kind, strength in _strengths(call.kwargs.get(argument), call):
                found.setdefault((kind, strength), []).append(k)
        first = next((call for call in layers if call.kwargs.get(argument) is not None), None)
        for (kind, strength), places in found.items():
            assert first is not None
            where = f"line {first.place.line} ({argument})"
            rule = Rule(test=("role", role), written=where)
            if len(places) < len(layers):
                rule = LayerRule(written=where, role=role, places=tuple(places), layers=len(layers))
            row = L1(weight_decay=strength) if kind == "l1" else L2(weight_decay=strength, half=False)
            rows.append(Masked(row, rule))
    return rows


def _strengths(given: Any, layer: Call) -> Iterator[tuple[str, float]]:
    """('l1' or 'l2', strength) of what a layer is given."""
    if given is None:
        return
    if isinstance(given, str) and given in REGULARIZERS:
        given = Call((given,), (), {}, layer.place, given)
    if not isinstance(given, Call) or given.name not in REGULARIZERS:
        raise layer.error(
            f"the regularizer {describe(given)} of this layer is not known; there are {', '.join(REGULARIZERS)}"
        )
    values = bind(given, REGULARIZERS[given.name])
    for kind in ("l1", "l2"):
        if values.get(kind):
            yield kind, float(values[kind])
