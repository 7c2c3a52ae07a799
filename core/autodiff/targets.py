"""What tape.gradient is asked for: targets, the gradients arriving at them, and their results put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.state import state
from core.autodiff.structure import entries, leaves
from core.autodiff.tensor import Tensor, make, raw


def targets_of(target: Any) -> list[Any]:
    """The single targets; plain numbers and arrays are let through, nothing depends on a source there."""
    if type(target) is Tensor:
        return [target]
    found = leaves(target)
    for one in found:
        if not isinstance(one, (Tensor, np.ndarray, np.generic, int, float, complex)):
            hint = ": does the function that computes it return its result?" if one is None else ""
            raise TypeError(f"the target must be a tensor (or a list, tuple, dictionary of them), not {one!r}{hint}")
    return found


def one_source(source: Any) -> Any:
    """The source of batch_jacobian."""
    if isinstance(source, (list, tuple, dict)):
        raise TypeError(f"batch_jacobian takes one source, not a {type(source).__name__}: ask for each by itself")
    return source


def one_target(target: Any, what: str) -> Any:
    """The target of jacobian and batch_jacobian."""
    if isinstance(target, (list, tuple, dict)):
        raise TypeError(
            f"{what} takes one tensor as target, not a {type(target).__name__}: join them with np.stack or "
            f"np.concatenate, or ask for each with GradientTape(persistent=True)"
        )
    return targets_of(target)[0]


def wants_zero(option: Any) -> bool:
    """What ``unconnected_gradients`` says: zeros (True) or None."""
    text = getattr(option, "value", option)
    if text not in ("none", "zero"):
        raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {option!r}")
    return bool(text == "zero")


def match(target: Any, given: Any) -> list[Any]:
    """The output gradients, one for each tensor in ``target``; dictionaries are matched by key.

    A plain list of as many as there are targets will also do, whatever the structure of ``target``.
    """
    if not isinstance(target, (list, tuple, dict)):
        if isinstance(given, (list, tuple)) and len(given) == 1 and np.shape(raw(given[0])) == np.shape(raw(target)):
            return [given[0]]
        return [given]
    pairs: list[tuple[Any, Any]] | None = None
    if isinstance(target, dict) and isinstance(given, dict):
        if target.keys() != given.keys():
            raise ValueError(f"the targets are called {list(target)}, the output_gradients {list(given)}")
        pairs = [(value, given[key]) for key, value in entries(target)]
    elif isinstance(target, (list, tuple)) and isinstance(given, (list, tuple)) and len(target) == len(given):
        pairs = list(zip(target, given, strict=True))
    if pairs is not None:
        return [seed for t, part in pairs for seed in ([None] * len(leaves(t)) if part is None else match(t, part))]
    number = len(leaves(target))
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{number} targets but output_gradients is one {type(given).__name__}: give a list of them")
    if len(given) != number or any(isinstance(part, (list, tuple, dict)) for part in given):
        raise ValueError(f"{number} targets but {len(given)} output_gradients")
    return list(given)


def seed_of(target: Tensor, seed: Any) -> Any:
    """The gradient arriving at ``target``: ones, or what was given for it."""
    if seed is None:
        return target.dtype.type(1) if not target.shape else np.ones(target.shape, target.dtype)
    value = raw(seed)
    if np.shape(value) != target.shape:
        raise ValueError(f"output_gradients of shape {np.shape(value)} for a target of shape {target.shape}")
    if isinstance(seed, Tensor) and state.tapes:
        return seed if seed.dtype == target.dtype else seed.astype(target.dtype)
    out = np.asarray(value, dtype=target.dtype)
    return out if out.ndim else out[()]


def stacked(rows: list[dict[int, Any]], source: Any, shape: tuple[int, ...], zero: bool) -> Any:
    """The gradients of the single entries of a target of ``shape`` as one tensor; None when there is none."""
    parts = [row.get(source._id) for row in rows]
    if rows and all(part is None for part in parts):
        return make(np.zeros(shape + source.shape, source.dtype)[()]) if zero else None
    if not rows:  # a target without entries
        return make(np.zeros(shape + source.shape, source.dtype))
    nothing = np.zeros(source.shape, source.dtype)
    whole: Any = np.stack([nothing if part is None else part for part in parts])
    out: Any = np.reshape(whole, shape + source.shape)
    return out if isinstance(out, Tensor) else make(out if out.ndim else out[()])
