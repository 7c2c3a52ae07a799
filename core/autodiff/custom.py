"""stop_gradient, and custom_gradient: rules of one's own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.operation import Op
from core.autodiff.state import state
from core.autodiff.structure import leaves, rebuild
from core.autodiff.tensor import Tensor, apply, make, raw

_STOP = Op("stop_gradient", lambda x: x.copy())


def stop_gradient(value: Any) -> Any:
    """The same value (or structure of values), through which no gradient passes."""
    return rebuild(
        value, [apply(_STOP, (leaf if isinstance(leaf, Tensor) else np.asarray(leaf),)) for leaf in leaves(value)]
    )


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function with a gradient of its own.

    f returns ``(value, grad)``; ``grad(upstream)`` returns the gradient for f's argument, or a list with one for
    each (None where there is none). When the value is a list or tuple, ``grad`` gets one upstream gradient for
    each entry. ``grad`` may be differentiated again when it is written with f's arguments and numpy functions.
    """

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        answer = f(*args, **kwargs)
        if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
            raise TypeError(
                f"{_name(f)} is decorated with custom_gradient: it must return (value, grad) with a function grad"
            )
        value, grad = answer
        if not any(isinstance(leaf, Tensor) for leaf in leaves(args)):
            return value
        outputs = leaves(value)
        if len(outputs) == 1 and not isinstance(value, (list, tuple, dict)):
            return apply(_operation(f, grad, args), (outputs[0], *args))
        return rebuild(value, _several(f, grad, args, outputs))

    return wrapped


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _operation(f: Callable[..., Any], grad: Callable[..., Any], args: tuple[Any, ...]) -> Op:
    """The operation (value, arguments) -> value whose gradient for the arguments is ``grad``."""
    last: list[Any] = [None, None]

    def rule(i: int, g: Any, out: Any, *_: Any) -> Any:
        if i == 0:
            return None
        if last[0] is not g:  # one call of grad serves all arguments
            last[:] = [g, _gradients(f, grad, g, args)]
        return last[1][i - 1]

    return Op(_name(f), lambda value, *_: value, rule, keeps_inputs=False, view=True)


def _gradients(f: Callable[..., Any], grad: Callable[..., Any], g: Any, args: tuple[Any, ...]) -> list[Any]:
    found = grad(g if isinstance(g, Tensor) else make(g))
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(found) != len(args):
        raise ValueError(f"grad of {_name(f)} returned {len(found)} gradients for {len(args)} arguments")
    for k, (part, arg) in enumerate(zip(found, args, strict=True)):
        shape, wanted = np.shape(raw(part)), np.shape(raw(arg))
        if part is not None and shape != wanted:
            raise ValueError(f"grad of {_name(f)} returned shape {shape} for argument {k} of shape {wanted}")
    if not state.tapes:
        found = [None if part is None else raw(part) for part in found]
    return [
        part if part is None or (hasattr(part, "dtype") and is_floating(part.dtype)) else np.float64(part)
        for part in found
    ]


def _several(f: Callable[..., Any], grad: Callable[..., Any], args: tuple[Any, ...], outputs: list[Any]) -> list[Any]:
    """Several values: laid end to end for the operation, and cut apart again."""
    shapes = [np.shape(raw(o)) for o in outputs]
    sizes = [math.prod(shape) for shape in shapes]
    ends = np.cumsum(sizes).tolist()

    def cut(whole: Any) -> list[Any]:
        return [
            np.reshape(whole[end - size : end], shape) for shape, size, end in zip(shapes, sizes, ends, strict=True)
        ]

    whole = np.concatenate([np.reshape(o, (-1,)) for o in outputs])
    return cut(apply(_operation(f, lambda g: grad(*cut(g)), args), (whole, *args)))
