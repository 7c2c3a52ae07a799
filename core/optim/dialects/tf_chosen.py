"""Which variables TensorFlow code trains: a remark where it names only some of them, which no line can pick here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.optim.dialects.values import Attribute, Call, Name, Opaque, Program

EVERYTHING = re.compile(r"(all_)?(t|train(able)?_?)?(vars?|variables|var_list|weights|params|parameters|theta)", re.I)
"""Names that do not say which variables they hold."""


def chosen_remark(program: Program, behind_step: bool = False) -> list[str]:
    """A remark when the lines train a part of the variables only: here the optimizer moves all of the problem's.

    ``behind_step``: ``minimize`` takes the global step before ``var_list`` (tf.compat.v1.train).
    """
    listed = {"minimize": 2 if behind_step else 1, "compute_gradients": 1}
    _check_order(program)
    for value, listed_there in _sources(program, listed):
        if _is_part(value, listed_there):
            return [f"the lines train {value.text} only; here the optimizer moves all variables of the problem"]
    return []


def _check_order(program: Program) -> None:
    """ParseError for ``apply_gradients(zip(variables, gradients))``, at which TensorFlow and Keras stop."""
    for call in program.calls():
        pairs = call.args[0] if call.path[-1:] == ("apply_gradients",) and call.args else None
        if isinstance(pairs, Call) and pairs.path == ("zip",) and len(pairs.args) == 2:
            first, second = (
                isinstance(value, Name | Attribute) and EVERYTHING.fullmatch(value.text.split(".")[-1]) is not None
                for value in pairs.args
            )
            if first and not second:
                raise call.error(
                    "apply_gradients takes pairs of (gradient, variable), and here the variables come first; "
                    "write zip(gradients, variables)"
                )


def _sources(program: Program, listed: Mapping[str, int]) -> Iterator[tuple[Any, bool]]:
    """What is differentiated with respect to or applied to, and whether it stands where ``var_list`` does."""
    for call in program.calls():
        name = call.path[-1:]
        if "var_list" in call.kwargs:
            yield call.kwargs["var_list"], True
        elif name and name[0] in listed:
            place = listed[name[0]]
            yield from ((value, True) for value in call.args[place : place + 1])
        elif name in (("gradient",), ("gradients",)):
            sources = call.kwargs.get("sources", call.kwargs.get("xs"))
            yield from ((value, False) for value in (call.args[1:2] if sources is None else [sources]))
        elif name == ("apply_gradients",):
            pairs = call.args[0] if call.args else None
            if isinstance(pairs, Call) and pairs.name == "zip":
                yield from ((value, False) for value in pairs.args[1:2])


def _is_part(value: Any, listed: bool) -> bool:
    if isinstance(value, Name):
        return listed and EVERYTHING.fullmatch(value.text.split(".")[-1]) is None
    if isinstance(value, Attribute):
        return "[" in value.text
    if isinstance(value, Opaque):
        node = value.node
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return any(generator.ifs for generator in node.generators)
        return isinstance(node, ast.Subscript)
    if isinstance(value, Call):
        if value.name in ("list", "tuple") and value.args:
            return _is_part(value.args[0], listed)
        if value.name == "filter" or "scope" in value.kwargs:
            return True
        picking = ("trainable_variables", "get_collection", "global_variables")
        return value.name in picking and any(isinstance(given, str) for given in value.args)
    return False
