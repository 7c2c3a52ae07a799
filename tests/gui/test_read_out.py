"""Read-outs: the window is not laid out anew for other words, and no word is lost."""

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

from gui.widgets.read_out import ReadOut


class Counter(QObject):
    """Counts the layout requests a widget gets."""

    def __init__(self, watched):
        super().__init__()
        self.seen = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched, event):
        self.seen += event.type() == QEvent.Type.LayoutRequest
        return False


@pytest.fixture
def placed(qtbot):
    """Puts a read-out into a laid-out window of 300 pixels."""

    def place(**settings):
        window = QWidget()
        qtbot.addWidget(window)
        layout = QHBoxLayout(window)
        read_out = ReadOut(**settings)
        layout.addWidget(read_out)
        window.resize(300, 60)
        window.show()
        qtbot.waitExposed(window)
        QApplication.processEvents()
        return window, read_out

    return place


def test_other_words_do_not_lay_the_window_out(placed):
    window, read_out = placed()
    counter = Counter(window)
    for step in range(20):
        read_out.setText(f"step {step}, and a text far longer than there is room for in a window of 300 pixels")
        QApplication.processEvents()
    assert counter.seen == 0
    assert read_out.text().startswith("step 19") and read_out.text().endswith("300 pixels")


def test_what_does_not_fit_is_shortened_and_told_by_the_tool_tip(placed):
    _, read_out = placed()
    read_out.setText("loss 0.25")
    assert read_out.label.text() == "loss 0.25" and read_out.toolTip() == ""
    long = "w" * 200
    read_out.setText(long)
    assert read_out.label.text().endswith("…") and read_out.toolTip() == long


@pytest.mark.parametrize("text", ["43 %", "step 1,000,000 / 2,000,000", "loss 0.000342404", "i" * 40])
def test_a_growing_one_makes_room_for_every_word(placed, text):
    _, read_out = placed(grows=True)
    read_out.setText(text)
    QApplication.processEvents()
    assert read_out.label.text() == text
    width = read_out.width()
    read_out.setText("1 %")
    QApplication.processEvents()
    assert read_out.width() == width
