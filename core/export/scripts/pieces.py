"""What the loops of the frameworks have in common: the loss as functions, and the noise on the gradient."""

from __future__ import annotations

from core.export.scripts.formula import coordinate_names, forward_lines
from core.export.scripts.plan import Plan, indented, losses, noise_of


def loss_functions(plan: Plan, framework: str) -> list[str]:
    """'def loss(p, step)' over the vector of weights; one function more a live change of the problem."""
    found = losses(plan)
    lines: list[str] = []
    for step, objective in found:
        body, notes = forward_lines(objective, framework)
        plan.notes += notes
        name = "loss(p, step)" if len(found) == 1 else f"loss_from_{step}(p)"
        unpacked = [f"{coordinate} = p[{i}]" for i, coordinate in enumerate(coordinate_names(objective))]
        lines += ["", f"def {name}:", *indented([*unpacked, *body]), ""]
    if len(found) > 1:
        chosen = [f"if step >= {step}:\n        return loss_from_{step}(p)" for step, _ in reversed(found[1:])]
        lines += ["", "def loss(p, step):", *indented(chosen), "    return loss_from_0(p)", ""]
    return lines


def noise_function(plan: Plan) -> list[str]:
    """'def noise(step)' as Stepscope draws it, or nothing when there is none."""
    if plan.is_model:
        return []
    found = [(step, noise_of(objective)) for step, objective in losses(plan)]
    if not any(sigma for _, sigma in found):
        return []
    sigma = repr(found[0][1])
    for step, value in found[1:]:
        sigma = (
            f"{value!r} if step >= {step} else ({sigma})"
            if len(found) > 2
            else f"{value!r} if step >= {step} else {sigma}"
        )
    draw = f"np.random.default_rng(({plan.experiment.seed}, step)).standard_normal({len(plan.start)})"
    return ["", "def noise(step):", f"    sigma = {sigma}", f"    return sigma * {draw}", ""]


def has_noise(plan: Plan) -> bool:
    """Whether any step has noise on its gradient."""
    return not plan.is_model and any(noise_of(objective) for _, objective in losses(plan))
