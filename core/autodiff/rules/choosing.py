"""Rules with kinks or choices: abs, sign, rounding, maximum and minimum, clip, where, and their conventions.

The conventions are listed in docs/autodiff.md: at a tie the two arguments share the gradient equally, |x| has
slope 0 at 0, clip has slope 1 on its bounds, maximum(x, constant) has slope 1 at the tie.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.autodiff.dtypes import BFLOAT16, is_floating, limits
from core.autodiff.operation import Op
from core.autodiff.rules.axes import refuse, refuse_out
from core.autodiff.state import state
from core.autodiff.tensor import Tensor, apply, arrayed, binary, operand


def _nothing(g: Any, *_: Any) -> Any:
    return g.dtype.type(0)


def _masked(chosen: Any, g: Any) -> Any:
    out = g * chosen.astype(g.dtype)  # several times faster than np.where, and the same but for 0 times inf
    return out if np.isfinite(out).all() else np.where(chosen, g, g.dtype.type(0))


KEPT: Op = Op(
    "where", _masked, (None, lambda g, o, chosen, x: apply(KEPT, (chosen, g))), elementwise=True, selects=True
)


def kept(chosen: Any, g: Any) -> Any:
    """g where chosen, otherwise 0 also when g is infinite: sqrt(maximum(x, 0)) is flat for negative x."""
    return apply(KEPT, (chosen, g)) if np.ndim(chosen) else np.where(chosen, g, g.dtype.type(0))


def _signed(g: Any, x: Any) -> Any:
    """``g * sign(x)``, and 0 at 0 also when g is infinite."""
    return kept(x != 0, g) * np.sign(x)


def _step(ufunc: np.ufunc) -> Op:
    return Op(ufunc.__name__, ufunc, (_nothing,), keeps_inputs=False, elementwise=True, selects=True, ufunc=ufunc)


ABSOLUTE = Op(
    "absolute", np.absolute, (lambda g, o, x: _signed(g, x),), elementwise=True, selects=True, ufunc=np.absolute
)
FABS = Op("fabs", np.fabs, (lambda g, o, x: _signed(g, x),), elementwise=True, selects=True, ufunc=np.fabs)
SIGN, FLOOR, CEIL, RINT, TRUNC = (_step(u) for u in (np.sign, np.floor, np.ceil, np.rint, np.trunc))
ROUND = Op(
    "round", lambda x, decimals: np.round(x, decimals), (_nothing,), keeps_inputs=False, elementwise=True, selects=True
)


def _where(condition: Any, x: Any, y: Any) -> Any:
    out = np.where(condition, x, y)
    return out if out.ndim else out[()]


WHERE = Op(
    "where",
    _where,
    (
        None,
        lambda g, o, c, x, y: np.where(c, g, g.dtype.type(0)),
        lambda g, o, c, x, y: np.where(c, g.dtype.type(0), g),
    ),
    elementwise=True,
    selects=True,
)


def _won(g: Any, x: Any, y: Any) -> Any:
    """The part of g for x, where x > y means that x was chosen; ties go half and half."""
    return kept(x > y, g) + kept(x == y, g * g.dtype.type(0.5))


def _pair(ufunc: np.ufunc, larger: bool) -> Op:
    if larger:
        rules = (lambda g, o, x, y: _won(g, x, y), lambda g, o, x, y: _won(g, y, x))
    else:
        rules = (lambda g, o, x, y: _won(g, y, x), lambda g, o, x, y: _won(g, x, y))
    return Op(ufunc.__name__, ufunc, rules, elementwise=True, selects=True, ufunc=ufunc)


MAXIMUM, MINIMUM = _pair(np.maximum, True), _pair(np.minimum, False)


def _fpair(ufunc: np.ufunc, larger: bool) -> Op:
    """fmax and fmin pass over a nan: the gradient goes to the other argument, and none to the nan."""

    def rule(g: Any, x: Any, y: Any) -> Any:
        won = _won(g, x, y) if larger else _won(g, y, x)
        return np.where(np.logical_and(np.isnan(y), np.logical_not(np.isnan(x))), g, won)

    return Op(
        ufunc.__name__,
        ufunc,
        (lambda g, o, x, y: rule(g, x, y), lambda g, o, x, y: rule(g, y, x)),
        elementwise=True,
        selects=True,
        ufunc=ufunc,
    )


FMAX, FMIN = _fpair(np.fmax, True), _fpair(np.fmin, False)

# one argument without gradient (a number, a constant): clipping, with slope 1 on the bound itself
AT_LEAST = Op(
    "maximum",
    np.maximum,
    (lambda g, o, x, low: kept(x >= low, g), None),
    elementwise=True,
    selects=True,
    ufunc=np.maximum,
)
AT_MOST = Op(
    "minimum",
    np.minimum,
    (lambda g, o, x, high: kept(x <= high, g), None),
    elementwise=True,
    selects=True,
    ufunc=np.minimum,
)


def followed(x: Any) -> bool:
    """Whether a gradient may be asked for x: otherwise it is a constant bound for the other argument."""
    return isinstance(x, Tensor) and (x._auto or any(tape._follows(x._id) for tape in state.tapes))


def maximum(x: Any, y: Any) -> Any:
    """numpy.maximum; tied arguments share the gradient equally, a constant is a bound: slope 1 on it."""
    if not followed(y):
        return binary(AT_LEAST, x, y)
    return binary(MAXIMUM, x, y) if followed(x) else binary(AT_LEAST, y, x)


def minimum(x: Any, y: Any) -> Any:
    """numpy.minimum; tied arguments share the gradient equally, a constant is a bound: slope 1 on it."""
    if not followed(y):
        return binary(AT_MOST, x, y)
    return binary(MINIMUM, x, y) if followed(x) else binary(AT_MOST, y, x)


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Any:
    """numpy.clip; slope 1 inside and on the bounds, 0 outside (TensorFlow, torch.clamp)."""
    refuse_out("clip", out)
    refuse("clip", where=options.pop("where", None))
    a = arrayed(a)
    if dtype is not None:
        a = a.astype(dtype)
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    out = a
    if low is not None:
        out = np.maximum(out, low)
    if high is not None:
        out = np.minimum(out, high)
    return out


def where(condition: Any, *branches: Any) -> Any:
    """numpy.where with three arguments: the gradient goes to the branch that was taken, exactly 0 to the other."""
    if len(branches) != 2:
        raise TypeError(
            "np.where with the condition alone gives indices, which are not differentiable: "
            "use np.where(condition, x, y), or take the indices from condition.numpy()"
        )
    x: Any
    y: Any
    x, y = map(operand, branches)
    if getattr(x, "dtype", None) is BFLOAT16 and type(y) in (int, float):  # (numpy would make float64 of both)
        y = x.dtype.type(y)
    elif getattr(y, "dtype", None) is BFLOAT16 and type(x) in (int, float):
        x = y.dtype.type(x)
    c = operand(condition)
    return apply(WHERE, (c, x, y))


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """numpy.round; gradient 0."""
    refuse_out("round", out)
    return apply(ROUND, (a,), (decimals,))


OPS = [ABSOLUTE, FABS, SIGN, FLOOR, CEIL, RINT, TRUNC, FMAX, FMIN]


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """numpy.nan_to_num; entries that were replaced get gradient 0."""
    x = arrayed(x)
    if not is_floating(x.dtype):
        return np.copy(x)
    ends = limits(x.dtype)
    out = np.where(np.isnan(x), nan, x)
    out = np.where(np.equal(x, np.inf), ends.max if posinf is None else posinf, out)
    return np.where(np.equal(x, -np.inf), ends.min if neginf is None else neginf, out).astype(x.dtype)
