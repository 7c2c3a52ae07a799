"""What the 2-D and the 3-D picture share: the plane, the region, the colours, and the jobs that work them out."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QCoreApplication, QDeadlineTimer, QEventLoop, QObject, Qt, Signal, Slot

from core.problems.lines import Line
from core.problems.objective import Objective
from core.problems.planes import Plane, PlaneError
from core.problems.surfaces import SurfaceCache, SurfaceEvaluator
from core.simulation import Simulation
from gui.session import Session
from gui.views.surface.curve import KINDS as CURVE_KINDS
from gui.views.surface.curve import Curve, CurveJob, heights
from gui.views.surface.cut import (
    FOLLOWS_THE_STEP,
    MOVES_WITH_THE_STEP,
    SLACK,
    CutChoice,
    Region,
    home_range,
    home_region,
    make_cut,
    most_of,
)
from gui.views.surface.jobs import FieldJob, GridJob, PreviewJob, ProbeJob, Reading, resolution
from gui.views.surface.moving import events_with, from_start, from_step, moved
from gui.views.surface.picture import Picture, recolored
from gui.views.surface.points import named_points
from gui.views.surface.track import PathTrack
from gui.views.surface.undo import ChooseCut

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
        self.curve_kind = "linear"
        """'linear' or 'log10': how losses become heights of a curve."""
        self.cut: Plane | Line | None = None
        self.trouble = ""
        """Why there is no plane or line as chosen ('' when there is)."""
        self.region = Region(-1.0, 1.0, -1.0, 1.0)
        self.user_region = False
        """True once the user has zoomed or moved the picture: it then stays where it is."""
        self.picture: Picture | None = None
        self.curve: Curve | None = None
        self.field: FieldJob | None = None
        self.reading: Reading | None = None
        self.preview: Float64 | None = None
        """The path (steps, size) from the start, or from the point, that is being dragged."""
        self.preview_losses: Float64 = np.empty(0)
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
        self._start: tuple[Simulation, Float64, float] | None = None
        self._fit_wanted = False
        """True when a curve's range of heights is to follow its losses."""
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
    def plane(self) -> Plane | None:
        """The plane that is looked at; None on a line."""
        return self.cut if isinstance(self.cut, Plane) else None

    @property
    def line(self) -> Line | None:
        """The line that is looked at; None on a plane."""
        return self.cut if isinstance(self.cut, Line) else None

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
            weights = np.array(history.weights(0) if history.count else simulation.weights, dtype=np.float64)
            with np.errstate(all="ignore"):
                loss = history.scalar("loss")[0] if history.count else simulation.objective.value(weights)
            self._start = simulation, weights, float(loss)
        return self._start[1]

    def place(self) -> Float64:
        """Where the weights before the step shown are drawn, (2,)."""
        if self.line is None or self.step < 0:
            return self.start_place() if self.step < 0 else self._at(self.weights(), np.nan)
        return self._at(self.weights(), float(self.session.current.history.scalar("loss")[self.step]))

    def start_place(self) -> Float64:
        """Where the start is drawn, (2,)."""
        weights = self.start_weights()
        assert self._start is not None
        return self._at(weights, self._start[2])

    def _at(self, weights: Float64, loss: float) -> Float64:
        assert self.cut is not None
        if isinstance(self.cut, Line):
            return np.array([float(self.cut.project(weights)), float(self.heights(loss))])
        return np.array(self.cut.project(weights))

    def heights(self, losses: ArrayLike) -> Float64:
        """Where losses are drawn beside a line."""
        return heights(self.curve_kind, losses)

    @property
    def problem(self) -> tuple[object, ...]:
        """What tells the problem shown from others: planes are chosen anew for another one."""
        return self._problem

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
            self.picture = self.curve = None
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
        if self.cut is not None:
            self.track.update(self.session.current.history, self.cut)
            self._follow()

    def _begin(self, simulation: Simulation, objective: Objective, home: bool) -> None:
        self._simulation, self._objective = simulation, objective
        self.cut = None if self.cut is None or self.cut.size != objective.size else self.cut
        self._cut()
        if home:
            self.go_home()

    def _outdated(self) -> bool:
        """Whether the plane has to be cut through another step now."""
        size, kind = self.objective.size, self.choice.kind
        if kind not in FOLLOWS_THE_STEP or size == 1 or (kind == "weights" and size == 2):
            return bool(self.cut is None or self.trouble) and self._cut_at != self._shown()
        if self._cut_at == self._shown():
            return False
        running = self.session.state == "running" and kind not in MOVES_WITH_THE_STEP
        return not running or time.monotonic() - self._cut_time > RECUT_SECONDS

    def _shown(self) -> tuple[int, int]:
        return self.session.current.id, self.step

    def _cut(self) -> None:
        """Lay the plane through the step shown; without one the last plane stays and ``trouble`` says why."""
        self._cut_at, self._cut_time = self._shown(), time.monotonic()
        history, before = self.session.current.history, self.cut
        try:
            points = named_points(self.session, self.choice.points) if self.choice.kind == "three" else []
            self.cut = make_cut(self.choice, self.objective, history, self.step, self.weights(), points)
        except PlaneError as error:
            self.trouble = str(error)
            if self.cut is None and np.isfinite(self.start_weights()).all():
                self.cut = make_cut(CutChoice(), self.objective, history, -1, self.start_weights())
        else:
            self.trouble = ""
        if type(before) is not type(self.cut):
            self.picture = self.curve = None
            self.picture_changed.emit()
        if self.cut is not None:
            self.track.update(history, self.cut)
            if self.choice.kind in MOVES_WITH_THE_STEP and not self.user_region:
                self._frame_step()
            self.submit_grid()
        self.cut_changed.emit()

    def _frame_step(self) -> None:
        """The step's own plane moves along with it: the region keeps its size while the arrows fill it well."""
        step, plane = self.step, self.plane
        if step < 0 or self.trouble or self.choice.kind not in MOVES_WITH_THE_STEP:
            return
        if plane is None:
            self._frame_line()
            return
        a, b = plane.project_vector(self._tips())
        extent = float(max(np.ptp(a), np.ptp(b)))
        region = self.region
        fits = all(region.holds(x, y, 0.08) for x, y in zip(a, b, strict=True))
        if fits and extent > 0.12 * min(region.width, region.height):
            return
        self.region = home_region(self.choice, self.objective, a, b)
        self.home_changed.emit()

    def _tips(self) -> Float64:
        """Foot, computed and applied tip of the step shown, as vectors (3, size) from its weights."""
        history = self.session.current.history
        return np.stack([np.zeros(history.size), history.expected(self.step), history.applied(self.step)])

    def _frame_line(self) -> None:
        assert self.line is not None
        reach = float(np.abs(self.line.project_vector(self._tips())).max())
        if 0.1 * self.region.width < reach < 0.45 * self.region.width or not np.isfinite(reach) or reach == 0.0:
            self._fit_wanted = True
            return
        left, right = home_range(np.zeros(1), np.array([reach]))
        self.region = Region(left, right, self.region.bottom, self.region.top)
        self._fit_wanted = True
        self.home_changed.emit()

    def _follow(self) -> None:
        """Let the region grow when the run leaves it, unless the user holds it."""
        if self.user_region or self.cut is None or self.choice.kind in MOVES_WITH_THE_STEP:
            return
        a, b = (float(x) for x in self.place())
        if self.region.holds(a, b, 0.01) or not (np.isfinite(a) and np.isfinite(b)):
            return
        if self.objective.bounds is not None and self.objective.size == 2 and self._start_region is not None:
            limit = most_of(self._start_region)
            if not limit.holds(a, b):
                return
        self.region = self.region.including(a, b, SLACK)
        self._fit_wanted = True
        self.home_changed.emit()
        self.submit_grid()

    # what the user asks for ---------------------------------------------------------------------------------------

    def ask_for(self, choice: CutChoice) -> None:
        """Another plane or line, as a command that can be undone."""
        if choice != self.choice:
            self.session.undo_stack.push(ChooseCut(self, choice))

    def choose(self, choice: CutChoice) -> None:
        """Another plane or line, looked at from its home region."""
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
        """Another scale of the losses: 'log10', 'linear' or (for colours only) 'rank'."""
        if self.line is not None:
            if kind in CURVE_KINDS and kind != self.curve_kind:
                self.curve_kind = kind
                self.picture_changed.emit()
                self.cut_changed.emit()
                self.go_home()
            return
        if kind == self.kind:
            return
        self.kind = kind
        self.recolor()

    def recolor(self) -> None:
        """Give the picture the colours of its kind of scale."""
        if self.picture is not None and (self.picture.scale is None or self.picture.scale.kind != self.kind):
            self.picture = recolored(self.picture, self.kind, self._known_minimum())
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
        if self.cut is None:
            return
        self.user_region = False
        own = self.choice.kind in MOVES_WITH_THE_STEP and self.step >= 0 and not self.trouble
        if own and self.plane is not None:
            a, b = self.plane.project_vector(self._tips())
        else:
            self.track.update(self.session.current.history, self.cut)
            a, b = self.start_place()
            rest = self.track.b if self.line is None else self.heights(self.track.b)
            a, b = np.append(self.track.a, a), np.append(rest, b)
        if self.line is None:
            self.region = home_region(self.choice, self.objective, a, b)
        else:
            left, right = home_range(a, self.line.project_vector(self._tips()) if own else None)
            low, high = Curve(self.line, a, a, True).limits("linear", b) or (-1.0, 1.0)
            self.region = Region(left, right, low, high)
            self._fit_wanted = True
        self._start_region = self.region
        self.home_changed.emit()
        self.submit_grid()

    def look_at(self, region: Region, width: float, height: float) -> None:
        """The picture shows ``region`` on so many pixels: work it out at that resolution."""
        values = np.array(region)
        if not np.isfinite(values).all() or region.width <= 0 or region.height <= 0:
            return
        if region == self.region and (width, height) == self._pixels and self.picture is not None:
            return
        same = self.line is not None and (region.left, region.right) == (self.region.left, self.region.right)
        self.region, self._pixels = region, (max(width, 1.0), max(height, 1.0))
        # a curve is as fine in any height
        if not same or (self.curve is None and not self.session.engine.works_on(self._slots["grid"])):
            self.submit_grid()

    def probe(self, a: float, b: float) -> None:
        """Work out loss and gradient at a point of the plane or line; ``probe_changed`` follows."""
        if self.cut is not None:
            self.session.engine.submit(self._slots["probe"], ProbeJob(self.objective, self.cut, a, b))

    def start_at(self, a: float, b: float) -> Float64:
        """The run's starting weights moved to (a, b), (size,)."""
        assert self.cut is not None
        return moved(self.choice, self.cut, self.start_weights(), a, b)

    def preview_start(self, a: float, b: float) -> None:
        """Work out the first steps from another start; ``preview_changed`` follows."""
        if self.cut is not None:
            start = self.start_at(a, b)
            self._preview(partial(from_start, self.session.current.simulation, start), 0, start)

    def preview_point(self, a: float, b: float) -> None:
        """Work out how the run would go on from elsewhere in the step shown; ``preview_changed`` follows."""
        if self.cut is not None and self.step >= 0:
            weights = moved(self.choice, self.cut, self.weights(), a, b)
            self._preview(partial(from_step, self.session.current.simulation, self.step, weights), self.step, weights)

    def put_point(self, a: float, b: float) -> None:
        """Let the step shown begin at (a, b): an event of the run, which is worked out again from there."""
        if self.cut is not None and self.step >= 0:
            run = self.session.current
            weights = moved(self.choice, self.cut, self.weights(), a, b)
            self.session.edit_events(run, events_with(run.events, self.step, weights))

    def _preview(self, make: Callable[[], Simulation], step: int, first: Float64) -> None:
        self.session.engine.submit(self._slots["preview"], PreviewJob(make, step, first))

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
        if self.cut is None:
            return
        region = self.region
        self._batch_step = self.step
        of_step = self.step if self.batch_loss and self.step >= 0 else None
        seed = self.session.current.simulation.experiment.seed
        if self.line is not None:
            job = CurveJob(self.objective, self.line, region.left, region.right, of_step, seed)
            self.session.engine.submit(self._slots["grid"], job)
            return
        make_evaluator = partial(
            SurfaceEvaluator,
            self.objective,
            self.plane,
            ((region.left, region.right), (region.bottom, region.top)),
            resolution(*self._pixels),
            step=of_step,
            seed=seed,
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

    def _fit_heights(self) -> None:
        """Let the picture's height follow the curve and the path, unless the user holds it."""
        if self.user_region or not self._fit_wanted or self.curve is None:
            return
        seen = (self.track.a >= self.region.left) & (self.track.a <= self.region.right)
        others = np.append(self.heights(self.track.b[seen]), [self.place()[1], self.start_place()[1]])
        limits = self.curve.limits(self.curve_kind, others)
        self._fit_wanted = not self.curve.complete
        if limits is not None and limits != (self.region.bottom, self.region.top):
            self.region = Region(self.region.left, self.region.right, *limits)
            self.home_changed.emit()

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
        elif isinstance(job, CurveJob):
            if job.curve is not None and job.curve is not self.curve and job.line is self.line:
                self.curve = job.curve
                self._fit_heights()
                self.picture_changed.emit()
        elif isinstance(job, FieldJob) and done and self._field_wanted:
            self.field = job
            self.field_changed.emit()
        elif isinstance(job, ProbeJob) and done:
            self.reading = job.reading
            self.probe_changed.emit()
        elif isinstance(job, PreviewJob):
            self.preview, self.preview_losses = job.path, job.losses
            self.preview_changed.emit()
