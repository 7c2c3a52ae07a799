"""What a loss is made of in pasted code: a factor, penalties on the weights, and the rest, which is the problem's."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.keras_rows import DecayMask
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.values import Call, Name, Opaque, Operation, describe, place_of
from core.optim.transform import Transform
from core.optim.transforms.nested import Masked
from core.optim.transforms.regularise import L1, L2, NormPenalty
from core.optim.variable_rules import Rule

P = r"(?P<p>[A-Za-z_][\w.]*(?:\[\w+\])?)"
Q = P.replace("?P<p>", "?P<q>")
NORM = rf"(?:torch\.(?:linalg\.)?norm\({P}(?:, ?(?:p=)?2)?\)|{Q}\.norm\((?:(?:p=)?2)?\))"
SQUARES = (
    rf"{P}(?:\.data)?\.(?:pow\(2(?:\.0?)?\)|square\(\))\.sum\(\)",
    rf"\({P} ?\*\* ?2(?:\.0?)?\)\.sum\(\)",
    rf"torch\.sum\({P} ?\*\* ?2(?:\.0?)?\)",
    rf"torch\.sum\((?:torch\.)?(?:square|pow)\({P}(?:, ?2)?\)\)",
    rf"torch\.sum\({P}\.(?:pow\(2\)|square\(\))\)",
    rf"torch\.square\({P}\)\.sum\(\)",
    rf"(?:tf\.|K\.|keras\.ops\.|ops\.|jnp\.|np\.)(?:math\.)?(?:reduce_)?sum\((?:\w+\.)*square\({P}\)\)",
    rf"(?:tf\.|K\.|keras\.ops\.|ops\.|jnp\.|np\.)(?:math\.)?(?:reduce_)?sum\({P} ?\*\* ?2(?:\.0?)?\)",
    rf"(?:tf\.|K\.|jnp\.|np\.)(?:math\.)?(?:reduce_)?sum\((?:\w+\.)*pow\({P}, ?2\)\)",
    rf"torch\.pow\({P}, ?2\)\.sum\(\)",
    rf"torch\.sum\({P} ?\* ?(?P=p)\)",
    rf"\({P} ?\* ?(?P=p)\)\.sum\(\)",
    rf"{NORM} ?\*\* ?2",
    rf"{NORM}\.pow\(2\)",
)
HALF_SQUARES = (rf"(?:tf\.)?(?:compat\.v1\.)?nn\.l2_loss\({P}\)", rf"l2_loss\({P}\)")
SIZES = (
    rf"(?:tf\.|K\.|keras\.ops\.|ops\.|jnp\.|np\.)(?:math\.)?(?:reduce_)?sum\((?:\w+\.)*abs\({P}\)\)",
    rf"{P}\.abs\(\)\.sum\(\)",
    rf"torch\.abs\({P}\)\.sum\(\)",
    rf"torch\.sum\((?:torch\.)?abs\({P}\)\)",
    rf"torch\.sum\({P}\.abs\(\)\)",
    rf"abs\({P}\)\.sum\(\)",
    rf"{P}\.norm\((?:p=)?1\)",
    rf"torch\.(?:linalg\.)?norm\({P}, ?(?:p=|ord=)?1\)",
)
LENGTHS = (
    rf"{P}\.norm\((?:(?:p=)?(?:2|'fro'|\"fro\"))?\)",
    rf"torch\.(?:linalg\.)?norm\({P}(?:, ?(?:p=|ord=)?(?:2|'fro'))?\)",
)
PLURALS = re.compile(r"param|variables|weights|vars\b|tree_leaves|leaves", re.I)
BIASLESS = re.compile(r"bias['\"] not in|not ?\(?['\"]bias|if ['\"]weight['\"] in|\.(weight|kernel)\b")
"""Penalties that spare the biases."""
ONE_WEIGHT = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+|\[\d+\])*\.(?:weight|bias)\b")
"""The one parameter that a penalty is put on: model.fc.weight."""
NAMED = re.compile(r"^\W*[A-Za-z_][\w.]*\s*[*/]=?\s|[*/]\s*[A-Za-z_][\w.]*\W*$")
LOSSES = re.compile(r"loss|cost|err|obj|nll|mse|bce|crit|kl|elbo|^[lLJ]\d?$|^ce$", re.I)
"""What a loss is called that no line of the text works out."""
REDUCTIONS = ("mean", "sum", "pow", "square", "abs", "norm", "reduce_mean", "reduce_sum", "item")
WEIGHTS = re.compile(r"(^|\.)(w|W|weight|weights|theta|bias|param|params|p|parameter|coef|beta)\d*$|\.weight|\.bias")
"""What a parameter is called where no loop over parameters names it."""


@dataclass
class LossTerms:
    """``factor`` times (the problem's loss + penalties); ``parts`` are the losses of the problem that were found."""

    factor: float = 1.0
    penalties: list[Transform] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)
    without_bias: set[int] = field(default_factory=set)
    only: dict[int, str] = field(default_factory=dict)

    def rows(self) -> list[Transform]:
        """The penalties, those that the text puts on some weights only kept from variables called bias."""
        mask = DecayMask(patterns=("bias",))
        return [self._masked(row, mask) for row in self.penalties]

    def _masked(self, row: Transform, mask: DecayMask) -> Transform:
        path = self.only.get(id(row))
        if path is not None:
            return Masked(row, Rule(test=("in", path), written=f"the penalty of {path}"))
        return Masked(row, mask) if id(row) in self.without_bias else row


def loss_terms(loss: Any, beside: bool = False) -> LossTerms:
    """What ``loss`` is made of; ParseError for a penalty that is subtracted.

    ``beside`` says that other losses are differentiated as well, so that this one may be a penalty and no more.
    """
    if isinstance(loss, Opaque) and isinstance(loss.node, ast.Lambda | ast.FunctionDef):
        loss = expression_of(loss)
    factor, inside = _factored(loss)
    found = LossTerms(factor)
    _collect(inside, 1.0, found)
    if not found.parts and not beside:  # loss = (w ** 2).sum(): that is the problem itself
        return LossTerms()
    if not found.parts and found.factor > 0:
        for penalty in found.penalties:
            penalty.set("weight_decay", penalty.values()["weight_decay"] * found.factor)
        found.factor = 1.0
    if len(found.parts) == 1:  # 0.5 * data + penalty: the factor of the one loss there is
        share, part = _factored(found.parts[0])
        if share != 1.0 and found.penalties and share:
            found.parts = [part]
            found.factor *= share
            for penalty in found.penalties:
                penalty.set("weight_decay", penalty.values()["weight_decay"] / share)
    return found


def _factored(value: Any) -> tuple[float, Any]:
    """(the plain factor in front, what it multiplies)."""
    factor = 1.0
    while True:
        if isinstance(value, Operation) and value.operator in ("*", "/"):
            left, right = unwrap(value.left), unwrap(value.right)
            if _is_definition(value):
                return factor, value
            if is_number(right) and (value.operator == "*" or right):
                factor = factor * right if value.operator == "*" else factor / right
                value = value.left
                continue
            if is_number(left) and value.operator == "*":
                factor, value = factor * left, value.right
                continue
        if isinstance(value, Operation) and value.operator == "-" and value.right is None:
            factor, value = -factor, value.left
            continue
        if isinstance(value, Call) and value.path[-1] in ("mul", "div") and value.receiver is not None and value.args:
            number = unwrap(value.args[0])
            if is_number(number) and number:
                factor = factor * number if value.path[-1] == "mul" else factor / number
                value = value.receiver
                continue
        return factor, value


def _is_definition(value: Operation) -> bool:
    """True for ``0.5 * (y - x) ** 2``, where the number belongs to the loss itself, which is the problem's.

    In ``loss / 4`` and ``criterion(x, y) / 4`` it is a factor of a loss that is there already.
    """
    inside = value.right if is_number(unwrap(value.left)) else value.left
    if isinstance(inside, Name):
        return LOSSES.search(inside.text.split(".")[-1]) is None
    if NAMED.search(value.text) or _penalty(inside) is not None:
        return False
    if isinstance(inside, Operation) and any(_penalty(part) for part in _summands(inside)):
        return False  # 0.5 * (data + penalty)
    while isinstance(inside, Call) and inside.path[-1] in REDUCTIONS:
        inside = inside.receiver if inside.receiver is not None else (inside.args[0] if inside.args else None)
    return isinstance(inside, Operation) and inside.operator not in ("*", "/")


def _collect(value: Any, factor: float, found: LossTerms) -> None:
    if isinstance(value, Operation) and value.operator in ("+", "-") and value.right is not None:
        _collect(value.left, factor, found)
        _collect(value.right, factor if value.operator == "+" else -factor, found)
        return
    if is_number(unwrap(value)):
        return
    share, inside = _factored(value)
    summed = inside is not value and isinstance(inside, Operation) and inside.operator in ("+", "-")
    if summed and any(_penalty(part) for part in _summands(inside)):
        _collect(inside, factor * share, found)
        return
    kind = _penalty(inside)
    if (
        kind is None
        and isinstance(inside, Call)
        and inside.path == ("__call__",)
        and isinstance(inside.receiver, Opaque)
    ):
        within = loss_terms(inside.receiver)  # loss = compute_loss(model, x, y), written in the text
        if within.penalties and within.factor == 1.0 and factor * share > 0:
            for penalty in within.penalties:
                penalty.set("weight_decay", penalty.values()["weight_decay"] * factor * share)
            found.penalties += within.penalties
            found.without_bias |= within.without_bias
            found.only |= within.only
    if kind is None:
        found.parts.append(value)
        return
    strength = factor * share
    if strength < 0:
        raise place_of(value).error(f"the penalty {describe(value)} is subtracted: it would grow the weights")
    row: Transform
    if kind == "length":
        row = NormPenalty(weight_decay=strength)
    else:
        row = L1(weight_decay=strength) if kind == "l1" else L2(weight_decay=strength, half=kind == "half l2")
    found.penalties.append(row)
    paths = set(ONE_WEIGHT.findall(describe(inside))) if not isinstance(inside, Opaque) else set()
    if len(paths) == 1 and " for " not in describe(inside):
        found.only[id(row)] = paths.pop()
        return
    if BIASLESS.search(describe(inside)):
        found.without_bias.add(id(row))


def _summands(value: Any) -> list[Any]:
    if isinstance(value, Operation) and value.operator in ("+", "-") and value.right is not None:
        return [*_summands(value.left), *_summands(value.right)]
    return [_factored(value)[1]]


def _penalty(value: Any) -> str | None:
    """'l2', 'l1' or 'length' when ``value`` measures weights, None when it is a loss of the problem."""
    if (
        isinstance(value, Call)
        and value.receiver is None
        and value.name in ("sum", "add_n", "reduce_sum")
        and value.args
    ):
        summed = value.args[0]
        if isinstance(summed, list | tuple):  # tf.add_n([tf.nn.l2_loss(w1), tf.nn.l2_loss(w2)])
            kinds = {_penalty(part) for part in summed}
            return kinds.pop() if len(kinds) == 1 else None
        if isinstance(summed, Opaque):
            return _summed(summed)
    if (
        isinstance(value, Operation) and value.operator == "+" and value.right is not None
    ):  # reg = 0; for p in parameters: reg += ...
        parts = [part for part in _summands(value) if not is_number(unwrap(part)) and not _start(part)]
        kinds = {_penalty(part) for part in parts}
        return kinds.pop() if len(parts) >= 1 and len(kinds) == 1 else None
    return _measure(describe(value), in_loop=False) if isinstance(value, Call | Operation) else None


def _start(value: Any) -> bool:
    """True for the 0 a sum starts with: ``torch.tensor(0.)``, ``None``, or the sum's own name."""
    if value is None or isinstance(value, Name):
        return True
    return isinstance(value, Call) and value.name in ("tensor", "zeros", "Variable", "FloatTensor", "to", "cuda")


def _summed(value: Any) -> str | None:
    """``sum(p.pow(2).sum() for p in model.parameters())``, also as a list or with a filter behind ``if``."""
    node = value.node if isinstance(value, Opaque) else None
    if not isinstance(node, ast.GeneratorExp | ast.ListComp) or not PLURALS.search(
        ast.unparse(node.generators[0].iter)
    ):
        return None
    return _measure(ast.unparse(node.elt), in_loop=True)


def _measure(text: str, in_loop: bool) -> str | None:
    text = re.sub(r"\s+", " ", text.strip())
    while text.startswith("(") and text.endswith(")") and _balanced(text[1:-1]):
        text = text[1:-1]
    for kind, patterns in (("l2", SQUARES), ("half l2", HALF_SQUARES), ("l1", SIZES), ("length", LENGTHS)):
        for pattern in patterns:
            match = re.fullmatch(pattern, text)
            if match:
                name = match.group("p") or match.groupdict().get("q") or ""
                return kind if in_loop or WEIGHTS.search(name) else None
    return None


def _balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
