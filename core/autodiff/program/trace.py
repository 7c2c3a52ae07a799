"""Records every operation of one call, differentiable or not, so that the call can be repeated as a program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.autodiff.operation import Op
from core.autodiff.recording import Recorder, place_of_user
from core.autodiff.tensor import Tensor
from core.autodiff.variable import Variable


class TraceError(RuntimeError):
    """What cannot become a straight-line program: says which step, where, and what to do instead."""


class Ref(NamedTuple):
    """An operand that the program computes: the number of its tensor."""

    id: int


class Step(NamedTuple):
    """One operation of the trace; operands are Refs or constants; ``out`` is the example's value."""

    op: Op
    operands: tuple[Any, ...]
    params: tuple[Any, ...]
    out_id: int
    out: Any


class Trace(Recorder):
    """Active while the function runs once; refuses what depends on values and could not be repeated."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.variables: dict[int, Variable] = {}
        self.inputs: list[int] = []
        self._known: set[int] = set()

    def __enter__(self) -> Trace:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def input(self, tensor: Tensor) -> None:
        """``tensor`` will be given anew at every call."""
        self._known.add(tensor._id)
        self.inputs.append(tensor._id)

    def knows(self, value: Any) -> bool:
        """Whether the program computes ``value`` (otherwise it is a constant)."""
        return isinstance(value, Tensor) and value._id in self._known

    def _record(
        self, op: Op, args: tuple[Any, ...], vals: tuple[Any, ...], params: tuple[Any, ...], out: Tensor
    ) -> None:
        operands: list[Any] = []
        depends = False
        for a, v in zip(args, vals, strict=True):
            if isinstance(a, Variable) and a._id not in self._known:
                self.variables[a._id] = a
                self._known.add(a._id)
            if isinstance(a, Tensor) and a._id in self._known:
                operands.append(Ref(a._id))
                depends = True
            else:
                operands.append(v)
        if not depends:
            return
        if op.dynamic or (op.name == "getitem" and any(getattr(v, "dtype", None) == np.bool_ for v in vals[1:])):
            raise TraceError(
                f"{place_of_user()}: the shape of the result of {op.name} depends on values, which a compiled "
                f"program cannot follow: select with np.where(condition, x, 0), or use the tape"
            )
        self._known.add(out._id)
        self.steps.append(Step(op, tuple(operands), params, out._id, out._value))

    def _follows(self, identity: int) -> bool:
        return False  # what changes from call to call need not be differentiated

    def _value_leaves(self, tensor: Tensor, how: str, decides: bool) -> None:
        if tensor._id in self._known or isinstance(tensor, Variable):
            given = tensor._id in self.inputs and not tensor.shape
            number = "give it as a Python number" if given else "pass the number as an argument"
            raise TraceError(
                f"{place_of_user()}: {how} needs the value of something that changes from call to call, which a "
                f"compiled program cannot follow. Write the choice with np.where, np.maximum or np.clip, {number} "
                f"that is not in params, or use the tape (value_and_gradients_function)"
            )

    def _assigned(self, variable: Tensor, value: Any) -> None:
        raise TraceError(
            f"{place_of_user()}: a variable is assigned inside the function: a compiled program only computes, "
            f"return the new value and assign it outside"
        )
