"""The worked example of docs/ledger.md, number for number (worked out by hand there)."""

import numpy as np

from core.autodiff import Variable
from core.optim import Chain, Optimizer
from core.optim.schedules.base import Schedule
from core.optim.transforms.clip import ClipByValue
from core.optim.transforms.momentum import Momentum
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.regularise import L2


class Halved(Schedule):
    name = "halved"
    formula = "lr / 2 from the second step on"

    def rate(self, base: float, k: int) -> float:
        return base if k == 0 else base / 2


def test_the_rows_are_those_worked_out_by_hand():
    w = Variable(np.float16(2.0), dtype="float16")
    l2 = L2(weight_decay=0.0)
    rate = LearningRate(schedule=Halved(), learning_rate=0.0)
    optimizer = Optimizer(Chain([l2, ClipByValue(clip_value=4.0), Momentum(momentum=0.9), rate]))
    optimizer.apply_gradients([(1.0, w)])  # leaves 1 in the buffer and w where it is
    assert float(w.numpy()) == 2.0
    l2.set("weight_decay", 0.5)
    rate.set("learning_rate", 0.1)
    ledger = optimizer.apply_gradients([(5.0, w)])
    entry = ledger[w]
    rows = {row.name: float(row.contribution) for row in entry.rows}
    assert float(entry.expected) == -0.5
    np.testing.assert_allclose(
        [rows[name] for name in ("l2", "clip_by_value", "momentum", "learning_rate", "rounding")],
        [-0.1, 0.2, -0.09, 0.245, -0.0001171875],
        rtol=1e-12,
    )
    assert float(entry.applied) == -0.2451171875
    assert float(w.numpy()) == 1.7548828125
    assert abs(float(entry.residual)) <= 8 * np.spacing(0.6)
    assert ledger.learning_rate == 0.05 and ledger.base_learning_rate == 0.1
