"""tf.compat.v1.train: optimizers, decays, tf.clip_by_* and ExponentialMovingAverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import SettingError
from core.optim.dialects.addons import CONTRIB, package, refuse
from core.optim.dialects.binding import Argument, bind, nearest
from core.optim.dialects.choice import prefix_dialect
from core.optim.dialects.keras_recipes import KerasRecipe
from core.optim.dialects.keras_rows import Values, single
from core.optim.dialects.keras_schedules import read_rate
from core.optim.dialects.syntax import is_number
from core.optim.dialects.tf1_feeds import fed_rate
from core.optim.dialects.tf1_recipes import CURVES, RECIPES
from core.optim.dialects.tf1_writing import write_optimizer
from core.optim.dialects.tf_chosen import chosen_remark
from core.optim.dialects.tf_clips import CLIPS
from core.optim.dialects.tf_gradients import read_path
from core.optim.dialects.values import Call, ParseError, Program, describe
from core.optim.dialects.wrappers import check_wrappers
from core.optim.optimizer import Optimizer
from core.optim.schedules.stepped import SteppedSchedule
from core.optim.schedules.tf1 import NoisyLinearCosineDecay
from core.optim.transform import Transform
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.weight_average import WeightAverage

AVERAGE = (
    Argument("decay"),
    Argument("num_updates", None, "any"),
    Argument("zero_debias", False, "boolean"),
    Argument("name", None, "unused"),
)
NAMES = frozenset({*RECIPES, *CURVES, *CLIPS, "ExponentialMovingAverage"})
WIDE_PLACES = ("Variable", "get_variable", "placeholder", "ResourceVariable")
EXACT = ("initial_accumulator_value",)
"""Settings that reach the kernels in the variables' own type whatever the text says."""


def build(program: Program) -> Optimizer | None:
    """The optimizer of the program, or None when it has none of ours."""
    call = _chosen(program)
    if call is None:
        return None
    check_wrappers(program, [call])
    _check_collected(program)
    wide = _float64_variables(program)
    recipe = _recipe(call)
    assert recipe is not None
    values = recipe.bind(call)
    if wide:
        values.update(_through_float32(values, call))
        values["power"] = "float32"
    place = call.kwarg_places.get("learning_rate") or next(iter(call.arg_places), call.place)
    fed = fed_rate(program, values["learning_rate"], place)
    rate = (
        fed if fed is not None else read_rate(values["learning_rate"], place, CURVES, "float32" if wide else "float64")
    )
    values["learning_rate"] = single(rate) if wide and isinstance(rate, float | int) else rate
    path = read_path(program, call)
    rows = [*path.penalties, *path.rows, *recipe.transforms(values, call), *_average(program)]
    remarks = [
        *_uncounted(program, rows),
        *_others(program, call),
        *_noise(rows),
        *chosen_remark(program, behind_step=True),
    ]
    chain = [FrozenMask(), *rows]
    return Optimizer(chain, dialect="tf1", source=program.text, counting="optimizer", remarks=remarks)


def _others(program: Program, found: Call) -> list[str]:
    """A remark on further optimizers, each with variables and a loss of its own (the two of a GAN)."""
    names = ("apply_gradients", "minimize")
    used = {id(call.receiver) for call in program.calls() if call.path[-1] in names and isinstance(call.receiver, Call)}
    others = [call for call in program.calls() if id(call) in used and call is not found and _recipe(call) is not None]
    return [f"the lines use {len(others) + 1} optimizers; this is {found.text}"] if others else []


def _noise(rows: Sequence[Transform]) -> list[str]:
    row = next((row for row in rows if isinstance(row, LearningRate)), None)
    if row is None or not isinstance(row.schedule, NoisyLinearCosineDecay):
        return []
    return ["the noise of the learning rate is drawn here with a seed; TensorFlow draws other numbers in every run"]


def _check_collected(program: Program) -> None:
    """A ParseError where penalties of layers that the text does not show are added to the loss."""
    for call in program.calls():
        collected = call.name == "get_collection" and "REGULARIZATION" in " ".join(map(describe, call.args)).upper()
        if collected or call.name in ("get_regularization_losses", "get_regularization_loss"):
            raise call.error(
                "the penalties that layers have put into this collection are not in the lines; write them out, as in "
                "loss = loss + 0.1 * tf.nn.l2_loss(w)"
            )


def _uncounted(program: Program, rows: Sequence[Transform]) -> list[str]:
    """A decay whose global_step nobody counts stays where it starts: minimize(loss) without global_step=..."""
    curves = [call for call in program.calls() if call.receiver is None and call.name in CURVES]
    taken = [call for call in program.calls() if call.path[-1:] in (("minimize",), ("apply_gradients",))]
    row = next((row for row in rows if isinstance(row, LearningRate)), None)
    if not curves or not taken or row is None or row.schedule is None:
        return []
    given = any("global_step" in call.kwargs or len(call.args) > 1 for call in taken)
    counted = any(call.path[-1:] in (("assign_add",), ("assign",), ("placeholder",)) for call in program.calls())
    if given or counted or curves[0].kwargs.get("global_step", 0) is None:
        return []
    row.schedule = SteppedSchedule(row.schedule, 0, 0)
    return [f"{taken[-1].name}() is not given the global_step, so nothing counts it: the rate stays where it starts"]


def emit(optimizer: Optimizer) -> str:
    """The TF1 code for the optimizer; NotRepresentable gives the reason when there is none."""
    return write_optimizer(optimizer)


def _recipe(call: Call) -> KerasRecipe | None:
    return CONTRIB.get(call.name) if package(call) else RECIPES.get(call.name)


def _chosen(program: Program) -> Call | None:
    """The optimizer whose gradients are applied, else the last one."""
    calls = list(program.calls())
    found = [
        call
        for call in calls
        if call.receiver is None and _recipe(call) is not None and prefix_dialect(call.path) in ("tf1", "")
    ]
    used = {id(call.receiver) for call in calls if call.name in ("apply_gradients", "compute_gradients", "minimize")}
    chosen = [call for call in found if id(call) in used] or found
    if chosen:
        return chosen[-1]
    for call in calls:
        if package(call) and call.name.endswith("Optimizer"):
            refuse(call)
        ours = call.receiver is None and prefix_dialect(call.path) == "tf1" and "train" in call.path
        if ours and call.name not in NAMES and call.name.endswith(("Optimizer", "Optimiser")):
            guess = nearest(call.name, RECIPES)
            hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(RECIPES)}"
            raise call.error(f"{call.dotted} is not an optimizer known here; {hint}")
    return None


def _average(program: Program) -> list[Transform]:
    """tf.train.ExponentialMovingAverage beside the optimizer: an average that starts at the initial weights."""
    for call in program.calls():
        if call.receiver is None and call.name == "ExponentialMovingAverage":
            values = bind(call, AVERAGE)
            if values["zero_debias"]:
                raise call.error("zero_debias is for averages of tensors, not of variables")
            try:
                return [
                    WeightAverage(
                        ema_momentum=values["decay"],
                        start="initial weights",
                        warm=values["num_updates"] is not None,
                    )
                ]
            except ParseError:
                raise
            except SettingError as error:
                raise call.error(str(error)) from None
    return []


def _float64_variables(program: Program) -> bool:
    """True when the lines make float64 variables: plain numbers then pass through float32 on their way to them."""
    for call in program.calls():
        if call.receiver is None and call.name in WIDE_PLACES:
            dtype = call.kwargs.get("dtype", call.args[0] if call.name == "placeholder" and call.args else None)
            if dtype is not None and describe(dtype).strip("'\"").endswith("float64"):
                return True
    return False


def _through_float32(values: Values, call: Call) -> Values:
    """The numbers among the settings as float32 constants; those made with dtype=tf.float64 stay as they are."""
    changed: Values = {}
    for name, value in values.items():
        raw: Any = call.kwargs.get(name)
        wide = isinstance(raw, Call) and describe(raw.kwargs.get("dtype")).endswith("float64")
        if is_number(value) and name not in EXACT and not wide:
            changed[name] = single(value)
    return changed
