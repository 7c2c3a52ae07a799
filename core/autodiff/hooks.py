"""Where the table of numpy functions is handed to Tensor, which the table's own modules are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.autodiff.operation import Op


class Hooks:
    """What core.autodiff.dispatch provides to Tensor (set once when the package is imported)."""

    ufuncs: dict[Any, Callable[..., Any]]
    functions: dict[Any, Callable[..., Any]]
    call_ufunc: Callable[..., Any]
    call_function: Callable[..., Any]
    getitem: Callable[..., Any]
    matmul: Op
    astype: Callable[..., Any]


hooks = Hooks()
