"""optax code for the settings of a recorded case, the way a person would write it."""

from __future__ import annotations

from typing import Any

CONTRIB = ("muon", "sophia", "schedule_free_sgd", "schedule_free_adamw", "sam")
SCHEDULE_LISTS = ("boundaries_and_scales",)


def schedule_line(settings: dict[str, Any]) -> str:
    """``optax.cosine_decay_schedule(init_value=0.1, ...)``."""
    values = dict(settings)
    name = values.pop("name")
    parts = []
    for key, value in values.items():
        if key == "boundaries_and_scales":
            value = "{" + ", ".join(f"{step}: {factor!r}" for step, factor in value.items()) + "}"
        elif key == "schedules":
            value = "[" + ", ".join(schedule_line(item) for item in value) + "]"
        else:
            value = repr(value)
        parts.append(f"{key}={value}")
    return f"optax.{name}({', '.join(parts)})"


def clip_line(settings: dict[str, Any]) -> str:
    """``optax.clip_by_global_norm(max_norm=1.0)``."""
    values = {key: value for key, value in settings.items() if key != "kind"}
    return f"optax.{settings['kind']}({', '.join(f'{key}={value!r}' for key, value in values.items())})"


def optimizer_line(settings: dict[str, Any], schedule: dict[str, Any] | None = None) -> str:
    """The optimizer with every setting of the case spelled out."""
    values = dict(settings)
    name = values.pop("name")
    if name == "normalize (g / global l2 norm)":
        return "optax.contrib.normalize()"
    if name == "chain":
        return f"optax.chain({', '.join(optimizer_line(item) for item in values['of'])})"
    if name == "MultiSteps":
        inner = optimizer_line(values["inner"])
        return (
            f"optax.MultiSteps({inner}, every_k_schedule={values['every_k']}, use_grad_mean={values['use_grad_mean']}, "
            f"accumulator_dtype=jnp.{values['accumulator_dtype']})"
        )
    if name == "lookahead":
        values = {"fast_optimizer": values.pop("fast_optimizer"), **values}
    if schedule is not None:
        values["learning_rate"] = schedule
    parts = []
    for key, value in values.items():
        if isinstance(value, dict) and key == "learning_rate":
            text = schedule_line(value)
        elif isinstance(value, dict):
            text = optimizer_line(value)
        else:
            text = repr(tuple(value) if isinstance(value, list) else value)
        parts.append(f"{key}={text}")
    prefix = "optax.contrib" if name in CONTRIB else "optax"
    return f"{prefix}.{name}({', '.join(parts)})"


def case_line(case: dict[str, Any]) -> str:
    """The whole line of a trajectory: a chain with its clip in front when it has one."""
    line = optimizer_line(case["optimizer"], case["schedule"])
    return line if case["clip"] is None else f"optax.chain({clip_line(case['clip'])}, {line})"
