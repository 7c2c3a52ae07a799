"""A traced formula as straight-line code: forward in a framework's functions, or with its gradient in NumPy."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.autodiff.program.graph import Graph, Node
from core.autodiff.program.trace import Ref, Trace
from core.autodiff.program.trace import TraceError as NotTraceable
from core.autodiff.tape import GradientTape
from core.autodiff.tensor import Tensor, make
from core.export.scripts.plan import ScriptError
from core.export.scripts.words import FUNCTIONS, INFIX, MODULES, NOTES, SPECIAL
from core.problems.functions import FunctionObjective

_TAKEN = re.compile(r"t\d+|g\d+|np|jnp|jax|torch|tf|ops|keras|optax|w|p|params|loss|float|f64")


def coordinate_names(objective: FunctionObjective) -> list[str]:
    """What the coordinates are called in a script: their own names where these are free."""
    names = []
    for i, name in enumerate(objective.component_names):
        usable = name.isidentifier() and not keyword.iskeyword(name) and not _TAKEN.fullmatch(name)
        names.append(name if usable else f"w_{i}")
    return names


def forward_lines(objective: FunctionObjective, framework: str) -> tuple[list[str], list[str]]:
    """(lines that end with 'return LOSS', notes) of the objective over scalars named as ``coordinate_names``."""
    graph, inputs = _traced(objective, gradient=False)
    writer = _Writer(graph, inputs, coordinate_names(objective), framework)
    lines = writer.lines()
    if not isinstance(graph.outputs[0], Ref):
        raise ScriptError("the loss is a constant: no framework differentiates it")
    return [*lines, f"return {writer.text(graph.outputs[0])}"], writer.notes


def gradient_lines(objective: FunctionObjective) -> list[str]:
    """NumPy lines that end with 'return LOSS, np.array([GRADIENT ...])', the reverse pass written out."""
    graph, inputs = _traced(objective, gradient=True)
    writer = _Writer(graph, inputs, coordinate_names(objective), "numpy")
    lines = writer.lines()
    loss, *slopes = (writer.text(output) for output in graph.outputs)
    return [*lines, f"return {loss}, np.array([{', '.join(slopes)}], dtype=np.float64)"]


def _traced(objective: FunctionObjective, gradient: bool) -> tuple[Graph, list[Tensor]]:
    try:
        with Trace() as trace:
            inputs = [make(np.float64(value)) for value in objective.start]
            for tensor in inputs:
                trace.input(tensor)
            results: list[Any]
            if gradient:
                tape = GradientTape()
                with tape:
                    for tensor in inputs:
                        tape.watch(tensor)
                    value = objective.compute(*inputs)
                slopes = tape.gradient(value, inputs) if isinstance(value, Tensor) else [None] * len(inputs)
                results = [value, *(0.0 if slope is None else slope for slope in slopes)]
            else:
                results = [objective.compute(*inputs)]
    except NotTraceable as error:
        raise ScriptError(f"the problem cannot be written out: {error}") from None
    outputs = [Ref(r._id) if trace.knows(r) else (r._value if isinstance(r, Tensor) else r) for r in results]
    return Graph({tensor._id: tensor._value for tensor in inputs}, trace.steps, outputs), inputs


class _Writer:
    """Writes the nodes of a graph of scalars, one a line: t1 = 1 - x."""

    def __init__(self, graph: Graph, inputs: Sequence[Tensor], names: Sequence[str], framework: str) -> None:
        self.graph = graph
        self.framework = framework
        self.names = {tensor._id: name for tensor, name in zip(inputs, names, strict=True)}
        self.notes: list[str] = []

    def lines(self) -> list[str]:
        found: list[str] = []
        for i, node in self.graph.nodes.items():
            if node.op is None:
                continue
            if node.shape:
                raise ScriptError(f"the operation {node.op.name} makes an array; only scalars can be written out")
            self.names[i] = f"t{len(found) + 1}"
            found.append(f"{self.names[i]} = {self._expression(node)}")
        return found

    def text(self, operand: Any) -> str:
        """A name, or a constant in full precision."""
        if isinstance(operand, Ref):
            return self.names[operand.id]
        array = np.asarray(operand)
        if array.ndim:
            raise ScriptError("the formula holds a constant array; only numbers can be written out")
        value = array.item()
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        return f"({value!r})" if isinstance(value, int | float) and value < 0 else repr(value)

    def _expression(self, node: Node) -> str:
        op = node.op
        assert op is not None
        texts = [self.text(operand) for operand in node.operands]
        if op.infix in INFIX and len(texts) == 2:
            return f"{texts[0]} {op.infix} {texts[1]}"
        if op.name == "negative":
            return f"-{texts[0]}"
        if op.name == "power":
            exponent = texts[1] if len(texts) == 2 else self.text(node.params[0])
            return f"{texts[0]} ** {exponent}"
        if op.name == "astype" and self.framework == "numpy":
            return f"np.{np.dtype(node.params[0]).name}({texts[0]})"
        if op.name == "round" and self.framework == "numpy":
            return f"np.round({texts[0]}, {node.params[0]})"
        if op.name in NOTES and self.framework != "numpy" and NOTES[op.name] not in self.notes:
            self.notes.append(NOTES[op.name])
        special = self._special(node)
        if special:
            return special.format(*texts)
        word = FUNCTIONS[self.framework].get(op.name)
        if word is None or node.params:
            raise ScriptError(f"the operation {op.name} has no counterpart in {MODULES[self.framework]}")
        return f"{word}({', '.join(self._arguments(node, texts))})"

    def _special(self, node: Node) -> str | None:
        assert node.op is not None
        words = SPECIAL[self.framework]
        if node.op.name in ("maximum", "minimum") and not isinstance(node.operands[1], Ref):
            return words.get(f"{node.op.name} bound")
        return words.get(node.op.name)

    def _arguments(self, node: Node, texts: list[str]) -> list[str]:
        """PyTorch's functions of several arguments take tensors only, 'where' also numbers."""
        assert node.op is not None
        if self.framework != "torch" or len(texts) == 1:
            return texts
        if node.op.name == "where":
            condition, *branches = zip(texts, node.operands, strict=True)
            whole = [condition[0]]
            for text, operand in branches:
                whole.append(text if isinstance(operand, Ref) else f"torch.tensor({text}, dtype=torch.float64)")
            return whole
        return [
            text if isinstance(operand, Ref) else f"torch.tensor({text}, dtype=torch.float64)"
            for text, operand in zip(texts, node.operands, strict=True)
        ]
