"""What a trace cannot repeat without saying so: random numbers, state that the function changes itself."""

from __future__ import annotations

import dis
import pickle
import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.autodiff.program.captured import Captured
from core.autodiff.program.trace import Ref, Trace, TraceError


class RandomStates:
    """The states of random generators, by default of the two that everyone shares."""

    def __init__(self, generators: Sequence[Any] = (np.random, random)) -> None:
        self._generators = list(generators)
        self._states = [_state_of(generator) for generator in generators]

    def check(self, name: str) -> None:
        """TraceError when numbers were drawn since (the generators are set back first)."""
        drawn = [
            k
            for k, (generator, state) in enumerate(zip(self._generators, self._states, strict=True))
            if pickle.dumps(_state_of(generator)) != pickle.dumps(state)
        ]
        if not drawn:
            return
        for k in drawn:
            _set_state(self._generators[k], self._states[k])
        raise TraceError(
            f"{name} draws random numbers, which a compiled program would repeat at every call: draw them outside and "
            f"pass them as an argument, or use nn.dropout with its seed as an argument"
        )


class CodeRun:
    """Collects the code of all Python functions that run inside the block."""

    def __init__(self) -> None:
        self.codes: set[Any] = set()

    def __enter__(self) -> CodeRun:
        self._before = sys.getprofile()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _called(self, frame: Any, event: str, _: Any) -> None:
        if event == "call":
            self.codes.add(frame.f_code)


_STORES = {"STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR"}
_CHANGING = {
    "append", "extend", "insert", "pop", "popitem", "popleft", "appendleft", "remove", "discard", "clear", "add",
    "update", "setdefault", "sort", "reverse", "setattr", "__setattr__", "__dict__", "globals", "fill", "put", "at",
}  # fmt: skip


def may_change_state(captured: Captured) -> bool:
    """Whether the code that ran has instructions that could change what it reads at the next call."""
    if captured.random:
        return True
    for code in captured.codes:
        if not _CHANGING.isdisjoint(code.co_names):
            return True
        for step in dis.get_instructions(code):
            if step.opname in _STORES or (step.opname == "STORE_DEREF" and step.argval in code.co_freevars):
                return True
    return False


def _state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random) or generator is random:
        return generator.getstate()
    return generator.get_state()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random) or generator is random:
        generator.setstate(state)
    else:
        generator.set_state(state)


def same_computation(a: Trace, b: Trace, outputs: tuple[Any, Any]) -> bool:
    """Whether two traces of the same call did the same with the same constants."""
    numbers: list[dict[int, int]] = []
    for trace in (a, b):
        order = [*trace.inputs, *trace.variables, *(step.out_id for step in trace.steps)]
        numbers.append({identity: k for k, identity in enumerate(order)})
    first = [(s.op.name, s.operands, s.params) for s in a.steps] + [outputs[0]]
    second = [(s.op.name, s.operands, s.params) for s in b.steps] + [outputs[1]]
    return list(a.variables) == list(b.variables) and _equal(first, second, numbers)


def _equal(x: Any, y: Any, numbers: list[dict[int, int]]) -> bool:
    if isinstance(x, Ref) and isinstance(y, Ref):
        return numbers[0].get(x.id) == numbers[1].get(y.id)
    if type(x) is not type(y):
        return False
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(_equal(p, q, numbers) for p, q in zip(x, y, strict=True))
    if isinstance(x, np.ndarray):
        return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
    if isinstance(x, (bool, int, float, complex, str, bytes, type(None), np.generic, slice)):
        return repr(x) == repr(y)
    return True


def reads_arrays_as_they_are(trace: Trace, outputs: list[Any], captured: Captured) -> bool:
    """Whether arrays from elsewhere are operands only, which the program reads anew at every call.

    Everything else that may have been worked out from their contents (constants of unknown origin, decisions, the
    number of turns of a loop) would be left as it was.
    """
    for code in captured.codes:
        for step in dis.get_instructions(code):
            if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                return False
    literals = {repr(c) for code in captured.codes for c in code.co_consts}
    literals |= {repr(place.value) for place in captured.places if isinstance(place.value, (int, float, np.generic))}
    arrays = [array for _, array in captured.arrays]

    parts = [(s.operands, False) for s in trace.steps] + [(s.params, True) for s in trace.steps] + [(outputs, False)]
    return all(_known(value, param, literals, arrays) for value, param in parts)


def _known(value: Any, param: bool, literals: set[str], arrays: list[Any]) -> bool:
    """Whether a constant of a trace stands in the code as it is, or is an array that is read anew."""
    if isinstance(value, Ref):
        return True
    if isinstance(value, (list, tuple)):
        return all(_known(part, param, literals, arrays) for part in value)
    if isinstance(value, np.ndarray):
        return any(value is array or value.base is array for array in arrays)
    if isinstance(value, (int, float, complex, np.generic)) and not isinstance(value, bool):
        return (param and isinstance(value, int)) or repr(value) in literals
    return True
