"""The loop of a PyTorch script: clips between backward and step, the scheduler after it."""

from __future__ import annotations

import itertools

from core.export.scripts.data import data_lines
from core.export.scripts.lines import Statement, by_step, differing, right_side, statements
from core.export.scripts.network import network_lines
from core.export.scripts.pieces import has_noise, loss_functions, noise_function
from core.export.scripts.plan import Plan, ScriptError, indented
from core.optim import emit_optimizer

_ALTERABLE = {
    "lr": None,
    "weight_decay": "0",
    "betas": "(0.9, 0.999)",
    "eps": "1e-08",
    "momentum": None,
    "alpha": "0.99",
}
"""Settings PyTorch reads anew at every step, with what holds when they are not written (None: must be written)."""

_TENSORS = """
def tensors(step):
    return [torch.as_tensor(value) for value in inputs(step)]
"""


def body(plan: Plan) -> list[str]:
    """The lines of the script; ScriptError or NotRepresentable says what PyTorch cannot do."""
    parsed = [
        (stretch.step, *_sorted_out(emit_optimizer(stretch.optimizer, "torch"), plan)) for stretch in plan.stretches
    ]
    _, _, optimizer, scheduler = parsed[0]
    if optimizer.path.endswith(".Muon") and any(len(v.shape) != 2 for v in plan.first.objective.variables):
        raise ScriptError("torch: torch.optim.Muon takes matrices only, and this problem has variables that are none")
    is_lbfgs = optimizer.path.endswith(".LBFGS")
    if is_lbfgs and plan.is_model:
        plan.notes.append(
            "L-BFGS divides by differences of gradients, which magnifies rounding: with mini-batches the trajectories "
            "of two libraries part after some steps"
        )
    noise = has_noise(plan)
    lines = ["import math", "from pathlib import Path", "", "import numpy as np", "import torch"]
    lines += ["import torch.nn.functional as F", ""] if plan.is_model else [""]
    lines.append("torch.set_default_dtype(torch.float64)")
    loss, weights = "loss(p, step)", "*p.tolist()"
    if plan.is_model:
        loss, weights = "loss(params, *tensors(step))", "*(w for q in params for w in q.detach().reshape(-1).tolist())"
        lines += [*data_lines(plan), *network_lines(plan, "torch"), *_TENSORS.splitlines(), ""]
        lines.append("params = [torch.tensor(part, requires_grad=True) for part in unpack(start)]")
    else:
        lines += [*loss_functions(plan, "torch"), *noise_function(plan), ""]
        lines += [f"p = torch.tensor({plan.start!r}, dtype=torch.float64, requires_grad=True)", "params = [p]"]
    lines += [f"optimizer = {right_side(optimizer)}"]
    if scheduler is not None:
        lines.append(f"scheduler = {right_side(scheduler)}")
    loop = _changes(parsed)
    clips = by_step([(step, [clip.text for clip in found]) for step, found, _, _ in parsed])
    gradient = ["optimizer.zero_grad()", f"value = {loss}", "value.backward()"]
    if noise:
        gradient.append("p.grad += torch.from_numpy(noise(step))")
    if is_lbfgs:
        loop += ["", "def closure():", *indented([*gradient, "return value"]), ""]
        loop += [f"print(step, {loss}.item(), {weights})", "optimizer.step(closure)"]
    else:
        loop += [*gradient, f"print(step, value.item(), {weights})", *clips, "optimizer.step()"]
    if scheduler is not None:
        loop.append("scheduler.step(value)" if "ReduceLROnPlateau" in scheduler.path else "scheduler.step()")
    return [*lines, "", f"for step in range({plan.steps}):", *indented(loop)]


Sorted = tuple[list[Statement], Statement, Statement | None]


def _sorted_out(text: str, plan: Plan) -> Sorted:
    """(clips, optimizer, scheduler) of the emitted lines; whatever else they hold has no place in the loop."""
    found, comments = statements(text)
    plan.note(comments)
    clips: list[Statement] = []
    optimizer: Statement | None = None
    scheduler: Statement | None = None
    for statement in found:
        if statement.path.startswith("torch.nn.utils.clip_grad_"):
            clips.append(statement)
        elif statement.path.startswith("torch.optim.lr_scheduler."):
            scheduler = statement
        elif statement.path.startswith("torch.optim.") and optimizer is None:
            optimizer = statement
        else:
            raise ScriptError(f"torch: the line {statement.text!r} has no place in a plain training loop")
    if optimizer is None:
        raise ScriptError("torch: there is no optimizer line")
    if "'params'" in optimizer.text:
        raise ScriptError("torch: groups of variables with settings of their own are not written out")
    return clips, optimizer, scheduler


def _changes(parsed: list[tuple[int, list[Statement], Statement, Statement | None]]) -> list[str]:
    """Live changes as assignments to the optimizer's group, at their step."""
    lines: list[str] = []
    for (_, _, before, old_schedule), (step, _, after, new_schedule) in itertools.pairwise(parsed):
        if (old_schedule is None) != (new_schedule is None) or (
            old_schedule is not None and new_schedule is not None and old_schedule.text != new_schedule.text
        ):
            raise ScriptError(f"torch: at step {step} the schedule was changed, which a scheduler cannot do in its run")
        changed = differing(before, after)
        if not changed:
            continue
        if before.path != after.path:
            raise ScriptError(f"torch: at step {step} {before.path} would have to become {after.path}")
        lines.append(f"if step == {step}:")
        for key, (old, new) in changed.items():
            if key not in _ALTERABLE:
                raise ScriptError(f"torch: at step {step} {key} was changed, which PyTorch's state does not follow")
            if key == "lr" and new_schedule is not None:
                raise ScriptError(
                    f"torch: at step {step} the base learning rate was changed under a schedule; PyTorch's schedulers "
                    "go on from the rate they have reached"
                )
            default = "0.01" if key == "weight_decay" and before.path.endswith("AdamW") else _ALTERABLE[key]
            if default is None and (old is None or new is None):
                raise ScriptError(
                    f"torch: at step {step} {key} was switched on or off, which PyTorch's state does not follow"
                )
            if key == "eps" and not before.path.endswith(("Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adamax")):
                default = None
            value = new if new is not None else default
            if value is None:
                raise ScriptError(f"torch: at step {step} {key} went back to its default; write it out in the lines")
            lines.append(f'    optimizer.param_groups[0]["{key}"] = {value}')
    return lines
