"""The other ways to name an optimizer of Keras: "adam", {"class_name": ...}, get, deserialize, from_config, adam()."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.optim.dialects.binding import nearest
from core.optim.dialects.keras_recipes import RECIPES
from core.optim.dialects.keras_schedules import CURVES
from core.optim.dialects.values import Call, Program

BY_STRING = {name.lower(): name for name in RECIPES}
GETTERS = ("get", "deserialize")
OF_OPTIMIZERS = (
    *("learning_rate", "lr", "decay", "weight_decay", "momentum", "nesterov", "rho", "beta_1", "beta_2", "epsilon"),
    *("amsgrad", "clipnorm", "clipvalue", "global_clipnorm", "use_ema", "ema_momentum", "gradient_accumulation_steps"),
)
OLD_CONFIG = ("name", "jit_compile", "is_legacy_optimizer")
"""Entries of a saved configuration that change no step."""


def constructor(call: Call) -> Call | None:
    """The constructor that ``call`` amounts to, itself where it is one; None for calls that make no optimizer."""
    if call.name in RECIPES or call.name == "LossScaleOptimizer":
        return call
    path = call.path
    if path[-1] == "from_config" and len(path) > 1 and path[-2] in RECIPES and call.args:
        return configured(path[-2], call.args[0], call)
    if "optimizers" in path[:-1] and path[-1] in GETTERS:
        given = call.args[0] if call.args else call.kwargs.get("identifier", call.kwargs.get("config"))
        return named(given, call)
    if "optimizers" in path[:-1] and path[-1] in BY_STRING and path[0] in ("keras", "tf", "tensorflow", "optimizers"):
        return _made(call, BY_STRING[path[-1]])
    return None


def compiled(program: Program) -> Call | None:
    """``model.compile(optimizer="adam")``: an optimizer with its defaults."""
    for call in program.calls():
        if call.name == "compile":
            found = named(compiled_with(call), call)
            if found is not None:
                return found
    return None


def check_compiled(program: Program) -> None:
    """ParseError where a setting of the optimizer is given to compile(), which Keras refuses."""
    if "def compile" in program.text:
        return  # a model class of one's own may take what it likes
    for call in program.calls():
        for key in call.kwargs if call.name == "compile" else ():
            if key in OF_OPTIMIZERS:
                raise call.error(
                    f"compile() takes no {key!r}; give it to the optimizer: keras.optimizers.Adam({key}=...)"
                )


def compiled_with(call: Call) -> Any:
    """What a model is compiled with as its optimizer."""
    return call.kwargs.get("optimizer", call.args[0] if call.args else None)


def named(given: Any, call: Call) -> Call | None:
    """The constructor for a name in quotes or a configuration; an optimizer itself stays what it is."""
    if isinstance(given, Call):
        return constructor(given)
    if isinstance(given, str):
        return Call(("keras", "optimizers", _known(given, call)), place=call.place, text=call.text)
    if isinstance(given, Mapping) and isinstance(given.get("class_name"), str):
        return configured(_known(given["class_name"], call), given.get("config", {}), call)
    return None


def configured(name: str, config: Any, call: Call) -> Call:
    """The constructor call of a configuration; schedules in it are configurations as well."""
    if not isinstance(config, Mapping):
        raise call.error("the configuration of this optimizer is not written out in the text")
    values: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value.get("class_name") in CURVES:
            value = Call(("keras", "optimizers", "schedules", value["class_name"]), (), value.get("config", {}))
        if key not in OLD_CONFIG:
            values[str(key)] = value
    return Call(("keras", "optimizers", name), (), values, call.place, call.text)


def _known(name: str, call: Call) -> str:
    plain = name.split(">")[-1].lower()
    if plain not in BY_STRING:
        guess = nearest(plain, BY_STRING)
        raise call.error(f"{name!r} is not an optimizer of Keras" + (f"; did you mean {guess!r}?" if guess else ""))
    return BY_STRING[plain]


def _made(call: Call, name: str) -> Call:
    path = (*call.path[:-1], name)
    return Call(path, call.args, call.kwargs, call.place, call.text, call.receiver, call.arg_places, call.kwarg_places)
