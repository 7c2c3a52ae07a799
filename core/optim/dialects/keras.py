"""Keras 3: optimizers, schedules, clipping, decay, averages of weights, accumulation and loss scaling."""

from __future__ import annotations

import ast
import re
from typing import Any

from core.declare import SettingError
from core.optim.dialects.addons import ADDONS, package, refuse, wrapped
from core.optim.dialects.binding import REQUIRED, Argument, bind, nearest
from core.optim.dialects.choice import prefix_dialect
from core.optim.dialects.keras_callbacks import own_callback
from core.optim.dialects.keras_constraints import constraint_rows
from core.optim.dialects.keras_layers import REGULARIZERS, layer_penalties
from core.optim.dialects.keras_names import check_compiled, compiled, constructor, named
from core.optim.dialects.keras_recipes import RECIPES, KerasRecipe
from core.optim.dialects.keras_rows import Cast, DecayMask, Values, decay_rows, exact, single
from core.optim.dialects.keras_schedules import CURVES, read_rate
from core.optim.dialects.keras_surroundings import epochs_remark, float64_by_default, mixed_float16, modern
from core.optim.dialects.keras_writing import write_optimizer
from core.optim.dialects.own_rates import callback_rate, class_schedule, rate_in_loop, steps_per_epoch
from core.optim.dialects.syntax import is_number
from core.optim.dialects.tf_chosen import chosen_remark
from core.optim.dialects.tf_gradients import Path, read_path
from core.optim.dialects.torch_freezing import frozen_layers
from core.optim.dialects.values import Call, Name, Opaque, ParseError, Place, Program, describe, walk
from core.optim.dialects.weights_beside import bounded_weights, check_turns
from core.optim.dialects.wrappers import check_wrappers
from core.optim.optimizer import Optimizer
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.keras import InverseTimeDecay
from core.optim.schedules.worked_out import EachEpoch, WorkedOutRate
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.transforms.nested import Masked
from core.optim.transforms.regularise import L1, L2
from core.optim.transforms.scaling import named_factor
from core.optim.transforms.weight_average import WeightAverage

LOSS_SCALE = (
    Argument("inner_optimizer", REQUIRED, "any"),
    Argument("initial_scale", 2.0**15),
    Argument("dynamic_growth_steps", 2000, "integer"),
    Argument("name", None, "unused"),
    Argument("dynamic", True, "boolean", True),
)
FIRST_LOSS_SCALE = (Argument("optimizer", REQUIRED, "any"), Argument("loss_scale", "dynamic", "any"))
LOSSES = re.compile(r"\.losses\b|compute_loss|compiled_loss|regularization_loss|add_loss")
"""What adds the penalties of layers to the loss of a tape."""
WRAPPERS = ("Lookahead", "MovingAverage")
"""Of tensorflow_addons; known only with their package before them."""
NAMES = frozenset({*RECIPES, *CURVES, "LossScaleOptimizer"})


def build(program: Program) -> Optimizer | None:
    """The optimizer of the program, or None when it has none of ours."""
    found = _chosen(program)
    if found is None:
        return None
    inside = [call for call in program.calls() if _is_optimizer(call)]
    check_wrappers(program, inside, frozenset(WRAPPERS) if any(package(call) for call in inside) else frozenset())
    check_turns(program, found, ("apply_gradients", "apply", "minimize"))
    reading = _Reading(program)
    chain = reading.chain(found)
    remarks = [*reading.remarks, *_others(program, found), *epochs_remark(program), *chosen_remark(program)]
    return Optimizer(chain, dialect="keras", source=program.text, counting="optimizer", remarks=remarks)


def emit(optimizer: Optimizer) -> str:
    """The Keras code for the optimizer; NotRepresentable gives the reason when there is none."""
    return write_optimizer(optimizer)


def _chosen(program: Program) -> Call | None:
    """The outermost optimizer: the one that is compiled or applied, else the last one."""
    check_compiled(program)
    calls = list(program.calls())
    candidates = [call for call in calls if _is_optimizer(call)]
    inside = {id(inner) for call in candidates for inner in walk(call) if inner is not call}
    outer = [call for call in candidates if id(call) not in inside]
    used = {id(call.receiver) for call in calls if call.name in ("apply_gradients", "apply", "minimize")}
    chosen = [call for call in outer if id(call) in used] or outer
    if chosen:
        return chosen[-1]
    named = compiled(program)
    if named is not None:
        return named
    for call in calls:
        if package(call) and call.name[:1].isupper() and call.name not in CURVES:
            refuse(call)
        ours = call.receiver is None and "optimizers" in call.path[:-1]
        if ours and call.name not in NAMES and call.name[:1].isupper():
            guess = nearest(call.name, NAMES)
            hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(RECIPES)}"
            raise call.error(f"{call.dotted} is not an optimizer known here; {hint}")
    return None


def _others(program: Program, found: Call) -> list[str]:
    """A remark on further optimizers, each with variables and a loss of its own (the two of a GAN)."""
    applied = {
        id(call.receiver): call.receiver
        for call in program.calls()
        if call.name in ("apply_gradients", "apply", "minimize") and isinstance(call.receiver, Call)
    }
    others = [call for call in applied.values() if call is not found and _is_optimizer(call)]
    return [f"the lines use {len(others) + 1} optimizers; this is {found.text}"] if others else []


def _is_optimizer(call: Call) -> bool:
    if package(call):
        return call.name in ADDONS or call.name in WRAPPERS
    ours = call.receiver is None and prefix_dialect(call.path) in ("keras", "")
    return ours and constructor(call) is not None


class _Reading:
    """Reads the lines around an optimizer and puts its chain together, in the order of Keras' ``apply``."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.remarks: list[str] = []
        self.cast: Cast = single if float64_by_default(program) else exact

    def chain(self, outer: Call) -> list[Transform]:
        call = outer
        scaling: list[Transform] = []
        if outer.name == "LossScaleOptimizer":
            call, scaling = self.inner(outer)
        elif mixed_float16(self.program):
            scaling = [LossScale(initial_scale=2.0**15, growth_interval=2000), FiniteGuard()]
        wrapper = wrapped(call) if package(call) else None
        if wrapper is not None:
            call = self.optimizer_in(wrapper.inner, outer)
        made, recipe = self.recipe(call)
        values = self.values(made, recipe, call)
        try:
            core = recipe.transforms(values)
            front = self.front(scaling or self.static_scale(values), read_path(self.program, outer), outer)
            rows = [*front, *self.accumulation(values), *self.clip(values, call), *self.decay(values, outer, call)]
            behind = [] if wrapper is None else wrapper.behind
            bounds = [*constraint_rows(self.program), *bounded_weights(self.program)]
            return [frozen_layers(self.program), *rows, *core, *behind, *self.average(values), *bounds]
        except ParseError:
            raise
        except SettingError as error:
            raise call.error(str(error)) from None

    def recipe(self, call: Call) -> tuple[Call, KerasRecipe]:
        """(the constructor that ``call`` amounts to, its recipe)."""
        if package(call):
            return call, ADDONS[call.name]
        made = constructor(call) or call
        return made, RECIPES[made.name]

    def optimizer_in(self, inner: Any, outer: Call) -> Call:
        """The optimizer that a wrapper is given, by itself or by its name."""
        if isinstance(inner, str):
            inner = named(inner, outer)
        known = isinstance(inner, Call) and (inner.name in ADDONS if package(inner) else constructor(inner) is not None)
        if not isinstance(inner, Call) or not known or inner.name == "LossScaleOptimizer":
            missing = isinstance(inner, Name)
            text = f"a line '{inner.text} = keras.optimizers.SGD()' is missing above" if missing else "give it one"
            raise outer.error(f"the optimizer inside {outer.name} is not one known here: {text}")
        return inner

    def front(self, scaling: list[Transform], path: Path, outer: Call) -> list[Transform]:
        """What happens before ``apply``: the loss with its penalties, and what the lines do to its gradients."""
        factor = path.rows[:1] if path.factor != 1.0 else []
        edits = path.rows[len(factor) :]
        factor = [*factor, *self.weighted()]
        layers = [*self.penalties(), *self.of_layers()]
        scaled = len(edits) if path.scaled is None else path.scaled
        if not scaling:
            return [*path.penalties, *factor, *layers, *edits]
        if not edits[:scaled]:
            return [*scaling, *path.penalties, *factor, *layers, *edits]
        if path.penalties or layers:
            raise outer.error(
                "the loss holds a penalty, and its scaled gradients are changed before they are divided by the scale; "
                "that is not reproduced: change them after optimizer.get_unscaled_gradients"
            )
        return [*factor, *edits[:scaled], *scaling, *edits[scaled:]]

    def of_layers(self) -> list[Transform]:
        """The penalties of the layers: part of the loss of ``fit``, and of a tape's where it adds ``model.losses``."""
        rows = layer_penalties(self.program)
        tapes = any(call.path[-1] == "gradient" for call in self.program.calls())
        if rows and tapes and not LOSSES.search(self.program.text):
            self.remarks.append(
                "the regularizers of the layers do nothing here: the tape's loss does not add sum(model.losses)"
            )
            return []
        return rows

    def weighted(self) -> list[Transform]:
        """``model.compile(loss='mse', loss_weights=0.5)``: the one loss there is, times a number."""
        for call in self.program.calls():
            given = call.kwargs.get("loss_weights") if call.name == "compile" else None
            if given is None:
                continue
            one = given[0] if isinstance(given, list | tuple) and len(given) == 1 else given
            if isinstance(one, dict) and len(one) == 1:
                one = next(iter(one.values()))
            if not is_number(one):
                raise call.error(f"loss_weights {describe(given)}: the loss here is one; give one number")
            words = f"the loss is multiplied by {one:.6g}"
            return [named_factor(float(one), "factor of the loss", words)] if one != 1 else []
        return []

    def values(self, call: Call, recipe: KerasRecipe, original: Call) -> Values:
        """The arguments of the constructor, the learning rate as a number or a schedule."""
        call = modern(call)
        values = recipe.bind(call)
        values["cast"] = self.cast
        numbers = "float32" if self.cast is single else "float64"
        place = call.kwarg_places.get("learning_rate") or next(iter(call.arg_places), call.place)
        rate = values["learning_rate"]
        own = rate.receiver if isinstance(rate, Call) else None
        if isinstance(own, Opaque) and isinstance(own.node, ast.ClassDef):
            values["learning_rate"] = self.own_schedule(rate, own.node, place, numbers)
        else:
            values["learning_rate"] = read_rate(rate, place, CURVES, numbers)
        base = values["learning_rate"]
        start = base.base if isinstance(base, AbsoluteSchedule) else base
        own = self.by_callback(start)
        changed = own if own is not None else rate_in_loop(self.program, original, start)
        if isinstance(changed, AbsoluteSchedule) or changed != start:
            values["learning_rate"] = changed
        called = callback_rate(self.program, start)
        if called is not None:
            values["learning_rate"] = called
        values["learning_rate"] = self.legacy_decay(values, original)
        return values

    def by_callback(self, start: Any) -> AbsoluteSchedule | None:
        """The rates that a callback class of the text sets."""
        found = own_callback(self.program, start)
        if found is None:
            return None
        rates, by_epoch = found
        count = steps_per_epoch(self.program) if by_epoch else 1
        if count is None:
            self.remarks.append("the callback sets the rate once an epoch; each step counts as an epoch here")
        return rates if count in (None, 1) else EachEpoch(rates, count)

    def own_schedule(self, call: Call, node: ast.ClassDef, place: Place, numbers: str) -> Any:
        """The schedule of a class of the text: one formula where it is one, else worked out step by step."""
        try:
            return class_schedule(call, node, place)
        except ParseError:
            return read_rate(call, place, CURVES, numbers)

    def legacy_decay(self, values: Values, call: Call) -> Any:
        """The ``decay`` argument: lr / (1 + decay k) in old versions; Keras 3 warns and ignores it."""
        decay, rate = values.get("decay"), values["learning_rate"]
        if "schedule_decay" in values and (_old(call) or values["schedule_decay"] is not None):
            if values["schedule_decay"] is None:  # how fast the momentum of the old Nadam grows; it never was a decay
                values["schedule_decay"] = 0.004
            return rate
        if not decay:
            return rate
        if _old(call) and isinstance(rate, float | int):
            return InverseTimeDecay(initial_learning_rate=rate, decay_steps=1, decay_rate=decay)
        if _old(call) and isinstance(rate, AbsoluteSchedule):
            return WorkedOutRate(lambda k: rate.at(k) / (1.0 + decay * k), f"({rate.formula}) / (1 + {decay!r} k)")
        raise call.kwarg_places.get("decay", call.place).error(
            f"Keras 3 ignores decay; for the old rule lr / (1 + decay · step) write learning_rate="
            f"keras.optimizers.schedules.InverseTimeDecay({call.kwargs.get('learning_rate', 0.01)!r}, 1, "
            f"{values['decay']!r})"
        )

    def inner(self, outer: Call) -> tuple[Call, list[Transform]]:
        """(the optimizer inside a LossScaleOptimizer, the rows that unscale and check)."""
        if "experimental" in outer.path:  # the first form of Keras 2: one argument, a number or 'dynamic'
            first = bind(outer, FIRST_LOSS_SCALE)
            call = self.optimizer_in(first["optimizer"], outer)
            given = first["loss_scale"]
            if not is_number(given) and given != "dynamic":
                raise outer.error(f"loss_scale is a number or 'dynamic', not {describe(given)}")
            if is_number(given):
                return call, [LossScale(initial_scale=float(given), dynamic=False)]
            return call, [LossScale(initial_scale=2.0**15, growth_interval=2000), FiniteGuard()]
        values = bind(outer, LOSS_SCALE)
        call = self.optimizer_in(values["inner_optimizer"], outer)
        if not values["dynamic"] and "mixed_precision" in outer.path:
            return call, [LossScale(initial_scale=values["initial_scale"], dynamic=False)]
        if not values["dynamic"]:
            raise outer.error("LossScaleOptimizer is always dynamic in Keras 3; set loss_scale_factor on the optimizer")
        if values["dynamic_growth_steps"] < 1:
            raise outer.error(f"dynamic_growth_steps must be at least 1, not {values['dynamic_growth_steps']}")
        scale = LossScale(initial_scale=values["initial_scale"], growth_interval=values["dynamic_growth_steps"])
        return call, [scale, FiniteGuard()]

    def static_scale(self, values: Values) -> list[Transform]:
        factor = values["loss_scale_factor"]
        return [] if factor is None else [LossScale(initial_scale=factor, dynamic=False)]

    def penalties(self) -> list[Transform]:
        """keras.regularizers in statements of their own; those of layers belong to the model, not to the optimizer."""
        rows: list[Transform] = []
        for statement in self.program.statements:
            call = statement.value
            if isinstance(call, Call) and call.receiver is None and "regularizers" in call.path[:-1]:
                if call.name not in REGULARIZERS:
                    raise call.error(f"{call.dotted} is not known; there are {', '.join(REGULARIZERS)}")
                values = bind(call, REGULARIZERS[call.name])
                if values.get("l1"):
                    rows.append(L1(weight_decay=values["l1"]))
                if values.get("l2"):
                    rows.append(L2(weight_decay=values["l2"], half=False))
        return rows

    def accumulation(self, values: Values) -> list[Transform]:
        steps = values["gradient_accumulation_steps"]
        if not steps:
            return []
        if steps < 2:
            raise SettingError(f"gradient_accumulation_steps must be at least 2, as Keras wants it; {steps} was given")
        return [Accumulate(steps=steps, mean=True, schedule="calls")]

    def clip(self, values: Values, call: Call) -> list[Transform]:
        given = [name for name in ("clipnorm", "global_clipnorm", "clipvalue") if values[name] is not None]
        if len(given) > 1 and (not _old(call) or values["clipvalue"] is None):
            raise call.error(
                f"Keras takes only one of clipnorm, clipvalue and global_clipnorm; given: {', '.join(given)}"
            )
        rows: list[Transform] = []
        for name in reversed(given):  # Keras 2 took clipvalue together with a norm, and clipped by value first
            limit = values[name]
            if not limit > 0:
                self.remarks.append(f"{name}={limit:g} clips nothing: Keras clips where it is above 0")
                continue
            if name == "clipvalue":
                rows.append(ClipByValue(clip_value=limit))
            else:
                kind = ClipByNorm if name == "clipnorm" else ClipByGlobalNorm
                rows.append(kind(max_norm=limit, convention="tensorflow"))
        return rows

    def decay(self, values: Values, outer: Call, call: Call) -> list[Transform]:
        patterns: list[str] = []
        if "weight_decay" in values and package(call):
            values = {**values, "weight_decay": None}  # not times the learning rate: a row of its own
        for other in self.program.calls():
            if other.name == "exclude_from_weight_decay" and (other.receiver is outer or other.receiver is call):
                patterns += self.excluded(other)
        rows = decay_rows(values)
        for row in rows:
            row.group = call.name
        return [Masked(row, DecayMask(patterns=tuple(patterns))) for row in rows] if patterns else rows

    def excluded(self, call: Call) -> list[str]:
        values = bind(call, (Argument("var_list", None, "any"), Argument("var_names", None, "any")))
        if values["var_list"] is not None:
            raise call.error("which variables these are cannot be read from the code; give var_names=['bias', ...]")
        names = values["var_names"]
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise call.error("var_names is a list of parts of names: ['bias', 'gamma']")
        return list(names)

    def average(self, values: Values) -> list[Transform]:
        if not values["use_ema"]:
            return []
        steps, overwrite = values["gradient_accumulation_steps"] or 1, values["ema_overwrite_frequency"] or None
        if steps > 1 and overwrite is not None:
            raise SettingError(
                "ema_overwrite_frequency together with gradient_accumulation_steps overwrites the weights between the "
                "gradients of one step; that is not reproduced here. Leave one of the two out"
            )
        return [
            WeightAverage(ema_momentum=values["ema_momentum"], overwrite=overwrite, start="first step", repeats=steps)
        ]


def _old(call: Call) -> bool:
    """True for the optimizers of Keras 2: the legacy ones, those with ``lr``, and tensorflow_addons."""
    return "lr" in call.kwargs or "legacy" in call.path or bool(package(call))
