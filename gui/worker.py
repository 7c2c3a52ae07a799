"""The worker thread and its owner: the GUI asks for slices of work, the worker reports run id and row count.

Pull, not push: no arrays travel through signals, and the next slice is asked for only when the last one has been
painted. Every connection across the threads ends in a @Slot of a QObject living in the receiving thread.
"""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QThread, QTimer, Signal, Slot

if TYPE_CHECKING:
    from core.simulation import Event
    from gui.run import Run

SLICE_SECONDS = 0.008
FRAME_SECONDS = 0.029
"""What a frame should take at most, painting and stepping together: 30 a second."""
LATE_SECONDS = 0.03
"""A slice of a run that is worked out again: little is painted meanwhile, and nobody waits for the next frame."""
JOB_SECONDS = 0.004
JOB_SECONDS_IDLE = 0.012
FRAME_MILLISECONDS = 16
STEPPING_SHARE = 0.9
"""How long a slice of steps may be, as a part of what painting took."""
PAINTED = QEvent.Type(QEvent.registerEventType())
BEHIND_PAINTS = Qt.EventPriority.LowEventPriority.value - 1
FLAT_OUT = 1_000_000


class Job(Protocol):
    """Other work than steps, done in slices between them: a loss grid, a preview. The worker alone calls ``advance``;
    what it has finished so far it leaves in attributes that are replaced, never changed, so views may read them.
    """

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; True when nothing is left to do."""
        ...


class Worker(QObject):
    """Lives in the worker thread; the only one that changes simulations."""

    progressed = Signal(int, int)
    changed = Signal(int, object)
    failed = Signal(int, str, str)
    sliced = Signal()
    worked = Signal(str, object, bool)
    job_failed = Signal(str, object, str, str)

    @Slot(object, int, float)
    def advance(self, runs: list[Run], steps: int, seconds: float) -> None:
        """Take up to ``steps`` steps of each run within ``seconds`` (0: without a limit), all of them abreast."""
        if len(runs) == 1:
            self._try_to_advance(runs[0], steps, seconds or None)
        else:
            self._advance_abreast(runs, steps, seconds or None)
        for run in runs:
            self.progressed.emit(run.id, run.simulation.history.count)

    def _advance_abreast(self, runs: list[Run], steps: int, seconds: float | None) -> None:
        """Round by round: those furthest behind take a step, so that none is ahead when the slice ends."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        going = [run for run in runs if not run.simulation.trouble]
        goal = steps + min((run.simulation.step for run in going), default=0)
        while going:
            level = min(run.simulation.step for run in going)
            if level >= goal:
                return
            for run in going:
                if run.simulation.step == level and not self._try_to_advance(run, 1, None):
                    return
            going = [run for run in going if not run.simulation.trouble]
            if deadline is not None and time.perf_counter() >= deadline:
                return

    def _try_to_advance(self, run: Run, steps: int, seconds: float | None) -> bool:
        """False when the core raised, which has then been reported."""
        try:
            run.simulation.advance(steps, seconds)
        except Exception as error:
            self._report(run, error)
            return False
        return True

    @Slot(str, object, float)
    def work(self, slot: str, job: Job, seconds: float) -> None:
        """Give a job its slice."""
        try:
            done = job.advance(seconds)
        except Exception as error:
            details = "".join(traceback.format_exception(error))
            self.job_failed.emit(slot, job, str(error) or type(error).__name__, details)
            return
        self.worked.emit(slot, job, done)

    @Slot()
    def end_slice(self) -> None:
        """Everything asked for before has been done."""
        self.sliced.emit()

    @Slot(object, str, object)
    def call(self, run: Run, method: str, arguments: tuple[Any, ...]) -> None:
        """Call a method of the run's simulation at a step boundary."""
        try:
            getattr(run.simulation, method)(*arguments)
        except Exception as error:
            self._report(run, error)
        # as they are now: by the time this is heard, further calls may have been carried out
        self.changed.emit(run.id, tuple(run.simulation.experiment.events))

    def _report(self, run: Run, error: Exception) -> None:
        details = "".join(traceback.format_exception(error))
        self.failed.emit(run.id, str(error) or type(error).__name__, details)


class Engine(QObject):
    """Owns the thread and the frame timer; lives in the GUI thread."""

    progressed = Signal(int, int)
    changed = Signal(int, object)
    """(run id, its live changes) after each call."""
    failed = Signal(int, str, str)
    frame = Signal()
    """One frame is over: the slice is done and reported; emitted at most once a frame while running."""

    worked = Signal(str, object, bool)
    """(slot, job, done): a job that is still wanted has worked a slice."""
    job_failed = Signal(str, str, str)
    """(slot, sentence, details): a job that is still wanted raised, and was dropped."""

    _advance = Signal(object, int, float)
    _work = Signal(str, object, float)
    _end_slice = Signal()
    _call = Signal(object, str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.steps_per_frame: float = FLAT_OUT
        """Speed: steps a frame for each run; below 1, one step every few frames."""
        self._debt = 0.0
        self._painting = 0.0
        self._answered_at = self._asked_at = 0.0
        self._painted = True
        self._running: list[Run] = []
        self._late: dict[Run, float] = {}
        """Runs that are worked out again, by when that began."""
        self._held = False
        self._jobs: dict[str, Job] = {}
        self._unanswered = 0
        self._closed = False
        self._thread = QThread()
        self._thread.setObjectName("stepscope worker")
        self._worker = Worker()
        self._worker.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._advance.connect(self._worker.advance, queued)
        self._end_slice.connect(self._worker.end_slice, queued)
        self._call.connect(self._worker.call, queued)
        self._work.connect(self._worker.work, queued)
        self._worker.progressed.connect(self._on_progressed, queued)
        self._worker.changed.connect(self._on_changed, queued)
        self._worker.failed.connect(self._on_failed, queued)
        self._worker.sliced.connect(self._on_sliced, queued)
        self._worker.worked.connect(self._on_worked, queued)
        self._worker.job_failed.connect(self._on_job_failed, queued)
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MILLISECONDS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_frame)
        self._thread.start()

    def start(self, runs: list[Run]) -> None:
        """Advance these runs, a slice a frame, until ``stop``; those behind catch up first, then all keep in step."""
        if self._closed:
            return
        self._running = list(runs)
        self._timer.start()

    def stop(self) -> None:
        """Ask for no further slices (jobs go on)."""
        self._running = []
        self._rest()

    def submit(self, slot: str, job: Job) -> None:
        """Have ``job`` done in slices between the steps; it takes the place of the job in the same slot, which is
        then outdated and never heard of again.
        """
        if self._closed:
            return
        self._jobs.pop(slot, None)
        self._jobs[slot] = job
        self._timer.start()

    def cancel(self, slot: str) -> None:
        """Drop the job in this slot, if there is one."""
        self._jobs.pop(slot, None)
        self._rest()

    @property
    def busy(self) -> bool:
        """True while some job is not done."""
        return bool(self._jobs)

    def works_on(self, slot: str) -> bool:
        """True while the job in this slot is not done."""
        return slot in self._jobs

    def _rest(self) -> None:
        if not self._running and not self._jobs and not self._late:
            self._timer.stop()

    def catch_up(self, run: Run) -> None:
        """Bring a run to its simulation's ``goal``, a slice a frame, so that window and user can go on meanwhile."""
        if self._closed or not run.simulation.late:
            return
        self._late.setdefault(run, time.perf_counter())
        self._timer.start()

    def give_up(self, run: Run) -> None:
        """Leave a run where it is."""
        self._late.pop(run, None)
        self._rest()

    def late_for(self, run: Run) -> float:
        """For how many seconds the run has been worked out again by now; 0: it is not."""
        began = self._late.get(run)
        return 0.0 if began is None else max(time.perf_counter() - began, 1e-9)

    def advance(self, run: Run, steps: int) -> None:
        """Take exactly ``steps`` steps (fewer at trouble)."""
        if not self._closed:
            self._advance.emit([run], steps, 0.0)

    def call(self, run: Run, method: str, *arguments: Any) -> bool:
        """Have the worker call a method of the run's simulation between two steps; False after the end."""
        if not self._closed:
            self._call.emit(run, method, arguments)
        return not self._closed

    def settle(self, finish: bool = True) -> bool:
        """Wait until the worker has done everything asked for so far, and deliver its reports.

        Runs that are worked out again are waited for as well, unless ``finish`` is False: then they go on afterwards.
        False when the worker is still at it after ten seconds.
        """
        from PySide6.QtCore import QCoreApplication, QDeadlineTimer, QEventLoop

        if self._closed:
            return True
        self._held = not finish
        self._ask_for_the_end()
        deadline = QDeadlineTimer(10_000)
        while (self._unanswered or (finish and self._late)) and not deadline.hasExpired():
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents, 20)
        self._held = False
        return not self._unanswered

    def close(self) -> None:
        """End the thread and wait for it; nothing can be started afterwards."""
        if self._closed:
            return
        self._jobs.clear()
        self._late.clear()
        self.stop()
        self._closed = True
        self._thread.quit()
        if not self._thread.wait(10_000):
            raise RuntimeError("the worker thread did not end within 10 seconds")

    @Slot()
    def _on_frame(self) -> None:
        if self._unanswered or self._held or not self._painted:
            return
        self._asked_at = time.perf_counter()
        stepping = self._ask_for_steps()
        working = self._ask_for_work()
        if stepping or working:
            self._ask_for_the_end()

    def _ask_for_steps(self) -> bool:
        late = self._ask_for_the_late()
        running = [run for run in self._running if run not in self._late]
        if not running:
            return late
        self._debt += self.steps_per_frame
        steps = int(self._debt)
        self._debt -= steps
        if steps < 1:
            return late
        self._advance.emit(running, steps, self._slice_seconds())
        return True

    def _ask_for_the_late(self) -> bool:
        """Slices for the runs that are worked out again, as far as they had come before and no further."""
        for run in [run for run in self._late if not run.simulation.late]:
            self.give_up(run)
        for run in self._late:
            missing = run.simulation.goal - run.simulation.step
            self._advance.emit([run], missing, LATE_SECONDS / len(self._late))
        return bool(self._late)

    def _slice_seconds(self) -> float:
        """How long the worker may have the interpreter before the next frame, as far as it fits FRAME_SECONDS."""
        return max(SLICE_SECONDS, min(STEPPING_SHARE * self._painting, FRAME_SECONDS - self._painting))

    def _ask_for_work(self) -> bool:
        if not self._jobs:
            return False
        slot, job = next(iter(self._jobs.items()))
        # to the end of the queue: the slots take turns
        self._jobs[slot] = self._jobs.pop(slot)
        self._work.emit(slot, job, JOB_SECONDS if self._running else JOB_SECONDS_IDLE)
        return True

    def _ask_for_the_end(self) -> None:
        self._unanswered += 1
        self._end_slice.emit()

    @Slot()
    def _on_sliced(self) -> None:
        self._unanswered -= 1
        self._answered_at = time.perf_counter()
        self._painted = False
        self.frame.emit()
        # worker and painting would only take the interpreter from one another: the next slice comes after the paints
        QCoreApplication.postEvent(self, QEvent(PAINTED), BEHIND_PAINTS)

    def customEvent(self, event: QEvent) -> None:
        """All that the last slice has changed is on the screen."""
        if event.type() != PAINTED:
            return
        now = time.perf_counter()
        self._painted = True
        self._painting += 0.2 * (min(now - self._answered_at, 0.2) - self._painting)
        if self._timer.isActive() and now - self._asked_at >= FRAME_MILLISECONDS / 1000.0:
            self._on_frame()

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: Job, done: bool) -> None:
        if self._jobs.get(slot) is not job:
            return
        if done:
            self.cancel(slot)
        self.worked.emit(slot, job, done)

    @Slot(str, object, str, str)
    def _on_job_failed(self, slot: str, job: Job, sentence: str, details: str) -> None:
        if self._jobs.get(slot) is job:
            self.cancel(slot)
            self.job_failed.emit(slot, sentence, details)

    @Slot(int, int)
    def _on_progressed(self, run_id: int, count: int) -> None:
        self.progressed.emit(run_id, count)

    @Slot(int, object)
    def _on_changed(self, run_id: int, events: tuple[Event, ...]) -> None:
        self.changed.emit(run_id, events)

    @Slot(int, str, str)
    def _on_failed(self, run_id: int, sentence: str, details: str) -> None:
        # what fails once would fail in every frame
        for run in [run for run in self._late if run.id == run_id]:
            self.give_up(run)
        self.failed.emit(run_id, sentence, details)
