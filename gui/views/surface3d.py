"""The loss surface in three dimensions: the same picture as a landscape, with path and arrows lying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, Qt, Slot
from PySide6.QtGui import QGuiApplication, QOpenGLContext, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QToolButton, QWidget

from gui.session import Session
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.base import View
from gui.views.surface.cut import CutChoice, Region
from gui.views.surface.magnify import Magnification, choose, factor_text
from gui.views.surface.model import SurfaceModel
from gui.views.surface.step_arrows import StepArrows, arrows_of_step
from gui.views.surface.terrain import Terrain
from gui.views.surface.track import PathTrack

if TYPE_CHECKING:
    from gui.views.surface.scene3d import Scene3D

Float64 = NDArray[np.float64]
WITHOUT_GL_WIDGETS = ("offscreen", "minimal", "minimalegl", "linuxfb", "vnc")
FLOOR_PIXELS = 420.0
"""What the floor's side is taken for when arrows are magnified so that they can be read."""


def gl_trouble() -> str:
    """'' when OpenGL can be used here, else one sentence that says why not."""
    try:
        import OpenGL  # noqa: F401
    except ImportError:
        return QCoreApplication.translate(
            "Surface3DView", 'The 3-D surface needs PyOpenGL, which is not installed: pip install "stepscope[3d]"'
        )
    # the offscreen platform may well make a context, but shows no GL widgets
    if QGuiApplication.platformName() in WITHOUT_GL_WIDGETS or not QOpenGLContext().create():
        return QCoreApplication.translate(
            "Surface3DView", "There is no OpenGL on this display, so the surface cannot be drawn in 3-D here."
        )
    return ""


class Surface3DView(View):
    """Reads the same as the 2-D surface, and shares its plane, region and colours; created when first shown."""

    name = "surface3d"
    title = QCoreApplication.translate("Surface3DView", "Surface in 3-D")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = SurfaceModel.of(session)
        self.scene: Scene3D | None = None
        self.trouble: str | None = None
        """Why there is no picture ('' when there is one, None before it was tried)."""
        self.message = QLabel("")
        self.message.setObjectName("quiet")
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setWordWrap(True)
        self.message.setMargin(24)
        self.message.setAccessibleName(self.tr("Surface in 3-D: message"))
        self.stack = QStackedWidget()
        self.stack.addWidget(self.message)
        self.home = QToolButton()
        self.home.setText(self.tr("Viewpoint"))
        self.home.setToolTip(self.tr("Look from the first viewpoint again (Home)"))
        self.home.setAccessibleName(self.tr("First viewpoint"))
        self.home.clicked.connect(self._on_home)
        self.legend = QLabel("")
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setObjectName("quiet")
        self.legend.setAccessibleName(self.tr("Legend"))
        foot = QHBoxLayout()
        foot.setContentsMargins(4, 0, 4, 0)
        foot.addWidget(self.legend, 1)
        foot.addWidget(self.home)
        self.body.addWidget(self.stack, 1)
        self.body.addLayout(foot)
        self._others: dict[int, PathTrack] = {}
        self._magnification: Magnification | None = None
        self._shown_picture: object = None
        self._snapshot: QLabel | None = None
        self._use_model(self.model)
        session.runs_changed.connect(self._on_refresh)

    # the View contract ----------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        self._magnification = None

    def refresh(self) -> None:
        if self.trouble is None:
            self._create()
        if self.scene is None:
            return
        self.model.sync()
        self._draw()

    def restyle(self) -> None:
        self._shown_picture = None
        if self.scene is not None:
            self.scene.restyle(self.theme)

    def prepare_export(self) -> None:
        # the user's own picture must not move because a figure has another shape
        self._snapshot = QLabel()
        self._use_model(SurfaceModel(self.session, self))

    def finish(self) -> None:
        if self.scene is not None:
            self.model.finish()
            self._draw()

    def figure(self) -> QWidget:
        """GL draws pixels, not vectors: an export gets a label with the picture; without OpenGL, the message."""
        if self._snapshot is None or self.scene is None:
            return self.stack
        image = self.scene.grabFramebuffer()
        self._snapshot.setPixmap(QPixmap.fromImage(image))
        self._snapshot.resize(self.scene.size())
        self._snapshot.setScaledContents(True)
        return self._snapshot

    def options(self) -> dict[str, Any]:
        model, scene = self.model, self.scene
        ids = [run.id for run in self.session.runs]
        found: dict[str, Any] = {"plane": model.choice.plain(ids), "scale": model.kind}
        if model.user_region:
            found["region"] = list(model.region)
        if scene is not None:
            found["camera"] = {key: float(scene.opts[key]) for key in ("distance", "elevation", "azimuth")}
        return found

    def set_options(self, options: dict[str, Any]) -> None:
        model = self.model
        if "scale" in options:
            model.set_kind(options["scale"])
        if "plane" in options:
            model.choose(CutChoice.of(options["plane"], [run.id for run in self.session.runs]))
        if "region" in options:
            model.look_at(Region(*options["region"]), 480.0, 360.0)
            model.user_region = True
        if "camera" in options and self.scene is not None:
            self.scene.setCameraPosition(**options["camera"])

    def _use_model(self, model: SurfaceModel) -> None:
        if model is not self.model:
            self.model.picture_changed.disconnect(self._on_refresh)
            self.model.cut_changed.disconnect(self._on_refresh)
        self.model = model
        model.picture_changed.connect(self._on_refresh)
        model.cut_changed.connect(self._on_refresh)

    # drawing ----------------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        self.trouble = gl_trouble()
        self.home.setVisible(not self.trouble)
        if self.trouble:
            self.message.setText(self.trouble + "\n" + self.tr("The surface in two dimensions shows the same."))
            return
        from gui.views.surface.scene3d import Scene3D

        self.scene = Scene3D(self.theme)
        self.scene.setAccessibleName(self.tr("Loss surface in three dimensions"))
        self.scene.setAccessibleDescription(self.tr("Drag or arrow keys turn it, wheel or + and - zoom, Home resets"))
        self.stack.addWidget(self.scene)

    def _draw(self) -> None:
        model, scene = self.model, self.scene
        assert scene is not None
        picture = model.picture
        if picture is None or model.plane is None:
            flat = self.tr("A slice along a line has no third dimension: the surface view shows it as a curve.")
            waiting = flat if model.line is not None else self.tr("The surface is being worked out.")
            self.message.setText(model.trouble or waiting)
            self.stack.setCurrentWidget(self.message)
            return
        self.stack.setCurrentWidget(scene)
        if picture is not self._shown_picture:
            self._shown_picture = picture
            scene.show_terrain(Terrain(picture), picture.scale.ticks() if picture.scale else [], picture.plane.labels)
        if picture.plane is not model.plane:
            # the picture of the new plane follows in a moment: nothing else lies where it should
            return
        terrain = scene.terrain
        assert terrain is not None
        step = model.step
        self._draw_paths(terrain, step)
        arrows = arrows_of_step(model.plane, model.history, step) if step >= 0 else None
        self._draw_arrows(terrain, arrows)
        a, b = model.plane.project(np.stack([model.weights(), model.start_weights()]))
        places = terrain.on_ground(a, b)
        minima = [minimum.x for minimum in model.objective.minima if len(minimum.x) == model.plane.size]
        lows = terrain.on_ground(*model.plane.project(np.stack(minima))) if minima else np.empty((0, 3))
        scene.show_marks(places[:1], places[1:], lows)

    def _draw_paths(self, terrain: Terrain, step: int) -> None:
        model, scene = self.model, self.scene
        assert scene is not None and model.plane is not None
        current = self.session.current
        track = model.track
        shown = track.before(step) if step >= 0 else 0
        a, b = track.a[:shown], track.b[:shown]
        if step >= 0:
            now_a, now_b = model.plane.project(model.weights())
            a, b = np.append(a, now_a), np.append(b, now_b)
        ages = np.linspace(0.35, 1.0, max(len(a), 1))[: len(a)]
        scene.show_path(terrain.on_ground(a, b), ages, self.theme.run_color(current.color_index))
        others = []
        for run in self.session.runs:
            if run is current or not run.visible or run.history.size != model.plane.size:
                continue
            other = self._others.setdefault(run.id, PathTrack())
            other.update(run.history, model.plane)
            others.append((terrain.on_ground(other.a, other.b), self.theme.run_color(run.color_index)))
        scene.show_other_paths(others)

    def _draw_arrows(self, terrain: Terrain, arrows: StepArrows | None) -> None:
        scene = self.scene
        assert scene is not None
        if arrows is None:
            scene.show_arrows([])
            self.legend.setText("")
            self.note.setText("")
            return
        region = terrain.region
        pixel = np.array([region.width, region.height]) / FLOOR_PIXELS
        with np.errstate(all="ignore"):
            computed, applied = (float(np.hypot(*(v / pixel))) for v in (arrows.computed, arrows.applied))
        size = choose("auto", computed, applied, FLOOR_PIXELS, self._magnification)
        self._magnification = size
        tips = arrows.tips(size)
        tails, heads = arrows.chain(size.computed)
        drawn = [
            (terrain.arrow(tail, head), cause_color(cause), 2.0)
            for tail, head, cause in zip(tails, heads, arrows.causes, strict=True)
            if np.isfinite([tail, head]).all() and np.hypot(*((head - tail) / pixel)) >= 1.0
        ]
        for tip, color in zip(tips, (COMPUTED, APPLIED), strict=True):
            if np.isfinite(tip).all():
                drawn.append((terrain.arrow(arrows.origin, tip), color, 4.0))
        scene.show_arrows(drawn)
        text = (
            self.tr("arrows: true length")
            if size.computed == 1.0
            else self.tr("arrows {}").format(factor_text(size.computed))
        )
        self.note.setText(text)
        self.legend.setText(
            f'<span style="color:{COMPUTED}">━</span> {self.tr("computed −lr·g")} &nbsp; '
            f'<span style="color:{APPLIED}">━</span> {self.tr("applied Δw")} &nbsp; '
            + self.tr("height and colour: {}").format(self._scale_text())
        )

    def _scale_text(self) -> str:
        picture = self.model.picture
        kind = picture.scale.kind if picture is not None and picture.scale is not None else "linear"
        return {"log10": self.tr("log₁₀ of the loss"), "rank": self.tr("rank of the loss")}.get(kind, self.tr("loss"))

    @Slot()
    def _on_home(self) -> None:
        if self.scene is not None:
            self.scene.go_home()
