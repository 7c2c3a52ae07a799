"""What a call of a function read besides its arguments: global names, closures, attributes of the code it ran."""

from __future__ import annotations

import functools
import random
import sys
import types
from collections import deque
from collections.abc import Iterator, Sequence
from io import IOBase
from typing import Any

import numpy as np

from core.autodiff.program.places import TESTS, Place, content_of, items_of
from core.autodiff.state import state
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable
from core.autodiff.watching import can_change

_OWN = __name__.rpartition(".program")[0]
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "ml_dtypes", "scipy"} - {"__main__"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
_RANDOM = (np.random.Generator, np.random.RandomState, random.Random)
_CODE = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)
_SWITCHING = {"GradientTape", "implicit_gradients", "implicit_value_and_gradients", "trainable"}


class Captured:
    """All places that a call of ``f``, which ran the code ``executed``, may have read, except what libraries read.

    Followed are global and closure variables, default arguments, lists, dictionaries, and those attributes of
    modules, classes and objects whose names occur in that code. Values fetched in other ways (files, clocks,
    getattr with a computed name) cannot be seen. ``constants`` are arguments that the program does not get anew,
    such as an object with settings, which can change as well.
    """

    def __init__(self, f: Any, executed: set[types.CodeType], constants: Sequence[Any] = ()) -> None:
        self._executed = executed
        self._constants = tuple(constants)  # kept, so that their numbers as objects stay theirs
        self.places: list[Place] = []
        self.arrays: list[tuple[str, Any]] = []
        self.codes: list[types.CodeType] = []
        self.random: list[Any] = []
        self.iterators: list[str] = []  # the names of what gives something else every time it is asked
        self._variables: list[tuple[str, Variable]] = []
        self._seen: dict[int, Any] = {}  # holds what was seen, so that numbers of objects stay theirs
        self._read_already: set[tuple[str, int, Any]] = set()
        self._names: set[str] = set()
        self._objects: list[tuple[str, Any, set[str]]] = []
        self._functions: list[Any] = []
        self._explore(f, getattr(f, "__name__", "f"))
        for position, constant in enumerate(constants):
            self._explore(constant, f"constant {position} among the arguments")
        self._find_all()
        if self._names & _SWITCHING:
            for name, variable in self._variables:
                self._add("attribute", variable, "_trainable", variable.trainable, f"{name}.trainable")
        if any(code.co_name == "batch_norm" for code in executed):
            self._add("attribute", state, "statistics_held", state.statistics_held, "statistics_held_constant")
        self._seen = {}

    # ---- asking -------------------------------------------------------------------------------------------
    def tests(self, env: dict[str, Any]) -> list[str]:
        """Expressions of which one is true when something has changed; ``env`` gets the names they use."""
        out = []
        for k, place in enumerate(self.places):
            env[f"place{k}"], env[f"old{k}"] = place.container, place.value
            out.append(place.test(f"place{k}", f"old{k}"))
        if out:
            env.update(TESTS)
        return out

    @functools.cached_property
    def _unchanged(self) -> Any:
        env: dict[str, Any] = {}
        tests = self.tests(env)
        exec(f"def unchanged():\n    return not ({' or '.join(tests) or 'False'})\n", env)
        return env.pop("unchanged")

    def unchanged(self) -> bool:
        """Whether everything is as it was."""
        return bool(self._unchanged())

    def changed(self) -> list[Place]:
        """The places where something has changed."""
        return [place for place in self.places if place.changed()]

    def watch_contents(self) -> None:
        """From now on the contents of the arrays count as well, not only which arrays they are."""
        for name, array in self.arrays:
            self._add("content", array, None, content_of(array), name)

    def without(self, places: Sequence[Place]) -> None:
        """Leave these places out."""
        gone = {place.identity for place in places}
        self.places = [place for place in self.places if place.identity not in gone]

    # ---- finding ------------------------------------------------------------------------------------------
    def _add(self, kind: str, container: Any, key: Any, value: Any, name: str) -> None:
        self.places.append(Place(kind, container, key, value, name))

    def _find_all(self) -> None:
        """Names found in functions tell which attributes to look at, which may be functions again."""
        known = -1
        while known != len(self._names) + len(self._objects) + len(self._functions):
            known = len(self._names) + len(self._objects) + len(self._functions)
            while self._functions:
                self._scan(self._functions.pop())
                known = -1
            for name, thing, done in list(self._objects):
                new = self._names - done
                done |= new
                self._look_at(name, thing, new)

    def _explore(self, value: Any, name: str) -> None:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            if isinstance(value, Variable):
                self._variables.append((name, value))
        elif isinstance(value, np.ndarray):
            if value.dtype.kind != "O" and can_change(value):
                self.arrays.append((name, value))
        elif isinstance(value, random.SystemRandom) or (isinstance(value, Iterator) and not isinstance(value, IOBase)):
            self.iterators.append(name)
        elif isinstance(value, _RANDOM):
            self.random.append(value)
        elif isinstance(value, (list, dict, set, deque, types.MappingProxyType)):
            self._add("items", value, None, items_of(value), name)
            for key, entry in items_of(value).items() if hasattr(value, "items") else enumerate(value):
                self._explore(entry, f"{name}[{key!r}]")
        elif isinstance(value, (tuple, frozenset)):
            for key, entry in enumerate(value):
                self._explore(entry, f"{name}[{key}]")
        elif isinstance(value, types.FunctionType):
            self._functions.append(value)
        elif isinstance(value, types.MethodType):
            self._explore(value.__self__, getattr(type(value.__self__), "__name__", name))
            self._explore(value.__func__, name)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._explore(part, name)
        elif isinstance(value, (staticmethod, classmethod)):
            self._explore(value.__func__, name)
        elif isinstance(value, property):
            self._explore(value.fget, name)
        elif hasattr(value, "__wrapped__"):
            self._explore(value.__wrapped__, name)
        elif not _of_library(value) or (hasattr(value, "__dict__") and not isinstance(value, _CODE)):
            self._objects.append((name, value, set()))

    def _scan(self, function: Any) -> None:
        """Free variables, global names and default arguments of a function that ran."""
        if function.__code__ not in self._executed:
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self._read("cell", cell, None, value, name)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._explore(value, function.__name__)
        if _of_library(function) or function.__globals__.get("__name__", "").startswith(_OWN):
            return
        for code in _nested(function.__code__):
            self.codes.append(code)
            self._names.update(code.co_names)
            for name in code.co_names:
                if name in function.__globals__:
                    self._read("entry", function.__globals__, name, function.__globals__[name], name)

    def _look_at(self, name: str, thing: Any, names: set[str]) -> None:
        """The attributes of an object, module or class that have one of these names."""
        own = getattr(thing, "__dict__", {})
        for key in names & set(own):
            self._read("entry", own, key, own[key], f"{name}.{key}")
        if isinstance(thing, types.ModuleType):
            return
        for kind in thing.__mro__ if isinstance(thing, type) else type(thing).__mro__:
            if kind is object or _of_library(kind):
                continue
            for key, value in list(vars(kind).items()):
                if isinstance(value, types.FunctionType) and key.startswith("__"):
                    self._explore(value, f"{name}.{key}")
                if key not in names or key in own:
                    continue
                if hasattr(thing, "__dict__") and not isinstance(thing, type) and not isinstance(value, property):
                    self._read("entry", own, key, None, f"{name}.{key}")  # (it would hide that of the class)
                if isinstance(value, types.MemberDescriptorType):
                    if not isinstance(thing, type) and hasattr(thing, key):
                        self._read("attribute", thing, key, getattr(thing, key), f"{name}.{key}")
                elif isinstance(value, (types.FunctionType, property, staticmethod, classmethod)):
                    self._explore(value, f"{name}.{key}")
                else:
                    self._read("entry", vars(kind), key, value, f"{name}.{key}")

    def _read(self, kind: str, container: Any, key: Any, value: Any, name: str) -> None:
        """Something is read here: remember the place, and look into it."""
        if isinstance(value, _CODE) and _of_library(value):
            return
        if (kind, id(container), key) not in self._read_already:
            self._read_already.add((kind, id(container), key))
            self._add(kind, container, key, value, name)
        self._explore(value, name)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _of_library(value: Any) -> bool:
    """Whether a module, function, class or object comes with Python, numpy or an installed package, or is ours."""
    if isinstance(value, types.ModuleType):
        module, path = value.__name__, getattr(value, "__file__", None) or ""
    else:
        kind = value if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) else type(value)
        module = getattr(kind, "__module__", None) or ""
        path = getattr(sys.modules.get(module), "__file__", None) or ""
    if module == _OWN or module.startswith(_OWN + "."):
        return True
    return module.partition(".")[0] in _LIBRARIES or "site-packages" in path or "dist-packages" in path
