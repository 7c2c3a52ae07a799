"""Warm-up schedules of the transformers library, each a LambdaLR of the number of steps taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.optim.dialects.binding import REQUIRED, Argument, bind, number
from core.optim.dialects.values import Call, Name, describe, place_of
from core.optim.schedules import Schedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.torch_factors import LambdaLR

OPTIMIZER = Argument("optimizer", None, "any")
LAST = Argument("last_epoch", -1, "unused")
WARM = (OPTIMIZER, Argument("num_warmup_steps", REQUIRED, "integer"))
UNTIL = (*WARM, Argument("num_training_steps", REQUIRED, "integer"))
CYCLES = Argument("num_cycles", 0.5)
LEAST = (Argument("min_lr", None, "number?"), Argument("min_lr_rate", None, "number?"))
RAMP = "k / {ramp} if k < {warm} else "
PROGRESS = "(k - {warm}) / {rest}"
COSINE = "0.5 * (1.0 + math.cos(math.pi * {num_cycles} * 2.0 * ({progress})))"
WARM_UPS: dict[str, tuple[tuple[Argument, ...], str]] = {
    "get_constant_schedule": ((OPTIMIZER, LAST), "1.0"),
    "get_constant_schedule_with_warmup": ((*WARM, LAST), RAMP + "1.0"),
    "get_linear_schedule_with_warmup": ((*UNTIL, LAST), RAMP + "max(0.0, ({total} - k) / {rest})"),
    "get_cosine_schedule_with_warmup": ((*UNTIL, CYCLES, LAST), RAMP + "max(0.0, {cosine})"),
    "get_cosine_with_hard_restarts_schedule_with_warmup": (
        (*UNTIL, Argument("num_cycles", 1, "integer"), LAST),
        RAMP + "0.0 if {progress} >= 1.0 else "
        "max(0.0, 0.5 * (1.0 + math.cos(math.pi * ({num_cycles} * ({progress}) % 1.0))))",
    ),
    "get_polynomial_decay_schedule_with_warmup": (
        (*UNTIL, Argument("lr_end", 1e-7), Argument("power", 1.0), LAST),
        RAMP + "{lr_end} / {lr} if k > {total} else "
        "(({lr} - {lr_end}) * (1 - (k - {warm}) / {span}) ** {power} + {lr_end}) / {lr}",
    ),
    "get_inverse_sqrt_schedule": (
        (*WARM, Argument("timescale", None, "integer?"), LAST),
        RAMP + "1.0 / math.sqrt((k + {timescale} - {warm}) / {timescale})",
    ),
    "get_cosine_with_min_lr_schedule_with_warmup": (
        (*UNTIL, CYCLES, LAST, *LEAST),
        RAMP + "max(0, {cosine} * (1 - {least}) + {least})",
    ),
    "get_cosine_with_min_lr_schedule_with_warmup_lr_rate": (
        (*UNTIL, CYCLES, LAST, *LEAST, Argument("warmup_lr_rate", None, "number?")),
        "{own_ramp} if k < {warm} else max(0, {cosine} * (1 - {least}) + {least})",
    ),
    "get_wsd_schedule": (
        (
            *WARM,
            Argument("num_decay_steps", REQUIRED, "integer"),
            Argument("num_training_steps", None, "integer?"),
            Argument("num_stable_steps", None, "integer?"),
            Argument("warmup_type", "linear", "text"),
            Argument("decay_type", "cosine", "text"),
            Argument("min_lr_ratio", 0),
            CYCLES,
            LAST,
        ),
        "max(0.0, {rise} * (1.0 - {low}) + {low}) if k < {warm} else 1.0 if k < {top} else "
        "max(0.0, {fall} * (1.0 - {low}) + {low}) if k < {bottom} else {low}",
    ),
}
"""Each name with its arguments and the factor as arithmetic of k, the steps taken before."""
NAMED = {
    "linear": "get_linear_schedule_with_warmup",
    "cosine": "get_cosine_schedule_with_warmup",
    "cosine_with_restarts": "get_cosine_with_hard_restarts_schedule_with_warmup",
    "polynomial": "get_polynomial_decay_schedule_with_warmup",
    "constant": "get_constant_schedule",
    "constant_with_warmup": "get_constant_schedule_with_warmup",
    "inverse_sqrt": "get_inverse_sqrt_schedule",
    "reduce_lr_on_plateau": "get_reduce_on_plateau_schedule",
    "cosine_with_min_lr": "get_cosine_with_min_lr_schedule_with_warmup",
    "cosine_warmup_with_min_lr": "get_cosine_with_min_lr_schedule_with_warmup_lr_rate",
    "warmup_stable_decay": "get_wsd_schedule",
}
PICKED = (
    Argument("name", REQUIRED, "any"),
    Argument("optimizer", None, "any"),
    Argument("num_warmup_steps", None, "any"),
    Argument("num_training_steps", None, "any"),
    Argument("scheduler_specific_kwargs", None, "any"),
    Argument("num_cycles", None, "any"),
    Argument("power", None, "any"),
)
PLATEAU = "get_reduce_on_plateau_schedule"
NAMES = frozenset({*WARM_UPS, "get_scheduler", PLATEAU})


def named_schedule(call: Call) -> Call:
    """``get_scheduler('cosine', optimizer, ...)`` as the call of the function it picks; other calls as they are."""
    if call.name == PLATEAU:
        return Call(("ReduceLROnPlateau",), call.args, call.kwargs, call.place, call.text)
    if call.name != "get_scheduler":
        return call
    values = bind(call, PICKED)
    wanted = values["name"]
    if isinstance(wanted, Name):
        wanted = wanted.text.split(".")[-1].lower()  # SchedulerType.LINEAR
    if not isinstance(wanted, str) or wanted not in NAMED:
        place = place_of(values["name"], call.place)
        raise place.error(f"get_scheduler: {describe(values['name'])} is none of {', '.join(NAMED)}")
    target = NAMED[wanted]
    if target == PLATEAU:
        kept: Mapping[str, Any] = values["scheduler_specific_kwargs"] or {}
        return Call(("ReduceLROnPlateau",), (values["optimizer"],), kept, call.place, call.text)
    takes = {argument.name for argument in WARM_UPS[target][0]}
    own = {key: value for key, value in values.items() if key in takes and value is not None}
    own.update(values["scheduler_specific_kwargs"] or {})
    return Call((target,), (), own, call.place, call.text, None, (), call.kwarg_places)


def warm_up_schedule(call: Call, rate: float | None) -> Schedule:
    """The schedule of a ``get_..._schedule`` call; ``rate`` is the optimizer's own, None where it is not known."""
    signature, text = WARM_UPS[call.name]
    values = bind(call, signature)
    warm, total = values.get("num_warmup_steps", 0), values.get("num_training_steps") or 0
    if ("{lr}" in text or values.get("min_lr") is not None) and rate is None:
        raise call.error(f"{call.name} needs the optimizer's rate; put the optimizer's line in front")
    numbers: dict[str, Any] = {
        **values,
        "warm": warm,
        "ramp": max(1, warm),
        "total": total,
        "rest": max(1, total - warm),
        "span": total - warm,
        "timescale": values.get("timescale") or warm or 10_000,
        "lr": rate,
    }
    if "{lr}" in text and total == warm:
        raise call.error(f"{call.name} divides by num_training_steps - num_warmup_steps, which is 0 here")
    if "min_lr" in values:
        numbers["least"] = _least(call, values, rate)
    if "warmup_lr_rate" in values:
        first = values["warmup_lr_rate"]
        numbers["progress"] = f"(k - {warm} + 1.0) / {max(1.0, total - warm)}"
        rise = f"{first} + (1.0 - {first}) * k / {max(1, warm - 1)}"
        numbers["own_ramp"] = f"(k + 1.0) / {max(1.0, warm)}" if first is None else rise
    if "num_decay_steps" in values:
        numbers.update(_stable(call, values, warm))
    numbers.setdefault("progress", PROGRESS.format(**numbers))
    if values.get("num_cycles") is not None:
        numbers["cosine"] = COSINE.format(**numbers)
    return LambdaLR(Formula.read("lambda k: " + text.format(**numbers)))


def _least(call: Call, values: Mapping[str, Any], rate: float | None) -> float:
    """The lowest factor, stated as a rate or as a share of it."""
    least, share = values["min_lr"], values["min_lr_rate"]
    if (least is None) is (share is None):
        raise call.error(f"{call.name} needs one of min_lr and min_lr_rate")
    return float(share) if least is None else float(least) / number(rate, call.place, "the optimizer's rate")


def _stable(call: Call, values: Mapping[str, Any], warm: int) -> dict[str, Any]:
    """The three phases of warm-up, stable rate and decay."""
    stable, decay = values["num_stable_steps"], values["num_decay_steps"]
    if stable is None and values["num_training_steps"] is None:
        raise call.error(f"{call.name} needs num_training_steps or num_stable_steps")
    if stable is None:
        stable = values["num_training_steps"] - warm - decay
    rising, falling = f"(k / {max(1, warm)})", f"((k - {warm} - {stable}) / {max(1, decay)})"
    rises = {
        "linear": rising,
        "cosine": f"(0.5 * (1.0 - math.cos(math.pi * {rising})))",
        "1-sqrt": f"(1.0 - math.sqrt(1.0 - {rising}))",
    }
    falls = {
        "linear": f"(1.0 - {falling})",
        "cosine": f"(0.5 * (1.0 + math.cos(math.pi * {values['num_cycles']} * 2.0 * {falling})))",
        "1-sqrt": f"(1.0 - math.sqrt({falling}))",
    }
    for key, known in (("warmup_type", rises), ("decay_type", falls)):
        if values[key] not in known:
            raise call.error(f"{call.name}: {key} is one of {', '.join(known)}, not {values[key]!r}")
    return {
        "rise": rises[values["warmup_type"]],
        "fall": falls[values["decay_type"]],
        "low": values["min_lr_ratio"],
        "top": warm + stable,
        "bottom": warm + stable + decay,
    }
