"""Rule of einsum: text or lists of subscripts, ellipses, repeated indices, axes of length 1 that broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.rules.axes import refuse_out
from core.autodiff.rules.broadcasting import expand, sum_to
from core.autodiff.tensor import apply, arrayed

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum(*rest: Any) -> Any:
    *arrays, inputs, output, _, optimize = rest
    out = np.einsum(",".join(inputs) + "->" + output, *arrays, optimize=optimize)
    return out if out.ndim else out[()]


def _einsum_rule(i: int, g: Any, out: Any, *rest: Any) -> Any:
    *arrays, inputs, output, shapes, optimize = rest
    mine, others = inputs[i], [s for k, s in enumerate(inputs) if k != i]
    once = "".join(dict.fromkeys(mine))
    known = set(output).union(*others)
    sizes = dict(zip(mine, shapes[i], strict=True))
    # an index that was summed over in this operand alone is not known: the gradient repeats along it
    here = "".join(letter for letter in once if letter in known)
    factors = [a for k, a in enumerate(arrays) if k != i]
    found = np.einsum(",".join([output, *others]) + "->" + here, g, *factors, optimize=optimize)
    if once != here:
        found = np.reshape(found, tuple(found.shape[here.index(k)] if k in known else 1 for k in once))
    # axes of length 1 that met longer ones, here or in the other operands
    own = tuple(sizes[letter] for letter in once)
    wide = np.broadcast_shapes(found.shape, own)
    found = sum_to(expand(found, wide), own)
    if once != mine:  # a repeated index ('ii'): the gradient lies on the diagonal
        same = np.ones(shapes[i], dtype=g.dtype)
        for axis, letter in enumerate(mine):
            first = mine.index(letter)
            if first != axis:
                n = sizes[letter]
                along = [1] * len(mine)
                along[first], along[axis] = n, n
                same = same * np.eye(n, dtype=g.dtype).reshape(along)
        spread = [sizes[letter] if mine.index(letter) == axis else 1 for axis, letter in enumerate(mine)]
        found = np.reshape(found, tuple(spread)) * same
    return found


EINSUM = Op("einsum", _einsum, _einsum_rule)


def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: Any = "K", casting: Any = "safe"
) -> Any:
    """numpy.einsum; also in the form ``einsum(a, [0, 1], b, [1])``."""
    refuse_out("einsum", out)
    if not operands:
        raise ValueError("einsum needs subscripts and operands")
    text, given = _as_text(operands)
    arrays = [arrayed(a) for a in given]
    if dtype is not None:
        arrays = [a.astype(dtype) for a in arrays]
    inputs, output = _subscripts(text.replace(" ", ""), [a.ndim for a in arrays])
    how = optimize if isinstance(optimize, (bool, str)) else True  # (a path would be that of the forward pass alone)
    return apply(EINSUM, tuple(arrays), (inputs, output, tuple(a.shape for a in arrays), how))


def _as_text(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The subscripts as text, and the arrays."""
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])
    output = operands[-1] if len(operands) % 2 else None
    arrays, lists = list(operands[0 : len(operands) // 2 * 2 : 2]), list(operands[1::2])

    def written(labels: Any) -> str:
        return "".join("..." if k is Ellipsis else _LETTERS[k] for k in labels)

    text = ",".join(written(labels) for labels in lists)
    return (text if output is None else f"{text}->{written(output)}"), arrays


def _subscripts(text: str, ndims: list[int]) -> tuple[tuple[str, ...], str]:
    """The subscripts of each operand and of the result, with ellipses written out and '->' filled in."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise ValueError(f"einsum: {len(parts)} subscripts for {len(ndims)} operands")
    free = [c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in text]
    most = max((n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p), default=0)
    dots = "".join(free[:most])
    inputs = []
    for part, n in zip(parts, ndims, strict=True):
        if "..." in part:
            number = n - len(part.replace("...", ""))
            part = part.replace("...", dots[most - number :])
        if len(part) != n:
            raise ValueError(f"einsum: subscripts {part!r} for an operand with {n} axes")
        inputs.append(part)
    if arrow:
        output = right.replace("...", dots)
        if dots and "..." not in right:
            raise ValueError(f"einsum: the axes of '...' have no place in the result {right!r}: write '...' there too")
        if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
            raise ValueError(f"einsum: the subscripts of the result {right!r} must be those of operands, each once")
    else:
        every = "".join(inputs)
        output = dots + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in dots))
    return tuple(inputs), output
