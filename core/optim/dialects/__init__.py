"""Pasted code to optimizer and back: ``parse_optimizer`` and ``emit_optimizer`` over the four dialects."""

from __future__ import annotations

from types import ModuleType

from core.declare import SettingError
from core.optim.dialects import keras, optax, tf1, torch
from core.optim.dialects.choice import nothing_known, possible_dialects
from core.optim.dialects.foreign import check_foreign
from core.optim.dialects.hand_written import read_updates
from core.optim.dialects.syntax import read_program
from core.optim.dialects.values import NotRepresentable as NotRepresentable
from core.optim.dialects.values import ParseError as ParseError
from core.optim.dialects.values import Program
from core.optim.optimizer import Optimizer

DIALECTS: dict[str, ModuleType] = {
    "torch": torch,
    "keras": keras,
    "tf1": tf1,
    "optax": optax,
}
"""Each module offers NAMES (what it understands), build(program) -> Optimizer or None, emit(optimizer) -> str.

The first is the default for bare names that several frameworks have.
"""


def parse_optimizer(text: str, dialect: str = "") -> Optimizer:
    """The optimizer that the pasted lines set up, in the arithmetic of their framework.

    ``dialect`` ('torch', 'keras', 'tf1', 'optax') settles bare names; normally the text tells. Nothing is executed.
    Raises ParseError with line and column for what is not understood.
    """
    try:
        return _parsed(read_program(text), dialect)
    except RecursionError:
        raise ParseError("the code is nested too deeply to be read") from None


def _parsed(program: Program, dialect: str) -> Optimizer:
    names = {name: module.NAMES for name, module in DIALECTS.items()}
    check_foreign(program, names)
    try:
        possible = [dialect] if dialect else possible_dialects(program, names)
    except ParseError:
        found = read_updates(program)
        if found is None:
            raise
        return found
    first: ParseError | None = None
    for one in possible:  # bare names may belong to several frameworks: the one whose arguments fit
        try:
            optimizer: Optimizer | None = _module(one).build(program)
        except ParseError as error:
            first = first or error
            continue
        if optimizer is not None:
            return optimizer
    if first is None:
        found = read_updates(program)
        if found is not None:
            return found
    raise first or nothing_known(program, names)


def emit_optimizer(optimizer: Optimizer, dialect: str = "torch") -> str:
    """The lines that set ``optimizer`` up in ``dialect``; NotRepresentable says exactly why there are none."""
    text: str = _module(dialect).emit(optimizer)
    return text


def _module(dialect: str) -> ModuleType:
    try:
        return DIALECTS[dialect]
    except KeyError:
        raise SettingError(f"unknown dialect {dialect!r}; there are: {', '.join(DIALECTS)}") from None
