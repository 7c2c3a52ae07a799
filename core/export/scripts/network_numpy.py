"""Loss and gradient of a model in plain NumPy: the forward pass, and the backward pass written out by hand."""

from __future__ import annotations

from core.export.scripts.data import arguments, has_penalty, masks, models
from core.export.scripts.network import kind_of, penalised
from core.export.scripts.plan import Plan, ScriptError, indented
from core.problems.layers import EPSILON
from core.problems.models import ModelObjective
from core.problems.network import MLP
from core.problems.recurrent import ElmanRNN
from core.problems.regressions import LinearModel

_SIGMOID = ["    e = np.exp(-np.abs(z))", "    return np.where(z >= 0, 1.0, e) / (1.0 + e)"]
_GELU = [
    "    near = np.clip(z, -10.0, 10.0)",
    "    t = np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near**3))",
]
# activation -> lines that return its value, lines that return its slope from z and its value h
_ACTIVATIONS: dict[str, tuple[list[str], list[str]]] = {
    "tanh": (["    return np.tanh(z)"], ["    return 1.0 - h * h"]),
    "relu": (["    return np.maximum(z, 0.0)"], ["    return (h > 0).astype(np.float64)"]),
    "leaky_relu": (["    return np.where(z > 0, z, z * 0.01)"], ["    return np.where(z > 0, 1.0, 0.01)"]),
    "elu": (
        ["    return np.where(z > 0, z, np.expm1(np.minimum(z, 0.0)))"],
        ["    return np.where(z > 0, 1.0, np.exp(np.minimum(z, 0.0)))"],
    ),
    "gelu": (
        [*_GELU, "    return 0.5 * z * (1.0 + t)"],
        [
            *_GELU,
            "    inner = math.sqrt(2 / math.pi) * (1.0 + 3 * 0.044715 * near**2) * (np.abs(z) <= 10.0)",
            "    return 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * inner",
        ],
    ),
    "silu": (["    return z * sigmoid(z)"], ["    s = sigmoid(z)", "    return s * (1.0 + z * (1.0 - s))"]),
    "sigmoid": (["    return sigmoid(z)"], ["    return h * (1.0 - h)"]),
    "softplus": (
        ["    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))"],
        ["    return sigmoid(z)"],
    ),
    "sin": (["    return np.sin(z)"], ["    return np.cos(z)"]),
    "identity": (["    return z"], ["    return np.ones_like(z)"]),
}
_HEADS = {
    "number": ["difference = z - y", "loss = np.mean(difference * difference)", "dz = 2.0 / len(y) * difference"],
    "binary": [
        "loss = np.mean(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - y * z)",
        "dz = (sigmoid(z) - y) / len(y)",
    ],
    "softmax": [
        "largest = z.max(axis=1, keepdims=True)",
        "e = np.exp(z - largest)",
        "total = e.sum(axis=1, keepdims=True)",
        "loss = np.mean((np.log(total) + largest)[:, 0] - (y * z).sum(axis=1))",
        "dz = (e / total - y) / len(y)",
    ],
}


def gradient_function(plan: Plan) -> list[str]:
    """'def value_and_gradient(weights, step)' with the activation and its slope beside it."""
    model = models(plan)[0][1]
    names = [variable.name for variable in model.variables]
    forward, backward = _passes(plan, model)
    body = [f"{', '.join(names)} = unpack(weights)", f"{', '.join(arguments(plan))} = inputs(step)", *forward]
    column = not model.head.width and not isinstance(model, LinearModel)
    body += ["z = z[:, 0]"] * column + _HEADS[kind_of(model)] + ["dz = dz[:, None]"] * column + backward
    if has_penalty(plan):
        squares = " + ".join(f"np.sum({name} * {name})" for name in penalised(model))
        body.append(f"loss = loss + 0.5 * l2 * ({squares})")
        body += [f"d{name} = d{name} + l2 * {name}" for name in penalised(model)]
    parts = ", ".join(f"np.ravel(d{name})" for name in names)
    body.append(f"return loss, np.concatenate([{parts}])")
    helpers = _helpers(model)
    return [*helpers, "", "def value_and_gradient(weights, step):", *indented(body), ""]


def _helpers(model: ModelObjective) -> list[str]:
    activation = str(model.options.get("activation", ""))
    lines: list[str] = []
    if kind_of(model) == "binary" or activation in ("silu", "sigmoid", "softplus"):
        lines += ["", "def sigmoid(z):", *_SIGMOID, ""]
    if activation:
        value, slope = _ACTIVATIONS[activation]
        lines += ["", f"def activation(z):  # {activation}", *value, ""]
        lines += ["", "def slope(z, h):  # of the activation, whose value is h", *slope, ""]
    return lines


def _passes(plan: Plan, model: ModelObjective) -> tuple[list[str], list[str]]:
    """(lines up to the outputs z, lines from dz to the gradient of every variable)."""
    if isinstance(model, LinearModel):
        name = model.variables[0].name
        return [f"z = x @ {name} + b"], [f"d{name} = x.T @ dz", "db = dz.sum(axis=0)"]
    if isinstance(model, ElmanRNN):
        return _recurrent(model)
    if not isinstance(model, MLP):
        raise ScriptError(f"{model.title}: this kind of model is not written out")
    return _layers(plan, model)


def _recurrent(model: ElmanRNN) -> tuple[list[str], list[str]]:
    length = model.options["length"]
    forward = [
        f"driven = [x[:, t] @ Wx + b for t in range({length})]",
        "zs, hs = [driven[0]], [activation(driven[0])]",
        f"for t in range(1, {length}):",
        "    zs.append(driven[t] + hs[-1] @ Wh)",
        "    hs.append(activation(zs[-1]))",
        "z = hs[-1] @ V + c",
    ]
    backward = [
        "dV, dc = hs[-1].T @ dz, dz.sum(axis=0)",
        "dh = dz @ V.T",
        "dWx, dWh, db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)",
        f"for t in reversed(range({length})):",
        "    dz = dh * slope(zs[t], hs[t])",
        "    dWx += x[:, t].T @ dz",
        "    db += dz.sum(axis=0)",
        "    if t:",
        "        dWh += hs[t - 1].T @ dz",
        "        dh = dz @ Wh.T",
    ]
    return forward, backward


def _layers(plan: Plan, model: MLP) -> tuple[list[str], list[str]]:
    norm, dropped, count = str(model.options["norm"]), masks(plan), len(model.options["layers"])
    axis = 0 if norm == "batch" else 1
    forward: list[str] = []
    last = count + 1

    def into(k: int) -> str:
        """What layer ``k`` is given."""
        return "x" if k == 1 else f"dropped{k - 1}" if dropped else f"h{k - 1}"

    for k in range(1, last):
        forward.append(f"z{k} = {into(k)} @ W{k} + b{k}")
        if norm != "none":
            forward += [
                f"centred = z{k} - z{k}.mean(axis={axis}, keepdims=True)",
                f"deviation{k} = np.sqrt((centred * centred).mean(axis={axis}, keepdims=True) + {EPSILON})",
                f"normal{k} = centred / deviation{k}",
                f"z{k} = normal{k} * gamma{k} + beta{k}",
            ]
        forward.append(f"h{k} = activation(z{k})")
        if dropped:
            forward.append(f"dropped{k} = h{k} * mask{k}")
    forward.append(f"z = {into(last)} @ W{last} + b{last}")
    backward = [f"dW{last}, db{last} = {into(last)}.T @ dz, dz.sum(axis=0)"]
    for k in range(count, 0, -1):
        backward.append(f"dh = dz @ W{k + 1}.T" + (f" * mask{k}" if dropped else ""))
        backward.append(f"dz = dh * slope(z{k}, h{k})")
        if norm != "none":
            backward += [
                f"dgamma{k}, dbeta{k} = (dz * normal{k}).sum(axis=0), dz.sum(axis=0)",
                f"dn = dz * gamma{k}",
                f"along = normal{k} * (dn * normal{k}).mean(axis={axis}, keepdims=True)",
                f"dz = (dn - dn.mean(axis={axis}, keepdims=True) - along) / deviation{k}",
            ]
        backward.append(f"dW{k}, db{k} = {into(k)}.T @ dz, dz.sum(axis=0)")
    return forward, backward
