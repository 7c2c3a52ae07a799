"""The same lines run by PyTorch itself (extra 'bench'): 100 steps agree, from the line and from its emitted form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.pairs import SparseRows

torch = pytest.importorskip("torch", reason="needs the extra 'bench': torch is not installed")

SHAPES: dict[str, tuple[int, ...]] = {"w": (3, 2), "b": (2,)}
LAYOUT = Layout(list(SHAPES), list(SHAPES.values()))
STEPS = 100

OPTIMIZERS = [
    "torch.optim.SGD(params, lr=0.05)",
    "torch.optim.SGD(params, lr=0.02, momentum=0.9, dampening=0.3, weight_decay=0.1)",
    "torch.optim.SGD(params, lr=0.02, momentum=0.9, nesterov=True, maximize=False)",
    "torch.optim.SGD(params, lr=1e-4, maximize=True, weight_decay=0.1)",
    "torch.optim.Adam(params, lr=0.02, amsgrad=True, weight_decay=0.1)",
    "torch.optim.Adam(params, lr=0.02, betas=(0.8, 0.9), eps=1e-3, decoupled_weight_decay=True, weight_decay=0.2)",
    "torch.optim.AdamW(params, lr=0.02, amsgrad=True)",
    "torch.optim.Adamax(params, lr=0.02, weight_decay=0.1)",
    "torch.optim.NAdam(params, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "torch.optim.NAdam(params, lr=0.02, momentum_decay=0.1)",
    "torch.optim.RAdam(params, lr=0.02, weight_decay=0.1)",
    "torch.optim.RAdam(params, lr=0.02, betas=(0.9, 0.99), decoupled_weight_decay=True, weight_decay=0.1)",
    "torch.optim.RMSprop(params, lr=0.01, momentum=0.5, centered=True, eps=1e-3, weight_decay=0.01)",
    "torch.optim.Adagrad(params, lr=0.2, lr_decay=0.05, initial_accumulator_value=0.1, weight_decay=0.01)",
    "torch.optim.Adadelta(params, lr=0.7, rho=0.95, weight_decay=0.01)",
    "torch.optim.ASGD(params, lr=0.03, lambd=0.01, t0=20, weight_decay=0.01)",
    "torch.optim.Rprop(params, lr=0.02, etas=(0.4, 1.3), step_sizes=(1e-4, 1.0))",
    "torch.optim.Adafactor(params, lr=0.02, weight_decay=0.1)",
    "torch.optim.LBFGS(params, lr=0.5, max_iter=3, history_size=4)",
    "torch.optim.LBFGS(params, max_iter=4, line_search_fn='strong_wolfe')",
]
SGD = "optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.5)\nscheduler = "
ADAM = "optimizer = torch.optim.Adam(params, lr=0.05)\nscheduler = "
S = "torch.optim.lr_scheduler."
SCHEDULED = [
    SGD + S + "StepLR(optimizer, step_size=7, gamma=0.8)",
    SGD + S + "MultiStepLR(optimizer, milestones=[30, 10, 10, 60], gamma=0.7)",
    SGD + S + "ConstantLR(optimizer, factor=0.25, total_iters=9)",
    SGD + S + "LinearLR(optimizer, start_factor=0.2, end_factor=0.7, total_iters=20)",
    SGD + S + "ExponentialLR(optimizer, gamma=0.97)",
    SGD + S + "PolynomialLR(optimizer, total_iters=60, power=1.5)",
    SGD + S + "CosineAnnealingLR(optimizer, T_max=17, eta_min=0.001)",
    SGD + S + "CosineAnnealingWarmRestarts(optimizer, T_0=7, T_mult=2, eta_min=0.002)",
    SGD + S + "OneCycleLR(optimizer, max_lr=0.1, total_steps=101, three_phase=True)",
    ADAM + S + "OneCycleLR(optimizer, max_lr=0.1, epochs=11, steps_per_epoch=10, anneal_strategy='linear')",
    ADAM + S + "CyclicLR(optimizer, base_lr=0.01, max_lr=0.05, step_size_up=7, step_size_down=5, mode='triangular2')",
    SGD + S + "CyclicLR(optimizer, base_lr=0.01, max_lr=0.05, step_size_up=7, mode='exp_range', gamma=0.98)",
    SGD + S + "CyclicLR(optimizer, base_lr=0.01, max_lr=0.05, step_size_up=7, scale_fn=lambda x: 1 / (1 + x))",
    SGD + "torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=30)",
    SGD + "torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=7, anneal_strategy='linear')",
    SGD + S + "LambdaLR(optimizer, lambda e: 0.95 ** e if e < 20 else 0.3 + 1 / (e + 1))",
    SGD + S + "MultiplicativeLR(optimizer, lambda e: 0.99 + 0.001 * (e % 3))",
    SGD
    + S
    + f"SequentialLR(optimizer, [{S}LinearLR(optimizer, start_factor=0.1, total_iters=10), "
    + f"{S}CosineAnnealingLR(optimizer, T_max=30), {S}ExponentialLR(optimizer, gamma=0.9)], milestones=[10, 40])",
    SGD
    + S
    + f"ChainedScheduler([{S}CosineAnnealingLR(optimizer, T_max=9, eta_min=0.01), "
    + f"{S}StepLR(optimizer, step_size=13, gamma=0.9), {S}LinearLR(optimizer, start_factor=0.5, total_iters=30)])",
]
CLIPPED = [
    "torch.nn.utils.clip_grad_norm_(params, max_norm=0.7)\noptimizer = torch.optim.SGD(params, lr=0.1)",
    "torch.nn.utils.clip_grad_norm_(params, max_norm=0.7, norm_type=1.0)\noptimizer = torch.optim.SGD(params, lr=0.1)",
    "torch.nn.utils.clip_grad_norm_(params, 0.2, float('inf'))\noptimizer = torch.optim.SGD(params, lr=0.1)",
    "torch.nn.utils.clip_grad_value_(params, 0.05)\ntorch.nn.utils.clip_grad_norm_(params, 0.1)\n"
    "optimizer = torch.optim.Adam(params, lr=0.1)",
]


class Problem:
    """A linear fit with a bend, (3, 2) weights and a bias, in both worlds."""

    def __init__(self) -> None:
        generator = np.random.default_rng(3)
        self.x, self.y = generator.normal(size=(8, 3)), generator.normal(size=(8, 2))
        self.start = generator.normal(size=LAYOUT.size)

    def torch_loss(self, w: Any, b: Any) -> Any:
        out = torch.tanh(torch.as_tensor(self.x) @ w + b) - torch.as_tensor(self.y)
        return (out * out).sum() / 8 + 0.01 * (w * w).sum()

    def at(self, flat: Array) -> tuple[float, Array]:
        """Loss and gradient from PyTorch's own differentiation, so that only the optimizers can differ."""
        w, b = self.parameters(np.asarray(flat, dtype=np.float64))
        loss = self.torch_loss(w, b)
        loss.backward()
        return loss.item(), np.concatenate([w.grad.numpy().reshape(-1), b.grad.numpy()])

    def parameters(self, flat: Array) -> list[Any]:
        return [torch.tensor(part, requires_grad=True) for part in LAYOUT.split(np.array(flat))]


def run_ours(optimizer: Optimizer, problem: Problem, steps: int = STEPS) -> list[Array]:
    weights, path = problem.start, [problem.start]
    for _ in range(steps):
        loss, gradient = problem.at(weights)
        _, weights = optimizer.step_flat(weights, gradient, LAYOUT, loss=loss, evaluate=problem.at)
        path.append(weights)
    return path


def run_theirs(text: str, problem: Problem, steps: int = STEPS) -> list[Array]:
    """The pasted lines executed by PyTorch: clipping lines before each step, the scheduler after it."""
    params = problem.parameters(problem.start)
    lines = text.split("\n")
    clips = [line for line in lines if line.startswith("torch.nn.utils.clip")]
    names: dict[str, Any] = {"torch": torch, "params": params, "math": math}
    setup = [line if "optimizer" in line or "scheduler" in line else f"optimizer = {line}" for line in lines]
    exec("\n".join(line for line in setup if line not in clips and "clip_grad" not in line), names)
    path = [problem.start]

    def closure() -> Any:
        names["optimizer"].zero_grad()
        loss = problem.torch_loss(*params)
        loss.backward()
        return loss

    for _ in range(steps):
        loss = closure()
        for clip in clips:
            exec(clip, names)
        names["optimizer"].step(closure) if "LBFGS" in text else names["optimizer"].step()
        if "Plateau" in text:
            names["scheduler"].step(loss.item())
        elif "scheduler" in names:
            names["scheduler"].step()
        path.append(np.concatenate([p.detach().numpy().reshape(-1).copy() for p in params]))
    return path


@pytest.fixture(autouse=True)
def _float64() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


PLATEAU = "optimizer = torch.optim.SGD(params, lr=0.5)\nscheduler = " + S + "ReduceLROnPlateau("
LINES = [
    *OPTIMIZERS,
    *SCHEDULED,
    *CLIPPED,
    PLATEAU + "optimizer, factor=0.5, patience=2, cooldown=1, threshold=1e-2)",
    PLATEAU + "optimizer, mode='max', factor=0.7, patience=1, min_lr=0.01)",
]


@pytest.mark.parametrize("text", LINES)
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*", "ignore:.*EPOCH_DEPRECATION.*", "ignore:To get the last")
def test_a_hundred_steps_agree(text: str) -> None:
    problem = Problem()
    optimizer = parse_optimizer(text)
    emitted = emit_optimizer(optimizer)
    steps = 8 if "LBFGS" in text else STEPS  # it converges, and then compares rounding errors
    ours, theirs = run_ours(optimizer, problem, steps), run_theirs(text, problem, steps)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=f"step {k} of {text}")
    again = run_theirs(emitted, problem, steps)
    np.testing.assert_allclose(again[-1], theirs[-1], rtol=1e-12, atol=0, err_msg=emitted)


def test_groups_agree() -> None:
    text = (
        "optimizer = torch.optim.AdamW([{'params': [w], 'lr': 0.1}, {'params': [b], 'weight_decay': 0.0}], "
        "lr=0.02, weight_decay=0.3)\n" + "scheduler = " + S + "ExponentialLR(optimizer, gamma=0.95)"
    )
    problem = Problem()
    optimizer = parse_optimizer(text)
    w, b = problem.parameters(problem.start)
    names: dict[str, Any] = {"torch": torch, "w": w, "b": b}
    exec(text, names)
    for path in run_ours(optimizer, problem, 30)[1:]:
        names["optimizer"].zero_grad()
        problem.torch_loss(w, b).backward()
        names["optimizer"].step()
        names["scheduler"].step()
        theirs = np.concatenate([p.detach().numpy().reshape(-1) for p in (w, b)])
        np.testing.assert_allclose(path, theirs, rtol=1e-10, atol=1e-12)


def test_sparse_adam_agrees() -> None:
    table = torch.nn.Embedding(5, 3, sparse=True)
    start = table.weight.detach().numpy().copy()
    ours = Variable(start, name="table")
    theirs = torch.optim.SparseAdam(table.parameters(), lr=0.05)
    optimizer = parse_optimizer("torch.optim.SparseAdam(params, lr=0.05)")
    generator = np.random.default_rng(0)
    for _ in range(20):
        rows = generator.integers(0, 5, size=3)
        values = generator.normal(size=(3, 3))
        theirs.zero_grad()
        (table(torch.as_tensor(rows)) * torch.as_tensor(values)).sum().backward()
        theirs.step()
        optimizer.apply_gradients([(SparseRows(rows, values, (5, 3)), ours)])
        np.testing.assert_allclose(ours.numpy(), table.weight.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_muon_in_bfloat16_agrees() -> None:
    """PyTorch iterates in bfloat16; matrix products there may add up in another order, so to its precision."""
    generator = np.random.default_rng(1)
    start, target = generator.normal(size=(4, 3)), generator.normal(size=(4, 3))
    parameter = torch.tensor(start, requires_grad=True)
    theirs = torch.optim.Muon([parameter], lr=0.02, weight_decay=0.1)
    ours, layout, w = parse_optimizer("torch.optim.Muon(params, lr=0.02)"), Layout(["w"], [(4, 3)]), start.reshape(-1)
    for _ in range(20):
        theirs.zero_grad()
        ((parameter - torch.as_tensor(target)) ** 2).sum().backward()
        _, w = ours.step_flat(w, 2 * (w - target.reshape(-1)), layout)
        theirs.step()
        np.testing.assert_allclose(w, parameter.detach().numpy().reshape(-1), atol=6e-3)
