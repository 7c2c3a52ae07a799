"""A range of steps as an animation: GIF, APNG and WebP by Pillow, MP4 by ffmpeg (the extra 'video').

Frames are drawn one by one and go straight to the writer; the file is written beside and renamed at the end, so that
cancelling or failing leaves nothing behind.
"""

from __future__ import annotations

import errno
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from PIL import Image
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QImage

from core.simulation import Simulation
from gui.export.beside import encode_beside
from gui.export.compose import Composed
from gui.export.figure import FigureError, described, image_of
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View

FORMATS = (".mp4", ".gif", ".png", ".apng", ".webp")
MOST_FRAMES = 20_000
HELD = {".gif": 1, ".png": 3, ".apng": 3}
"""Bytes a pixel of every frame that Pillow keeps until the file is complete; MP4 and WebP are written as they come."""
MOST_HELD = 2_000_000_000
Report = Callable[[int, int], bool]
"""Called with (frames done, frames in all); False cancels."""


class Cancelled(Exception):
    """The user has had enough; no file was written."""


def animation_steps(first: int, last: int, every: int) -> range:
    """The steps first, first + every, ... up to and including ``last``; FigureError when that is none, or too many."""
    if every < 1 or first < 0 or last < first:
        raise FigureError(
            f"steps {first} to {last}, every {every}: give a first step, a last one behind it, and 1 or more"
        )
    steps = range(first, last + 1, every)
    if len(steps) > MOST_FRAMES:
        raise FigureError(f"{len(steps)} frames are too many (at most {MOST_FRAMES}); take every {every * 10}th step")
    return steps


def check_format(path: str | Path) -> str:
    """The ending of ``path`` when animations have it; FigureError otherwise, or when ffmpeg is missing for MP4."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise FigureError(f"{path}: an animation ends in {', '.join(FORMATS)}, not {suffix or 'nothing'!r}")
    if suffix == ".mp4":
        _ffmpeg()
    if not Path(path).parent.is_dir():
        raise FigureError(f"{path}: the folder {Path(path).parent} does not exist")
    return suffix


def check_room(path: str | Path, count: int, width: int, height: int) -> None:
    """FigureError when Pillow would hold too much of the frames in memory, as GIF and PNG do."""
    held = HELD.get(Path(path).suffix.lower(), 0) * count * width * height
    if held > MOST_HELD:
        raise FigureError(
            f"{count} frames of {width} x {height} pixels take {held / 1e9:.1f} GB of memory as {Path(path).suffix}; "
            "choose .mp4 or .webp, a smaller size, or fewer steps"
        )


def _ffmpeg() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise FigureError(
            'MP4 needs the extra "video": pip install "stepscope[video]"; or choose .gif or .webp'
        ) from None
    return imageio_ffmpeg


def frames_of(
    simulation: Simulation,
    views: Sequence[tuple[type[View], dict[str, Any]]],
    theme: Theme,
    width: int,
    height: int,
    steps: Sequence[int],
    report: Report | None = None,
) -> Iterator[QImage]:
    """Pictures of ``width`` x ``height`` pixels, one a step, of (view, its options) in a grid.

    Works on a fork, so that the window's own step stays where it is. Cancelled when ``report`` says so.
    """
    session = Session.on(simulation.fork())
    try:
        session.show_step(steps[0])
        composed = Composed(views, session, theme, width, height)
        with composed as page:
            for done, step in enumerate(steps):
                if report is not None and not report(done, len(steps)):
                    raise Cancelled
                session.show_step(step)
                for view in composed.made:
                    view.mark_stale()
                    view.flush()
                    view.finish()
                QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
                yield image_of(page, 1.0, theme.card)
        if report is not None and not report(len(steps), len(steps)):
            raise Cancelled
    finally:
        session.close()


def write_animation(frames: Iterator[QImage], path: str | Path, fps: float, caption: str = "") -> None:
    """Write ``frames``, all of one size, to ``path``; what ``frames`` raises passes through, and leaves no file.

    ``caption`` goes into the file's own description.
    """
    suffix = check_format(path)
    if not 0.1 <= fps <= 120:
        raise FigureError(f"{fps:g} frames a second: from 0.1 to 120")
    file = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{file.stem}.", suffix=suffix, dir=file.parent)
    os.close(handle)
    try:
        pictures = (as_pillow(frame) for frame in frames)
        if suffix == ".mp4":
            encode_beside(pictures, lambda given: _write_mp4(given, name, fps, caption))
        else:
            encode_beside(pictures, lambda given: _write_pictures(given, name, suffix, fps, caption))
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        close = getattr(frames, "close", None)
        if close is not None:
            close()


def as_pillow(image: QImage) -> Image.Image:
    """The picture as Pillow has it, without transparency."""
    plain = image.convertToFormat(QImage.Format.Format_RGB888)
    data = bytes(plain.constBits())
    return Image.frombytes("RGB", (plain.width(), plain.height()), data, "raw", "RGB", plain.bytesPerLine(), 1)


def _write_pictures(pictures: Iterator[Image.Image], name: str, suffix: str, fps: float, caption: str) -> None:
    first = next(pictures, None)
    if first is None:
        raise FigureError("an animation needs at least one frame")
    kind = {".gif": "GIF", ".webp": "WEBP"}.get(suffix, "PNG")
    # Pillow goes through the frames of a PNG twice
    more_frames = _Spool(pictures) if kind == "PNG" else pictures
    duration = 1000.0 / fps if kind == "PNG" else max(round(1000.0 / fps), 20 if kind == "GIF" else 1)
    more: dict[str, Any] = {
        "GIF": {"comment": caption.encode()},
        "WEBP": {"lossless": True, "xmp": _xmp(caption)},
        "PNG": {"pnginfo": described(caption)},
    }[kind]
    try:
        first.save(name, kind, save_all=True, append_images=more_frames, duration=duration, loop=0, **more)
    finally:
        if isinstance(more_frames, _Spool):
            more_frames.close()


def _xmp(caption: str) -> bytes:
    """A description as WebP holds it."""
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description><rdf:Alt>'
        f'<rdf:li xml:lang="x-default">{escape(caption)}</rdf:li>'
        "</rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


class _Spool:
    """Pictures kept in a nameless file, to be gone through as often as one likes."""

    def __init__(self, pictures: Iterator[Image.Image]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._size: tuple[int, int] | None = None
        self._count = 0
        try:
            for picture in pictures:
                self._size = picture.size
                self._file.write(picture.tobytes())
                self._count += 1
        except BaseException:
            self._file.close()
            raise

    def __iter__(self) -> Iterator[Image.Image]:
        if self._size is None:
            return
        length = 3 * self._size[0] * self._size[1]
        for k in range(self._count):
            self._file.seek(k * length)
            yield Image.frombytes("RGB", self._size, self._file.read(length))

    def close(self) -> None:
        """Let the file go."""
        self._file.close()


def _write_mp4(pictures: Iterator[Image.Image], name: str, fps: float, caption: str) -> None:
    ffmpeg = _ffmpeg()
    first = next(pictures, None)
    if first is None:
        raise FigureError("an animation needs at least one frame")
    # players want both sides even: an odd side gets one more line of the last colour
    width, height = first.width + first.width % 2, first.height + first.height % 2
    writer = ffmpeg.write_frames(
        name,
        (width, height),
        fps=fps,
        codec="libx264",
        pix_fmt_in="rgb24",
        macro_block_size=1,
        quality=8,
        output_params=["-metadata", f"comment={caption}"],
    )
    writer.send(None)
    sent = 0
    try:
        for picture in itertools.chain([first], pictures):
            writer.send(_even(picture, width, height))
            sent += 1
    finally:
        writer.close()
    _check_whole(ffmpeg, name, sent)


def _check_whole(ffmpeg: Any, name: str, sent: int) -> None:
    """OSError unless the video holds the ``sent`` frames: the writer does not tell when the disk was full."""
    try:
        held = ffmpeg.count_frames_and_secs(name)[0]
    except RuntimeError:
        held = 0
    if held != sent:
        raise OSError(errno.EIO, f"the video holds {held} of {sent} frames; is the disk full?")


def _even(picture: Image.Image, width: int, height: int) -> bytes:
    if picture.size == (width, height):
        return picture.tobytes()
    grown = Image.new("RGB", (width, height), picture.getpixel((picture.width - 1, picture.height - 1)))
    grown.paste(picture, (0, 0))
    return grown.tobytes()
