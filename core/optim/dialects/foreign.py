"""Optimizers of other packages: what they are told from those known here by, and the nearest line to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.optim.dialects.values import Call, ParseError, Program, describe

FRAMEWORKS = (
    *("torch", "th", "optim", "nn", "lr_scheduler", "keras", "tensorflow", "tf", "tf1", "tf_keras", "optax", "jax"),
    *("flax", "tensorflow_addons", "tfa", "optimizers", "adam", "sgd", "swa_utils"),
)
"""First names of paths whose optimizers are those of the four frameworks."""
NARROW = "keeps its moments in 8 bits, and their rounding cannot be reproduced here"
FUSED = "is the same arithmetic in another order of rounding"
NEAREST: dict[str, tuple[str, str]] = {
    "AdamW8bit": ("AdamW", NARROW),
    "Adam8bit": ("Adam", NARROW),
    "SGD8bit": ("SGD", NARROW),
    "RMSprop8bit": ("RMSprop", NARROW),
    "Adagrad8bit": ("Adagrad", NARROW),
    "PagedAdamW8bit": ("AdamW", NARROW),
    "PagedAdam8bit": ("Adam", NARROW),
    "AdamW4bit": ("AdamW", "keeps its moments in 4 bits, and their rounding cannot be reproduced here"),
    "AdamWFp8": ("AdamW", NARROW),
    "PagedAdamW32bit": ("AdamW", FUSED),
    "PagedAdamW": ("AdamW", FUSED),
    "PagedAdam": ("Adam", FUSED),
    "AdamW32bit": ("AdamW", FUSED),
    "Adam32bit": ("Adam", FUSED),
    "SGD32bit": ("SGD", FUSED),
    "FusedAdam": ("AdamW", f"{FUSED} (with adam_w_mode=False it is torch.optim.Adam)"),
    "FusedSGD": ("SGD", FUSED),
    "FusedAdagrad": ("Adagrad", FUSED),
    "DeepSpeedCPUAdam": ("AdamW", f"{FUSED} (with adamw_mode=False it is torch.optim.Adam)"),
    "HybridAdam": ("AdamW", FUSED),
    "ZeroRedundancyOptimizer": ("", "shards another optimizer; write that optimizer's own line"),
    "FusedLAMB": ("", "is LAMB with a clip inside; optax.lamb and keras.optimizers.Lamb are known here"),
    "LAMB": ("", "is none of torch.optim; optax.lamb and keras.optimizers.Lamb are known here"),
    "Lamb": ("", "is none of torch.optim; optax.lamb and keras.optimizers.Lamb are known here"),
    "Lion": ("", "is none of torch.optim; optax.lion(learning_rate, b1, b2, weight_decay=...) is known here"),
    "AdaBelief": ("", "is none of torch.optim; optax.adabelief is known here, which places eps elsewhere"),
    "Yogi": ("", "is none of torch.optim; optax.yogi is known here"),
    "LARS": ("", "is none of torch.optim; optax.lars is known here"),
    "NovoGrad": ("", "is none of torch.optim; optax.novograd is known here"),
    "Adan": ("", "is none of torch.optim; optax.adan is known here"),
    "SAM": ("", "takes two gradients a step; optax.contrib.sam is known here"),
    "Lookahead": ("", "wraps another optimizer; optax.lookahead is known here"),
    "AdamWScheduleFree": ("", "is none of torch.optim; optax.contrib.schedule_free_adamw is known here"),
    "SGDScheduleFree": ("", "is none of torch.optim; optax.contrib.schedule_free_sgd is known here"),
    "Shampoo": ("", "is not known here"),
    "SOAP": ("", "is not known here"),
    "Prodigy": ("", "works its rate out from its own past, and is not known here"),
    "MuonWithAuxAdam": ("", "is Muon for some parameters and Adam for others; torch.optim.Muon is known here"),
}
OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("transformers", "AdamW"): (
        "AdamW",
        "(removed from transformers 5) adds eps before the bias correction and decays behind the step, with other "
        "defaults: eps=1e-6, weight_decay=0.0",
    ),
    ("transformers", "Adafactor"): (
        "Adafactor",
        "is not torch.optim.Adafactor: eps, clipping and the relative step differ, and lr goes with "
        "relative_step=False only",
    ),
    ("bitsandbytes", "Adam"): ("Adam", FUSED),
    ("bitsandbytes", "AdamW"): ("AdamW", FUSED),
    ("bitsandbytes", "SGD"): ("SGD", FUSED),
    ("bnb", "Adam"): ("Adam", FUSED),
    ("bnb", "AdamW"): ("AdamW", FUSED),
    ("bnb", "SGD"): ("SGD", FUSED),
}
TIMM = {
    "sgd": "SGD(params, lr={lr}, momentum={momentum}, weight_decay={weight_decay}, nesterov=True)",
    "nesterov": "SGD(params, lr={lr}, momentum={momentum}, weight_decay={weight_decay}, nesterov=True)",
    "momentum": "SGD(params, lr={lr}, momentum={momentum}, weight_decay={weight_decay})",
    "adam": "Adam(params, lr={lr}, weight_decay={weight_decay})",
    "adamw": "AdamW(params, lr={lr}, weight_decay={weight_decay})",
    "nadam": "NAdam(params, lr={lr}, weight_decay={weight_decay})",
    "radam": "RAdam(params, lr={lr}, weight_decay={weight_decay})",
    "adamax": "Adamax(params, lr={lr}, weight_decay={weight_decay})",
    "adadelta": "Adadelta(params, lr={lr}, weight_decay={weight_decay})",
    "adagrad": "Adagrad(params, lr={lr}, weight_decay={weight_decay})",
    "rmsprop": "RMSprop(params, lr={lr}, alpha=0.9, momentum={momentum}, weight_decay={weight_decay})",
}


def check_foreign(program: Program, known: Mapping[str, frozenset[str]]) -> None:
    """ParseError for an optimizer that bears a known name and comes from elsewhere, and for well-known other ones."""
    everything = frozenset().union(*known.values())
    for call in program.calls():
        if call.receiver is not None:
            continue
        if call.name in ("create_optimizer_v2", "create_optimizer"):
            raise _of_timm(call)
        made = program.classes.get(call.name) if len(call.path) == 1 else None
        if made is not None and (call.name in everything or _is_optimizer(made[1])):
            raise call.error(
                f"{call.name} is a class of these lines (line {made[0].line}), and what its own step() does is not "
                "followed; paste a line with an optimizer of torch.optim, keras.optimizers or optax"
            )
        root, args = call.path[0], call.name.endswith("Arguments")
        nearest = OWN.get((root, call.name))
        if nearest is None and root not in FRAMEWORKS and (call.name not in everything or len(call.path) > 1):
            nearest = NEAREST.get(call.name) if call.name not in everything or root in _packages(program) else None
        if nearest is not None:
            raise call.error(_instead(call, *nearest))
        if call.name[:1].isupper() and call.name in known["torch"] and root in _packages(program) and not args:
            raise call.error(
                f"{call.dotted} is another package's; only PyTorch's own {call.name} is known here. Where it does the "
                f"same, write torch.optim.{call.name}"
            )


def _packages(program: Program) -> set[str]:
    """First names of what the text imports from elsewhere than the frameworks."""
    return {path[0] for path in program.imports.values() if path and path[0] not in (*FRAMEWORKS, "")}


def _is_optimizer(bases: tuple[str, ...]) -> bool:
    return any(base.split(".")[-1] == "Optimizer" or base.startswith(("torch.optim.", "optim.")) for base in bases)


def _instead(call: Call, name: str, reason: str) -> str:
    if not name:
        return f"{call.dotted} {reason}"
    taken = ("lr", "betas", "eps", "weight_decay", "momentum", "nesterov", "amsgrad", "alpha", "centered")
    given = "".join(f", {key}={describe(value)}" for key, value in call.kwargs.items() if key in taken)
    if len(call.args) > 1 and "lr" not in call.kwargs:
        given = f", lr={describe(call.args[1])}{given}"
    return f"{call.dotted} {reason}; the nearest line is torch.optim.{name}(params{given})"


def _of_timm(call: Call) -> ParseError:
    opt: Any = call.kwargs.get("opt", call.args[1] if len(call.args) > 1 else "sgd")
    if call.name == "create_optimizer" or not isinstance(opt, str):
        return call.error(f"{call.dotted} picks the optimizer by settings that are not here; write its own line")
    names = {"lr": "LR", "weight_decay": 0.0, "momentum": 0.9}
    values = {key: describe(call.kwargs.get(key, default)) for key, default in names.items()}
    values["lr"] = values["lr"].strip("'")
    line = TIMM.get(opt.lower().replace("_", ""))
    if line is None:
        return call.error(f"{call.dotted} with {opt!r} makes an optimizer of timm's own, which is not known here")
    return call.error(
        f"{call.dotted} with {opt!r} makes torch.optim.{line.format(**values)}; a whole model given, it spares biases "
        "and parameters of one axis the decay: write that line, with two groups if so"
    )
