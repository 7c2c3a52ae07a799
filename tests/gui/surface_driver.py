"""Opens the surface in a window and drives it by mouse, for the tests that look at it."""

import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QLayout

from core.simulation import Experiment, ProblemSettings
from gui.session import Session
from gui.theme import DARK
from gui.views.surface import SurfaceView

ADAM = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


def opener(qtbot):
    """For a fixture: opens a view of an experiment, waits until its picture is complete, closes all at the end."""
    opened = []

    def open_one(experiment=None, steps=0, view_class=SurfaceView, theme=DARK, size=(520, 420)):
        session = Session(experiment or Experiment(optimizer=ADAM))
        opened.append(session)
        view = view_class(session, theme)
        qtbot.addWidget(view)
        # a top-level window whose least size changes makes the offscreen platform complain
        view.layout().setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        view.resize(*size)
        view.show()
        qtbot.waitExposed(view)
        if steps:
            session.engine.advance(session.current, steps)
            qtbot.waitUntil(lambda: session.current.history.count == steps and session.cursor == steps - 1)
        settle(qtbot, view)
        return view

    yield open_one
    for session in opened:
        session.close()


def settle(qtbot, view):
    """Wait until the picture is the complete one of what is looked at."""

    def ready():
        model = view.model
        if view.session.engine.busy or (isinstance(view, SurfaceView) and view._settle.isActive()):
            return False
        shown = model.picture if model.line is None else model.curve
        return model.cut is None or (shown is not None and shown.complete)

    # twice: what is drawn may change the height of the legend, and that the picture
    for _ in range(2):
        view.flush()
        QApplication.processEvents()
        qtbot.waitUntil(ready, timeout=20_000)
    view.flush()
    view.grab()


def function(text, start=None, **values):
    return Experiment(problem=ProblemSettings(expression=text, values=values), optimizer=ADAM, start=start)


def logistic():
    return Experiment(problem=ProblemSettings(name="logistic_regression"), optimizer=ADAM)


def to_scene(view, point):
    """Scene pixels of a point of the plane, by hand from the axes' ranges and the place of the box."""
    region, box = view.canvas.region(), view.canvas.box
    frame = box.mapRectToScene(box.rect())
    return np.array(
        [
            frame.left() + (point[0] - region.left) / region.width * frame.width(),
            frame.bottom() - (point[1] - region.bottom) / region.height * frame.height(),
        ]
    )


def send(view, kind, place, button=Qt.MouseButton.NoButton, buttons=Qt.MouseButton.NoButton):
    """A mouse event at scene pixels ``place``, as a user's mouse makes it."""
    viewport = view.canvas.viewport()
    local = QPointF(view.canvas.mapFromScene(QPointF(*place)))
    glob = QPointF(viewport.mapToGlobal(local.toPoint()))
    QApplication.sendEvent(viewport, QMouseEvent(kind, local, glob, button, buttons, Qt.KeyboardModifier.NoModifier))
    QApplication.processEvents()


def drag(view, start, end, steps=5):
    """Press at ``start`` and move to ``end``; what is returned releases the button."""
    left = Qt.MouseButton.LeftButton
    send(view, QEvent.Type.MouseMove, start)
    send(view, QEvent.Type.MouseButtonPress, start, left, left)
    for part in np.linspace(0, 1, steps + 1)[1:]:
        send(view, QEvent.Type.MouseMove, start + part * (np.asarray(end) - start), buttons=left)
        view.flush()
    return lambda: send(view, QEvent.Type.MouseButtonRelease, end, left)
