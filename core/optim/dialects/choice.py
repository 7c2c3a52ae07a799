"""Which framework a pasted text belongs to: by the prefixes of its calls, or by names only one framework has."""

from __future__ import annotations

import builtins
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
    (("tf", "contrib", "opt"), "tf1"),
    (("tensorflow", "contrib", "opt"), "tf1"),
    (("tfa", "optimizers"), "keras"),
    (("tensorflow_addons", "optimizers"), "keras"),
    (("tf", "compat", "v1"), "tf1"),
)
"""Beginnings of dotted names and the dialect each belongs to, the longer ones first where they overlap."""
FOREIGN = (
    *("flax", "haiku", "jax", "transformers", "bitsandbytes", "bnb", "apex", "deepspeed", "timm", "torch_optimizer"),
    *("pytorch_optimizer", "lion_pytorch", "fairseq", "fastai", "paddle", "mindspore", "mxnet", "chainer", "official"),
)
"""Packages with optimizers of their own, whose names mean other arithmetic there."""
FRAMEWORKS = {"torch": "PyTorch", "keras": "Keras", "tf1": "tf.compat.v1.train", "optax": "optax"}


def prefix_dialect(path: tuple[str, ...]) -> str:
    """The dialect a dotted name belongs to by its beginning, or ''."""
    for prefix, dialect in PREFIXES:
        if path[: len(prefix)] == prefix and len(path) > len(prefix):
            return dialect
    return ""


def possible_dialects(program: Program, names: Mapping[str, frozenset[str]]) -> list[str]:
    """The dialects ``program`` may be in; ``names`` holds the names each understands, the default dialect first.

    One, when a prefix tells; several, when bare class names are all there is. ParseError when two frameworks are
    mixed, or when nothing in the text is known to any.
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
            elsewhere = len(call.path) > 1 and call.path[0] in FOREIGN and call.path[:2] != ("jax", "lax")
            if owners and elsewhere and call.name[:1].isupper() and "Arguments" not in call.name:
                raise call.error(
                    f"{call.dotted} is an optimizer of {call.path[0]}, whose arithmetic is not here; write the one of "
                    "PyTorch, Keras or optax that does the same"
                )
            if call.path[0] in ("tf", "tensorflow"):
                owners -= {"torch", "optax"}
            if call.path[0] in ("np", "numpy", "jnp") or call.path[:2] == ("jax", "numpy"):
                owners = set()  # np.clip is no optax.clip
            if owners:
                by_name.append((owners, call))
    used = {dialect: call for dialect, call in by_prefix.items() if call.name in names.get(dialect, frozenset())}
    used = used or by_prefix
    if len(used) > 1:
        mixed = sorted(used, key=lambda name: (used[name].line, used[name].column))
        frameworks = " and ".join(FRAMEWORKS.get(name, name) for name in mixed)
        raise used[mixed[1]].error(f"the lines mix {frameworks}; paste the lines of one framework")
    if used:
        return [next(iter(used))]
    if any(compiles(call) for call in program.calls()):
        return ["keras"]
    if by_name:
        possible = set(names)
        for owners, _ in by_name:
            possible = (possible & owners) or possible
        return [dialect for dialect in names if dialect in possible]
    if any(call.name == "compile" and _names_optimizer(call) for call in program.calls()):
        return ["keras"]
    raise nothing_known(program, names)


def _names_optimizer(call: Call) -> bool:
    """True for ``model.compile('sgd', 'mse')`` and ``model.compile(optimizer='sgd')``."""
    return isinstance(call.kwargs.get("optimizer", call.args[0] if call.args else None), str)


def compiles(call: Call) -> bool:
    """True for ``model.compile(optimizer=...)``, which is Keras'."""
    given = call.kwargs.get("optimizer", call.args[0] if call.args else None)
    own = call.receiver is not None or (len(call.path) > 1 and call.path[0] not in ("re", "torch", "regex", "jax"))
    return call.path[-1] == "compile" and own and isinstance(given, str | dict | Call)


def nothing_known(program: Program, names: Mapping[str, frozenset[str]]) -> ParseError:
    """The error for a text without any known call, with the nearest known name."""
    everything = sorted(set().union(*names.values())) if names else []
    calls = [call for call in program.calls() if call.receiver is None]
    for call in calls:
        if hasattr(builtins, call.name):  # zip is no misspelled clip
            continue
        guess = nearest(call.name, everything)
        if guess == call.name:
            return call.error(f"{call.dotted} alone is no optimizer; paste the line that makes the optimizer as well")
        if guess:
            return call.error(f"{call.dotted} is not known; did you mean {guess!r}?")
    if calls:
        made = (statement.value for statement in program.statements if statement.targets)
        first = next((value for value in made if isinstance(value, Call) and value.receiver is None), calls[0])
        return first.error(f"{first.dotted} is not an optimizer known here")
    return ParseError("there is no optimizer in this text; paste a line like torch.optim.Adam(params, lr=1e-3)")
