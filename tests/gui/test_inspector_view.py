"""The inspector: every number is the history's, what is copied gives back every bit, sorting and finding work."""

import csv
import io

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication

from gui.session import Session
from gui.theme import LIGHT
from gui.views.inspector import InspectorView
from tests.gui.on_screen import settle
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
CHAIN = (("l2", {"weight_decay": 0.3}), ("clip_by_global_norm", {"max_norm": 0.5}), ("momentum", {}), RATE)


@pytest.fixture
def shown(screen):
    """Opens the view on a simulation."""

    def make(simulation, size=(900, 420)):
        session = Session.on(simulation)
        return session, screen.view(InspectorView, session, size)

    return make


def read(text):
    return list(csv.reader(io.StringIO(text), delimiter="\t"))


def test_copied_components_give_back_every_bit(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"W": (4, 3), "b": (3,)}), steps=5, storage="float32"))
    history = session.current.history
    view.components_table.copy()
    rows = read(QGuiApplication.clipboard().text())
    assert rows[0] == ["component", "w", "g", "−lr·g", *history.schema(4).labels, "Δw", "residual"]
    table = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    assert [row[0] for row in rows[1:]] == history.layout.component_names()
    np.testing.assert_array_equal(table[:, 0], history.weights(4))
    np.testing.assert_array_equal(table[:, 1], history.gradient(4))
    np.testing.assert_array_equal(table[:, 2], history.expected(4))
    np.testing.assert_array_equal(table[:, 3:-2], history.rows(4).T)
    np.testing.assert_array_equal(table[:, -2], history.applied(4))
    assert np.abs(table[:, -1]).max() < 1e-15


def test_numbers_of_the_step(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=3))
    session.show_step(0)
    settle(view)
    found = dict(read(view.numbers_table.selected_text())[1:])
    history = session.current.history
    assert found["step"] == "0" and float(found["loss"]) == 12.5 and found["learning_rate"] == "0.1"
    assert float(found["‖g‖"]) == 5.0 and float(found["‖Δw‖"]) == np.linalg.norm(history.applied(0))
    assert float(found["gradient_norm"]) == 6.5 and float(found["clip_factor"]) == history.figures(0)["clip_factor"]
    assert float(found["‖momentum‖"]) == 0.0


def test_a_selection_copies_only_itself(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (6,)}), steps=2))
    selection = view.components_table.selectionModel()
    for row, column in ((1, 0), (1, 2), (3, 0), (3, 2)):
        selection.select(view.components.index(row, column), QItemSelectionModel.SelectionFlag.Select)
    rows = read(view.components_table.selected_text())
    gradient = session.current.history.gradient(1)
    assert rows == [["component", "g"], ["w[1]", repr(float(gradient[1]))], ["w[3]", repr(float(gradient[3]))]]


def test_everything_is_copied_by_key(shown, qtbot):
    _, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)}), steps=2))
    view.copy_all.trigger()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("number\tvalue\nstep\t1\n") and "\n\ncomponent\tw\tg" in text
    view.components_table.setFocus()
    QGuiApplication.clipboard().clear()
    view.components_table.copy_action.trigger()
    assert QGuiApplication.clipboard().text().startswith("component\tw\tg")


def test_sorting_stays_while_steps_go_by(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (40,)}), steps=6))
    view.components_table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    for step in (5, 0):
        session.show_step(step)
        settle(view)
        order = [view.components.component_of(row) for row in range(40)]
        gradient = session.current.history.gradient(step)
        np.testing.assert_array_equal(gradient[order], np.sort(gradient)[::-1])
        assert view.components.row_of(order[7]) == 7


def test_finding_components(shown):
    session, view = shown(simulate(RATE, objective=Bowl({"W": (2, 2), "bias": (3,)}), steps=1))
    view.filter.setText("BIA")
    settle(view)
    assert [view.components.index(r, 0).data() for r in range(view.components.rowCount())] == [
        "bias[0]", "bias[1]", "bias[2]"
    ]  # fmt: skip
    assert view.note.text() == "step 0   3 components"
    session.select(component=5)
    settle(view)
    assert view.components_table.currentIndex().row() == 1


def test_thousands_of_components_are_read_only_where_looked_at(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (20_000,)}), steps=2))
    assert view.components.rowCount() == 20_000
    asked = []
    right = view.components._columns[0]
    view.components._columns[0] = lambda picked: (asked.append(int(picked[0])), right(picked))[1]
    view.components_table.viewport().repaint()
    QCoreApplication.processEvents()
    assert len(set(asked)) < 200
    assert float(view.components.index(19_999, 1).data().replace("−", "-")) == pytest.approx(
        session.current.history.weights(1)[19_999], rel=1e-6
    )


def test_before_the_first_step_and_in_other_themes(shown):
    session, view = shown(simulate(*CHAIN, objective=Bowl({"w": (3,)})))
    assert view.empty.isVisible() and not view.splitter.isVisible()
    session.step_forward()
    session.engine.settle()
    settle(view)
    assert view.splitter.isVisible() and view.components.rowCount() == 3
    view.set_theme(LIGHT)
    settle(view)
    _, broken = shown(
        simulate(("learning_rate", {"learning_rate": 1e308}), objective=Bowl({"w": (3,)}, start=10.0), steps=2)
    )
    assert "inf" in broken.text()
