"""The line above the ledger shows the parts of the gradient where there are any."""

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

from core.simulation import Experiment, ProblemSettings
from gui.session import Session
from gui.theme import DARK
from gui.views.ledger import LedgerView

BATCH_NORM = ProblemSettings("mlp", data="moons(rows=60, seed=3)", options={"layers": [4], "norm": "batch"})


@pytest.fixture
def opened(qtbot):
    session = Session(Experiment(problem=BATCH_NORM))
    session.current.simulation.advance(5)
    session.show_step(3)
    host = QWidget()
    view = LedgerView(session, DARK, host)
    host.resize(460, 520)
    view.resize(460, 520)
    host.show()
    view.flush()
    yield session, view
    host.close()
    host.deleteLater()
    session.close()


def test_parts_are_shown_for_batch_norm_only(qtbot, opened):
    session, view = opened
    qtbot.waitUntil(lambda: view.parts_line.isVisible())
    total = sum(view.parts_line.parts().values())
    np.testing.assert_allclose(total, session.current.history.expected(3), rtol=1e-12, atol=1e-15)
    assert "through the batch statistics" in view.parts_line.text()
    assert f"{np.linalg.norm(total):.4g}" in view.parts_line.text()
    for step in (0, 1, 2, 4):
        session.show_step(step)
        view.flush()
    qtbot.waitUntil(lambda: "step 4" in view.parts_line.text(), timeout=10_000)
    total = sum(view.parts_line.parts().values())
    np.testing.assert_allclose(total, session.current.history.expected(4), rtol=1e-12, atol=1e-15)
    session.rebuild(problem=ProblemSettings(), start=None)
    session.engine.advance(session.current, 2)
    session.engine.settle()
    view.flush()
    assert not view.parts_line.isVisible()
