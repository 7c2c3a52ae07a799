"""Optimizers as chains of transforms, and the ledger that itemises every step."""

from core.optim import schedules as schedules
from core.optim import transforms as transforms
from core.optim.chain import Chain as Chain
from core.optim.dialects import NotRepresentable as NotRepresentable
from core.optim.dialects import ParseError as ParseError
from core.optim.dialects import emit_optimizer as emit_optimizer
from core.optim.dialects import parse_optimizer as parse_optimizer
from core.optim.ledger import StepLedger as StepLedger
from core.optim.optimizer import Optimizer as Optimizer
from core.optim.pairs import SparseRows as SparseRows
