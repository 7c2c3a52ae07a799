"""Has the worker compare a run with another framework's arithmetic, in slices, for as long as somebody looks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from core.simulation import Simulation
from core.simulation.other_arithmetic import OtherArithmetic, StepPair
from gui.session import Session


class OtherJob:
    """Compares up to ``stop`` and then works out the step ``wanted``; what it found stands in attributes that are
    replaced, never changed. ``trouble`` says what went wrong.
    """

    def __init__(self, other: OtherArithmetic, stop: int, wanted: int) -> None:
        self.other = other
        self.stop = stop
        self.wanted = wanted
        self.reached = other.reached
        self.first: StepPair | None = None
        self.pair: StepPair | None = None
        self.trouble = ""

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        other = self.other
        try:
            done = other.advance(self.stop, seconds)
            self.reached = other.reached
            if not done:
                return False
            if other.first_difference is not None:
                self.first = other.pair(other.first_difference)
            if other.start <= self.wanted < other.reached:
                self.pair = other.pair(self.wanted)
        except (ArithmeticError, LookupError, RuntimeError, ValueError) as error:
            # said in the panel that asked
            self.trouble = str(error) or type(error).__name__
        return True


class Comparing(QObject):
    """Keeps one comparison of the current run going: ``compare`` other lines, ``show_step`` another step."""

    progressed = Signal()
    """``job`` has come further, or is done."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._slot = f"other arithmetic {id(self)}"
        self._key: tuple[object, ...] = ()
        self._other: OtherArithmetic | None = None
        self.job: OtherJob | None = None
        """The newest one."""
        session.engine.worked.connect(self._on_worked)

    @property
    def working(self) -> bool:
        """True until everything asked for is there."""
        return self._session.engine.works_on(self._slot)

    def compare(self, lines: str) -> None:
        """Compare with ``lines`` from the first step on (SettingError when they cannot be read)."""
        simulation = self._session.current.simulation
        self._other = OtherArithmetic(simulation, lines)
        self._key = self._key_of(simulation, lines)
        self.job = None
        self.follow()

    def stop(self) -> None:
        """Drop it."""
        self._session.engine.cancel(self._slot)
        self._other = self.job = None

    def outdated(self, lines: str) -> bool:
        """True when the run or its past is another one than that compared."""
        other = self._other
        simulation = self._session.current.simulation
        return (
            other is None
            or self._key != self._key_of(simulation, lines)
            or simulation.history.count < (self.job.reached if self.job is not None else 0)
        )

    def follow(self) -> None:
        """Ask for what is missing: steps that have been added, the step shown."""
        other = self._other
        if other is None:
            return
        count = self._session.current.history.count
        wanted = min(self._session.cursor, count - 1)
        if self.job is not None and (self.job.stop, self.job.wanted) == (count, wanted):
            return
        before, self.job = self.job, OtherJob(other, count, wanted)
        if before is not None:
            # what is known stays in sight until the new answer is there
            self.job.first, self.job.pair, self.job.reached = before.first, before.pair, before.reached
        self._session.engine.submit(self._slot, self.job)

    @staticmethod
    def _key_of(simulation: Simulation, lines: str) -> tuple[object, ...]:
        experiment = simulation.experiment
        return (id(simulation), lines, tuple(repr(event) for event in experiment.events), id(simulation.history))

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot == self._slot and job is self.job:
            self.progressed.emit()
