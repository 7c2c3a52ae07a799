"""Traces one call and turns it into a Python function that checks its arguments and computes value and gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff.dtypes import is_floating
from core.autodiff.program.captured import Captured
from core.autodiff.program.emit import Writer
from core.autodiff.program.graph import Graph
from core.autodiff.program.hidden import (
    CodeRun,
    RandomStates,
    may_change_state,
    reads_arrays_as_they_are,
    same_computation,
)
from core.autodiff.program.scalars import FLOAT64
from core.autodiff.program.trace import Ref, Trace, TraceError
from core.autodiff.structure import leaves, rebuild
from core.autodiff.tape import GradientTape
from core.autodiff.tensor import Tensor, make


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled call: ``run(*arrays)`` -> (value, [gradient or None, ...]), its text, and what f read elsewhere."""

    run: Callable[..., Any]
    source: str
    operations: int
    captured: Captured


@dataclass(frozen=True, slots=True)
class _Traced:
    """One call of f, recorded."""

    trace: Trace
    inputs: list[Tensor]
    value: Any
    gradients: list[Any]

    def outputs(self) -> list[Any]:
        """The parts of the value, then the gradients: Refs for what the program computes, plain values for the rest."""
        return [
            Ref(r._id) if self.trace.knows(r) else (r._value if isinstance(r, Tensor) else r)
            for r in (*leaves(self.value), *self.gradients)
        ]


def build(
    f: Callable[..., Any],
    call: Callable[[list[Any]], tuple[Any, ...]],
    arrays: Sequence[Any],
    differentiated: Sequence[int],
    otherwise: Callable[..., Any] | None,
    constants: Sequence[Any] = (),
) -> Program:
    """The program for arrays like these.

    ``call`` puts the list of arrays (tensors) back into f's arguments, beside the ``constants``; ``differentiated``
    numbers the arrays that get a gradient; ``otherwise(*arrays)`` is what the program does when it is called with
    other arrays, or when something that f reads elsewhere has changed (None: the caller has seen to both).
    """
    name = getattr(f, "__name__", type(f).__name__)
    shared = RandomStates()
    with CodeRun() as run:
        traced = _trace(f, name, call, arrays, differentiated)
    shared.check(name)
    captured = Captured(f, run.codes, constants)
    if captured.iterators:
        raise TraceError(
            f"{name} reads from {', '.join(captured.iterators)}, which gives something else at every call and which a "
            f"compiled program cannot follow: take the value outside and pass it as an argument"
        )
    if may_change_state(captured):
        _follow_changes(captured, traced, name, lambda: _trace(f, name, call, arrays, differentiated))
    if not reads_arrays_as_they_are(traced.trace, traced.outputs(), captured):
        captured.watch_contents()
    return _write(traced, captured, otherwise)


def _follow_changes(captured: Captured, traced: _Traced, name: str, trace: Callable[[], _Traced]) -> None:
    """A second call tells whether the function changes what it computes; what only counts calls is let go."""
    own = RandomStates(captured.random)
    again = trace()
    own.check(name)
    moving = captured.changed()
    for place in moving:
        place.put_back()
    if not same_computation(traced.trace, again.trace, (traced.outputs(), again.outputs())):
        names = ", ".join(dict.fromkeys(place.name for place in moving)) or "something"
        raise TraceError(
            f"{name} computes something else at every call, because it changes {names}, which a compiled program "
            f"cannot follow: pass it as an argument, or use the tape (value_and_gradients_function)"
        )
    captured.without(moving)


def _trace(
    f: Callable[..., Any],
    name: str,
    call: Callable[[list[Any]], tuple[Any, ...]],
    arrays: Sequence[Any],
    differentiated: Sequence[int],
) -> _Traced:
    trace = Trace()
    with trace:
        inputs = [make(a if a.ndim else a[()]) for a in arrays]
        for tensor in inputs:
            trace.input(tensor)
        tape = GradientTape()
        tape._copies = False  # arrays from elsewhere are read anew by the program
        with tape:
            for k in differentiated:
                if is_floating(inputs[k].dtype):
                    tape.watch(inputs[k])
            value = f(*call(list(inputs)))
        if value is None:
            raise ValueError(f"{name} returned None: it must return the value to differentiate")
        gradients = tape.gradient(value, [inputs[k] for k in differentiated])
    return _Traced(trace, inputs, value, gradients)


def _write(traced: _Traced, captured: Captured, otherwise: Callable[..., Any] | None) -> Program:
    trace, inputs, outputs = traced.trace, traced.inputs, traced.outputs()
    given = {t._id: t._value for t in inputs} | {i: v._value for i, v in trace.variables.items()}
    graph = Graph(given, trace.steps, outputs)
    names = {t._id: f"x{k}" for k, t in enumerate(inputs)}
    names |= {i: f"w{k}" for k, i in enumerate(trace.variables)}
    writer = Writer(graph, names)
    for k, (i, variable) in enumerate(trace.variables.items()):
        writer.env[f"variable{k}"] = variable
        writer.lines.append(f"w{k} = variable{k}._value")
        del i
    layout_matters = {t._id: not writer.numbers.take_apart(t._id, f"x{k}") for k, t in enumerate(inputs)}
    writer.write()
    texts = _outputs(writer, graph)
    guards = [] if otherwise is None else _guards(writer, inputs, layout_matters) + captured.tests(writer.env)
    arguments = ", ".join(f"x{k}" for k in range(len(inputs)))
    value = texts[: len(texts) - len(traced.gradients)]
    gradients = texts[len(value) :]
    if isinstance(traced.value, (list, tuple, dict)):
        writer.env["in_structure"] = functools.partial(rebuild, rebuild(traced.value, [None] * len(value)))
        value = [f"in_structure([{', '.join(value)}])"]
    body = [*writer.lines, f"return {value[0]}, [{', '.join(gradients)}]"]
    source = [f"def program({arguments}):"]
    source += [f"    if {' or '.join(guards)}:", f"        return otherwise({arguments})"] if guards else []
    if writer.numpy_arithmetic:
        writer.env["errstate"] = np.errstate
        source.append("    with errstate(all='ignore'):")
        source += [f"        {line}" for line in body]
    else:
        source += [f"    {line}" for line in body]
    text = "\n".join(source) + "\n"
    space = {**writer.env, "otherwise": otherwise}
    exec(compile(text, "<compiled gradient>", "exec"), space)
    function = space.pop("program")  # its globals must not hold the function itself
    function.__doc__ = text  # for people, and program_source
    return Program(function, text, sum(node.op is not None for node in graph.nodes.values()), captured)


def _guards(writer: Writer, inputs: list[Tensor], layout_matters: dict[int, bool]) -> list[str]:
    """The checks that the arrays are what the program was written for."""
    guards = []
    writer.env["ndarray"] = np.ndarray
    for k, tensor in enumerate(inputs):
        value = tensor._value
        if not value.shape:
            kind = f"type(x{k}) is not {writer.constant(type(value))}"
            guards.append(f"type(x{k}) is not float and {kind}" if value.dtype == FLOAT64 else kind)
            continue
        guards.append(
            f"type(x{k}) is not ndarray or x{k}.shape != {value.shape!r} or "
            f"x{k}.dtype is not {writer.constant(value.dtype)}"
        )
        if layout_matters[tensor._id]:
            guards.append(f"x{k}.strides != {value.strides!r}")
    return guards


def _outputs(writer: Writer, graph: Graph) -> list[str]:
    """The texts of the results; no two of them, and none with an input, share memory."""
    texts = []
    taken: set[int] = set()
    for o in graph.outputs:
        if not isinstance(o, Ref):
            name = writer.constant(o)
            texts.append(f"{name}.copy()" if isinstance(o, np.ndarray) else name)
            continue
        node = graph.nodes[o.id]
        group = writer.group(o.id)
        if o.id in writer.numbers.plain:
            texts.append(writer.numbers.for_numpy(o.id))
            continue
        if o.id in writer.numbers.vectors and o.id not in writer.names:
            writer.numbers.array(o.id)
        name = writer.names[o.id]
        shared = group in taken or graph.nodes[group].op is None or (node.op is not None and node.op.view)
        texts.append(f"{name}.copy()" if shared and node.shape else name)
        taken.add(group)
    return texts
