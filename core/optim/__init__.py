"""Optimizers as chains of transforms, and the ledger that itemises every step."""

from core.optim import transforms as transforms
from core.optim.chain import Chain as Chain
from core.optim.ledger import StepLedger as StepLedger
from core.optim.optimizer import Optimizer as Optimizer
