"""Pasted PyTorch code: whole training loops, schedulers on top of each other, and every kind of mistake."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.declare import SettingError
from core.optim import NotRepresentable, Optimizer, ParseError, emit_optimizer, parse_optimizer
from core.optim.layout import Layout
from core.optim.schedules.torch_factors import StepLR
from core.optim.transforms.momentum import Momentum
from core.optim.transforms.rate import LearningRate
from tests.core.optim.torch_lines import GROUPS, rates

LAYOUT = Layout(["w"], [(1,)])


def rows(text: str) -> tuple[str, ...]:
    return parse_optimizer(text).chain.row_names


LOOP = """
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import CosineAnnealingLR

EPOCHS, ACCUMULATE = 100, 4
config = {"lr": 3e-4, "betas": (0.9, 0.95), "weight_decay": 0.1}
model = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.AdamW(model.parameters(), **config)
scheduler = CosineAnnealingLR(optimizer, T_max=EPOCHS, eta_min=config["lr"] / 10)
scaler = torch.cuda.amp.GradScaler()

for epoch in range(EPOCHS):
    for i, (x, y) in enumerate(loader):
        with torch.cuda.amp.autocast():
            loss = criterion(model(x), y)
            loss = loss / ACCUMULATE
        scaler.scale(loss).backward()
        if (i + 1) % ACCUMULATE == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    scheduler.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
"""


def test_a_whole_training_loop() -> None:
    optimizer = parse_optimizer(LOOP)
    assert optimizer.chain.row_names == (
        "frozen_mask",
        "accumulate",
        "loss_scale",
        "finite_guard",
        "clip_by_global_norm",
        "first_moment",
        "bias_correction_1",
        "second_moment",
        "bias_correction_2",
        "learning_rate",
        "decoupled_decay",
        "rounding",
    )
    assert optimizer.learning_rate == 3e-4
    assert optimizer.transform("accumulate").values()["steps"] == 4
    assert optimizer.transform("decoupled_decay").values()["weight_decay"] == 0.1
    rate = optimizer.chain.rate
    assert rate is not None
    assert rate.schedule is not None
    assert rate.schedule.settings() == {"name": "CosineAnnealingLR", "T_max": 100, "eta_min": 3e-4 / 10}
    again = parse_optimizer(emit_optimizer(optimizer))
    assert again.settings() == optimizer.settings()


LIGHTNING = """
class Model(pl.LightningModule):
    lr = 0.5

    def __init__(self, lr):
        super().__init__()
        if lr <= 0:
            raise ValueError("lr")
        self.rate = 2e-3

    def forward(self, x, lr):
        match x:
            case 0:
                return None
        yield x

    def configure_optimizers(self):
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=self.rate, weight_decay=0.1)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=10)
        return {"optimizer": self.optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
"""


def test_lines_inside_classes_and_functions() -> None:
    optimizer = parse_optimizer(LIGHTNING)
    assert optimizer.learning_rate == 2e-3
    assert optimizer.chain.rate is not None
    assert optimizer.chain.rate.schedule is not None
    script = "lr = 0.1\ndef main(lr=5):\n    rate = 0.2\n    o = torch.optim.SGD(params, lr=rate)\nmain()\n"
    assert parse_optimizer(script).learning_rate == 0.2
    hidden = "lr = 0.1\ndef make(lr):\n    return torch.optim.SGD(params, lr=lr)\no = make(3)"
    assert parse_optimizer(hidden).learning_rate == 3
    with pytest.raises(ParseError, match="no line above says what that is"):
        parse_optimizer(hidden.replace("make(3)", "make(rate)"))
    outer = "lr = 0.1\ndef make(params):\n    return torch.optim.SGD(params, lr=lr)\no = make(w)\nStepLR(o, 2)"
    assert rates(outer, 3) == pytest.approx([0.1, 0.1, 0.01])


def test_clipping_before_unscaling_is_shown_as_it_is() -> None:
    """Without scaler.unscale_ the gradients are clipped while still scaled: the mistake of many scripts (CLIP-05)."""
    text = (
        "scaler = GradScaler('cuda', init_scale=65536.0)\noptimizer = SGD(params, lr=0.1)\n"
        "scaler.scale(loss).backward()\nclip_grad_norm_(params, 1.0)\nscaler.step(optimizer)\nscaler.update()"
    )
    names = rows(text)
    assert names.index("clip_by_global_norm") < names.index("loss_scale")
    names = rows(text.replace("clip_grad", "scaler.unscale_(optimizer)\nclip_grad"))
    assert names.index("loss_scale") < names.index("clip_by_global_norm")


@pytest.mark.parametrize(
    "text",
    [
        "torch.optim.SGD(params, lr=0.1)",
        "torch.optim.SGD(model.parameters(), 0.1)",
        "optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)",
        "SGD(lr=0.1)",
        "import torch.optim as o\nopt = o.SGD([w, b], lr=1e-1)",
        "from torch.optim import SGD as Descent\nDescent(params=params, lr=1/10)",
        "lr = 0.2\nlr = lr / 2\nopt = torch.optim.SGD(params, lr=lr)",
        "args.lr = 0.1\nopt = torch.optim.SGD(params, lr=args.lr)",
        "kwargs = dict(lr=0.1)\ntorch.optim.SGD(params, **kwargs)",
        "cfg = {'opt': {'lr': 0.1}}\ntorch.optim.SGD(params, **cfg['opt'])",
        "torch.optim.SGD(params, lr=torch.tensor(0.1))",
        "torch.optim.SGD(params, lr=float('0.1'))",
        ">>> opt = torch.optim.SGD(model.parameters(), lr=0.1)\n>>> opt.step()\nNone",
        "    opt = torch.optim.SGD(params, lr=0.1)\n    opt.step()",
        "class Trainer:\n    pass".replace(
            "class Trainer:\n    pass", "def configure_optimizers(self):\n    return 1\n"
        )
        + "torch.optim.SGD(params, lr=0.1)",
        "self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)",
        "torch.optim.SGD(params, lr=0.1, foreach=True, fused=None)",
        "torch.optim.SGD(params, lr=0.1)  # weight_decay=5",
    ],
)
def test_the_same_line_in_many_dresses(text: str) -> None:
    optimizer = parse_optimizer(text)
    assert optimizer.chain.row_names == ("frozen_mask", "learning_rate", "rounding")
    assert optimizer.learning_rate == 0.1
    assert optimizer.dialect == "torch"
    assert optimizer.source == text


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("torch.optim.Adam(params, lrr=0.1)", 1, 26, "no argument 'lrr'; did you mean 'lr'"),
        ("torch.optim.Adma(params)", 1, 1, "did you mean 'Adam'"),
        ("x = 1\nopt = torch.optim.lr_scheduler.StpLR(o, 3)", 2, 7, "did you mean 'StepLR'"),
        ("torch.optim.SGD(params, lr=args.lr)", 1, 28, "no line above says what that is"),
        ("torch.optim.SGD(params, lr='fast')", 1, 25, "must be a number"),
        ("torch.optim.SGD(params, lr=True)", 1, 25, "must be a number"),
        ("torch.optim.SGD(params, lr=-0.1)", 1, 1, "must be at least 0"),
        ("torch.optim.SGD(params, lr=float('nan'))", 1, 1, "nan was given"),
        ("torch.optim.SGD(params, 0.1, 0.9, 0, 0, False, 7)", 1, 48, "positional arguments"),
        ("torch.optim.SGD(params, 0.1, lr=0.2)", 1, 30, "given twice"),
        ("torch.optim.SGD(0.1)", 1, 17, "params"),
        ("torch.optim.SGD(params, lr=0.1, nesterov=True)", 1, 1, "nesterov needs a momentum"),
        ("torch.optim.Adam(params, betas=(0.9, 1.0))", 1, 1, "less than 1"),
        ("torch.optim.Adam(params, betas=(0.9,))", 1, 1, "two numbers"),
        ("torch.optim.Adam(params, betas=0.9)", 1, 26, "list of numbers"),
        ("torch.nn.utils.clip_grad_norm_(p, -1.0)\ntorch.optim.SGD(p)", 1, 1, "max_norm must be at least 0"),
        ("torch.nn.utils.clip_grad_norm_(p, max_norm='1.0')\nSGD(p)", 1, 35, "must be a number"),
        ("torch.nn.utils.clip_grad_nrm_(p, 1.0)\ntorch.optim.SGD(p)", 1, 1, "did you mean 'clip_grad_norm_'"),
        ("o = SGD(p, lr=1)\nStepLR(o)", 2, 1, "needs step_size"),
        ("o = SGD(p, lr=1)\nStepLR(o, step_size=2.5)", 2, 11, "whole number"),
        ("o = SGD(p, lr=1)\nStepLR(o, 3, last_epoch=5)", 2, 14, "fork the run"),
        ("o = SGD(p, lr=1)\nLambdaLR(o, lambda e: open('x'))", 2, 13, "not plain arithmetic"),
        ("o = SGD(p, lr=1)\nLambdaLR(o, lambda e: e.__class__)", 2, 13, "not plain arithmetic"),
        ("o = SGD(p, lr=1)\nOneCycleLR(o, 0.1)", 2, 1, "total_steps"),
        ("o = SGD(p, lr=1)\nSequentialLR(o, [StepLR(o, 3)], milestones=[5])", 2, 1, "need 0 milestones"),
        ("o = SGD(p, lr=1)\nget_linear_scheduler(o, 10)", 2, 1, "is not known"),
        ("o = SGD(p, lr=1)\nfor g in o.param_groups:\n    g['nesterov'] = True", 3, 5, "by hand"),
        ("o = SGD(p, lr=1)\no.param_groups[0]['momentum'] = 0.5", 2, 1, "by hand"),
        ("a = SGD(p, lr=1)\nb = Adam(q)", 2, 5, "several optimizers"),
        ("clip_grad_norm_(p, 1.0)\nLBFGS(p)", 1, 1, "several times a step"),
        ("torch.optim.Adam(params)\ntf.keras.optimizers.Adam(0.1)", 2, 1, "mix"),
        ("torch.optim.SGD(params, lr=0.1", 1, 16, "not Python"),
        ("torch.optim.SGD(params, **settings)", 1, 25, "** needs a dict"),
        ("torch.optim.SGD(params, lr=1/0)", 1, 28, "cannot be worked out"),
        ("hello world", 1, 7, "not Python"),
        ("", 0, 0, "no optimizer"),
        ("x = 5", 0, 0, "no optimizer"),
        ("print('hi')", 1, 1, "not an optimizer known here"),
        ("torch.optim.Adafactor(p, eps=1e-3)", 1, 26, "two numbers"),
        ("torch.optim.Muon(p, adjust_lr_fn='best')", 1, 21, "match_rms_adamw"),
        ("torch.optim.Rprop(p, etas=(1.5, 1.2))", 1, 1, "below and above 1"),
        ("torch.optim.SGD([{'lr': 0.1}], lr=1)", 1, 1, "'params' in it"),
        ("torch.optim.SGD([{'params': w, 'lrr': 0.1}], lr=1)", 1, 1, "no argument 'lrr'"),
        ("(loss / float('inf')).backward()\ntorch.optim.SGD(p)", 1, 2, "no accumulation"),
        (f"torch.optim.SGD(p, lr=1{'0' * 400})", 1, 23, "beyond all bounds"),
        ("o = SGD(p, lr=1)\nStepLR(o, float('inf'))", 2, 11, "whole number"),
        ("(loss / 2.5).backward()\ntorch.optim.SGD(p)", 1, 2, "no accumulation"),
    ],
)
def test_mistakes_are_named_with_their_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_optimizer(text)
    error = caught.value
    assert words in str(error)
    assert (error.line, error.column) == (line, column), str(error)
    if line:
        assert f"line {line}, column {column}" in str(error)
        assert text.split("\n")[line - 1].strip()[:40] in str(error), "the code is quoted"


def test_text_that_is_no_text_or_too_much() -> None:
    with pytest.raises(ParseError, match="text"):
        parse_optimizer(None)  # type: ignore[arg-type]
    with pytest.raises(ParseError, match="too long"):
        parse_optimizer("x = 1\n" * 100_000)
    for deep in ("(" * 5000 + "1" + ")" * 5000, "-" * 50_000 + "1"):
        with pytest.raises(ParseError, match=r"nested"):
            parse_optimizer(f"x = {deep}")
    assert parse_optimizer("torch.optim.SGD(p)\x00").learning_rate == 1e-3
    with pytest.raises(ParseError, match="Python"):
        parse_optimizer("torch.optim.SGD(p))")
    doubled = "\n".join(f"a = f({', '.join(['a'] * 4)})" for _ in range(60))
    assert parse_optimizer(f"a = 1\n{doubled}\ntorch.optim.SGD(p, lr=0.1)").learning_rate == 0.1
    huge = "n = 9**9**9\ntorch.optim.SGD(p, lr=0.1)"
    with pytest.raises(ParseError, match="cannot be worked out"):
        parse_optimizer(huge)


WORDS = re.findall(r"\w+|[^\w\s]", LOOP + "None 1e400 -1 True [] {} lambda k: k 10**400 \"x\" nan @ := float('inf')")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_code_gives_an_optimizer_or_a_message(seed: int) -> None:
    """Letters cut out, words put in or replaced: whatever comes in, no other error comes out, and what is read is
    written so that it reads back the same."""
    chance = random.Random(seed)
    bases = [LOOP, GROUPS, *ROUND]
    for _ in range(300):
        text = chance.choice(bases)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(text) + 1)
            cut = chance.choice([0, 0, 1, 3, 8])
            text = text[:place] + chance.choice([*WORDS, ""]) + text[place + cut :]
        try:
            optimizer = parse_optimizer(text)
        except SettingError as error:
            assert str(error)
            continue
        try:
            written = emit_optimizer(optimizer, optimizer.dialect)
        except NotRepresentable:
            continue
        assert parse_optimizer(written).settings() == optimizer.settings(), written


ROUND = [
    "clip_grad_norm_(p, 1.0)\no = torch.optim.SGD(p, lr=0.1)\nOneCycleLR(o, max_lr=1.0, total_steps=9)",
    "o = torch.optim.NAdam(p, betas=(0.9, 0.99))\nSequentialLR(o, [LinearLR(o), StepLR(o, 3)], milestones=[4])",
    "s = GradScaler(init_scale=8.0)\no = torch.optim.RMSprop(p, centered=True)\nLambdaLR(o, lambda k: 0.9 ** k)",
]


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(SettingError, match="unknown dialect 'jax'"):
        parse_optimizer("SGD(0.1)", dialect="jax")
    with pytest.raises(SettingError, match="unknown dialect 'jax'"):
        emit_optimizer(parse_optimizer("torch.optim.SGD(p)"), "jax")


# averages -------------------------------------------------------------------------------------------------------------


def test_averages_of_the_weights_stand_beside_them() -> None:
    head = "o = torch.optim.SGD(model.parameters(), lr=1.0)\n"
    swa = "from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn\n"
    ema = parse_optimizer(swa + head + "avg = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))")
    equal = parse_optimizer(swa + head + "avg = AveragedModel(model)")
    w, layout = np.zeros(1), LAYOUT
    for optimizer in (ema, equal):
        w = np.zeros(1)
        for g in (-1.0, -2.0, -3.0):
            ledger, w = optimizer.step_flat(w, np.array([g]), layout)
            averaging = next(row for row in ledger["w"].rows if row.cause == "averaging")
            assert float(averaging.contribution[0]) == 0.0
    assert w.tolist() == [6.0]  # 1, 3, 6
    states = [o.snapshot()[-2][0].states for o in (ema, equal)]
    assert states[0][ema.chain.index("weight_average")]["average"] == [0.5 * (0.5 * 1 + 0.5 * 3) + 0.5 * 6]
    assert states[1][equal.chain.index("iterate_average")]["ax"] == pytest.approx([10 / 3])
    for optimizer in (ema, equal):
        assert parse_optimizer(emit_optimizer(optimizer)).settings() == optimizer.settings()
    with pytest.raises(ParseError, match="get_ema_multi_avg_fn"):
        parse_optimizer(head + "AveragedModel(model, avg_fn=lambda a, b, n: a)")


# accumulation ---------------------------------------------------------------------------------------------------------


def test_a_divided_loss_is_accumulation() -> None:
    """Two micro-batches of gradients 6 and 2, each loss halved: one step with their mean, momentum counts it once."""
    optimizer = parse_optimizer(
        "o = SGD(p, lr=0.1, momentum=0.5)\nStepLR(o, 1, 0.5)\nloss = loss / 2\nloss.backward()\no.step()"
    )
    w = Variable(0.0, name="w")
    waiting = optimizer.apply_gradients([(6.0, w)])
    assert waiting[w].status == "waiting"
    assert float(w.numpy()) == 0.0
    assert optimizer.step_count == 0
    ledger = optimizer.apply_gradients([(2.0, w)])
    assert float(w.numpy()) == pytest.approx(-0.4)
    assert ledger.learning_rate == 0.1
    collected = next(row for row in ledger[w].rows if row.cause == "accumulation")
    assert float(collected.contribution) == pytest.approx(-0.1 * (4.0 - 2.0))
    optimizer.apply_gradients([(0.0, w)])
    assert optimizer.apply_gradients([(0.0, w)]).learning_rate == 0.05
    assert float(w.numpy()) == pytest.approx(-0.4 - 0.05 * 0.5 * 4.0)


# writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        (lambda: Optimizer([Momentum()]), "always has a learning rate"),
        (lambda: Optimizer([LearningRate(StepLR(), learning_rate=0.1), Momentum()]), "the nearest is SGD"),
        (lambda: parse_optimizer("keras.optimizers.Adam(0.1)"), "the nearest is"),
        (lambda: parse_optimizer("optax.adan(0.1)"), "no optimizer that does exactly this"),
        (lambda: parse_optimizer("keras.optimizers.SGD(0.1, global_clipnorm=1.0)"), "1e-6"),
    ],
)
def test_what_pytorch_cannot_do_is_said_exactly(optimizer: Any, words: str) -> None:
    with pytest.raises(NotRepresentable, match=words):
        emit_optimizer(optimizer(), "torch")


def test_a_row_switched_off_is_written_without_it() -> None:
    optimizer = parse_optimizer("clip_grad_norm_(p, 1.0)\ntorch.optim.SGD(p, lr=0.1, weight_decay=0.5)")
    optimizer.enable("clip_by_global_norm", False)
    optimizer.transform("l2").set("weight_decay", 0.0)
    assert emit_optimizer(optimizer) == "torch.optim.SGD(params, lr=0.1)"
    adam = parse_optimizer("torch.optim.Adam(p, lr=0.1)")
    adam.enable("bias_correction_1", False)
    with pytest.raises(NotRepresentable, match="always has 'bias correction 1'"):
        emit_optimizer(adam)


def test_the_nearest_optimizer_is_told_with_the_row_that_was_switched_off():
    optimizer = parse_optimizer("torch.optim.Adam(p, lr=0.05)")
    optimizer.transform("second_moment").enabled = False
    with pytest.raises(NotRepresentable, match="the nearest is Adam, which always has 'second-moment scaling'"):
        emit_optimizer(optimizer, "torch")
