"""The sentence that says which framework's convention a row follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.conventions import SAY, convention, explain
from core.optim.layout import Layout
from core.optim.schedule_conventions import SAY as SCHEDULE_SAY
from core.optim.schedules import SCHEDULES
from core.optim.transforms import TRANSFORMS


@pytest.mark.parametrize(
    ("text", "row", "words"),
    [
        ("torch.optim.SGD(p, momentum=0.9)", "momentum", "lr outside"),
        ("tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)", "momentum", "lr outside"),
        ("optax.sgd(0.1, momentum=0.9)", "momentum", "lr outside"),
        ("keras.optimizers.SGD(0.1, momentum=0.9)", "momentum", "lr inside"),
        ("optax.rmsprop(0.1, momentum=0.9)", "momentum", "lr inside"),
        ("torch.optim.SGD(p, momentum=0.9, dampening=0.1)", "momentum", "first step leaves dampening out"),
        ("torch.optim.Adam(p)", "bias_correction_2", "corrected root"),
        ("keras.optimizers.Adam()", "bias_correction_2", "ε hat"),
        ("torch.optim.Adam(p, amsgrad=True)", "second_maximum", "uncorrected v"),
        ("optax.amsgrad(0.1)", "second_maximum", "corrected v̂"),
        ("torch.optim.RMSprop(p)", "second_moment", "ε outside the root (PyTorch)"),
        ("keras.optimizers.RMSprop(0.1)", "second_moment", "ε inside the root"),
        ("tf.compat.v1.train.RMSPropOptimizer(0.1)", "second_moment", "starts at 1"),
        ("torch.optim.Adagrad(p)", "sum_of_squares", "starts at 0 "),
        ("tf.compat.v1.train.AdagradOptimizer(0.1)", "sum_of_squares", "0.1"),
        ("torch.optim.NAdam(p)", "scheduled_nesterov", "PyTorch"),
        ("keras.optimizers.Nadam()", "scheduled_nesterov", "(Keras)"),
        ("clip_grad_norm_(p, 1.0)\ntorch.optim.SGD(p)", "clip_by_global_norm", "1e-6"),
        ("keras.optimizers.SGD(0.1, global_clipnorm=1.0)", "clip_by_global_norm", "at the limit nothing changes"),
        ("keras.optimizers.SGD(0.1, clipnorm=1.0)", "clip_by_norm", "its own norm"),
        ("torch.optim.SGD(p, weight_decay=0.1)", "l2", "coupled"),
        ("torch.optim.AdamW(p)", "decoupled_decay", "times lr_t"),
        ("optax.adamw(0.1)", "added_decay", "inside the update"),
        ("optax.lamb(0.1, weight_decay=0.1)", "added_decay", "inside the trust ratio"),
        ("o = torch.optim.SGD(p)\nStepLR(o, 3)", "learning_rate", "boundary step has the lower rate"),
        ("o = torch.optim.SGD(p)\nLinearLR(o)", "learning_rate", "not at 0"),
        ("torch.optim.Muon(p)", "shape_factor", "rows/columns"),
        ("torch.optim.RAdam(p)", "rectification", "only above"),
        ("optax.radam(0.1)", "rectification", "≥ 5"),
        ("torch.optim.SGD(p)\n(loss / 4).backward()", "accumulate", "steps taken"),
        ("keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)", "accumulate", "count calls"),
        ("torch.optim.SGD(p)", "learning_rate", ""),
        ("torch.optim.Adadelta(p)", "second_moment", "in all four"),
        ("torch.optim.RAdam(p)", "bias_correction_2", "PyTorch's RAdam"),
        ("torch.optim.SparseAdam(p)", "bias_correction_2", "PyTorch's SparseAdam"),
        ("keras.optimizers.Nadam()", "bias_correction_2", "NAdam in PyTorch, Keras and optax"),
        ("keras.optimizers.Lamb()", "bias_correction_2", "of Keras only Nadam, Lamb"),
        ("torch.optim.RMSprop(p, centered=True)", "centred_second_moment", "ε outside the root"),
        ("keras.optimizers.RMSprop(centered=True)", "centred_second_moment", "ε inside the root"),
        ("keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)", "nesterov", "lr inside"),
        ("optax.nadam(0.1)", "nesterov_moment", "constant β₁"),
        ("optax.lamb(0.1, weight_decay=0.1)", "trust_ratio", "inside the ratio"),
        ("keras.optimizers.Lamb(0.1, weight_decay=0.1)", "trust_ratio", "outside the ratio"),
        ("torch.optim.Muon(p)", "orthogonalise", "bfloat16"),
        ("keras.optimizers.Muon(0.1)", "orthogonalise", "variable's type"),
        ("s = torch.amp.GradScaler('cuda')\ntorch.optim.SGD(p)", "loss_scale", "starts at 65536"),
        ("s = torch.amp.GradScaler('cuda')\ntorch.optim.SGD(p)", "finite_guard", "advances nothing"),
        ("optax.MultiSteps(optax.sgd(0.1), 3)", "multi_steps", "the mean of the gradients"),
        ("tf.compat.v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1)", "ftrl_l1", "soft threshold"),
        ("keras.optimizers.Ftrl(0.1, l2_regularization_strength=0.1)", "ftrl_l2", "without the half"),
        ("tf.compat.v1.train.ProximalGradientDescentOptimizer(0.1, 0.1, 0.1)", "proximal_l2", "with the half"),
        (
            "o = torch.optim.SGD(p, lr=0.1)\nSequentialLR(o, [LinearLR(o), CosineAnnealingLR(o, 9)], [5])",
            "learning_rate",
            "next schedule's first (PyTorch); warm-up starts at start_factor",
        ),
        ("optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 9))", "learning_rate", "here 0 (optax"),
        ("optax.sgd(optax.linear_schedule(0.0, 0.1, 5))", "learning_rate", "starts at init_value, here 0"),
        ("optax.sgd(optax.linear_schedule(0.1, 0.0, 5))", "learning_rate", ""),
        (
            "keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(0.1, 5, cycle=True))",
            "learning_rate",
            "⌈k/D⌉",
        ),
    ],
)
def test_the_row_names_its_convention(text: str, row: str, words: str) -> None:
    found = convention(parse_optimizer(text).chain, row)
    assert words in found if words else found == ""


def test_clipping_a_scaled_gradient_is_pointed_out() -> None:
    late = (
        "s = GradScaler()\no = torch.optim.SGD(p)\ns.scale(loss).backward()\n"
        "clip_grad_norm_(p, 1.0)\ns.step(o)\ns.update()"
    )
    assert "still scaled" in convention(parse_optimizer(late).chain, "clip_by_global_norm")
    right = late.replace("clip_grad", "s.unscale_(o)\nclip_grad")
    assert "still scaled" not in convention(parse_optimizer(right).chain, "clip_by_global_norm")


def test_explain_puts_it_behind_the_formula() -> None:
    optimizer = parse_optimizer("keras.optimizers.Adam(0.1)")
    ledger, _ = optimizer.step_flat(np.ones(2), np.ones(2), Layout(["w"], [(2,)]))
    text = explain(optimizer.chain, "bias_correction_2", ledger.figures)
    assert text.endswith("]")
    assert "ε hat" in text
    assert explain(optimizer.chain, "frozen_mask", ledger.figures) == "u ← 0 where frozen"


def test_clips_and_scales_say_in_which_order_they_stand() -> None:
    text = (
        "s = torch.amp.GradScaler('cuda')\no = torch.optim.SGD(p)\ns.scale(loss).backward()\n{0}"
        "clip_grad_norm_(p, 1.0)\ns.step(o)\ns.update()"
    )
    assert convention(parse_optimizer(text.format("s.unscale_(o)\n")).chain, "loss_scale").endswith("before the clip")
    assert convention(parse_optimizer(text.format("")).chain, "loss_scale").endswith("clips see the scaled gradient")


def test_every_sentence_belongs_to_a_transform_and_the_table_is_there() -> None:
    assert set(SAY) <= set(TRANSFORMS)
    assert set(SCHEDULE_SAY) <= set(SCHEDULES)
    page = (Path(__file__).parents[3] / "docs" / "conventions.md").read_text(encoding="utf-8")
    for word in (
        "lr outside",
        "lr inside",
        "dampening",
        "hat",
        "AMSGrad",
        "NAdam",
        "1e-6",
        "soft threshold",
        "boundary",
    ):
        assert word in page


def test_of_two_rows_of_a_kind_each_explains_itself_with_its_own_figures() -> None:
    """(3, 4) has norm 5; clipped to 2 it has norm 2, and the second clip finds that."""
    clips = "optax.clip_by_global_norm(2.0), optax.clip_by_global_norm(1.0)"
    optimizer = parse_optimizer(f"optax.chain({clips}, optax.sgd(0.1))")
    ledger, _ = optimizer.step_flat(np.zeros(2), np.array([3.0, 4.0]), Layout(["w"], [(2,)]))
    first = explain(optimizer.chain, "clip_by_global_norm", ledger.figures)
    second = explain(optimizer.chain, "clip_by_global_norm_2", ledger.figures)
    assert "u · 0.4   because ‖u‖ = 5 > 2" in first and "u · 0.5   because ‖u‖ = 2 > 1" in second
    assert ledger.figures["clip_by_global_norm.gradient_norm"] == 5.0
    groups = optimizer.step_flat(np.zeros(3), np.ones(3), Layout(["a", "b"], [(2,), (1,)]))[0]
    assert groups.figures["clip_by_global_norm.gradient_norm"] == pytest.approx(np.sqrt(3.0))
