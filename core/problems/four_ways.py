"""The ways to ask for gradients, on a problem of one's own: the code, what it returns, and why a None is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.autodiff import (
    GradientTape,
    Variable,
    gradients_function,
    hessian,
    implicit_gradients,
    implicit_value_and_gradients,
    why_none,
)
from core.autodiff.tensor import Tensor
from core.problems.functions import FunctionObjective

ROLES = ("trainable", "frozen", "integer", "constant", "watched")
"""What a coordinate can be in the code: a variable (trainable or not, or of an integer type), or a tensor that the
tape follows only when it is told to.
"""


@dataclass(frozen=True)
class Way:
    """One way: its name, what it is for, the code, and the text of what it returned here."""

    name: str
    use: str
    code: str
    result: str


@dataclass(frozen=True)
class _Source:
    """A coordinate as it stands in the code."""

    name: str
    role: str
    value: float | int
    thing: Any

    @property
    def is_variable(self) -> bool:
        return isinstance(self.thing, Variable)

    @property
    def line(self) -> str:
        """The line of code that makes it."""
        if not self.is_variable:
            return f"{self.name} = Tensor({self.value!r})\n"
        return f"{self.name} = Variable({self.value!r}{', trainable=False' if self.role == 'frozen' else ''})\n"


def four_ways(
    objective: FunctionObjective,
    point: Sequence[float],
    frozen: frozenset[str] = frozenset(),
    roles: Mapping[str, str] | None = None,
) -> list[Way]:
    """The four ways on ``objective`` at ``point``, and second derivatives behind them.

    ``roles`` says what each coordinate is (see ROLES; trainable where nothing is said, ``frozen`` names the frozen
    ones). A coordinate of integer type is rounded. Every result is really computed by the way it stands beside.
    """
    f = objective.compute
    sources = [
        _source(name, float(value), (roles or {}).get(name, "frozen" if name in frozen else "trainable"))
        for name, value in zip(objective.component_names, point, strict=True)
    ]
    things = [source.thing for source in sources]
    names = ", ".join(source.name for source in sources)
    made = "".join(source.line for source in sources)
    numbers = [np.int64(s.value) if s.role == "integer" else float(s.value) for s in sources]
    written = ", ".join(f"np.int64({s.value})" if s.role == "integer" else repr(float(s.value)) for s in sources)
    watched = [source for source in sources if source.role == "watched"]
    watching = f"    tape.watch([{', '.join(source.name for source in watched)}])\n" if watched else ""
    return [
        Way(
            "GradientTape",
            "You decide what is recorded and for what you ask; intermediate values can be asked for as well.",
            f"{made}with GradientTape() as tape:\n{watching}    loss = f({names})\ntape.gradient(loss, [{names}])",
            _tape(f, sources),
        ),
        Way(
            "gradients_function",
            "Gradients for the arguments of a function; no variables needed, trainable or not plays no part.",
            f"gradients_function(f)({written})",
            _function(f, sources, numbers),
        ),
        Way(
            "implicit_gradients",
            "Gradients for every trainable variable that the function used, in the order of first use.",
            f"{made}implicit_gradients(lambda: f({names}))()",
            _implicit(lambda: f(*things), sources),
        ),
        Way(
            "implicit_value_and_gradients",
            "The same together with the value, so that the function runs only once.",
            f"{made}implicit_value_and_gradients(lambda: f({names}))()",
            _implicit_value(lambda: f(*things)),
        ),
        _second(f, sources, made, names),
    ]


def _source(name: str, value: float, role: str) -> _Source:
    if role not in ROLES:
        raise ValueError(f"{name}: no role {role!r}; there are: {', '.join(ROLES)}")
    if role in ("constant", "watched"):
        return _Source(name, role, value, Tensor(np.array(value)))
    if role == "integer":
        whole = round(value) if np.isfinite(value) else 0
        return _Source(name, role, whole, Variable(whole, name=name))
    return _Source(name, role, value, Variable(value, name=name, trainable=role == "trainable"))


def _tape(f: Any, sources: list[_Source]) -> str:
    things = [source.thing for source in sources]
    with GradientTape() as tape:
        tape.watch([source.thing for source in sources if source.role == "watched"])
        loss = f(*things)
    gradients = tape.gradient(loss, things) if isinstance(loss, Tensor) else [None] * len(things)
    return "\n".join([_listed(gradients), *_nones(tape, gradients, sources)])


def _nones(tape: GradientTape, gradients: Sequence[Any], sources: Sequence[_Source]) -> list[str]:
    """A line for each None that says why."""
    return [
        f"None for {source.name}: {tape.why_none(source.thing)}"
        for gradient, source in zip(gradients, sources, strict=True)
        if gradient is None
    ]


def _function(f: Any, sources: list[_Source], numbers: list[Any]) -> str:
    gradients = gradients_function(f)(*numbers)
    lines = [_listed(gradients)]
    for gradient, source in zip(gradients, sources, strict=True):
        if gradient is None and source.role == "integer":
            lines.append(f"None for {source.name}: the argument is of integer type; hand in a float")
        elif gradient is None:
            lines.append(f"None for {source.name}: the result does not depend on it")
    return "\n".join(lines)


def _implicit(f: Any, sources: list[_Source]) -> str:
    try:
        pairs = implicit_gradients(f)()
    except ValueError as error:
        return f"ValueError: {error}"
    listed = [variable for _, variable in pairs]
    lines = [_pairs(pairs)]
    for source in sources:
        if not any(source.thing is variable for variable in listed):
            lines.append(f"{source.name} is not in the list: {_why_left_out(source)}")
        elif any(gradient is None for gradient, variable in pairs if variable is source.thing):
            lines.append(f"None for {source.name}: {why_none(f, variables=[source.thing])[0]}")
    return "\n".join(lines)


def _why_left_out(source: _Source) -> str:
    if not source.is_variable:
        return "it is a tensor, not a variable (watching it is the tape's affair)"
    return {
        "frozen": "it is not trainable",
        "integer": "it is of integer type, and gradients exist for floating types only",
    }.get(source.role, "the function did not use it")


def _implicit_value(f: Any) -> str:
    try:
        value, pairs = implicit_value_and_gradients(f)()
    except ValueError as error:
        return f"ValueError: {error}"
    return f"({_number(value)}, {_pairs(pairs)})"


def _second(f: Any, sources: list[_Source], made: str, names: str) -> Way:
    """Tape within tape for the first coordinate that has a gradient, and the whole matrix at once."""
    first = next((source for source in sources if source.role in ("trainable", "watched")), None)
    numbers = [float(source.value) for source in sources]
    code, lines = "", []
    if first is not None:
        watched = [source for source in sources if source.role == "watched"]
        listed = ", ".join(source.name for source in watched)
        outer_watch = f"    outer.watch([{listed}])\n" if watched else ""
        inner_watch = f"        inner.watch([{listed}])\n" if watched else ""
        code = (
            f"{made}with GradientTape() as outer:\n{outer_watch}    with GradientTape() as inner:\n{inner_watch}"
            f"        loss = f({names})\n    slope = inner.gradient(loss, {first.name})\n"
            f"outer.gradient(slope, [{names}])\n"
        )
        lines.append(_nested(f, sources, first))
    code += f"hessian(f)({', '.join(map(repr, numbers))})"
    rows = hessian(f)(*numbers)
    lines.append("[" + ", ".join(_listed(row) for row in rows) + "]")
    return Way("Second derivatives", "A tape can record what another one does.", code, "\n".join(lines))


def _nested(f: Any, sources: list[_Source], first: _Source) -> str:
    things = [source.thing for source in sources]
    watched = [source.thing for source in sources if source.role == "watched"]
    with GradientTape() as outer:
        outer.watch(watched)
        with GradientTape() as inner:
            inner.watch(watched)
            loss = f(*things)
        slope = inner.gradient(loss, first.thing) if isinstance(loss, Tensor) else None
    if slope is None:
        return f"slope is None: {inner.why_none(first.thing)}"
    gradients = outer.gradient(slope, things)
    return "\n".join([_listed(gradients), *_nones(outer, gradients, sources)])


def _pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    return "[" + ", ".join(f"({_number(gradient)}, {variable.name})" for gradient, variable in pairs) + "]"


def _listed(values: Sequence[Any]) -> str:
    return "[" + ", ".join(_number(value) for value in values) + "]"


def _number(value: Any) -> str:
    if value is None:
        return "None"
    return f"{float(np.asarray(value.numpy() if hasattr(value, 'numpy') else value)):.10g}"
