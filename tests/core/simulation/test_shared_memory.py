"""What optimizers remember beside their averages (the loss scale, a plateau's best loss) survives going back."""

from __future__ import annotations

import numpy as np
import pytest

from core.simulation import Experiment, Simulation

SCALER = "scaler = torch.cuda.amp.GradScaler(init_scale=64.0, growth_interval=3)\ntorch.optim.Adam(p, lr=0.05)"
PLATEAU = "o = torch.optim.SGD(p, lr=0.003)\ntorch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1, factor=0.5)"


@pytest.mark.parametrize("lines", [SCALER, PLATEAU])
def test_going_back_and_on_again_gives_the_same_bits(lines: str) -> None:
    simulation = Simulation(Experiment(optimizer=lines))
    simulation.advance(80)
    digest, rates = simulation.digest, simulation.history.scalar("learning_rate").copy()
    for step in (3, 70):
        simulation.seek(step)
        simulation.advance(80 - step)
        assert simulation.digest == digest
        np.testing.assert_array_equal(simulation.history.scalar("learning_rate"), rates)
    fork = simulation.fork(66)
    fork.advance(14)
    assert fork.digest == digest
    np.testing.assert_array_equal(simulation.retake(71).blocks[0].applied, simulation.history.applied(71))


def test_the_loss_scale_goes_back_with_the_step() -> None:
    """It doubles after every third step: 64, 64, 64, 128, ..."""
    simulation = Simulation(Experiment(optimizer=SCALER))
    simulation.advance(70)
    simulation.seek(65)
    simulation.advance(2)
    assert simulation.history.figures(66)["loss_scale"] == 64.0 * 2.0 ** (66 // 3)
    assert simulation.history.figures(65)["loss_scale"] == 64.0 * 2.0 ** (65 // 3)
