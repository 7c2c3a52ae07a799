"""Momentum and moments of a chain as the optax transformations that build them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.optim.dialects.optax_expansion import piece
from core.optim.dialects.optax_pieces import Piece
from core.optim.dialects.values import NotRepresentable
from core.optim.transform import Transform
from core.optim.transforms.adaptive import (
    AccumulatedSteps,
    CentredSecondMoment,
    SecondBiasCorrection,
    SecondMaximum,
    SecondMoment,
)
from core.optim.transforms.clip import ClipByValue
from core.optim.transforms.curvature import CurvatureScaling
from core.optim.transforms.moments import NesterovMoment
from core.optim.transforms.momentum import FirstBiasCorrection, Nesterov
from core.optim.transforms.orthogonalise import Orthogonalise
from core.optim.transforms.second_moments import (
    BeliefMoment,
    DifferenceMoment,
    InfinityMoment,
    Rectification,
    YogiMoment,
)

Rows = Sequence[Transform]
Match = tuple[Piece, int]
SQUARE = {"beta2": "beta2", "eps": "eps", "eps_root": "eps_root"}


def next_row(rows: Rows, i: int, kind: type[Transform]) -> Any:
    """rows[i] when it is of this kind, else None."""
    return rows[i] if i < len(rows) and type(rows[i]) is kind else None


def _agree(first: Any, *others: Any, **keys: str) -> None:
    """NotRepresentable when rows that share one optax setting have been given different values of it."""
    for other in others:
        for key, theirs in keys.items():
            if other is not None and getattr(first, key) != getattr(other, theirs):
                raise NotRepresentable(
                    f"{first.label} has {key} = {getattr(first, key)!r}, {other.label} {theirs} = "
                    f"{getattr(other, theirs)!r}; optax has one setting for both"
                )


def match_momentum(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if row.dampening:
        raise NotRepresentable(
            f"optax.trace has no dampening; here it is {row.dampening:g} (and PyTorch leaves it out of the first step)"
        )
    ahead = next_row(rows, i + 1, Nesterov)
    nesterov = ahead is not None and ahead.momentum == row.momentum
    return piece("trace", decay=row.momentum, nesterov=nesterov), 1 + nesterov


def _corrected(rows: Rows, i: int) -> Any:
    """The bias correction at rows[i] when it is the corrected root plus epsilon, else None."""
    row = next_row(rows, i, SecondBiasCorrection)
    if row is not None and row.order == "hat":
        raise NotRepresentable(
            "optax adds epsilon to the corrected root; here the correction comes after it (epsilon hat), "
            "which no optax setting gives"
        )
    return row


def _rule(row: Any) -> str:
    """Where epsilon stands in the last divisor."""
    return "outside" if isinstance(row, SecondBiasCorrection) and row.order == "roots" else str(row.rule)


def _outside(row: Any, owner: str) -> None:
    if not _rule(row).startswith("outside"):
        raise NotRepresentable(f"{owner} adds eps outside the root; here it stands under it")


def _average(rows: Rows, i: int, debias: bool) -> Match:
    """A first moment by itself is a moving average, unless something further on squares what went into it."""
    first: Any = rows[i]
    if first.initial:
        raise NotRepresentable(f"optax.ema starts at 0, here the average starts at {first.initial:g}")
    later = next((row for row in rows[i + 1 :] if type(row) in SQUARING), None)
    if later is not None:
        raise NotRepresentable(
            f"{later.label!r} squares what went into {first.label!r}; in optax that takes both in one transformation"
        )
    return piece("ema", decay=first.beta1, debias=debias), 1 + debias


SQUARING = (SecondMoment, InfinityMoment, BeliefMoment, YogiMoment, DifferenceMoment)


def match_first_moment(rows: Rows, i: int) -> Match:
    """Everything that begins with an average of the gradient: the Adam family, Sophia and Muon."""
    first: Any = rows[i]
    j = i + 1
    correction = next_row(rows, j, FirstBiasCorrection)
    j += correction is not None
    ahead = next_row(rows, j, NesterovMoment)
    j += ahead is not None
    _agree(first, correction, ahead, beta1="beta1")
    common = {"b1": first.beta1}
    nesterov = {"nesterov": ahead is not None}
    row: Any = rows[j] if j < len(rows) else None
    if first.initial and not isinstance(row, YogiMoment):
        raise NotRepresentable(f"optax's averages start at 0 (but for Yogi's), here one starts at {first.initial:g}")
    if isinstance(row, SecondMoment):
        return _adam(rows, i, j, {**common, **nesterov}, correction is not None)
    if correction is None:
        return _average(rows, i, False)
    if isinstance(row, InfinityMoment) and row.place == "maximum" and ahead is None:
        return piece("scale_by_adamax", **common, b2=row.beta2, eps=row.eps), j + 1 - i
    if isinstance(row, DifferenceMoment):
        second, third = next_row(rows, j + 1, SecondMoment), _corrected(rows, j + 2)
        if second is not None and third is not None and ahead is None:
            _agree(second, third, **SQUARE)
            _outside(third, "optax.adan")
            values = {**common, "b2": row.beta2, "b3": second.beta2, "eps": third.eps, "eps_root": third.eps_root}
            return piece("scale_by_adan", **values), j + 3 - i
    behind = _corrected(rows, j + 1) if isinstance(row, BeliefMoment | YogiMoment) else None
    if isinstance(row, BeliefMoment) and behind is not None and not behind.eps_root:
        _agree(row, behind, beta2="beta2", eps="eps")
        _outside(behind, "optax.adabelief")
        values = {**common, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root, **nesterov}
        return piece("scale_by_belief", **values), j + 2 - i
    if isinstance(row, YogiMoment) and behind is not None and ahead is None:
        _agree(row, behind, **SQUARE)
        _outside(behind, "optax.yogi")
        _agree(row, first, initial="initial")
        values = {**common, "b2": row.beta2, "eps": row.eps, "eps_root": row.eps_root}
        return piece("scale_by_yogi", **values, initial_accumulator_value=row.initial), j + 2 - i
    if isinstance(row, CurvatureScaling) and ahead is None:
        return _sophia(rows, i, j, common)
    if isinstance(row, Orthogonalise):
        return _muon(rows, i, j, {"beta": first.beta1, **nesterov})
    if isinstance(row, InfinityMoment) and row.place != "maximum":
        raise NotRepresentable("optax.adamax adds epsilon before the maximum is taken; here it is added to the divisor")
    if ahead is not None:
        raise NotRepresentable("optax has this Nesterov look-ahead only inside Adam, RAdam, AdaBelief and Muon")
    return _average(rows, i, True)


def _adam(rows: Rows, i: int, j: int, common: dict[str, Any], corrected: bool) -> Match:
    second: Any = rows[j]
    values = {**common, "b2": second.beta2, "eps": second.eps, "eps_root": second.eps_root}
    if second.initial:
        raise NotRepresentable(f"the second moment of optax's Adam starts at 0, here at {second.initial:g}")
    if next_row(rows, j + 1, SecondMaximum) is not None and next_row(rows, j + 2, SecondBiasCorrection) is not None:
        raise NotRepresentable("optax.amsgrad keeps the maximum of the corrected second moment, here it is uncorrected")
    correction = _corrected(rows, j + 1)
    _agree(second, correction, **SQUARE)
    k = j + 1 + (correction is not None)
    largest, rectified = next_row(rows, k, SecondMaximum), next_row(rows, k, Rectification)
    _outside(largest or (second if correction is None else correction), "optax's Adam")
    if largest is not None:
        _agree(second, largest, eps="eps", eps_root="eps_root")
        flags = {"bias_correction_mu": corrected, "bias_correction_nu": correction is not None}
        if not values.pop("nesterov"):
            return piece("scale_by_amsgrad", **values, **flags), k + 1 - i
        raise NotRepresentable("optax.amsgrad has no Nesterov look-ahead")
    if correction is None or not corrected:
        raise NotRepresentable("optax's Adam always corrects both moments for their start at zero")
    if rectified is None:
        return piece("scale_by_adam", **values), k - i
    if correction.order != "squares":
        raise NotRepresentable("optax.radam corrects the second moment before the root, here it is done in another way")
    _agree(second, rectified, **SQUARE)
    if not rectified.inclusive:
        raise NotRepresentable("optax.radam rectifies from the threshold on, here only above it")
    return piece("scale_by_radam", **values, threshold=rectified.threshold), k + 1 - i


def _sophia(rows: Rows, i: int, j: int, common: dict[str, Any]) -> Match:
    row: Any = rows[j]
    clip = next_row(rows, j + 1, ClipByValue)
    values = {**common, "b2": row.beta2, "eps": row.eps, "gamma": row.gamma, "update_interval": row.update_interval}
    limit = None if clip is None else clip.clip_value
    values["hessian_diagonal_fn"] = row.estimator
    return piece("scale_by_sophia", **values, clip_threshold=limit), j + 1 + (clip is not None) - i


def _muon(rows: Rows, i: int, j: int, common: dict[str, Any]) -> Match:
    row: Any = rows[j]
    if row.norm != "added" or row.work != "variable":
        raise NotRepresentable("optax's Muon divides by the norm plus eps and iterates in the update's own type")
    values = {**common, "ns_coeffs": list(row.coefficients), "ns_steps": row.steps, "eps": row.eps}
    return piece("scale_by_muon", **values), j + 1 - i


def match_second_moment(rows: Rows, i: int) -> Match:
    """RMSprop, plain or centred, and Adadelta: a second moment of the update itself."""
    row: Any = rows[i]
    steps = next_row(rows, i + 1, AccumulatedSteps)
    if steps is not None:
        if row.initial:
            raise NotRepresentable(f"optax.adadelta's averages start at 0, here one starts at {row.initial:g}")
        _agree(row, steps, beta2="rho")
        return piece("scale_by_adadelta", rho=row.beta2, eps=steps.eps), 2
    j = i + 1
    correction = _corrected(rows, j)
    j += correction is not None
    centred = next_row(rows, j, CentredSecondMoment)
    if centred is not None and centred.corrected != (correction is not None):
        raise NotRepresentable("optax corrects the average square and the average together, or neither")
    last: Any = centred or correction or row
    if getattr(last, "eps_root", 0.0):
        raise NotRepresentable("optax.scale_by_rms has one epsilon, here there are two")
    _agree(row, correction, beta2="beta2")
    _agree(row, centred, beta2="rho")
    values = {
        "decay": row.beta2,
        "eps": last.eps,
        "initial_scale": row.initial,
        "eps_in_sqrt": _rule(last).startswith("inside"),
        "bias_correction": correction is not None,
    }
    if centred is not None:
        return piece("scale_by_stddev", **values), j + 1 - i
    return piece("scale_by_rms", **values), j - i


def match_sum_of_squares(rows: Rows, i: int) -> Match:
    row: Any = rows[i]
    if not row.rule.startswith("inside") and not (row.eps == 0.0 and row.initial > 0.0):
        raise NotRepresentable("optax.adagrad adds eps under the root, here it stands outside")
    return piece("scale_by_rss", initial_accumulator_value=row.initial, eps=row.eps), 1
