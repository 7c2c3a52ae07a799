"""What the 2-D and the 3-D picture share: the plane, the region, the colours, and the jobs that work them out."""

from __future__ import annotations

import time
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
from gui.views.surface.cut import FOLLOWS_THE_STEP, MOVES_WITH_THE_STEP, CutChoice, Region, first_choice, make_cut
from gui.views.surface.framing import grown, home_range, home_region, step_range, step_region, with_tips
from gui.views.surface.jobs import FieldJob, GridJob, ProbeJob, Reading, resolution
from gui.views.surface.picture import Picture, recolored
from gui.views.surface.points import named_points
from gui.views.surface.shown import ShownStep
from gui.views.surface.track import PathTrack
from gui.views.surface.undo import ChooseCut

Float64 = NDArray[np.float64]
RECUT_SECONDS = 0.4
"""While a run goes on, a plane through its newest step is cut anew this often (the step's own plane: every frame)."""
SLOTS = ("grid", "field", "probe")
FINISH_SECONDS = 60


class SurfaceModel(ShownStep):
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

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(session, parent)
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
        self._fit_wanted = False
        """True when a curve's range of heights is to follow its losses."""
        session.engine.worked.connect(self._on_worked)

    @staticmethod
    def of(session: Session) -> SurfaceModel:
        """The model of that session, made when first asked for."""
        found = session.findChild(SurfaceModel, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return found if isinstance(found, SurfaceModel) else SurfaceModel(session)

    # where things are ---------------------------------------------------------------------------------------------

    @property
    def plane(self) -> Plane | None:
        """The plane that is looked at; None on a line."""
        return self.cut if isinstance(self.cut, Plane) else None

    @property
    def line(self) -> Line | None:
        """The line that is looked at; None on a plane."""
        return self.cut if isinstance(self.cut, Line) else None

    def place(self) -> Float64:
        """Where the weights before the step shown are drawn, (2,)."""
        if self.step < 0:
            return self.start_place()
        return self._at(self.weights(), float(self.history.scalar("loss")[self.step]))

    def start_place(self) -> Float64:
        """Where the start is drawn, (2,)."""
        return self._at(self.start_weights(), self.start_loss() if self.line is not None else np.nan)

    def _at(self, weights: Float64, loss: float) -> Float64:
        assert self.cut is not None
        if isinstance(self.cut, Line):
            return np.array([float(self.cut.project(weights)), float(self.heights(loss))])
        return np.array(self.cut.project(weights))

    def up(self, track: PathTrack) -> Float64:
        """The second coordinate of a path: the plane's, or the height of its losses."""
        return track.b if self.line is None else self.heights(track.b)

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
        self.look()
        simulation, objective = self.session.current.simulation, self.objective
        settings = simulation.experiment.problem
        problem = (settings.name, settings.expression, settings.data, objective.size)
        if problem != self._problem:
            self._problem = problem
            self.choice = first_choice(objective, self.start_weights())
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
            self.track.update(self.history, self.cut)
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
        history, before = self.history, self.cut
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
        """A cut that moves with the step: the region keeps its size while the arrows fill it well."""
        if self.step < 0 or self.trouble:
            return
        if self.plane is not None:
            region = step_region(self.region, self.choice, self.objective, self.plane, self.tips())
        else:
            assert self.line is not None
            region = step_range(self.region, self.line, self.tips())
            self._fit_wanted = True
        if region is not None:
            self.region = region
            self.home_changed.emit()

    def _follow(self) -> None:
        """Let the region grow when the run leaves it, unless the user holds it."""
        if self.user_region or self.cut is None or self.choice.kind in MOVES_WITH_THE_STEP:
            return
        a, b = (float(x) for x in self.place())
        places = [a]
        if self.line is not None and self.step >= 0:
            # along a line the arrows are as long as they are, and their heads tell where a step ends
            edges = np.array([self.region.left, self.region.right])
            places += with_tips(edges, a + self.line.project_vector(self.tips()))[2:].tolist()
        region = self.region
        for place in places:
            region = grown(region, self.objective, self._start_region, place, b) or region
        if region is not self.region:
            self.region = region
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
        self.look()
        self.choice = choice
        self.user_region = False
        self._cut()
        self.go_home()

    def cut_here(self) -> None:
        """Lay the chosen plane through the step shown."""
        self.look()
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
            a, b = self.plane.project_vector(self.tips())
        else:
            self.track.update(self.history, self.cut)
            places = np.stack([self.start_place(), self.place()])
            a, b = np.append(self.track.a, places[:, 0]), np.append(self.up(self.track), places[:, 1])
        if self.line is None:
            self.region = home_region(self.choice, self.objective, a, b)
        else:
            vectors = self.line.project_vector(self.tips()) if self.step >= 0 else np.zeros(1)
            left, right = home_range(np.zeros(1), vectors) if own else home_range(with_tips(a, a[-1] + vectors))
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
        # a curve is as fine in any height
        same = self.line is not None and (region.left, region.right) == (self.region.left, self.region.right)
        self.region, self._pixels = region, (max(width, 1.0), max(height, 1.0))
        if not same or (self.curve is None and not self.session.engine.works_on(self._slots["grid"])):
            self.submit_grid()

    def probe(self, a: float, b: float) -> None:
        """Work out loss and gradient at a point of the plane or line; ``probe_changed`` follows."""
        if self.cut is not None:
            self.session.engine.submit(self._slots["probe"], ProbeJob(self.objective, self.cut, a, b))

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
        if self.plane is not None:
            across, up = int(np.clip(self._pixels[0] / 44, 6, 28)), int(np.clip(self._pixels[1] / 44, 5, 22))
            job = FieldJob(self.objective, self.plane, self.region, across, up)
            self.session.engine.submit(self._slots["field"], job)

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
        deadline, works_on = QDeadlineTimer(1000 * FINISH_SECONDS), self.session.engine.works_on
        while any(works_on(self._slots[slot]) for slot in ("grid", "field")) and not deadline.hasExpired():
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents, 20)

    def _known_minimum(self) -> float | None:
        return min((float(minimum.f) for minimum in self.objective.minima), default=None)

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot not in self._slots.values():
            return
        if isinstance(job, GridJob):
            found, kind = job.picture, self.kind
            if found is not None and found is not self.picture:
                self.picture = found if job.kind == kind else recolored(found, kind, self._known_minimum())
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
