"""Why a gradient is None: follows a source through the record to where the connection to the target ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.autodiff.dtypes import is_floating
from core.autodiff.recording import Entry, Exit
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable

if TYPE_CHECKING:
    from core.autodiff.tape import GradientTape

_SUMMARY = {
    "function": "it passes through {what} ({place}), which is not differentiable",
    "numpy": "it is converted to plain numpy by {what} ({place}), and what is computed from that is not recorded",
    "assign": "it is assigned to the variable {what!r} ({place}), and assignments are not recorded",
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
    reached, ends = _follow(tape._entries, tape._exits, source._id)
    tensors = [t for t in targets if isinstance(t, Tensor)]
    if any(t._id in reached for t in tensors):
        through = _last_operation(tape._entries, reached, {t._id for t in tensors})
        return f"{name} reaches the target only through arguments that {through} gives no gradient for"
    if ends:
        found = "; ".join(dict.fromkeys(_SUMMARY[end.kind].format(what=end.what, place=end.place) for end in ends[:3]))
        return f"{name} is not connected to the target: {found}"
    return f"{name} is not connected to the target: nothing that the target was computed from depends on it" + _asides(
        tape, targets
    )


def _name(source: Tensor) -> str:
    return f"the variable {source.name!r}" if isinstance(source, Variable) else "the source"


def _asides(tape: GradientTape, targets: Sequence[Any]) -> str:
    text = ""
    if targets and not any(isinstance(t, Tensor) for t in targets):
        text += f" (the target is no tensor but a plain {type(targets[0]).__name__})"
    if tape._paused:
        text += " (part of the block ran inside stop_recording, where nothing is recorded)"
    return text


def _not_followed(tape: GradientTape, targets: Sequence[Any], source: Tensor, name: str) -> str:
    outside = set(tape._outside)
    for t in targets:
        if isinstance(t, Tensor) and t._origin:
            outside.update(t._origin)
    if source._id in outside:
        return (
            f"the target depends on {name} only through something computed outside the tape, which is a constant "
            f"for it: compute that inside the 'with' block (or inside the function)" + _asides(tape, targets)
        )
    if not isinstance(source, Variable):
        return f"{name} is not watched: a tensor is followed only from tape.watch(x) on"
    if not source.trainable:
        return f"{name} is not watched: it is not trainable (set trainable=True, or call tape.watch)"
    if not tape._watch_accessed:
        return f"{name} is not watched: the tape was made with watch_accessed_variables=False, so call tape.watch"
    for end in tape._exits:
        if source._id in end.ids:
            return f"{name} is not connected to the target: " + _SUMMARY[end.kind].format(
                what=end.what, place=end.place
            )
    return f"{name} was not used while the tape was recording" + _asides(tape, targets)


def _follow(entries: Iterable[Entry], exits: Iterable[Exit], source: int) -> tuple[set[int], list[Exit]]:
    """Everything computed from the source, and where that leaves the record."""
    reached = {source}
    for _, out_id, ids, *_ in entries:
        if not reached.isdisjoint(ids):
            reached.add(out_id)
    return reached, [end for end in exits if not reached.isdisjoint(end.ids)]


def _last_operation(entries: Iterable[Entry], reached: set[int], targets: set[int]) -> str:
    name = "the operation"
    for op, out_id, ids, *_ in entries:
        if not reached.isdisjoint(ids) and out_id in targets | reached:
            name = op.name
    return name


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
