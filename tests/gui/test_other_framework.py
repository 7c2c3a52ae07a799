"""'Compare...' in the ledger view: the numbers shown are the other arithmetic's, the reasons are said, it closes."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from core.simulation import Experiment, Simulation
from gui.session import Session
from gui.theme import LIGHT
from gui.views.ledger import LedgerView

EPSILON = "torch.optim.RMSprop(p, lr=0.01, alpha=0.9, eps=1e-2)"


@pytest.fixture
def opened(screen, qtbot):
    """Opens the comparison of a run."""
    views = []

    def make(lines, steps):
        simulation = Simulation(Experiment(optimizer=lines))
        simulation.advance(steps)
        session = Session.on(simulation)
        view = screen.view(LedgerView, session, (520, 480))
        views.append(view)
        qtbot.mouseClick(view.compare_button, Qt.MouseButton.LeftButton)
        dialog = view.compare_button.dialog
        qtbot.waitUntil(lambda: settled(dialog))
        return session, view, dialog

    yield make
    for view in views:
        if view.compare_button.dialog is not None:
            view.compare_button.dialog.close()


def settled(dialog):
    job = dialog.comparing.job
    return not dialog.comparing.working and (job is None or dialog.verdict.text() != "")


def cells(dialog):
    model = dialog.model
    return [[model.index(r, c).data() for c in range(5)] for r in range(model.rowCount())]


def test_keras_puts_epsilon_inside_the_root(opened, qtbot):
    session, _, dialog = opened(EPSILON, 8)
    assert dialog.dialect == "keras"
    assert dialog.box.text() == "keras.optimizers.RMSprop(learning_rate=0.01, epsilon=0.01)"
    assert "cannot express this chain exactly" in dialog.about.text()
    assert "ε stands inside the root" in dialog.about.text()
    history = session.current.history
    v, step = np.zeros(2), 7
    for k in range(step + 1):
        g = history.gradient(k)
        v = 0.9 * v + 0.1 * g * g
    here, there = -0.01 * g / (np.sqrt(v) + 1e-2), -0.01 * g / np.sqrt(v + 1e-2)
    pair = dialog.comparing.job.pair
    np.testing.assert_allclose(pair.left, here, rtol=1e-9)
    np.testing.assert_allclose(pair.right, there, rtol=1e-9)
    applied = cells(dialog)[-1]
    assert [float(x.replace("−", "-")) for x in applied[1:4]] == pytest.approx(
        [np.linalg.norm(here), np.linalg.norm(there), np.linalg.norm(there - here)], rel=1e-3
    )
    row = next(line for line in cells(dialog) if line[0] == "second-moment scaling")
    assert "here ε outside the root" in row[4] and "there ε inside the root" in row[4]
    assert "first step that differs is <b>0</b>" in dialog.verdict.text()
    session.show_step(3)
    qtbot.waitUntil(lambda: "Step 3:" in dialog.step_text.text())
    assert dialog.comparing.job.pair.step == 3
    qtbot.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    assert session.cursor == 0


def test_what_can_be_said_exactly_and_what_not_at_all(opened, qtbot):
    _, view, dialog = opened("torch.optim.Adam(p, lr=0.05)", 20)
    dialog.choose("optax")
    qtbot.waitUntil(lambda: settled(dialog) and "same steps, all 20" in dialog.verdict.text())
    assert dialog.about.text() == "optax can say exactly this."
    assert not dialog.go.isEnabled()
    dialog.choose("tf1")
    dialog.set_lines("tf.compat.v1.train.AdamOptimizer(0.05, beta1=)")
    assert not dialog.box.trouble.isHidden() and dialog.model.rowCount() == 0
    dialog.set_lines("keras.optimizers.SGD(0.05)")
    qtbot.waitUntil(lambda: settled(dialog) and dialog.model.rowCount() > 0)
    assert dialog.box.trouble.isHidden() and "Your own lines" in dialog.about.text()
    assert any("only here" in line[4] for line in cells(dialog))
    view.set_theme(LIGHT)
    assert dialog.model.theme is LIGHT


def test_a_chain_no_framework_has(opened):
    _, _, dialog = opened("torch.optim.Rprop(p, lr=0.01)", 3)
    assert dialog.box.text() == "" and dialog.model.rowCount() == 0
    assert "Keras cannot express this chain" in dialog.about.text()


def test_it_follows_the_run_and_its_changes(opened, qtbot):
    session, view, dialog = opened(EPSILON, 5)
    session.engine.advance(session.current, 10)
    qtbot.waitUntil(lambda: settled(dialog) and dialog.comparing.job.reached == 15)
    session.change("learning_rate", "learning_rate", 0.02)
    session.engine.advance(session.current, 1)
    qtbot.waitUntil(lambda: settled(dialog) and dialog.comparing.job.reached == 16)
    pair = dialog.comparing.job.pair
    v = np.zeros(2)
    for k in range(16):
        g = session.current.history.gradient(k)
        v = 0.9 * v + 0.1 * g * g
    np.testing.assert_allclose(pair.right, -0.02 * g / np.sqrt(v + 1e-2), rtol=1e-9)
    session.rewind(4)
    qtbot.waitUntil(lambda: settled(dialog) and dialog.comparing.job.reached == 4)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert view.compare_button.dialog is None
    assert not session.engine.busy


@pytest.mark.parametrize("way", ["button", "escape", "frame"])
def test_it_can_be_closed_and_opened_again(opened, qtbot, way):
    _, view, dialog = opened("torch.optim.Adam(p, lr=0.05)", 3)
    with qtbot.waitSignal(dialog.destroyed):
        if way == "button":
            qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
        elif way == "escape":
            qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        else:
            dialog.close()
        assert not dialog.isVisible()
    assert view.compare_button.dialog is None
    qtbot.mouseClick(view.compare_button, Qt.MouseButton.LeftButton)
    again = view.compare_button.dialog
    qtbot.waitUntil(lambda: settled(again) and again.model.rowCount() > 0)


def test_the_reason_speaks_of_settings_that_the_chain_has(opened):
    """PyTorch's own rule is 'roots'; 'squares' is only how the writer of lines compares chains."""
    _, _, dialog = opened("torch.optim.Adam(p, lr=0.05)", 3)
    dialog.choose("keras")
    told = dialog.about.text()
    assert "ε stands before the bias correction of the divisor in one, behind it in the other" in told
    assert "squares" not in told and "order: roots → hat" in told


def test_a_difference_too_small_to_be_seen_is_not_called_rounding(opened, qtbot):
    """After 40 steps TF1's epsilon, added before the correction, is still there, though no longer to be seen."""
    session, _, dialog = opened("torch.optim.Adam(p, lr=0.05)", 41)
    dialog.choose("tf1")
    qtbot.waitUntil(lambda: settled(dialog) and dialog.comparing.job.pair is not None)
    history = session.current.history
    m, v, step = np.zeros(2), np.zeros(2), 40
    for k in range(step + 1):
        g = history.gradient(k)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    first, second = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)
    torch = -0.05 * (m / first) / (np.sqrt(v / second) + 1e-8)
    tf1 = -0.05 * np.sqrt(second) / first * m / (np.sqrt(v) + 1e-8)
    apart = np.linalg.norm(tf1 - torch)
    assert 1e4 * np.finfo(float).eps < apart / np.linalg.norm(torch) < 1e-9
    told = dialog.step_text.text()
    assert "rounded" not in told and "they differ by" in told
    said = float(told.partition("differ by ")[2].partition(",")[0].replace("−", "-"))
    assert said == pytest.approx(apart, rel=1e-3)


def test_the_curve_shows_every_step_and_leads_to_it(opened, qtbot):
    session, _, dialog = opened(EPSILON, 30)
    job, curve = dialog.comparing.job, dialog.curve
    assert curve.isVisible() and curve.first_line.isVisible() and curve.first_line.value() == 0
    steps, distances = curve.distances.getOriginalDataset()
    np.testing.assert_array_equal(steps, np.arange(30))
    np.testing.assert_array_equal(distances, job.other.distances)
    np.testing.assert_array_equal(curve.lengths.getOriginalDataset()[1], job.other.lengths)
    box = curve.getPlotItem().getViewBox()
    place = curve.mapFromScene(box.mapViewToScene(box.viewRect().center()))
    wanted = round(box.viewRect().center().x())
    qtbot.mouseClick(curve.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.cursor == wanted
    qtbot.waitUntil(lambda: settled(dialog) and curve.step_line.value() == wanted)
    for axis, label in (("bottom", "step"), ("left", "length")):
        assert label in curve.getPlotItem().getAxis(axis).labelText


def test_rounding_is_said_and_drawn_where_the_rules_are_the_same(opened, qtbot):
    _, _, dialog = opened("torch.optim.AdamW(p, lr=0.05)", 40)
    dialog.set_lines("optax.adamw(0.05, weight_decay=0.01)")
    qtbot.waitUntil(lambda: settled(dialog) and "same steps, all 40" in dialog.verdict.text())
    other = dialog.comparing.job.other
    assert "rounding sets them apart by at most" in dialog.verdict.text()
    assert 0.0 < other.rounding < 1e-15 and other.rounding == other.distances.max()
    drawn = dialog.curve.distances.getOriginalDataset()[1]
    np.testing.assert_array_equal(np.isnan(drawn), other.distances == 0.0)
    assert not dialog.curve.first_line.isVisible() and not dialog.go.isEnabled()
    # the button follows the lines
    assert dialog.dialect == "optax"


def test_what_is_known_is_shown_while_there_is_more_to_compare(opened, monkeypatch):
    """A run that goes on adds steps as fast as they are compared: the answer must not wait for the end of that."""
    _, _, dialog = opened(EPSILON, 8)
    dialog.verdict.setText("")
    dialog.step_text.setText("")
    monkeypatch.setattr(type(dialog.comparing), "working", property(lambda self: True))
    dialog.refresh()
    assert "first step that differs is <b>0</b>" in dialog.verdict.text()
    assert "Step 7:" in dialog.step_text.text() and dialog.model.rowCount() > 0
    monkeypatch.undo()
    dialog.set_lines("optax.sgd(0.1")
    assert dialog.verdict.text() == dialog.step_text.text() == "" and dialog.model.rowCount() == 0
