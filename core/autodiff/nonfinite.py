"""trace_nonfinite: finds the operation that made the first nan or inf of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.functions import Params, as_argument, parameter_positions
from core.autodiff.operation import Op
from core.autodiff.program.compiled import function_behind
from core.autodiff.recording import Entry, place_of_user
from core.autodiff.structure import leaves
from core.autodiff.tape import GradientTape
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable

SUM = "sum of gradients"


@dataclass(frozen=True, slots=True)
class NonFinite:
    """Where a nan or inf comes from.

    ``phase``: 'forward' (the operation's value), 'backward' (its gradient rule), or 'argument' (it was given).
    ``operation``: its name, or 'sum of gradients at ...' where finite gradients add up to more than the type holds.
    ``inputs``: the operation's operands; ``output``: its value; ``upstream``: the gradient that arrived at the
    rule, finite; ``result``: the first value that is not finite. ``place``: the line of the user's code.
    """

    phase: str
    operation: str
    inputs: tuple[Any, ...]
    output: Any
    upstream: Any
    result: Any
    place: str

    def __str__(self) -> str:
        if self.phase == "argument":
            at = f" at {self.place}" if self.place else ""
            return f"{self.operation}{at} is not finite already: {_short(self.result)}"
        if self.operation.startswith(SUM):
            return (
                f"the gradients that arrive{self.operation[len(SUM) :]} are finite, but add up to {_short(self.result)}"
            )
        given = ", ".join(_short(x) for x in self.inputs)
        if self.phase == "forward":
            return f"{self.operation}({given}) = {_short(self.result)} at {self.place}"
        return (
            f"the gradient of {self.operation}({given}) = {_short(self.output)} at {self.place} turns "
            f"{_short(self.upstream)} into {_short(self.result)}"
        )


def _short(value: Any) -> str:
    array = np.asarray(value)
    if array.size <= 6:
        return np.array2string(array, precision=6, separator=", ")
    return f"array of shape {array.shape}"


@dataclass(slots=True)
class _Done:
    """One operation of the forward pass, with all its values."""

    op: Op
    ids: tuple[int, ...]
    vals: tuple[Any, ...]
    out: Any
    place: str


class _KeepingTape(GradientTape):
    """A tape that also keeps the values and the line of every operation."""

    def __init__(self) -> None:
        super().__init__(persistent=True)
        self.done: dict[int, _Done] = {}
        self.given: dict[int, tuple[str, Any]] = {}

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        super()._record(op, args, vals, params, out)
        ids = tuple(a._id if isinstance(a, Tensor) else 0 for a in args)
        for a in args:
            if isinstance(a, Variable):
                self.given[a._id] = (f"the variable {a.name!r}", a._value)
        self.done[out._id] = _Done(op, ids, vals, out._value, place_of_user())

    def _record_unary(self, op: Op, a: Tensor, x: Any, out: Tensor) -> None:
        self._record(op, (a,), (x,), (), out)

    def _record_binary(self, op: Op, a: Any, b: Any, x: Any, y: Any, out: Tensor) -> None:
        self._record(op, (a, b), (x, y), (), out)


def trace_nonfinite(f: Callable[..., Any], *args: Any, params: Params = None) -> NonFinite | None:
    """The operation that made the first nan or inf in the gradients of ``f(*args)``; None when all are finite.

    The gradients are those for the arguments (or those in ``params``) and for the trainable variables that f
    reads. A non-finite value of f is traced too. What is infinite on the way but does not reach a gradient (a
    branch that np.where did not take) is not reported. For a compiled program its function is run.
    """
    behind = function_behind(f)
    if behind is not None:
        f, params = behind[0], behind[1] if params is None else params
    positions = parameter_positions(f, args, params) if args else []
    inputs = list(args)
    for i in positions:
        inputs[i] = as_argument(args[i], i)
    tape = _KeepingTape()
    with tape:
        for i in positions:
            for leaf in leaves(inputs[i]):
                if is_floating(leaf.dtype):
                    tape.watch(leaf)
                    tape.given[leaf._id] = (f"argument {i}", leaf._value)
        value = f(*inputs)
    if value is None:
        raise ValueError(f"{getattr(f, '__name__', f)} returned None: it must return the value to differentiate")
    return _find(tape, value)


def _finite(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "iub" or bool(np.isfinite(array).all())


def _find(tape: _KeepingTape, value: Any) -> NonFinite | None:
    first: dict[int, NonFinite] = {}

    def watch(entry: Entry, k: int, g: Any, part: Any) -> None:
        i, out_id = entry[2][k], entry[1]
        if i in first or _finite(part):
            return
        done = tape.done[out_id]
        if not _finite(g):
            if out_id not in first:
                first[out_id] = _overflowing_sum(f" at {done.op.name} ({done.place})", g)
            first[i] = first[out_id]
            return
        first[i] = _in_forward(tape, done) or NonFinite(
            "backward", done.op.name, done.vals, done.out, g, part, done.place
        )

    targets = [t for t in leaves(value) if isinstance(t, Tensor)]
    sources = list(tape._leaf_ids)
    with np.errstate(all="ignore"):
        found = tape._reverse(targets, set(sources), watch)
    for i in sources:
        g = found.get(i)
        if g is not None and not _finite(g):
            return first.get(i) or _overflowing_sum(f" at {tape.given[i][0]}", g)
    for t in targets:
        if not _finite(t._value) and t._id in tape.done:
            return _origin(tape, t._id, t._value)
    return None


def _overflowing_sum(where: str, total: Any) -> NonFinite:
    return NonFinite("backward", SUM + where, (), None, None, total, "")


def _in_forward(tape: _KeepingTape, done: _Done) -> NonFinite | None:
    """When the rule only passed on a non-finite value of the forward pass: where that came from."""
    for i, v in zip(done.ids, done.vals, strict=True):
        if not _finite(v):
            return _origin(tape, i, v) if i else _constant(done, v)
    if not _finite(done.out):
        return NonFinite("forward", done.op.name, done.vals, done.out, None, done.out, done.place)
    return None


def _constant(done: _Done, value: Any) -> NonFinite:
    return NonFinite("argument", f"a constant operand of {done.op.name}", (), None, None, value, done.place)


def _origin(tape: _KeepingTape, i: int, value: Any) -> NonFinite:
    """The first operation with finite operands on the way back from a non-finite value."""
    while i in tape.done:
        done = tape.done[i]
        bad = [(j, v) for j, v in zip(done.ids, done.vals, strict=True) if not _finite(v)]
        if not bad:
            return NonFinite("forward", done.op.name, done.vals, done.out, None, value, done.place)
        i, value = bad[0]
        if not i:
            return _constant(done, value)
    name = tape.given.get(i, ("a value given from outside", value))[0]
    return NonFinite("argument", name, (), None, None, value, "")
