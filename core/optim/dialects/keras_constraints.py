"""What Keras does to weights behind each step: constraints of layers and variables."""

from __future__ import annotations

import math
from typing import Any

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.keras_layers import LAYERS, LayerRule
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.values import Call, Opaque, Place, Program, describe
from core.optim.transform import Transform
from core.optim.transforms.nested import Masked
from core.optim.transforms.weight_bounds import ClipWeights, NormBounds
from core.optim.variable_rules import Rule

ROLES = {"kernel_constraint": "weight", "embeddings_constraint": "weight", "bias_constraint": "bias"}
AXIS = Argument("axis", 0, "integer")
SIGNATURES: dict[str, tuple[Argument, ...]] = {
    "maxnorm": (Argument("max_value", 2.0), AXIS),
    "minmaxnorm": (Argument("min_value", 0.0), Argument("max_value", 1.0), Argument("rate", 1.0), AXIS),
    "unitnorm": (AXIS,),
    "nonneg": (),
}


def constraint_rows(program: Program) -> list[Transform]:
    """The rows of kernel_constraint, bias_constraint and tf.Variable(..., constraint=...)."""
    layers = [call for call in program.calls() if call.receiver is None and LAYERS.match(call.name)]
    rows: list[Transform] = []
    for argument, role in ROLES.items():
        given = [(k, call) for k, call in enumerate(layers, 1) if call.kwargs.get(argument) is not None]
        alike = {describe(call.kwargs[argument]) for _, call in given}
        if len(alike) > 1:
            raise given[1][1].error(f"the layers have different values of {argument}; give them the same one here")
        if given:
            call = given[0][1]
            where = f"line {call.place.line} ({argument})"
            rule = Rule(test=("role", role), written=where)
            if len(given) < len(layers):
                rule = LayerRule(written=where, role=role, places=tuple(k for k, _ in given), layers=len(layers))
            rows.append(Masked(_constraint(call.kwargs[argument], call.place), rule))
    return [*rows, *_of_variables(program)]


def _of_variables(program: Program) -> list[Transform]:
    """``tf.Variable(..., constraint=lambda z: tf.clip_by_value(z, 0, 1))``, where all variables have the same."""
    made = [call for call in program.calls() if call.name in ("Variable", "add_weight", "get_variable")]
    given = [call for call in made if call.kwargs.get("constraint") is not None]
    if not given:
        return []
    if len({describe(call.kwargs["constraint"]) for call in given}) > 1 or len(given) < len(made):
        raise given[0].error("only some of the variables have this constraint; write one that all of them share")
    return [_constraint(given[0].kwargs["constraint"], given[0].place)]


def _constraint(given: Any, place: Place) -> Transform:
    if isinstance(given, Opaque):
        return _bounds(given, place)
    named = Call((given,), place=place, text=given) if isinstance(given, str) else given
    kind = named.name.replace("_", "").lower() if isinstance(named, Call) else ""
    if kind not in SIGNATURES:
        raise place.error(
            f"the constraint {describe(given)} is not known; there are MaxNorm, MinMaxNorm, UnitNorm, NonNeg"
        )
    values = bind(named, SIGNATURES[kind])
    if values.get("axis", 0) != 0:
        raise place.error("constraints are read for axis=0, the norms of what enters each unit")
    try:
        if kind == "nonneg":
            return ClipWeights(low=0.0, high=math.inf)
        if kind == "unitnorm":
            return NormBounds(low=1.0, high=1.0)
        low, share = values.get("min_value", 0.0), values.get("rate", 1.0)
        return NormBounds(low=low, high=values["max_value"], share=share)
    except SettingError as error:
        raise place.error(str(error)) from None


def _bounds(function: Opaque, place: Place) -> Transform:
    """A function that only clips: ``lambda z: tf.clip_by_value(z, low, high)``."""
    body = expression_of(function)
    if isinstance(body, Call) and body.name in ("clip_by_value", "clip"):
        bounds = [*body.args[1:], *(body.kwargs[k] for k in body.kwargs if k not in ("t", "x", "a"))]
        if len(bounds) == 2 and all(map(is_number, bounds)):
            return ClipWeights(low=float(bounds[0]), high=float(bounds[1]))
    raise place.error(f"the constraint {describe(function)} is more than tf.clip_by_value(w, low, high)")
