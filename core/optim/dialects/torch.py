"""PyTorch: torch.optim, torch.optim.lr_scheduler, torch.nn.utils clipping and torch.amp loss scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.optim.chain import Chain
from core.optim.dialects.beside import check_beside, made_anew
from core.optim.dialects.gradient_edits import hooks
from core.optim.dialects.recipes import CONDITIONS, Recipe, acting, code, match
from core.optim.dialects.schedule_translation import with_schedules
from core.optim.dialects.syntax import is_number
from core.optim.dialects.torch_assumptions import assumptions, check_alternatives
from core.optim.dialects.torch_events import Event, Events, rate_factor, read_events
from core.optim.dialects.torch_extras import (
    AVERAGES,
    TRAINERS,
    around,
    check_trainer,
    check_turns,
    surrounding_remarks,
    weight_averages,
    written_averages,
)
from core.optim.dialects.torch_freezing import check_subset, clip_of_part, frozen_row, subset_of
from core.optim.dialects.torch_loop import epochs_remark, shows_a_loop
from core.optim.dialects.torch_optimizers import BY_NAME, RECIPES
from core.optim.dialects.torch_parts import (
    CLIPS,
    SCALERS,
    Group,
    accumulation,
    check_everything_known,
    group_dicts,
    loss_scaling,
    written_front,
)
from core.optim.dialects.torch_rates import as_configured, as_stepped, by_turns, check_groups_set, hand_set
from core.optim.dialects.torch_reading import clip_rows, read_front
from core.optim.dialects.torch_schedulers import NAMES as SCHEDULERS
from core.optim.dialects.torch_schedulers import build_schedule, chained, write_schedules
from core.optim.dialects.transformers_schedules import NAMES as TRANSFORMERS
from core.optim.dialects.values import Call, NotRepresentable, Program, describe
from core.optim.dialects.wrappers import check_wrappers
from core.optim.groups import ParameterGroup
from core.optim.optimizer import Optimizer
from core.optim.schedules import Schedule
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenPart
from core.optim.transforms.loss_scale import FiniteGuard, LossScale

NAMES: frozenset[str] = frozenset({*BY_NAME, *SCHEDULERS, *TRANSFORMERS, *CLIPS, *SCALERS, *AVERAGES, *TRAINERS})

EVENTS = Events(BY_NAME, frozenset({*SCHEDULERS, *TRANSFORMERS}), SCALERS, CLIPS)


def build(program: Program) -> Optimizer | None:
    """The optimizer of the program, or None when it has none of ours."""
    calls = [call for call in program.calls() if call.receiver is None]
    check_everything_known(program, NAMES)
    optimizers = [call for call in calls if call.name in BY_NAME]
    if not optimizers:
        check_trainer(calls)
        return None
    if len(optimizers) > 1:
        names = " and ".join(call.name for call in optimizers[:2])
        raise optimizers[1].error(f"there are several optimizers here ({names}); paste the lines of one")
    call = optimizers[0]
    check_wrappers(program, [call], NAMES)
    check_beside(program, call, NAMES)
    recipe = BY_NAME[call.name]
    groups = group_dicts(program, call)
    values = recipe.bind(call)
    events = [_with_part(event, program, call) for event in read_events(program, EVENTS)]
    schedules = [_schedule(program, calls, events, g) for g in range(max(1, len(groups)))]
    mask, remarks = frozen_row(program, call, None if groups else subset_of(program, call))
    behind: list[Transform] = []
    if shows_a_loop(events) and recipe.name != "LBFGS":
        scaler = next((other for other in calls if other.name in SCALERS), None)
        scaling, _ = loss_scaling(program, scaler)
        reading = read_front(events, scaling, values["lr"])
        schedules = [as_stepped(schedule, reading, events) for schedule in schedules]
        bases = [own.get("lr", values["lr"]) for _, own, _ in groups] or [values["lr"]]
        check_groups_set(events, groups)
        found = [hand_set(reading, events, *pair) for pair in zip(schedules, bases, strict=True)]
        if groups and [base for _, base in found] != bases:
            raise call.error("the rates of parameter groups are set by hand here; write them into the groups")
        schedules, values["lr"] = [schedule for schedule, _ in found], found[0][1]
        if scaling and _goes_on(events) and any(schedule is not None for schedule in schedules):
            for row in reading.front:
                if isinstance(row, FiniteGuard):
                    row.set("schedule", "calls")
        behind = reading.behind
        front = [mask, *hooks(program), *reading.front]
        remarks += [*dict.fromkeys(reading.remarks), *epochs_remark(events)]
    else:
        front = [mask, *_front(program, calls, recipe, events)]
        schedules = [as_configured(schedule, program) for schedule in schedules]
        values["lr"] = _rate_set(events, values["lr"])
    made = [c for c in calls if c.name in (*BY_NAME, *SCHEDULERS, *TRANSFORMERS, *SCALERS, *AVERAGES)]
    remarks += [
        *assumptions(program, events, made),
        *surrounding_remarks(program),
        *_clips_scaled(front),
        *made_anew(program, call),
    ]
    collecting, clipping = around(program)
    front = [front[0], *collecting, *front[1:], *clipping]
    if not groups:
        check_subset(subset_of(program, call), front, call)
    averages = [*behind, *weight_averages(calls)]
    if not groups:
        chain = Chain([*front, *recipe.transforms({**values, "schedule": schedules[0]}, call), *averages])
        return Optimizer(chain, dialect="torch", source=program.text, remarks=remarks)
    chains = _group_chains(recipe, call, front, groups, schedules, averages)
    named = [ParameterGroup(chain, group.names, group.rule) for chain, group in zip(chains, groups, strict=True)]
    return Optimizer(chains[0], dialect="torch", source=program.text, groups=named, remarks=remarks)


def _clips_scaled(front: Sequence[Transform]) -> list[str]:
    """A clip in front of the row that divides by the loss scale."""
    at = next((i for i, row in enumerate(front) if isinstance(row, LossScale)), 0)
    clips = [row for row in front[:at] if row.cause == "clipping" and row.enabled]
    if not clips:
        return []
    return [
        f"{clips[0].label} acts on gradients of the scaled loss: scaler.unscale_(optimizer) is not called before it"
    ]


def _with_part(event: Event, program: Program, optimizer: Call) -> Event:
    """A clip with the parameters it is given, where these are not all."""
    if event.kind != "clip":
        return event
    walked = [describe(loop.walked) for loop in event.statement.loops if loop.over_parameters]
    if any("param_groups" in text for text in walked) and len(group_dicts(program, optimizer)) > 1:
        raise event.what.error(
            "each parameter group is clipped by a norm of its own here, which has no row; clip all parameters at once, "
            "or name those of each clip: clip_grad_norm_(model.fc.parameters(), 1.0)"
        )
    return replace(event, part=clip_of_part(program, event, optimizer))


def _goes_on(events: Sequence[Event]) -> bool:
    """True when scheduler.step() stands beside the step itself and is called whether or not that was refused."""
    deepest = max(len(event.turns) for event in events if event.kind == "step")
    return any(
        event.kind == "schedule"
        and len(event.turns) == deepest
        and not any("scale" in describe(condition) for condition in event.statement.conditions)
        for event in events
    )


def _rate_set(events: Sequence[Event], base: float) -> float:
    """The rate that lines set by hand behind the constructor."""
    for event in events:
        if event.kind == "rate":
            factor = rate_factor(event.what)
            value = event.what if factor is None else factor[1]
            if not is_number(value):
                raise event.statement.place.error(
                    "the rate set here is no number; paste the whole loop, write it into the constructor, or use a "
                    "scheduler"
                )
            base = float(value) if factor is None else base * value if factor[0] == "*" else base / value
    return base


def _front(program: Program, calls: Sequence[Call], recipe: Recipe, events: Sequence[Event]) -> list[Transform]:
    """What happens to the gradient before the optimizer sees it where the lines show no loop, in their order."""
    clips = [call for call in calls if call.name in CLIPS]
    scaler = next((call for call in calls if call.name in SCALERS), None)
    scaling, unscales_late = loss_scaling(program, scaler)
    collecting = accumulation(program)
    if recipe.name == "LBFGS" and (clips or scaling or collecting):
        place = clips[0] if clips else scaler
        message = "LBFGS evaluates the loss several times a step; clipping, scaling and accumulation cannot go with it"
        raise place.error(message) if place is not None else NotRepresentable(message)
    clipping: list[Transform] = []
    for event in events:
        clipping += clip_rows(event) if event.kind == "clip" else []
        clipping += [event.what] if event.kind == "edit" else []
    late = [*clipping, *scaling] if unscales_late else [*scaling, *clipping]
    return [*hooks(program), *collecting, *late]


def _schedule(program: Program, calls: Sequence[Call], events: Sequence[Event], group: int) -> Schedule | None:
    """All schedulers that are not parts of another: several act on top of each other, or by turns."""
    inner: set[int] = set()
    found = [call for call in calls if call.name in SCHEDULERS or call.name in TRANSFORMERS]
    for call in found:
        for value in (*call.args, *call.kwargs.values()):
            if isinstance(value, list | tuple):
                inner.update(id(item) for item in value)
    outer = [call for call in found if id(call) not in inner]
    if not outer:
        return None
    built = [build_schedule(call, group) for call in outer]
    alternating = by_turns(built, outer, events)
    if alternating is not None:
        return alternating
    if len(built) == 1:
        return built[0]
    check_turns(program, outer)
    check_alternatives(program, outer)
    return chained(built, outer[1])


def _group_chains(
    recipe: Recipe,
    call: Call,
    front: Sequence[Transform],
    groups: Sequence[Group],
    schedules: Sequence[Schedule | None],
    averages: Sequence[Transform],
) -> list[Chain]:
    """One chain a group with the same rows in each: a row that a group does not have is switched off there."""
    bodies = []
    stated = {**dict(zip([setting.name for setting in recipe.settings], call.args, strict=False)), **call.kwargs}
    for (_, own, _), schedule in zip(groups, schedules, strict=True):
        merged = Call(call.path, (), {**stated, **own}, call.place, call.text, kwarg_places=call.kwarg_places)
        values = recipe.bind(merged)
        bodies.append(recipe.transforms({**values, "schedule": schedule}, call))
    longest: list[str] = []
    for body in bodies:
        longest = _merged_names(longest, [transform.name for transform in body])
    chains = []
    for body in bodies:
        own_rows = {transform.name: transform for transform in body}
        full = []
        for name in longest:
            transform = own_rows.get(name)
            if transform is None:
                model = next(other for other_body in bodies for other in other_body if other.name == name)
                transform = type(model)(**model.values())
                transform.group, transform.enabled = model.group, False
            full.append(transform)
        chains.append(Chain([*front, *full, *averages]))
    return chains


def _merged_names(a: list[str], b: list[str]) -> list[str]:
    """Both lists of row names in one, each keeping its order."""
    result: list[str] = []
    rest = list(b)
    for name in a:
        if name in rest:
            while rest[0] != name:
                result.append(rest.pop(0))
            rest.pop(0)
        result.append(name)
    return result + rest


def emit(optimizer: Optimizer) -> str:
    """The PyTorch lines for the optimizer; NotRepresentable when torch.optim cannot do exactly this."""
    optimizer = with_schedules(optimizer, "torch")
    rate = optimizer.chain.rate
    if rate is None:
        raise NotRepresentable("torch.optim always has a learning rate; this chain has none")
    schedules = [group.chain.rate.schedule if group.chain.rate is not None else None for group in optimizer.groups]
    if any(isinstance(row, FrozenPart) for row in optimizer.chain):
        raise NotRepresentable("which variables are frozen is said by lines of the model, not by the optimizer's")
    if any(group.rule is not None for group in optimizer.groups):
        raise NotRepresentable("parameter groups picked by a rule are made by lines around the optimizer's own")
    lines, rest = written_front(acting(optimizer.chain))
    behind, _ = written_averages(rest)
    bodies = []
    for group, own in zip(optimizer.groups, schedules, strict=True):
        body = acting(group.chain)[len(acting(optimizer.chain)) - len(rest) :]
        bodies.append(match(RECIPES, written_averages(body)[1], {"schedule": own}, "torch.optim"))
    names = {recipe.name for recipe, _ in bodies}
    if len(names) > 1:
        raise NotRepresentable(f"the parameter groups would need different optimizers: {', '.join(sorted(names))}")
    notes = sorted({note for _, found in bodies for note in found.get(CONDITIONS, ())})
    lines = [*(f"# {note}" for note in notes), *lines]
    recipe, values = bodies[0]
    first = "params" if len(bodies) == 1 else _written_groups(optimizer, bodies)
    text = f"torch.optim.{recipe.name}({recipe.written(values, [first])})"
    scheduler = write_schedules(schedules)
    after = [f"scheduler = {scheduler}"] if scheduler else []
    guards = [row for row in acting(optimizer.chain) if isinstance(row, FiniteGuard)]
    if after and any(guard.schedule == "calls" for guard in guards):
        return "\n".join([*_scaled_loop(lines, f"optimizer = {text}", after), *behind])
    if not after and not behind:
        return "\n".join([*lines, text])
    return "\n".join([*lines, f"optimizer = {text}", *after, *behind])


def _scaled_loop(lines: Sequence[str], optimizer: str, after: Sequence[str]) -> list[str]:
    """The lines with the step written out, since scheduler.step() goes on there when the scaler refuses a step."""
    made = [line for line in lines if line.startswith(("#", "scaler ="))]
    backward = next((line for line in lines if line.endswith(".backward()")), "(loss).backward()")
    clips = [line for line in lines if line not in made and line != backward]
    loss = backward.removesuffix(".backward()").strip("()")
    unscale = ["scaler.unscale_(optimizer)"] if clips else []
    step = ["scaler.step(optimizer)", "scaler.update()", "scheduler.step()"]
    return [*made, optimizer, *after, f"scaler.scale({loss}).backward()", *unscale, *clips, *step]


def _written_groups(optimizer: Optimizer, bodies: Sequence[tuple[Recipe, dict[str, Any]]]) -> str:
    recipe, shared = bodies[0]
    parts = []
    for g, (group, (_, values)) in enumerate(zip(optimizer.groups, bodies, strict=True)):
        names = group.names or (f"group_{g}",)
        written = f"[{', '.join(names)}]" if len(names) > 1 else names[0]
        pairs = [f"'params': {written}"]
        for setting in recipe.settings:
            if setting.at and values[setting.name] != shared[setting.name]:
                pairs.append(f"'{setting.name}': {code(values[setting.name])}")
        parts.append("{" + ", ".join(pairs) + "}")
    return f"[{', '.join(parts)}]"
