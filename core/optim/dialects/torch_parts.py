"""What stands around a PyTorch optimizer: clipping, loss scaling, accumulation, parameter groups, unknown names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.declare import SettingError
from core.optim.dialects.binding import REQUIRED, Argument, bind, nearest, number
from core.optim.dialects.parameter_rules import Unread, listed, rule_of, rule_of_list, unread_message
from core.optim.dialects.recipes import code
from core.optim.dialects.syntax import is_number
from core.optim.dialects.values import (
    Attribute,
    Call,
    NotRepresentable,
    Operation,
    ParseError,
    Place,
    Program,
    place_of,
)
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate, ClippedAccumulate
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByValue
from core.optim.transforms.loss_scale import FiniteGuard, LossScale
from core.optim.variable_rules import Rule, joined


def _norm_type(value: Any, place: Place) -> float:
    return float("inf") if value == "inf" else float(number(value, place, "clip_grad_norm_: norm_type"))


CLIP_NORM = (
    Argument("parameters", None, "skip"),
    Argument("max_norm", REQUIRED),
    Argument("norm_type", 2.0, _norm_type),
    Argument("error_if_nonfinite", False, "boolean"),
    Argument("foreach", None, "unused"),
)
CLIP_VALUE = (
    Argument("parameters", None, "skip"),
    Argument("clip_value", REQUIRED),
    Argument("foreach", None, "unused"),
)
CLIP_GRADIENTS = (
    Argument("module", None, "any"),
    Argument("optimizer", None, "any"),
    Argument("clip_val", None, "number?"),
    Argument("max_norm", None, "number?"),
    Argument("norm_type", 2.0, _norm_type),
    Argument("error_if_nonfinite", True, "boolean"),
)
"""The method of Fabric."""
CLIP_GRADIENTS_OF_MODULE = (
    Argument("optimizer", None, "any"),
    Argument("gradient_clip_val", None, "number?"),
    Argument("gradient_clip_algorithm", "norm", "any"),
)
"""The method of a LightningModule."""
CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_gradients")
"""``clip_grad_norm`` is the old spelling of the first, deprecated since PyTorch 0.4."""
SCALERS = ("GradScaler",)
SCALER = (
    Argument("device", "cuda", "any"),
    Argument("init_scale", 65536.0),
    Argument("growth_factor", 2.0),
    Argument("backoff_factor", 0.5),
    Argument("growth_interval", 2000, "integer"),
    Argument("enabled", True, "boolean"),
)
SUSPICIOUS = ("sched", "lr", "warm", "anneal", "optim", "clip", "swa", "lookahead", "sam", "ema")
TORCH_PLACES = (
    ("torch", "optim"),
    ("optim",),
    ("torch", "nn", "utils"),
    ("nn", "utils"),
    ("lr_scheduler",),
    ("torch", "amp"),
    ("torch", "cuda", "amp"),
)
HARMLESS = ("update_bn", "autocast", "custom_fwd", "custom_bwd", "parameters_to_vector", "vector_to_parameters", "step")


def clip_transforms(call: Call) -> list[Transform]:
    """The transform of one clipping line."""
    try:
        if call.name == "clip_gradients":
            return _of_lightning(call)
        values = clip_values(call)
        if call.name == "clip_grad_value_":
            return [ClipByValue(clip_value=values["clip_value"])]
        clip = ClipByGlobalNorm(max_norm=values["max_norm"], norm_type=values["norm_type"])
        return [FiniteGuard(), clip] if values["error_if_nonfinite"] else [clip]
    except ParseError:
        raise
    except SettingError as error:
        raise call.error(str(error)) from None


def clip_values(call: Call) -> dict[str, Any]:
    """The arguments of a clip; as a method (``model.clip_grad_norm_(1.0)``) it is not given the parameters."""
    signature: Sequence[Argument] = CLIP_VALUE if call.name == "clip_grad_value_" else CLIP_NORM
    method = call.receiver is not None or len(call.path) > 1
    if method and call.args and is_number(call.args[0]):
        signature = signature[1:]
    return bind(call, signature)


def _of_lightning(call: Call) -> list[Transform]:
    """``fabric.clip_gradients(model, optimizer, max_norm=1.0)``, ``self.clip_gradients(opt, gradient_clip_val=1)``."""
    if "gradient_clip_val" in call.kwargs or (len(call.args) > 1 and is_number(call.args[1])):
        values = bind(call, CLIP_GRADIENTS_OF_MODULE)
        limit, algorithm = values["gradient_clip_val"], values["gradient_clip_algorithm"]
        if not limit:
            return []
        if str(algorithm).lower().endswith("value"):
            return [ClipByValue(clip_value=limit)]
        return [ClipByGlobalNorm(max_norm=limit)]
    values = bind(call, CLIP_GRADIENTS)
    if (values["clip_val"] is None) is (values["max_norm"] is None):
        raise call.error("clip_gradients takes either max_norm or clip_val")
    if values["clip_val"] is not None:
        return [ClipByValue(clip_value=values["clip_val"])]
    clip = ClipByGlobalNorm(max_norm=values["max_norm"], norm_type=values["norm_type"])
    return [FiniteGuard(), clip] if values["error_if_nonfinite"] else [clip]


def loss_scaling(program: Program, scaler: Call | None) -> tuple[list[Transform], bool]:
    """(unscale and guard, True when the lines unscale only after clipping): empty without a GradScaler.

    Without ``scaler.unscale_`` the gradients are unscaled inside ``scaler.step``, after what stands before it.
    """
    if scaler is None:
        return [], False
    signature: Sequence[Argument] = SCALER
    if (len(scaler.path) > 1 and "cuda" in scaler.path) or (scaler.args and is_number(scaler.args[0])):
        signature = SCALER[1:]
    values = bind(scaler, signature)
    if not values["enabled"]:
        return [], False
    try:
        unscale = LossScale(
            initial_scale=values["init_scale"],
            growth_factor=values["growth_factor"],
            backoff_factor=values["backoff_factor"],
            growth_interval=values["growth_interval"],
            order="reciprocal",
        )
    except SettingError as error:
        raise scaler.error(str(error)) from None
    names = [call.name for call in program.calls()]
    return [unscale, FiniteGuard()], _late(names)


def _late(names: Sequence[str]) -> bool:
    """True when the gradients are clipped while they are still scaled."""
    clip = next((i for i, name in enumerate(names) if name in CLIPS), None)
    if clip is None:
        return False
    if "unscale_" in names:
        return names.index("unscale_") > clip
    return "step" in names and "scale" in names and names.index("step") > clip


def accumulation(program: Program) -> list[Transform]:
    """``(loss / n).backward()``: gradients of n losses are added up before a step."""
    for call in program.calls():
        divided: Any = None
        if call.name == "backward" and call.receiver is not None:
            divided = call.receiver
            if isinstance(divided, Call) and divided.name == "scale" and divided.args:
                divided = divided.args[0]
        if isinstance(divided, Operation) and divided.operator == "/" and is_number(divided.right):
            parts = divided.right
            if not 1 <= parts < 1e9 or float(parts) != int(parts):
                raise divided.place.error(f"a loss divided by {parts!r} is no accumulation over a number of steps")
            return [Accumulate(steps=int(parts), schedule="steps")] if parts > 1 else []
    return []


class Group(NamedTuple):
    """A parameter group: the names of its variables or the rule that picks them, and its own settings."""

    names: tuple[str, ...]
    own: dict[str, Any]
    rule: Rule | None = None


def group_dicts(program: Program, optimizer: Call) -> list[Group]:
    """The parameter groups; empty without any."""
    given = optimizer.args[0] if optimizer.args else optimizer.kwargs.get("params")
    dicts: list[Any] = []
    if isinstance(given, list | tuple) and any(isinstance(item, dict) for item in given):
        dicts += list(given)
    added = [call for call in program.calls() if call.name == "add_param_group" and call.receiver is optimizer]
    if added and not dicts:
        dicts.append({"params": given})
    dicts += [call.args[0] if call.args else call.kwargs.get("param_group") for call in added]
    groups = []
    paths = {path for item in dicts if isinstance(item, dict) for path in listed(item.get("params"))}
    for item in dicts:
        if not isinstance(item, dict) or "params" not in item:
            raise optimizer.error(f"{optimizer.name}: every parameter group is a dict with 'params' in it")
        own = {key: value for key, value in item.items() if key not in ("params", "name")}
        rule = parameter_rule(item["params"], program, optimizer.place)
        own_paths = list(listed(item["params"]))
        if rule is not None and len(paths) > 1 and own_paths:
            rule = replace(rule, test=joined("and", [("in", own_paths[0]), rule.test]))
        groups.append(Group(() if rule else tuple(listed(item["params"])), own, rule))
    return groups


def parameter_rule(value: Any, program: Program, place: Place) -> Rule | None:
    """The rule by which code picks these parameters, None where it names them or takes them all."""
    try:
        test = rule_of(value)
        if test is None and isinstance(value, list) and not value:
            test = rule_of_list(value, program)
    except Unread as error:
        raise place_of(value, place).error(unread_message(error)) from None
    return None if test is None else Rule(test=test, written=f"line {place_of(value, place).line}")


def check_everything_known(program: Program, names: frozenset[str]) -> None:
    """A ParseError for a call that would change the steps and is not known, with the nearest known name."""
    known = sorted(names)
    for call in program.calls():
        if call.receiver is not None or call.name in names:
            continue
        inside = any(call.path[: len(place)] == place and len(call.path) > len(place) for place in TORCH_PLACES)
        if inside and call.name not in HARMLESS:
            guess = nearest(call.name, known)
            raise call.error(f"{call.dotted} is not known{f'; did you mean {guess!r}?' if guess else ' here'}")
        if _takes_optimizer(call, names) and call.name not in program.classes:
            alike = [name for name in known if name[:1].isupper() == call.name[:1].isupper()]  # train(model, optimizer)
            guess = nearest(call.name, alike)
            if guess or any(part in call.name.lower() for part in SUSPICIOUS):
                hint = f"; did you mean {guess!r}?" if guess else ": what it does to the steps would be missing"
                raise call.error(f"{call.dotted} is not known{hint}")
    for statement in program.statements:
        for target in statement.stores:
            if _inside_optimizer(target, names) and not (isinstance(target, Attribute) and target.name == "[lr]"):
                raise statement.place.error(
                    "an optimizer's settings are changed here by hand; write the value into its constructor, "
                    "use a scheduler, or change it live while it runs"
                )


def _takes_optimizer(call: Call, names: frozenset[str]) -> bool:
    return any(_inside_optimizer(value, names) for value in (*call.args, *call.kwargs.values()))


def _inside_optimizer(value: Any, names: frozenset[str]) -> bool:
    while isinstance(value, Attribute):
        value = value.owner
    return isinstance(value, Call) and value.receiver is None and value.name in names and value.name not in CLIPS


def written_front(transforms: Sequence[Transform]) -> tuple[list[str], list[Transform]]:
    """(lines for what happens before the optimizer, the optimizer's own transforms)."""
    lines: list[str] = []
    rest = list(transforms)
    scaled, strict = False, ""
    while rest:
        first = rest[0]
        if isinstance(first, Accumulate):
            if isinstance(first, ClippedAccumulate) or first.first is not None or first.kept != "step":
                raise NotRepresentable(f"{first.label} is made by a training loop, not by lines that set it up")
            if not first.mean or first.schedule != "steps":
                raise NotRepresentable("PyTorch accumulates loss / n; it has no other kind of accumulation")
            lines.append(f"(loss / {first.steps}).backward()")
        elif isinstance(first, LossScale):
            if len(rest) < 2 or not isinstance(rest[1], FiniteGuard):
                raise NotRepresentable("PyTorch's GradScaler always skips steps that are not finite; here none is")
            if not first.dynamic:
                raise NotRepresentable("PyTorch's GradScaler is always dynamic; here the scale stays as it is")
            lines.append(_written_scaler(first))
            scaled = True
            rest.pop(0)
        elif isinstance(first, FiniteGuard) and len(rest) > 1 and isinstance(rest[1], ClipByGlobalNorm):
            strict = ", error_if_nonfinite=True"
        elif isinstance(first, ClipByValue):
            lines.append(f"torch.nn.utils.clip_grad_value_(params, clip_value={code(first.clip_value)})")
        elif isinstance(first, ClipByGlobalNorm):
            if first.convention != "torch":
                raise NotRepresentable(
                    "torch.nn.utils.clip_grad_norm_ divides by norm + 1e-6; "
                    f"this chain clips by the {first.convention} rule, which differs in the last digits"
                )
            norm = "" if first.norm_type == 2.0 else f", norm_type={code(first.norm_type)}"
            lines.append(f"torch.nn.utils.clip_grad_norm_(params, max_norm={code(first.max_norm)}{norm}{strict})")
            strict = ""
            if not scaled and any(isinstance(other, LossScale) for other in rest):
                raise NotRepresentable("clipping before unscaling is a mistake that no line of code asks for")
        else:
            break
        rest.pop(0)
    return lines, rest


def _written_scaler(unscale: LossScale) -> str:
    parts = []
    for name, key, default in (
        ("init_scale", "initial_scale", 65536.0),
        ("growth_factor", "growth_factor", 2.0),
        ("backoff_factor", "backoff_factor", 0.5),
        ("growth_interval", "growth_interval", 2000),
    ):
        value = getattr(unscale, key)
        if value != default:
            parts.append(f"{name}={code(value)}")
    return f"scaler = torch.amp.GradScaler({', '.join(parts)})"
