"""stop_gradient, and custom_gradient: rules of one's own."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16, is_floating
from core.autodiff.operation import Op
from core.autodiff.recording import VariablesRead
from core.autodiff.state import state
from core.autodiff.structure import entries, leaves, rebuild
from core.autodiff.tensor import Tensor, apply, make, raw

_NUMERIC = (Tensor, np.ndarray, np.generic, int, float)
_STOP = Op("stop_gradient", lambda x: x.copy())


def stop_gradient(value: Any) -> Any:
    """The same value (or structure of values), through which no gradient passes."""
    return rebuild(
        value, [apply(_STOP, (leaf if isinstance(leaf, Tensor) else np.asarray(leaf),)) for leaf in leaves(value)]
    )


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function with a gradient of its own.

    f returns ``(value, grad)``; ``grad(upstream)`` returns the gradient for f's argument, or a list with one for
    each (None where there is none); arguments may be lists, tuples or dictionaries, and their gradients as well.
    When the value is a list, tuple or dictionary, ``grad`` gets one upstream gradient for each entry. Arguments
    given by keyword are passed on and not differentiated. When f reads trainable variables that are not among its
    arguments, ``grad`` must take ``variables=`` (their list) and return ``(gradients for the arguments, [gradient
    for each variable])``. ``grad`` may be differentiated again when it is written with f's arguments and numpy
    functions.
    """

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        inputs = leaves(list(args))
        with VariablesRead() as read:
            answer = f(*args, **kwargs)
        if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
            raise TypeError(
                f"{_name(f)} is decorated with custom_gradient: it must return (value, grad) with a function grad"
            )
        value, grad = answer
        variables = [v for v in read.variables if not any(v is one for one in inputs)]
        if variables and not _takes_variables(grad):
            raise TypeError(
                f"{_name(f)} reads {', '.join(repr(v.name) for v in variables)}, so its grad must take variables= and "
                f"return (gradients for the arguments, [gradient for each variable]); or make them arguments of "
                f"{_name(f)}, or read them through stop_gradient"
            )
        if not variables and not any(isinstance(leaf, Tensor) for leaf in inputs):
            return value
        rule = _Rule(_name(f), grad, args, inputs, variables)
        outputs = [leaf if isinstance(leaf, Tensor) else np.array(leaf)[()] for leaf in leaves(value)]
        if len(outputs) == 1 and not isinstance(value, (list, tuple, dict)):
            op = Op(rule.name, lambda value, *_: value, rule.behind_value, keeps_inputs=False, view=True)
            return apply(op, (outputs[0], *inputs, *variables))
        return rebuild(value, _several(rule, outputs))

    return wrapped


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _takes_variables(grad: Callable[..., Any]) -> bool:
    parameters = inspect.signature(grad).parameters
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class _Rule:
    """Calls ``grad`` once for all inputs of one reverse pass, and brings what it returns into order."""

    def __init__(
        self, name: str, grad: Callable[..., Any], args: tuple[Any, ...], inputs: list[Any], variables: list[Any]
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.variables = variables
        self._grad = grad
        self._args = args
        self._last: tuple[Any, int, list[Any]] = (None, 0, [])

    def behind_value(self, i: int, g: Any, out: Any, *_: Any) -> Any:
        """The rule of an operation (value, inputs) -> value."""
        return None if i == 0 else self.of_input(i - 1, g, [g])

    def of_input(self, i: int, g: Any, upstream: list[Any]) -> Any:
        """The gradient for input i; ``g`` is what arrived, ``upstream`` the same for each output."""
        if self._last[0] is not g or self._last[1] != state.reverse_pass:
            self._last = (g, state.reverse_pass, self._gradients(upstream))
        return self._last[2][i]

    def _gradients(self, upstream: list[Any]) -> list[Any]:
        given = [g if isinstance(g, Tensor) else make(g) for g in upstream]
        if self.variables:
            answer = self._grad(*given, variables=list(self.variables))
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise TypeError(
                    f"grad of {self.name} was given variables=, it must return (gradients for the arguments, "
                    f"[gradient for each variable])"
                )
            found, of_variables = answer
            of_variables = list(of_variables) if isinstance(of_variables, (list, tuple)) else [of_variables]
            if len(of_variables) != len(self.variables):
                raise ValueError(
                    f"grad of {self.name} returned {len(of_variables)} gradients for {len(self.variables)} variables"
                )
        else:
            found, of_variables = self._grad(*given), []
        parts = self._in_order(found) + of_variables
        for k, (part, given_for) in enumerate(zip(parts, [*self.inputs, *self.variables], strict=True)):
            if part is not None and np.shape(raw(part)) != np.shape(raw(given_for)):
                raise ValueError(
                    f"grad of {self.name} returned shape {np.shape(raw(part))} for argument {k} of shape "
                    f"{np.shape(raw(given_for))}"
                )
        if not state.tapes:
            parts = [None if part is None else raw(part) for part in parts]
        return [
            part if part is None or (hasattr(part, "dtype") and is_floating(part.dtype)) else np.float64(part)
            for part in parts
        ]

    def _in_order(self, found: Any) -> list[Any]:
        """One gradient for each input, from the structures that grad returns."""
        n = len(self._args)
        parts = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(parts) != n:
            if len(parts) == len(self.inputs):
                return parts
            numeric = [k for k, x in enumerate(self.inputs) if isinstance(x, _NUMERIC)]
            if len(parts) == len(numeric):  # of a method: self, and what else is no number, needs none
                given = dict(zip(numeric, parts, strict=True))
                return [given.get(k) for k in range(len(self.inputs))]
            if n != 1:
                raise ValueError(f"grad of {self.name} returned {len(parts)} gradients for {n} arguments")
            parts = [found]
        flat = [leaf for arg, part in zip(self._args, parts, strict=True) for leaf in _like(arg, part)]
        if len(flat) != len(self.inputs):
            raise ValueError(f"grad of {self.name} returned {len(flat)} gradients for {len(self.inputs)} arguments")
        return flat


def _like(arg: Any, part: Any) -> list[Any]:
    """The gradients for the leaves of one argument; None stands for all of them, dictionaries go by key."""
    if part is None:
        return [None] * len(leaves(arg))
    if isinstance(arg, dict) and isinstance(part, dict):
        return [leaf for key, value in entries(arg) for leaf in _like(value, part.get(key))]
    if isinstance(arg, (list, tuple)) and isinstance(part, (list, tuple)) and len(arg) == len(part):
        return [leaf for one, own in zip(arg, part, strict=True) for leaf in _like(one, own)]
    return leaves(part)


def _several(rule: _Rule, outputs: list[Any]) -> list[Any]:
    """Several values: each hangs on one operation, where their gradients meet end to end in a flat array."""
    shapes = [np.shape(raw(o)) for o in outputs]
    sizes = [math.prod(shape) for shape in shapes]
    ends = np.cumsum(sizes).tolist()
    total = sum(sizes)
    dtypes = [raw(o).dtype for o in outputs if is_floating(raw(o).dtype)] or [np.dtype(np.float64)]
    dtype = BFLOAT16 if all(d == BFLOAT16 for d in dtypes) else np.result_type(*dtypes)

    def meet(i: int, g: Any, out: Any, *_: Any) -> Any:
        upstream = [
            np.reshape(g[end - size : end], shape).astype(raw(o).dtype if is_floating(raw(o).dtype) else dtype)
            for size, end, shape, o in zip(sizes, ends, shapes, outputs, strict=True)
        ]
        return rule.of_input(i, g, upstream)

    meeting = Op(rule.name, lambda *_: np.zeros(total, dtype), meet, keeps_inputs=False)
    hub = apply(meeting, (*rule.inputs, *rule.variables))

    def hang(output: Any, size: int, end: int) -> Any:
        def at_hub(g: Any, *_: Any) -> Any:
            before, behind = np.zeros(end - size, dtype), np.zeros(total - end, dtype)
            return np.concatenate([before, np.reshape(g, (-1,)).astype(dtype), behind])

        op = Op(rule.name, lambda value, _: value, (None, at_hub), keeps_inputs=False, view=True)
        return apply(op, (output, hub))

    return [hang(o, size, end) for o, size, end in zip(outputs, sizes, ends, strict=True)]
