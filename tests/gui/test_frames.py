"""Frames are shared: the leading view moves in each of them, the others take turns, and none waits for ever."""

import pytest
from PySide6.QtCore import QCoreApplication

from gui.frames import LATE_MILLISECONDS, OTHERS_EVERY, FrameScheduler


class Drawn:
    """As much of a view as the scheduler knows; counts how often it was drawn."""

    def __init__(self, every_frame=False):
        self.every_frame = every_frame
        self.times = 0

    def flush(self):
        self.times += 1


@pytest.fixture
def scheduler(qapp):
    return FrameScheduler()


def test_while_runs_go_on_one_other_view_is_drawn_in_every_second_frame(scheduler):
    leading, others = Drawn(every_frame=True), [Drawn(), Drawn(), Drawn()]
    scheduler.sharing = True
    frames = 3 * OTHERS_EVERY * 4
    for _ in range(frames):
        for view in (leading, *others):
            scheduler.request(view)
        scheduler.draw()
    assert leading.times == frames
    assert [view.times for view in others] == [frames // OTHERS_EVERY // 3] * 3


def test_while_paused_all_are_drawn_at_once(scheduler):
    views = [Drawn(every_frame=True), Drawn(), Drawn()]
    for view in views:
        scheduler.request(view)
        scheduler.request(view)
    QCoreApplication.processEvents()
    assert [view.times for view in views] == [1, 1, 1]


def test_none_waits_for_a_frame_that_does_not_come(scheduler, qtbot):
    views = [Drawn(every_frame=True), Drawn(), Drawn()]
    scheduler.sharing = True
    for view in views:
        scheduler.request(view)
    qtbot.waitUntil(lambda: all(view.times == 1 for view in views), timeout=100 * LATE_MILLISECONDS)


def test_a_view_that_is_gone_is_not_drawn(scheduler):
    view = Drawn()
    scheduler.request(view)
    scheduler.forget(view)
    QCoreApplication.processEvents()
    scheduler.draw()
    assert view.times == 0
