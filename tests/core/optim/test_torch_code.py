"""PyTorch scripts as people write them, against the weights that PyTorch had; text in the dress it is pasted in."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import ParseError, emit_optimizer, parse_optimizer
from core.optim.layout import Layout

RECORDED = json.loads((Path(__file__).parent / "data" / "torch_code.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RECORDED["cases"], ids=[case["name"].replace(" ", "_") for case in RECORDED["cases"]])
def test_every_step_is_the_one_pytorch_took(case: dict[str, Any]) -> None:
    optimizer = parse_optimizer(case["text"])
    sizes = [int(np.prod(shape)) for _, shape in RECORDED["shapes"]]
    ends = np.cumsum([0, *sizes])
    start = np.array(RECORDED["start"])
    variables = [
        Variable(start[a:b].reshape(shape), name=name)
        for a, b, (name, shape) in zip(ends, ends[1:], RECORDED["shapes"], strict=False)
    ]
    for k, right in enumerate(case["weights"]):
        gradient = np.array(RECORDED["gradients"][k % len(RECORDED["gradients"])]) * (optimizer.loss_scale or 1.0)
        parts = [gradient[a:b].reshape(v.shape) for a, b, v in zip(ends, ends[1:], variables, strict=False)]
        optimizer.apply_gradients(list(zip(parts, variables, strict=True)))
        found = np.concatenate([v.numpy().reshape(-1) for v in variables])
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-11, err_msg=f"batch {k}")


PLAIN = """import torch
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
"""
LINES = PLAIN.splitlines()
FENCED = "```python\n"
DRESSES = {
    "no-break spaces": PLAIN.replace(" ", "\u00a0"),
    "byte order mark": "\ufeff" + PLAIN,
    "zero width": PLAIN.replace("optimizer.step", "\u200boptimizer.step"),
    "prompts": "\n".join(("... " if line.startswith(" ") else ">>> ") + line for line in LINES) + "\n...\n",
    "cells": "In [3]: import torch\n\nIn [4]: " + "\n   ...: ".join(LINES[1:]) + "\n",
    "diff": "@@ -1,5 +1,6 @@\n import torch\n-optimizer = torch.optim.Adam(p, lr=0.3)\n+" + "\n ".join(LINES[1:]),
    "pluses": "\n".join("+" + line for line in LINES),
    "fence": f"Here is my code:\n\n{FENCED}{PLAIN}```\n\nWhy does it not converge?\n",
    "two fences": FENCED + LINES[0] + "\n" + LINES[1] + "\n```\nand then\n" + FENCED + "\n".join(LINES[2:]) + "\n```",
    "curly quotes": PLAIN + "print(\u201cdone\u201d)\n",
    "tabs": PLAIN.replace("    ", "\t"),
    "windows": PLAIN.replace("\n", "\r\n"),
    "magics": "!pip install torch\n%matplotlib inline\n" + PLAIN.replace("    loss.b", "    !nvidia-smi\n    loss.b"),
    "line numbers": "\n".join(f"{i:3d} {line}" for i, line in enumerate(LINES, 1)),
    "quoted": "\n".join("> " + line for line in LINES),
    "python 2": PLAIN + 'print "loss %f" % loss.data[0]\n',
    "minus": PLAIN.replace("lr=0.1", "lr=1e\u22121"),
    "first line outdented": LINES[0] + "\n" + "\n".join("    " + line for line in LINES[1:]),
    "cut off": PLAIN + "for epoch in range(10):\n",
    "annotated": PLAIN.replace("optimizer =", "optimizer: torch.optim.Optimizer =", 1),
    "dots": "...\n" + PLAIN,
}


def path(text: str) -> list[float]:
    optimizer, layout, w = parse_optimizer(text), Layout(["w"], [(2,)]), np.array([1.0, 2.0])
    found: list[float] = []
    for k in range(3):
        _, w = optimizer.step_flat(w, np.array([3.0, 1.0 - k]), layout, loss=1.0)
        found += w.tolist()
    return found


@pytest.mark.parametrize("dress", DRESSES)
def test_pasted_text_is_read_whatever_it_wears(dress: str) -> None:
    assert path(DRESSES[dress]) == path(PLAIN)


def test_places_are_those_of_the_pasted_text() -> None:
    with pytest.raises(ParseError) as caught:
        parse_optimizer(">>> import torch\n>>> opt = torch.optim.SGD(p, lr='fast')")
    assert (caught.value.line, caught.value.column) == (2, 30)


def test_code_between_prompts_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ParseError, match="has none"):
        parse_optimizer(">>> opt = torch.optim.SGD(p, lr=0.1)\nopt = torch.optim.Adam(p)\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from transformers import AdamW\nAdamW(p, lr=5e-5)", "before the bias correction"),
        ("from transformers.optimization import Adafactor\nAdafactor(p, lr=1e-3)", "relative_step"),
        (
            "import bitsandbytes as bnb\nbnb.optim.AdamW8bit(p, lr=1e-4)",
            r"8 bits.*torch.optim.AdamW\(params, lr=0.0001",
        ),
        ("from apex.optimizers import FusedSGD\nFusedSGD(p, lr=0.1)", r"torch.optim.SGD\(params, lr=0.1\)"),
        ("from my_optimizers import Adam\nAdam(p, lr=0.1)", "another package's"),
        ("class SGD(torch.optim.Optimizer):\n    pass\nSGD(p, lr=0.1)", "class of these lines"),
        ("from timm.optim import create_optimizer_v2\ncreate_optimizer_v2(m, opt='sgd', lr=0.1)", "nesterov=True"),
        ("o = torch.optim.SGD(p, 0.1)\nOneCycleLR(o, 0.5, total_steps=len(loader) * 3)", "how many loader has"),
        ("lr = 0.1\nif cfg.tune:\n    lr = 0.01\ntorch.optim.SGD(p, lr=lr)", "as an 'if' above decides"),
        (
            "o = torch.optim.SGD(p, 0.1)\nif cfg.x:\n    s = StepLR(o, 3)\nelse:\n    s = ExponentialLR(o, 0.9)",
            "which scheduler is made",
        ),
    ],
)
def test_what_would_be_misread_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        parse_optimizer(text)


def test_what_is_taken_for_granted_is_remarked() -> None:
    text = PLAIN.replace("    torch.nn", "    if args.clip:\n        torch.nn")
    assert any("'args.clip'" in remark for remark in parse_optimizer(text).remarks)
    text = "def make(p, lr=0.3):\n    return torch.optim.SGD(p, lr=lr)\n"
    assert any("0.3, the default of make" in remark for remark in parse_optimizer(text).remarks)


SCHEDULES = (
    "",
    "StepLR(optimizer, {n}, gamma={f})",
    "CosineAnnealingLR(optimizer, {n})",
    "ExponentialLR(optimizer, {f})",
)
OPTIMIZERS = (
    "SGD(params, lr={lr}, momentum={f}, dampening={d}, weight_decay={w})",
    "SGD(params, lr={lr}, momentum={f}, nesterov=True)",
    "Adam(params, lr={lr}, betas=({f}, 0.99), eps={d}, weight_decay={w}, amsgrad={b})",
    "AdamW(params, lr={lr}, betas=({f}, 0.99), weight_decay={w}, maximize={b})",
    "RMSprop(params, lr={lr}, alpha={f}, eps={d}, momentum={d}, centered={b})",
    "Adagrad(params, lr={lr}, lr_decay={d}, initial_accumulator_value={w})",
    "Adadelta(params, lr={lr}, rho={f}, weight_decay={w})",
    "Adamax(params, lr={lr}, betas=({f}, 0.9))",
    "NAdam(params, lr={lr}, momentum_decay={d}, weight_decay={w}, decoupled_weight_decay={b})",
    "RAdam(params, lr={lr}, betas=({f}, 0.9), weight_decay={w})",
    "ASGD(params, lr={lr}, lambd={d}, alpha={f}, weight_decay={w})",
    "Rprop(params, lr={lr}, etas=({f}, 1.5))",
    "Muon(params, lr={lr}, momentum={f}, weight_decay={w})",
)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_is_read_as_the_same(seed: int) -> None:
    chance = random.Random(seed)
    values = {
        "lr": chance.choice([0.1, 3e-4]),
        "f": round(chance.uniform(0.1, 0.95), 3),
        "d": round(chance.random(), 3),
    }
    values |= {"w": round(chance.random(), 4), "b": chance.random() < 0.5, "n": chance.randrange(2, 50)}
    clip = chance.choice(["", f"torch.nn.utils.clip_grad_norm_(params, {values['f']})\n"])
    schedule = chance.choice(SCHEDULES)
    text = f"{clip}optimizer = torch.optim.{chance.choice(OPTIMIZERS)}".format(**values)
    text += f"\ntorch.optim.lr_scheduler.{schedule}".format(**values) if schedule else ""
    optimizer = parse_optimizer(text)
    again = parse_optimizer(emit_optimizer(optimizer))
    assert again.settings() == optimizer.settings()
