"""The parts the tables of named optax optimizers are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_pieces import PRIMITIVES, SPECIAL, Piece, Values
from core.optim.dialects.optax_schedules import rate


class Alias(NamedTuple):
    """How a named optimizer is read, and what it is a short name for."""

    signature: tuple[Argument, ...]
    expand: Callable[[Values], list[Piece]]


LR = Argument("learning_rate", kind=rate)
MASK = Argument("mask", None, kinds.mask)
NESTEROV_ON = Argument("nesterov", True, "boolean", keyword_only=True)
WEIGHT_DECAY = Argument("weight_decay", 0.0, rate)
ADAM = ("b1", "b2", "eps", "eps_root", "nesterov")


def piece(name: str, **given: Any) -> Piece:
    """A transformation with the arguments given and optax's defaults for the others."""
    signature = PRIMITIVES[name].signature if name in PRIMITIVES else SPECIAL[name]
    known = {argument.name: argument.default for argument in signature}
    unknown = given.keys() - known.keys()
    if unknown:
        raise ValueError(f"{name} has no argument {sorted(unknown)[0]!r}")
    return Piece(name, {**known, **given})


def rate_piece(values: Values) -> Piece:
    """The learning rate as the last transformation."""
    return piece("scale_by_learning_rate", learning_rate=values["learning_rate"])


def decay_piece(values: Values, mask: str = "mask") -> Piece:
    """Weight decay added where it stands; ``mask`` is the name of the argument that holds its mask."""
    return piece("add_decayed_weights", weight_decay=values["weight_decay"], mask=values.get(mask))


def some(values: Values, *names: str) -> Values:
    """Only these arguments."""
    return {name: values[name] for name in names}


def adamw(values: Values) -> list[Piece]:
    """Adam with decay, which Muon uses too."""
    return [piece("scale_by_adam", **some(values, *ADAM)), decay_piece(values), rate_piece(values)]
