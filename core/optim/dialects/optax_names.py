"""Finds the named optax optimizer that makes exactly given rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import Argument
from core.optim.dialects.optax_aliases import ALIASES
from core.optim.dialects.optax_assembly import WHOLE, assemble
from core.optim.dialects.optax_calls import write_call
from core.optim.dialects.optax_matching import match, rate_value
from core.optim.dialects.optax_pieces import Piece, Values
from core.optim.dialects.values import NotRepresentable
from core.optim.mask import Mask
from core.optim.schedules.base import Schedule
from core.optim.transform import Transform
from core.optim.transforms.nested import Masked, Nested
from core.optim.transforms.part_rates import PartRates
from core.optim.transforms.schedule_free import ScheduleFree

Rows = list[Transform]


class Segment(NamedTuple):
    """One transformation in the code, and the rows from ``start`` to ``stop`` that it stands for."""

    piece: Piece
    start: int
    stop: int


def segments_of(rows: Rows) -> list[Segment]:
    """The transformations the rows are, in order; runs of rows with one mask are one."""
    found: list[Segment] = []
    i = 0
    while i < len(rows):
        row = rows[i]
        if isinstance(row, Masked):
            j = i
            while j < len(rows) and _mask_of(rows[j]) == row.mask:
                j += 1
            inner = [other.inner for other in rows[i:j] if isinstance(other, Masked)]
            whole = next((other for other in inner if isinstance(other, WHOLE)), None)
            if whole is not None:
                raise NotRepresentable(f"{whole.label!r} for some of the variables only has no code in optax here")
            found.append(Segment(Piece("masked", {"inner": inner, "mask": row.mask}), i, j))
            i = j
            continue
        if isinstance(row, Nested):
            raise NotRepresentable(f"the row {row.label!r} is at work only in some steps; optax has that in sam only")
        one, count = match(rows, i)
        found.append(Segment(one, i, i + count))
        i += count
    return found


def _mask_of(row: Transform) -> Mask | None:
    return row.mask if isinstance(row, Masked) else None


def short_name(rows: Rows, start: int, stop: int, segments: Sequence[Segment]) -> str | None:
    """The named optimizer that makes exactly these rows, or None."""
    wanted = [row.settings() for row in rows[start:stop]]
    known = _known_values(rows[start:stop], segments)
    if known is None:
        return None
    texts: list[str] = []
    for name, alias in ALIASES.items():
        values: Values = {}
        for argument in alias.signature:
            values[argument.name] = _guess(name, argument, known)
        if any(repr(value) == "REQUIRED" for value in values.values()):
            continue
        try:
            made = assemble(alias.expand(values))[1:]
        except SettingError:
            continue
        if [row.settings() for row in made] == wanted or _same_pieces(made, segments):
            texts.append(write_call(name, alias.signature, values))
    return min(texts, key=len) if texts else None


def _same_pieces(made: Rows, segments: Sequence[Segment]) -> bool:
    """True for the same transformations in other rows (PyTorch's Adam corrects √v, optax's v: the same number)."""
    try:
        return bool(segments) and [one.piece for one in segments_of(made)] == [one.piece for one in segments]
    except NotRepresentable:
        return False


Known = dict[tuple[str, str], Any]


def _known_values(rows: Rows, segments: Sequence[Segment]) -> Known | None:
    """Every argument of every transformation in the run, by (transformation, argument)."""
    inside = [row.inner if isinstance(row, Masked) else row for row in rows]
    found: Known = {}
    if inside and isinstance(inside[-1], ScheduleFree):
        end = inside.pop().values()
        found[("schedule_free", "b1")] = end["b1"]
        found[("schedule_free", "weight_lr_power")] = end["weight_lr_power"]
    if not segments:
        parts = [inside] if not any(isinstance(row, Masked) for row in rows) else _by_mask(rows)
        try:
            segments = [segment for part in parts for segment in segments_of(part)]
        except NotRepresentable:
            return None
    for segment in segments:
        for key, value in segment.piece.args.items():
            found.setdefault((segment.piece.name, key), value)
        found.setdefault((segment.piece.name, ""), True)
    if any(isinstance(row, Masked) for row in rows):
        for row in rows:
            if isinstance(row, PartRates):
                found[("scale_by_learning_rate", "learning_rate")] = rate_value(row)
                for part in row.others:
                    found[("adam", "learning_rate")] = part.schedule or part.learning_rate
    return found


def _by_mask(rows: Rows) -> list[Rows]:
    parts: dict[Mask | None, Rows] = {}
    for row in rows:
        if isinstance(row, Masked):
            parts.setdefault(row.mask, []).append(row.inner)
        elif not isinstance(row, PartRates):
            parts.setdefault(None, []).append(row)
    return list(parts.values())


RENAMED: dict[tuple[str, str], tuple[str, str]] = {
    ("sgd", "momentum"): ("trace", "decay"),
    ("rmsprop", "momentum"): ("trace", "decay"),
    ("lars", "momentum"): ("trace", "decay"),
    ("signum", "beta"): ("ema", "decay"),
    ("sm3", "momentum"): ("scale_by_sm3", "b1"),
    ("adafactor", "momentum"): ("ema", "decay"),
    ("adafactor", "dtype_momentum"): ("ema", "accumulator_dtype"),
    ("adafactor", "decay_offset"): ("scale_by_factored_rms", "step_offset"),
    ("adafactor", "eps"): ("scale_by_factored_rms", "epsilon"),
    ("polyak_sgd", "scaling"): ("scale_by_learning_rate", "learning_rate"),
    ("rprop", "learning_rate"): ("scale_by_rprop", "learning_rate"),
    ("optimistic_adam", "learning_rate"): ("scale_by_optimistic_gradient", "alpha"),
    ("optimistic_adam", "optimism"): ("scale_by_optimistic_gradient", "beta"),
    ("muon", "adam_b1"): ("scale_by_adam", "b1"),
    ("muon", "adam_b2"): ("scale_by_adam", "b2"),
    ("muon", "adam_eps_root"): ("scale_by_adam", "eps_root"),
    ("muon", "adam_learning_rate"): ("adam", "learning_rate"),
    ("muon", "nesterov"): ("scale_by_muon", "nesterov"),
    ("muon", "eps"): ("scale_by_muon", "eps"),
    ("lion", "b2"): ("scale_by_lion", "b2"),
    ("schedule_free_sgd", "b1"): ("schedule_free", "b1"),
    ("schedule_free_adamw", "b1"): ("schedule_free", "b1"),
    ("schedule_free_adamw", "b2"): ("scale_by_rms", "decay"),
    ("schedule_free_adamw", "eps"): ("scale_by_rms", "eps"),
}


def _guess(alias: str, argument: Argument, known: Known) -> Any:
    """The value the argument would have, from the transformations in the run; its default when they do not tell."""
    name = argument.name
    if (alias, name) in RENAMED:
        return known.get(RENAMED[alias, name], argument.default)
    if name == "warmup_steps":
        rate = known.get(("scale_by_learning_rate", "learning_rate"))
        return getattr(rate, "warmup_steps", None)
    if name == "learning_rate":
        rate = known.get(("scale_by_learning_rate", "learning_rate"), argument.default)
        if alias.startswith("schedule_free") and isinstance(rate, Schedule):
            return getattr(rate, "peak_value", argument.default)
        return rate
    if name == "weight_decay_rate":
        found = known.get(("add_decayed_weights", "weight_decay"))
        return -found if isinstance(found, float) else None
    if name == "weight_decay":
        absent = None if argument.default is None else 0.0
        return known.get(("add_decayed_weights", name), known.get(("scale_by_novograd", name), absent))
    if name in ("mask", "weight_decay_mask"):
        return known.get(("add_decayed_weights", "mask"), argument.default)
    if name == "centered":
        return ("scale_by_stddev", "") in known
    if name == "multiply_by_parameter_scale":
        return ("scale_by_param_block_rms", "") in known
    if name == "clipping_threshold":
        return known.get(("clip_by_block_rms", "threshold"))
    for (_, key), value in known.items():
        if key == name:
            return value
    return argument.default
