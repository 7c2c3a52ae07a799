"""Eigenvectors and the quadratic model's step on the surface, where the formula says they are."""

import numpy as np
import pytest

from core.simulation import Experiment, ProblemSettings
from gui.session import Session
from gui.views.surface import SurfaceView


@pytest.fixture
def opened(screen):
    problem = ProblemSettings(expression="0.5*(9*(x - 1)**2 + 2*(y + 0.5)**2)")
    session = Session(Experiment(problem=problem, start=[-1.0, 1.0], optimizer="torch.optim.SGD(params, lr=0.05)"))
    session.current.simulation.advance(6)
    session.show_step(2)
    return session, screen.view(SurfaceView, session, (520, 480))


def test_axes_of_the_bowl_and_the_way_to_its_bottom(qtbot, opened):
    session, view = opened
    layer = view.curvature_layer
    assert layer.job is None and not len(layer.axes.tips)
    view.controls.actions_by_layer["curvature"].setChecked(True)
    view.flush()

    def drawn() -> bool:
        # found in the worker's thread, drawn when its report has come
        view.mark_stale()
        view.flush()
        return layer.job is not None and layer.job.found is not None and len(layer.newton.tips) > 0

    qtbot.waitUntil(drawn)
    np.testing.assert_allclose(layer.job.found.values, [9.0, 2.0], rtol=1e-12)
    weights = session.current.history.weights(2)
    # the quadratic model of a quadratic ends at the minimum, wherever it begins
    np.testing.assert_allclose(layer.newton.tails, [weights], rtol=1e-12)
    np.testing.assert_allclose(layer.newton.tips, [[1.0, -0.5]], rtol=1e-10)
    directions = np.abs(layer.axes.tips - layer.axes.tails)[:2]
    assert directions[0, 0] > 0 and directions[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert directions[1, 1] > 0 and directions[1, 0] == pytest.approx(0.0, abs=1e-12)
    assert [text.toPlainText() for text in layer.texts[:2]] == ["λ = 9", "λ = 2"]
    view.controls.actions_by_layer["curvature"].setChecked(False)
    view.flush()
    assert not len(layer.axes.tips) and not len(layer.newton.tips)
