"""The paths of the other visible runs on the same weights, in their colours."""

from __future__ import annotations

import pyqtgraph as pg

from gui.theme import Theme
from gui.views.surface.layers import PathLayer
from gui.views.surface.model import SurfaceModel
from gui.views.surface.track import PathTrack


class OtherPaths:
    """``shown`` maps run ids to what is drawn."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.shown: dict[int, tuple[PathTrack, PathLayer]] = {}
        self._box = box

    def show(self, model: SurfaceModel, theme: Theme, on: bool) -> None:
        """Bring them up to date with the session (``on`` False: none)."""
        session, cut = model.session, model.cut
        assert cut is not None
        wanted = {
            run.id: run
            for run in session.runs
            if on and run is not session.current and run.visible and run.history.size == cut.size
        }
        for run_id in [known for known in self.shown if known not in wanted]:
            self.shown.pop(run_id)[1].remove(self._box)
        for run_id, run in wanted.items():
            if run_id not in self.shown:
                self.shown[run_id] = (PathTrack(), PathLayer(self._box))
            track, layer = self.shown[run_id]
            track.update(run.history, cut)
            layer.set_smooth(session.state != "running")
            layer.restyle(theme.run_color(run.color_index))
            layer.show(track.a, model.up(track), len(track.a), None)
