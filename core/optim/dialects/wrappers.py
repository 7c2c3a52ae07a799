"""Calls that make another optimizer of an optimizer: unknown ones are refused, or their part in the steps is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.optim.dialects.values import Call, Program, Statement, walk

KEYWORDS = ("optimizer", "opt", "base_optimizer", "inner_optimizer", "inner", "tx")
"""What a wrapper calls the optimizer that it is given."""
CLASSES = (
    *("Optimizer", "ModelAndOptimizer", "TrainState", "TrainingState", "State", "GradScaler", "LossScaleOptimizer"),
    *("Checkpoint", "CheckpointManager", "Saver", "ModelCheckpoint", "Trainer", "Learner", "Model", "Engine"),
)
"""Classes that hold an optimizer and leave its steps alone."""
FUNCTIONS = (
    *("compile", "create", "prepare", "initialize", "partial", "jit", "vmap", "pmap", "print", "len", "type", "str"),
    *("isinstance", "id", "tuple", "list", "get", "serialize", "deserialize", "setup", "append", "add", "cast"),
)
SEVERAL_WORKERS = ("DistributedOptimizer", "CrossShardOptimizer", "SyncReplicasOptimizer")
"""Wrappers that average gradients over workers."""


def check_wrappers(program: Program, optimizers: list[Call], names: frozenset[str] = frozenset()) -> None:
    """A ParseError for a call that takes one of the ``optimizers`` and makes something unknown of it.

    ``names`` are those of calls that the dialect reads (schedulers).
    """
    known = {id(call) for call in optimizers}
    for statement in program.statements:
        for call, inner in _around(statement.value, known):
            followed = call.receiver is None and len(call.path) == 1 and call.name in program.classes
            if call.name not in names and not followed and _wraps(call, inner, statement, program):
                if call.name in SEVERAL_WORKERS:
                    raise call.error(f"{call.dotted} is for several workers; there is one here: leave it out")
                raise call.error(f"{call.dotted} is not known: what it does to the steps would be missing")


def check_hyperparams(program: Program) -> None:
    """A ParseError for ``opt_state.hyperparams['learning_rate'] = ...``, which changes the steps from there on."""
    for statement in program.statements:
        for target in statement.stores:
            if ".hyperparams[" in getattr(target, "text", ""):
                raise statement.place.error(
                    "a setting of the optimizer is changed here by hand; write it where the optimizer is made, as a "
                    "schedule where it changes from step to step, or change it live while it runs"
                )


def _around(value: Any, known: set[int]) -> Iterator[tuple[Call, Call]]:
    """(call, optimizer) for each call in ``value`` that is given an optimizer first, or by a name for it."""
    for call in walk(value):
        if id(call) in known:
            continue
        given = [*call.args[:1], *(call.kwargs[name] for name in KEYWORDS if name in call.kwargs)]
        for one in given:
            if isinstance(one, Call) and id(one) in known:
                yield call, one


def _wraps(call: Call, inner: Call, statement: Statement, program: Program) -> bool:
    """Whether ``call`` is one that a reader takes for an optimizer made of ``inner``."""
    if call.receiver is not None:
        return False
    if call.name[:1].isupper():
        return call.name not in CLASSES
    if call.name in FUNCTIONS:
        return False
    if inner.text and inner.text in call.text:
        return True  # wrapped(optax.sgd(0.1))
    own = {name for other in program.statements if other.value is inner for name in other.targets}
    return statement.value is call and bool(own & set(statement.targets))  # tx = wrapped(tx)
