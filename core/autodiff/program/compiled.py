"""compile_gradient: value and gradients of a function as a straight-line program."""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from core.autodiff.functions import Params, parameter_positions
from core.autodiff.program.build import Program, build
from core.autodiff.program.captured import Captured
from core.autodiff.state import state
from core.autodiff.structure import floats, is_structure, leaves, outline, rebuild
from core.autodiff.tensor import Tensor

MOST_PROGRAMS = 32  # shapes and types remembered for one function
MOST_STATES = 8  # and for each of them, states of what the function reads elsewhere

log = logging.getLogger("stepscope.autodiff")


def compile_gradient(f: Callable[..., Any], *example_arguments: Any, params: Params = None) -> Callable[..., Any]:
    """A function that returns ``(f(*args), [gradient for each argument])`` without the cost of a tape.

    f runs once with ``example_arguments``; what it computed is written as straight-line numpy code, together with
    the reverse pass. Later calls repeat that with other values, and give the same bits as
    ``value_and_gradients_function``, as plain numpy arrays and scalars. Other shapes, dtypes or memory layouts
    are traced anew (the last 32 are kept).

    ``params`` picks the arguments to differentiate by number or name (default: all). Arrays among the other
    arguments (a batch of data) may change from call to call; numbers and everything else among them are
    constants of the program, another value is traced anew. Arguments and results may be lists, tuples or
    dictionaries of arrays; the gradients then have the same structure. Variables that f reads are read anew at every
    call; when anything else has changed that f reads besides its arguments (names, attributes, arrays in place), f is
    traced anew. Where f may change what it reads it runs twice, to see whether it computes the same; the effects of
    the second run on what it reads are undone.

    Raises TraceError, with the line and a remedy, when f decides by a value (``if x > 0``), takes a value out
    (``float(x)``, ``x.numpy()``), makes something whose shape depends on values, draws random numbers, or computes
    something else at every call because of what it changes itself.

    ``program_source(function)`` gives the text of the program.
    """
    if not example_arguments:
        raise ValueError("compile_gradient needs example arguments, such as compile_gradient(f, np.zeros(2))")
    compiler = _Compiler(f, example_arguments, params)
    first = compiler.begin(example_arguments)
    return compiler.call if first is None else first


def program_source(function: Callable[..., Any]) -> str:
    """The text of the (first) program behind a function made by compile_gradient."""
    compiler = getattr(function, "__self__", None)
    if isinstance(compiler, _Compiler):
        return next(iter(compiler._others.values()))[0].source
    return function.__doc__ or ""


def function_behind(program: Any) -> tuple[Callable[..., Any], list[int]] | None:
    """The function a program was compiled from and the numbers of its differentiated arguments; None: no program."""
    call = getattr(program, "__globals__", {}).get("otherwise", program)
    compiler = getattr(call, "__self__", None)
    return (compiler._f, compiler._positions) if isinstance(compiler, _Compiler) else None


class _Compiler:
    """The programs made for one function so far, by what their arguments look like.

    The first program is the function the user holds; it is referred to weakly, so that no cycle comes about.
    """

    def __init__(self, f: Callable[..., Any], example: tuple[Any, ...], params: Params) -> None:
        self._f = f
        self._positions = parameter_positions(f, example, params)
        self._number = len(example)
        self._others: OrderedDict[Any, list[Program]] = OrderedDict()
        self._first_key: Any = None
        self._first_captured: Captured | None = None
        self._first: Callable[[], Any] = lambda: None
        self._warned = False

    def begin(self, example: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Make the program for the example; returns it when it can be called as it is (each argument one array)."""
        found = [_leaves(arg, k in self._positions, k) for k, arg in enumerate(example)]
        flat = all(not is_structure(a) and isinstance(leaf[0], _Array) for a, leaf in zip(example, found, strict=True))
        program = self._build(example, found, self.call if flat else None)
        if not flat:
            self._others[_key(example, found)] = [program]
            return None
        self._first_key, self._first = _key(example, found), weakref.ref(program.run)
        self._first_captured = program.captured
        return program.run

    def _build(self, args: tuple[Any, ...], found: list[list[Any]], otherwise: Callable[..., Any] | None) -> Program:
        """Trace f for arguments like these."""
        arrays = [leaf.value for part in found for leaf in part if isinstance(leaf, _Array)]
        numbers = [k for k, part in enumerate(found) for leaf in part if isinstance(leaf, _Array)]
        wanted = [n for p in self._positions for n, k in enumerate(numbers) if k == p]

        def with_tensors(tensors: list[Any]) -> tuple[Any, ...]:
            rest = iter(tensors)
            out = []
            for arg, part in zip(args, found, strict=True):
                values = [next(rest) if isinstance(leaf, _Array) else leaf for leaf in part]
                out.append(rebuild(arg, values) if is_structure(arg) else values[0])
            return tuple(out)

        constants = [leaf for part in found for leaf in part if not isinstance(leaf, _Array)]
        return build(self._f, with_tensors, arrays, wanted, otherwise, constants)

    def _program(self, args: tuple[Any, ...], found: list[list[Any]]) -> Callable[..., Any]:
        key = _key(args, found)
        if key == self._first_key and self._first_captured is not None and self._first_captured.unchanged():
            first: Callable[..., Any] | None = self._first()
            if first is not None:
                return first
        known = self._others.get(key, [])
        for program in known:
            if program.captured.unchanged():
                self._others.move_to_end(key)
                return program.run
        program = self._build(args, found, None)
        self._others[key] = [*known[-(MOST_STATES - 1) :], program]
        self._others.move_to_end(key)
        if len(self._others) > MOST_PROGRAMS:
            self._others.popitem(last=False)
        if len(known) == MOST_STATES - 1 and not self._warned:
            self._warned = True
            names = ", ".join(dict.fromkeys(place.name for place in known[-1].captured.changed()))
            log.warning(
                "a compiled program is made anew again and again because %s changes: pass it as argument", names
            )
        return program.run

    def call(self, *args: Any) -> Any:
        """Value and gradients for any arguments: finds the program for them, or makes it."""
        if len(args) != self._number:
            raise TypeError(f"this program was compiled for {self._number} arguments, {len(args)} were given")
        found = [_leaves(arg, k in self._positions, k) for k, arg in enumerate(args)]
        run = self._program(args, found)
        value, gradients = run(*(leaf.value for part in found for leaf in part if isinstance(leaf, _Array)))
        if not any(is_structure(args[p]) for p in self._positions):
            return value, gradients
        rest = iter(gradients)
        return value, [
            rebuild(args[p], [next(rest) for _ in found[p]]) if is_structure(args[p]) else next(rest)
            for p in self._positions
        ]


class _Array:
    """A leaf that may change from call to call."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _leaves(arg: Any, differentiated: bool, position: int) -> list[Any]:
    """The leaves of an argument: _Array for what may change, anything else as it is."""
    if is_structure(arg):
        return [_leaf(leaf, differentiated, position) for leaf in leaves(arg)]
    return [_leaf(arg, differentiated, position)]


def _leaf(given: Any, differentiated: bool, position: int) -> Any:
    value: Any = given
    if isinstance(value, Tensor):
        if any(tape._follows(value._id) for tape in state.tapes):
            raise TypeError(
                f"argument {position} is watched by a tape, but a compiled program returns plain numbers and cannot "
                f"be differentiated again: use the function itself inside the tape"
            )
        value._leaves("a compiled program")  # (in a trace: what changes from call to call would be left as it is)
        value = value._value
    if differentiated and not isinstance(value, (np.ndarray, np.generic)):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _Array(np.float64(value))
        try:
            value = floats(value)
        except ValueError as error:
            raise TypeError(f"argument {position} is no array: name the ones to differentiate with params=") from error
        if value.dtype.kind not in "fiubV":
            raise TypeError(f"argument {position} is no array of numbers: name the ones to differentiate with params=")
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "fiubcV":
        return value
    array = np.asarray(value)  # without subclass; and of the dtype object that programs compare with
    native = np.dtype(array.dtype.type)
    if array.dtype is not native:
        array = array.astype(native)
    return _Array(array if array.ndim else array[()])


def _key(args: tuple[Any, ...], found: list[list[Any]]) -> Any:
    """Equal keys can use the same program."""
    key: list[Any] = [outline(arg) if is_structure(arg) else None for arg in args]
    for part in found:
        for leaf in part:
            if isinstance(leaf, _Array):
                v = leaf.value
                key.append((v.shape, v.dtype, v.strides if v.shape else ()))
            else:
                key.append(_constant_key(leaf))
    return tuple(key)


def _constant_key(value: Any) -> Any:
    """Equal for constants that give the same program (0.0 and -0.0 do not; what cannot be compared is itself)."""
    if isinstance(value, (list, tuple)):
        return (type(value), tuple(_constant_key(part) for part in value))
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))  # (the program keeps the object, so that its number stays its own)
    return (type(value), value)
