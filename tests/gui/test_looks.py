"""What is read is whole: no words cut off in the ready layouts of a small screen, numbers written in one way."""

import pytest

from core.simulation import Experiment, ProblemSettings
from gui.layouts import LAYOUTS
from gui.main_window import MainWindow
from gui.run_names import racer_name
from gui.session import Session
from gui.views.surface.figure import PlainAxis
from gui.views.timeline.axis import ValueAxis
from gui.views.timeline.items import Legend
from gui.widgets.eliding_combo import ElidingCombo
from gui.widgets.eliding_label import ElidingLabel
from gui.widgets.numbers import real_minus, shown_number
from gui.widgets.read_out import ReadOut

SMALL = (1280, 800)
VALLEY = Experiment(
    optimizer="torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\n"
    "torch.optim.Adam(params, lr=0.06, weight_decay=0.02)"
)
CANCER = Experiment(
    problem=ProblemSettings(name="logistic_regression"),
    optimizer="torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)\n"
    "torch.optim.AdamW(params, lr=0.05, weight_decay=0.1)",
)


@pytest.fixture
def opened(qtbot):
    """Opens a small window that has taken some steps; closed at the end."""
    windows = []

    def open_window(experiment, steps=4):
        window = MainWindow(Session(experiment), "dark")
        windows.append(window)
        window.resize(*SMALL)
        window.show()
        window.session.engine.advance(window.session.current, steps)
        window.session.engine.settle()
        return window

    yield open_window
    for window in windows:
        window.close()
        window.deleteLater()


def cut_words(window):
    """Words of labels that are seen and shortened."""
    found = []
    for label in window.findChildren(ElidingLabel):
        if label.isVisible() and label.fontMetrics().horizontalAdvance(label.text()) > label.contentsRect().width():
            found.append(label.text())
    for label in window.findChildren(ReadOut):
        if label.isVisible() and label.label.text().endswith("…"):
            found.append(label.text())
    return found


@pytest.mark.parametrize("experiment", [VALLEY, CANCER], ids=["two weights", "31 weights"])
def test_no_words_are_cut_off_in_the_ready_layouts(opened, qtbot, experiment):
    window = opened(experiment)
    for layout in LAYOUTS:
        window.apply_layout(layout)
        qtbot.waitUntil(lambda: not window.views.missing())

        def whole(layout=layout):
            for view in window.views.made():
                if view.seen:
                    view.flush()
            assert cut_words(window) == [], layout

        qtbot.waitUntil(whole)


def test_runs_fit_into_their_card_with_all_they_are_known_by(opened, qtbot):
    window = opened(VALLEY)
    window.session.race(["torch.optim.SGD(params, lr=0.001, momentum=0.9)", "keras.optimizers.Adam(0.01)"])
    for layout in ("Compare", "Learn"):
        window.apply_layout(layout)
        window.go_to("runs")
        table = window.views["runs"].table
        qtbot.waitUntil(lambda table=table: table.isVisible() and not table.horizontalScrollBar().maximum())
        assert not table.isColumnHidden(1) and not table.isColumnHidden(4)


def test_a_run_that_diverged_says_so_in_a_narrow_card_too(opened, qtbot):
    window = opened(Experiment(optimizer="torch.optim.SGD(params, lr=10.0)"), steps=40)
    window.apply_layout("Compare")
    table = window.views["runs"].table
    qtbot.waitUntil(lambda: bool(window.session.current.trouble))
    qtbot.waitUntil(lambda: not table.isColumnHidden(2) and table.columnWidth(2) > 0)
    assert table.model().index(0, 2).data() == "diverged"


def test_the_first_key_goes_to_run_and_not_to_restart(opened, qtbot):
    window = opened(VALLEY, steps=0)
    run = window.transport.widgetForAction(window.transport.run_action)
    qtbot.waitUntil(lambda: not window.views.missing())
    assert window.focusWidget() is run


def test_a_long_choice_ends_in_dots_and_not_in_half_a_letter(screen, qtbot):
    box = ElidingCombo()
    qtbot.addWidget(box)
    box.addItem("exponential decay · ExponentialLR")
    box.resize(400, 26)
    box.show()
    assert box.shown_text() == box.currentText()
    box.resize(120, 26)
    assert box.shown_text().endswith("…") and box.currentText() == "exponential decay · ExponentialLR"
    assert box.fontMetrics().horizontalAdvance(box.shown_text()) <= 120


def test_ticks_without_labels_keep_apart():
    axis = ValueAxis()
    axis.log = True
    _, (_, minor) = axis.tickValues(0.0, 150.0, 60.0)
    assert minor == []
    _, (_, minor) = axis.tickValues(0.0, 3.0, 120.0)
    assert len(minor) > 10


def test_the_head_of_an_arrow_along_a_line_stays_in_the_picture(opened, qtbot):
    lines = "torch.nn.utils.clip_grad_value_(params, 1.0); torch.optim.SGD(params, lr=0.1)"
    problem = ProblemSettings(name="", expression="5*x")
    window = opened(Experiment(problem=problem, optimizer=lines, start=[0.0]), steps=1)
    model = window.views["surface"].model
    qtbot.waitUntil(lambda: model.step == 0)
    window.session.engine.advance(window.session.current, 4)
    window.session.engine.settle()
    # after five steps of 0.1 the step shown starts at -0.4, and -lr g is -0.5
    qtbot.waitUntil(lambda: model.step == 4 and model.region.left < -0.9 and model.region.right > 0.0)


def test_racers_are_called_by_what_differs():
    assert racer_name("opt = torch.optim.SGD(params, lr=0.001, momentum=0.9)") == "SGD(lr=0.001, momentum=0.9)"
    assert racer_name("clip_grad_norm_(params, 1.0)\noptim.Adam(model.parameters(), lr=3e-4)") == "Adam(lr=3e-4)"
    assert racer_name("torch.optim.Adam(params)") == "Adam()"
    assert racer_name("keras.optimizers.Adam(0.01)") == "keras.optimizers.Adam(0.01)"
    assert racer_name("optax.sgd(0.001)") == "optax.sgd(0.001)"
    long = racer_name("torch.optim.SGD(params, " + ", ".join(f"a{k}={k}" for k in range(40)) + ")")
    assert len(long) == 80 and long.endswith("…")


def test_numbers_have_real_minus_signs_and_short_exponents():
    assert real_minus("-1e-05") == "−1e−5" and real_minus("1e+20") == "1e20" and real_minus("-0.5") == "−0.5"
    assert shown_number(-2.0, 6) == "−2" and shown_number(5.905e-5, 4, "+") == "+5.905e−5"
    assert shown_number(float("inf")) == "inf" and shown_number(float("nan")) == "nan"


def test_the_surface_s_axes_write_the_same_minus(qapp):
    assert PlainAxis("left").tickStrings([-1.5, -1.0], 1.0, 0.5) == ["−1.5", "−1.0"]


def test_words_with_less_room_become_the_short_ones(screen, qtbot):
    label = ReadOut()
    qtbot.addWidget(label)
    label.resize(400, 20)
    label.show()
    label.setText("‖Δw‖ / ‖lr·g‖ = 3.04", "×3.04")
    assert label.label.text() == "‖Δw‖ / ‖lr·g‖ = 3.04" and label.toolTip() == ""
    label.resize(60, 20)
    assert label.label.text() == "×3.04" and label.toolTip() == "‖Δw‖ / ‖lr·g‖ = 3.04"
    assert label.text() == "‖Δw‖ / ‖lr·g‖ = 3.04"


def test_the_timeline_s_legend_has_room_for_every_cause(qapp):
    from PySide6.QtGui import QFontMetricsF

    from gui.theme import CAUSE_COLORS
    from gui.views.vectors.chart import small_font

    metrics = QFontMetricsF(small_font())
    for cause in CAUSE_COLORS:
        assert metrics.horizontalAdvance(cause) + metrics.horizontalAdvance("56 %") + 26 <= Legend.WIDTH, cause
