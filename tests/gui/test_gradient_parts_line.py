"""The line above the ledger shows the parts of the gradient where there are any."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from core.simulation import Experiment, ProblemSettings
from gui.session import Session
from gui.theme import DARK
from gui.views.inspector import InspectorView
from gui.views.ledger import LedgerView
from gui.widgets.copy_table import EXACT_ROLE

BATCH_NORM = ProblemSettings("mlp", data="moons(rows=60, seed=3)", options={"layers": [4], "norm": "batch"})


@pytest.fixture
def opened(screen):
    session = Session(Experiment(problem=BATCH_NORM))
    session.current.simulation.advance(5)
    session.show_step(3)
    return session, screen.view(LedgerView, session, (460, 520))


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


def test_the_inspector_has_them_before_the_gradient(qtbot, opened):
    session, _ = opened
    host = QWidget()
    host.resize(900, 400)
    view = InspectorView(session, DARK, host)
    view.resize(900, 400)
    host.show()
    model = view.components

    def column(title, role):
        titles = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
        return [model.index(r, titles.index(title)).data(role) for r in range(model.rowCount())]

    def titles():
        return [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]

    held, through = "g batch statistics held constant", "g through the batch statistics"
    qtbot.waitUntil(lambda: held in titles())
    assert titles().index(held) + 2 == titles().index(through) + 1 == titles().index("g")
    total = np.array(column(held, EXACT_ROLE), float) + np.array(column(through, EXACT_ROLE), float)
    gradient = np.array(column("g", EXACT_ROLE), float)
    np.testing.assert_array_equal(gradient, session.current.history.gradient(3))
    np.testing.assert_allclose(total, gradient, rtol=0, atol=2e-16 * np.abs(gradient).max())
    # another step: nothing of the former one stands beside it
    session.show_step(1)
    view.flush()
    assert set(column(held, Qt.ItemDataRole.DisplayRole)) == {"…"} and set(column(held, EXACT_ROLE)) == {""}
    qtbot.waitUntil(lambda: "…" not in column(held, Qt.ItemDataRole.DisplayRole))
    total = np.array(column(held, EXACT_ROLE), float) + np.array(column(through, EXACT_ROLE), float)
    gradient = session.current.history.gradient(1)
    np.testing.assert_allclose(total, gradient, rtol=0, atol=2e-16 * np.abs(gradient).max())
    assert "‖g through the batch statistics‖" in view.text()
    host.close()
    host.deleteLater()
