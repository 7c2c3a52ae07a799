"""From optax's chain to rows: which factor is the learning rate, what decay means where it stands, and wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.declare import SettingError
from core.optim.dialects.optax_arguments import opposite
from core.optim.dialects.optax_pieces import PRIMITIVES, Piece
from core.optim.dialects.optax_schedules import Rate
from core.optim.mask import Mask, both
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.optax import Scaled, Written
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.lookahead import Lookahead
from core.optim.transforms.moments import MovingAverage
from core.optim.transforms.momentum import Momentum, Nesterov
from core.optim.transforms.multi_steps import ApplyIfFinite, MultiSteps
from core.optim.transforms.nested import Masked, Renewed, Sometimes, innermost
from core.optim.transforms.part_rates import Part, PartRates
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L2
from core.optim.transforms.scaling import AddedDecay, FromageShrink, Noise, Scale, StepDecay
from core.optim.transforms.schedule_free import ScheduleFree
from core.optim.transforms.sharpness import DESCENDS, SharpnessGradient, SharpnessReturn, SharpnessStep
from core.optim.transforms.trust import NormaliseUpdate, ScaleByParameters
from core.optim.transforms.unitwise import AdaptiveClip, Centralise, ClipByBlockRms, ZeroNans

PREPARING = (
    *(ClipByValue, ClipByNorm, ClipByGlobalNorm, ClipByBlockRms, AdaptiveClip, Centralise, ZeroNans),
    *(NormaliseUpdate, Noise, MultiSteps, ApplyIfFinite, L2, SharpnessGradient, SharpnessReturn),
)
"""What may stand before a decay that still counts as one added to the gradient."""
STATELESS = (ClipByValue, ClipByGlobalNorm, ClipByBlockRms, AdaptiveClip, Centralise, ZeroNans, NormaliseUpdate, L2)
WHOLE = (MultiSteps, ApplyIfFinite, ScheduleFree, SharpnessGradient, SharpnessReturn, SharpnessStep)
"""What cannot be done for some of the variables only."""
SYMMETRIC = (
    *(Momentum, Nesterov, MovingAverage, ScaleByParameters, ClipByValue, ClipByGlobalNorm, ClipByBlockRms),
    *(Centralise, ZeroNans, NormaliseUpdate, AdaptiveClip),
)
"""What does the same to u and to -u, so that a sign may be moved past it."""


@dataclass(frozen=True)
class Item:
    """Part of the chain on the way to rows: finished ``rows``, a ``decay``, or a ``factor`` that may be the rate."""

    kind: str
    rows: tuple[Transform, ...] = ()
    value: Rate | None = None
    sign: float = 1.0
    mask: Mask | None = None
    period: int = 0
    flag: str = ""
    group: str = ""
    parts: tuple[tuple[Mask, Item | None], ...] = field(default=())


def assemble(pieces: Sequence[Piece]) -> list[Transform]:
    """The rows of an optax chain; SettingError when something has no place where it stands."""
    return [FrozenMask(), *_settle(_flatten(pieces))]


def _flatten(pieces: Sequence[Piece]) -> list[Item]:
    """The items of the pieces; every one belongs to the group of the optimizer that was written, if one was."""
    items: list[Item] = []
    for position, piece in enumerate(pieces):
        name, args, group = piece
        last = position == len(pieces) - 1
        if name in PRIMITIVES:
            rows = PRIMITIVES[name].make(args)
            for row in rows:
                row.group = group or (name if len(rows) > 1 else "")
            if rows:
                items.append(Item("rows", tuple(rows), group=group))
        elif name in ("multi_steps", "apply_if_finite"):
            items += _guarded(piece, items, last)
        elif name in ("lookahead", "schedule_free", "sam"):
            if not last:
                raise SettingError(f"{name} has to come last in the chain: it moves the weights themselves")
            items = _around(piece, items)
        else:
            items += [replace(item, group=item.group or group) for item in _special(piece)]
    return items


def _special(piece: Piece) -> list[Item]:
    name, args, _ = piece
    if name == "scale":
        return [Item("factor", value=abs(args["step_size"]), sign=_sign(args["step_size"]))]
    if name == "scale_by_learning_rate":
        if args["learning_rate"] is None:
            return []
        value, sign = _positive(args["learning_rate"])
        return [Item("rate", value=value, sign=-sign if args["flip_sign"] else sign)]
    if name == "scale_by_schedule":
        value, sign = _positive(args["step_size_fn"])
        return [Item("rate", value=value, sign=sign)]
    if name == "add_decayed_weights":
        strength = args["weight_decay"]
        return [] if strength == 0.0 else [Item("decay", value=strength, mask=args["mask"])]
    if name == "fromage_shrink":
        return [Item("rows", (FromageShrink(),))]
    if name == "set_to_zero":
        return [Item("rows", (Scale(factor=0.0, cleared=True),))]
    if name == "masked":
        return _partition([(args["mask"], _grouped(args["inner"], piece.group))])
    if name == "partition":
        return _partition([(mask, _grouped(pieces, piece.group)) for mask, pieces in args["groups"]])
    raise SettingError(f"optax.{name} is not known here")


def _grouped(pieces: Sequence[Piece], group: str) -> list[Piece]:
    """The pieces as part of the group around them, where they are not of one of their own."""
    return [piece._replace(group=piece.group or group) for piece in pieces]


def _sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0


def _positive(value: Rate) -> tuple[Rate, float]:
    """A rate without its sign, and the sign: -schedule is (schedule, -1)."""
    if isinstance(value, Scaled) and value.factor < 0:
        inside = value.schedule
        if isinstance(inside, Written) and inside.falls:
            return value, 1.0
        return (inside if value.factor == -1.0 else Scaled(inside, factor=-value.factor)), -1.0
    if isinstance(value, Written) and value.falls:
        return Scaled(value, factor=-1.0), -1.0
    if isinstance(value, AbsoluteSchedule):
        return value, 1.0
    return abs(value), _sign(value)


# wrappers -----------------------------------------------------------------------------------------------------


def _guarded(piece: Piece, before: Sequence[Item], last: bool) -> list[Item]:
    """The row of an accumulator or guard, then what is inside it; steps it stops end there."""
    name, args, _ = piece
    shown = "MultiSteps" if name == "multi_steps" else name
    stateful = [row for item in before for row in item.rows if not isinstance(innermost(row), STATELESS)]
    stateful_rates = [item for item in before if isinstance(item.value, AbsoluteSchedule)]
    if stateful or stateful_rates:
        what = stateful[0].label if stateful else "a schedule"
        raise SettingError(
            f"{shown} stands behind {what}, which would go on in steps that {shown} stops; "
            f"wrap the whole chain: optax.{shown}(optax.chain(...), ...)"
        )
    if not last:
        raise SettingError(
            f"something stands behind {shown} in the chain and would go on in steps that {shown} stops; "
            f"wrap the whole chain: optax.{shown}(optax.chain(...), ...)"
        )
    values = {key: value for key, value in args.items() if key != "inner"}
    row: Transform = MultiSteps(**values) if name == "multi_steps" else ApplyIfFinite(**values)
    return [Item("rows", (row,)), *_flatten(args["inner"])]


def _around(piece: Piece, before: list[Item]) -> list[Item]:
    """Wrappers that end the chain: everything inside, then their own row."""
    name, args, group = piece
    if name == "sam":
        return _sharpness(args, before)
    inside = [*before, *_flatten(_grouped(args["inner"], group))]
    if name == "lookahead":
        end = Lookahead(sync_period=args["sync_period"], slow_step_size=args["slow_step_size"])
        if args["reset_state"]:
            if any(isinstance(item.value, AbsoluteSchedule) for item in inside):
                raise SettingError("lookahead(reset_state=True) would restart the schedule; give a plain number")
            inside = [replace(item, period=args["sync_period"]) for item in inside]
        return [*inside, Item("rows", (end,))]
    value = args["learning_rate"]
    settings: dict[str, Any] = {"b1": args["b1"], "weight_lr_power": args["weight_lr_power"]}
    return [*inside, Item("schedule_free", value=value, rows=(ScheduleFree(**settings),), group=group)]


def _sharpness(args: dict[str, Any], before: list[Item]) -> list[Item]:
    if before:
        raise SettingError("sam has to wrap the whole chain: put the other transformations inside its optimizer")
    adversary = _as_factors(_flatten(args["adv_optimizer"]))
    inside = _flatten(args["optimizer"])
    values = {"reset_state": args["reset_state"]}
    if args["opaque_mode"]:
        row = SharpnessGradient(adversary, sync_period=args["sync_period"], **values)
        return [Item("rows", (row,)), *inside]
    first = SharpnessReturn(sync_period=args["sync_period"])
    last = SharpnessStep(adversary, **values)
    turns = [replace(item, flag=DESCENDS) for item in inside]
    return [Item("rows", (first,)), *turns, Item("rows", (last,))]


def _partition(groups: Sequence[tuple[Mask, Sequence[Piece]]]) -> list[Item]:
    """Each group's rows for its own variables, and one row of rates between those before and behind the rates."""
    before: list[Item] = []
    behind: list[Item] = []
    parts: list[tuple[Mask, Item | None]] = []
    for mask, pieces in groups:
        items = [_within(item, mask) for item in _flatten(pieces)]
        place = _find_rate(items)
        if place is None:
            before += items
            parts.append((mask, None))
            continue
        chosen = items[place]
        if chosen.sign > 0 or chosen.parts:
            raise SettingError("inside a partition or a mask every learning rate needs its own minus sign")
        before += items[:place]
        behind += items[place + 1 :]
        parts.append((mask, replace(chosen, mask=None)))
    if all(item is None for _, item in parts):
        return before
    if len(parts) == 1 and parts[0][0] == Mask():
        return [*before, *([parts[0][1]] if parts[0][1] else []), *behind]
    merged = _same_rate(parts)
    if merged is not None:
        return [*before, merged, *behind]
    return [*before, Item("rate", sign=-1.0, parts=tuple(parts)), *behind]


def _same_rate(parts: Sequence[tuple[Mask, Item | None]]) -> Item | None:
    """One rate for all, when the parts cover everything and have the same one."""
    first = parts[0][1]
    if len(parts) != 2 or parts[1][0] != opposite(parts[0][0]) or first is None or parts[1][1] is None:
        return None
    return first if _plain(first.value) == _plain(parts[1][1].value) else None


def _plain(value: Rate | None) -> Any:
    return value.settings() if isinstance(value, AbsoluteSchedule) else value


def _within(item: Item, mask: Mask) -> Item:
    """The item for the picked variables only."""
    whole = next((row for row in item.rows if isinstance(innermost(row), WHOLE)), None)
    if whole is not None:
        raise SettingError(
            f"{whole.label!r} works on all variables at once: write it around the mask or partition, not inside"
        )
    if item.mask is not None and item.mask != mask:
        return replace(item, rows=tuple(Masked(row, mask) for row in item.rows), mask=both(item.mask, mask))
    if item.kind == "rows":
        return replace(item, rows=tuple(Masked(row, mask) for row in item.rows))
    return replace(item, mask=mask)


# which factor is the learning rate ----------------------------------------------------------------------------


def _find_rate(items: Sequence[Item]) -> int | None:
    """The position of the item that becomes the learning rate.

    A rate with a minus sign if there is one, else a positive one whose sign another factor turns, else the last
    negative factor; None when the update is added as it is.
    """
    rates = [i for i, item in enumerate(items) if item.kind == "rate"]
    negative = [i for i in rates if items[i].sign < 0]
    if negative:
        return negative[0]
    turned = [i for i in rates if _turner(items, i) is not None]
    if turned:
        return turned[0]
    factors = [i for i, item in enumerate(items) if item.kind == "factor" and item.sign < 0]
    return factors[-1] if factors else None


def _turner(items: Sequence[Item], rate: int) -> int | None:
    """The position of the factor -1 that turns the sign of a positive rate, past rows that do not mind."""
    for step in (1, -1):
        i = rate + step
        while 0 <= i < len(items):
            item = items[i]
            if item.kind == "factor" and item.value == 1.0 and item.sign < 0 and item.mask is None:
                return i
            minds = item.kind == "schedule_free" or any(not isinstance(innermost(r), SYMMETRIC) for r in item.rows)
            if minds or item.kind == "factor" or (item.kind == "rate" and item.sign < 0):
                break
            i += step
    return None


def _settle(items: list[Item]) -> list[Transform]:
    """The rows in order, the chosen rate as LearningRate, decay as what it is where it stands."""
    place = _find_rate(items)
    turner: int | None = None
    if place is not None and items[place].sign > 0:
        turner = _turner(items, place)
    rows: list[Transform] = []
    stepping = False
    for i, item in enumerate(items):
        if i == turner:
            continue
        if i == place:
            rows.append(_rate_row(item))
            rows[-1].group = item.group
            stepping = True
        elif item.kind == "rows":
            rows += [_wrapped(row, item) for row in item.rows]
        elif item.kind == "decay":
            # behind a rate whose sign is still to be turned, optax's own u points uphill like the gradient
            pending = turner is not None and place is not None and place < i < turner
            rows.append(_wrapped(_decay_row(item, rows, stepping, pending), item))
        elif item.kind == "schedule_free":
            rows.append(_average_row(item, rows))
            rows[-1].group = item.group
        elif item.parts:
            # a second learning rate of a partition: a factor for each of its parts
            own = [(mask, part) for mask, part in item.parts if part is not None]
            rows += [_wrapped(_factor_row(part), replace(part, mask=mask)) for mask, part in own]
        else:
            rows.append(_wrapped(_factor_row(item), item))
    return rows


def _as_factors(items: Sequence[Item]) -> list[Transform]:
    """The rows of an adversary's chain, where nothing is the learning rate."""
    rows: list[Transform] = []
    for item in items:
        if item.kind == "rows":
            rows += [_wrapped(row, item) for row in item.rows]
        elif item.kind == "decay":
            rows.append(_wrapped(_decay_row(item, [], False, False, added=True), item))
        elif item.kind in ("rate", "factor") and not item.parts:
            rows.append(_wrapped(_factor_row(item), item))
        else:
            raise SettingError("the adversary of sam is a plain chain: normalize, scale, trace and the like")
    return rows


def _wrapped(row: Transform, item: Item) -> Transform:
    row.group = row.group or item.group
    if item.mask is not None and item.kind != "rows" and item.mask != Mask():
        row = Masked(row, item.mask)
    if item.period:
        row = Renewed(row, item.period)
    return Sometimes(row, item.flag) if item.flag else row


def _rate_row(item: Item) -> LearningRate:
    if item.parts:
        own = [(mask, part) for mask, part in item.parts if part is not None]
        first_mask, first = own[0]
        others = [_part(mask, part) for mask, part in own[1:]]
        others += [Part(mask, None) for mask, part in item.parts if part is None]
        schedule, value = _split(first.value)
        return PartRates(first_mask, others, schedule, learning_rate=value)
    schedule, value = _split(item.value)
    if item.mask is not None and item.mask != Mask():
        return PartRates(item.mask, (), schedule, learning_rate=value)
    return LearningRate(schedule, learning_rate=value)


def _part(mask: Mask, item: Item) -> Part:
    checked = LearningRate(learning_rate=_split(item.value)[1])
    return Part(mask, checked.learning_rate, _split(item.value)[0])


def _split(value: Rate | None) -> tuple[AbsoluteSchedule | None, float]:
    if isinstance(value, AbsoluteSchedule):
        return value, value.base
    return None, 0.0 if value is None else value


def _factor_row(item: Item) -> Scale:
    if isinstance(item.value, AbsoluteSchedule):
        return Scale(item.value, factor=item.sign)
    return Scale(factor=item.sign * (item.value or 0.0))


def _decay_row(item: Item, rows: Sequence[Transform], stepping: bool, pending: bool, added: bool = False) -> Transform:
    schedule = item.value if isinstance(item.value, AbsoluteSchedule) else None
    strength = 1.0 if schedule is not None else float(item.value)  # type: ignore[arg-type]
    if stepping:
        return StepDecay(schedule, weight_decay=strength if pending else -strength)
    first = all(isinstance(innermost(row), (*PREPARING, FrozenMask)) for row in rows)
    if first and not added and schedule is None and strength >= 0:
        return L2(weight_decay=strength)
    return AddedDecay(schedule, weight_decay=strength)


def _average_row(item: Item, rows: Sequence[Transform]) -> ScheduleFree:
    """The learning rate of the averaging, left to the chain where it is the same."""
    row = item.rows[0]
    assert isinstance(row, ScheduleFree)
    chain = next((r for r in rows if isinstance(r, LearningRate)), None)
    schedule, value = _split(item.value)
    own: float | None = value
    if chain is not None and chain.learning_rate == value and _plain(chain.schedule) == _plain(schedule):  # type: ignore[arg-type]
        own = None
    return ScheduleFree(schedule, **{**row.values(), "learning_rate": own})
