"""stop_gradient, and custom_gradient: rules of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.structure import leaves, rebuild
from core.autodiff.tensor import Tensor, apply

_STOP = Op("stop_gradient", lambda x: +x if x.dtype.kind != "b" else x.copy())


def stop_gradient(value: Any) -> Any:
    """The same value (or structure of values), through which no gradient passes."""
    return rebuild(value, [apply(_STOP, (leaf if isinstance(leaf, Tensor) else np.asarray(leaf),))
                           for leaf in leaves(value)])
