"""What the 2-D and the 3-D picture share: the plane, the region, the colours, and the jobs that work them out."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QDeadlineTimer, QEventLoop, QObject, Qt, Signal, Slot

from core.problems.objective import Objective
from core.problems.planes import Plane, PlaneError
from core.problems.surfaces import SurfaceCache, SurfaceEvaluator
from core.simulation import Simulation
from gui.session import Session
from gui.views.surface.cut import FOLLOWS_THE_STEP, SLACK, CutChoice, Region, home_region, make_plane, most_of
from gui.views.surface.jobs import FieldJob, GridJob, PreviewJob, ProbeJob, Reading, resolution
from gui.views.surface.picture import Picture, recolored
from gui.views.surface.track import PathTrack

Float64 = NDArray[np.float64]
RECUT_SECONDS = 0.4
"""While a run goes on, a plane through its newest step is cut anew this often (the step's own plane: every frame)."""
SLOTS = ("grid", "field", "probe", "preview")
FINISH_SECONDS = 60


class SurfaceModel(QObject):
    """One for each session, shared by the views that draw it (a figure for export has one of its own).

    ``sync`` brings it up to date with the session.
    """

    cut_changed = Signal()
    """Another plane: everything has other coordinates, or other distances from it."""
    home_changed = Signal()
    """``region`` was set by the model: a new problem, a new kind of plane, or the run grew out of the picture."""
    picture_changed = Signal()
    field_changed = Signal()
    probe_changed = Signal()
    preview_changed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent or session)
        self.session = session
        owner = "surface" if parent is None else f"surface {id(self)}"
        self._slots = {slot: f"{owner} {slot}" for slot in SLOTS}
        self.choice = CutChoice()
        self.kind = "log10"
        self.batch_loss = False
        self.plane: Plane | None = None
        self.trouble = ""
        """Why there is no plane as chosen ('' when there is)."""
        self.region = Region(-1.0, 1.0, -1.0, 1.0)
        self.user_region = False
        """True once the user has zoomed or moved the picture: it then stays where it is."""
        self.picture: Picture | None = None
        self.field: FieldJob | None = None
        self.reading: Reading | None = None
        self.preview: Float64 | None = None
        """The path (steps, size) from the start that is being dragged."""
        self.track = PathTrack()
        self._cache = SurfaceCache()
        self._pixels = (480.0, 360.0)
        self._field_wanted = False
        self._objective: Objective | None = None
        self._simulation: Simulation | None = None
        self._problem: tuple[object, ...] = ()
        self._cut_at = (-1, -1)
        self._cut_time = 0.0
        self._batch_step = -1
        self._start_region: Region | None = None
        self._start: tuple[Simulation, Float64] | None = None
        session.engine.worked.connect(self._on_worked)

    @staticmethod
    def of(session: Session) -> SurfaceModel:
        """The model of that session, made when first asked for."""
        found = session.findChild(SurfaceModel, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return found if isinstance(found, SurfaceModel) else SurfaceModel(session)

    # what the session shows ---------------------------------------------------------------------------------------

    @property
    def objective(self) -> Objective:
        """The problem of the current run."""
        return self.session.current.simulation.objective

    @property
    def step(self) -> int:
        """The step shown; -1 before the first one."""
        return min(self.session.cursor, self.session.current.history.count - 1)

    def weights(self) -> Float64:
        """The weights before the step shown, (size,)."""
        if self.step < 0:
            return self.start_weights()
        return self.session.current.history.weights(self.step)

    def start_weights(self) -> Float64:
        """The weights the run began with, (size,)."""
        simulation = self.session.current.simulation
        if self._start is None or self._start[0] is not simulation:
            # asked for once: of a long run of a large model the first step is no longer in memory
            history = simulation.history
            found = history.weights(0) if history.count else simulation.weights
            self._start = simulation, np.array(found, dtype=np.float64)
        return self._start[1]

    # following the session ----------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Take over another run, problem setting or step; cheap when nothing has changed."""
        simulation, objective = self.session.current.simulation, self.objective
        settings = simulation.experiment.problem
        problem = (settings.name, settings.expression, settings.data, objective.size)
        if problem != self._problem:
            self._problem = problem
            self.choice = CutChoice()
            self.user_region = False
            self.picture = None
            self._begin(simulation, objective, home=True)
        elif simulation is not self._simulation:
            self._begin(simulation, objective, home=not self.user_region)
        elif objective is not self._objective:
            self._objective = objective
            self.submit_grid()
        elif self._outdated():
            self._cut()
        elif self.batch_loss and self._batch_step != self.step:
            self.submit_grid()
        if self.plane is not None:
            self.track.update(self.session.current.history, self.plane)
            self._follow()

    def _begin(self, simulation: Simulation, objective: Objective, home: bool) -> None:
        self._simulation, self._objective = simulation, objective
        self.plane = None if self.plane is None or self.plane.size != objective.size else self.plane
        self._cut()
        if home:
            self.go_home()

    def _outdated(self) -> bool:
        """Whether the plane has to be cut through another step now."""
        if self.choice.kind not in FOLLOWS_THE_STEP or (self.choice.kind == "weights" and self.objective.size == 2):
            return bool(self.plane is None or self.trouble) and self._cut_at != self._place()
        if self._cut_at == self._place():
            return False
        running = self.session.state == "running" and self.choice.kind != "step"
        return not running or time.monotonic() - self._cut_time > RECUT_SECONDS

    def _place(self) -> tuple[int, int]:
        return self.session.current.id, self.step

    def _cut(self) -> None:
        """Lay the plane through the step shown; without one the last plane stays and ``trouble`` says why."""
        self._cut_at, self._cut_time = self._place(), time.monotonic()
        history = self.session.current.history
        try:
            plane = make_plane(self.choice, self.objective, history, self.step, self.weights())
        except PlaneError as error:
            self.trouble = str(error)
            if self.plane is None and self.objective.size >= 2 and np.isfinite(self.start_weights()).all():
                self.plane = make_plane(CutChoice(), self.objective, history, -1, self.start_weights())
            plane = None
        else:
            self.trouble = ""
            self.plane = plane
        if self.plane is not None:
            self.track.update(history, self.plane)
            if self.choice.kind == "step" and not self.user_region:
                self._frame_step()
            self.submit_grid()
        self.cut_changed.emit()

    def _frame_step(self) -> None:
        """The step's own plane moves along with it: the region keeps its size while the arrows fill it well."""
        assert self.plane is not None
        step, history = self.step, self.session.current.history
        if step < 0 or self.plane.kind != "gradient and applied change":
            return
        tips = np.stack([np.zeros(self.plane.size), history.expected(step), history.applied(step)])
        a, b = self.plane.project_vector(tips)
        extent = float(max(np.ptp(a), np.ptp(b)))
        region = self.region
        fits = all(region.holds(x, y, 0.08) for x, y in zip(a, b, strict=True))
        if fits and extent > 0.12 * min(region.width, region.height):
            return
        self.region = home_region(self.choice, self.objective, a, b)
        self.home_changed.emit()

    def _follow(self) -> None:
        """Let the region grow when the run leaves it, unless the user holds it."""
        if self.user_region or self.plane is None or self.choice.kind == "step":
            return
        a, b = (float(x) for x in self.plane.project(self.weights()))
        if self.region.holds(a, b, 0.01) or not (np.isfinite(a) and np.isfinite(b)):
            return
        if self.objective.bounds is not None and self.objective.size == 2 and self._start_region is not None:
            limit = most_of(self._start_region)
            if not limit.holds(a, b):
                return
        self.region = self.region.including(a, b, SLACK)
        self.home_changed.emit()
        self.submit_grid()

    # what the user asks for ---------------------------------------------------------------------------------------

    def choose(self, choice: CutChoice) -> None:
        """Another plane, looked at from its home region."""
        if choice == self.choice:
            return
        self.choice = choice
        self.user_region = False
        self._cut()
        self.go_home()

    def cut_here(self) -> None:
        """Lay the chosen plane through the step shown."""
        self._cut()
        self.go_home()

    def set_kind(self, kind: str) -> None:
        """Another colour scale: 'log10', 'linear' or 'rank'."""
        if kind == self.kind:
            return
        self.kind = kind
        if self.picture is None:
            return
        self.picture = recolored(self.picture, kind, self._known_minimum())
        self.picture_changed.emit()
        if not self.picture.complete:
            self.submit_grid()

    def set_batch_loss(self, on: bool) -> None:
        """Draw the loss of the step's own batch instead of all data."""
        if on != self.batch_loss:
            self.batch_loss = on
            self.submit_grid()

    def go_home(self) -> None:
        """Look at the home region: the function's domain, or the whole path with room around."""
        if self.plane is None:
            return
        self.user_region = False
        history = self.session.current.history
        if self.choice.kind == "step" and self.step >= 0 and not self.trouble:
            tips = np.stack([np.zeros(self.plane.size), history.expected(self.step), history.applied(self.step)])
            a, b = self.plane.project_vector(tips)
        else:
            self.track.update(history, self.plane)
            a, b = self.plane.project(self.start_weights())
            a, b = np.append(self.track.a, a), np.append(self.track.b, b)
        self.region = self._start_region = home_region(self.choice, self.objective, a, b)
        self.home_changed.emit()
        self.submit_grid()

    def look_at(self, region: Region, width: float, height: float) -> None:
        """The picture shows ``region`` on so many pixels: work it out at that resolution."""
        values = np.array(region)
        if not np.isfinite(values).all() or region.width <= 0 or region.height <= 0:
            return
        if region == self.region and (width, height) == self._pixels and self.picture is not None:
            return
        self.region, self._pixels = region, (max(width, 1.0), max(height, 1.0))
        self.submit_grid()

    def probe(self, a: float, b: float) -> None:
        """Work out loss and gradient at a point of the plane; ``probe_changed`` follows."""
        if self.plane is not None:
            self.session.engine.submit(self._slots["probe"], ProbeJob(self.objective, self.plane, a, b))

    def start_at(self, a: float, b: float) -> Float64:
        """The run's starting weights moved within the plane to (a, b), (size,)."""
        assert self.plane is not None
        start = self.start_weights()
        if self.choice.kind == "weights":
            moved = start.copy()
            moved[self.choice.first], moved[self.choice.second] = a, b
            return moved
        old_a, old_b = self.plane.project(start)
        return start + (a - old_a) * self.plane.u + (b - old_b) * self.plane.v

    def preview_start(self, a: float, b: float) -> None:
        """Work out the first steps from another start; ``preview_changed`` follows."""
        start = self.start_at(a, b)
        self.session.engine.submit(
            self._slots["preview"], PreviewJob(self.session.current.simulation.experiment, start)
        )

    def end_preview(self) -> None:
        """Forget the preview."""
        self.session.engine.cancel(self._slots["preview"])
        self.preview = None
        self.preview_changed.emit()

    def want_field(self, on: bool) -> None:
        """Whether the gradient field is to be worked out."""
        self._field_wanted = on
        if on:
            self._submit_field()
        else:
            self.session.engine.cancel(self._slots["field"])
            self.field = None
            self.field_changed.emit()

    # jobs ---------------------------------------------------------------------------------------------------------

    def submit_grid(self) -> None:
        """Work the picture out anew, coarse to fine; the old one stays until there is something better."""
        if self.plane is None:
            return
        region = self.region
        self._batch_step = self.step
        make_evaluator = partial(
            SurfaceEvaluator,
            self.objective,
            self.plane,
            ((region.left, region.right), (region.bottom, region.top)),
            resolution(*self._pixels),
            step=self.step if self.batch_loss and self.step >= 0 else None,
            seed=self.session.current.simulation.experiment.seed,
            cache=self._cache,
        )
        self.session.engine.submit(self._slots["grid"], GridJob(make_evaluator, self.kind, self._known_minimum()))
        if self._field_wanted:
            self._submit_field()

    def _submit_field(self) -> None:
        if self.plane is None:
            return
        width, height = self._pixels
        across, up = int(np.clip(width / 44, 6, 28)), int(np.clip(height / 44, 5, 22))
        self.session.engine.submit(self._slots["field"], FieldJob(self.objective, self.plane, self.region, across, up))

    def finish(self) -> None:
        """Wait until picture and field are complete (for an export; users see them grow)."""
        deadline = QDeadlineTimer(1000 * FINISH_SECONDS)
        while self._unfinished() and not deadline.hasExpired():
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents, 20)

    def _unfinished(self) -> bool:
        return any(self.session.engine.works_on(self._slots[slot]) for slot in ("grid", "field"))

    def _known_minimum(self) -> float | None:
        return min((float(minimum.f) for minimum in self.objective.minima), default=None)

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot not in self._slots.values():
            return
        if isinstance(job, GridJob):
            if job.picture is None or job.picture is self.picture:
                return
            self.picture = (
                job.picture if job.kind == self.kind else recolored(job.picture, self.kind, self._known_minimum())
            )
            self.picture_changed.emit()
        elif isinstance(job, FieldJob) and done and self._field_wanted:
            self.field = job
            self.field_changed.emit()
        elif isinstance(job, ProbeJob) and done:
            self.reading = job.reading
            self.probe_changed.emit()
        elif isinstance(job, PreviewJob):
            self.preview = job.path
            self.preview_changed.emit()
