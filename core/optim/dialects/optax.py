"""optax: chains of gradient transformations, its named optimizers, wrappers and schedules."""

from __future__ import annotations

from core.declare import SettingError
from core.optim.dialects.binding import Argument, bind, nearest
from core.optim.dialects.jax_gradients import read_behind, read_path
from core.optim.dialects.optax_assembly import assemble
from core.optim.dialects.optax_reading import ELSEWHERE, INJECTORS, TRANSFORMS, read_chain
from core.optim.dialects.optax_reading import NAMES as NAMES
from core.optim.dialects.optax_writing import write_optimizer
from core.optim.dialects.schedule_translation import with_schedules
from core.optim.dialects.values import Call, ParseError, Program, walk
from core.optim.dialects.weights_beside import bounded_weights
from core.optim.dialects.wrappers import check_hyperparams, check_wrappers
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.nested import innermost
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.scaling import Scale
from core.optim.transforms.weight_average import WeightAverage

ELSEWHERE_ROOTS = ("torch", "jax", "tf", "tensorflow", "keras", "flax")
"""Packages whose functions have names that optax has as well."""
OTHERS = frozenset(
    {"apply_updates", "incremental_update", "global_norm", "tree", "tree_utils", "losses", "projections", "assignment"}
)
"""Parts of optax that are no optimizers and stand beside one."""


def build(program: Program) -> Optimizer | None:
    """The optimizer of the program, or None when it has none of ours."""
    call = _chosen(program)
    if call is None:
        return None
    check_hyperparams(program)
    check_wrappers(program, [other for other in program.calls() if _is_transformation(other)])
    pieces = read_chain(call, call.place)
    try:
        rows = assemble(pieces)
    except ParseError:
        raise
    except SettingError as error:
        raise call.error(str(error)) from None
    path = read_path(program, call)
    first = 1 if rows and isinstance(rows[0], FrozenMask) else 0
    inside = [*path.penalties, *path.rows, *rows[first:], *read_behind(program, call)]
    chain = [*rows[:first], *inside, *bounded_weights(program), *_averages(program)]
    remarks = [*_others(program, call), *([] if any(map(_descends, rows[first:])) else [UPHILL])]
    return Optimizer(chain, dialect="optax", source=program.text, remarks=remarks)


UPHILL = (
    "nothing in this chain turns the sign of the gradient: optax adds the updates as they are, so that the step goes "
    "uphill; end it with optax.scale_by_learning_rate(lr) or optax.scale(-lr)"
)


def _descends(row: Transform) -> bool:
    """Rows that multiply by minus the learning rate, or move the weights by a rule of their own."""
    row = innermost(row)
    if isinstance(row, Scale):
        return row.factor <= 0.0 or row.cause == "own rule"
    return isinstance(row, LearningRate) or row.cause in ("own rule", "averaging")


def emit(optimizer: Optimizer) -> str:
    """The optax code for the optimizer; NotRepresentable gives the reason when there is none."""
    return write_optimizer(with_schedules(optimizer, "optax"))


def _others(program: Program, found: Call) -> list[str]:
    """A remark on further optimizers that take steps of their own (the two of a GAN)."""
    used = {id(call.receiver) for call in program.calls() if call.path[-1:] == ("update",)}
    moving = {
        id(inner.receiver) for call in program.calls() if call.path[-1] == "apply_updates" for inner in walk(call)
    }
    others = [call for call in program.calls() if id(call) in used & moving and call is not found]
    others = [call for call in others if _is_transformation(call)]
    return [f"the lines use {len(others) + 1} optimizers; this is {found.text}"] if others else []


def _averages(program: Program) -> list[Transform]:
    """``ema_params = optax.incremental_update(params, ema_params, step_size)`` keeps an average of the weights."""
    calls = [call for call in program.calls() if call.receiver is None and call.name == "incremental_update"]
    found: list[Transform] = []
    for call in calls[-1:]:
        share = bind(call, INCREMENTAL_UPDATE)["step_size"]
        if not 0.0 < share <= 1.0:
            raise call.error(f"incremental_update: step_size is a share between 0 and 1, not {share!r}")
        found.append(WeightAverage(ema_momentum=1.0 - share, start="initial weights"))
    return found


INCREMENTAL_UPDATE = (
    Argument("new_tensors", None, "skip"),
    Argument("old_tensors", None, "skip"),
    Argument("step_size"),
)


def _chosen(program: Program) -> Call | None:
    """The outermost transformation: the one whose ``init`` or ``update`` is called, else the last one."""
    calls = list(program.calls())
    candidates = [call for call in calls if _is_transformation(call)]
    inside = {id(inner) for call in candidates for inner in walk(call) if inner is not call}
    outer = [call for call in candidates if id(call) not in inside]
    used = {id(call.receiver) for call in calls if call.path[-1:] in (("init",), ("update",))}
    moving = {id(other.receiver) for call in calls if call.path[-1] == "apply_updates" for other in walk(call)}
    chosen = [call for call in outer if id(call) in used & moving]  # not the average beside it: ema.update(params)
    chosen = chosen or [call for call in outer if id(call) in used] or outer
    if chosen:
        return chosen[-1]
    for call in calls:
        if call.receiver is None and call.path[0] == "jax" and call.path[-2:-1] == ("optimizers",):
            raise call.error(
                f"{call.dotted} is of JAX' old examples and not here; optax.sgd, optax.adam and optax.rmsprop take the "
                "same steps as those of that name there"
            )
        if call.receiver is None and call.path[0] == "optax" and not OTHERS & set(call.path):
            if call.name in ELSEWHERE:
                raise call.error(f"{call.dotted} is not supported: {ELSEWHERE[call.name]}")
            if call.name not in NAMES:
                guess = nearest(call.name, TRANSFORMS)
                raise call.error(f"{call.dotted} is not known" + (f"; did you mean optax.{guess}?" if guess else ""))
    return None


def _is_transformation(call: Call) -> bool:
    if call.receiver is None:
        return call.name in TRANSFORMS and (len(call.path) == 1 or call.path[0] not in ELSEWHERE_ROOTS)
    receiver = call.receiver
    if call.path == ("gradient_transformation",):
        return isinstance(receiver, Call) and _is_transformation(receiver)
    return call.path == ("__call__",) and isinstance(receiver, Call) and receiver.name in INJECTORS
