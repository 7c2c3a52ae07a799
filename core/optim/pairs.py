"""The (gradient, variable) pairs of a step: checked before anything changes, None told apart from zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from core.autodiff import Variable
from core.declare import SettingError
from core.optim.layout import Array
from core.optim.transform import Transform

Pairs = Sequence[tuple[Any, Variable]]


class SparseRows:
    """The gradient of an embedding: ``values[i]`` belongs to row ``indices[i]``, every other row is unused.

    Rows named twice add up. ``shape`` is the variable's. Lazy optimizers (SparseAdam) leave unused rows alone;
    all others take the gradient as zero there.
    """

    __slots__ = ("dense", "used")

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...]) -> None:
        rows = np.asarray(indices, dtype=np.int64).reshape(-1)
        numbers = np.asarray(values)
        if not shape or (rows.size and (rows.min() < 0 or rows.max() >= shape[0])):
            raise ValueError(f"sparse gradient: rows {rows.tolist()} do not fit a variable of shape {shape}")
        if numbers.shape != (rows.size, *shape[1:]):
            raise ValueError(
                f"sparse gradient: {rows.size} rows of a variable of shape {shape} "
                f"need values of shape {(rows.size, *shape[1:])}, not {numbers.shape}"
            )
        self.dense: Array = np.zeros(shape, dtype=numbers.dtype if numbers.dtype.kind == "f" else np.float64)
        np.add.at(self.dense, rows, numbers)
        self.used: Array = np.zeros(shape, dtype=bool)
        self.used[rows] = True


class Present:
    """The variables that take part with their gradients; those without one; and all in the order given."""

    __slots__ = ("absent", "gradients", "order", "used")

    def __init__(self) -> None:
        self.gradients: dict[Variable, Array] = {}
        self.used: dict[Variable, Array] = {}
        self.absent: list[Variable] = []
        self.order: list[Variable] = []


def check_pairs(pairs: Pairs, rows: Iterable[Transform] = ()) -> Present:
    """The pairs sorted out for the ``rows`` of a chain; TypeError or ValueError before anything has changed."""
    present = Present()
    seen: set[int] = set()
    for position, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[1], Variable):
            raise TypeError(f"pair {position} has to be (gradient, Variable), not {type(pair).__name__}: {pair!r}")
        gradient, variable = pair
        if id(variable) in seen:
            raise ValueError(f"variable {variable.name!r} is given twice; add its gradients first")
        seen.add(id(variable))
        present.order.append(variable)
        if gradient is None:
            present.absent.append(variable)
            continue
        if hasattr(gradient, "indices") and hasattr(gradient, "values"):  # tf.IndexedSlices
            gradient = SparseRows(plain(gradient.indices), plain(gradient.values), tuple(variable.shape))
        if isinstance(gradient, SparseRows):
            present.used[variable] = gradient.used
            gradient = gradient.dense
        array = np.asarray(plain(gradient))
        if array.dtype.kind in "OSUc" or array.dtype.kind == "b":
            raise TypeError(f"the gradient of {variable.name!r} must be real numbers, not {array.dtype}")
        if array.shape != tuple(variable.shape):
            raise ValueError(
                f"the gradient of {variable.name!r} has shape {array.shape}, the variable {tuple(variable.shape)}"
            )
        present.gradients[variable] = array
    if not present.gradients:
        names = ", ".join(str(variable.name) for variable in present.order) or "no pairs at all"
        raise ValueError(f"no gradients for any variable ({names}): is the loss connected to them?")
    if present.absent and any(row.none_is_zero and row.enabled for row in rows):
        zeros = {variable: np.zeros(tuple(variable.shape)) for variable in present.absent}
        present.gradients = {variable: {**zeros, **present.gradients}[variable] for variable in present.order}
        present.absent = []
    return present


LAZY_IN_TF1 = ("momentum", "accumulated_steps", "ftrl_step", "proximal_l1", "proximal_l2")


def check_sparse(dialect: str, rows: Sequence[str]) -> None:
    """SettingError where a framework's rule for sparse gradients is not that for zeros in the unused rows."""
    lazy = [row for row in rows if row in LAZY_IN_TF1]
    if "second_moment" in rows and "first_moment" not in rows:
        lazy.append("second_moment")
    if dialect == "tf1" and lazy:
        raise SettingError(
            f"TF1 leaves rows without a gradient alone in this optimizer ({lazy[0]}: neither average nor weight of "
            "theirs moves); that is not reproduced. Give the gradient with its zeros, or use torch.optim.SparseAdam, "
            "which does the same for Adam"
        )


def plain(value: Any) -> Any:
    """The numpy array behind a tensor, or the value itself."""
    return value.numpy() if hasattr(value, "numpy") else value
