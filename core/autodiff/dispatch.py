"""The way in for numpy's protocols: looks up the rule, reads the options, refuses what has no rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.function_table import FUNCTIONS
from core.autodiff.hooks import hooks
from core.autodiff.rules import indexing, products, shaping
from core.autodiff.tensor import Tensor
from core.autodiff.ufunc_methods import METHODS
from core.autodiff.ufunc_table import OWN_OPTIONS, UFUNCS

_IN_PLACE = {"copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"}


def no_rule(name: str) -> TypeError:
    """The error for a function without a rule: names it and says what to do."""
    return TypeError(
        f"{name} has no gradient rule, so it cannot be applied to a tensor. Either give it one with "
        f"core.autodiff.custom_gradient, or, if no gradient has to pass, apply it to plain numbers: "
        f"stop_gradient(x).numpy()"
    )


def _in_place(name: str) -> TypeError:
    return TypeError(
        f"{name} changes an array in place, which a record cannot follow: build the new value with np.where, "
        f"np.concatenate or np.stack, or write plain numbers: stop_gradient(x).numpy()"
    )


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """numpy's way in for universal functions (``Tensor.__array_ufunc__``)."""
    name: str = ufunc.__name__
    if vars(np).get(name) is ufunc:  # (scipy has some too)
        name = f"numpy.{name}"
    out = options.pop("out", None)
    if out is not None and method != "at":
        if any(isinstance(o, Tensor) for o in out):
            raise TypeError(f"a tensor cannot be changed in place: {name} with out= a tensor")
        raise TypeError(
            f"{name} cannot write a tensor into a plain array (out=, or an in-place update such as "
            f"a += x): the connection to the gradient would be lost. Write a = a + x"
        )
    if method == "at":
        raise _in_place(f"{name}.at")
    call = UFUNCS.get(ufunc)
    if call is None:
        raise no_rule(name)
    if method != "__call__":
        if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None or method not in METHODS:
            raise no_rule(f"{name}.{method}")
        return METHODS[method](ufunc, *inputs, **options)
    if ufunc in OWN_OPTIONS:
        return call(*inputs, **options)
    if options.pop("where", True) is not True:
        raise TypeError(
            f"{name} on tensors does not support where=: what it leaves out would be undefined. "
            f"Write np.where(condition, {ufunc.__name__}(...), other)"
        )
    casting = options.pop("casting", "same_kind")
    dtype = options.pop("dtype", None)
    options.pop("order", None)  # how the result lies in memory does not show
    options.pop("subok", None)
    if options:
        raise TypeError(f"{name} on tensors does not support {', '.join(options)}=")
    if dtype is None or np.dtype(dtype).kind == "b":
        return call(*inputs)
    return call(*(_converted(x, np.dtype(dtype), casting, name) for x in inputs))


def _converted(x: Any, dtype: np.dtype[Any], casting: Any, name: str) -> Any:
    """An operand in the type in which the function is to compute."""
    if not hasattr(x, "dtype"):
        return x
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"{name}: cannot cast an operand from {x.dtype} to {dtype} by the rule {casting!r}")
    return x.astype(dtype)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """numpy's way in for the other functions (``Tensor.__array_function__``)."""
    call = FUNCTIONS.get(function)
    if call is None:
        name = f"{function.__module__}.{function.__name__}"
        raise _in_place(name) if function.__name__ in _IN_PLACE else no_rule(name)
    return call(*args, **kwargs)


def install() -> None:
    """Make tensors use the tables above."""
    hooks.ufuncs = UFUNCS
    hooks.functions = FUNCTIONS
    hooks.call_ufunc = call_ufunc
    hooks.call_function = call_function
    hooks.getitem = indexing.getitem
    hooks.matmul = products.MATMUL
    hooks.astype = shaping.astype
