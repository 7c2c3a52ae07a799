"""Own formulas and own data in the window: checked as they are typed, tried out as they are chosen."""

import gzip

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from core.problems.dataset import Dataset
from core.problems.tables import Table
from core.simulation import Experiment, ProblemSettings, Simulation
from gui.data_dialog import DataDialog, is_data_file
from gui.session import Session
from gui.theme import DARK
from gui.views.pipeline import PipelineView
from gui.widgets.expression_box import ExpressionBox

TABLE = "height;weight;kind\n1,5;60;a\n1,8;;b\n1,6;70;a\n1,9;95;b\n1,7;80;b\n1,4;50;a\n"


@pytest.fixture
def box(qtbot):
    host = QWidget()
    made = ExpressionBox(DARK, "x**2", host)
    host.resize(260, 300)
    made.resize(260, 300)
    host.show()
    yield made
    host.close()
    host.deleteLater()


@pytest.fixture
def dialogs(qtbot):
    made = []

    def make(path="", problem=None):
        host = QWidget()
        dialog = DataDialog(problem or ProblemSettings(), str(path), host)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        said = []
        dialog.chosen.connect(said.append)
        made.append((dialog, host))
        if path:
            qtbot.waitUntil(lambda: not dialog.reader.busy, timeout=20_000)
        return dialog, said

    yield make
    for dialog, host in made:
        dialog.reject()
        host.deleteLater()


@pytest.fixture
def window(screen):
    return screen.window()


def type_text(qtbot, box, text):
    box.edit.setText("")
    for sign in text:
        qtbot.keyClicks(box.edit, sign)


# formulas -------------------------------------------------------------------------------------------------------


def test_constants_are_sliders_as_soon_as_they_are_typed(qtbot, box):
    type_text(qtbot, box, "(a - x)**2")
    assert list(box.sliders) == ["a"] and box.objective.component_names == ("x",)
    qtbot.keyClicks(box.edit, " + b*(y - x**2)**2")
    assert sorted(box.sliders) == ["a", "b"] and box.objective.component_names == ("x", "y")
    assert not box.trouble.isVisible()
    box.sliders["b"].field.entered.emit("100")
    qtbot.waitUntil(lambda: box.values["b"] == 100.0)
    said = []
    box.submitted.connect(lambda text, values: said.append((text, values)))
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert said == [("(a - x)**2 + b*(y - x**2)**2", {"a": 1.0, "b": 100.0})]
    # now they are sliders of the run
    assert not box.sliders


@pytest.mark.parametrize(
    ("text", "column"),
    [("x**2 + y.real", 8), ("x**2 + foo(y)", 8), ("(x + y", None), ("x + [1]", 5), ("sin(x) $ 2", None)],
)
def test_a_mistake_is_marked_where_it_is(qtbot, box, text, column):
    type_text(qtbot, box, text)
    assert box.trouble.isVisible() and box.objective is None
    marks = box.edit.extraSelections()
    assert len(marks) == 1
    place = marks[0].cursor.selectionStart() + 1
    if column is not None:
        assert abs(place - column) <= 1
        assert f"column {column}" in box.trouble.text() or f"column {column + 1}" in box.trouble.text()
    said = []
    box.submitted.connect(lambda text, values: said.append(text))
    qtbot.keyClick(box.edit, Qt.Key.Key_Return)
    assert not said
    type_text(qtbot, box, "x**2 + y**2")
    assert not box.trouble.isVisible() and not box.edit.extraSelections()


# model options --------------------------------------------------------------------------------------------------


@pytest.fixture
def pipeline(screen):
    moons = ProblemSettings("mlp", data="moons(rows=40, seed=1)")
    session = Session(Experiment(optimizer="torch.optim.SGD(params, lr=0.1)", problem=moons))
    return session, screen.view(PipelineView, session, (280, 900))


def test_model_options_are_controls_and_cautions_are_shown(qtbot, pipeline):
    session, view = pipeline
    assert {"layers", "activation", "init", "norm", "dropout", "batch_size", "test_fraction"} <= set(
        view.problem.sliders
    )
    view.problem.sliders["layers"].field.entered.emit("[4]")
    qtbot.waitUntil(lambda: session.current.simulation.objective.shape_text == "2-4-1")
    view.flush()
    view.problem.sliders["norm"].choice.setCurrentText("batch")
    view.problem.sliders["norm"].choice.activated.emit(1)
    qtbot.waitUntil(lambda: session.current.simulation.objective.options["norm"] == "batch")
    view.flush()
    problem = session.current.simulation.experiment.problem
    assert problem.options == {"layers": [4], "norm": "batch"} and problem.data == "moons(rows=40, seed=1)"
    assert session.current.simulation.layout.size == 2 * 4 + 4 + 4 + 4 + 4 + 1
    assert not view.problem.caution.isVisible()
    session.change("problem", "batch_size", 1)
    session.engine.settle()
    view.flush()
    assert view.problem.caution.isVisible() and "single row" in view.problem.caution.text()


def test_nothing_of_the_former_problem_stands_beside_a_formula_that_is_being_typed(qtbot, pipeline):
    session, view = pipeline
    panel = view.problem
    assert panel.formula_label.isVisibleTo(panel) and panel.data_row.isVisibleTo(panel)
    for _ in range(2):
        index = panel.choice.findData("expression")
        panel.choice.setCurrentIndex(index)
        panel.choice.activated.emit(index)
        view.mark_stale()
        view.flush()
        assert not panel.formula_label.isVisibleTo(panel) and not panel.data_row.isVisibleTo(panel)
        assert panel.expression.isVisibleTo(panel)
        # back again, nothing was started
        index = panel.choice.findData("mlp")
        panel.choice.setCurrentIndex(index)
        panel.choice.activated.emit(index)
        session.engine.settle()
        view.mark_stale()
        view.flush()
        assert panel.formula_label.isVisibleTo(panel) and panel.data_row.isVisibleTo(panel)


# data -----------------------------------------------------------------------------------------------------------


def test_a_table_is_previewed_and_chosen_from(qtbot, dialogs, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    dialog, said = dialogs(path)
    assert isinstance(dialog.found, Table)
    assert [dialog.preview.horizontalHeaderItem(k).text() for k in range(3)] == ["height", "weight", "kind"]
    assert [dialog.preview.item(1, k).text() for k in range(3)] == ["1.8", "", "b"]
    assert "6 rows, 3 columns" in dialog.summary.text()
    assert dialog.target.currentText() == "kind" and dialog.choices.chosen_features() == ["height", "weight"]
    assert dialog.model.currentData() == "logistic_regression"
    dialog.target.setCurrentText("weight")
    dialog.target.activated.emit(1)
    dialog.choices.features.item(1).setCheckState(Qt.CheckState.Unchecked)
    dialog.choices.test.setValue(0)
    dialog.choices.standardise.setChecked(False)
    assert dialog.try_out() and dialog.model.currentData() == "linear_regression"
    dialog.accept()
    (settings,) = said
    assert settings == ProblemSettings(
        "linear_regression", data=str(path.resolve()), target="weight", features=["height"],
        options={"test_fraction": 0.0, "standardise": False},
    )  # fmt: skip


def test_a_broken_file_leaves_nothing_of_the_one_before(qtbot, dialogs, tmp_path):
    path, broken = tmp_path / "people.csv", tmp_path / "broken.csv"
    path.write_text("x;y\n1,463;2\n")
    broken.write_text("x,y\n1,2\n3\n")
    dialog, _ = dialogs(path)
    assert "1 row, 2 columns" in dialog.summary.text() and dialog.preview.item(0, 0).text() == "1.463"
    dialog.read(str(broken))
    qtbot.waitUntil(lambda: "line 3" in dialog.trouble.text())
    assert dialog.target.count() == 0 and dialog.choices.features.count() == 0
    assert dialog.preview.rowCount() == 0 and not dialog.ok.isEnabled()
    dialog.read(str(path))
    qtbot.waitUntil(lambda: isinstance(dialog.found, Table))
    assert dialog.target.currentText() == "y" and dialog.choices.chosen_features() == ["x"]


def test_missing_values_as_chosen_and_mistakes_with_their_line(dialogs, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    dialog, said = dialogs(path)
    dialog.missing.setCurrentIndex(dialog.missing.findData("refuse"))
    assert not dialog.try_out() and not dialog.ok.isEnabled()
    assert "line 3, column 2" in dialog.trouble.text()
    dialog.accept()
    assert not said
    dialog.missing.setCurrentIndex(dialog.missing.findData("mean"))
    assert dialog.try_out() and dialog.ok.isEnabled() and not dialog.trouble.text()
    dialog.model.setCurrentIndex(dialog.model.findData("linear_regression"))
    assert not dialog.try_out() and "text" in dialog.trouble.text()


def test_delimiter_and_split_are_chosen_and_taken_over(qtbot, dialogs, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a|b,c|y\n" + "".join(f"{k}|{k},5|{k % 2}\n" for k in range(20)))
    dialog, said = dialogs()
    qtbot.keyClicks(dialog.path, str(path))
    # leaving the field reads the file
    dialog.path.editingFinished.emit()
    qtbot.waitUntil(lambda: not dialog.reader.busy)
    assert len(dialog.found.columns) == 3
    dialog.delimiter.setCurrentIndex(dialog.delimiter.findData(","))
    dialog.delimiter.activated.emit(dialog.delimiter.currentIndex())
    qtbot.waitUntil(lambda: not dialog.reader.busy)
    assert [column.name for column in dialog.found.columns] == ["a|b", "c|y"]
    dialog.delimiter.setCurrentIndex(dialog.delimiter.findData("|"))
    dialog.delimiter.activated.emit(dialog.delimiter.currentIndex())
    qtbot.waitUntil(lambda: not dialog.reader.busy)
    dialog.path.editingFinished.emit()
    assert not dialog.reader.busy
    dialog.choices.test.setValue(25)
    dialog.choices.split_seed.setValue(7)
    dialog.accept()
    (settings,) = said
    assert settings.options["delimiter"] == "|" and settings.options["split_seed"] == 7
    made = Simulation(Experiment(problem=settings)).objective
    order = np.random.default_rng(7).permutation(20)
    np.testing.assert_array_equal(made.samples.test_rows, np.sort(order[:5]))
    again, _ = dialogs(problem=settings)
    qtbot.waitUntil(lambda: again.found is not None)
    assert again.path.text() == str(path) and again.delimiter.currentData() == "|"
    assert (again.choices.test.value(), again.choices.split_seed.value()) == (25, 7)


def test_a_broken_file_is_told_with_line_and_column(dialogs, tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n")
    dialog, _ = dialogs(path)
    assert "line 3" in dialog.trouble.text() and "column 3" in dialog.trouble.text()
    assert not dialog.ok.isEnabled() and dialog.found is None
    dialog, _ = dialogs(tmp_path / "gone.csv")
    assert "no such file" in dialog.trouble.text()


def test_an_array_file_says_itself_what_is_what(dialogs, tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, x=np.arange(8.0).reshape(4, 2), y=np.array([0, 1, 1, 0]))
    dialog, said = dialogs(path)
    assert isinstance(dialog.found, Dataset) and not dialog.target.isEnabled()
    assert dialog.preview.item(2, 1).text() == "5"
    dialog.accept()
    assert said[0].data == str(path.resolve()) and said[0].name == "logistic_regression"


def test_reading_a_large_file_can_be_stopped(qtbot, dialogs, tmp_path):
    path = tmp_path / "large.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("a,b,c\n")
        file.write("1.5,2.5,3.5\n" * 400_000)
    dialog, _ = dialogs()
    seen = []
    dialog.reader.progressed.connect(seen.append)
    dialog.read(str(path))
    qtbot.waitUntil(lambda: bool(seen), timeout=20_000)
    dialog.stop_button.click()
    assert not dialog.reader.busy and dialog.found is None
    assert "stopped" in dialog.summary.text() and not dialog.ok.isEnabled()
    assert all(0 <= part <= 100 for part in seen)


def test_a_table_dropped_on_the_window_opens_the_dialog_and_trains(qtbot, window, tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("u,v\n" + "".join(f"{k},{2 * k + 1}\n" for k in range(10)))
    assert is_data_file("A.CSV") and is_data_file("a.tsv.gz") and not is_data_file("e.json")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    drop = QDropEvent(
        QPointF(200, 200), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(drop)
    (dialog,) = window.findChildren(DataDialog)
    qtbot.waitUntil(lambda: dialog.found is not None)
    dialog.choices.test.setValue(0)
    qtbot.mouseClick(dialog.buttons.button(QDialogButtonBox.StandardButton.Ok), Qt.MouseButton.LeftButton)
    objective = window.session.current.simulation.objective
    assert objective.name == "linear_regression" and len(objective.samples.train_y) == 10
    # standardised, a straight line through all points is weight 1, bias 0: loss 0 there, 1 at the start
    assert objective.value(np.array([1.0, 0.0])) == pytest.approx(0.0, abs=1e-12)
    window.session.engine.advance(window.session.current, 1)
    window.session.engine.settle()
    assert window.session.current.history.count == 1


def test_a_python_file_runs_only_when_the_user_says_so(window, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef loss(x, y, a=2.0):\n    return a*x**2 + y**2\n")
    documents, asked = window.menus.documents, []
    documents.ask_trust = lambda name: asked.append(name) or False
    window.menus.open_any(str(path))
    assert asked == [str(path)] and not (tmp_path / "ran").exists()
    experiment = Experiment(problem=ProblemSettings("python_file", python=str(path)), start=[1.0, 2.0])
    experiment.save(tmp_path / "e.json")
    assert not documents.open_file(str(tmp_path / "e.json")) and not (tmp_path / "ran").exists()
    assert window.session.current.simulation.objective.name == "rosenbrock"
    documents.ask_trust = lambda name: True
    assert documents.open_file(str(tmp_path / "e.json")) and (tmp_path / "ran").exists()
    assert window.session.current.simulation.objective.value([1.0, 2.0]) == 6.0
    # it stays allowed for other settings of the same run
    assert window.session.rebuild(seed=4)
    window.menus.open_any(str(path))
    assert window.session.current.simulation.objective.name == "python_file"
