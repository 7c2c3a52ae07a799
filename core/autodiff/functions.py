"""The functional ways to ask for gradients, with the meaning they had in TensorFlow's eager mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.structure import floats, is_structure, leaves, rebuild
from core.autodiff.tape import GradientTape
from core.autodiff.targets import match, targets_of
from core.autodiff.tensor import Tensor, make
from core.autodiff.variable import Variable

Params = Sequence[int] | Sequence[str] | None


def value_and_gradients_function(f: Callable[..., Any], params: Params = None) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that returns ``(f(*args), [gradient for each argument])``.

    ``params`` picks the arguments to differentiate by number or by name (default: all). The returned function
    takes ``dy=``, the gradient arriving at f's result (default ones); other arguments given by keyword are passed
    on to f and not differentiated. Python numbers count as float64; the gradient for an integer array or an
    argument without influence is None.
    """

    chosen: dict[int, list[int]] = {}  # number of arguments -> the numbers of those to differentiate

    def value_and_gradients(*args: Any, dy: Any = None, **kwargs: Any) -> tuple[Any, list[Any]]:
        positions = chosen.get(len(args))
        if positions is None:
            positions = chosen[len(args)] = parameter_positions(f, args, params)
        inputs = list(args)
        for i in positions:
            inputs[i] = as_argument(args[i], i)
        sources = [inputs[i] for i in positions]
        flat = leaves(sources)
        tape = GradientTape()
        with np.errstate(all="ignore"):
            tape._enter()
            try:
                for leaf in flat:
                    if is_floating(leaf.dtype):
                        tape._watch_one(leaf)
                value = f(*inputs, **kwargs)
            finally:
                tape._leave()
            if value is None:
                raise ValueError(f"{_name(f)} returned None: it must return the value to differentiate")
            gradients = tape._gradients(targets_of(value), flat, None if dy is None else match(value, dy), False)
        return value, rebuild(sources, gradients)

    return value_and_gradients


def gradients_function(f: Callable[..., Any], params: Params = None) -> Callable[..., list[Any]]:
    """As value_and_gradients_function, but only the list of gradients."""
    both = value_and_gradients_function(f, params)

    def gradients(*args: Any, dy: Any = None, **kwargs: Any) -> list[Any]:
        return both(*args, dy=dy, **kwargs)[1]

    return gradients


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Any, Variable]]]]:
    """A function that returns ``(f(*args), [(gradient, variable), ...])``.

    The variables are the trainable ones that f read while it ran, in the order of first use.
    """

    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Variable]]]:
        tape = GradientTape()
        with tape:
            value = f(*args, **kwargs)
        if value is None:
            raise ValueError(f"{_name(f)} returned None: it must return the value to differentiate")
        for leaf in leaves(value):
            tape._touch(leaf)  # a variable that is returned as it is was read
        variables = list(tape._variables)
        if not variables:
            raise ValueError(
                f"no trainable variable was read inside the function {_name(f)}: compute with the variables inside "
                f"it (what was computed from them before the call is a constant), and check that they are "
                f"trainable and of a floating type"
            )
        return value, list(zip(tape.gradient(value, variables), variables, strict=True))

    return value_and_gradients


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., list[tuple[Any, Variable]]]:
    """As implicit_value_and_gradients, but only the list of pairs."""
    both = implicit_value_and_gradients(f)

    def gradients(*args: Any, **kwargs: Any) -> list[tuple[Any, Variable]]:
        return both(*args, **kwargs)[1]

    return gradients


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def parameter_positions(f: Callable[..., Any], args: tuple[Any, ...], params: Params) -> list[int]:
    """The numbers of the arguments to differentiate, from numbers or names."""
    if params is None:
        if not args:
            raise ValueError(f"{_name(f)} was called without arguments: there is nothing to differentiate")
        return list(range(len(args)))
    if isinstance(params, str):
        raise TypeError(f"params must be a list of numbers or names: [{params!r}]")
    if all(isinstance(p, str) for p in params):
        names = list(inspect.signature(f).parameters)
        for p in params:
            if p not in names:
                raise ValueError(f"{_name(f)} has no argument {p!r}; it has: {', '.join(names)}")
        positions = [names.index(p) for p in params]  # type: ignore[arg-type]
    elif all(isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in params):
        positions = [int(p) for p in params]
    else:
        raise TypeError(f"params must be all numbers or all names, not {list(params)!r}")
    for p in positions:
        if not 0 <= p < len(args):
            raise ValueError(
                f"params names argument {p}, but {_name(f)} was called with {len(args)} arguments "
                f"(what is differentiated is given by position, not by keyword)"
            )
    return positions


def as_argument(value: Any, position: int) -> Any:
    """An argument as an independent tensor (so that the same array given twice counts as two arguments)."""
    if isinstance(value, np.ndarray):
        if value.ndim and value.dtype.kind in "fiubV":
            return make(value)  # not copied: the gradient is computed before anyone can change it
    elif isinstance(value, Tensor):
        return +value if not isinstance(value, Variable) else value
    elif type(value) is float or type(value) is int:
        return make(np.float64(value))
    elif is_structure(value):
        return rebuild(value, [as_argument(leaf, position) for leaf in leaves(value)])
    try:
        return Tensor(floats(value) if isinstance(value, (list, tuple)) else value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"argument {position} ({value!r}) is not a number or array: name the ones to differentiate with params="
        ) from error
