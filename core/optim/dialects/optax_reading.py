"""Reads optax calls into pieces: transformations, named optimizers, and what wraps them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.binding import Argument, bind, integer, nearest, number
from core.optim.dialects.optax_aliases import ALIASES
from core.optim.dialects.optax_pieces import PRIMITIVES, SPECIAL, Piece, Values
from core.optim.dialects.optax_schedules import NAMES as SCHEDULES
from core.optim.dialects.optax_schedules import rate
from core.optim.dialects.values import Call, Name, Opaque, Place, describe
from core.optim.mask import Mask

Pieces = list[Piece]


def read_chain(value: Any, place: Place) -> Pieces:
    """The pieces of whatever optax accepts as a gradient transformation."""
    if isinstance(value, tuple | list) and value and all(isinstance(item, Call) for item in value):
        raise place.error("a list is no transformation; write optax.chain(...)")
    if not isinstance(value, Call):
        raise place.error(f"{describe(value)} is not a gradient transformation; write a call like optax.adam(1e-3)")
    if value.receiver is not None:
        return _read_method(value)
    name = value.name
    if name in ALIASES:
        return [one._replace(group=name) for one in ALIASES[name].expand(bind(value, ALIASES[name].signature))]
    if name in PRIMITIVES:
        return [Piece(name, bind(value, PRIMITIVES[name].signature))]
    if name in SPECIAL and name != "fromage_shrink":
        return [Piece(name, bind(value, SPECIAL[name]))]
    if name in WRAPPERS:
        return WRAPPERS[name](value)
    if name in SCHEDULES:
        raise value.error(f"{value.dotted} is a schedule; give it as learning_rate to an optimizer")
    if name in ELSEWHERE:
        raise value.error(f"{value.dotted} is not supported: {ELSEWHERE[name]}")
    guess = nearest(name, NAMES - SCHEDULES)
    raise value.error(f"{value.dotted} is not known" + (f"; did you mean optax.{guess}?" if guess else ""))


def _read_method(value: Call) -> Pieces:
    """``MultiSteps(...).gradient_transformation()`` and ``inject_hyperparams(optax.adam)(learning_rate=...)``."""
    inner = value.receiver
    if value.path == ("gradient_transformation",):
        return read_chain(inner, value.place)
    if value.path == ("__call__",) and isinstance(inner, Call) and inner.name in INJECTORS and inner.args:
        factory = inner.args[0]
        if isinstance(factory, Name):
            path = tuple(factory.text.split("."))
            called = Call(
                path, value.args, value.kwargs, value.place, value.text, None, value.arg_places, value.kwarg_places
            )
            return read_chain(called, value.place)
        raise inner.error("inject_hyperparams is understood around a named optimizer: inject_hyperparams(optax.adam)")
    raise value.error(f"{describe(value)} is not a gradient transformation")


INJECTORS = ("inject_hyperparams", "inject_stateful_hyperparams")


def _chain(call: Call) -> Pieces:
    if call.kwargs:
        raise call.error("optax.chain takes transformations only, without names")
    if not call.args:
        raise call.error("this chain is empty")
    found: Pieces = []
    for i, argument in enumerate(call.args):
        found += read_chain(argument, call.arg_places[i] if i < len(call.arg_places) else call.place)
    return found


def _named_chain(call: Call) -> Pieces:
    found: Pieces = []
    for argument in call.args:
        if not isinstance(argument, tuple | list) or len(argument) != 2:
            raise call.error("named_chain takes pairs: ('name', transformation)")
        found += read_chain(argument[1], call.place)
    return found


def _masked(call: Call) -> Pieces:
    values = bind(call, (INNER, Argument("mask", kind=kinds.mask), COMPATIBLE))
    return [Piece("masked", {"inner": values["inner"], "mask": values["mask"] or Mask()})]


def _freeze(call: Call) -> Pieces:
    values = bind(call, (Argument("mask", kind=kinds.mask),))
    return [Piece("masked", {"inner": [Piece("set_to_zero", {})], "mask": values["mask"] or Mask()})]


def _selective(call: Call) -> Pieces:
    values = bind(call, (_inner("optimizer"), Argument("freeze_mask", kind=kinds.mask, keyword_only=True)))
    frozen = values["freeze_mask"] or Mask(default=False)
    groups = [(kinds.opposite(frozen), values["optimizer"]), (frozen, [Piece("set_to_zero", {})])]
    return [Piece("partition", {"groups": groups})]


def _partition(call: Call) -> Pieces:
    signature = (Argument("transforms", kind="any"), Argument("param_labels", kind=kinds.labels), COMPATIBLE)
    values = bind(call, signature)
    given = values["transforms"]
    if not isinstance(given, dict):
        raise call.error("transforms is a dict {'label': transformation}")
    known = {str(label): value for label, value in given.items()}
    missing = [label for label, _ in values["param_labels"] if label not in known]
    if missing:
        raise call.error(f"no transformation for the label {missing[0]!r}; there are: {', '.join(known)}")
    groups = [(mask, read_chain(known[label], call.place)) for label, mask in values["param_labels"]]
    return [Piece("partition", {"groups": groups})]


def _multi_steps(call: Call) -> Pieces:
    values = bind(
        call,
        (
            _inner("opt"),
            Argument("every_k_schedule", kind=_every_k),
            Argument("use_grad_mean", True, "boolean"),
            Argument("should_skip_update_fn", None, _skip),
            Argument("accumulator_dtype", "float32", kinds.accumulator),
        ),
    )
    skip, limit = values["should_skip_update_fn"] or ("never", 1.0)
    inside: Values = {
        "inner": values["opt"],
        "every_k": values["every_k_schedule"],
        "mean": values["use_grad_mean"],
        "accumulator": values["accumulator_dtype"],
        "skip": skip,
        "max_squared_norm": limit,
    }
    return [Piece("multi_steps", inside)]


def _every_k(value: Any, place: Place) -> int:
    if isinstance(value, Opaque) and isinstance(value.node, ast.Lambda) and isinstance(value.node.body, ast.Constant):
        value = value.node.body.value
    if isinstance(value, Opaque | Call):
        raise place.error("every_k_schedule has to be a whole number here; a number that changes is not supported")
    return integer(value, place, "every_k_schedule")


def _skip(value: Any, place: Place) -> tuple[str, float] | None:
    """``optax.skip_not_finite``, or ``functools.partial(optax.skip_large_updates, max_squared_norm=...)``."""
    if value is None:
        return None
    if isinstance(value, Name) and value.text.rsplit(".", 1)[-1] == "skip_not_finite":
        return "not finite", 1.0
    if isinstance(value, Call) and value.name == "partial" and value.args and "max_squared_norm" in value.kwargs:
        limit = number(value.kwargs["max_squared_norm"], place, "max_squared_norm")
        return "large", float(limit)
    raise place.error(
        "should_skip_update_fn can be optax.skip_not_finite or "
        "functools.partial(optax.skip_large_updates, max_squared_norm=...)"
    )


def _apply_if_finite(call: Call) -> Pieces:
    return [Piece("apply_if_finite", bind(call, (INNER, Argument("max_consecutive_errors", kind="integer"))))]


def _lookahead(call: Call) -> Pieces:
    values = bind(
        call,
        (
            _inner("fast_optimizer"),
            Argument("sync_period", kind="integer"),
            Argument("slow_step_size"),
            Argument("reset_state", False, "boolean"),
        ),
    )
    return [Piece("lookahead", {"inner": values.pop("fast_optimizer"), **values})]


def _sam(call: Call) -> Pieces:
    signature = (
        _inner("optimizer"),
        _inner("adv_optimizer"),
        Argument("sync_period", 2, "integer"),
        Argument("reset_state", True, "boolean"),
        Argument("opaque_mode", False, "boolean"),
        Argument("batch_axis_name", None, "unused"),
    )
    return [Piece("sam", bind(call, signature))]


def _schedule_free(call: Call) -> Pieces:
    values = bind(
        call,
        (
            _inner("base_optimizer"),
            Argument("learning_rate", kind=rate),
            Argument("b1", 0.9),
            Argument("weight_lr_power", 2.0),
            Argument("state_dtype", None, kinds.own_type),
        ),
    )
    del values["state_dtype"]
    return [Piece("schedule_free", {"inner": values.pop("base_optimizer"), **values})]


def _transparent(call: Call) -> Pieces:
    if len(call.args) != 1:
        raise call.error(f"{call.name} takes one transformation")
    return read_chain(call.args[0], call.place)


def _inner(name: str) -> Argument:
    return Argument(name, kind=read_chain)


INNER = _inner("inner")
COMPATIBLE = Argument("mask_compatible_extra_args", False, "unused", keyword_only=True)
WRAPPERS: dict[str, Callable[[Call], Pieces]] = {
    "chain": _chain,
    "named_chain": _named_chain,
    "masked": _masked,
    "freeze": _freeze,
    "selective_transform": _selective,
    "partition": _partition,
    "multi_transform": _partition,
    "MultiSteps": _multi_steps,
    "apply_if_finite": _apply_if_finite,
    "lookahead": _lookahead,
    "sam": _sam,
    "schedule_free": _schedule_free,
    "with_extra_args_support": _transparent,
}
ELSEWHERE: dict[str, str] = {
    "lbfgs": "its line search evaluates the loss a changing number of times; torch.optim.LBFGS is supported",
    "scale_by_lbfgs": "it belongs to a line search",
    "scale_by_backtracking_linesearch": "line searches are not supported",
    "scale_by_zoom_linesearch": "line searches are not supported",
    "apply_every": "write optax.MultiSteps, which it has been superseded by",
    "flatten": "variables are always kept in one flat vector here; leave it out",
    "conditionally_transform": "its condition cannot be worked out without running it",
    "conditionally_mask": "its condition cannot be worked out without running it",
    "stateless": "its function cannot be worked out without running it",
    "stateless_with_tree_map": "its function cannot be worked out without running it",
    **dict.fromkeys(
        (
            *("acprop", "ademamix", "simplified_ademamix", "adopt", "cocob", "dadapt_adamw", "dog", "dowg", "galore"),
            *("madgrad", "mechanize", "momo", "momo_adam", "prodigy", "reduce_on_plateau"),
            *("differentially_private_aggregate", "dpsgd", "split_real_and_imaginary"),
        ),
        "only optax's own optimizers and muon, sophia, sam and schedule_free of its contrib are here",
    ),
}
TRANSFORMS = frozenset(ALIASES) | frozenset(PRIMITIVES) | (frozenset(SPECIAL) - {"fromage_shrink"})
TRANSFORMS = TRANSFORMS | frozenset(WRAPPERS)
NAMES = TRANSFORMS | SCHEDULES | frozenset(INJECTORS)
