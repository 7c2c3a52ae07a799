"""How the variables of a step lie in one flat vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Layout:
    """Names, shapes and slices of variables that share one flat vector (in order, each in C order)."""

    __slots__ = ("names", "shapes", "single", "size", "slices")

    def __init__(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        self.names = tuple(names)
        self.shapes = tuple(tuple(shape) for shape in shapes)
        self.slices: tuple[slice, ...] = ()
        start = 0
        slices = []
        for shape in self.shapes:
            stop = start + math.prod(shape)
            slices.append(slice(start, stop))
            start = stop
        self.slices = tuple(slices)
        self.size = start
        self.single = len(self.names) == 1

    def split(self, flat: Array) -> list[Array]:
        """Views of ``flat`` (size,), one for each variable, in its own shape."""
        return [flat[part].reshape(shape) for part, shape in zip(self.slices, self.shapes, strict=True)]

    def join(self, arrays: Sequence[Array], dtype: Any) -> Array:
        """One flat vector (size,) of ``dtype`` from one array a variable."""
        if self.single:
            return np.array(arrays[0], dtype=dtype).reshape(-1)
        return np.concatenate([np.asarray(array, dtype=dtype).reshape(-1) for array in arrays])

    def subset(self, indices: Sequence[int]) -> Layout:
        """The layout of only these variables."""
        return Layout([self.names[i] for i in indices], [self.shapes[i] for i in indices])

    def component_names(self) -> list[str]:
        """'NAME[i]' for each component of the flat vector, i counting in C order within its variable."""
        return [
            f"{name}[{i}]" for name, shape in zip(self.names, self.shapes, strict=True) for i in range(math.prod(shape))
        ]
