"""What people use around torch.optim: averages of the weights, warm-up schedules of transformers, conditional steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.recipes import code
from core.optim.dialects.values import Call, Program, describe, place_of
from core.optim.transform import Transform
from core.optim.transforms.accumulate import Accumulate
from core.optim.transforms.asgd import IterateAverage
from core.optim.transforms.clip import ClipByGlobalNorm, ClipByValue
from core.optim.transforms.weight_average import WeightAverage

AVERAGED = (
    Argument("model", None, "any"),
    Argument("device", None, "unused"),
    Argument("avg_fn", None, "any"),
    Argument("multi_avg_fn", None, "any"),
    Argument("use_buffers", False, "boolean"),
)
EMA_FUNCTIONS = ("get_ema_multi_avg_fn", "get_ema_avg_fn")
SWA_FUNCTIONS = ("get_swa_multi_avg_fn", "get_swa_avg_fn")
TRAINERS = ("TrainingArguments", "Seq2SeqTrainingArguments")
AVERAGES = ("AveragedModel", *EMA_FUNCTIONS, *SWA_FUNCTIONS)
EQUAL = -1.0
"""t0 of an average in which all steps weigh the same."""


def weight_averages(calls: Sequence[Call]) -> list[Transform]:
    """The averages kept beside the weights by AveragedModel: exponential, or all steps alike (SWA)."""
    found: list[Transform] = []
    for call in calls:
        if call.name != "AveragedModel":
            continue
        values = bind(call, AVERAGED)
        function = values["multi_avg_fn"] if values["multi_avg_fn"] is not None else values["avg_fn"]
        if function is None or (isinstance(function, Call) and function.name in SWA_FUNCTIONS):
            found.append(IterateAverage(t0=EQUAL))
        elif isinstance(function, Call) and function.name in EMA_FUNCTIONS:
            decay = bind(function, (Argument("decay", 0.999),))["decay"]
            found.append(WeightAverage(ema_momentum=decay))
        else:
            raise place_of(function, call.place).error(
                f"{describe(function)} is no average known here; use torch.optim.swa_utils.get_ema_multi_avg_fn(decay)"
            )
        found[-1].group = "AveragedModel"
    return found


def written_averages(transforms: Sequence[Transform]) -> tuple[list[str], list[Transform]]:
    """(lines for the averages that stand last, the transforms before them)."""
    rest, lines = list(transforms), list[str]()
    prefix = "torch.optim.swa_utils."
    while rest:
        last = rest[-1]
        if isinstance(last, IterateAverage) and last.t0 == EQUAL:
            lines.insert(0, f"averaged = {prefix}AveragedModel(model)")
        elif isinstance(last, WeightAverage) and last.settings() == _plain_average(last.ema_momentum):
            function = f"{prefix}get_ema_multi_avg_fn({code(last.ema_momentum)})"
            lines.insert(0, f"averaged = {prefix}AveragedModel(model, multi_avg_fn={function})")
        else:
            break
        rest.pop()
    return lines, rest


def _plain_average(decay: float) -> dict[str, Any]:
    return WeightAverage(ema_momentum=decay).settings()


# what trainers do around the step -------------------------------------------------------------------------------------

TRAINER = (
    Argument("gradient_clip_val", None, "number?"),
    Argument("gradient_clip_algorithm", None, "any"),
    Argument("accumulate_grad_batches", None, "integer?"),
)


def around(program: Program) -> tuple[list[Transform], list[Transform]]:
    """(accumulation, clipping) that a Lightning Trainer or an Accelerator does around the optimizer's own step."""
    collecting: list[Transform] = []
    clipping: list[Transform] = []
    calls = list(program.calls())
    for call in calls:
        if call.name == "Trainer" and call.receiver is None:
            own = {key: value for key, value in call.kwargs.items() if key in {argument.name for argument in TRAINER}}
            values = bind(Call(call.path, (), own, call.place, call.text, None, (), call.kwarg_places), TRAINER)
            steps, limit = values["accumulate_grad_batches"] or 1, values["gradient_clip_val"]
            if steps > 1:
                collecting = [Accumulate(steps=steps, schedule="steps")]
            if limit:
                value = str(values["gradient_clip_algorithm"]).lower().endswith("value")
                clipping = [ClipByValue(clip_value=limit) if value else ClipByGlobalNorm(max_norm=limit)]
        elif call.name == "Accelerator" and call.receiver is None:
            steps = call.kwargs.get("gradient_accumulation_steps", 1)
            if isinstance(steps, int) and steps > 1 and any(other.path[-1:] == ("accumulate",) for other in calls):
                collecting = [Accumulate(steps=steps, schedule="steps")]
    return collecting, clipping


NARROW = ("torch.float16", "torch.bfloat16", "torch.half")
ARGUMENTS = {"learning_rate": 5e-5, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "weight_decay": 0.0}
"""What TrainingArguments of transformers say when they say nothing."""


def check_trainer(calls: Sequence[Call]) -> None:
    """ParseError with the lines to paste, where only the arguments of a transformers Trainer are there."""
    for call in calls:
        if call.name in TRAINERS:
            v = {key: call.kwargs.get(key, default) for key, default in ARGUMENTS.items()}
            clip = call.kwargs.get("max_grad_norm", 1.0)
            raise call.error(
                f"{call.name} leaves the optimizer to the Trainer; what it does is: "
                f"torch.nn.utils.clip_grad_norm_(params, {clip}); optimizer = torch.optim.AdamW(params, "
                f"lr={v['learning_rate']}, betas=({v['adam_beta1']}, {v['adam_beta2']}), eps={v['adam_epsilon']}, "
                f"weight_decay={v['weight_decay']}); get_linear_schedule_with_warmup(optimizer, "
                f"{call.kwargs.get('warmup_steps', 0)}, {call.kwargs.get('max_steps', 'STEPS')})"
            )


def surrounding_remarks(program: Program) -> list[str]:
    """Remarks on lines that make another step but are no part of the optimizer: the precision of the weights."""
    remarks: list[str] = []
    for call in program.calls():
        line = call.place.line
        narrow = next((name for name in NARROW if name in describe(call)), "")
        if call.path[-1:] in (("half",), ("bfloat16",)) and not call.args:
            narrow = "torch.float16" if call.path[-1] == "half" else "torch.bfloat16"
        if narrow and call.path[-1] in ("half", "bfloat16", "to", "set_default_dtype"):
            kind = narrow.split(".")[1]
            remarks.append(f"line {line} stores the weights in {kind}: choose the storage {kind} to see it round")
    return remarks


# conditional steps ------------------------------------------------------------------------------------------------


def check_turns(program: Program, schedulers: Sequence[Call]) -> None:
    """Several schedulers act together only when they are stepped together; taking turns by an ``if`` is an error."""
    conditions: dict[int, tuple[str, ...]] = {}
    for statement in program.statements:
        call = statement.value
        if isinstance(call, Call) and call.path == ("step",) and isinstance(call.receiver, Call):
            conditions[id(call.receiver)] = tuple(describe(condition) for condition in statement.conditions)
    known = [conditions[id(call)] for call in schedulers if id(call) in conditions]
    if len(set(known)) > 1:
        raise schedulers[1].error(
            "which scheduler acts when is decided by a condition in the code; write it as "
            "torch.optim.lr_scheduler.SequentialLR(optimizer, [first, second], milestones=[...])"
        )
