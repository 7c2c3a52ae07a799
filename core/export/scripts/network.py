"""The loss of a model in a framework's functions: linear layers, activations, normalisation, recurrence."""

from __future__ import annotations

from collections.abc import Mapping

from core.export.scripts.data import arguments, has_penalty, masks, models
from core.export.scripts.plan import Plan, ScriptError, indented
from core.problems.heads import BinaryHead, SoftmaxHead
from core.problems.layers import EPSILON
from core.problems.models import ModelObjective
from core.problems.network import MLP
from core.problems.recurrent import ElmanRNN
from core.problems.regressions import LinearModel

# F.softplus goes over to a line at its threshold of 20, where it is off by 2e-9; at 40 by less than rounding
_TORCH = {
    "tanh": "torch.tanh({0})",
    "relu": "torch.relu({0})",
    "leaky_relu": "torch.where({0} > 0, {0}, {0} * 0.01)",
    "elu": "F.elu({0})",
    "gelu": 'F.gelu({0}, approximate="tanh")',
    "silu": "F.silu({0})",
    "sigmoid": "torch.sigmoid({0})",
    "softplus": "F.softplus({0}, threshold=40.0)",
    "sin": "torch.sin({0})",
    "mean": "{0}.mean(dim={1}, keepdim=True)",
    "sqrt": "torch.sqrt({0})",
    "squares": "torch.sum(torch.square({0}))",
    "number": "F.mse_loss(z, y)",
    "binary": "F.binary_cross_entropy_with_logits(z, y)",
    "softmax": "F.cross_entropy(z, y)",
}
_JAX = {
    "tanh": "jnp.tanh({0})",
    "relu": "jax.nn.relu({0})",
    "leaky_relu": "jnp.where({0} > 0, {0}, {0} * 0.01)",
    "elu": "jax.nn.elu({0})",
    "gelu": "jax.nn.gelu({0}, approximate=True)",
    "silu": "jax.nn.silu({0})",
    "sigmoid": "jax.nn.sigmoid({0})",
    "softplus": "jax.nn.softplus({0})",
    "sin": "jnp.sin({0})",
    "mean": "jnp.mean({0}, axis={1}, keepdims=True)",
    "sqrt": "jnp.sqrt({0})",
    "squares": "jnp.sum(jnp.square({0}))",
    "number": "jnp.mean(jnp.square(z - y))",
    "binary": "optax.sigmoid_binary_cross_entropy(z, y).mean()",
    "softmax": "optax.softmax_cross_entropy(z, y).mean()",
}
_KERAS = {
    # see words.py: keras.ops computes these in float32 (mean: divides by a float32)
    "tanh": "exact.tanh({0})",
    "sin": "exact.sin({0})",
    "relu": "ops.relu({0})",
    "leaky_relu": "ops.where({0} > 0, {0}, {0} * f64(0.01))",
    "elu": "ops.elu({0})",
    "gelu": "ops.gelu({0}, approximate=True)",
    "silu": "ops.silu({0})",
    "sigmoid": "ops.sigmoid({0})",
    "softplus": "ops.softplus({0})",
    "mean": "exact.mean({0}, axis={1}, keepdims=True)",
    "sqrt": "ops.sqrt({0})",
    "squares": "ops.sum(ops.square({0}))",
    "number": "exact.mean(ops.square(z - y))",
    "binary": "exact.mean(ops.softplus(z) - y * z)",
    "softmax": "exact.mean(ops.logsumexp(z, axis=-1) - ops.sum(y * z, axis=-1))",
}
_WORDS: Mapping[str, Mapping[str, str]] = {"torch": _TORCH, "optax": _JAX, "keras": _KERAS}


def network_lines(plan: Plan, framework: str) -> list[str]:
    """'def loss(params, x, y, ...)' for the model of the plan."""
    words, model = _WORDS[framework], models(plan)[0][1]
    names = [variable.name for variable in model.variables]
    # optax tells variables apart by their names (masks, partitions)
    given = "(params[name] for name in NAMES)" if framework == "optax" else "params"
    body = [f"{', '.join(names)} = {given}", *_outputs(plan, model, words)]
    if not model.head.width and not isinstance(model, LinearModel):
        body.append("z = z[:, 0]")
    cost = words[kind_of(model)]
    if has_penalty(plan):
        squares = " + ".join(words["squares"].format(name) for name in penalised(model))
        half = "f64(0.5)" if framework == "keras" else "0.5"
        body += [f"penalty = {squares}", f"return {cost} + {half} * l2 * penalty"]
    else:
        body.append(f"return {cost}")
    return ["", f"def loss(params, {', '.join(arguments(plan))}):", *indented(body), ""]


def kind_of(model: ModelObjective) -> str:
    """How outputs are scored: 'number', 'binary' or 'softmax'."""
    if isinstance(model.head, SoftmaxHead):
        return "softmax"
    return "binary" if isinstance(model.head, BinaryHead) else "number"


def penalised(model: ModelObjective) -> list[str]:
    """Names of the variables the penalty acts on."""
    return [variable.name for variable in model.variables if variable.role == "weight"]


def _outputs(plan: Plan, model: ModelObjective, words: Mapping[str, str]) -> list[str]:
    if isinstance(model, LinearModel):
        return [f"z = x @ {model.variables[0].name} + b"]
    activation = str(model.options["activation"])
    active = "h = z" if activation == "identity" else f"h = {words[activation].format('z')}"
    if isinstance(model, ElmanRNN):
        return [
            "z = x[:, 0] @ Wx + b",
            active,
            f"for t in range(1, {model.options['length']}):",
            "    z = x[:, t] @ Wx + b + h @ Wh",
            f"    {active}",
            "z = h @ V + c",
        ]
    if not isinstance(model, MLP):
        raise ScriptError(f"{model.title}: this kind of model is not written out")
    norm, dropped = str(model.options["norm"]), masks(plan)
    lines, h = [], "x"
    count = len(model.options["layers"])
    for k in range(1, count + 1):
        lines.append(f"z = {h} @ W{k} + b{k}")
        if norm != "none":
            axis = "0" if norm == "batch" else "1"
            variance = words["mean"].format("(centred * centred)", axis)
            root = words["sqrt"].format(f"{variance} + {EPSILON}")
            lines += [f"centred = z - {words['mean'].format('z', axis)}", f"z = centred / {root} * gamma{k} + beta{k}"]
        lines.append(active)
        if dropped:
            lines.append(f"h = h * {dropped[k - 1]}")
        h = "h"
    return [*lines, f"z = {h} @ W{count + 1} + b{count + 1}"]
