"""The loop of an optax script: JAX in float64, the transformation's update, apply_updates."""

from __future__ import annotations

import itertools

from core.export.scripts.lines import right_side, same_shape, statements
from core.export.scripts.pieces import has_noise, loss_functions, noise_function
from core.export.scripts.plan import Plan, ScriptError, indented
from core.optim import emit_optimizer

_ELSEWHERE = {"lookahead": "its parameters are a pair", "sam": "it differentiates inside its own steps"}


def body(plan: Plan) -> list[str]:
    """The lines of the script; ScriptError or NotRepresentable says what optax cannot do."""
    written = []
    for stretch in plan.stretches:
        found, comments = statements(emit_optimizer(stretch.optimizer, "optax"))
        plan.note(comments)
        if len(found) != 1:
            raise ScriptError("optax: the optimizer takes more than one statement, which has no place in this loop")
        written.append((stretch.step, right_side(found[0])))
    first = written[0][1]
    for name, reason in _ELSEWHERE.items():
        if f".{name}(" in first:
            raise ScriptError(f"optax: {name} cannot be written in a plain loop: {reason}")
    jax_gradient = "value_and_gradient = jax.jit(jax.value_and_grad(loss), static_argnums=1)"
    if "step" not in "".join(_step_lines(plan)):
        jax_gradient = "value_and_gradient = jax.jit(jax.value_and_grad(loss))"
    lines = ["import jax", "import jax.numpy as jnp", "import numpy as np", "import optax", ""]
    lines += ['jax.config.update("jax_enable_x64", True)']
    lines += [*loss_functions(plan, "optax"), *noise_function(plan), ""]
    lines += [jax_gradient, f"p = jnp.array({plan.start!r}, dtype=jnp.float64)"]
    lines += [f"optimizer = optax.with_extra_args_support({first})", "state = optimizer.init(p)"]
    loop: list[str] = []
    for (_, before), (step, after) in itertools.pairwise(written):
        if before == after:
            continue
        if not same_shape(before, after):
            raise ScriptError(
                f"optax: at step {step} {before} would have to become {after}, with another kind of state"
            )
        # the state goes on: it has the same structure, only numbers have changed
        loop += [f"if step == {step}:", f"    optimizer = optax.with_extra_args_support({after})"]
    loop += ["value, gradient = value_and_gradient(p, step)"]
    if has_noise(plan):
        loop.append("gradient = gradient + noise(step)")
    loop += ["print(step, float(value), *map(float, p))"]
    extra = "value=value, grad=gradient, value_fn=lambda q: loss(q, step)"
    loop += [f"updates, state = optimizer.update(gradient, state, p, {extra})", "p = optax.apply_updates(p, updates)"]
    return [*lines, "", f"for step in range({plan.steps}):", *indented(loop)]


def _step_lines(plan: Plan) -> list[str]:
    return ["step"] if len({stretch.objective.identity for stretch in plan.stretches}) > 1 else []
