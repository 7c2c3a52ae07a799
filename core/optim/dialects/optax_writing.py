"""Writes a chain of rows as optax code, with the short names of optimizers where they fit exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.optim.dialects import optax_arguments as kinds
from core.optim.dialects.optax_assembly import STATELESS
from core.optim.dialects.optax_calls import Code, call_text, write_call
from core.optim.dialects.optax_matching import rate_value
from core.optim.dialects.optax_names import segments_of, short_name
from core.optim.dialects.optax_pieces import PRIMITIVES, SPECIAL, Piece
from core.optim.dialects.optax_schedules import write_rate
from core.optim.dialects.values import NotRepresentable
from core.optim.mask import Mask
from core.optim.optimizer import Optimizer
from core.optim.transform import Transform
from core.optim.transforms.curvature import CurvatureScaling
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.lookahead import Lookahead
from core.optim.transforms.multi_steps import ApplyIfFinite, MultiSteps
from core.optim.transforms.nested import Masked, Renewed, Sometimes
from core.optim.transforms.part_rates import Part, PartRates
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L1, L2, DecoupledDecay
from core.optim.transforms.scaling import AddedDecay, FromageShrink, StepDecay
from core.optim.transforms.schedule_free import ScheduleFree
from core.optim.transforms.sharpness import SharpnessGradient, SharpnessReturn, SharpnessStep
from core.optim.transforms.store import Store
from core.optim.transforms.trust import ParameterNormScaling, ScaleByParameters, TrustRatio
from core.optim.transforms.unitwise import AdaptiveClip, KeepNonNegative
from core.optim.transforms.weight_average import WeightAverage

Rows = list[Transform]
CURVATURE_NOTE = "# with hessian_diagonal_fn giving the exact diagonal; optax estimates it with random signs otherwise"
PRIVATE = {"scale_by_sophia", "scale_by_shape", "fromage_shrink"}
"""Transformations that optax uses inside an optimizer but does not offer by themselves."""


def write_optimizer(optimizer: Optimizer) -> str:
    """The code of an optimizer; NotRepresentable gives the reason when optax has nothing like it."""
    if len(optimizer.groups) > 1:
        raise NotRepresentable(
            "parameter groups become optax.partition with labels for a tree of parameters, not in these lines"
        )
    rows = [row for row in optimizer.chain if not isinstance(row, FrozenMask | Store) and not row.idle()]
    averages = [row for row in rows if isinstance(row, WeightAverage)]
    text = _outer(_decoupled([row for row in rows if not isinstance(row, WeightAverage)]))
    text = "\n".join([text, *(_write_average(row, rows) for row in averages)])
    if any(isinstance(row, CurvatureScaling) and row.estimator == "diagonal" for row in rows):
        return f"{CURVATURE_NOTE}\n{text}"
    return text


def _write_average(row: WeightAverage, rows: Rows) -> str:
    """The line that keeps an average of the weights beside the optimizer."""
    if row.overwrite is not None or row.warm or row.repeats != 1 or row.start != "initial weights":
        raise NotRepresentable(
            "optax.incremental_update keeps an average that starts from the initial weights, has one memory and never "
            "replaces the weights"
        )
    if row is not rows[-1]:
        raise NotRepresentable("optax averages the weights after the whole step, here something comes after it")
    share = 1.0 - row.ema_momentum
    rounded = float(f"{share:.12g}")
    share = rounded if 1.0 - rounded == row.ema_momentum else share
    return f"ema_params = optax.incremental_update(params, ema_params, step_size={share!r})"


def _decoupled(rows: Rows) -> Rows:
    """w (1 - lr λ) is the same as λ w added right before a learning rate that comes last: there optax has it."""
    decay = next((row for row in rows if type(row) is DecoupledDecay), None)
    if decay is None:
        return rows
    others = [row for row in rows if row is not decay]
    if not others or not isinstance(others[-1], LearningRate):
        raise NotRepresentable("optax has decoupled decay where the learning rate multiplies it, as the last thing")
    reading = next((row for row in rows[rows.index(decay) :] if isinstance(row, READING)), None)
    if reading is not None:
        raise NotRepresentable(
            f"{reading.label!r} reads weights that have decayed already; in optax it reads the old ones"
        )
    return [*others[:-1], AddedDecay(weight_decay=decay.weight_decay), others[-1]]


READING = (
    *(L1, L2, AddedDecay, StepDecay, TrustRatio, ScaleByParameters, AdaptiveClip, KeepNonNegative, CurvatureScaling),
    *(FromageShrink, ScheduleFree, Lookahead, Masked, ParameterNormScaling),
)
"""Rows that look at the weights."""


def _outer(rows: Rows) -> str:
    """The code of a whole optimizer: its outermost wrapper, or a chain."""
    if not rows:
        return "optax.identity()"
    first, last = rows[0], rows[-1]
    if isinstance(first, MultiSteps):
        return _write_multi_steps(first, rows[1:])
    if isinstance(first, SharpnessGradient):
        return _write_sam(first, first.sync_period, rows[1:], opaque=True)
    if isinstance(first, SharpnessReturn) and isinstance(last, SharpnessStep):
        inside = [row.inner if isinstance(row, Sometimes) else row for row in rows[1:-1]]
        return _write_sam(last, first.sync_period, inside, opaque=False)
    if isinstance(last, Lookahead):
        reset = any(isinstance(row, Renewed) for row in rows)
        inside = [row.inner if isinstance(row, Renewed) else row for row in rows[:-1]]
        return call_text("lookahead", _outer(inside), **last.values(), **({"reset_state": True} if reset else {}))
    short = short_name(rows, 0, len(rows), [])
    if short is not None:
        return short
    if isinstance(last, ScheduleFree):
        return _write_schedule_free(last, rows[:-1])
    guard = next((i for i, row in enumerate(rows) if isinstance(row, ApplyIfFinite)), None)
    if guard is not None:
        stateful = next((row for row in rows[:guard] if not isinstance(row, STATELESS)), None)
        if stateful is not None:
            raise NotRepresentable(f"{stateful.label!r} goes on in steps that are refused only behind it")
        inside_text = _outer(rows[guard + 1 :])
        guarded = call_text("apply_if_finite", inside_text, **rows[guard].values())
        return _chained([*_texts(rows[:guard]), guarded])
    try:
        parts = any(isinstance(row, PartRates) for row in rows)
        return _write_parts(rows) if parts else _chained(_texts(rows))
    except NotRepresentable:
        found = _named_inside(rows)
        if found is None:
            raise
        return found


def _named_inside(rows: Rows) -> str | None:
    """A named optimizer that only exists whole (muon), with what stands before it or behind it; None without one."""
    for start, stop in [*((i, len(rows)) for i in range(1, len(rows))), *((0, i) for i in range(len(rows) - 1, 0, -1))]:
        name = short_name(rows, start, stop, [])
        if name is not None:
            return _chained([*_texts(rows[:start]), name, *_texts(rows[stop:])])
    return None


def _chained(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"optax.chain({', '.join(texts)})"


# wrappers -----------------------------------------------------------------------------------------------------


def _write_multi_steps(row: MultiSteps, inside: Rows) -> str:
    values: dict[str, Any] = {"every_k_schedule": row.every_k}
    if not row.mean:
        values["use_grad_mean"] = False
    if row.skip == "not finite":
        values["should_skip_update_fn"] = Code("optax.skip_not_finite")
    elif row.skip == "large":
        limit = repr(row.max_squared_norm)
        values["should_skip_update_fn"] = Code(f"functools.partial(optax.skip_large_updates, max_squared_norm={limit})")
    if row.accumulator != "float32":
        values["accumulator_dtype"] = Code("jnp.float64")
    return call_text("MultiSteps", _outer(inside), **values)


def _write_sam(row: SharpnessGradient | SharpnessStep, period: int, inside: Rows, opaque: bool) -> str:
    adversary = _chained(_texts(list(row.adversary)))
    values: dict[str, Any] = {"sync_period": period}
    if not row.reset_state:
        values["reset_state"] = False
    if opaque:
        values["opaque_mode"] = True
    return call_text("sam", _outer(inside), adversary, **values)


def _write_schedule_free(row: ScheduleFree, inside: Rows) -> str:
    chain = next((r for r in inside if isinstance(r, LearningRate)), None)
    if row.learning_rate is None and chain is None:
        raise NotRepresentable("schedule_free needs a learning rate, and this chain has none")
    if row.learning_rate is not None:
        rate: Any = row.learning_rate if row.schedule is None else row.schedule
    else:
        assert chain is not None
        rate = rate_value(chain)
    values = {"b1": row.b1, "weight_lr_power": row.weight_lr_power}
    return call_text("schedule_free", _outer(inside), learning_rate=Code(write_rate(rate)), **values)


def _write_parts(rows: Rows) -> str:
    """``optax.masked`` or ``optax.partition`` around the rows of each part, and what stands before them."""
    place = next(i for i, row in enumerate(rows) if isinstance(row, PartRates))
    rates = rows[place]
    assert isinstance(rates, PartRates)
    parts = [Part(rates.mask, rates.learning_rate, rates.schedule), *rates.others]
    inner: list[Rows] = [[] for _ in parts]
    start = next((i for i, row in enumerate(rows) if isinstance(row, Masked)), place)
    for i, row in enumerate(rows[start:], start):
        if row is rates:
            for own, part in zip(inner, parts, strict=True):
                if part.learning_rate is not None:
                    own.append(LearningRate(part.schedule, learning_rate=part.learning_rate))
            continue
        owner = next((k for k, part in enumerate(parts) if isinstance(row, Masked) and row.mask == part.mask), None)
        if owner is None:
            raise NotRepresentable(f"the row {row.label!r} at place {i} belongs to no part of the variables")
        inner[owner].append(row.inner)  # type: ignore[attr-defined]
    before = _texts(rows[:start])
    if len(parts) == 1:
        return _chained([*before, f"optax.masked({_outer(inner[0])}, {kinds.write_mask(parts[0].mask)})"])
    names = [f"part{k + 1}" for k in range(len(parts))]
    chains = ", ".join(f"{name!r}: {_outer(own)}" for name, own in zip(names, inner, strict=True))
    labels = _labels(names, [part.mask for part in parts])
    return _chained([*before, f"optax.partition({{{chains}}}, {labels})"])


def _labels(names: Sequence[str], masks: Sequence[Mask]) -> str:
    if all(mask.names for mask in masks):
        variables = [name for name, _ in masks[0].names]
        found = {}
        for variable in variables:
            owners = [label for label, mask in zip(names, masks, strict=True) if dict(mask.names).get(variable)]
            if len(owners) == 1:
                found[variable] = owners[0]
        return repr(found)
    if len(masks) == 2 and masks[1] == kinds.opposite(masks[0]) and masks[0].ndim is not None:
        test = f"x.ndim {masks[0].ndim[0]} {masks[0].ndim[1]}"
        return f"lambda params: jax.tree.map(lambda x: {names[0]!r} if {test} else {names[1]!r}, params)"
    raise NotRepresentable("these parts of the variables cannot be written as labels of a tree of parameters")


# chains -------------------------------------------------------------------------------------------------------


def _texts(rows: Rows) -> list[str]:
    """The code of each transformation, the longest runs that have a short name under that name."""
    segments = segments_of(rows)
    best: tuple[int, int, str] | None = None
    for length in range(len(segments), 0, -1):
        for first in range(len(segments) - length + 1):
            window = segments[first : first + length]
            short = short_name(rows, window[0].start, window[-1].stop, window)
            if short is not None:
                best = (first, first + length, short)
                break
        if best is not None:
            break
    if best is None:
        return [_write_piece(segment.piece) for segment in segments]
    first, stop, short = best
    before = [_write_piece(segment.piece) for segment in segments[:first]]
    return [*before, short, *(_write_piece(segment.piece) for segment in segments[stop:])]


# one call -----------------------------------------------------------------------------------------------------


def _write_piece(one: Piece) -> str:
    name, args, _ = one
    if name == "masked":
        return f"optax.masked({_outer(list(args['inner']))}, {kinds.write_mask(args['mask'])})"
    if name in PRIVATE:
        raise NotRepresentable(
            f"optax offers {name} only inside its own optimizer, with its other parts as they are there"
        )
    signature = PRIMITIVES[name].signature if name in PRIMITIVES else SPECIAL[name]
    return write_call(name, signature, args)
