"""Notes on pasted lines stand below them, can be read and copied, and go when the text is another."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from core.optim import parse_optimizer
from gui.theme import DARK, LIGHT
from gui.views.pipeline.code_panel import CodePanel


@pytest.fixture
def opened(qtbot):
    """A panel with these lines, as narrow as its dock."""
    hosts = []

    def make(lines):
        # within a plain widget: the offscreen platform warns about size hints of windows
        host = QWidget()
        panel = CodePanel(DARK, host)
        panel.resize(250, 500)
        host.resize(250, 500)
        host.show()
        panel.show_source(lines)
        QApplication.processEvents()
        hosts.append(host)
        return panel

    yield make
    for host in hosts:
        host.close()
        host.deleteLater()


LATE_CLIP = (
    "opt = torch.optim.SGD(params, lr=0.002)\nfor x, y in batches:\n    opt.zero_grad()\n    loss.backward()\n"
    "    opt.step()\n    torch.nn.utils.clip_grad_norm_(params, 1.0)"
)


def test_what_a_reader_should_know_of_the_lines_stands_below_them(opened, qtbot):
    panel = opened(LATE_CLIP)
    notes = panel.box.notes
    assert notes.isVisible() and notes.accessibleName() and notes.toolTip()
    (note,) = notes.notes()
    assert note == parse_optimizer(LATE_CLIP).remarks[0] and "changes nothing" in note
    assert notes.toPlainText() == f"• {note}"
    # it is wrapped; a wrapped line may be wider than the room by the rounding of letters to pixels
    assert notes.horizontalScrollBar().maximum() <= 1
    # with the keyboard: reached by Tab, copied, and no trap
    qtbot.keyClick(panel.box.edit, Qt.Key.Key_Tab)
    assert notes.hasFocus()
    qtbot.keyClick(notes, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(notes, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == f"• {note}"
    qtbot.keyClick(notes, Qt.Key.Key_Tab)
    assert not notes.hasFocus()
    panel.restyle(LIGHT)
    assert notes.isVisible() and notes.toPlainText() == f"• {note}"


def test_notes_go_with_the_text_they_are_about(opened, qtbot):
    panel = opened(LATE_CLIP)
    box = panel.box
    box.edit.appendPlainText("# a word of one's own")
    assert box.notes.isHidden() and not box.notes.toPlainText()
    qtbot.waitUntil(lambda: box.notes.isVisible())
    box.edit.setPlainText("torch.optim.SGD(params, lr=")
    panel.apply_button.click()
    assert box.trouble.isVisible() and box.notes.isHidden()
    box.edit.setPlainText("torch.optim.SGD(params, lr=0.1)")
    panel.apply_button.click()
    assert box.trouble.isHidden() and box.notes.isHidden()
