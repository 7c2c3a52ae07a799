"""Whole matrices of derivatives: jacobian, batch_jacobian, hessian, and Hessian-vector products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.functions import Params, as_argument, parameter_positions
from core.autodiff.structure import is_structure
from core.autodiff.tape import GradientTape
from core.autodiff.tensor import Tensor


def jacobian(f: Callable[..., Any], *args: Any, params: Params = None, **kwargs: Any) -> Any:
    """The derivatives of every entry of ``f(*args)``: shape of f's value followed by the shape of the argument.

    ``jacobian(f)`` gives a function of f's arguments, ``jacobian(f, x)`` the value at x. One differentiated
    argument gives its array, several a list. An argument without influence gives None. Arguments given by keyword
    are passed on to f and not differentiated.
    """

    def at(*values: Any, **more: Any) -> Any:
        inputs, chosen = _inputs(f, values, params)
        tape = GradientTape(persistent=True)
        with tape:
            tape.watch(chosen)
            target = f(*inputs, **kwargs, **more)
        found = tape.jacobian(target, chosen)
        return found[0] if len(found) == 1 else found

    return at(*args) if args else at


def hessian(f: Callable[..., Any], *args: Any, params: Params = None, **kwargs: Any) -> Any:
    """The second derivatives of a scalar ``f(*args)``: shape of the argument twice.

    Called as ``jacobian``. Several differentiated arguments give a list of lists: entry [i][j] differentiates
    first by argument i, then by argument j. Blocks without any dependence are zeros.
    """

    def at(*values: Any, **more: Any) -> Any:
        inputs, chosen = _inputs(f, values, params)
        outer = GradientTape(persistent=True)
        with outer:
            outer.watch(chosen)
            with GradientTape() as inner:
                inner.watch(chosen)
                target = f(*inputs, **kwargs, **more)
            _scalar(target, "hessian", f)
            gradients = inner.gradient(target, chosen, unconnected_gradients="zero")
        blocks = [outer.jacobian(g, chosen, unconnected_gradients="zero") for g in gradients]
        return blocks[0][0] if len(chosen) == 1 else blocks

    return at(*args) if args else at


def hvp(f: Callable[..., Any], *args: Any, params: Params = None, **kwargs: Any) -> Any:
    """Hessian times a vector, without the Hessian (Pearlmutter 1994): costs about two gradients.

    ``hvp(f)(x, v)``, ``hvp(f, x, v)`` or ``hvp(f, x)(v)``: after f's arguments comes the vector, of the shape of the
    differentiated argument; with several of them a list of vectors, and the result is a list.
    """

    def at(*values: Any, **more: Any) -> Any:
        if len(values) < 2:
            raise TypeError("hvp needs f's arguments and then the vector: hvp(f)(x, v)")
        inputs, chosen = _inputs(f, values[:-1], params)
        vectors = list(values[-1]) if len(chosen) > 1 else [values[-1]]
        if len(vectors) != len(chosen):
            raise ValueError(f"hvp: {len(vectors)} vectors for {len(chosen)} differentiated arguments")
        for x, v in zip(chosen, vectors, strict=True):
            if np.shape(v) != x.shape:
                raise ValueError(f"hvp: a vector of shape {np.shape(v)} for an argument of shape {x.shape}")
        with GradientTape() as outer:
            outer.watch(chosen)
            with GradientTape() as inner:
                inner.watch(chosen)
                target = f(*inputs, **kwargs, **more)
            _scalar(target, "hvp", f)
            gradients = inner.gradient(target, chosen, unconnected_gradients="zero")
        found = outer.gradient(gradients, chosen, output_gradients=vectors, unconnected_gradients="zero")
        return found[0] if len(chosen) == 1 else found

    if len(args) == 1:
        return lambda vector, **more: at(*args, vector, **more)
    return at(*args) if args else at


def _inputs(f: Callable[..., Any], values: tuple[Any, ...], params: Params) -> tuple[list[Any], list[Any]]:
    positions = parameter_positions(f, values, params)
    inputs = list(values)
    for i in positions:
        if is_structure(values[i]):
            raise TypeError(f"argument {i} is a collection of arrays: give each array as an argument of its own")
        inputs[i] = as_argument(values[i], i)
    return inputs, [inputs[i] for i in positions]


def _scalar(target: Any, what: str, f: Callable[..., Any]) -> None:
    shape = target.shape if isinstance(target, Tensor) else np.shape(target)
    if shape != ():
        raise ValueError(f"{what} needs a scalar, {getattr(f, '__name__', f)} returned shape {shape}")
