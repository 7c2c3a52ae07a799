"""What the order of a PyTorch loop's lines means for the step: accumulation, clipping, scaling, schedules, rates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from core.declare import SettingError
from core.optim.dialects.loss_terms import loss_terms
from core.optim.dialects.torch_events import Event
from core.optim.dialects.torch_loop import PLAYED_STEPS, Backward, Taken, is_excerpt, play, steps_an_epoch
from core.optim.dialects.torch_parts import clip_transforms, clip_values
from core.optim.dialects.torch_phases import LONGEST, check_batches, in_its_steps, steps_to_play, timed_events, when
from core.optim.dialects.values import Call, ParseError, describe
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate, ClippedAccumulate
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm
from core.optim.transforms.dropped import DroppedGradient
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.transforms.nested import Masked
from core.optim.transforms.scaling import named_factor

FINITE = re.compile(r"isnan|isinf|isfinite")


@dataclass
class LoopReading:
    """The rows in front of the optimizer, the remarks for the reader, and the steps that were played."""

    front: list[Transform]
    remarks: list[str]
    behind: list[Transform] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    timed: list[Event] = field(default_factory=list)


def read_front(events: Sequence[Event], scaling: Sequence[Transform], base: float) -> LoopReading:
    """What happens to the gradient before the optimizer's own rows, as the order of the lines has it.

    ``scaling`` are the rows of the GradScaler (unscale, guard), empty without one.
    """
    every = steps_an_epoch(events) or 0
    needed, far = steps_to_play(events)
    taken = list(islice(play(events, base), max(PLAYED_STEPS, min(every + 2, LONGEST), needed)))
    last = [event for event in events if event.kind == "step"][-1]
    if not taken:
        raise last.statement.place.error("this step is never reached: the condition in front of it is never true")
    _check_single(taken)
    reading = LoopReading([], [], taken=taken)
    reading.behind = [event.what for event in events if event.kind == "weights"]
    reading.timed = timed_events(events, taken, far)
    _check_alike(taken, events, reading.timed)
    check_batches(taken)
    steady = taken[min(1, len(taken) - 1)]
    if not any(isinstance(mark, Backward) for mark in steady.content or ()):
        reading.front = [DroppedGradient(to_none=steady.content is None)]
        reading.remarks.append("zero_grad() comes between backward() and step(): every gradient is thrown away")
        return reading
    if not taken[0].batches:
        raise steady.event.statement.place.error(
            "step() comes before backward() here, so that each step uses the gradient of the batch before; "
            "put backward() in front of step()"
        )
    _collect(reading, steady, scaling, events)
    _guarded(reading, events)
    _unused(reading, events)
    return reading


def _check_single(taken: Sequence[Taken]) -> None:
    for one, other in pairwise(taken):
        if one.batches == other.batches and one.batches:
            raise other.event.statement.place.error(
                "step() is called twice for one gradient here; leave one of the two out"
            )


def _check_alike(taken: Sequence[Taken], events: Sequence[Event], timed: Sequence[Event]) -> None:
    """ParseError when later steps are made otherwise than earlier ones, beside the ``timed`` clips and edits."""
    changing = [event for event in events if event.kind in ("clip", "edit", "zero", "backward", "unscale")]
    steady = _shape(taken[min(1, len(taken) - 1)], timed)
    for k, one in enumerate(taken[2:], 2):
        if _shape(one, timed) != steady:
            under = [event for event in changing if event.statement.conditions] or changing
            raise under[-1].statement.place.error(
                f"from step {k} on this makes another step than before; paste the lines of one phase, and change the "
                "setting live when the other begins"
            )


def _shape(one: Taken, timed: Sequence[Event]) -> tuple[Any, ...]:
    """What happened to the gradient since the newest batch, and how many gradients there are at all."""
    if one.content is None:
        return (None,)
    newest = max((i for i, mark in enumerate(one.content) if isinstance(mark, Backward)), default=-1)
    return (newest >= 0, *(id(mark) for mark in one.content[newest + 1 :] if mark not in timed))


def _collect(reading: LoopReading, steady: Taken, scaling: Sequence[Transform], events: Sequence[Event]) -> None:
    """Accumulation, the loss's factor and penalties, and what is done to the gradient afterwards."""
    taken, content = reading.taken, list(steady.content or ())
    steps = taken[1].batches - taken[0].batches if len(taken) > 1 else taken[0].batches
    first = taken[0].batches
    batches = [mark.batch for mark in content if isinstance(mark, Backward)]
    kept = _kept(sorted(set(batches)), steady, steps, first)
    newest = [mark.event for mark in content if isinstance(mark, Backward) and mark.batch == batches[-1]]
    end = max(i for i, mark in enumerate(content) if isinstance(mark, Backward))
    early = [mark for mark in content[:end] if isinstance(mark, Event)]
    after = [mark for mark in content[end + 1 :] if isinstance(mark, Event)]
    if reading.timed:
        after = [event for event in events if event in after or event in reading.timed]
    clip = _clip_of_sums(early, after)
    if early and clip is None:
        raise early[0].statement.place.error(
            "the gradient is changed here and further gradients are then added to it; do it once, just before step()"
            + ("" if kept != "ever" else ", and put optimizer.zero_grad() into the loop")
        )
    factor, penalties = _loss(newest)
    parts = round(1.0 / factor) if factor else 0
    if steps == 1 and parts > 1 and abs(parts * factor - 1.0) < 1e-9 and is_excerpt([*newest, steady.event]):
        steps = first = parts  # loss / 4 alone, without the loop, speaks of accumulation
    mean = kept == "step" and clip is None and steps > 1 and abs(factor * steps - 1.0) < 1e-9
    rows: list[Transform] = []
    if factor != 1.0 and not mean:
        rows.append(named_factor(factor, "factor of the loss", f"the loss is multiplied by {factor:.6g}"))
    ahead = first if kept != "ever" and first != steps else None
    if clip is not None:
        rows.append(ClippedAccumulate(steps=steps, mean=False, schedule="steps", first=ahead, kept=kept, max_norm=clip))
        after = after[1:]
    elif steps > 1 or kept == "ever":
        rows.append(Accumulate(steps=steps, mean=mean, schedule="steps", first=ahead, kept=kept))
        if kept == "ever":
            rows[-1].label = "gradients added up, no zero_grad"
    if kept == "ever":
        reading.remarks.append("there is no zero_grad(): each step uses the sum of all gradients so far")
    if reading.timed and (scaling or early):
        raise reading.timed[0].statement.place.error(
            "this acts in some steps only, and with a GradScaler or sums of gradients that is not reproduced; paste "
            "the lines of one phase, and switch this cause on or off live when its step comes: the change is recorded"
        )
    behind = _after(after, newest, steady, scaling, reading.timed, events)
    reading.remarks += [when(event, taken) for event in reading.timed]
    if penalties and any(isinstance(row, LossScale) for row in behind):
        place = next(i for i, row in enumerate(behind) if isinstance(row, LossScale))
        if place:
            raise newest[0].statement.place.error("a penalty in a scaled loss that is clipped before unscaling")
        guard = 2 if len(behind) > 1 and isinstance(behind[1], FiniteGuard) else 1
        reading.front = [*rows, *behind[:guard], *penalties, *behind[guard:]]
    else:
        reading.front = [*penalties, *rows, *behind]


def _clip_of_sums(early: Sequence[Event], after: Sequence[Event]) -> float | None:
    """The limit, where one and the same clip by global norm stands behind every backward(); None otherwise."""
    if not early or not after or any(event is not after[0] for event in early):
        return None
    rows = clip_rows(after[0]) if after[0].kind == "clip" else []
    clip = rows[0] if len(rows) == 1 else None
    return clip.max_norm if isinstance(clip, ClipByGlobalNorm) and clip.norm_type == 2.0 else None


def _kept(batches: Sequence[int], steady: Taken, steps: int, first: int) -> str:
    """Which gradients are in the sum at a step: 'step', 'last' or 'ever'."""
    now = steady.batches
    if list(batches) == list(range(now - steps + 1, now + 1)) and now > steps:
        return "step"
    if list(batches) == list(range(1, now + 1)):
        return "ever" if now > steps else "step"
    if list(batches) == [now]:
        return "last"
    raise steady.event.statement.place.error(
        f"at this step the gradient holds those of the batches {', '.join(map(str, batches))}, {now} being the newest; "
        "for sums like this there is no row here"
    )


def _loss(backwards: Sequence[Event]) -> tuple[float, list[Transform]]:
    """(the factor of the problem's loss, the penalties in it) over all backward() of one batch."""
    factors: dict[Any, float] = {}
    penalties: dict[Any, list[Transform]] = {}
    for event in backwards:
        try:
            terms = loss_terms(event.what, beside=len(backwards) > 1)
        except ParseError:
            raise
        except SettingError as error:
            raise event.statement.place.error(str(error)) from None
        key = id(event.what) if isinstance(event.what, Call) else str(getattr(event.what, "text", id(event.what)))
        if terms.parts or not terms.penalties:
            factors[key] = factors.get(key, 0.0) + terms.factor
        penalties[key] = terms.rows()
    if len(set(factors.values())) > 1:
        raise backwards[-1].statement.place.error(
            "several losses with different factors are added up here; the problem chosen stands for all of them: "
            "give it these factors, and paste one loss.backward()"
        )
    return next(iter(factors.values())), [row for rows in penalties.values() for row in rows]


def _after(
    after: Sequence[Event],
    backwards: Sequence[Event],
    step: Taken,
    scaling: Sequence[Transform],
    timed: Sequence[Event],
    events: Sequence[Event],
) -> list[Transform]:
    """Clips, edits and unscaling between the last backward() and step(), in order."""
    scaled = bool(scaling) and all(event.scaled for event in backwards)
    if scaling and step.event.scaled and not scaled:
        raise step.event.statement.place.error(
            "scaler.step() needs a loss that was scaled: scaler.scale(loss).backward() (PyTorch stops here)"
        )
    rows: list[Transform] = []
    unscaled = False
    guard = list(scaling) if step.event.scaled else list(scaling[:1])
    for event in after:
        if event.kind == "unscale" and scaled and not unscaled:
            rows += guard
            unscaled = True
            continue
        own = clip_rows(event) if event.kind == "clip" else [event.what] if event.kind == "edit" else []
        rows += in_its_steps(own, event, events) if event in timed else own
    if scaled and not unscaled:
        if step.event.scaled:
            rows += guard
        else:
            for event in events:
                if event.kind == "update":
                    raise event.statement.place.error(
                        "scaler.update() finds nothing that the scaler has unscaled (PyTorch stops here); call "
                        "scaler.step(optimizer) instead of optimizer.step()"
                    )
            scale = next(row for row in scaling if isinstance(row, LossScale)).initial_scale
            label = "loss scale, never divided out"
            rows.insert(0, named_factor(scale, label, f"optimizer.step() on gradients times {scale:.6g}"))
    return rows


def clip_rows(event: Event) -> list[Transform]:
    """The rows of a clip; in a loop over parameters each is clipped by its own norm."""
    call: Call = event.what
    rows = clip_transforms(call)
    own = [loop for loop in event.statement.loops if loop.over_parameters]
    grouped = any("param_groups" in str(getattr(loop.walked, "text", "")) for loop in own)
    if call.name in ("clip_grad_norm_", "clip_grad_norm") and own and not grouped:
        values = clip_values(call)
        if values["norm_type"] != 2.0:
            raise call.error("each parameter clipped by a norm of its own other than the Euclidean one has no row here")
        rows = [*rows[:-1], ClipByNorm(max_norm=values["max_norm"], convention="torch")]
    return rows if event.part is None or not rows else [*rows[:-1], Masked(rows[-1], event.part)]


def _guarded(reading: LoopReading, events: Sequence[Event]) -> None:
    """``if torch.isnan(loss): continue`` leaves the steps out whose loss, and with it the gradient, is not finite."""
    for event in events:
        conditions = event.statement.conditions if event.kind in ("backward", "step") else ()
        if any(FINITE.search(describe(condition)) for condition in conditions):
            reading.front.insert(0, FiniteGuard())
            return


def _unused(reading: LoopReading, events: Sequence[Event]) -> None:
    """Clips that reach no step stand in the chain switched off, with a remark that says why."""
    used = {id(mark) for one in reading.taken for mark in (*(one.content or ()), *reading.timed)}
    for event in events:
        if event.kind not in ("clip", "edit") or id(event) in used:
            continue
        place = event.statement.place
        reading.remarks.append(
            f"line {place.line} ({place.quote}) changes nothing: there the gradient is not yet computed or already used"
        )
        for row in clip_rows(event) if event.kind == "clip" else []:
            row.enabled = False
            reading.front.append(row)
