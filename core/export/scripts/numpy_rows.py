"""The rows of a chain written out in NumPy: the numbers they use, what they remember, the lines of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.export.scripts.plan import ScriptError
from core.optim import Optimizer
from core.optim.transform import Transform

_PASSED_OVER = ("frozen_mask", "rounding")


@dataclass
class Rows:
    """``numbers`` and ``state``: name -> text of its value; ``lines`` take u (the gradient) to the change of w."""

    numbers: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    scratch: dict[str, str] = field(default_factory=dict)
    several: bool = False

    def number(self, name: str, value: Any) -> str:
        """A number of this chain under a name of its own; its name in the code."""
        return self._own(self.numbers, name, _text(value))

    def remember(self, name: str, value: str) -> str:
        """A piece of state; its name in the code."""
        return self._own(self.state, name, value)

    def _own(self, table: dict[str, str], name: str, text: str) -> str:
        free, k = name, 2
        while free in self.numbers or free in self.state:
            free, k = f"{name}_{k}", k + 1
        table[free] = text
        return free


def _text(value: Any) -> str:
    text = repr(value)
    return f"float('{text}')" if text in ("inf", "-inf", "nan") else text


def rows_of(optimizer: Optimizer, several: bool = False) -> Rows:
    """The chain of ``optimizer`` written out, for ``several`` variables in w; ScriptError names a row that is not."""
    if len(optimizer.groups) > 1:
        raise ScriptError("numpy: groups of variables with settings of their own are not written out in plain NumPy")
    rows = Rows(several=several)
    rate = optimizer.chain.rate
    if rate is not None:
        lr = rows.number("lr", rate.learning_rate)
        rows.lines.append(f"lr_t = {lr}" if rate.schedule is None else f"lr_t = rate({lr}, step)")
    for transform in optimizer.chain:
        if transform.name in _PASSED_OVER or not transform.enabled:
            continue
        if getattr(transform, "mask", None) is not None:
            raise ScriptError(
                f"numpy: the row '{transform.label}' acts on some variables only, which is not written out here"
            )
        write = _WRITERS.get(transform.name)
        if write is None:
            raise ScriptError(
                f"numpy: the row '{transform.label}' ({transform.name}) is not written out in plain NumPy; "
                "choose the framework it comes from"
            )
        write(transform, rows)
    return rows


def _l2(row: Any, rows: Rows) -> None:
    rows.lines.append(f"u = u + w * {rows.number('l2', row.factor)}")


def _l1(row: Any, rows: Rows) -> None:
    rows.lines.append(f"u = u + np.sign(w) * {rows.number('l1', row.weight_decay)}")


def _clip_by_value(row: Any, rows: Rows) -> None:
    low, high = rows.number("clip_min", row.least), rows.number("clip_max", row.clip_value)
    rows.lines.append(f"u = np.clip(u, {low}, {high})")


def _clip_norm(row: Any, rows: Rows) -> None:
    if getattr(row, "axes", None):
        raise ScriptError("numpy: clipping by norms along axes is not written out in plain NumPy")
    if getattr(row, "norm_type", 2.0) != 2.0:
        raise ScriptError(f"numpy: clipping by the {row.norm_type:g}-norm is not written out in plain NumPy")
    if not 0.0 < row.max_norm < float("inf"):
        raise ScriptError(f"numpy: clipping at a norm of {row.max_norm} is not written out in plain NumPy")
    limit = rows.number("max_norm", row.max_norm)
    if row.name == "clip_by_norm" and rows.several:
        lines = ["norm = math.sqrt(float(np.dot(u[part], u[part])))"]
        if row.convention == "torch":
            lines.append(f"u[part] = u[part] * min(1.0, {limit} / (norm + 1e-6))")
        elif row.convention == "tensorflow":
            lines.append(f"u[part] = u[part] * {limit} / max(norm, {limit})")
        else:
            lines += [f"if norm > {limit}:", f"    u[part] = u[part] / norm * {limit}"]
        rows.lines += ["u = u.copy()", "for part in PARTS:", *(f"    {line}" for line in lines)]
        return
    rows.lines.append("norm = math.sqrt(float(np.dot(u, u)))")
    if row.convention == "torch":
        rows.lines.append(f"u = u * min(1.0, {limit} / (norm + 1e-6))")
    elif row.name == "clip_by_norm" and row.convention == "tensorflow":
        rows.lines.append(f"u = u * {limit} / max(norm, {limit})")
    else:
        rows.lines += [f"if norm > {limit}:", f"    u = u / norm * {limit}"]


def _momentum(row: Any, rows: Rows) -> None:
    mu, b = rows.number("momentum", row.momentum), rows.remember("b", "None")
    share = f" * (1.0 - {rows.number('dampening', row.dampening)})" if row.dampening else ""
    rows.lines += ["before = u", f"{b} = u if {b} is None else {b} * {mu} + u{share}", f"u = {b}"]
    rows.scratch["nesterov"] = b


def _nesterov(row: Any, rows: Rows) -> None:
    if "nesterov" in rows.scratch:
        mu = rows.number("nesterov_momentum", row.momentum)
        rows.lines.append(f"u = before + {rows.scratch['nesterov']} * {mu}")


def _first_moment(row: Any, rows: Rows) -> None:
    beta1 = rows.number("beta1", row.beta1)
    m = rows.remember("m", f"np.full_like(w, {row.initial!r})")
    rows.lines += ["moment_input = u"]
    if row.form == "average":
        rows.lines.append(f"{m} = {m} * {beta1} + u * (1.0 - {beta1})")
    else:
        rows.lines.append(f"{m} = {m} + (u - {m}) * (1.0 - {beta1})")
    rows.lines.append(f"u = {m}")
    rows.scratch["moment_input"] = "moment_input"


def _exact_power(row: Any) -> None:
    if row.power != "exact":
        raise ScriptError(f"numpy: '{row.label}' with powers kept in float32 is not written out in plain NumPy")


def _bias_correction_1(row: Any, rows: Rows) -> None:
    _exact_power(row)
    rows.lines.append(f"u = u / (1.0 - {rows.number('correction_beta1', row.beta1)} ** t)")


def _second_moment(row: Any, rows: Rows) -> None:
    beta2 = rows.number("beta2", row.beta2)
    v = rows.remember("v", f"np.full_like(w, {row.initial!r})")
    g = rows.scratch.pop("moment_input", "u")
    if row.form == "average":
        rows.lines.append(f"{v} = {v} * {beta2} + {g} * {g} * (1.0 - {beta2})")
    else:
        rows.lines.append(f"{v} = {v} + ({g} * {g} - {v}) * (1.0 - {beta2})")
    rows.lines += ["numerator = u", f"divisor = {v}"]
    rows.scratch["second_moment"] = v
    _divide(row, rows, "numerator")


def _divide(row: Any, rows: Rows, numerator: str) -> None:
    eps = rows.number("eps", row.eps)
    root = getattr(row, "eps_root", 0.0)
    if row.rule.startswith("inside"):
        divisor = f"np.sqrt(divisor + {eps})"
    else:
        inner = f"divisor + {rows.number('eps_root', root)}" if root else "divisor"
        divisor = f"(np.sqrt({inner}) + {eps})"
    if row.rule.endswith("reciprocal"):
        rows.lines.append(f"u = {numerator} * (1.0 / {divisor})")
    else:
        rows.lines.append(f"u = {numerator} / {divisor}")


def _bias_correction_2(row: Any, rows: Rows) -> None:
    _exact_power(row)
    if "second_moment" not in rows.scratch:
        return
    correction = f"1.0 - {rows.number('correction_beta2', row.beta2)} ** t"
    if row.order == "hat":
        rows.lines.append(f"u = u * math.sqrt({correction})")
    elif row.order == "roots":
        eps = rows.number("eps", row.eps)
        rows.lines.append(f"u = numerator / (np.sqrt(divisor) / math.sqrt({correction}) + {eps})")
    else:
        rows.lines.append(f"divisor = divisor / ({correction})")
        _divide(row, rows, "numerator")


def _second_maximum(row: Any, rows: Rows) -> None:
    largest = rows.remember("v_max", "np.zeros_like(w)")
    rows.lines += [f"{largest} = np.maximum({largest}, divisor)", f"divisor = {largest}"]
    _divide(row, rows, "numerator")


def _centred(row: Any, rows: Rows) -> None:
    rho, a = rows.number("rho", row.rho), rows.remember("a", "np.zeros_like(w)")
    if row.form == "average":
        rows.lines.append(f"{a} = {a} * {rho} + numerator * (1.0 - {rho})")
    else:
        rows.lines.append(f"{a} = {a} + (numerator - {a}) * (1.0 - {rho})")
    mean = f"({a} / (1.0 - {rho} ** t))" if row.corrected else a
    rows.lines.append(f"divisor = divisor - {mean} * {mean}")
    _divide(row, rows, "numerator")


def _sum_of_squares(row: Any, rows: Rows) -> None:
    s = rows.remember("s", f"np.full_like(w, {row.initial!r})")
    rows.lines += [f"{s} = {s} + u * u", "numerator = u", f"divisor = {s}"]
    _divide(row, rows, "numerator")
    if row.zero_safe:
        rows.lines.append(f"u = np.where({s} > 0, u, 0.0)")


def _learning_rate(row: Any, rows: Rows) -> None:
    rows.lines.append("u = u * -lr_t")


def _decoupled_decay(row: Any, rows: Rows) -> None:
    decay = rows.number("decay", row.weight_decay)
    rows.lines.append(f"w = w * (1.0 - lr_t * {decay})" if row.order == "factor" else f"w = w - w * {decay} * lr_t")


def _added_decay(row: Any, rows: Rows) -> None:
    if row.schedule is not None:
        raise ScriptError("numpy: a weight decay with a schedule of its own is not written out in plain NumPy")
    rows.lines.append(f"u = u + w * {rows.number('added_decay', row.weight_decay)}")


_WRITERS: dict[str, Callable[[Transform, Rows], None]] = {
    "l1": _l1,
    "l2": _l2,
    "clip_by_value": _clip_by_value,
    "clip_by_norm": _clip_norm,
    "clip_by_global_norm": _clip_norm,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "first_moment": _first_moment,
    "bias_correction_1": _bias_correction_1,
    "second_moment": _second_moment,
    "bias_correction_2": _bias_correction_2,
    "second_maximum": _second_maximum,
    "centred_second_moment": _centred,
    "sum_of_squares": _sum_of_squares,
    "learning_rate": _learning_rate,
    "decoupled_decay": _decoupled_decay,
    "added_decay": _added_decay,
}
