"""The reverse pass: walks a record from the last operation to the first and sums the gradients that arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.recording import Entry
from core.autodiff.rules.broadcasting import expand, sum_to
from core.autodiff.state import next_id, state
from core.autodiff.tensor import Tensor, make


def needed_ids(entries: Iterable[Entry], sources: set[int]) -> set[int]:
    """The numbers of all tensors that depend on ``sources``: only they need a gradient."""
    needed = set(sources)
    for entry in entries:
        if not needed.isdisjoint(entry[2]):
            needed.add(entry[1])
    return needed


def reverse_pass(
    entries: list[Entry],
    grads: dict[int, Any],
    needed: set[int],
    wanted: set[int],
    consume: bool,
    on_tensors: bool = False,
    watch: Callable[[Entry, int, Any, Any], None] | None = None,
    blocked: list[tuple[int, str]] | None = None,
) -> dict[int, Any]:
    """Gradients of the tensors in ``wanted``, starting from the gradients of the targets in ``grads``.

    When other tapes are active the pass runs on tensors and is recorded by them (higher derivatives), otherwise
    on plain arrays (unless ``on_tensors``). ``consume`` drops the values in ``entries`` on the way, so that memory
    is freed as the pass goes back (what was connected to what stays). ``blocked`` gets the number of each tensor
    that a rule gave no gradient for, with the name of the operation.

    A zero that an operation put in for an entry it did not choose (``Op.selects``) is marked as such and stays
    zero in front of an infinite slope: 0 * inf would be nan, where the true gradient is 0.
    """
    outer = state.reverse_pass
    state.reverse_pass = next_id()
    try:
        return _walk(entries, grads, needed, wanted, consume, on_tensors or bool(state.tapes), watch, blocked)
    finally:
        state.reverse_pass = outer


def _walk(
    entries: list[Entry],
    grads: dict[int, Any],
    needed: set[int],
    wanted: set[int],
    consume: bool,
    on_tensors: bool,
    watch: Callable[[Entry, int, Any, Any], None] | None,
    blocked: list[tuple[int, str]] | None,
) -> dict[int, Any]:
    found: dict[int, Any] = {}
    guarded: set[int] = set()
    owned: set[int] = set()  # gradients in memory made here for this purpose, which may be added to in place
    for position in range(len(entries) - 1, -1, -1):
        op, out_id, ids, vals, out, params, shape, fix = entries[position]
        if consume:
            entries[position] = (op, out_id, ids, None, None, (), (), None)
        g = grads.pop(out_id, None)
        if g is None:
            continue
        if on_tensors and not isinstance(g, Tensor):  # (plain bfloat16 would be widened by the next Python number)
            g = make(g)
        if out_id in wanted:
            found[out_id] = g
        if not op.elementwise and g.shape != shape:
            g = expand(g, shape)
        if vals is None:
            vals = _NOTHING[len(ids)] if len(ids) < 4 else (None,) * len(ids)
        elif on_tensors:
            vals = tuple([make(v, i) if i else v for i, v in zip(ids, vals, strict=True)])
        if on_tensors and out is not None:
            out = make(out, out_id)
        guard = out_id in guarded
        selects = guard or op.selects
        rules = op.vjps
        for k, i in enumerate(ids):
            if i not in needed:
                continue
            old = grads.get(i)
            if old is not None and op.add_to is not None and i in owned and op.add_to(old, g, *params):
                continue
            if op.many:
                part = rules(k, g, out, *vals, *params)  # type: ignore[operator,misc]
            else:
                rule = rules[k]  # type: ignore[index]
                part = None if rule is None else rule(g, out, *vals, *params)
            if part is None:
                if blocked is not None:
                    blocked.append((i, op.name))
                continue
            if guard and op.unbounded and op.elementwise and not _bounded(op, vals, k):
                part = np.where(g == 0, part.dtype.type(0), part)
            if fix is not None:
                part = _fitted(part, op, shape, *fix[k])
            if watch is not None:
                watch(entries[position], k, g, part)
            if old is None:
                grads[i] = part
                if op.add_to is not None and not on_tensors:
                    owned.add(i)
            else:
                grads[i] = old + part
            if selects:
                guarded.add(i)
    for i in wanted:
        if i in grads:
            found[i] = grads[i]
    return found


_NOTHING = [(None,) * n for n in range(4)]


def _bounded(op: Op, vals: tuple[Any, ...], k: int) -> bool:
    """Whether the local derivative is a finite number for certain: a product with a number."""
    if op.name != "multiply":
        return False
    other = vals[1 - k]
    return (type(other) is float or type(other) is int) and math.isfinite(other)


def _fitted(part: Any, op: Op, out_shape: tuple[int, ...], shape: tuple[int, ...], dtype: Any) -> Any:
    """``part`` summed down to the argument's shape and converted to its dtype."""
    if op.elementwise and shape != out_shape:
        part = sum_to(expand(part, out_shape), shape)
    return part if part.dtype == dtype else part.astype(dtype)
