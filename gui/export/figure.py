"""Draws a view into a file: PNG at any size and density, SVG and PDF as true vectors by Qt's own generators."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyqtgraph as pg
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from PySide6.QtCore import QBuffer, QCoreApplication, QEvent, QMarginsF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QImage, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView, QLayout, QWidget

from core.export.sizes import pixels
from gui.export.compose import draw
from gui.export.svg import without_stretched_strokes
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View

FORMATS = (".png", ".tiff", ".tif", ".svg", ".pdf")
MAX_PIXELS = 200_000_000


class FigureError(ValueError):
    """A figure that cannot be made as asked."""


def make_figure(
    view_class: type[View], session: Session, theme: Theme, width: int, height: int, options: dict[str, Any]
) -> View:
    """A view of its own for an export whose figure has ``width`` x ``height`` logical pixels, never shown.

    The caller deletes it with ``discard``.
    """
    view = view_class(session, theme)
    view.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen, True)
    view.prepare_export()
    layout = view.layout()
    if layout is not None:
        # the figure has the size asked for, and platforms without windows need not be told a least one
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
    view.resize(width, height)
    view.show()
    view.set_options(options)
    view.restyle()
    _without_hinting(view)
    for _ in range(3):
        view.mark_stale()
        view.flush()
        view.finish()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        QCoreApplication.processEvents()
        drawn = view.figure()
        if not drawn.isVisibleTo(view):
            # there is nothing to show, and nothing lays it out
            drawn.resize(width, height)
        elif drawn.size() != QSize(width, height):
            # what is drawn is a part of the view: the card has a header and margins around it
            view.resize(view.width() + width - drawn.width(), view.height() + height - drawn.height())
    _show_whole_scenes(view)
    return view


def _show_whole_scenes(view: View) -> None:
    """A scene one would have to scroll in is made as small as its place: a figure cannot be scrolled."""
    for plot in view.findChildren(QGraphicsView):
        area = plot.viewport().size()
        shown = plot.transform().mapRect(plot.sceneRect()).size()
        scrolled = shown.width() > area.width() or shown.height() > area.height()
        if not isinstance(plot, pg.GraphicsView) and plot.isVisibleTo(view) and scrolled:
            plot.fitInView(plot.sceneRect(), Qt.AspectRatioMode.KeepAspectRatio)


def _without_hinting(view: View) -> None:
    """Letters keep the widths that the programs give them which draw SVG and PDF: hinted ones snap to the screen."""
    for widget in (view, *view.findChildren(QWidget)):
        font = QFont(widget.font())
        font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
        widget.setFont(font)
        if isinstance(widget, QGraphicsView) and widget.scene() is not None:
            widget.scene().setFont(font)


def discard(view: View) -> None:
    """Delete a figure and what waits to be deleted with it."""
    view.hide()
    view.session.frames.forget(view)
    view.setParent(None)
    view.deleteLater()
    QCoreApplication.sendPostedEvents(view, QEvent.Type.DeferredDelete)


@dataclass(frozen=True, slots=True)
class Paper:
    """The exact size of a figure: ``width`` and ``height`` in mm, and the dots an inch of its pixels."""

    width: float
    height: float
    dpi: float = 300.0

    def dots(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return pixels(self.width, self.dpi), pixels(self.height, self.dpi)

    def logical(self) -> tuple[int, int]:
        """Width and height of the widget to draw, in logical pixels: letters and lines have their size in points."""
        return pixels(self.width, logical_dpi()), pixels(self.height, logical_dpi())


def write_figure(
    widget: QWidget,
    path: str | Path,
    scale: float = 1.0,
    background: str = "",
    caption: str = "",
    paper: Paper | None = None,
) -> None:
    """Write ``widget`` to ``path`` (.png, .tiff, .svg or .pdf); ``scale`` is the pixel density of a PNG or TIFF.

    ``background`` '' is transparent; ``caption`` goes into the file's own description; ``paper`` gives the file
    exactly that size (the widget has whole logical pixels only) and takes the place of ``scale``. Written beside and
    renamed, so that a failure leaves no half a file. FigureError and OSError say what is wrong.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in FORMATS:
        raise FigureError(f"{file}: a figure ends in .png, .tiff, .svg or .pdf, not {file.suffix or 'nothing'!r}")
    if not file.parent.is_dir():
        raise FigureError(f"{file}: the folder {file.parent} does not exist")
    handle, name = tempfile.mkstemp(prefix=f".{file.stem}.", suffix=suffix, dir=file.parent)
    os.close(handle)
    try:
        if suffix == ".svg":
            Path(name).write_text(svg_text(widget, background, caption, paper), encoding="utf-8")
        elif suffix == ".pdf":
            _write_pdf(widget, name, background, caption, paper)
        else:
            dpi = logical_dpi() * scale if paper is None else paper.dpi
            write_picture(image_of(widget, scale, background, paper), name, dpi, caption)
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def svg_text(widget: QWidget, background: str = "", caption: str = "", paper: Paper | None = None) -> str:
    """The SVG document of ``widget``."""
    content = QBuffer()
    content.open(QBuffer.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(content)
    # without the screen's resolution axes and curves disagree (text is measured at another dpi than lines)
    generator.setResolution(logical_dpi())
    generator.setSize(widget.size())
    generator.setViewBox(QRectF(0, 0, widget.width(), widget.height()))
    generator.setTitle(widget.accessibleName() or "Stepscope")
    generator.setDescription(caption or "Drawn by Stepscope")
    _paint(widget, generator, background)
    text = without_stretched_strokes(bytes(content.data().data()).decode())
    if paper is not None:
        size = f'width="{paper.width:g}mm" height="{paper.height:g}mm" preserveAspectRatio="none"'
        text = re.sub(r'width="[\d.]+mm" height="[\d.]+mm"', size, text, count=1)
    return text


def image_of(widget: QWidget, scale: float = 1.0, background: str = "", paper: Paper | None = None) -> QImage:
    """``widget`` painted at ``scale`` device pixels a logical pixel, or over all dots of ``paper``."""
    size = widget.size()
    width, height = round(size.width() * scale), round(size.height() * scale)
    if paper is not None:
        width, height = paper.dots()
    if width * height > MAX_PIXELS or min(width, height) < 1:
        raise FigureError(f"a picture of {width} x {height} pixels cannot be made; choose a smaller size or scale")
    image = QImage(QSize(width, height), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale if paper is None else width / size.width())
    image.fill(QColor(background) if background else Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    if paper is not None:
        # sizes in mm are no whole logical pixels: the rest, below one in a hundred, is stretched over the height
        painter.scale(1.0, (height / size.height()) / (width / size.width()))
    draw(widget, painter, transparent=not background)
    painter.end()
    return image


def write_picture(image: QImage, name: str, dpi: float, caption: str) -> None:
    """A PNG or TIFF with its density and description."""
    plain = image.convertToFormat(QImage.Format.Format_RGBA8888)
    size = (plain.width(), plain.height())
    picture = Image.frombytes("RGBA", size, bytes(plain.constBits()), "raw", "RGBA", plain.bytesPerLine(), 1)
    if not image.hasAlphaChannel() or picture.getchannel("A").getextrema() == (255, 255):
        picture = picture.convert("RGB")
    if Path(name).suffix.lower() == ".png":
        picture.save(name, "PNG", dpi=(dpi, dpi), pnginfo=described(caption))
    else:
        picture.save(
            name, "TIFF", dpi=(dpi, dpi), compression="tiff_lzw", software="Stepscope", description=_ascii(caption)
        )


def described(caption: str) -> PngInfo:
    """The texts of a PNG."""
    texts = PngInfo()
    texts.add_itxt("Software", "Stepscope")
    if caption:
        texts.add_itxt("Description", caption)
    return texts


def _ascii(text: str) -> str:
    """TIFF's texts are ASCII: other characters are written as Python escapes."""
    return text.encode("ascii", "backslashreplace").decode()


def logical_dpi() -> int:
    """Logical pixels an inch: what a length on paper is measured with."""
    screen = QGuiApplication.primaryScreen()
    return round(screen.logicalDotsPerInchX()) if screen is not None else 96


def _write_pdf(widget: QWidget, name: str, background: str, caption: str, paper: Paper | None) -> None:
    writer = QPdfWriter(name)
    dpi = logical_dpi()
    writer.setResolution(dpi)
    writer.setTitle(caption or widget.accessibleName() or "Stepscope")
    writer.setCreator("Stepscope")
    if paper is None:
        size, unit = QSizeF(widget.width() * 72.0 / dpi, widget.height() * 72.0 / dpi), QPageSize.Unit.Point
    else:
        size, unit = QSizeF(paper.width, paper.height), QPageSize.Unit.Millimeter
    writer.setPageSize(QPageSize(size, unit, "", QPageSize.SizeMatchPolicy.ExactMatch))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    _paint(widget, writer, background)


def _paint(widget: QWidget, device: Any, background: str) -> None:
    painter = QPainter()
    if not painter.begin(device):
        raise OSError("the file could not be opened for drawing")
    try:
        if background:
            painter.fillRect(QRectF(0, 0, widget.width(), widget.height()), QColor(background))
        draw(widget, painter, transparent=not background)
    finally:
        painter.end()
