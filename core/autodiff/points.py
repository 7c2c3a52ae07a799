"""at_points: a loss of one point at many points with one call, and whether it keeps them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff.functions import Params, parameter_positions, value_and_gradients_function


def at_points(f: Callable[..., Any], axes: int | Sequence[int] = 1, params: Params = None) -> Callable[..., Any]:
    """A function that returns ``(values, [gradients])`` of ``f`` at many points, which stand along leading axes.

    ``axes`` is the number of trailing axes of one point (one number for each differentiated argument, or one for
    all); ``params`` picks those arguments (default: all), the others are the same for all points. ValueError when
    the values have not the shape of the leading axes, and when f mixes points: the first, the middle and the last
    point are evaluated alone as well, and must give the same value and gradient.
    """
    both = value_and_gradients_function(f, params)

    def evaluate(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        positions = parameter_positions(f, args, params)
        counts = [axes] * len(positions) if isinstance(axes, int) else list(axes)
        if len(counts) != len(positions):
            raise ValueError(f"axes has {len(counts)} numbers for {len(positions)} differentiated arguments")
        arrays = {p: np.asarray(args[p]) for p in positions}
        leading = {arrays[p].shape[: arrays[p].ndim - n] for p, n in zip(positions, counts, strict=True)}
        if len(leading) != 1:
            raise ValueError(f"the differentiated arguments have different leading axes: {sorted(leading)}")
        (shape,) = leading
        values, gradients = both(*args, **kwargs)
        if np.shape(values) != shape:
            raise ValueError(
                f"values of shape {np.shape(values)} at points with the leading axes {shape}: reduce over the trailing "
                f"axes of one point only, such as np.sum(..., axis=-1)"
            )
        for index in _some(shape):
            alone = both(*[arrays[p][index] if p in arrays else arg for p, arg in enumerate(args)], **kwargs)
            _same(index, values, gradients, *alone)
        return values, gradients

    return evaluate


def _some(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The first, the middle and the last index."""
    size = int(np.prod(shape))
    if not shape or size < 2:
        return []
    return [tuple(int(k) for k in np.unravel_index(n, shape)) for n in sorted({0, size // 2, size - 1})]


def _same(index: tuple[int, ...], values: Any, gradients: list[Any], value: Any, slopes: list[Any]) -> None:
    pairs = [("value", values, value), *(("gradient", g, s) for g, s in zip(gradients, slopes, strict=True))]
    for what, among, alone in pairs:
        if among is None and alone is None:
            continue
        a, b = np.asarray(among.numpy()[index]), np.asarray(alone.numpy())
        digits = np.sqrt(np.finfo(b.dtype).eps) if b.dtype.kind == "f" else 1e-1
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=digits, atol=digits, equal_nan=True):
            raise ValueError(
                f"the function mixes points: at index {index} the {what} is {np.array2string(a, threshold=6)} among "
                f"the others, and {np.array2string(b, threshold=6)} for this point alone"
            )
