"""Which components bars show, and in what order: by index, size or difference, the largest k of many, calmly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gui.widgets.steady import Pace

Float64 = NDArray[np.float64]
Indices = NDArray[np.intp]
ORDERS = ("index", "size", "difference")
REORDER_SECONDS = 1.0


class OrderKeeper:
    """Chooses components. While running the choice is made anew at most once a second, so that bars can be followed."""

    def __init__(self) -> None:
        self.order = "index"
        self.most = 48
        self._pace = Pace(REORDER_SECONDS)
        self._kept: Indices | None = None
        self._key: tuple[object, ...] = ()

    def reset(self) -> None:
        """Choose anew at the next update."""
        self._kept = None

    def update(self, expected: Float64, applied: Float64, running: bool) -> Indices:
        """Indices of the components shown, from the top of the panel down."""
        key = (self.order, self.most, expected.size)
        if self._kept is None or key != self._key or self._pace.due(running):
            self._kept = choose(expected, applied, self.order, self.most)
            self._key = key
        return self._kept


def choose(expected: Float64, applied: Float64, order: str, most: int) -> Indices:
    """The ``most`` components that are largest (or differ most), in the order asked for.

    'index' and 'size' go by the larger of |computed| and |applied|, each as a share of the largest of its kind, so
    that a step a thousand times shorter than -lr*g has its say too; 'difference' by |applied - computed|. Components
    that are not finite come first.
    """
    if order not in ORDERS:
        raise ValueError(f"no order {order!r}; there are: {', '.join(ORDERS)}")
    if order == "index" and expected.size <= most:
        return np.arange(expected.size)
    with np.errstate(all="ignore"):
        apart = order == "difference"
        weight = np.abs(applied - expected) if apart else np.maximum(_share(expected), _share(applied))
    weight = np.where(np.isfinite(weight), weight, np.inf)
    picked = np.argsort(-weight, kind="stable")[:most]
    return np.sort(picked) if order == "index" else picked


def _share(values: Float64) -> Float64:
    sizes: Float64 = np.abs(values)
    top = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
    return sizes / top if top > 0.0 else sizes
