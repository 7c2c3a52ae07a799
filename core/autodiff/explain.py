"""Why a gradient is None: follows a source through the record to where the connection to the target ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.autodiff.dtypes import is_floating
from core.autodiff.recording import Exit
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable

if TYPE_CHECKING:
    from core.autodiff.tape import GradientTape

_SUMMARY = {
    "function": "it passes through {what} ({place}), which is not differentiable",
    "numpy": "it is converted to plain numpy by {what} ({place}), and what is computed from that is not recorded",
    "assign": "it is assigned to the variable {what!r} ({place}), and assignments are not recorded",
    "decision": "it only takes part in {what} ({place}), and which way a decision goes has no gradient",
}


def reason(tape: GradientTape, targets: Sequence[Any], source: Tensor) -> str:
    """One sentence: why ``targets`` have no gradient for ``source``."""
    name = _name(source)
    if not is_floating(source.dtype):
        kind = "complex" if source.dtype.kind == "c" else "integer"
        return (
            f"{name} is of {kind} type ({source.dtype}): gradients exist for floating types only, "
            f"make it with a decimal point or dtype='float64'"
        )
    if source._id not in tape._known:
        return _not_followed(tape, targets, source, name)
    reached = _followed_by((entry[1:3] for entry in tape._entries), {source._id})
    through = next((operation for i, operation in tape._blocked if i in reached), None)
    if through is not None:
        return f"{name} reaches the target only through arguments that {through} gives no gradient for"
    ends = _ends(tape, targets, source)
    if ends:
        found = "; ".join(dict.fromkeys(_SUMMARY[end.kind].format(what=end.what, place=end.place) for end in ends[:3]))
        return f"{name} is not connected to the target: {found}"
    return f"{name} is not connected to the target: nothing that the target was computed from depends on it" + _asides(
        tape, targets, source
    )


def _name(source: Tensor) -> str:
    return f"the variable {source.name!r}" if isinstance(source, Variable) else "the source"


def _asides(tape: GradientTape, targets: Sequence[Any], source: Tensor) -> str:
    text = ""
    if targets and not any(isinstance(t, Tensor) for t in targets):
        text += f" (the target is no tensor but a plain {type(targets[0]).__name__})"
    if tape._paused:
        text += " (part of the block ran inside stop_recording, where nothing is recorded)"
    if tape._was_reset:
        text += " (what was computed before tape.reset() is forgotten)"
    if tape._watched_late and source._id in tape._leaf_ids and not isinstance(source, Variable):
        text += " (what was computed from it before tape.watch was called does not count)"
    return text


def _not_followed(tape: GradientTape, targets: Sequence[Any], source: Tensor, name: str) -> str:
    outside = {i for t in targets if isinstance(t, Tensor) for i in t._origin or ()}
    for i in _origins(tape, targets):
        outside.update(tape._outside.get(i, ()))
    if source._id in outside:
        return (
            f"the target depends on {name} only through something computed outside the tape, which is a constant "
            f"for it: compute that inside the 'with' block (or inside the function)" + _asides(tape, targets, source)
        )
    if not isinstance(source, Variable):
        return f"{name} is not watched: a tensor is followed only from tape.watch(x) on"
    if not source.trainable:
        return f"{name} is not watched: it is not trainable (set trainable=True, or call tape.watch)"
    if not tape._watch_accessed:
        return f"{name} is not watched: the tape was made with watch_accessed_variables=False, so call tape.watch"
    return f"{name} was not used while the tape was recording" + _asides(tape, targets, source)


def _followed_by(steps: Iterable[tuple[int, tuple[int, ...]]], start: set[int]) -> set[int]:
    """The numbers of everything computed from ``start``; ``steps`` are (result, operands), in order."""
    reached = set(start)
    for out_id, ids in steps:
        if not reached.isdisjoint(ids):
            reached.add(out_id)
    return reached


def _all_steps(tape: GradientTape) -> list[tuple[int, tuple[int, ...]]]:
    """What was computed from what, with and without a gradient, in order (later results have higher numbers)."""
    return sorted([*(entry[1:3] for entry in tape._entries), *tape._lost.items()])


def _origins(tape: GradientTape, targets: Sequence[Any]) -> set[int]:
    """The numbers of everything that the targets were computed from, variables behind an assignment included."""
    wanted = {t._id for t in targets if isinstance(t, Tensor)}
    for t in targets:
        if isinstance(t, Tensor) and t._origin:
            wanted.update(t._origin)
    assigned = [(end.out_id, end.ids) for end in tape._exits if end.kind == "assign"]
    steps = _all_steps(tape)
    known = -1
    while known != len(wanted):  # once more when an assignment leads to earlier results
        known = len(wanted)
        for out_id, ids in (*reversed(steps), *assigned):
            if out_id in wanted:
                wanted.update(ids)
        wanted.discard(0)  # stands for what is no tensor
    return wanted


def _ends(tape: GradientTape, targets: Sequence[Any], source: Tensor) -> list[Exit]:
    """Where the way from the source to the targets leaves the record.

    What certainly lies on the way comes first, then conversions to plain numpy (whose results nobody follows) with
    what led to them; a decision counts when there is nothing else.
    """
    steps = _all_steps(tape)
    reached = _followed_by(steps, {source._id})
    ends = [end for end in tape._exits if not reached.isdisjoint(end.ids)]
    origins = _origins(tape, targets)
    certain = [end for end in ends if end.out_id in origins]
    converted = [end for end in ends if end.kind == "numpy"]
    if converted and not certain:
        for end in ends:
            if end.kind == "function":
                behind = _followed_by(steps, {end.out_id})
                if any(not behind.isdisjoint(one.ids) for one in converted):
                    certain.append(end)
    return certain + converted or [end for end in ends if end.kind == "decision"]


def why_none(
    f: Callable[..., Any], *args: Any, params: Any = None, variables: Sequence[Variable] | None = None
) -> list[str | None]:
    """For each argument of ``f(*args)`` (or those in ``params``): the reason why its gradient is None.

    With ``variables`` the same for each of these variables instead. None stands for one that has a gradient.
    """
    from core.autodiff.functions import as_argument, parameter_positions
    from core.autodiff.tape import GradientTape

    inputs = list(args)
    chosen: list[Any] = list(variables or ())
    if variables is None:
        positions = parameter_positions(f, args, params)
        for i in positions:
            inputs[i] = as_argument(args[i], i)
        chosen = [inputs[i] for i in positions]
    tape = GradientTape()
    with tape:
        if variables is None:
            tape.watch([x for x in chosen if is_floating(x.dtype)])
        value = f(*inputs)
    gradients = tape.gradient(value, chosen)
    return [None if g is not None else tape.why_none(x) for g, x in zip(gradients, chosen, strict=True)]
