"""The data of a model in a script: rows and starting weights, and which of them each step sees, the same in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.export.scripts.plan import Plan, ScriptError, indented
from core.problems.heads import SoftmaxHead
from core.problems.models import ModelObjective
from core.problems.network import MLP
from core.problems.recurrent import ElmanRNN

EMBEDDED = 400
"""Up to so many numbers stand in the script itself; more go into a file beside it."""

DIVIDING = frozenset({"adaptive scaling", "sign"})
"""Causes of the rows that divide an update by its own size."""


def models(plan: Plan) -> list[tuple[int, ModelObjective]]:
    """(first step, objective) of every stretch; ScriptError when a change made another model of it."""
    found: list[tuple[int, ModelObjective]] = []
    for stretch in plan.stretches:
        objective = stretch.objective
        assert isinstance(objective, ModelObjective)
        if found and objective.options != found[0][1].options:
            raise ScriptError(f"at step {stretch.step} the model or its data was changed, not a number of its loss")
        found.append((stretch.step, objective))
    return found


def has_penalty(plan: Plan) -> bool:
    """Whether the loss has a penalty on the weights in any step."""
    return any(model.values["l2"] for _, model in models(plan))


def masks(plan: Plan) -> list[str]:
    """Names of the dropout masks; none without dropout."""
    model = models(plan)[0][1]
    if not isinstance(model, MLP) or not any(found.values["dropout"] for _, found in models(plan)):
        return []
    return [f"mask{k + 1}" for k in range(len(model.options["layers"]))]


def arguments(plan: Plan) -> list[str]:
    """What the loss takes besides the weights: what ``inputs(step)`` of the script returns."""
    return ["x", "y", *(["l2"] if has_penalty(plan) else []), *masks(plan)]


def data_lines(plan: Plan) -> list[str]:
    """X, Y, start, SHAPES, unpack and inputs(step) in NumPy; large arrays go to ``plan.arrays``."""
    model = models(plan)[0][1]
    samples = model.samples
    whole = {"x": samples.train_x, "y": samples.train_y, "start": np.array(plan.start)}
    if isinstance(model.head, SoftmaxHead):
        whole["y"] = samples.train_y.astype(np.int64)
    lines = _arrays(plan, whole)
    if isinstance(model.head, SoftmaxHead):
        lines.append(f"Y = np.eye({model.head.width})[Y]  # one column a class")
    if isinstance(model, ElmanRNN):
        lines.append(f"X = X.reshape(len(X), {model.options['length']}, -1)  # row, time, input")
    names = ", ".join(variable.name for variable in model.variables)
    shapes = ", ".join(str(variable.shape) for variable in model.variables)
    lines += [f"SHAPES = [{shapes}]  # {names}", ""]
    lines += ["", "def unpack(weights):", '    """The variables, out of one flat vector."""']
    lines += ["    ends = np.cumsum([math.prod(shape) for shape in SHAPES])[:-1]"]
    lines += ["    return [part.reshape(shape) for part, shape in zip(np.split(weights, ends), SHAPES)]", ""]
    plan.notes += [_origin(model), *_conditioning(plan, model)]
    return [*lines, *_inputs(plan)]


def _origin(model: ModelObjective) -> str:
    data = model.dataset
    count, whole = len(model.samples.train_y), len(data)
    scaled = "standardised, " if model.options.get("standardise") else ""
    return f"X and Y are the training rows of {data.name} ({scaled}{count} of {whole} rows), as Stepscope uses them"


def _conditioning(plan: Plan, model: ModelObjective) -> list[str]:
    """What is said where the numbers themselves do not decide a step: a gradient that is rounding only, divided by
    its own size."""
    if not any(row.cause in DIVIDING for stretch in plan.stretches for row in stretch.optimizer.chain):
        return []
    _, gradient = model.value_and_gradient(np.array(plan.start), 0, plan.experiment.seed)
    size = np.abs(gradient)
    idle = (size > 0) & (size < 1e-13 * size.max())
    names = [name for name, part in model.split(idle).items() if part.any()]
    if model.options.get("norm") == "batch":
        names += [f"b{k + 1}" for k in range(len(model.options["layers"])) if f"b{k + 1}" not in names]
    if not names:
        return []
    return [
        f"the gradient of {', '.join(names)} is zero but for rounding, and this optimizer divides it by its own size: "
        "there the steps are rounding errors, which every machine and library has its own of"
    ]


def _arrays(plan: Plan, whole: dict[str, Any]) -> list[str]:
    if sum(array.size for array in whole.values()) <= EMBEDDED:
        x, y, start = (repr(array.tolist()) for array in whole.values())
        kind = "" if whole["y"].dtype == np.float64 else ", dtype=np.int64"
        return [f"X = np.array({x})", f"Y = np.array({y}{kind})", f"start = np.array({start})"]
    plan.arrays = whole
    return [
        f"with np.load(Path(__file__).with_name({plan.data_name!r})) as arrays:",
        '    X, Y, start = arrays["x"], arrays["y"], arrays["start"]',
    ]


def _inputs(plan: Plan) -> list[str]:
    found = models(plan)
    seed, replacement = plan.experiment.seed, found[0][1].batches.replacement
    lines: list[str] = []
    batches = any(not model.batches.full for _, model in found)
    if batches:
        how = "drawn anew in every step" if replacement else "one shuffle an epoch, cut into batches; the last is short"
        lines += ["", "def rows(step):", f'    """Row numbers of the batch of this step: {how}."""']
        lines += [f"    size = {_numbers(found, 'batch_size')}"]
        if any(model.batches.full for _, model in found):
            limit = "size == 0" if replacement else "size == 0 or size >= len(X)"
            lines += [f"    if {limit}:", "        return np.arange(len(X))"]
        if replacement:
            lines += [f"    return np.random.default_rng(({seed}, step)).integers(0, len(X), size)", ""]
        else:
            lines += ["    epoch, place = divmod(step, -(-len(X) // size))"]
            lines += [f"    order = np.random.default_rng(({seed}, epoch)).permutation(len(X))"]
            lines += ["    return order[place * size : (place + 1) * size]", ""]
    body = ["chosen = rows(step)", "x, y = X[chosen], Y[chosen]"] if batches else ["x, y = X, Y"]
    if has_penalty(plan):
        body.append(f"l2 = {_numbers(found, 'l2')}")
    if masks(plan):
        widths = [int(width) for width in found[0][1].options["layers"]]
        body += [f"rate = {_numbers(found, 'dropout')}", f"rng = np.random.default_rng(({seed}, step, 2))"]
        drawn = f"[(rng.random((len(x), width)) >= rate) / (1 - rate) for width in {widths}]"
        body += [f"{', '.join(masks(plan))}{',' * (len(widths) == 1)} = {drawn}"]
    body.append(f"return {', '.join(arguments(plan))}")
    return [*lines, "", "def inputs(step):", '    """What step number ``step`` sees."""', *indented(body), ""]


def _numbers(found: Sequence[tuple[int, ModelObjective]], key: str) -> str:
    """The setting ``key`` as an expression of the step."""
    text, last = "", None
    for step, model in found:
        value = model.values[key]
        if value != last:
            text = repr(value) if not text else f"{value!r} if step >= {step} else ({text})"
        last = value
    return text
