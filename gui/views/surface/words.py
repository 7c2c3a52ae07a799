"""What the surface says in words: its legend, the note in the title, the sentence on the picture, the footer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication

from core.problems.lines import Line
from core.problems.objective import Minimum
from core.problems.planes import Plane
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.surface.cut import Region
from gui.views.surface.jobs import Reading
from gui.views.surface.legend import LegendEntry
from gui.views.surface.magnify import Magnification, factor_text
from gui.views.surface.model import SurfaceModel
from gui.views.surface.palette import stripe_colors
from gui.views.surface.picture import Picture
from gui.views.surface.step_arrows import StepArrows, holds_everything
from gui.widgets.numbers import shown_number

Float64 = NDArray[np.float64]
OUTSIDE_TOLD = 0.005
LEAST_SEEN = 5.0
"""Pixels: a shorter arrow hides beneath the mark of the current point, which is then said."""
SHORT_LABELS = 16


def _tr(text: str) -> str:
    return QCoreApplication.translate("SurfaceView", text)


def size_text(size: Magnification) -> str:
    """How much the arrows are magnified."""
    if not size.common:
        return _tr("arrows sized apart")
    return _tr("arrows: true length") if size.computed == 1.0 else _tr("arrows {}").format(factor_text(size.computed))


def arrow_entries(arrows: StepArrows | None, size: Magnification, pixels: tuple[float, float]) -> list[LegendEntry]:
    """Entries of the two arrows, ``pixels`` long as drawn, and of their size; pale before the first step."""
    entries = [LegendEntry(size_text(size))] if size.common else []
    for text, color, factor, length in (
        (_tr("computed −lr·g"), COMPUTED, size.computed, pixels[0]),
        (_tr("applied Δw"), APPLIED, size.applied, pixels[1]),
    ):
        factors = "" if size.common else f" {factor_text(factor)}"
        remark = ""
        if arrows is not None and not np.isfinite(length):
            remark = _tr(" (not finite)")
        elif arrows is not None and length < LEAST_SEEN:
            remark = _tr(" (too short to see)")
        entries.append(LegendEntry(text + factors + remark, "arrow", color, dim=arrows is None))
    if not size.common:
        entries.append(LegendEntry(_tr("sizes differ: ledger left out")))
    return entries


def row_entries(model: SurfaceModel, arrows: StepArrows | None, drawn: list[bool]) -> list[LegendEntry]:
    """One entry a ledger row, pale when its arrow is too short to be drawn.

    Before the first step the rows to come, so that the picture does not jump when they appear.
    """
    if arrows is None:
        chain = list(model.session.current.simulation.optimizer.chain)
        rows = [(transform.label, transform.cause, False) for transform in chain]
    else:
        rows = list(zip(arrows.labels, arrows.causes, drawn or [False] * len(arrows.labels), strict=True))
    return [LegendEntry(label, "dashes", cause_color(cause), dim=not shown) for label, cause, shown in rows]


def picture_entries(picture: Picture | None, theme: Theme) -> list[LegendEntry]:
    """What the stripes mean, when there are any."""
    if picture is None or picture.whole:
        return []
    return [LegendEntry(_tr("loss not finite"), "stripes", stripe_colors(theme)[1])]


def legend(
    model: SurfaceModel,
    theme: Theme,
    arrows: StepArrows | None,
    size: Magnification,
    drawn: list[bool] | None,
    pixels: tuple[float, float] = (0.0, 0.0),
) -> list[LegendEntry]:
    """All entries; ``drawn`` tells which rows of the ledger are (None: they are not to be shown)."""
    entries = picture_entries(model.picture, theme) + curve_entries(model, theme)
    entries += arrow_entries(arrows, size, pixels)
    if size.common and drawn is not None:
        entries += row_entries(model, arrows, drawn)
    return entries + (field_entries() if model.field is not None else [])


def axis_labels(model: SurfaceModel) -> tuple[str, str]:
    """Names of the two axes."""
    if model.plane is not None:
        return model.plane.labels
    if model.line is None:
        return "", ""
    return model.line.label, _tr("loss of the step's batch") if model.batch_loss else _tr("loss")


def curve_entries(model: SurfaceModel, theme: Theme) -> list[LegendEntry]:
    """What the curve is, and what its hatched stretches mean."""
    curve = model.curve
    if curve is None:
        return []
    entries = []
    if len(curve.gaps(model.curve_kind)):
        logarithmic = model.curve_kind == "log10" and np.isfinite(curve.losses).all()
        text = _tr("loss not above 0: no logarithm") if logarithmic else _tr("loss not finite")
        entries.append(LegendEntry(text, "stripes", stripe_colors(theme)[1]))
    batches = getattr(model.objective, "batches", None)
    if batches is not None and not batches.full and not model.batch_loss:
        entries.append(LegendEntry(_tr("curve: loss of all data; path: of each step's batch")))
    return entries


def field_entries() -> list[LegendEntry]:
    """What the gradient field shows."""
    return [LegendEntry(_tr("field: steepest descent, direction only"))]


def scale_title(picture: Picture | None, of_batch: bool) -> str:
    """The title of the colour bar: whose loss, and how it became colours."""
    loss = _tr("batch loss") if of_batch else _tr("loss")
    if picture is None or picture.scale is None:
        return loss
    scale = picture.scale
    if scale.kind == "log10":
        above = _tr(" above {}").format(shown_number(scale.floor, 6)) if scale.floor else ""
        return _tr("{} (log₁₀)").format(loss + above)
    return _tr("{} (by rank)").format(loss) if scale.kind == "rank" else loss


def sentence(model: SurfaceModel, place: Float64, seen: Region) -> str:
    """What has to be said on the picture: why there is no plane, no step or no point to be seen; or ''."""
    if model.trouble:
        return model.trouble
    if model.picture is None and model.curve is None:
        return _tr("The losses of this picture are being worked out…")
    if model.step < 0:
        return _tr("No step taken yet: press Run or Step. Drag the diamond to start elsewhere.")
    if np.isfinite(place[0]) and not np.isfinite(place[1]):
        return _tr("The loss of this step has no place on this axis: it is not finite, or not above 0.")
    if not np.isfinite(place).all():
        return _tr("The weights of this step are not finite; the path is drawn up to there.")
    if not seen.holds(float(place[0]), float(place[1])):
        return _tr("The point of this step lies outside the picture: press Fit (Home).")
    return ""


def note(model: SurfaceModel, size: Magnification | None) -> str:
    """The numbers at the right of the title."""
    if model.step < 0 or size is None:
        return ""
    loss = float(model.history.scalar("loss")[model.step])
    return _tr("loss {}   {}").format(shown_number(loss, 6), size_text(size))


def distances(model: SurfaceModel, arrows: StepArrows | None) -> str:
    """How far what is drawn lies from the plane; '' for two weights, which all lie in it."""
    cut = model.cut
    if cut is None or holds_everything(cut):
        return ""
    with np.errstate(all="ignore"):
        point, start = (float(cut.distance(w)) for w in (model.weights(), model.start_weights()))
    where = _tr("distance from the line") if isinstance(cut, Line) else _tr("distance from the plane")
    parts = [_tr("{}: point {}, start {}").format(where, shown_number(point, 3), shown_number(start, 3))]
    if arrows is not None:
        shares = (("−lr·g", arrows.outside_computed), ("Δw", arrows.outside_applied))
        told = ", ".join(f"{name} {100 * outside:.0f} %" for name, outside in shares if outside > OUTSIDE_TOLD)
        if told:
            parts.append(_tr("outside: {}").format(told))
    return "; ".join(parts)


def reading_text(reading: Reading, cut: Plane | Line) -> str:
    """Loss and gradient under the mouse."""
    if isinstance(cut, Line):
        across = cut.label if len(cut.label) <= SHORT_LABELS else "t"
        slope = float(reading.gradient @ cut.direction)
        text = f"{across} {shown_number(reading.a, 5)}   " + _tr("loss {}   slope {}").format(
            shown_number(reading.loss, 6), shown_number(slope, 4)
        )
        return text if cut.size == 1 else text + f"   |g| {shown_number(reading.norm)}"
    plane = cut
    across, up = plane.labels if len("".join(plane.labels)) <= SHORT_LABELS else ("a", "b")
    text = f"{across} {shown_number(reading.a, 5)}   {up} {shown_number(reading.b, 5)}   " + _tr("loss {}").format(
        shown_number(reading.loss, 6)
    )
    if len(reading.gradient) == 2:
        text += f"   g ({shown_number(reading.gradient[0])}, {shown_number(reading.gradient[1])})"
    return text + f"   |g| {shown_number(reading.norm)}"


def hint() -> str:
    """What stands in the footer when there is nothing else to say."""
    return _tr("Point to read loss and gradient; drag the diamond (start) or the circle (this step)")


def minimum_text(minimum: Minimum) -> str:
    """What appears when the mouse is on a known minimum."""
    place = ", ".join(shown_number(x, 6) for x in minimum.x)
    text = _tr("known minimum {} at ({})").format(shown_number(minimum.f, 6), place)
    return f"{text}\n{minimum.note}" if minimum.note else text
