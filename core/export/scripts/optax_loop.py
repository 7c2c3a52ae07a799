"""The loop of an optax script: JAX in float64, the transformation's update, apply_updates."""

from __future__ import annotations

import ast
import itertools

from core.export.scripts.data import data_lines
from core.export.scripts.lines import right_side, same_shape, statements
from core.export.scripts.network import network_lines
from core.export.scripts.numpy_schedules import rates
from core.export.scripts.pieces import has_noise, loss_functions, noise_function
from core.export.scripts.plan import Plan, ScriptError, indented
from core.optim import Optimizer, emit_optimizer

_SINGLE = frozenset(
    {"linear_schedule", "polynomial_schedule", "exponential_decay", "piecewise_constant_schedule"}
    | {"piecewise_interpolate_schedule", "warmup_cosine_decay_schedule", "warmup_exponential_decay_schedule"}
    | {
        "linear_onecycle_schedule",
        "cosine_onecycle_schedule",
        "sgdr_schedule",
        "join_schedules",
        "warmup_constant_schedule",
    }
)
"""Schedules that divide optax's int32 count, which gives float32 (tests/reference/README.md, section 7)."""
_ELSEWHERE = {"lookahead": "its parameters are a pair", "sam": "it differentiates inside its own steps"}


def body(plan: Plan) -> list[str]:
    """The lines of the script; ScriptError or NotRepresentable says what optax cannot do."""
    written = []
    for stretch in plan.stretches:
        found, comments = statements(emit_optimizer(stretch.optimizer, "optax"))
        plan.note(comments)
        if len(found) != 1:
            raise ScriptError("optax: the optimizer takes more than one statement, which has no place in this loop")
        written.append((stretch.step, _own_rates(right_side(found[0]), stretch.optimizer, plan)))
    first = written[0][1]
    for name, reason in _ELSEWHERE.items():
        if f".{name}(" in first:
            raise ScriptError(f"optax: {name} cannot be written in a plain loop: {reason}")
    lines = [
        "import math",
        "from pathlib import Path",
        "",
        "import jax",
        "import jax.numpy as jnp",
        "import numpy as np",
    ]
    lines += ["import optax", "", 'jax.config.update("jax_enable_x64", True)']
    given, weights = "step", "*map(float, p)"
    if plan.is_model:
        given, weights = "*inputs(step)", "*(w for name in NAMES for w in np.ravel(p[name]).tolist())"
        names = [variable.name for variable in plan.first.objective.variables]
        lines += [*data_lines(plan), f"NAMES = {names!r}", *network_lines(plan, "optax"), ""]
    else:
        lines += [*loss_functions(plan, "optax"), *noise_function(plan), ""]
    if any("lambda count: rates[count]" in text for _, text in written):
        lines += [f"rates = jnp.array({rates(plan)!r}, dtype=jnp.float64)"]
    static = ", static_argnums=1" if _by_step(plan) else ""
    lines.append(f"value_and_gradient = jax.jit(jax.value_and_grad(loss){static})")
    start = f"jnp.array({plan.start!r}, dtype=jnp.float64)"
    lines.append("p = dict(zip(NAMES, map(jnp.array, unpack(start))))" if plan.is_model else f"p = {start}")
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
    loop += [f"value, gradient = value_and_gradient(p, {given})"]
    if has_noise(plan):
        loop.append("gradient = gradient + noise(step)")
    loop += [f"print(step, float(value), {weights})"]
    extra = f"value=value, grad=gradient, value_fn=lambda q: loss(q, {given})"
    loop += [f"updates, state = optimizer.update(gradient, state, p, {extra})", "p = optax.apply_updates(p, updates)"]
    return [*lines, "", f"for step in range({plan.steps}):", *indented(loop)]


class _Replace(ast.NodeTransformer):
    """Puts the table of rates in the place of every schedule that optax computes in float32; counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.misplaced = 0
        self._rates: set[int] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for keyword in node.keywords:
            if keyword.arg == "learning_rate":
                self._rates.add(id(keyword.value))
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _SINGLE:
            self.count += 1
            self.misplaced += id(node) not in self._rates
            return ast.parse("lambda count: rates[count]", mode="eval").body
        return self.generic_visit(node)


def _own_rates(text: str, optimizer: Optimizer, plan: Plan) -> str:
    replace = _Replace()
    tree = replace.visit(ast.parse(text, mode="eval"))
    if not replace.count:
        return text
    if replace.misplaced or replace.count > 1 or optimizer.chain.rate is None:
        raise ScriptError("optax: it computes the schedule in these lines in float32, so the steps would differ")
    plan.notes.append(f"optax computes the schedule of {text} in float32; its rates stand below in float64")
    return ast.unparse(ast.fix_missing_locations(tree))


def _by_step(plan: Plan) -> bool:
    """Whether the loss itself asks for the step."""
    return not plan.is_model and len({stretch.objective.identity for stretch in plan.stretches}) > 1
