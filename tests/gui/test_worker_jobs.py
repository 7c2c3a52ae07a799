"""Jobs in the worker: slices, turns, outdated ones dropped, failures told, none left at the end."""

import threading
import time

import pytest

from gui.worker import Engine


class Counting:
    """A job of ``slices`` slices that notes where it ran."""

    def __init__(self, slices):
        self.left = slices
        self.threads = set()

    def advance(self, seconds):
        assert seconds > 0
        self.threads.add(threading.get_ident())
        self.left -= 1
        return self.left <= 0


class Endless:
    def __init__(self):
        self.slices = 0

    def advance(self, seconds):
        self.slices += 1
        time.sleep(0.001)
        return False


class Broken:
    def advance(self, seconds):
        raise ValueError("the grid cannot be made")


@pytest.fixture
def engine(qapp):
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def reports(engine):
    found = []
    engine.worked.connect(lambda slot, job, done: found.append((slot, job, done)))
    return found


def test_a_job_is_done_in_slices_in_the_worker_thread(engine, reports, qtbot):
    job = Counting(3)
    engine.submit("grid", job)
    assert engine.busy
    qtbot.waitUntil(lambda: not engine.busy)
    assert job.left == 0
    assert job.threads and threading.get_ident() not in job.threads
    assert [(slot, done) for slot, _, done in reports] == [("grid", False), ("grid", False), ("grid", True)]
    assert all(one is job for _, one, _ in reports)


def test_a_newer_job_outdates_the_one_in_its_slot(engine, reports, qtbot):
    old, new = Endless(), Counting(2)
    engine.submit("grid", old)
    qtbot.waitUntil(lambda: old.slices > 0)
    engine.submit("grid", new)
    before = len(reports)
    qtbot.waitUntil(lambda: not engine.busy)
    assert all(job is new for _, job, _ in reports[before:])
    assert new.left == 0


def test_slots_take_turns(engine, qtbot):
    endless, other = Endless(), Counting(5)
    engine.submit("one", endless)
    engine.submit("two", other)
    qtbot.waitUntil(lambda: other.left == 0)
    assert endless.slices >= 4
    engine.cancel("one")
    assert not engine.busy


def test_a_failing_job_is_told_and_dropped(engine, qtbot):
    with qtbot.waitSignal(engine.job_failed) as caught:
        engine.submit("grid", Broken())
    slot, sentence, details = caught.args
    assert (slot, sentence) == ("grid", "the grid cannot be made")
    assert "Traceback" in details
    assert not engine.busy


def test_nothing_is_taken_after_closing(qapp):
    engine = Engine()
    engine.submit("grid", Endless())
    engine.close()
    assert not engine.busy
    engine.submit("grid", Endless())
    assert not engine.busy
