"""PyTorch: torch.optim, torch.optim.lr_scheduler, torch.nn.utils clipping and torch.amp loss scaling."""

from __future__ import annotations

from core.optim.dialects.binding import Argument, bind
from core.optim.dialects.values import NotRepresentable, Program
from core.optim.optimizer import Optimizer
from core.optim.transforms.frozen import FrozenMask
from core.optim.transforms.rate import LearningRate

NAMES: frozenset[str] = frozenset({"SGD"})
SGD = (Argument("params", None, "skip"), Argument("lr", 1e-3))


def build(program: Program) -> Optimizer | None:
    """The optimizer of the program, or None when it has none of ours."""
    for call in program.calls():
        if call.receiver is None and call.name == "SGD":
            values = bind(call, SGD)
            chain = [FrozenMask(), LearningRate(learning_rate=values["lr"])]
            return Optimizer(chain, dialect="torch", source=program.text)
    return None


def emit(optimizer: Optimizer) -> str:
    """The PyTorch lines for the optimizer."""
    rate = optimizer.chain.rate
    if rate is None:
        raise NotRepresentable("torch.optim always has a learning rate; this chain has none")
    return f"torch.optim.SGD(params, lr={rate.learning_rate!r})"
