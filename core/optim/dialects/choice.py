"""Which framework a pasted text belongs to: by the prefixes of its calls, or by names only one framework has."""

from __future__ import annotations

from collections.abc import Mapping

from core.optim.dialects.binding import nearest
from core.optim.dialects.values import Call, ParseError, Program

PREFIXES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("torch",), "torch"),
    (("optim", "lr_scheduler"), "torch"),
    (("lr_scheduler",), "torch"),
    (("nn", "utils"), "torch"),
    (("optax",), "optax"),
    (("tf", "keras"), "keras"),
    (("tensorflow", "keras"), "keras"),
    (("keras",), "keras"),
    (("tf", "optimizers"), "keras"),
    (("tf", "compat", "v1", "train"), "tf1"),
    (("tensorflow", "compat", "v1", "train"), "tf1"),
    (("tf", "train"), "tf1"),
    (("tf1", "train"), "tf1"),
    (("tf", "compat", "v1"), "tf1"),
)
"""Beginnings of dotted names and the dialect each belongs to, the longer ones first where they overlap."""


def prefix_dialect(path: tuple[str, ...]) -> str:
    """The dialect a dotted name belongs to by its beginning, or ''."""
    for prefix, dialect in PREFIXES:
        if path[: len(prefix)] == prefix and len(path) > len(prefix):
            return dialect
    return ""


def choose_dialect(program: Program, names: Mapping[str, frozenset[str]]) -> str:
    """The dialect of ``program``; ``names`` holds the names each dialect understands, the default dialect first.

    ParseError when two frameworks are mixed, or when nothing in the text is known to any.
    """
    by_prefix: dict[str, Call] = {}
    by_name: list[tuple[set[str], Call]] = []
    for call in program.calls():
        if call.receiver is not None:
            continue
        dialect = prefix_dialect(call.path)
        if dialect:
            if call.name in names.get(dialect, frozenset()) or dialect not in by_prefix:
                by_prefix.setdefault(dialect, call)
        else:
            owners = {dialect for dialect, known in names.items() if call.name in known}
            if owners:
                by_name.append((owners, call))
    used = {dialect: call for dialect, call in by_prefix.items() if call.name in names.get(dialect, frozenset())}
    used = used or by_prefix
    if "tf1" in used and "keras" in used:
        raise used["keras"].error("the lines mix tf.compat.v1.train and keras; paste the lines of one framework")
    if len(used) > 1:
        dialects = sorted(used)
        raise used[dialects[1]].error(f"the lines mix {' and '.join(dialects)}; paste the lines of one framework")
    if used:
        return next(iter(used))
    if by_name:
        possible = set(names)
        for owners, _ in by_name:
            possible = (possible & owners) or possible
        return next(dialect for dialect in names if dialect in possible)
    raise nothing_known(program, names)


def nothing_known(program: Program, names: Mapping[str, frozenset[str]]) -> ParseError:
    """The error for a text without any known call, with the nearest known name."""
    everything = sorted(set().union(*names.values())) if names else []
    calls = [call for call in program.calls() if call.receiver is None]
    for call in calls:
        guess = nearest(call.name, everything)
        if guess:
            return call.error(f"{call.dotted} is not known; did you mean {guess!r}?")
    if calls:
        return calls[0].error(f"{calls[0].dotted} is not an optimizer known here")
    return ParseError("there is no optimizer in this text; paste a line like torch.optim.Adam(params, lr=1e-3)")
