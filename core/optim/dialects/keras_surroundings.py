"""What stands around a Keras optimizer and bears on its steps: number types, callbacks, the words of Keras 2."""

from __future__ import annotations

from core.optim.dialects.binding import REQUIRED, Argument, convert
from core.optim.dialects.own_rates import steps_per_epoch
from core.optim.dialects.values import Call, Program, describe


def epochs_remark(program: Program) -> list[str]:
    """A remark on callbacks that set the rate once an epoch, where nothing says how many steps that has."""
    names = ("LearningRateScheduler", "ReduceLROnPlateau")
    used = [call.name for call in program.calls() if call.receiver is None and call.name in names]
    if not used or steps_per_epoch(program) is not None:
        return []
    return [f"{used[-1]} sets the rate once an epoch; each step counts as an epoch here"]


def float64_by_default(program: Program) -> bool:
    """True after ``keras.config.set_floatx("float64")``: then plain numbers pass through float32 in TensorFlow."""
    found = False
    for call in program.calls():
        if call.name == "set_floatx" and call.receiver is None:
            kind = convert(
                Argument("value", REQUIRED, "text"), call.args[0] if call.args else None, call.place, "set_floatx"
            )
            found = kind == "float64"
    return found


def mixed_float16(program: Program) -> bool:
    """True when a model is compiled under the policy "mixed_float16": Keras then wraps a LossScaleOptimizer around."""
    calls = list(program.calls())
    policies = [call for call in calls if call.name in ("set_global_policy", "set_dtype_policy") and call.args]
    return any(call.name == "compile" for call in calls) and any(
        describe(call.args[0]).find("mixed_float16") >= 0 for call in policies
    )


def modern(call: Call) -> Call:
    """The call in the words of Keras 3: ``lr`` was what Keras 2 called the learning rate."""
    if "lr" not in call.kwargs or "learning_rate" in call.kwargs:
        return call
    names = {"lr": "learning_rate"}
    kwargs = {names.get(key, key): value for key, value in call.kwargs.items()}
    places = {names.get(key, key): place for key, place in call.kwarg_places.items()}
    return Call(call.path, call.args, kwargs, call.place, call.text, call.receiver, call.arg_places, places)
